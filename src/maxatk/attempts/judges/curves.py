"""selected@k and majority@k of a log by arm, with intervals over tasks; and paired differences of ways to choose."""

from __future__ import annotations

from typing import Any

from maxatk.attempts.estimates import intervals
from maxatk.attempts.estimates.curves import Curve, Point
from maxatk.attempts.estimates.estimators import numbers_of_attempts
from maxatk.attempts.estimates.intervals import checked_level, wants_proof
from maxatk.attempts.estimates.pairing import Difference, tasks_needed
from maxatk.attempts.judges.choosers import ByJudge, ByVote, ByWeightedVote, Chooser, apart, chooser, per_task
from maxatk.attempts.logs.data import LogData
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats


def curve(log: LogData, by: Chooser, k: Any, arm: str | None, level: float, interval: str) -> Curve:
    """The true score of what is handed in for every ``k``."""
    log.require_truth()
    ks, level, span = numbers_of_attempts(k), checked_level(level), by.span(log)
    points: list[Point] = []
    for number in range(len(log.arms)) if arm is None else [log.arm_number(arm)]:
        values = per_task(log, number, ks, by)[log.counts[:, number] > 0]
        for place, one in enumerate(ks):
            estimate = intervals.mean(values[:, place], span, level, use_betting=wants_proof(interval, span))
            points.append(Point(**vars(estimate), arm=log.arms[number], k=one))
    return Curve(by.curve_name, points, single=len(points) == 1 and not checks.is_list(k))


def by_judge(log: LogData, judge: str | None, arm: str | None) -> ByJudge:
    """The pick of a judge among attempts of an arm, or of all arms; None stands for the only judge."""
    log.judged.of_judge(judge, slice(None) if arm is None else log.arm == log.arm_number(arm))
    return ByJudge(log.judges[0] if judge is None else judge)


def by_vote(log: LogData, weight: str | None, default_score: float, rng: Any) -> ByVote:
    """The vote of all attempts, weighted by a judge if one is named."""
    score = float(checks.exact_number(default_score, "default_score"))
    log.judged.require_answers()
    if weight is None:
        return ByVote(score)
    return ByWeightedVote.of(by_judge(log, weight, None).judge, score, rng)


def pick_difference(
    log: LogData, first: str, second: str, k: int, *, arm: str | None = None, second_arm: str | None = None,
    level: float = 0.95, interval: str = "usual", default_score: float = 0.0, rng: Any = 0,
) -> Difference:  # fmt: skip
    """The difference of two ways to choose one of ``k`` attempts, in what is truly handed in, paired by task.

    Args:
        log: a log with scores, which are the truth.
        first: a judge by name, "majority" for the vote of all answers, "majority weighted by" a judge, "oracle" for a
            perfect judge, or "one attempt" for a random one.
        second: another, which is subtracted.
        k: the number of attempts.
        arm: the arm, if there are several.
        second_arm: the arm of the second; the same by default.
        level: of the interval.
        interval: "usual", or "proved" for one that is proved for every number of tasks.
        default_score: what is scored if nobody votes.
        rng: a seed or a ``Generator`` for the random sets of a weighted vote.

    >>> from maxatk import attempts as at
    >>> print(at.pick_difference(at.example_judged_log(), "judge", "majority", k=64).verdict)  # doctest: +ELLIPSIS
    no difference between judge and majority in the pick among 64 can be established: -0.08 to 0.09; ...
    """
    log.require_truth()
    k = checks.integer(k, "k", least=1)
    arms = log.arm_number(arm), log.arm_number(arm if second_arm is None else second_arm)
    ways = chooser(log, first, arms[0], default_score, rng), chooser(log, second, arms[1], default_score, rng)
    if ways[0] == ways[1] and arms[0] == arms[1]:
        raise InputError(f"{checks.shown(first)} cannot be compared with itself")
    common = (log.counts[:, list(arms)] > 0).all(axis=1)
    if not common.any():
        raise InputError(f"no task has attempts of both {' and '.join(checks.shown(log.arms[a]) for a in arms)}")
    x, y = (per_task(log, a, [k], way)[common, 0] for a, way in zip(arms, ways, strict=True))
    of_arm = ["" if arms[0] == arms[1] else f" of {log.arms[a]}" for a in arms]
    names = ways[0].name + of_arm[0], ways[1].name + of_arm[1]
    return paired(log, (x, y), ways, names, k, level, interval)


def paired(
    log: LogData, values: tuple[Floats, Floats], ways: tuple[Chooser, Chooser], names: tuple[str, str], k: int,
    level: float, interval: str = "usual",
) -> Difference:  # fmt: skip
    """The mean difference of two ways over tasks, from the true scores [T] of each."""
    spans = [way.span(log) for way in ways]
    (low, high), (other_low, other_high) = (span or (0.0, 0.0) for span in spans)
    span = None if None in spans else (low - other_high, high - other_low)
    differences = apart(log, *values)
    estimate = intervals.mean(differences, span, checked_level(level), use_betting=wants_proof(interval, span))
    return Difference(
        **vars(estimate), first=names[0], second=names[1], k=k, of="pick", ratio=None,
        tasks_needed=tasks_needed(differences, estimate),
    )  # fmt: skip
