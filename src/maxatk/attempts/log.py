"""A log of attempts: the ways to read one, and what it says.

What it holds is in ``logs/data.py``; the estimates are functions of that, in ``estimates/``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib.resources import as_file, files
from typing import Any

from maxatk.attempts.estimates import curves, difficulty
from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.extrapolation import PassRange
from maxatk.attempts.judges import curves as judged_curves
from maxatk.attempts.judges import report as judge_reports
from maxatk.attempts.judges.report import JudgeReport
from maxatk.attempts.logs import gate, notes, readers
from maxatk.attempts.logs.data import LogData
from maxatk.base.types import Range

EXAMPLE = "solver_restarts.csv"  # written by examples/solver_restarts.py
JUDGED_EXAMPLE = "gpqa_genrm.csv"  # from nishadsinghi/sc-genrm-scaling, commit a0435eda, Apache-2.0


class Log(LogData):
    """Attempts at tasks by arms: models, prompts, solvers, or anything else that can be run again.

    Made by :func:`read_log`, :meth:`from_records` or :meth:`from_frame`.

    >>> from maxatk import attempts as at
    >>> log = at.Log.from_records(
    ...     [{"task": t, "arm": a, "score": s, "cost": c} for t, a, s, c in [
    ...         ("sum", "small", 0.0, 1.0), ("sum", "small", 1.0, 1.2), ("sum", "big", 1.0, 5.0),
    ...         ("sort", "small", 0.5, 0.9), ("sort", "small", 0.5, 1.1), ("sort", "big", 1.0, 4.0)]])
    >>> log
    Log(2 tasks, 2 arms, 6 attempts)
    >>> log.arms, log.counts.tolist()
    (('small', 'big'), [[2, 1], [2, 1]])
    """

    @classmethod
    def from_records(
        cls, records: Iterable[Any], *, task: str = "task", arm: str | None = None, score: str | None = "score",
        cost: str | None = None, seconds: str | None = None, attempt: str | None = None,
        score_range: Range | None = None, cost_limit: float | Mapping[str, float] | None = None,
        missing_score: float | None = None, judge: str | Sequence[str] | None = None, answer: str | None = None,
    ) -> Log:  # fmt: skip
        """A log from dictionaries, one per attempt.

        Args:
            records: the dictionaries.
            task: the key of the task.
            arm: the key of the arm; by default "arm", if there is one. Without one all attempts are of one arm.
            score: the key of the score, which is the truth; None for a log that has only a judge.
            cost: the key of the cost; by default "cost", if there is one. Without one every attempt costs 1.
            seconds: the key of the duration; by default "seconds", if there is one.
            attempt: the key of the number of an attempt, so that duplicates are refused; by default "attempt", if there
                is one.
            score_range: the range of all possible scores, which proofs need; 0 and 1 for scores that are true or false.
            cost_limit: the highest possible cost of an attempt, for all arms or by arm, if there is such a limit.
            missing_score: the score of attempts without one; by default such attempts are refused.
            judge: the key of what a judge gave the attempt, larger is better, or several such keys; by default "judge",
                if there is one and it is a number for every attempt.
            answer: the key of the answer, which votes; by default "answer", if there is one. None, NaN and white space
                are blank, and cast no vote.

        >>> from maxatk import attempts as at
        >>> at.Log.from_records([{"id": 1, "passed": True}, {"id": 1, "passed": False}], task="id", score="passed")
        Log(1 task, 1 arm, 2 attempts)
        """
        names = readers.Names(task, arm, score, cost, seconds, attempt, answer, judge)
        return cls(**gate.checked(readers.records(records, names), score_range, cost_limit, missing_score))

    @classmethod
    def from_frame(
        cls, frame: Any, *, task: str = "task", arm: str | None = None, score: str | None = "score",
        cost: str | None = None, seconds: str | None = None, attempt: str | None = None,
        score_range: Range | None = None, cost_limit: float | Mapping[str, float] | None = None,
        missing_score: float | None = None, judge: str | Sequence[str] | None = None, answer: str | None = None,
    ) -> Log:  # fmt: skip
        """A log from a data frame with one row per attempt: pandas, Polars, or any other that narwhals knows.

        Args:
            frame: the data frame.
            task: the column of tasks; the other arguments are as in :meth:`from_records`.
            arm: the column of arms.
            score: the column of scores.
            cost: the column of costs.
            seconds: the column of durations.
            attempt: the column of the numbers of attempts.
            score_range: the range of all possible scores.
            cost_limit: the highest possible cost of an attempt.
            missing_score: the score of attempts without one.
            judge: the column of a judge, or several.
            answer: the column of answers.
        """
        names = readers.Names(task, arm, score, cost, seconds, attempt, answer, judge)
        return cls(**gate.checked(readers.frame(frame, names), score_range, cost_limit, missing_score))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Warnings about this log, in words."""
        return tuple(notes.notes(self))

    def max_at_k(
        self, k: int | Sequence[int], arm: str | None = None, level: float = 0.95, *, interval: str = "usual"
    ) -> Curve:
        """The expected best score of ``k`` attempts of an arm at a task: unbiased, with an interval over tasks.

        Args:
            k: the number of attempts, or several such numbers; at most as many as each task has.
            arm: the arm, if there are several.
            level: of the intervals, each by itself.
            interval: "usual", or "proved" for intervals that are proved for every number of tasks.

        >>> from maxatk import attempts as at
        >>> print(at.example_log().max_at_k([1, 4], arm="DE"))
        k  max@k  interval        tasks  by
        1  0.832  0.786 to 0.878    120  t, nominal
        4  0.902  0.864 to 0.940    120  t, nominal
        """
        return curves.curve(self, "max@k", k, arm, level, interval)

    def pass_at_k(
        self, k: int | Sequence[int], pass_threshold: float | None = None, arm: str | None = None,
        level: float = 0.95, *, interval: str = "usual",
    ) -> Curve:  # fmt: skip
        """The chance that one of ``k`` attempts of an arm passes: unbiased, with an interval over tasks.

        Args:
            k: the number of attempts, or several such numbers; at most as many as each task has.
            pass_threshold: the lowest score that passes; by default the highest of the log.
            arm: the arm, if there are several.
            level: of the intervals, each by itself.
            interval: "usual", or "proved" for intervals that are proved for every number of tasks.

        >>> from maxatk import attempts as at
        >>> print(at.example_log().pass_at_k(4, pass_threshold=1.0, arm="DE"))
        k  pass@k  interval      tasks  by
        4    0.84  0.78 to 0.91    120  t, nominal
        """
        return curves.curve(self, "pass@k", k, arm, level, interval, pass_threshold)

    def pass_hat_k(
        self, k: int | Sequence[int], pass_threshold: float | None = None, arm: str | None = None,
        level: float = 0.95, *, interval: str = "usual",
    ) -> Curve:  # fmt: skip
        """The chance that all of ``k`` attempts pass (pass^k); arguments as for :meth:`pass_at_k`.

        Args:
            k: the number of attempts, or several such numbers; at most as many as each task has.
            pass_threshold: the lowest score that passes; by default the highest of the log.
            arm: the arm, if there are several.
            level: of the intervals, each by itself.
            interval: "usual", or "proved" for intervals that are proved for every number of tasks.
        """
        return curves.curve(self, "pass^k", k, arm, level, interval, pass_threshold)

    def pass_range(
        self, k: int, pass_threshold: float | None = None, arm: str | None = None, level: float = 0.95
    ) -> PassRange:
        """Bounds on pass@k for more attempts than were made, up to four times as many.

        Args:
            k: the number of attempts.
            pass_threshold: the lowest score that passes; by default the highest of the log.
            arm: the arm, if there are several.
            level: the bounds hold with at least this probability.
        """
        return curves.pass_range(self, k, pass_threshold, arm, level)

    def selected_at_k(
        self, k: int | Sequence[int], judge: str | None = None, arm: str | None = None, level: float = 0.95, *,
        interval: str = "usual",
    ) -> Curve:  # fmt: skip
        """The expected true score of the attempt that a judge likes best among ``k``: unbiased, ties at random.

        Args:
            k: the number of attempts, or several such numbers; at most as many as each task has.
            judge: the judge, if there are several.
            arm: the arm, if there are several.
            level: of the intervals, each by itself.
            interval: "usual", or "proved" for intervals that are proved for every number of tasks.

        >>> from maxatk import attempts as at
        >>> print(at.example_judged_log().selected_at_k([1, 4], judge="judge"))
        k  selected@k  interval      tasks  by
        1        0.46  0.36 to 0.56     64  t, nominal
        4        0.48  0.38 to 0.58     64  t, nominal
        """
        return judged_curves.curve(self, judged_curves.by_judge(self, judge, arm), k, arm, level, interval)

    def majority_at_k(
        self, k: int | Sequence[int], arm: str | None = None, level: float = 0.95, *, weight: str | None = None,
        default_score: float = 0.0, interval: str = "usual", rng: Any = 0,
    ) -> Curve:  # fmt: skip
        """The expected true score of the answer that most of ``k`` attempts give, ties at random.

        Blank answers cast no vote. The estimate is exact and unbiased; with weights it is a mean over random sets of
        attempts, whose error is part of the interval.

        Args:
            k: the number of attempts, or several such numbers; at most as many as each task has.
            arm: the arm, if there are several.
            level: of the intervals, each by itself.
            weight: the judge whose scores weigh the votes; by default all count alike.
            default_score: what is scored if nobody votes.
            interval: "usual", or "proved" for intervals that are proved for every number of tasks.
            rng: a seed or a ``Generator`` for the random sets.

        >>> from maxatk import attempts as at
        >>> print(at.example_judged_log().majority_at_k([1, 4]))
        k  majority@k  interval      tasks  by
        1        0.46  0.36 to 0.56     64  t, nominal
        4        0.48  0.37 to 0.59     64  t, nominal
        """
        by = judged_curves.by_vote(self, weight, default_score, rng)
        return judged_curves.curve(self, by, k, arm, level, interval)

    def judge_report(
        self, judge: str | None = None, k: int | Sequence[int] | None = None, arm: str | None = None,
        level: float = 0.95, *, default_score: float = 0.0, weighted: bool = False, rng: Any = 0,
    ) -> JudgeReport:  # fmt: skip
        """What a judge is good for.

        What it catches of the gain of a perfect judge; how it orders attempts at one task; where the curve of its pick
        turns; the truth by level; at how many tasks picking hurts; whether its pick can be told from one attempt, from
        a vote and from those of other judges, and how many tasks that takes.

        Args:
            judge: the judge, if there are several.
            k: numbers of attempts; by default 1, 2, 4, ... up to what every task has.
            arm: the arm, if there are several.
            level: of the intervals.
            default_score: what is scored if nobody votes.
            weighted: whether to compare its pick with the vote that it weighs, too; this takes longer.
            rng: a seed or a ``Generator`` for the random sets of the weighted vote.

        >>> from maxatk import attempts as at
        >>> report = at.example_judged_log().judge_report("judge", k=[1, 16, 64])
        >>> print(report.verdict.split(" (")[0])
        Among 64 attempts, judge catches 12 % of what a perfect judge would gain over one of them
        >>> round(report.ranking.within.value, 3), round(report.ranking.pooled, 3)
        (0.567, 0.669)
        """
        return judge_reports.judge_report(self, judge, k, arm, level, default_score, weighted, rng)

    def pooled_scores(self) -> dict[str, list[tuple[Fraction, float]]]:
        """The distribution of the scores of each arm, attempts at all tasks pooled: probabilities and scores.

        It is what :meth:`maxatk.MDP.from_log` makes a decision problem of. It warns, with numbers, if attempts at one
        task share its difficulty: a pooled distribution ignores that, and overestimates the best of several attempts.

        >>> from maxatk import attempts as at
        >>> log = at.Log.from_records([{"task": t, "score": s} for t, s in (("a", 0), ("b", 1), ("c", 1))])
        >>> log.pooled_scores()
        {'attempt': [(Fraction(1, 3), 0.0), (Fraction(2, 3), 1.0)]}
        """
        return difficulty.pooled_scores(self)


def read_log(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, task: str = "task",
    arm: str | None = None, score: str | None = "score", cost: str | None = None, seconds: str | None = None,
    attempt: str | None = None, score_range: Range | None = None,
    cost_limit: float | Mapping[str, float] | None = None, missing_score: float | None = None,
    judge: str | Sequence[str] | None = None, answer: str | None = None,
) -> Log:  # fmt: skip
    """Read a log of attempts from a file, or from several that are concatenated.

    A file is CSV (also with semicolons or tabs); JSON, one object per line (.jsonl) or a list of them (.json);
    Parquet or Arrow (extra ``readers``); a log of Inspect (.eval, .json); or samples of the LM Evaluation Harness
    (.jsonl). It may be compressed: .gz, .bz2, .xz, .zst (extra ``readers``). In logs of tools the columns are theirs:
    ``score`` is the name of a scorer or metric, and may be omitted if there is only one; ``arm`` may be ``solver``,
    ``model``, ``run``, ``task_args.NAME`` or ``metadata.NAME`` of Inspect.

    A row is one attempt, or several at one task where columns hold lists: ``{"task": 1, "score": [0, 1, 1]}``.

    Args:
        path: the file or files; a folder or a pattern such as ``runs/*.csv`` stands for all logs that it has, and ``-``
            for standard input. Failed evaluations of Inspect are left out, with a warning, unless their file is named.
        task: the column of tasks.
        arm: the column of arms; by default "arm", if there is one. Without one all attempts are of one arm.
        score: the column of scores, which are the truth; None for a log that has only a judge.
        cost: the column of costs; by default "cost", if there is one (tokens, in a log of Inspect). Without one every
            attempt costs 1.
        seconds: the column of durations; by default "seconds", if there is one.
        attempt: the column of the numbers of attempts, so that duplicates are refused; by default "attempt", if there
            is one.
        score_range: the range of all possible scores, which proofs need; 0 and 1 for scores that are true or false.
        cost_limit: the highest possible cost of an attempt, for all arms or by arm, if there is such a limit.
        missing_score: the score of attempts without one; by default such attempts are refused.
        judge: the column of what a judge gave each attempt, larger is better, or several such columns; by default
            "judge", if there is one and it has a number for every attempt.
        answer: the column of answers, which vote; by default "answer", if there is one. Blank ones cast no vote.

    >>> from pathlib import Path
    >>> from maxatk import attempts as at
    >>> lines = "question,model,points", "q1,small,3", "q1,small,5", "q1,big,4"
    >>> _ = Path("attempts.csv").write_text("\\n".join(lines))
    >>> at.read_log("attempts.csv", task="question", arm="model", score="points")
    Log(1 task, 2 arms, 3 attempts)
    >>> Path("attempts.csv").unlink()
    >>> _ = Path("best_of_3.jsonl").write_text('{"prompt": "p1", "rewards": [0.1, 0.7, 0.4]}')
    >>> at.read_log("best_of_3.jsonl", task="prompt", score="rewards")
    Log(1 task, 1 arm, 3 attempts)
    >>> Path("best_of_3.jsonl").unlink()
    """
    names = readers.Names(task, arm, score, cost, seconds, attempt, answer, judge)
    return Log(**readers.read(path, names, score_range, cost_limit, missing_score))


def example_log() -> Log:
    """The log that comes with the library: ten restarts each of five solvers (SciPy's and CMA-ES) on 120 functions.

    The functions have many local minima. The score is the share of six digits by which an attempt reduced the distance
    to the optimum: 1 is solved. The cost is processor time in seconds.

    >>> from maxatk import attempts as at
    >>> at.example_log()
    Log(120 tasks, 5 arms, 6000 attempts)
    """
    with as_file(files("maxatk.attempts.logs") / EXAMPLE) as path:
        return read_log(path, score_range=(0, 1))


def example_judged_log() -> Log:
    """A log with a judge and answers that comes with the library: 64 solutions each of 64 questions of GPQA Diamond.

    Llama-3.3-70B-Instruct solved and verified: ``judge`` is the mean of up to 32 verifications of a solution, and
    ``judge1`` and ``judge4`` are those of the first one and the first four; the score is 1 for the right letter. From
    the raw data of nishadsinghi/sc-genrm-scaling (commit a0435eda), Apache-2.0.

    >>> from maxatk import attempts as at
    >>> log = at.example_judged_log()
    >>> log, log.judges
    (Log(64 tasks, 1 arm, 4096 attempts), ('judge', 'judge4', 'judge1'))
    """
    with as_file(files("maxatk.attempts.logs") / JUDGED_EXAMPLE) as path:
        return read_log(path, score_range=(0, 1), judge=["judge", "judge4", "judge1"], answer="answer")
