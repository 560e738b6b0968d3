"""What a policy earns in trials: many at once for tables, step by step in any Gymnasium environment."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.findings import Agreement
from maxatk.base.progress import reporter
from maxatk.base.returns import NONE, Amounts, nearest_float
from maxatk.base.types import Floats, Ints, Number, Seed
from maxatk.base.workers import Workers
from maxatk.engines.engine import EngineConfig
from maxatk.engines.remote import RemotePool
from maxatk.evaluation.trials import Environment, Table, World, plain_state, trial_steps
from maxatk.evaluation.tuning import TUNING
from maxatk.laws.forward import rows_taken
from maxatk.laws.sampling import RowSampler
from maxatk.laws.units import Units, countable
from maxatk.policies import ABANDON, CompressedPolicy, Policy, check_policy, hooks
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import try_cost
from maxatk.problem.utility import Knots, Utility, utility_of

BLOCKS_AT_ONCE = 256  # that an executor is given


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Displayed):
    """Trials of a policy."""

    returns: Floats = field(repr=False)  # [trials, k] of every rollout; -inf for those given up, or not made
    best: Floats = field(repr=False)  # [trials] the best of each trial, the incumbent included
    steps: int  # taken in all
    seconds: float  # that it took
    cost: Floats = field(kw_only=True, repr=False)  # [trials] what each trial cost
    tries: Ints = field(kw_only=True, repr=False)  # [trials] how many rollouts each made
    utility: Utility | None = field(default=None, kw_only=True, repr=False)  # of the best return, where one counts

    def __repr__(self) -> str:
        trials, k = self.returns.shape
        return f"Simulation({trials} trial{'' if trials == 1 else 's'} of best of {k}: mean {self.mean:.6g})"

    @property
    def net(self) -> Floats:
        """``[trials]`` the best return of each trial less what it cost, or its utility."""
        return self.best - self.cost if self.utility is None else self.utility.of_values(self.best)[0]

    @property
    def mean(self) -> float:
        """The mean best return, less costs."""
        scale = self._scale
        return scale * float((self.net / scale).mean())

    @property
    def stderr(self) -> float:
        """The standard error of the mean; infinite for a single trial."""
        n = len(self.best)
        if n == 1:
            return math.inf
        scale = self._scale
        return scale * (float((self.net / scale).std(ddof=1)) / math.sqrt(n))

    @property
    def _scale(self) -> float:
        """A power of two, so that nothing is rounded, by which sums of returns and of their squares do not overflow."""
        return 2.0 ** max(math.frexp(float(np.abs(self.net).max()))[1] - 1, -1000)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval for the expected best return, less costs (Student's t).

        Its level is nominal: large returns that are too rare to occur in the trials are not allowed for, as they are by
        :meth:`proved_interval`.
        """
        from scipy.stats import t

        share = _level(level)
        if len(self.best) == 1:
            return -math.inf, math.inf
        half = float(t.ppf((1 + share) / 2, len(self.best) - 1)) * self.stderr
        return self.mean - half, self.mean + half

    def proved_interval(self, least: float, most: float, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval that needs no assumption but the range of the best return, less costs.

        By the empirical Bernstein inequality (Maurer and Pontil, 2009, Theorem 4), once for each side.

        Args:
            least: no trial has less.
            most: and none to more.
            level: the probability with which it holds, at least.
        """
        n, log = len(self.best), math.log(4 / (1 - _level(level)))
        if n == 1:
            return least, most
        half = self.stderr * math.sqrt(2 * log) + 7 * (most - least) * log / (3 * (n - 1))
        return max(self.mean - half, least), min(self.mean + half, most)

    def agreement(self, proved: tuple[float, float], trial_range: tuple[float, float], level: float) -> Agreement:
        """Whether the trials agree with what is proved of the policy.

        Args:
            proved: bounds on the policy's value.
            trial_range: the least and the greatest result of K tries, less costs.
            level: the probability with which the answer holds, at least.
        """
        (low, high), (lower, upper) = self.interval(level), self.proved_interval(*trial_range, level)
        return Agreement(
            lower=lower, upper=upper, proved_lower=proved[0], proved_upper=proved[1], usual_lower=low, usual_upper=high,
            level=level, trials=len(self.best),
        )  # fmt: skip


def _level(level: float) -> float:
    share = float(checks.exact_number(level, "level"))
    if not 0 < share < 1:
        raise InputError(f"level must be between 0 and 1, not {shown(level)}")
    return share


class Simulated(NamedTuple):
    """Where a simulation stands."""

    trials: int
    of: int
    seconds: float


def simulate(
    problem: Any,
    policy: Policy,
    *,
    cost: Number | None = None,
    utility: Knots | None = None,
    trials: int = 10_000,
    rng: Seed = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[Simulated], None] = False,
    state_of: Callable[[Any], Any] | None = None,
) -> Simulation:
    """Run ``policy`` in ``trials`` trials of as many rollouts each as it is for.

    Args:
        problem: an :class:`maxatk.MDP`, or a Gymnasium environment, which is reset before every rollout.
        policy: the policy.
        cost: what each rollout costs beside its rows; by default what the policy was planned for, or nothing. In an
            environment a step costs what its ``info["cost"]`` says, if the policy was planned for rows that cost.
        utility: knots of a convex nondecreasing function of the final best return that counts in its place; by default
            what the policy was planned for.
        trials: the number of trials.
        rng: a seed, a NumPy Generator, or None for a fresh one. The same seed gives the same
            trials for any number of threads.
        threads: how many to use for a table; as many as there are cores by default.
        executor: any ``concurrent.futures.Executor`` whose workers run the trials of a table in place of threads.
        progress: a function that is told where the simulation stands, or True for lines on standard error.
        state_of: for an environment, the state that the policy knows an observation by, where that is not the
            observation itself: ``states.index`` of :meth:`maxatk.MDP.explore`, say.

    >>> import maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> runs = mk.simulate(mdp, mk.solve(mdp, k=5).policy, trials=10_000, rng=0)
    >>> runs.returns.shape
    (10000, 5)
    >>> low, high = runs.interval(0.99)
    >>> low < -15.957 < high
    True
    """
    trials = checks.integer(trials, "trials", least=1)
    check_policy(policy, problem.horizon if isinstance(problem, MDP) else None)
    try:
        generator = checks.generator(rng).spawn(1)[0]
    except TypeError:  # one of the old kind
        raise InputError(f"rng must be a seed or a NumPy Generator, not {shown(rng)}") from None
    config = EngineConfig(threads=threads, executor=executor)
    checks.fits_in_memory(8 * trials * (policy.k + 3), f"the returns of {trials} trials of {policy.k} rollouts")
    price = float(policy.cost if cost is None else try_cost(cost))
    began = time.perf_counter()
    table = TrialTable.of(trials, policy.k)
    steps = 0
    with stopping.scope(), reporter(progress, "simulating", _line) as report:
        for done, taken in _blocks(problem, policy, generator, config, table, _reader(problem, state_of)):
            steps += taken
            if report:
                report(Simulated(done, trials, time.perf_counter() - began))
    best = np.maximum(table.returns.max(axis=1), float(policy.best_so_far))
    spent, seconds = table.row_costs + price * table.tries, time.perf_counter() - began
    counts = policy.utility if utility is None else utility_of(utility)
    return Simulation(table.returns, best, steps, seconds, cost=spent, tries=table.tries, utility=counts)


class TrialTable(NamedTuple):
    """What is recorded of trials."""

    returns: Floats  # [n, k]
    row_costs: Floats  # [n]
    tries: Ints  # [n] how many rollouts were made

    @classmethod
    def of(cls, trials: int, k: int) -> "TrialTable":
        """Nothing yet."""
        return cls(np.full((trials, k), -math.inf), np.zeros(trials), np.zeros(trials, np.int64))

    def fill(self, span: slice, other: "TrialTable") -> None:
        """Copy another into some of them."""
        for mine, theirs in zip(self, other, strict=True):
            mine[span] = theirs

    def at(self, span: slice) -> "TrialTable":
        """Some of them."""
        return TrialTable(self.returns[span], self.row_costs[span], self.tries[span])


def _line(at: Simulated) -> str:
    return f"simulating: {at.trials} of {at.of} trials in {at.seconds:.0f} s"


def _blocks(
    problem: Any,
    policy: Policy,
    generator: np.random.Generator,
    config: EngineConfig,
    table: TrialTable,
    state_of: Callable[[Any], Any] | None,
) -> Iterator[tuple[int, int]]:
    """Fill in the table block by block; how many trials are done, and how many steps the last block took."""
    if not isinstance(problem, MDP):
        _check_environment(problem, policy, own_states=state_of is None)
        planned: MDP | None = getattr(policy, "mdp", None)
        costly = planned is not None and planned.has_costs
        world = Environment(problem, int(generator.integers(2**31)), state_of or plain_state, costly)
        for n in range(len(table.tries)):
            yield n + 1, _one_by_one(world, policy, generator, table.at(slice(n, n + 1)))
        return
    returns = table.returns
    spans = [slice(i, i + TUNING.trial_block) for i in range(0, len(returns), TUNING.trial_block)]
    jobs = list(zip(spans, generator.spawn(len(spans)), strict=True))
    walk = _Walk(problem, policy)
    if walk.in_bulk and config.executor is not None:
        yield from _elsewhere(walk, RemotePool(config.executor, (problem, policy)), jobs, table)
        return
    if not walk.in_bulk:
        for span, stream in jobs:
            yield min(span.stop, len(returns)), _one_by_one(Table(problem, stream), policy, stream, table.at(span))
        return
    workers = Workers(config.threads)
    if workers.threads == 1 or len(jobs) == 1:
        for span, stream in jobs:
            yield min(span.stop, len(returns)), walk(stream, table.at(span))
        return
    for first in range(0, len(jobs), 4 * workers.threads):
        some = jobs[first : first + 4 * workers.threads]
        taken = workers.map(walk, [stream for _, stream in some], [table.at(span) for span, _ in some])
        yield min(some[-1][0].stop, len(returns)), sum(taken)


def _one_by_one(world: World, policy: Policy, stream: np.random.Generator, table: TrialTable) -> int:
    """Fill in a table trial by trial; how many steps they took."""
    steps = 0
    for n, returns in enumerate(table.returns):
        for step in trial_steps(world, policy, stream):
            table.tries[n] = step.rollout + 1
            table.row_costs[n] += step.cost
            steps += step.action != ABANDON
            if step.over and step.action != ABANDON:
                returns[step.rollout] = nearest_float(step.so_far + step.reward)
    return steps


def _elsewhere(
    walk: "_Walk", remote: RemotePool, jobs: list[tuple[slice, np.random.Generator]], table: TrialTable
) -> Iterator[tuple[int, int]]:
    """The same by workers elsewhere, some blocks at a time; those that are lost are run here."""
    for first in range(0, len(jobs), BLOCKS_AT_ONCE):
        some = jobs[first : first + BLOCKS_AT_ONCE]
        items = [(stream, len(table.tries[span])) for span, stream in some]
        answers = remote.map(_block, items, lambda left, items=items: [walk.block(*items[i]) for i in left])
        for (span, _), (block, _) in zip(some, answers, strict=True):
            table.fill(span, block)
        yield min(some[-1][0].stop, len(table.tries)), sum(steps for _, steps in answers)


def _block(known: tuple[MDP, Policy], stream: np.random.Generator, trials: int) -> tuple[TrialTable, int]:
    """On a worker: a block of trials, and the steps they took."""
    return _Walk(*known).block(stream, trials)


class _Walk:
    """Runs blocks of trials of a policy that remembers M and G at most, and records what comes of them."""

    def __init__(self, mdp: MDP, policy: Policy) -> None:
        self._mdp, self._policy, self._sampler = mdp, policy, RowSampler(mdp)
        self._units = [Units.of(mdp, one.policy) for one in hooks.mixture(policy)]

    @property
    def in_bulk(self) -> bool:
        """Whether many trials can be run at once, and the policy still be asked with what it must know."""
        return countable(self._policy, self._units)

    def block(self, stream: np.random.Generator, trials: int) -> tuple[TrialTable, int]:
        """A block of trials, and how many steps they took."""
        table = TrialTable.of(trials, self._policy.k)
        return table, self(copy.deepcopy(stream), table)  # the stream itself is as it was, should this be lost

    def __call__(self, stream: np.random.Generator, table: TrialTable) -> int:
        """Fill in a block of trials; how many steps they took."""
        steps, n, policy = 0, len(table.tries), self._policy
        best, true_best = np.full(n, NONE), np.full(n, self._units[0].true.units(policy.best_so_far))
        going = np.arange(n)
        for i in range(policy.k):
            if hooks.may_stop(policy):
                going = going[~hooks.stopped(policy, i, Amounts(true_best[going], self._units[0].true))]
                if not len(going):
                    break
            for j, component, places in hooks.assign(policy, i, len(going), stream):
                these, units, part = going[places], self._units[j], component.policy
                if component.rollout == 0:  # a part begins with its own incumbent, whatever came before
                    best[these] = units.memory.units(part.best_so_far)
                made = _Rollout.of(len(these), units.rewards(self._mdp), units.remembered)
                steps += self._run(part, units, component.rollout, best[these], made, stream)
                given_up = made.true == NONE
                table.returns[these, i] = np.where(given_up, -math.inf, units.floats(made.true))
                table.row_costs[these] += made.row_costs
                table.tries[these] += 1
                # Where true returns are not counted in units, those are remembered, rounded, or nobody asks for them.
                true_best[these] = np.maximum(true_best[these], units.counted(made.true, made.remembered))
                best[these] = np.maximum(best[these], made.remembered)
        return steps

    def _run(
        self,
        part: CompressedPolicy,
        units: Units,
        i: int,
        best: Ints,
        made: "_Rollout",
        stream: np.random.Generator,
    ) -> int:
        """One rollout of trials whose best returns are ``best`` [n]; how many steps it took."""
        some, tag = np.unique(best, return_inverse=True)
        rule = hooks.rule(part, i, Amounts(some, units.memory))
        state = self._sampler.starts(len(best), stream)
        # Trials with the same best return side by side: a rule may look them up together.
        order = np.argsort(tag, kind="stable")
        labels = np.zeros(len(order), np.int64) if rule.batch is None else rule.batch[tag[order]]
        batches = [order[labels == label] for label in np.unique(labels)]
        return sum(self._run_batch(rule.act, units, i, going, tag, state, made, stream) for going in batches)

    def _run_batch(
        self,
        act: hooks.Act,
        units: Units,
        i: int,
        going: Ints,
        tag: Ints,
        state: Ints,
        made: "_Rollout",
        stream: np.random.Generator,
    ) -> int:
        """Take the trials ``going`` through one rollout; how many steps it took."""
        mdp, steps = self._mdp, 0
        reward = units.rewards(mdp)
        for h in range(mdp.horizon):
            stopping.check()
            here = state[going]
            action = act(h, tag[going], here, Amounts(made.remembered[going], units.memory))
            given_up = action == ABANDON
            if given_up.any():
                made.true[going[given_up]] = made.remembered[going[given_up]] = NONE
                going, here, action = going[~given_up], here[~given_up], action[~given_up]
            row = rows_taken(mdp, i, h, here, action)
            if mdp.has_costs:
                made.row_costs[going] += mdp.action_cost[row]
            o = self._sampler.each(row, stream)
            steps += len(going)
            made.true[going] += reward[o]
            if made.remembered is not made.true:
                made.remembered[going] += units.remembered[o]
            after = mdp.next_state[o]
            state[going] = after
            going = going[after < mdp.n_states]
            if not len(going):
                break
        return steps


class _Rollout(NamedTuple):
    """One rollout of many trials, as it is being run."""

    true: Any  # [n] returns: in units where they are whole, and else floats; ``NONE`` where the rollout is given up
    remembered: Ints  # [n] the same array where the true ones are remembered
    row_costs: Floats  # [n]

    @classmethod
    def of(cls, n: int, reward: Any, remembered: Ints) -> "_Rollout":
        """None has taken a step."""
        true: Any = np.zeros(n, reward.dtype)
        return cls(true, true if reward is remembered else np.zeros(n, np.int64), np.zeros(n))


def _reader(problem: Any, state_of: Any) -> Callable[[Any], Any] | None:
    if state_of is not None and (isinstance(problem, MDP) or not callable(state_of)):
        raise InputError(f"state_of must be a function of an environment's observation, not {shown(state_of)}")
    return state_of


def _check_environment(env: Any, policy: Policy, own_states: bool) -> None:
    if not (callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None))):
        raise InputError(f"simulate needs a maxatk.MDP or a Gymnasium environment, not {shown(env)}")
    planned: MDP | None = getattr(policy, "mdp", None)
    if planned is None:
        return
    for name, size, what in (("observation", planned.n_states, "states"), ("action", planned.n_actions, "actions")):
        space: Any = getattr(env, f"{name}_space", None)
        number = getattr(space, "n", None)
        if space is not None and number != size and (own_states or what == "actions"):
            has = "no finite number of them" if number is None else int(number)
            raise InputError(f"the policy was planned for {size} {what}, but the environment has {has}")
