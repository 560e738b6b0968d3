"""What a plan does at a great many moments (rollout, step, state, M, G), and trials that pass through some of them."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from maxatk.evaluation.propagation import Units
from maxatk.evaluation.reach import Reach
from maxatk.evaluation.simulate import Taken, trial_in_table
from maxatk.planning.plan import Plan
from maxatk.policies import CompressedPolicy
from maxatk.returns import Amounts
from maxatk.rows import Floats, Ints

TRIALS = 12
MOST_STEPS = 20_000  # of all trials together
MOST_TRIAL = 60_000  # steps of a single trial
ROLLOUTS = 8
BESTS = 60
RETURNS = 24  # for each step and state
CELLS = 6_000_000  # asked in all; a policy that answers one question at a time is asked fewer
CELLS_ONE_BY_ONE = 40_000
WORK = 2e8  # outcomes times steps times slices, by which the number of best returns is limited
ANY = 0xFFFF  # in place of an action: nothing can beat M any more


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
    actions: list[Ints] = field(repr=False)  # [p][n, g, m] or ANY
    all_places: bool  # whether every place that a rollout can come to is among them


def sample_trials(plan: Plan, seed: int = 0) -> list[list[Taken]]:
    """Some trials of the plan's policy, step by step; none where even one would be too long to look at."""
    length = plan.k * plan.mdp.horizon
    if length > MOST_TRIAL:
        return []
    count = min(max(MOST_STEPS // length, 1), TRIALS)
    streams = np.random.default_rng(seed).spawn(count)
    return [list(trial_in_table(plan.mdp, plan.policy, stream)) for stream in streams]


def moments(plan: Plan, trials: list[list[Taken]], low: float, cells: int | None = None) -> Moments:
    """Ask the plan's policy at as many moments as a page can hold, those of the trials first.

    Args:
        plan: the plan.
        trials: some of its trials.
        low: the least best return worth showing.
        cells: how many questions to ask at most.
    """
    mdp, policy = plan.mdp, plan.policy
    if cells is None:
        cells = CELLS_ONE_BY_ONE if type(policy).rule is CompressedPolicy.rule else CELLS
    units = Units.of(mdp, policy)
    reach = Reach(mdp, units.remembered)
    rollouts = sorted({round(i) for i in np.linspace(0, plan.k - 1, min(plan.k, ROLLOUTS))})
    bests = _bests(plan, trials, low, units, reach, len(rollouts))
    places: dict[tuple[int, int], Ints] = {}
    all_places = True
    for h, s in itertools.chain(_met(trials), _arrivals(plan, reach), _everywhere(plan, reach)):
        if (h, s) in places:
            continue
        returns = reach.returns(h, s, RETURNS)
        cells -= len(rollouts) * len(returns) * len(bests)
        if cells < 0 and places:
            all_places = False
            break
        places[h, s] = returns
    actions = {
        place: np.empty((len(rollouts), len(returns), len(bests)), np.int64) for place, returns in places.items()
    }
    for n, i in enumerate(rollouts):
        rule = policy.rule(i, Amounts(bests, units.memory))
        for h, here in itertools.groupby(sorted(places), key=lambda place: place[0]):
            some = [(s, places[h, s]) for _, s in here]
            state = np.repeat([s for s, _ in some], [len(returns) for _, returns in some])
            so_far = np.concatenate([returns for _, returns in some])
            tag, which = (x.ravel() for x in np.mgrid[: len(bests), : len(state)])
            taken = rule(h, tag, state[which], Amounts(so_far[which], units.memory)).reshape(len(bests), -1)
            reachable = units.memory.floats(so_far) + mdp.most[h, state]
            taken = np.where(reachable <= units.memory.floats(bests)[:, None], ANY, taken)
            first = 0
            for s, returns in some:
                actions[h, s][n] = taken[:, first : first + len(returns)].T
                first += len(returns)
    return Moments(
        rollouts=rollouts,
        bests=units.memory.floats(bests),
        step=[h for h, _ in places],
        state=[s for _, s in places],
        returns=[units.memory.floats(returns) for returns in places.values()],
        actions=[actions[place] for place in places],
        all_places=all_places,
    )


def _bests(plan: Plan, trials: list[list[Taken]], low: float, units: Units, reach: Reach, rollouts: int) -> Ints:
    """Best returns worth asking about [m]: nothing or the incumbent, those of the trials, and others between."""
    mdp = plan.mdp
    effort = len(mdp.prob) / mdp.n_layers * mdp.horizon * rollouts
    wanted = int(min(max(WORK / effort, 9), BESTS))
    first = units.memory.units(plan.best_so_far)
    ends = (max(units.memory.units(x), first) for x in (low, mdp.return_range[1]))
    some = reach.totals(*ends, most=wanted)
    # A policy that remembers rounded rewards knows other best returns than the true ones.
    met = [] if units.rounds else [units.memory.units(taken.best) for trial in trials for taken in trial]
    met = [best for best, _ in itertools.groupby(sorted(met))]
    if len(met) > wanted:
        met = met[:: -(-len(met) // wanted)]
    return np.array(sorted({first, *some.tolist(), *met}), np.int64)


def _met(trials: Iterable[Iterable[Taken]]) -> Iterator[tuple[int, int]]:
    """The places that trials come to."""
    for trial in trials:
        for taken in trial:
            yield taken.step, taken.state


def _arrivals(plan: Plan, reach: Reach) -> Iterator[tuple[int, int]]:
    """For every state, the first step at which a rollout can be there."""
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
