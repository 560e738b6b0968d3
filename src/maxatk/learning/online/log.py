"""Logs of episodes that somebody else played: bounds on the optimum, and a policy with a bound of its own.

Rows are drawn independently of the past whenever they are taken, whoever decides that and by what rule. So bounds hold
for logs of any behaviour, as long as every step of a rollout was kept and no rollout was left out because of what came
out. docs/theory/online.md, 6.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Ints, Number
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.learned import Learned
from maxatk.learning.online import certificate
from maxatk.learning.online.explore import balls, counted
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.online.points import Points
from maxatk.learning.online.swept import BELOW, MEAN, Swept, SweptPolicy
from maxatk.learning.optimism import STAKES
from maxatk.learning.sample_size import probability

HALF = Fraction(1, 2)


def learn_from(
    log: Iterable[Sequence[Any]],
    k: int,
    delta: Number = 0.05,
    *,
    n_states: int,
    n_actions: int,
    horizon: int,
    reward_range: tuple[Number, Number] = (0, 1),
    return_range: tuple[Number, Number] | None = None,
    best_so_far: Number = -math.inf,
    homogeneous: bool = True,
    start: Any = None,
    can_terminate: bool = True,
    max_outcomes: int | None = None,
) -> Learned:
    """Bounds on the best of ``k`` rollouts from a log of rollouts, and a policy that is sure to earn the lower one.

    The log may come from any behaviour, adaptive or unknown. What it must not be is a selection: every step of a
    rollout must be there, and no rollout may be missing because of how it went: a log of the best rollouts alone cannot
    say how often things fail, and nothing in it shows that. With ``max_outcomes`` all rollouts count for both bounds.
    Without one every other rollout is for finding the policy, and the rest for what it earns.

    Args:
        log: rollouts, each a list of steps ``(state, action, reward, next_state)``; a next state of None ends it.
        k: the number of rollouts to plan for; those of the log need not come in such groups.
        delta: the probability with which a bound may fail.
        n_states: the number of states.
        n_actions: the number of actions.
        horizon: the number of steps of a rollout.
        reward_range: bounds on a single reward.
        return_range: bounds on the return of a rollout, if they are narrower than what rewards add up to.
        best_so_far: a return in hand.
        homogeneous: whether all steps behave alike.
        start: the state that rollouts start in, or a distribution over states; estimated if it is not known.
        can_terminate: whether rollouts may end before the horizon.
        max_outcomes: a bound on the number of different outcomes of a row, if one is known.

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
    source = SimpleNamespace(
        n_states=n_states,
        n_actions=n_actions,
        horizon=horizon,
        homogeneous=homogeneous,
        reward_range=reward_range,
        return_range=return_range,
        start=start,
        can_terminate=can_terminate,
        max_outcomes=max_outcomes,
    )
    risk = float(probability(delta, "delta"))
    setting, k = CheckedEpisodes(source, best_so_far), checks.rollouts(k)
    whole, *halves = (_ledger(setting, k, risk) for _ in range(3))
    rollouts = 0
    if not isinstance(log, Iterable):
        raise InputError(f"log must be a list of rollouts, not {shown(log)}")
    for rollouts, rollout in enumerate(log, start=1):
        _enter(rollout, rollouts - 1, (whole, halves[rollouts % 2]))
    if not rollouts:
        raise InputError("the log is empty")
    certificate.from_above(whole)
    points = whole.points()
    if setting.max_outcomes is not None and not points.rounds:
        swept = Swept(points, k, counted(whole, points, balls(whole, _above(whole))), BELOW)
        lower = swept.value
    else:
        swept, lower = _by_halves(halves, points, counted(whole, points, np.ones(1)).jump)
    lower = max(lower - certificate.rounding(whole, swept), setting.least)
    return Learned(
        policy=SweptPolicy(swept),
        lower=lower,
        upper=max(whole.upper, lower),
        epsilon=max(whole.upper - lower, 0.0),
        delta=risk,
        samples=whole.steps,
        target=None,
        counts=whole.data.counts,
        basis=f"{whole.steps} steps in {rollouts} rollouts, if nothing was left out of the log because of how it went",
        stats={"rollouts": rollouts},
    )


def _ledger(setting: CheckedEpisodes, k: int, delta: float) -> EpisodeLedger:
    return EpisodeLedger(setting, k, np.random.default_rng(0), delta=delta)


def _above(ledger: EpisodeLedger) -> Any:
    return ledger.risk.share("the optimum from above", HALF)


def _by_halves(halves: list[EpisodeLedger], points: Points, jumps: Ints) -> tuple[Swept, float]:
    """The policy that is best by one half of the log, and what it earns at least by the other.

    Given the policy, what it is worth from each cell on is a fixed function, and bets on it need no bound
    on the number of outcomes.
    """
    first, second = halves
    claims = points.functions(first.k) * len(STAKES)
    log = second.risk.share("policies from below", HALF).share(points.name, points.share).log(claims)
    planned = Swept(points, first.k, counted(first, points, np.ones(points.setting.n_rows + 1)), MEAN, jumps)
    below = Swept(points, first.k, counted(second, points, np.full(points.setting.n_rows + 1, log)), BELOW, jumps)
    return planned, below.value_of(planned)


def _enter(rollout: Any, number: int, ledgers: Sequence[EpisodeLedger]) -> None:
    """Count one rollout of the log, once it was checked."""
    setting = ledgers[0].setting
    if not checks.is_list(rollout) or not 1 <= len(rollout) <= setting.horizon:
        raise InputError(f"rollout {number} of the log must be a list of 1 to {setting.horizon} steps")
    total, expected = Fraction(0), None
    steps: list[tuple[int, int, float]] = []
    for h, step in enumerate(rollout):
        name = f"rollout {number}, step {h} of the log"
        if not checks.is_list(step) or len(step) != 4:
            raise InputError(f"{name} must be (state, action, reward, next_state), not {shown(step)}")
        state = checks.integer(step[0], f"{name}: the state", most=setting.n_states - 1)
        action = checks.integer(step[1], f"{name}: the action", most=setting.n_actions - 1)
        reward = checks.exact_number(step[2], f"{name}: the reward")
        if expected is not None and state != expected:
            raise InputError(f"{name} starts in state {state}, but the one before led to {expected}: was one left out?")
        if not setting.least_reward <= reward <= setting.most_reward:
            low, high = setting.least_reward, setting.most_reward
            raise InputError(f"{name}: reward {float(reward):g} is outside the reward_range ({low:g}, {high:g})")
        total += reward
        over = step[3] is None
        expected = setting.next_state(setting.n_states if over else step[3], name)
        steps.append((setting.row_at(h, state, action), expected, float(reward) + 0.0))
        if over and h + 1 < len(rollout):
            raise InputError(f"{name} ends the rollout, but others follow")
    if expected != setting.n_states and len(rollout) < setting.horizon:
        raise InputError(
            f"rollout {number} of the log stops after {len(rollout)} of {setting.horizon} steps without an end: where "
            "the rest was left out, nothing can be said"
        )
    setting.check_return(total, f"rollout {number} of the log")
    setting.check_start(int(rollout[0][0]), f"rollout {number} of the log")
    for ledger in ledgers:
        ledger.starts[int(rollout[0][0])] += 1
        ledger.steps += len(steps)
        for row, after, reward in steps:
            ledger.rewards.add(reward)
            ledger.count(row, after, reward)
