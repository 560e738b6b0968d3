"""What to try: one plan, chosen on some tasks of a log, and what that very plan earns on the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.sequences.plans import AttemptsWarning, SequencePlan
from maxatk.attempts.sequences.sequence import Goal, Settings, held_out_nets, in_errors, planned
from maxatk.base.findings import Advice, Measured

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

SHARE = 0.5  # of the tasks, which plans are chosen on
FEWEST = 4  # tasks that can be shared out
CLEARLY = 2.0  # standard errors of cross-validation by which a sequence must be better than one arm to be advised


@dataclass(frozen=True)
class Advised:
    """One plan to follow, and what it earned on tasks that it was not chosen on."""

    plan: SequencePlan  # what to try
    alternative: SequencePlan | None  # the other one: a sequence beside one arm, or one arm beside a sequence
    score: Estimate  # of the plan, on the tasks held out
    cost: Estimate  # likewise
    other_score: Estimate  # of the alternative, on the same tasks
    other_cost: Estimate  # likewise
    gain: Estimate  # score less price times cost of the plan, less that of the alternative

    @property
    def finding(self) -> Advice:
        """What is proved of it."""
        return Advice(
            lower=self.gain.lower,
            upper=self.gain.upper,
            plan=self.plan.spelled,
            stop_at=self.plan.stop_at,
            price=self.plan.price,
            score=_measured(self.score),
            cost=_measured(self.cost),
            alternative=None if self.alternative is None else self.alternative.spelled,
            tasks=self.score.tasks,
            built=self.plan.tasks,
            level=self.gain.level,
            method=self.gain.how,
        )


def _measured(estimate: Estimate) -> Measured:
    return Measured(value=estimate.value, lower=estimate.lower, upper=estimate.upper, level=estimate.level)


def advise(
    log: Log,
    goal: Goal,
    *,
    stop_at: float | None = None,
    passed: float | None = None,
    level: float = 0.95,
    rng: Any = 0,
) -> Advised:
    """What to try for a goal: one arm with a cap, unless a sequence is clearly better on the tasks of the choice.

    Args:
        log: attempts at tasks; every task must have every arm.
        goal: the price, budget or score to reach.
        stop_at: the score at which to stop; chosen among the scores of the log unless given.
        passed: the score from which on a task counts as solved.
        level: of the intervals.
        rng: a seed for the tasks that are held out.
    """
    chosen_on, held_out = log.split(SHARE, rng)
    settings = Settings.of(chosen_on, goal, stop_at, None, log.usual_range[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AttemptsWarning)  # how many tasks there are is told
        sequence, alone = (planned(chosen_on, settings, method, rng) for method in ("auto", "single"))
        replayed = sequence.replay(held_out, level, passed=passed)
    one = (replayed.single_score, replayed.single_cost)
    if replayed.same:
        return Advised(alone, None, *one, *one, replayed.gain)
    nets = held_out_nets(chosen_on, settings, [sequence.method, "single"], sequence.price, rng)
    both = (replayed.score, replayed.cost)
    if in_errors(nets[sequence.method] - nets["single"]) > CLEARLY:
        return Advised(sequence, alone, *both, *one, replayed.gain)
    return Advised(replace(alone, price=sequence.price), sequence, *one, *both, _less(replayed.gain))


def _less(gain: Estimate) -> Estimate:
    return replace(gain, value=-gain.value, lower=-gain.upper, upper=-gain.lower)
