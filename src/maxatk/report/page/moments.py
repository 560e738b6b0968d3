"""The actions of a plan at many moments (rollout, step, state, M, G), and trials that pass through some of them."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk.base.errors import TooLargeError
from maxatk.base.returns import Amounts, Scale
from maxatk.base.text import finite
from maxatk.base.types import Floats, Ints, Number
from maxatk.evaluation.trials import Table, TrialStep, trial_steps
from maxatk.laws.units import Units
from maxatk.planning.certified.lattice import common_step, simplest
from maxatk.planning.plan import Plan
from maxatk.policies import ABANDON, hooks
from maxatk.problem.mdp import MDP
from maxatk.report.reach import Reach
from maxatk.report.tuning import TUNING

TRIALS = 12
MOST_STEPS = 20_000  # of all trials together
ROLLOUTS = 8  # at least, if k is as large
MOST_ROLLOUTS = 60
BESTS = 60
RETURNS = 24  # for each step and state
CELLS = 6_000_000  # actions to compute; fewer for a policy that is called for one action at a time
CELLS_ONE_BY_ONE = 40_000
WORK = 2e8  # outcomes times steps times slices, by which the number of best returns is limited
ANY = 0xFFFF  # in place of an action: M cannot be beaten any more
GIVEN_UP = "given up"  # in place of a return


@dataclass(frozen=True, eq=False)
class Moments:
    """The actions of a plan's policy, by rollout, step, state, best return and return so far.

    A *place* is a step and a state; with each come the returns that a rollout can have there.
    """

    rollouts: list[int]  # [n]
    bests: Floats  # [m] rising, the first may be -inf
    step: list[int]  # [p]
    state: list[int]  # [p]
    returns: list[Floats] = field(repr=False)  # [p][g] rising
    actions: list[Ints] = field(repr=False)  # [p][n, g, m] an action, their number to give up, or ANY
    all_places: bool  # whether every place that a rollout can come to is among them


def sample_trials(plan: Plan, seed: int = 0) -> list[list[TrialStep]]:
    """Some trials of the plan's policy, step by step; none if they are too long to show."""
    length = plan.k * plan.mdp.horizon
    if length > TUNING.longest_trial:
        return []
    count = min(max(MOST_STEPS // length, 1), TRIALS)
    streams = np.random.default_rng(seed).spawn(count)
    trials = [list(trial_steps(Table(plan.mdp, stream), plan.policy, stream)) for stream in streams]
    return [trial for trial in trials if trial]  # it may stop before the first try


class Count:
    """Returns as the plan's policy remembers them, as multiples of a common step.

    Floats such as 0.1 count as tenths, if the planner treats them so.
    """

    def __init__(self, plan: Plan) -> None:
        mdp, units = plan.mdp, Units.of(plan.mdp, plan.policy)
        self.rounds = units.rounds  # whether the policy remembers other rewards than the true ones
        self.scale, self.reward = units.memory, units.remembered  # [T]
        step = None if units.rounds else common_step(mdp)
        if step is not None and plan.best_so_far != -math.inf:
            step = _common(step, simplest(plan.best_so_far))
        if step is not None and step * 2**52 > max(map(abs, mdp.return_range)):
            self.scale, self.reward = Scale(step), np.rint(mdp.reward / float(step)).astype(np.int64)

    def units(self, amount: Number) -> int:
        """A return in steps."""
        return self.scale.units(amount)

    def known(self, amount: Number) -> float:
        """A return as the float nearest to its exact value."""
        return float(self.scale.number(self.units(amount)))


def _common(a: Fraction, b: Fraction) -> Fraction:
    """The largest number that both are multiples of."""
    bottom = math.lcm(a.denominator, b.denominator)
    return Fraction(math.gcd(int(a * bottom), int(b * bottom)), bottom)


def ask(plan: Plan, count: Count, trials: list[list[TrialStep]], low: float, cells: int | None = None) -> Moments:
    """The actions of the plan's policy at as many moments as a page can hold, those of the trials first.

    Args:
        plan: the plan.
        count: the unit of its returns.
        trials: some of its trials.
        low: the least best return to show.
        cells: the maximal number of actions to compute.
    """
    mdp, policy = plan.mdp, plan.policy
    if mdp.n_actions + 1 >= ANY:
        raise TooLargeError(f"{mdp.n_actions} actions are too many to tell apart")
    if cells is None:
        cells = CELLS_ONE_BY_ONE if hooks.asks_one_by_one(policy) else CELLS
    scale, reach = count.scale, Reach(mdp, count.reward)
    few = min(plan.k, ROLLOUTS)
    bests = _bests(plan, count, trials, low, reach, few)
    met = _met(count, trials)
    used = 0  # actions for one rollout
    places: dict[tuple[int, int], Ints] = {}
    all_places = True
    for h, s in itertools.chain(met, _arrivals(plan, reach), _everywhere(plan, reach)):
        if (h, s) in places:
            continue
        # Above this return, some M that is shown can be beaten.
        hopeful = count.units(low) - mdp.analysis.most[h, s] / float(scale.unit)
        returns = np.union1d(reach.returns(h, s, RETURNS, hopeful), np.array(met.get((h, s), []), np.int64))
        more = len(returns) * len(bests)
        if few * (used + more) > cells and places:
            all_places = False
            break
        places[h, s] = returns
        used += more
    kept = min(plan.k, max(few, min(cells // used, MOST_ROLLOUTS)))
    rollouts = sorted({round(i) for i in np.linspace(0, plan.k - 1, kept)})
    actions = {
        place: np.empty((len(rollouts), len(returns), len(bests)), np.int64) for place, returns in places.items()
    }
    for n, i in enumerate(rollouts):
        act = hooks.rule(policy, i, Amounts(bests, scale)).act
        for h, here in itertools.groupby(sorted(places), key=lambda place: place[0]):
            some = [(s, places[h, s]) for _, s in here]
            state = np.repeat([s for s, _ in some], [len(returns) for _, returns in some])
            so_far = np.concatenate([returns for _, returns in some])
            tag, which = (x.ravel() for x in np.mgrid[: len(bests), : len(state)])
            taken = act(h, tag, state[which], Amounts(so_far[which], scale)).reshape(len(bests), -1)
            over = hopeless(plan, h, state, scale.floats(bests)[:, None], scale.floats(so_far))
            taken = np.where(over, ANY, np.where(taken == ABANDON, mdp.n_actions, taken))
            first = 0
            for s, returns in some:
                actions[h, s][n] = taken[:, first : first + len(returns)].T
                first += len(returns)
    return Moments(
        rollouts=rollouts,
        bests=scale.floats(bests),
        step=[h for h, _ in places],
        state=[s for _, s in places],
        returns=[scale.floats(returns) for returns in places.values()],
        actions=[actions[place] for place in places],
        all_places=all_places,
    )


def frame(plan: Plan, count: Count, taken: TrialStep) -> list[Any]:
    """A step of a trial: state, action, M, G, both as the policy remembers them, and whether M is out of reach.

    If the step ends a rollout, its return and whether that is the best so far follow; otherwise None twice. A rollout
    that is abandoned takes the action after the last.
    """
    true_rewards = not count.rounds
    best, so_far = (count.known(x) if true_rewards else float(x) for x in (taken.best, taken.so_far))
    remembered = [count.known(x) for x in taken.remembered]
    total, better = None, None
    action = plan.mdp.n_actions if taken.action == ABANDON else taken.action
    if taken.action == ABANDON:
        total, better = GIVEN_UP, False
    elif taken.over:
        end = Fraction(taken.so_far) + Fraction(taken.reward)
        better = count.units(end) > count.units(taken.best) if true_rewards else end > taken.best
        total = count.known(end) if true_rewards else float(end)
    lost = bool(hopeless(plan, taken.step, taken.state, best, so_far))
    return [taken.state, action, *map(finite, (best, so_far, *remembered)), lost, total, better]


def passed_over(mdp: MDP, trial: list[TrialStep], negligible: Callable[[int, float], float]) -> list[bool]:
    """Which steps of a trial the player skips: those from which a try can hardly improve the best so far.

    A try that is such from its first step on is shown whole, if it can improve the best so far at all. ``negligible``
    returns the greatest return that is negligible, by rollout and best return.
    """

    def most(taken: TrialStep) -> float:
        return float(taken.so_far) + float(mdp.analysis.most[taken.step, taken.state])

    whole = {
        t.rollout for t in trial if t.step == 0 and float(t.best) < most(t) <= negligible(t.rollout, float(t.best))
    }
    return [t.rollout not in whole and most(t) <= negligible(t.rollout, float(t.best)) for t in trial]


def story(trials: list[list[TrialStep]]) -> int:
    """The most instructive trial: the first with the most improvements of the best return, up to three.

    Trials in which a try is abandoned take precedence.
    """

    def improved(t: TrialStep) -> bool:
        return t.over and t.action != ABANDON and float(t.so_far) + t.reward > float(t.best)

    told = [(any(t.action == ABANDON for t in trial), min(sum(map(improved, trial)), 3)) for trial in trials]
    return max(range(len(trials)), key=lambda n: told[n], default=0)


def hopeless(plan: Plan, h: int, state: Any, best: Any, so_far: Any) -> Any:
    """Whether a rollout can no longer beat the best return by more than the rounding of its rewards."""
    rounding = plan.mdp.horizon * 2.0**-52 * max(map(abs, plan.mdp.return_range))
    return so_far + plan.mdp.analysis.most[h, state] <= best + rounding


def _bests(plan: Plan, count: Count, trials: list[list[TrialStep]], low: float, reach: Reach, rollouts: int) -> Ints:
    """Best returns to show [m]: no result or the incumbent, those of the trials, and others between."""
    mdp = plan.mdp
    effort = len(mdp.prob) / mdp.n_layers * mdp.horizon * rollouts
    wanted = int(min(max(WORK / effort, 9), BESTS))
    first = count.units(plan.best_so_far)
    ends = (max(count.units(x), first) for x in (low, mdp.return_range[1]))
    some = reach.totals(*ends, most=wanted)
    met = sorted({count.units(taken.remembered[0]) for trial in trials for taken in trial})
    if len(met) > wanted:
        met = met[:: -(-len(met) // wanted)]
    return np.array(sorted({first, *some.tolist(), *met}), np.int64)


def _met(count: Count, trials: Iterable[Iterable[TrialStep]]) -> dict[tuple[int, int], list[int]]:
    """The places that trials visit, and some of the returns that they have there."""
    places: dict[tuple[int, int], set[int]] = {}
    for trial in trials:
        for taken in trial:
            returns = places.setdefault((taken.step, taken.state), set())
            if len(returns) < RETURNS:
                returns.add(count.units(taken.remembered[1]))
    return {place: sorted(returns) for place, returns in places.items()}


def _arrivals(plan: Plan, reach: Reach) -> Iterator[tuple[int, int]]:
    """The first step at which a rollout can be in a state, for every state."""
    seen: set[int] = set()
    for h in range(plan.mdp.horizon):
        for s in reach.states(h):
            if s not in seen:
                seen.add(s)
                yield h, s


def _everywhere(plan: Plan, reach: Reach) -> Iterator[tuple[int, int]]:
    for h in range(plan.mdp.horizon):
        for s in reach.states(h):
            yield h, s
