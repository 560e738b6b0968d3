"""Cards of what judges are good for."""

from maxatk.attempts.judges.power import Power
from maxatk.attempts.judges.report import JudgeReport
from maxatk.attempts.judges.vote_stops import VoteStop
from maxatk.attempts.study.study import JudgedStudy
from maxatk.base.text import count_of, percent, short
from maxatk.report.cards import attempts, parts
from maxatk.report.tables import judges as tables
from maxatk.report.words import judges as words

MOST_REPORTS = 4  # of a study, which has one for each judge and arm


def report(shown: JudgeReport) -> str:
    """The share of a perfect judge's gain, the curves with the gap, the truth by level, and the other findings."""
    said = words.sentences(shown)
    return parts.card(
        f"{shown.judge}, attempts of {shown.arm}",
        parts.verdict(said[0]),
        parts.table(tables.curves(shown)),
        parts.table(tables.calibration(shown)),
        parts.lines(said[1:]),
        parts.note("True scores of what is handed in among k attempts; gap: what a perfect judge would add."),
    )


def study(shown: JudgedStudy) -> str:
    """A study, what its judges are good for, and the curves of the one by which attempts stop and are picked."""
    catches = parts.lines([words.share(report) for report in shown.reports[:MOST_REPORTS]])
    own = [report for report in shown.reports if report.judge == shown.judge]
    return attempts.study(shown, catches, *(parts.table(tables.curves(report)) for report in own[:MOST_REPORTS]))


def vote(shown: VoteStop) -> str:
    """What a vote that stops early scores, and what it saves."""
    return parts.card(f"a vote of at most {count_of(shown.k, 'attempt')}", parts.verdict(words.vote(shown)))


def power(shown: Power) -> str:
    """How many tasks would show which difference."""
    return parts.card(
        f"{shown.first} against {shown.second}, the pick among {shown.k}",
        parts.rows(
            ("a difference of", "takes tasks"), [(short(size), str(tasks)) for size, tasks in shown.needed], (0, 1)
        ),
        parts.note(
            f"{count_of(shown.tasks, 'task')}, as in this log, would show one of {short(shown.detectable)}. Each with "
            f"a chance of {percent(shown.power)}, by the normal approximation."
        ),
    )
