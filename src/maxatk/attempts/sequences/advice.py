"""What to try: one plan, chosen on some tasks of a log, and what that very plan earns on the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.sequences.plans import AttemptsWarning, Capped, SequencePlan
from maxatk.attempts.sequences.replay import Replay
from maxatk.attempts.sequences.sequence import Builder, Goal, Settings, held_out_nets, in_errors, planned
from maxatk.base.findings import Advice

if TYPE_CHECKING:
    from maxatk.attempts.logs.log import Log

SHARE = 0.5  # of the tasks, which plans are chosen on
FEWEST = 4  # tasks that can be shared out
CLEARLY = 2.0  # standard errors of cross-validation by which a sequence must be better than one arm to be advised


@dataclass(frozen=True)
class Advised:
    """One plan to follow, and what it earned on tasks that it was not chosen on."""

    plan: SequencePlan  # what to try
    alternative: SequencePlan | None  # the other one: a sequence beside one arm, one arm beside a sequence, one attempt
    score: Estimate  # of the plan, on the tasks held out
    cost: Estimate  # likewise
    other_score: Estimate  # of the alternative, on the same tasks
    other_cost: Estimate  # likewise
    gain: Estimate  # score less price times cost of the plan, less that of the alternative
    goal: Goal  # what it was chosen for
    needs: tuple[str, ...]  # what the log was not given that proved intervals take: its arguments, by name
    same: float | None = None  # the score of all attempts of the log, if they have but one

    @property
    def finding(self) -> Advice:
        """What is proved of it."""
        return Advice(
            lower=self.gain.lower,
            upper=self.gain.upper,
            plan=self.plan.spelled,
            stop_at=self.plan.stop_at,
            price=self.plan.price,
            score=self.score.measured,
            cost=self.cost.measured,
            alternative=None if self.alternative is None else self.alternative.spelled,
            tasks=self.score.tasks,
            built=self.plan.tasks,
            level=self.gain.level,
            method=self.gain.how,
            attempts=len(self.plan.steps),
            nothing=self.plan.nothing,
            budget=self.goal.budget,
            reach=self.goal.reach,
            same=self.same,
            needs=self.needs,
        )


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

    Where no attempt earns its cost there, it is nothing, beside the best single attempt. Where all attempts of the log
    score the same, it is one attempt of the cheapest arm, beside the next.

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

        def replayed(plan: SequencePlan, other: SequencePlan | None = None) -> Replay:
            """A plan on the tasks held out, beside another one; beside that which it has to beat unless given."""
            beside = plan if other is None else replace(plan, single=_capped(other))
            return beside.replay(held_out, level, passed=passed)

        if log.score.min() == log.score.max():
            return _cheapest(chosen_on, settings, goal, log.top, replayed)
        both = replayed(sequence)
        if not both.same:
            nets = held_out_nets(chosen_on, settings, [sequence.method, "single"], sequence.price, rng)
            if in_errors(nets[sequence.method] - nets["single"]) > CLEARLY:
                return _straight(sequence, alone, both, goal)
        if not alone.steps and goal.price is not None:
            once = Builder(chosen_on, settings).plan("once")
            return _turned(alone, once, replayed(once, alone), goal)
        if both.same:
            return _turned(alone, None, both, goal)
        return _turned(replace(alone, price=sequence.price), sequence, both, goal)


def _cheapest(
    log: Log, settings: Settings, goal: Goal, score: float, replayed: Callable[[SequencePlan, SequencePlan], Replay]
) -> Advised:
    """One attempt of the arm that costs least, beside the one that costs least of the others; what differs is cost."""
    by_cost = replace(settings, goal=Goal(price=1.0))
    once = Builder(log, by_cost).plan("once")
    others = [arm for arm in log.arms if arm not in once.arms]
    if not others:
        return replace(_straight(once, None, replayed(once, once), goal), same=score)
    other = Builder(log.select(arms=others), by_cost).plan("once")
    return replace(_straight(once, other, replayed(once, other), goal), same=score)


def _capped(plan: SequencePlan) -> Capped:
    """A plan of one arm, or of none, as what another one has to beat."""
    return Capped(plan.arms[0] if plan.arms else plan.single.arm, len(plan.arms), plan.stop_at)


def _straight(plan: SequencePlan, alternative: SequencePlan | None, both: Replay, goal: Goal) -> Advised:
    """The plan that was replayed is advised; the alternative is what it had to beat."""
    other = both.single_score, both.single_cost
    return Advised(plan, alternative, both.score, both.cost, *other, both.gain, goal, both.needs)


def _turned(plan: SequencePlan, alternative: SequencePlan | None, both: Replay, goal: Goal) -> Advised:
    """What the plan that was replayed had to beat is advised; the alternative is that plan."""
    gain = replace(both.gain, value=0.0 - both.gain.value, lower=0.0 - both.gain.upper, upper=0.0 - both.gain.lower)
    one = both.single_score, both.single_cost
    other = one if alternative is None else (both.score, both.cost)
    return Advised(plan, alternative, *one, *other, gain, goal, both.needs)
