"""Two policies in the same trials: chance is common to both, so that little noise is left in their difference."""

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.display import Displayed
from maxatk.base.progress import reporter
from maxatk.base.tabular import Tabular
from maxatk.base.types import Floats, Number, Seed
from maxatk.base.workers import Workers
from maxatk.evaluation.averages import Averaged
from maxatk.evaluation.chance import CommonChance
from maxatk.evaluation.simulate import Simulated, Simulation, check_trials, has_row_costs, recorded, stream_of
from maxatk.evaluation.trials import Environment, Table, plain_state
from maxatk.evaluation.tuning import TUNING
from maxatk.evaluation.walk import TrialTable, Walk, one_trial
from maxatk.policies import Policy
from maxatk.problem.mdp import MDP
from maxatk.problem.utility import Knots


@dataclass(frozen=True, eq=False, repr=False)
class PairedSimulation(Averaged, Displayed, Tabular):
    """Trials of two policies with common chance; means and intervals are of the difference, trial by trial."""

    first: Simulation  # trials of the first policy
    second: Simulation  # the same trials of the second

    def __repr__(self) -> str:
        return f"PairedSimulation({len(self.net)} trials: the first has {self.mean:+.6g}, {self.stderr:.2g} s.e.)"

    @property
    def net(self) -> Floats:
        """``[trials]`` what the first policy has more than the second: best returns less costs, or utilities."""
        return self.first.net - self.second.net

    @property
    def noise_saved(self) -> float:
        """How many times as many trials the same standard error takes where both policies have trials of their own."""
        apart, together = float(np.hypot(self.first.stderr, self.second.stderr)), self.stderr
        return float("inf") if together == 0 else (apart / together) ** 2

    def columns(self) -> dict[str, list[Any]]:
        """What the first policy has in each trial, what the second, and the difference."""
        return {"first": self.first.net.tolist(), "second": self.second.net.tolist(), "difference": self.net.tolist()}


def simulate_paired(
    problem: Any,
    first: Policy,
    second: Policy,
    *,
    cost: Number | None = None,
    utility: Knots | None = None,
    trials: int = 10_000,
    rng: Seed = None,
    threads: int | None = None,
    progress: bool | Callable[[Simulated], None] = False,
    state_of: Callable[[Any], Any] | None = None,
) -> PairedSimulation:
    """Run two policies in the same trials, with common random numbers, to compare them.

    In a table, the number that draws an outcome depends on the trial, the rollout and the step alone: two policies that
    do the same in the same state meet the same outcome. In an environment, the same rollout of the same trial is reset
    with the same seed. Each policy by itself has trials as those of :func:`maxatk.simulate`.

    Args:
        problem: an :class:`maxatk.MDP`, or a Gymnasium environment.
        first: a policy.
        second: another, perhaps for another number of rollouts.
        cost: what each rollout costs beside its rows; by default what each policy was planned for, or nothing.
        utility: knots of a utility of the final best return; by default what each policy was planned for.
        trials: the number of trials.
        rng: a seed, a NumPy Generator, or None for a fresh one; results do not depend on the number of threads.
        threads: how many to use for a table; as many as there are cores by default.
        progress: a function that is told where the simulation stands, or True for lines on standard error.
        state_of: for an environment, as in :func:`maxatk.simulate`.

    >>> import maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan, two = mk.solve(mdp, k=5), mk.solve(mdp, k=4)
    >>> pair = mk.simulate_paired(mdp, plan.policy, two.policy, trials=2000, rng=0)
    >>> low, high = pair.interval()
    >>> low < plan.lower - two.lower < high
    True
    >>> pair.noise_saved > 1.5
    True
    """
    trials = checks.integer(trials, "trials", least=1)
    policies = first, second
    for policy in policies:
        check_trials(problem, policy, trials, state_of)
    began, tables, steps = time.perf_counter(), [TrialTable.of(trials, policy.k) for policy in policies], [0, 0]
    run = _in_table if isinstance(problem, MDP) else _in_environment
    with stopping.scope(), reporter(progress, "simulating", _line) as report:
        for done, taken in run(problem, policies, tables, stream_of(rng), threads, state_of):
            steps = [have + more for have, more in zip(steps, taken, strict=True)]
            if report:
                report(Simulated(done, trials, time.perf_counter() - began))
    seconds = time.perf_counter() - began
    runs = [recorded(table, policy, cost, utility, made, seconds)
            for table, policy, made in zip(tables, policies, steps, strict=True)]  # fmt: skip
    return PairedSimulation(*runs)


def _line(at: Simulated) -> str:
    return f"simulating pairs: {at.trials} of {at.of} trials in {at.seconds:.0f} s"


def _in_table(
    mdp: MDP,
    policies: tuple[Policy, Policy],
    tables: list[TrialTable],
    stream: np.random.Generator,
    threads: int | None,
    _: object,
) -> Iterator[tuple[int, list[int]]]:
    """Block by block: how many trials are done, and how many steps of each policy the last blocks took."""
    trials, k = len(tables[0].tries), max(policy.k for policy in policies)
    size = min(TUNING.trial_block, max(TUNING.kept_numbers // (k * (mdp.horizon + 1)), 1))
    spans = [slice(i, min(i + size, trials)) for i in range(0, trials, size)]
    walks, workers = [Walk(mdp, policy) for policy in policies], Workers(threads)

    def block(span: slice, seed: int, own: np.random.Generator) -> list[int]:
        each = zip(walks, policies, tables, strict=True)
        return [_block(mdp, walk, policy, table.at(span), seed, copy.deepcopy(own)) for walk, policy, table in each]

    seeds, own = stream.integers(2**62, size=len(spans)).tolist(), stream.spawn(len(spans))
    for i in range(0, len(spans), 4 * workers.threads):
        some = slice(i, i + 4 * workers.threads)
        taken = workers.map(block, spans[some], seeds[some], own[some])
        yield spans[some][-1].stop, [sum(each) for each in zip(*taken, strict=True)]


def _block(mdp: MDP, walk: Walk, policy: Policy, table: TrialTable, seed: int, own: np.random.Generator) -> int:
    """Fill in a block of trials of one policy; how many steps they took."""
    trials = len(table.tries)
    if walk.in_bulk:
        return walk(own, table, CommonChance(seed, trials))
    chance = CommonChance(seed, trials, kept=True)
    return sum(one_trial(Table(mdp, chance.streams(n, policy.k)), policy, own, table, n) for n in range(trials))


def _in_environment(
    env: Any,
    policies: tuple[Policy, Policy],
    tables: list[TrialTable],
    stream: np.random.Generator,
    _: object,
    state_of: Callable[[Any], Any] | None,
) -> Iterator[tuple[int, list[int]]]:
    """Trial by trial: how many are done, and how many steps of each policy the last one took."""
    trials = len(tables[0].tries)
    chance = CommonChance(int(stream.integers(2**62)), trials, kept=True)
    for n, own in enumerate(stream.spawn(trials)):
        taken: list[int] = []
        for policy, table in zip(policies, tables, strict=True):
            seeds = (one.seed() for one in chance.streams(n, policy.k))
            world = Environment(env, seeds, state_of or plain_state, costly=has_row_costs(policy))
            taken.append(one_trial(world, policy, copy.deepcopy(own), table, n))
        yield n + 1, taken
