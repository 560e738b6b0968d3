"""What a policy earns in trials: many at once for tables, step by step in any Gymnasium environment."""

import copy
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.progress import reporter
from maxatk.base.returns import NONE, Amounts, nearest_float
from maxatk.base.types import Floats, Ints, Number, Seed
from maxatk.base.workers import Workers
from maxatk.engines.remote import RemotePool
from maxatk.evaluation.propagation import rows_taken
from maxatk.evaluation.tuning import TUNING
from maxatk.evaluation.units import Units, counted
from maxatk.policies import ABANDON, CompressedPolicy, Policy, Rule, check_policy
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import try_cost

BLOCKS_AT_ONCE = 256  # that an executor is given


@dataclass(frozen=True, eq=False)
class Simulation:
    """Trials of a policy."""

    returns: Floats = field(repr=False)  # [trials, k] of every rollout; -inf for those given up, or not made
    best: Floats = field(repr=False)  # [trials] the best of each trial, the incumbent included
    steps: int  # taken in all
    seconds: float  # that it took
    cost: Floats = field(kw_only=True, repr=False)  # [trials] what each trial cost
    tries: Ints = field(kw_only=True, repr=False)  # [trials] how many rollouts each made

    @property
    def net(self) -> Floats:
        """``[trials]`` the best return of each trial, less what it cost."""
        return self.best - self.cost

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
            least: no trial comes to less.
            most: and none to more.
            level: the probability with which it holds, at least.
        """
        n, log = len(self.best), math.log(4 / (1 - _level(level)))
        if n == 1:
            return least, most
        half = self.stderr * math.sqrt(2 * log) + 7 * (most - least) * log / (3 * (n - 1))
        return max(self.mean - half, least), min(self.mean + half, most)


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
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise InputError(f"executor must be a concurrent.futures.Executor, not {shown(executor)}")
    workers = checks.integer(threads, "threads", least=1) if threads is not None else os.cpu_count() or 1
    checks.fits_in_memory(8 * trials * (policy.k + 3), f"the returns of {trials} trials of {policy.k} rollouts")
    price = float(policy.cost if cost is None else try_cost(cost))
    began = time.perf_counter()
    sheet = _Sheet.of(trials, policy.k)
    steps = 0
    with stopping.scope(), reporter(progress, "simulating", _line) as report:
        for done, taken in _blocks(problem, policy, generator, workers, executor, sheet, _reader(problem, state_of)):
            steps += taken
            if report:
                report(Simulated(done, trials, time.perf_counter() - began))
    best = np.maximum(sheet.returns.max(axis=1), float(policy.best_so_far))
    paid, seconds = sheet.rows + price * sheet.tries, time.perf_counter() - began
    return Simulation(sheet.returns, best, steps, seconds, cost=paid, tries=sheet.tries)


class _Sheet(NamedTuple):
    """What is written down of trials."""

    returns: Floats  # [n, k]
    rows: Floats  # [n] what their rows cost
    tries: Ints  # [n] how many rollouts were made

    @classmethod
    def of(cls, trials: int, k: int) -> "_Sheet":
        """Nothing yet."""
        return cls(np.full((trials, k), -math.inf), np.zeros(trials), np.zeros(trials, np.int64))

    def fill(self, span: slice, other: "_Sheet") -> None:
        """Write down what another has."""
        for mine, theirs in zip(self, other, strict=True):
            mine[span] = theirs

    def at(self, span: slice) -> "_Sheet":
        """Some of them."""
        return _Sheet(self.returns[span], self.rows[span], self.tries[span])


def _line(at: Simulated) -> str:
    return f"simulating: {at.trials} of {at.of} trials in {at.seconds:.0f} s"


def _blocks(
    problem: Any,
    policy: Policy,
    generator: np.random.Generator,
    workers: int,
    executor: Executor | None,
    sheet: _Sheet,
    state_of: Callable[[Any], Any] | None,
) -> Iterator[tuple[int, int]]:
    """Fill the sheet block by block; how many trials are done, and how many steps the last block took."""
    if not isinstance(problem, MDP):
        _check_environment(problem, policy, own_states=state_of is None)
        yield from _in_environment(problem, policy, generator, sheet, state_of or _plain_state)
        return
    returns = sheet.returns
    spans = [slice(i, i + TUNING.trial_block) for i in range(0, len(returns), TUNING.trial_block)]
    jobs = list(zip(spans, generator.spawn(len(spans)), strict=True))
    walk = _Walk(problem, policy)
    if walk.in_bulk and executor is not None:
        yield from _by_crew(walk, RemotePool(executor, (problem, policy)), jobs, sheet)
        return
    if not walk.in_bulk:
        for span, stream in jobs:
            yield min(span.stop, len(returns)), _one_by_one(problem, policy, stream, sheet.at(span))
        return
    if workers == 1 or len(jobs) == 1:
        for span, stream in jobs:
            yield min(span.stop, len(returns)), walk(stream, sheet.at(span))
        return
    with Workers(workers) as pool:
        for first in range(0, len(jobs), 4 * workers):
            some = jobs[first : first + 4 * workers]
            taken = pool.map(walk, [stream for _, stream in some], [sheet.at(span) for span, _ in some])
            yield min(some[-1][0].stop, len(returns)), sum(taken)


def _one_by_one(mdp: MDP, policy: Policy, stream: np.random.Generator, sheet: _Sheet) -> int:
    """Fill in a sheet trial by trial; how many steps they took."""
    steps = 0
    for n, row in enumerate(sheet.returns):
        for step in trial_in_table(mdp, policy, stream):
            sheet.tries[n] = step.rollout + 1
            if step.action == ABANDON:
                continue
            steps += 1
            sheet.rows[n] += (
                float(mdp.exact_action_cost_of(step.step, step.state, step.action)) if mdp.has_costs else 0.0
            )
            if step.over:
                row[step.rollout] = float(step.so_far + step.reward)
    return steps


def _by_crew(
    walk: "_Walk", crew: RemotePool, jobs: list[tuple[slice, np.random.Generator]], sheet: _Sheet
) -> Iterator[tuple[int, int]]:
    """The same by workers elsewhere, some blocks at a time; those that are lost are run here."""
    for first in range(0, len(jobs), BLOCKS_AT_ONCE):
        some = jobs[first : first + BLOCKS_AT_ONCE]
        items = [(stream, len(sheet.tries[span])) for span, stream in some]
        answers = crew.map(_block, items, lambda left, items=items: [walk.block(*items[i]) for i in left])
        for (span, _), (block, _) in zip(some, answers, strict=True):
            sheet.fill(span, block)
        yield min(some[-1][0].stop, len(sheet.tries)), sum(steps for _, steps in answers)


def _block(known: tuple[MDP, Policy], stream: np.random.Generator, trials: int) -> tuple[_Sheet, int]:
    """On a worker: a block of trials, and the steps they took."""
    return _Walk(*known).block(stream, trials)


class _Walk:
    """Runs blocks of trials of a policy that remembers M and G at most, and writes down what comes of them."""

    def __init__(self, mdp: MDP, policy: Policy) -> None:
        self._mdp, self._policy = mdp, policy
        self._units = [Units.of(mdp, part) for part in policy.parts]
        self._first = np.cumsum(mdp.reset_prob)

    @property
    def in_bulk(self) -> bool:
        """Whether many trials can be run at once, and the policy still be asked with what it must know."""
        return counted(self._policy, self._units)

    @staticmethod
    def _one_count(units: Units) -> bool:
        """Whether what is remembered is the true return."""
        return units.whole and not units.rounds

    def block(self, stream: np.random.Generator, trials: int) -> tuple[_Sheet, int]:
        """A block of trials, and how many steps they took."""
        sheet = _Sheet.of(trials, self._policy.k)
        return sheet, self(copy.deepcopy(stream), sheet)  # the stream itself is as it was, should this be lost

    def __call__(self, stream: np.random.Generator, sheet: _Sheet) -> int:
        """Fill in a block of trials; how many steps they took."""
        steps, n = 0, len(sheet.tries)
        best, true_best = np.full(n, NONE), np.full(n, self._units[0].true.units(self._policy.best_so_far))
        going = np.arange(n)
        for i in range(self._policy.k):
            if self._policy.may_stop:
                stopped = self._policy.stopped(i, Amounts(true_best[going], self._units[0].true))
                going = going[~stopped]
                if not len(going):
                    break
            for j, own, places in self._policy.shared_out(i, len(going), stream):
                these, units, part = going[places], self._units[j], self._policy.parts[j]
                if own == 0:  # a part begins with what it has in hand, whatever came before
                    best[these] = units.memory.units(part.best_so_far)
                true, remembered, paid, taken = self._rollout(part, units, own, best[these], stream)
                given_up = true == NONE
                sheet.returns[these, i] = np.where(
                    given_up, -math.inf, units.true.floats(true) if units.whole else true
                )
                sheet.rows[these] += paid
                sheet.tries[these] += 1
                # Where true returns are not counted in units, those are remembered, rounded, or nobody asks for them.
                true_best[these] = np.maximum(true_best[these], true if units.whole else remembered)
                best[these] = np.maximum(best[these], remembered)
                steps += taken
        return steps

    def _rollout(self, part: CompressedPolicy, units: Units, i: int, best: Ints, stream: np.random.Generator) -> Any:
        """The returns of one rollout [n], true and remembered, what its rows cost, and the number of steps taken.

        True returns are in units where they are whole, and else floats; ``NONE`` where the rollout is given up.
        """
        mdp, n = self._mdp, len(best)
        some, tag = np.unique(best, return_inverse=True)
        bests = Amounts(some, units.memory)
        rule = part.rule(i, bests)
        place = np.searchsorted(self._first, stream.random(n), side="right")
        state = mdp.start_state[np.minimum(place, len(self._first) - 1)].astype(np.int64)
        true: Any = np.zeros(n, np.int64 if units.whole else np.float64)
        paid = np.zeros(n)
        remembered = true if self._one_count(units) else np.zeros(n, np.int64)
        # Trials with the same best return side by side: a rule may look them up together.
        order = np.argsort(tag, kind="stable")
        group = part.apart(i, bests)[tag[order]]
        groups = [order[group == number] for number in np.unique(group)]
        steps = 0
        for going in groups:
            steps += self._steps(rule, units, i, going, tag, state, true, remembered, paid, stream)
        return true, remembered, paid, steps

    def _steps(
        self,
        rule: Rule,
        units: Units,
        i: int,
        going: Ints,
        tag: Ints,
        state: Ints,
        true: Any,
        remembered: Ints,
        paid: Floats,
        stream: np.random.Generator,
    ) -> int:
        """Take the trials ``going`` through one rollout, adding to returns and bills [n]; how many steps it took."""
        mdp, steps = self._mdp, 0
        reward: Any = units.reward if units.whole else mdp.reward
        for h in range(mdp.horizon):
            stopping.check()
            here = state[going]
            action = rule(h, tag[going], here, Amounts(remembered[going], units.memory))
            given_up = action == ABANDON
            if given_up.any():
                true[going[given_up]] = remembered[going[given_up]] = NONE
                going, here, action = going[~given_up], here[~given_up], action[~given_up]
            row = rows_taken(mdp, i, h, here, action)
            if mdp.has_costs:
                paid[going] += mdp.action_cost[row]
            o = kernels.draw_outcomes(mdp.outcome_start, mdp.row_prob, row, stream.random(len(going)))
            steps += len(going)
            true[going] += reward[o]
            if not self._one_count(units):
                remembered[going] += units.remembered[o]
            after = mdp.next_state[o]
            state[going] = after
            going = going[after < mdp.n_states]
            if not len(going):
                break
        return steps


class Taken(NamedTuple):
    """One step of a trial: where it stood, what was done, and what that brought."""

    rollout: int
    step: int
    state: int
    best: Number  # M
    so_far: Fraction  # G, before the reward
    remembered: tuple[Number, Number]  # both, as the policy knows them
    action: int
    reward: Fraction
    over: bool  # whether this step ended the rollout


def trial_in_table(mdp: MDP, policy: Policy, stream: np.random.Generator) -> Iterator[Taken]:
    """One trial, step by step, in the exact numbers that evaluation asks the policy with."""
    trial = policy.begin_from(stream)
    for i in range(policy.k):
        if trial.finished:  # it has stopped
            return
        state = int(stream.choice(mdp.start_state, p=mdp.reset_prob))
        while trial.rollout == i:
            stopping.check()
            h, best, so_far, remembered = trial.step, trial.exact_best, trial.exact_so_far, trial.remembered
            action = trial.act(state)
            if action == ABANDON:
                trial.observe(0, True)
                yield Taken(i, h, state, best, so_far, remembered, action, Fraction(0), True)
                break
            outcomes = mdp.outcomes(h, state, action)
            drawn = int(stream.choice(len(outcomes), p=[o.prob for o in outcomes]))
            after, reward = outcomes[drawn].next_state, mdp.exact_rewards_of(h, state, action)[drawn]
            trial.observe(reward, after is None)
            yield Taken(i, h, state, best, so_far, remembered, action, reward, trial.rollout > i)
            state = -1 if after is None else after


def _reader(problem: Any, state_of: Any) -> Callable[[Any], Any] | None:
    if state_of is not None and (isinstance(problem, MDP) or not callable(state_of)):
        raise InputError(f"state_of must be a function of an environment's observation, not {shown(state_of)}")
    return state_of


def _plain_state(observation: Any) -> Any:
    """An observation as a state: a NumPy integer as Python's own."""
    whole = np.ndim(observation) == 0 and getattr(getattr(observation, "dtype", None), "kind", "") in ("i", "u")
    return int(observation) if whole else observation


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


def _in_environment(
    env: Any, policy: Policy, generator: np.random.Generator, sheet: _Sheet, state_of: Callable[[Any], Any]
) -> Iterator[tuple[int, int]]:
    """Fill in a sheet trial by trial, in an environment that is seeded once, at its first reset."""
    seed: int | None = int(generator.integers(2**31))
    planned: MDP | None = getattr(policy, "mdp", None)
    priced = planned is not None and planned.has_costs
    for n, row in enumerate(sheet.returns):
        trial = policy.begin_from(generator)
        steps = 0
        while not trial.finished:
            i, total = trial.rollout, Fraction(0)
            observation, _ = env.reset(seed=seed)
            seed = None
            while trial.rollout == i:
                stopping.check()
                action = trial.act(state_of(observation))
                if action == ABANDON:
                    trial.observe(0, True)
                    break
                if not env.action_space.contains(action):
                    raise InputError(f"the policy's action {shown(action)} is none of {env.action_space}")
                observation, reward, terminated, truncated, info = env.step(action)
                sheet.rows[n] += float(try_cost(info.get("cost", 0.0), 'info["cost"]')) if priced else 0.0
                trial.observe(reward, bool(terminated or truncated))
                total += checks.exact_number(reward, "reward")
                steps += 1
            else:  # it was not given up
                row[i] = nearest_float(total)
            sheet.tries[n] = i + 1
        yield n + 1, steps
