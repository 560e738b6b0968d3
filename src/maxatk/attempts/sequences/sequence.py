"""Which arm next after each attempt that did not reach the threshold, and when to give up.

The default is *greedy*: always the arm with the highest gain per cost on the tasks of the log, cut where a further
attempt costs more than it gains. On real logs that was 10 to 45 % cheaper than the best single arm at equal score, and
richer rules (including beliefs about hidden difficulty) added nothing. So another method replaces it only if inner
cross-validation shows that it is better by one standard error.
"""

from __future__ import annotations

from typing import Any

from maxatk.attempts.log import Log
from maxatk.attempts.sequences.builder import PlanBuilder, Settings, UnmetError
from maxatk.attempts.sequences.goal import EQUAL, Goal
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.warnings import warn
from maxatk.base import checks
from maxatk.base.findings import Reason

FEWEST_TASKS = 30  # with fewer a sequence may be worse than one arm
METHODS = ("auto", "greedy", "exact", "portfolio", "single")


def sequence(
    log: Log, *, price: float | None = None, budget: float | None = None, target_score: float | None = None,
    method: str = "auto", stop_at: float | None = None, max_per_arm: int | None = None,
    default_score: float | None = None, rng: Any = 0, judge: str | None = None, width: int = 1,
) -> SequencePlan:  # fmt: skip
    """Which arm to try next after each attempt that did not reach a score, and when to give up.

    Args:
        log: attempts at tasks; every task must have every arm.
        price: what one unit of cost is worth in score: attempts are made while they gain more than that per cost.
        budget: instead of a price, the mean cost per task that is allowed.
        target_score: instead of both, the mean score to reach on these tasks at the lowest cost.
        method: "auto" (greedy, unless another method is clearly better in inner cross-validation), or one of "greedy",
            "exact" (the optimal sequence for these tasks, if there are not too many sequences), "portfolio" (one
            attempt of each arm) and "single" (one arm).
        stop_at: the score at which to stop; by default chosen among the scores of the log.
        max_per_arm: the maximal number of attempts of an arm, which cannot exceed the number that every task has.
        default_score: the score of a task without an attempt; by default the lowest possible score, if that is known,
            else the lowest seen.
        rng: a seed or a ``Generator`` for the folds of the cross-validation.
        judge: who stops the sequence and picks an attempt, if the truth is not seen at run time: the plan stops as soon
            as this judge of the log gives an attempt ``stop_at``, and hands in the one that it likes best, of equal
            ones the first. All numbers, here and in a replay, are of the truth, the scores of the log. ``stop_at`` is
            then chosen among the judge's highest score and two quantiles.
        width: attempts that are made at once, in a round. A sequence then stops between rounds only: all attempts of a
            round are made and paid, and the best of them counts.

    >>> from maxatk import attempts as at
    >>> rows = [{"task": t, "arm": arm, "score": float((t + i) % n == 0), "cost": cost}
    ...         for t in range(60) for arm, n, cost in (("small", 3, 1.0), ("big", 2, 4.0)) for i in range(3)]
    >>> plan = at.sequence(at.Log.from_records(rows), price=0.05)
    >>> plan.arms, plan.stop_at
    (['small', 'small', 'small'], 1.0)
    """
    goal = Goal.of(price=price, budget=budget, target_score=target_score)
    return planned(log, Settings(goal, stop_at, max_per_arm, default_score, judge, width), method, rng)


def planned(log: Log, settings: Settings, method: str, rng: Any, fewest: int = FEWEST_TASKS) -> SequencePlan:
    """The plan for a log; with fewer than ``fewest`` tasks it is a portfolio, unless another method was asked for."""
    checks.one_of(method, METHODS, "method")
    log.require_truth()
    if settings.judge is not None and fewest:
        log.judged.of_judge(settings.judge)
    builder, target = PlanBuilder(log, settings), settings.goal.target_score
    if target is not None and (best_score := builder.plan("greedy").score) < target - EQUAL and fewest:
        raise UnmetError(
            f"no sequence scores {target:g} on these tasks: the best has {best_score:g}",
            *(Reason.OUT_OF_REACH, len(log.tasks), target, best_score),
        )
    if method != "auto":
        return builder.plan(method, "as asked for")
    if len(log.arms) > 1 and len(log.tasks) < fewest:
        n = len(log.tasks)
        warn(
            f"{n} task{' is' if n == 1 else 's are'} few to build a sequence from: below {FEWEST_TASKS} tasks the plan "
            "is a portfolio, at most one attempt of each arm (method='greedy' gives a sequence)"
        )
        are_few = "1 task is too few" if n == 1 else f"{n} tasks are too few"
        few = f"at most one attempt of each arm, because {are_few} to find a better order"
        return builder.plan("portfolio", few)
    return builder.plan(*_choose(log, builder, rng))


def _choose(log: Log, builder: PlanBuilder, rng: Any) -> tuple[str, str]:
    """The method, and why: greedy, unless another method is clearly better in inner cross-validation."""
    if len(log.arms) == 1:
        return "single", "the log has only one arm"
    others = ["single", *(["exact"] if builder.can_search else [])]
    leads = builder.leads(builder.plan("greedy"), others, rng)
    best = max(others, key=lambda method: leads[method])
    if leads[best] > 1:
        what = {"single": "one arm with a cap", "exact": "the best sequence for these tasks"}[best]
        than = f"a greedy sequence by {leads[best]:.1f} standard errors of cross-validation"
        return best, f"{what} was better than {than}"
    return "greedy", "greedy by gain per cost; no other method was better by a standard error of cross-validation"
