"""Advice: one plan, chosen on some tasks of a log, and the score and cost of that very plan on the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.log import Log
from maxatk.attempts.sequences.builder import PlanBuilder, Settings
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.sequences.plan import Capped, SequencePlan
from maxatk.attempts.sequences.replay import Replay
from maxatk.attempts.sequences.sequence import planned
from maxatk.attempts.warnings import AttemptsWarning
from maxatk.base.findings import Advice, Aim, ChosenPlan
from maxatk.base.text import clipped, runs, short

SHARE = 0.5  # of the tasks, on which plans are chosen
FEWEST = 4  # tasks that can be split
CLEARLY = 2.0  # standard errors of cross-validation by which a sequence must be better than one arm to be advised


@dataclass(frozen=True, repr=False)
class Advised:
    """One plan to follow, and its score and cost on tasks that it was not chosen on."""

    plan: SequencePlan  # the advised plan
    alternative: SequencePlan | None  # the other candidate: one arm for a sequence and vice versa, or one attempt
    score: Estimate  # of the plan, on the tasks held out
    cost: Estimate  # likewise
    other_score: Estimate  # of the alternative, on the same tasks
    other_cost: Estimate  # likewise
    gain: Estimate  # score less price times cost of the plan, less that of the alternative
    goal: Goal  # for which it was chosen
    needs: tuple[str, ...]  # arguments that the log lacks for proved intervals, by name
    same: float | None = None  # the score of all attempts of the log, if it is the same

    def __repr__(self) -> str:
        return clipped(f"Advised({self.plan.spelled}: score {short(self.score.value)}, cost {short(self.cost.value)})")

    @property
    def finding(self) -> Advice:
        """The finding that it proves."""
        plan, goal, gain = self.plan, self.goal, self.gain
        return Advice(
            lower=gain.lower,
            upper=gain.upper,
            basis=gain.basis(self.needs),
            chosen=ChosenPlan(
                plan=plan.spelled, stop_at=plan.stop_at, built=plan.built_from.tasks, attempts=len(plan.steps),
                default_score=plan.default_score, judge=plan.judge,
            ),
            aim=Aim(price=plan.price, budget=goal.budget, target_score=goal.target_score),
            score=self.score.measured,
            cost=self.cost.measured,
            alternative=None if self.alternative is None else self.alternative.spelled,
            same=self.same,
            parts=1 if self.alternative is None else len(runs(self.alternative.arms)),
        )  # fmt: skip


def advise(log: Log, settings: Settings, *, pass_threshold: float | None, level: float, rng: Any) -> Advised:
    """The plan to follow for a goal: one arm with a cap, unless a sequence is clearly better on the chosen tasks.

    If no attempt gains more than it costs there, the plan is empty, and the alternative is the best single attempt. If
    all attempts of the log score the same, the plan is one attempt of the cheapest arm, and the alternative is the next
    cheapest.

    Args:
        log: attempts at tasks; every task must have every arm.
        settings: the goal, and the score at which to stop.
        pass_threshold: the lowest score that solves a task.
        level: of the intervals.
        rng: a seed for the tasks that are held out.
    """
    chosen_on, held_out = log.split(SHARE, rng)
    settings, goal = replace(settings, default_score=log.usual_range[0]), settings.goal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AttemptsWarning)  # the advice states the number of tasks
        sequence, alone = (planned(chosen_on, settings, method, rng) for method in ("auto", "single"))

        def replayed(plan: SequencePlan, other: SequencePlan | None = None) -> Replay:
            """A plan on the tasks held out, beside another one; by default beside the single arm to beat."""
            compared = plan if other is None else replace(plan, single=_capped(other))
            return compared.replay(held_out, level, pass_threshold=pass_threshold)

        if log.score.min() == log.score.max():
            once, other = _cheapest(chosen_on, settings)
            return replace(_straight(once, other, replayed(once, other or once), goal), same=log.top)
        both, builder = replayed(sequence), PlanBuilder(chosen_on, settings)
        if not both.single.same and -builder.leads(sequence, ["single"], rng)["single"] > CLEARLY:
            return _straight(sequence, alone, both, goal)
        if not alone.steps and goal.price is not None:
            once = builder.plan("once")
            return _turned(alone, once, replayed(once, alone), goal)
        if both.single.same:
            return _turned(alone, None, both, goal)
        return _turned(replace(alone, price=sequence.price), sequence, both, goal)


def _cheapest(log: Log, settings: Settings) -> tuple[SequencePlan, SequencePlan | None]:
    """One attempt of the cheapest arm, and one of the cheapest other arm; they differ only in cost."""
    by_cost = replace(settings, goal=Goal(price=1.0))
    once = PlanBuilder(log, by_cost).plan("once")
    others = [arm for arm in log.arms if arm not in once.arms]
    return once, PlanBuilder(log.select(arms=others), by_cost).plan("once") if others else None


def _capped(plan: SequencePlan) -> Capped:
    """A plan with one arm, or with none, as a capped arm."""
    return Capped(plan.arms[0] if plan.arms else plan.single.arm, len(plan.arms), plan.stop_at)


def _straight(plan: SequencePlan, alternative: SequencePlan | None, both: Replay, goal: Goal) -> Advised:
    """Advise the plan that was replayed; the alternative is the one that it was compared with."""
    other = both.single.score, both.single.cost
    return Advised(plan, alternative, both.score, both.cost, *other, both.gain, goal, both.needs)


def _turned(plan: SequencePlan, alternative: SequencePlan | None, both: Replay, goal: Goal) -> Advised:
    """Advise the plan that the replayed one was compared with; the alternative is the replayed plan."""
    gain = replace(both.gain, value=0.0 - both.gain.value, lower=0.0 - both.gain.upper, upper=0.0 - both.gain.lower)
    one = both.single.score, both.single.cost
    other = one if alternative is None else (both.score, both.cost)
    return Advised(plan, alternative, *one, *other, gain, goal, both.needs)
