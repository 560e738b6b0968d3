"""The card of a problem."""

from maxatk.base.checks import name_of
from maxatk.base.text import count_of
from maxatk.problem.data import ProblemData
from maxatk.report.cards import parts

MOST_NAMES = 12  # of actions and of states


def problem(mdp: ProblemData) -> str:
    """The sizes of a problem, its rewards, and the names of its states and actions."""
    rewards, unit = mdp.reward, f" {mdp.unit}" if mdp.unit else ""
    starts = len(mdp.start_state)
    start = name_of(mdp.state_names, int(mdp.start_state[0])) if starts == 1 else f"drawn from {starts} states"
    return parts.card(
        repr(mdp),
        parts.rows(
            ("", ""),
            [
                ("one try", f"at most {count_of(mdp.horizon, 'step')}, starting in {start}"),
                ("a step brings", f"{rewards.min():.6g} to {rewards.max():.6g}{unit}"),
                ("actions", _names(mdp.action_names, mdp.n_actions)),
                ("states", _names(mdp.state_names, mdp.n_states)),
                *([("costs", f"up to {mdp.action_cost.max():.6g} a step")] if mdp.has_costs else []),
            ],
        ),
        parts.note("mk.solve(mdp, k) plans for the best of k tries."),
    )


def _names(names: tuple[str, ...] | None, count: int) -> str:
    if names is None:
        return f"0 to {count - 1}" if count > 1 else "0"
    shown = [name if len(name) <= 24 else f"{name[:23]}…" for name in names[:MOST_NAMES]]
    return ", ".join(shown[:3] if len(", ".join(shown)) > 70 else shown) + (
        f", … ({count} in all)" if count > MOST_NAMES or len(", ".join(shown)) > 70 else ""
    )
