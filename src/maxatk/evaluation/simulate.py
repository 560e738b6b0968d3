"""What a policy earns in trials: many at once for tables, step by step in any Gymnasium environment."""

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
from maxatk.base.tabular import Tabular
from maxatk.base.types import Floats, Ints, Number, Seed
from maxatk.base.workers import Workers
from maxatk.engines.engine import EngineConfig
from maxatk.engines.remote import RemotePool
from maxatk.evaluation.averages import Averaged
from maxatk.evaluation.trials import Environment, Table, plain_state
from maxatk.evaluation.tuning import TUNING
from maxatk.evaluation.walk import TrialTable, Walk, one_trial
from maxatk.policies import DrawnPolicy, Policy, check_policy
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import try_cost
from maxatk.problem.utility import Knots, Utility, utility_of

BLOCKS_AT_ONCE = 256  # that an executor is given


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Averaged, Displayed, Tabular):
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

    def columns(self) -> dict[str, list[Any]]:
        """The best return, the cost and the number of rollouts of each trial."""
        return {"best": self.best.tolist(), "cost": self.cost.tolist(), "tries": self.tries.tolist()}

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
    check_trials(problem, policy, trials, state_of)
    generator = stream_of(rng)
    config = EngineConfig(threads=threads, executor=executor)
    began, table, steps = time.perf_counter(), TrialTable.of(trials, policy.k), 0
    with stopping.scope(), reporter(progress, "simulating", _line) as report:
        for done, taken in _blocks(problem, policy, generator, config, table, state_of):
            steps += taken
            if report:
                report(Simulated(done, trials, time.perf_counter() - began))
    return recorded(table, policy, cost, utility, steps, time.perf_counter() - began)


def recorded(
    table: TrialTable, policy: Policy, cost: Number | None, utility: Knots | None, steps: int, seconds: float
) -> Simulation:
    """What was recorded of trials of a policy: they cost what it was planned for if no other ``cost`` is given."""
    best = np.maximum(table.returns.max(axis=1), float(policy.best_so_far))
    spent = table.row_costs + float(policy.cost if cost is None else try_cost(cost)) * table.tries
    counts = policy.utility if utility is None else utility_of(utility)
    return Simulation(table.returns, best, steps, seconds, cost=spent, tries=table.tries, utility=counts)


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
        seed = int(generator.integers(2**31))
        world = Environment(problem, seed, state_of or plain_state, costly=has_row_costs(policy))
        for n in range(len(table.tries)):
            yield n + 1, one_trial(world, policy, generator, table, n)
        return
    if isinstance(policy, DrawnPolicy):
        yield from _drawn(problem, policy, generator, config, table)
        return
    returns = table.returns
    spans = [slice(i, i + TUNING.trial_block) for i in range(0, len(returns), TUNING.trial_block)]
    jobs = list(zip(spans, generator.spawn(len(spans)), strict=True))
    walk = Walk(problem, policy)
    if walk.in_bulk and config.executor is not None:
        yield from _elsewhere(walk, RemotePool(config.executor, (problem, policy)), jobs, table)
        return
    if not walk.in_bulk:
        for span, stream in jobs:
            world, some = Table(problem, stream), table.at(span)
            taken = sum(one_trial(world, policy, stream, some, n) for n in range(len(some.tries)))
            yield min(span.stop, len(returns)), taken
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


def _drawn(
    mdp: MDP, policy: DrawnPolicy, generator: np.random.Generator, config: EngineConfig, table: TrialTable
) -> Iterator[tuple[int, int]]:
    """The same for one of several policies: the trials of each of them together."""
    drawn, before = generator.choice(len(policy.parts), len(table.tries), p=policy.weights), 0
    for j, (part, _) in enumerate(policy.parts):
        these = np.flatnonzero(drawn == j)
        if len(these):
            some = TrialTable.of(len(these), policy.k)
            for done, taken in _blocks(mdp, part, generator, config, some, None):
                yield before + done, taken
            table.fill(these, some)
            before += len(these)


def _elsewhere(
    walk: "Walk", remote: RemotePool, jobs: list[tuple[slice, np.random.Generator]], table: TrialTable
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
    return Walk(*known).block(stream, trials)


def stream_of(rng: Seed) -> np.random.Generator:
    """A stream of its own from a seed."""
    try:
        return checks.generator(rng).spawn(1)[0]
    except TypeError:  # one of the old kind
        raise InputError(f"rng must be a seed or a NumPy Generator, not {shown(rng)}") from None


def has_row_costs(policy: Policy) -> bool:
    """Whether a policy was planned for rows that cost."""
    planned: MDP | None = getattr(policy, "mdp", None)
    return planned is not None and planned.has_costs


def check_trials(problem: Any, policy: Policy, trials: int, state_of: Any) -> None:
    """Refuse a policy that cannot be run in a problem, and more trials than fit in memory."""
    table = isinstance(problem, MDP)
    check_policy(policy, problem.horizon if table else None)
    if state_of is not None and (table or not callable(state_of)):
        raise InputError(f"state_of must be a function of an environment's observation, not {shown(state_of)}")
    if not table:
        _check_environment(problem, policy, own_states=state_of is None)
    checks.fits_in_memory(8 * trials * (policy.k + 3), f"the returns of {trials} trials of {policy.k} rollouts")


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
