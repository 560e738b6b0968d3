"""What is seen of attempts at run time: the scores of judges, and answers that vote. The truth is the score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints

ORACLE, MAJORITY, ANY, WEIGHTED = "oracle", "majority", "one attempt", "majority weighted by "  # ways to choose
BLANK = -1  # the number of an answer that casts no vote
NO_TRUTH = "this is what the judge will say, not what is true; add the true score of some attempts"


@dataclass(frozen=True, eq=False)
class Judged:
    """The columns of a log that are seen at run time, and whether it has the truth beside them."""

    judges: tuple[str, ...] = ()  # their names
    scores: tuple[Floats, ...] = ()  # [N] of each judge: larger is better
    answers: tuple[str, ...] = ()  # the different answers, in order of appearance
    answer: Ints | None = None  # [N] the number of each attempt's answer, -1 for a blank one; None if none were logged
    has_truth: bool = True  # whether the log has scores; if not, they are NaN

    def part(self, rows: Any) -> Judged:
        """The columns of some attempts."""
        return replace(
            self,
            scores=tuple(scores[rows] for scores in self.scores),
            answer=None if self.answer is None else self.answer[rows],
        )

    def of_judge(self, judge: Any, rows: Any = slice(None)) -> Floats:
        """The scores of a judge, by name; None stands for the only one. A judge that is constant is refused.

        ``rows`` are the attempts that it is to pick among; all by default.
        """
        scores = self.scores_of(judge)[rows]
        if len(scores) > 1 and scores.min() == scores.max():
            name = next(iter(self.judges)) if judge is None else judge
            raise InputError(f"judge {checks.shown(name)} gives every attempt {scores[0]:g}: it cannot pick one")
        return scores

    def scores_of(self, judge: Any) -> Floats:
        """The same without a look at the scores: parts of a log may well have one level of its judge."""
        if not self.judges:
            raise InputError("the log has no judge: name its column when the log is read, judge=...")
        if judge is None and len(self.judges) > 1:
            raise InputError(f"judge must be given: the log has {', '.join(map(checks.shown, self.judges[:8]))}")
        name = next(iter(self.judges)) if judge is None else judge
        if not isinstance(name, str) or name not in self.judges:
            close = checks.nearest(name, self.judges) if isinstance(name, str) else None
            known = f"did you mean {checks.shown(close)}?" if close else f"the judges are {', '.join(self.judges[:8])}"
            raise InputError(f"there is no judge {checks.shown(name)}: {known}")
        return self.scores[self.judges.index(name)]

    def require_answers(self) -> Ints:
        """The number of each attempt's answer [N]; refused if none were logged, or all are blank."""
        if self.answer is None:
            raise InputError("the log has no answers to vote: name their column when the log is read, answer=...")
        if (self.answer == BLANK).all():
            raise InputError("all answers of the log are blank: nobody votes")
        return self.answer


def judge_columns(given: Any, there: Sequence[str]) -> list[str]:
    """The names of the columns of judges: one or several, as given; by default "judge", if there is one."""
    if given is None:
        return ["judge"] if "judge" in there else []
    names: list[Any] = list(given) if checks.is_list(given) else [given]
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"judge must be the name of a column, or several, not {checks.shown(name)}")
        if name not in there:
            close = checks.nearest(name, there)
            known = f"did you mean {checks.shown(close)}?" if close else f"there are {', '.join(there[:12]) or 'none'}"
            raise InputError(f"there is no column {checks.shown(name)} for the judge: {known}")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"judge {checks.shown(twice)} is named twice")
    return names


def judged(
    judges: Mapping[str, list[Any]], answer: list[Any] | None, number: Callable[[Any, str, str], float],
    where: Callable[[int], str], *, named: bool, has_truth: bool,
) -> Judged:  # fmt: skip
    """The checked columns. A judge that was not ``named`` is left out if it is not a number for every attempt."""
    columns: dict[str, Floats] = {}
    for name in judges:
        if name in (ORACLE, MAJORITY, ANY) or name.startswith(WEIGHTED):
            raise InputError(f"a judge cannot be called {checks.shown(name)}, a way to choose: rename its column")
    for name, values in judges.items():
        try:
            columns[name] = _scores(name, values, number, where)
        except InputError:
            if named:
                raise
    answers: dict[str, int] = {}
    votes = None
    if answer is not None:
        words = [_answer(value) for value in answer]
        votes = np.array([answers.setdefault(word, len(answers)) if word else BLANK for word in words], np.int64)
    return Judged(tuple(columns), tuple(columns.values()), tuple(answers), votes, has_truth)


def _scores(
    name: str, values: list[Any], number: Callable[[Any, str, str], float], where: Callable[[int], str]
) -> Floats:
    what = f"judge {checks.shown(name)}"
    if None in values:
        raise InputError(f"{where(values.index(None))}: {what} is missing; a judge must score every attempt")
    return np.array([number(value, what, where(place)) for place, value in enumerate(values)])


def is_blank(answer: Any) -> bool:
    """Whether an answer casts no vote: None, NaN, white space."""
    return not _answer(answer)


def _answer(value: Any) -> str:
    """An answer as a word; empty for a blank one: None, NaN, white space."""
    plain: Any = cast(Any, value).item() if isinstance(value, np.generic) else value
    if plain is None or (isinstance(plain, float) and math.isnan(plain)):
        return ""
    if isinstance(plain, float) and plain.is_integer():
        return str(int(plain))  # a data frame with missing values stores whole numbers as floats
    return str(plain).strip()
