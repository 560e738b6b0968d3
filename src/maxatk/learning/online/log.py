"""Logs of episodes that somebody else played: bounds on the optimum, and a policy with a bound of its own.

Rows are drawn independently of the past whenever they are taken, whoever decides that and by what rule. So bounds hold
for logs of any behaviour, as long as every step of a rollout was kept and no rollout was left out because of what came
out. docs/theory/online.md, 6.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.learning.belief import counted
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.grid import ReturnGrid
from maxatk.learning.learned import Bounds, Evidence, Learned
from maxatk.learning.online import certificate
from maxatk.learning.online.explore import balls
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.risk import Claim
from maxatk.learning.sample_size import probability
from maxatk.learning.spec import EpisodeSpec, Known
from maxatk.learning.uncertain import BELOW, MEAN, UncertainPlan, policy_of


def learn_from(
    log: Iterable[Sequence[Any]],
    k: int,
    delta: Number = 0.05,
    *,
    n_states: int,
    n_actions: int,
    horizon: int,
    **known: Unpack[Known],
) -> Learned:
    """Bounds on the best of ``k`` rollouts from a log of rollouts, and a policy that is sure to earn the lower one.

    The log may come from any behaviour, adaptive or unknown. What it must not be is a selection: every step of a
    rollout must be there, and no rollout may be missing because of how it went: a log of the best rollouts alone cannot
    say how often things fail, and nothing in it shows that. With ``max_outcomes`` all rollouts count for both bounds.
    Without one every other rollout is for finding the policy, and the rest for what it earns. Where rewards are
    multiples of no common number they are rounded at random, with their means kept, and the policy remembers them so:
    it is asked by its trials alone, with ``begin(rng)``.

    Args:
        log: rollouts, each a list of steps ``(state, action, reward, next_state)``; a next state of None ends it.
        k: the number of rollouts to plan for; those of the log need not come in such groups.
        delta: the probability with which a bound may fail.
        n_states: the number of states.
        n_actions: the number of actions.
        horizon: the number of steps of a rollout.
        known: what else is known of episodes, as in :class:`maxatk.EpisodeSpec`: ``reward_range``, ``return_range``,
            ``best_so_far``, ``homogeneous``, ``start``, ``can_terminate``, ``max_outcomes``.

    >>> import numpy as np
    >>> import maxatk as mk
    >>> rng = np.random.default_rng(0)
    >>> def rollout():                             # safe pays 1/2, risky 1 with probability 1/4
    ...     action = int(rng.integers(2))
    ...     return [(0, action, 0.5 if action == 0 else float(rng.random() < 0.25), None)]
    >>> out = mk.learn_from([rollout() for _ in range(4000)], 2, n_states=1, n_actions=2, horizon=1, max_outcomes=2)
    >>> out.lower < 0.625 < out.upper, round(out.upper - out.lower, 2)
    (True, 0.06)
    """
    risk = float(probability(delta, "delta"))
    episodes, k = CheckedEpisodes(EpisodeSpec(n_states, n_actions, horizon, **known)), checks.rollouts(k)
    if not isinstance(log, Iterable):
        raise InputError(f"log must be a list of rollouts, not {shown(log)}")
    with stopping.scope():
        return _learned(log, episodes, k, risk)


def _learned(log: Iterable[Any], episodes: CheckedEpisodes, k: int, risk: float) -> Learned:
    """The same, of what was checked."""
    streams = np.random.default_rng(0).spawn(3)  # what is rounded in one half must not depend on the other
    whole, *halves = (EpisodeLedger(episodes, k, stream, delta=risk) for stream in streams)
    rollouts = 0
    for rollouts, rollout in enumerate(log, start=1):
        stopping.check()
        told = _checked(rollout, rollouts - 1, episodes)
        for ledger in (whole, halves[rollouts % 2]):
            ledger.tell_rollout(*told)
    if not rollouts:
        raise InputError("the log is empty")
    certificate.from_above(whole)
    grid = whole.grid()
    if episodes.max_outcomes is not None and not grid.rounds:
        plan = UncertainPlan(grid, k, counted(whole.data, whole.starts, grid, balls(whole)), BELOW)
        lower = plan.value
    else:
        plan, lower = _by_halves(halves, grid)
    lower = max(lower - grid.excess(k) - certificate.rounding(whole, plan), episodes.least)
    basis = f"{whole.steps} steps in {rollouts} rollouts, if nothing was left out of the log because of how it went"
    return Learned(
        policy_of(plan),
        Bounds.between(lower, whole.upper, episodes, risk, None),
        Evidence(whole.steps, whole.data.counts, basis, {"rollouts": rollouts}),
    )


def _by_halves(halves: list[EpisodeLedger], grid: ReturnGrid) -> tuple[UncertainPlan, float]:
    """The policy that is best by one half of the log, and what it earns at least by the other, on the grid.

    Given the policy, its value from each cell on is a fixed function, and bets on it need no bound on the number of
    outcomes. So the policy must not depend on the other half: it is planned in all cells, whatever was seen.
    """
    first, second = halves
    if grid.rounds:
        for half in halves:
            half.round_to(grid)
    log = grid.log(second.risk.half(Claim.POLICIES), second.k)
    jumps = np.arange(grid.fall, grid.rise + 1)
    seen, others = (counted(half.data, half.starts, grid, radius) for half, radius in ((first, 1.0), (second, log)))
    planned = UncertainPlan(grid, first.k, seen, MEAN, jumps=jumps)
    return planned, UncertainPlan(grid, 1, others, BELOW, jumps=jumps).value_of(planned)


def _checked(rollout: Any, number: int, known: CheckedEpisodes) -> tuple[int, list[tuple[int, int, float]]]:
    """One rollout of the log, checked: its first state, and rows, next states and rewards of its steps."""
    if not checks.is_list(rollout) or not 1 <= len(rollout) <= known.horizon:
        raise InputError(f"rollout {number} of the log must be a list of 1 to {known.horizon} steps")
    total, expected = Fraction(0), None
    steps: list[tuple[int, int, float]] = []
    for h, step in enumerate(rollout):
        name = f"rollout {number}, step {h} of the log"
        if not checks.is_list(step) or len(step) != 4:
            raise InputError(f"{name} must be (state, action, reward, next_state), not {shown(step)}")
        state = checks.integer(step[0], f"{name}: the state", most=known.n_states - 1)
        action = checks.integer(step[1], f"{name}: the action", most=known.n_actions - 1)
        reward = checks.exact_number(step[2], f"{name}: the reward")
        if expected is not None and state != expected:
            raise InputError(f"{name} starts in state {state}, but the one before led to {expected}: was one left out?")
        known.check_reward(reward, name)
        total += reward
        over = step[3] is None
        expected = known.next_state(known.n_states if over else step[3], name)
        steps.append((known.row_at(h, state, action), expected, float(reward) + 0.0))
        if over and h + 1 < len(rollout):
            raise InputError(f"{name} ends the rollout, but others follow")
    if expected != known.n_states and len(rollout) < known.horizon:
        raise InputError(
            f"rollout {number} of the log stops after {len(rollout)} of {known.horizon} steps without an end: where "
            "the rest was left out, nothing can be said"
        )
    known.check_return(total, f"rollout {number} of the log")
    known.check_start(int(rollout[0][0]), f"rollout {number} of the log")
    return int(rollout[0][0]), steps
