"""Ways to choose what is handed in after ``k`` attempts: each says what that truly scores, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from maxatk.attempts.estimates.curves import check_attempts
from maxatk.attempts.estimates.estimators import best_of
from maxatk.attempts.judges.picks import selected_of
from maxatk.attempts.judges.votes import majority_of_tasks
from maxatk.attempts.judges.weighted import Task, weighted_of
from maxatk.attempts.logs.data import LogData
from maxatk.attempts.logs.judged import ANY, MAJORITY, ORACLE, WEIGHTED
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Range

EQUAL, ROUNDING = 1e-12, 1e-14  # of the range of scores, and of the greatest: what differs by less is equal


class Chooser(Protocol):
    """Something that hands in one of ``k`` attempts, or an answer that some of them give."""

    @property
    def name(self) -> str:
        """Its name, for people."""
        ...

    @property
    def curve_name(self) -> str:
        """The name of its curve, which ends with ``@k``."""
        ...

    def scores(self, log: LogData, rows: Ints, ks: Sequence[int]) -> Floats:
        """The true score [T, len(ks)] of what it hands in among ``k`` of the attempts ``rows`` [T, n] of tasks."""
        ...

    def span(self, log: LogData) -> Range | None:
        """The range of all such scores, if it is known."""
        ...


@dataclass(frozen=True)
class Oracle:
    """Knows the truth: max@k."""

    name: str = ORACLE
    curve_name: str = "max@k"

    def scores(self, log: LogData, rows: Ints, ks: Sequence[int]) -> Floats:
        """max@k [T, len(ks)]."""
        return best_of(log.score[rows], ks)

    def span(self, log: LogData) -> Range | None:
        """That of the scores."""
        return log.score_range


@dataclass(frozen=True)
class AnyAttempt:
    """Hands in one attempt at random, however many there are."""

    name: str = ANY
    curve_name: str = "one@k"

    def scores(self, log: LogData, rows: Ints, ks: Sequence[int]) -> Floats:
        """The mean score [T, len(ks)]."""
        return np.repeat(log.score[rows].mean(axis=1, keepdims=True), len(ks), axis=1)

    def span(self, log: LogData) -> Range | None:
        """That of the scores."""
        return log.score_range


@dataclass(frozen=True)
class ByJudge:
    """Hands in the attempt that a judge likes best, ties at random."""

    judge: str
    curve_name: str = "selected@k"

    @property
    def name(self) -> str:
        """The judge's."""
        return self.judge

    def scores(self, log: LogData, rows: Ints, ks: Sequence[int]) -> Floats:
        """selected@k [T, len(ks)]."""
        return selected_of(log.score[rows], log.judged.scores_of(self.judge)[rows], ks)

    def span(self, log: LogData) -> Range | None:
        """That of the scores."""
        return log.score_range


@dataclass(frozen=True)
class ByVote:
    """Hands in the answer that most attempts give, ties at random; a default if nobody votes."""

    default_score: float = 0.0
    name: str = MAJORITY
    curve_name: str = "majority@k"

    def scores(self, log: LogData, rows: Ints, ks: Sequence[int]) -> Floats:
        """majority@k [T, len(ks)]."""
        truth, answer = log.score[rows], log.judged.require_answers()[rows]
        return majority_of_tasks(truth, answer, ks, self.default_score)

    def span(self, log: LogData) -> Range | None:
        """That of the scores and the default."""
        low, high = log.score_range or (0.0, 0.0)
        return log.score_range and (min(low, self.default_score), max(high, self.default_score))


@dataclass(frozen=True)
class ByWeightedVote(ByVote):
    """Hands in the answer to which a judge gives the most weight, summed over the attempts that give it."""

    judge: str = ""
    rng: Any = 0
    curve_name: str = "weighted majority@k"

    def scores(self, log: LogData, rows: Ints, ks: Sequence[int]) -> Floats:
        """Weighted majority@k [T, len(ks)]."""
        truth, answer = log.score[rows], log.judged.require_answers()[rows]
        weight = log.judged.scores_of(self.judge)[rows]
        if (weight < 0).any():
            raise InputError(
                f"judge {checks.shown(self.judge)} is negative somewhere ({weight.min():g}): votes need weights of at "
                "least 0"
            )
        tasks = [Task(*task, self.default_score) for task in zip(truth, answer, weight, strict=True)]
        base, n = int(checks.generator(self.rng).integers(2**63)), rows.shape[1]
        # Each k has a seed of its own, so that its value does not depend on the others that are asked for.
        draws = [weighted_of(tasks, k, np.random.default_rng([base, n, k])) for k in ks]
        return np.stack(draws, axis=1)

    @classmethod
    def of(cls, judge: str, default_score: float = 0.0, rng: Any = 0) -> ByWeightedVote:
        """The vote weighted by a judge, by its name."""
        return cls(default_score, name=f"{WEIGHTED}{judge}", judge=judge, rng=rng)


def chooser(log: LogData, word: Any, arm: int, default_score: Any = 0.0, rng: Any = 0) -> Chooser:
    """A way to choose among attempts of an ``arm`` by its name.

    Args:
        log: the log.
        word: a judge, "majority", "majority weighted by" a judge, "oracle" or "one attempt".
        arm: its number: a judge that gives all of its attempts one score is refused.
        default_score: what is scored if nobody votes.
        rng: a seed or a ``Generator`` for weighted votes.
    """
    score = float(checks.exact_number(default_score, "default_score"))
    if not isinstance(word, str):
        raise InputError(f"a way to choose is given by its name, not {checks.shown(word)}")
    name = word.removeprefix(WEIGHTED)
    if name in log.judges:
        log.judged.of_judge(name, log.arm == arm)
        if name == word:
            return ByJudge(name)
        log.judged.require_answers()
        return ByWeightedVote.of(name, score, rng)
    known = {ORACLE: Oracle(), MAJORITY: ByVote(score), ANY: AnyAttempt()}
    if word in known:
        return known[word]
    choices = (*log.judges, *known, *(f"{WEIGHTED}{judge}" for judge in log.judges))
    close = checks.nearest(str(word), choices)
    meant = f"did you mean {checks.shown(close)}?" if close else f"there are {', '.join(choices)}"
    raise InputError(f"there is no judge {checks.shown(word)}: {meant}")


def per_task(log: LogData, arm: int, ks: Sequence[int], by: Chooser) -> Floats:
    """The true score of what is handed in, by task [T, len(ks)]; NaN for tasks without this arm."""
    values = np.full((len(log.tasks), len(ks)), np.nan)
    for tasks, rows in log.rows_by_count(arm):
        check_attempts(log, arm, int(tasks[0]), rows.shape[1], ks)
        values[tasks] = by.scores(log, rows, ks)
    return values


def negligible(log: LogData) -> float:
    """What true scores differ by at most where they are equal but for rounding."""
    low, high = log.usual_range
    return EQUAL * (high - low) + ROUNDING * max(abs(low), abs(high))


def apart(log: LogData, x: Floats, y: Floats) -> Floats:
    """The differences of true scores by task [T]; exactly 0 where there is only rounding, which is no evidence."""
    difference = x - y
    return np.where(np.abs(difference) <= negligible(log), 0.0, difference)
