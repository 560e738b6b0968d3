"""Results as people read them, tables for the terminal; and as programs do, plain data for JSON."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.base.checks import name_of
from maxatk.base.errors import InputError
from maxatk.base.findings import Agreement, Finding, Loss, Share, Value
from maxatk.base.text import agreed, at_least, at_most, decimals_of, small, span
from maxatk.base.types import Number
from maxatk.comparison.compare import Comparison
from maxatk.comparison.contrast import SELDOM, Contrast
from maxatk.comparison.enough import stop_of
from maxatk.comparison.rows import Row
from maxatk.evaluation.simulate import Simulation
from maxatk.learning.learned import Learned
from maxatk.planning import CertifiedPlan, ExactPlan, Plan
from maxatk.planning.exact import Decision
from maxatk.policies import ABANDON
from maxatk.problem.grid import CellGrid, action_name, find_grid
from maxatk.problem.mdp import MDP
from maxatk.report import verdict as verdicts
from maxatk.report import words
from maxatk.report.fitting import FittingTable
from maxatk.report.views import Panel, panels

MOST_BITS = 14_000  # of a fraction in print: about 4,200 digits


def interval(plan: Plan) -> tuple[str, str]:
    """The bounds of a plan, as they are printed."""
    lower, upper = (plan.exact, plan.exact) if isinstance(plan, ExactPlan) else (plan.lower, plan.upper)
    return at_least(lower, decimals(plan)), at_most(upper, decimals(plan))


def decimals(plan: Plan) -> int:
    """As many as tell the bounds apart, but no more than ten digits."""
    size = decimals_of(plan.lower, plan.upper, digits=10)
    narrow = 2 - math.floor(math.log10(plan.gap)) if 0 < plan.gap < math.inf and not isinstance(plan, ExactPlan) else 6
    tiny = decimals_of(plan.lower, plan.upper)  # where six decimals would show nothing
    return min(max(6, narrow, tiny), size)


def tries(plan: Plan) -> Iterator[tuple[int, float, float]]:
    """How much so many rollouts are worth, at least and at most: the first ten, and all of them."""
    shown = sorted({*range(1, min(plan.k, 10) + 1), plan.k})
    for n, (lower, upper) in zip(shown, plan.values_by_tries(shown), strict=True):
        yield n, lower, upper


def certified_plan(plan: CertifiedPlan, title: str, verdict: Sequence[str] = ()) -> RenderableType:
    """What is to be said of a certified plan, its interval, and what each further rollout adds."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading in ("rollouts", "at least", "at most", "worth more than one fewer by"):
        table.add_column(heading, justify="right", overflow="fold")
    before = None
    for left, lower, upper in tries(plan):
        gain = "" if before is None or before[0] != left - 1 else _added(before[1:], (lower, upper))
        table.add_row(str(left), at_least(lower, decimals(plan)), at_most(upper, decimals(plan)), gain)
        before = (left, lower, upper)
    stats = plan.stats
    lowest, highest = interval(plan)
    return Group(
        Text.assemble((title, "bold"), f": {plan.mdp!r}"),
        *([Text(" ".join(verdict), style="bold")] if verdict else []),
        Text.assemble(
            f"{goal(plan)}: between ",
            (lowest, "bold green"),
            " and ",
            (highest, "bold green"),
            f" ({plan.status}: width {plan.gap:.2g}, asked for {stats['tol']:.2g})\n",
            *([(stopping_words(plan), "bold"), "\n"] if plan.stop_at < math.inf else []),
        ),
        table,
        f"\n{_count(int(stats['slices']), 'slice')}, {_count(int(stats['knots']), 'knot')}, "
        f"lattice step {stats['lattice_step']:g}{' (exact)' if stats['exact_lattice'] else ''}, "
        f"{stats['seconds']:.2f} s. "
        "The plan's policy earns at least the lower number; no policy earns more than the upper.",
    )


def _added(fewer: tuple[float, float], more: tuple[float, float]) -> str:
    """What one more try adds, as far as the bounds of both know: a number, or at most so much."""
    low, high = max(more[0] - fewer[1], 0.0), max(more[1] - fewer[0], 0.0)
    if high <= NEXT_TO_NOTHING * max(map(abs, (*fewer, *more))):
        return "0" if high == 0 else f"at most {small(high)}"
    return agreed(low, high, digits=4) or span(low, high, digits=2)


NEXT_TO_NOTHING = 1e-9  # of a value


def stopping_words(plan: Plan) -> str:
    """When to stop, in words; empty where nothing costs anything."""
    stop = stop_of(plan)
    return words.stop(stop) if stop else ""


def goal(plan: Plan) -> str:
    """What a plan is for, in words."""
    if plan.stop_at == math.inf:
        return f"best of {plan.k}"
    giving_up = ", which may be given up" if plan.objective.abandon else ""
    return f"best of up to {plan.k}{giving_up}, less costs"


def exact_plan(plan: ExactPlan, title: str, most_rows: int = 30) -> RenderableType:
    """What an exact plan is worth, and what its policy does where its choice matters."""
    lower, upper = plan.curve(plan.k - 1, plan.best_so_far)
    alone = f"{(lower + upper) / 2:.6g}"
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("rollout", "step", "state", "best", "so far", "action", "chance", "worth"):
        table.add_column(heading, justify="left" if heading in ("state", "action") else "right", no_wrap=True)
    decisions = _choices(plan)
    for d in itertools.islice(decisions, most_rows):
        table.add_row(
            *(str(d.rollout), str(d.step), name_of(plan.mdp.state_names, d.state), _number(d.best), _number(d.so_far)),
            "give up" if d.action == ABANDON else name_of(plan.mdp.action_names, d.action),
            *(f"{float(d.prob):.3g}", _number(d.value)),
        )
    hidden = sum(1 for _ in decisions)
    return Group(
        Text.assemble((title, "bold"), f": {plan.mdp!r}"),
        Text.assemble(
            f"{goal(plan)}: ",
            (f"{float(plan.exact):.8g}", "bold green"),
            f" (exactly {_fraction(plan.exact)}); one rollout alone: {alone}\n",
            *([(stopping_words(plan), "bold"), "\n"] if plan.stop_at < math.inf else []),
        ),
        "What the optimal policy does, wherever its choice matters:\n"
        if table.rows
        else f"No choice of an action matters here{'' if plan.stop_at == math.inf else ', only when to stop'}.",
        *([table] if table.rows else []),
        *([f"... and {hidden} more choices."] if hidden else []),
        *([_legend(plan)] if table.rows else []),
    )


def _legend(plan: ExactPlan) -> str:
    return (
        "\nbest: the best return of earlier rollouts; so far: the return of this one; chance: that of coming to "
        f"this choice; worth: the expected final best from there"
        f"{', less costs to come' if plan.stop_at < math.inf else ''}. Rollouts and steps count from 0."
    )


def _choices(plan: ExactPlan) -> Iterator[Decision]:
    """The decisions in which some action is worse than another."""
    for d in plan.decisions():
        if min(d.values.values()) < d.value:
            yield d


def _number(value: Number) -> str:
    """A fraction where it is short, else a decimal."""
    if value == -math.inf:
        return "none"
    fraction = Fraction(value)
    return str(fraction) if fraction.denominator < 10_000 else f"{float(fraction):.8g}"


def _short_fraction(value: Fraction) -> str:
    """A fraction where it is short, or else that it is known."""
    return str(value) if value.denominator < 10_000 else "exact"


def _fraction(value: Fraction) -> str:
    """A fraction in full where a line can hold it."""
    bits = value.denominator.bit_length()
    return str(value) if bits <= 64 else f"a fraction whose denominator has {bits} bits"


def comparison(compared: Comparison) -> RenderableType:
    """Classes of policies side by side."""
    return Group(
        Text.assemble((goal(compared.plan), "bold"), f": {compared.mdp!r}\n"),
        comparison_rows(compared, compared.rows),
        f"\n{comparison_note(compared)}",
    )


def contrast(found: Contrast) -> RenderableType:
    """What the first try and the last do: as small maps where states are the cells of a grid, and in words."""
    try:
        grid = find_grid(found.mdp)
    except InputError:
        return _in_words(found)
    signs = [*(_arrow(*grid.towards[a].tolist()) for a in range(found.mdp.n_actions)), "×"]
    if grid.columns > MOST_COLUMNS or len(set(signs)) < len(signs):
        return _in_words(found)
    maps = [Text(f"{panel.title}\n{_map(found, grid, panel, signs)}") for panel in panels(found)]
    quits = " × gives up;" if any("×" in str(one) for one in maps) else ""
    return Group(Columns(maps, padding=(0, 3)), f"\n→ ↓ ← ↑ what is done while there is something left to win;{quits} "
                 "S start, G goal, ▒ hazard\n", str(found))  # fmt: skip


MOST_COLUMNS = 24  # of a grid that is drawn
MOST_STATES = 10  # that are listed where there is no grid


def _arrow(down: float, right: float) -> str:
    if abs(down) > abs(right):
        return "↓" if down > 0 else "↑"
    return "→" if right > 0 else "←" if right < 0 else "•"


def _map(found: Contrast, grid: CellGrid, panel: Panel, signs: Sequence[str]) -> str:
    marks = dict.fromkeys(grid.closed, "█") | dict.fromkeys(grid.hazards, "▒") | dict.fromkeys(grid.goals, "G")
    marks |= dict.fromkeys(found.mdp.start_state.tolist(), "S") if len(found.mdp.start_state) == 1 else {}
    cells = [marks.get(s) or ("·" if a < 0 else signs[a]) for s, a in enumerate(panel.action)]
    return "\n".join(" ".join(cells[r * grid.columns : (r + 1) * grid.columns]) for r in range(grid.rows))


def _in_words(found: Contrast) -> RenderableType:
    table = _by_state(found)
    return Group(table, "", str(found)) if table.rows else str(found)


def _by_state(found: Contrast) -> Table:
    """The action of each try in the states that are visited most."""
    mdp, tries = found.mdp, panels(found)
    visited = np.max([panel.visits for panel in tries], axis=0)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("mostly, in", *(panel.title for panel in tries)):
        table.add_column(heading)
    shown: list[int] = np.argsort(-visited, kind="stable")[:MOST_STATES].tolist()
    for s in sorted(shown):
        if visited[s] >= SELDOM:
            table.add_row(
                mdp.state_names[s] if mdp.state_names else f"state {s}",
                *(_acts(mdp, panel.action[s]) + (" and others" if panel.mixed[s] else "") for panel in tries),
            )
    return table


def _acts(mdp: MDP, action: int) -> str:
    return "-" if action < 0 else "give up" if action == mdp.n_actions else action_name(mdp, action)


def comparison_note(compared: Comparison) -> str:
    """What the numbers of a comparison mean."""
    note = "A policy of the class earns the first number; no policy of the class earns more than the second."
    return (
        f"{note} Several policies have the best mean; the first row is about one of them."
        if compared.gain.tied
        else note
    )


def comparison_rows(compared: Comparison, rows: Sequence[Row]) -> Table:
    """Some rows of a comparison as a table."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    spread = max(compared.plan.upper - compared.rows[0].lower, 1e-9 * abs(compared.plan.upper), 1e-300)
    digits = min(max(4 - math.floor(math.log10(spread)), 0), 12)
    priced = compared.plan.stop_at < math.inf
    table.add_column("policy", overflow="fold")
    for name in ("earns", "at most", "of the gain", *(["tries"] if priced else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("obtained by", overflow="fold")
    for row in rows:
        lower, upper = (row.lower, row.upper) if row.exact is None else (row.exact, row.exact)
        lower = max([lower, *(other.exact for other in compared.inside(row) if other.exact is not None)])
        how = row.method if row.exact is None else f"{row.method}: {_short_fraction(row.exact)}"
        table.add_row(
            row.name,
            at_least(lower, digits),
            at_most(upper, digits),
            share_of(compared, row),
            *([tries_of(row)] if priced else []),
            how,
        )
    return table


def share_of(compared: Comparison, row: Row) -> str:
    """The share of the gain that a class has, rounded so that it is true; a dash where it is not known."""
    share = compared.share(row)
    if share is None:
        return "-"
    found = next((one for one in compared.findings if isinstance(one, Share) and one.name == row.name), None)
    low, high = (share, share) if found is None else (found.lower, found.upper)
    rounded = {f"{100 * x:.1f} %" for x in (low, high)}
    if len(rounded) == 1 and (low == 1 or low < 0.999):  # 100 % means all of it
        return rounded.pop()
    return f"≥ {math.floor(1000 * low) / 10:.1f} %" if low >= 0.001 else "-"


def tries_of(row: Row) -> str:
    """How many tries the policy of a row makes on average, where that is known."""
    return "" if row.evaluation is None else agreed(*row.evaluation.tries.ends, digits=3)


def simulation(plan: CertifiedPlan | Learned, runs: Simulation, level: float = 0.95) -> RenderableType:
    """What a policy earned in trials, beside what is certain of it."""
    low, high = runs.interval(level)
    learned = isinstance(plan, Learned)
    what = f"best of {plan.k}" if learned else goal(plan)
    sure = plan.certificate if learned else f"certified for this policy: {' to '.join(interval(plan))}"
    return Group(
        Text.assemble(
            f"{what} in {_count(len(runs.best), 'trial')}: ",
            (f"{runs.mean:.6g}", "bold green"),
            f" on average{f', {100 * level:g} % interval by t {low:.6g} to {high:.6g}' if len(runs.best) > 1 else ''}",
        ),
        *([_paid(runs)] if not learned and plan.costly else []),
        sure,
        f"{words.agreement(_agreement(plan, runs, level))}; {_count(runs.steps, 'step')} in {runs.seconds:.1f} s",
    )


def _paid(runs: Simulation) -> str:
    best, cost, tries = (float(x.mean()) for x in (runs.best, runs.cost, runs.tries))
    return f"best return {best:.6g} for {cost:.6g}, in {tries:.3g} tries on average"


def _agreement(plan: CertifiedPlan | Learned, runs: Simulation, level: float) -> Agreement:
    """Whether trials agree with what is proved of the policy."""
    low, high = runs.interval(level)
    lower, upper = runs.proved_interval(*_range_of_trials(plan), level)
    return Agreement(
        lower=lower, upper=upper, proved_lower=plan.lower, proved_upper=plan.upper, usual_lower=low, usual_upper=high,
        level=level, trials=len(runs.best),
    )  # fmt: skip


def _range_of_trials(plan: CertifiedPlan | Learned) -> tuple[float, float]:
    """What no trial falls short of, and what none exceeds."""
    if isinstance(plan, Learned):  # only its counted problem is known
        return -math.inf, math.inf
    mdp, best = plan.mdp, float(plan.best_so_far)
    least, most = mdp.return_range
    dearest = plan.k * (float(plan.objective.cost) + mdp.horizon * float(mdp.action_cost.max())) if plan.costly else 0.0
    lowest = best if plan.objective.abandon else max(best, least)  # what is given up returns nothing
    return lowest - dearest, max(best, most)


def learned(result: Learned, title: str) -> RenderableType:
    """What was learned, and how surely: whether the target was met comes first."""
    met = [words.loss(one) for one in result.findings if isinstance(one, Loss)]
    return Group(
        Text.assemble((title, "bold"), f": best of {result.k}, from {_count(result.samples, 'sample')}. ", *met),
        result.certificate,
    )


def instances(described: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Named problems, as :func:`maxatk.problem.instances.described` describes them."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "", "arguments"):
        table.add_column(heading, no_wrap=heading == "name")
    for one in described:
        table.add_row(one["name"], one["summary"], ", ".join(f"{name}={x}" for name, x in one["arguments"].items()))
    return table


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


# The same as plain data, for JSON.


def plan_data(plan: Plan, comparison: Comparison | None = None) -> dict[str, Any]:
    """A plan's numbers, and what is proved of it, by a comparison with simpler policies if there is one."""
    return {**_numbers(plan), "findings": [one.data() for one in verdicts.findings(plan, comparison)]}


def _numbers(plan: Plan) -> dict[str, Any]:
    return {
        "problem": problem_data(plan.mdp),
        "k": plan.k,
        "best_so_far": _finite(float(plan.best_so_far)),
        "lower": plan.lower,
        "upper": plan.upper,
        "gap": plan.gap,
        "status": str(plan.status),
        **({"exact": _as_text(plan.exact)} if isinstance(plan, ExactPlan) else {}),
        **stopping_data(plan),
        "stats": {name: _finite(value) for name, value in plan.stats.items()},
    }


def stopping_data(plan: Plan) -> dict[str, Any]:
    """When to stop, where anything costs anything."""
    if plan.stop_at == math.inf:
        return {}
    objective = plan.objective
    words = stopping_words(plan)
    return {"cost": float(objective.cost), "abandon": objective.abandon, "stop_at": float(plan.stop_at), "says": words}


def problem_data(mdp: MDP) -> dict[str, Any]:
    """The sizes of a problem, and its digest."""
    return {
        "n_states": mdp.n_states,
        "n_actions": mdp.n_actions,
        "horizon": mdp.horizon,
        "outcomes": len(mdp.prob),
        "fingerprint": mdp.fingerprint,
    }


def _as_text(value: Fraction) -> str | None:
    """A fraction as text, but for one of thousands of digits, which Python neither prints nor parses."""
    return str(value) if max(abs(value.numerator), value.denominator).bit_length() <= MOST_BITS else None


def comparison_data(compared: Comparison) -> list[dict[str, Any]]:
    """The rows of a comparison."""
    return [
        {
            "policy": row.name,
            "lower": _finite(row.lower),
            "upper": row.upper,
            "exact": None if row.exact is None else _as_text(row.exact),
            "share": compared.share(row),
            "method": row.method,
            **({} if compared.plan.stop_at == math.inf else {"tries": tries_of(row)}),
        }
        for row in compared.rows
    ]


def contrast_data(contrast: Contrast) -> list[dict[str, Any]]:
    """The tries of a contrast."""
    return [
        {
            "rollout": one.rollout,
            "best": _finite(one.best),
            "beats": one.beats,
            "mean": _known(one.mean),
            "low": _known(one.low),
            "high": _known(one.high),
            **({"stops": one.stops, "given_up": one.given_up} if one.stops or one.given_up else {}),
            "differences": [difference._asdict() for difference in contrast.first.differences(one)],
        }
        for one in (contrast.first, *contrast.last)
    ]


def simulation_data(plan: CertifiedPlan | Learned, runs: Simulation, level: float = 0.95) -> dict[str, Any]:
    """What trials came to, beside the plan's certificate."""
    return {
        "k": plan.k,
        "trials": len(runs.best),
        "mean": runs.mean,
        "level": level,
        "interval": [_finite(end) for end in runs.interval(level)],
        "method": "t, nominal",
        "certificate": [plan.lower, plan.upper],
        **(_costs_data(runs) if isinstance(plan, CertifiedPlan) and plan.costly else {}),
        **({"delta": plan.delta} if isinstance(plan, Learned) else {}),
        "findings": [one.data() for one in (*_bounds(plan), _agreement(plan, runs, level))],
        "steps": runs.steps,
        "seconds": runs.seconds,
    }


def _bounds(plan: CertifiedPlan | Learned) -> tuple[Finding, ...]:
    return plan.findings if isinstance(plan, Learned) else (Value(lower=plan.lower, upper=plan.upper, k=plan.k),)


def _costs_data(runs: Simulation) -> dict[str, float]:
    best, cost, tries = (float(x.mean()) for x in (runs.best, runs.cost, runs.tries))
    return {"best": best, "cost": cost, "tries": tries}


def learned_data(result: Learned) -> dict[str, Any]:
    """What was learned."""
    return {
        "k": result.k,
        "lower": result.lower,
        "upper": result.upper,
        "epsilon": result.epsilon,
        "target": result.target,
        "delta": result.delta,
        "samples": result.samples,
        "certificate": result.certificate,
        "findings": [one.data() for one in result.findings],
        # The bounds of the counted problem's plan are no findings: they say nothing of the true one.
        "model_plan": None if result.model_plan is None else _numbers(result.model_plan),
        "stats": {name: _finite(value) for name, value in result.stats.items()},
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _finite(value: float) -> float | None:
    """JSON has no infinities."""
    return value if math.isfinite(value) else None
