"""A study of a log as a web page, in the style of the pages of plans."""

from collections.abc import Callable
from os import PathLike
from typing import Any

from maxatk.attempts.estimates.curves import Point
from maxatk.attempts.judges.report import JudgeReport
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.study.study import JudgedStudy, Study
from maxatk.base import archive
from maxatk.base.text import amount, count_of, share, short, spelled, threshold
from maxatk.report import template
from maxatk.report.page import file
from maxatk.report.tables import judges
from maxatk.report.tables.attempts import shown
from maxatk.report.words import attempts as words
from maxatk.report.words import judges as judged_words

HERE = "maxatk.report.page"  # where its parts are


def write(study: Study, path: str | PathLike[str], title: str | None = None) -> None:
    """Write the page, completely or not at all."""
    file.require()
    archive.check_target(path)
    file.save(render(study, title), path)


def render(study: Study, title: str | None) -> str:
    """The page as text."""
    from maxatk.report.page import study_charts as charts

    drawn: dict[str, Any] = {f"curve{i}": charts.curve(curve) for i, curve in enumerate(study.curves)}
    reports = study.reports if isinstance(study, JudgedStudy) else ()
    drawn |= {f"judge{i}": charts.curve(judges.side_by_side(report)) for i, report in enumerate(reports)}
    if study.frontier is not None:
        drawn["frontier"] = charts.frontier(study.frontier)

    return template.render(
        template.part(HERE, "study.html"),
        study=study,
        main=study.main,
        passing=any(curve.name == "pass@k" for curve in study.curves),  # scores pass or fail, or a threshold was given
        greyed=[charts.greyed(curve) for curve in study.curves],
        made=file.made_by('study.page("page.html")'),
        home=file.home(),
        rivals=_runs(study.main.alternative if study.main else None),
        runs=_runs(study.plan),
        reports=reports,
        judged=judged_words.sentences,
        calibration=_calibration,
        gaps=_gaps,
        title=title or "Attempts",
        interval=_minus(lambda estimate: shown(estimate)[1]),
        value=_minus(lambda estimate: shown(estimate)[0]),
        short=_minus(short),
        amount=_minus(amount),
        share=share,
        threshold=_minus(threshold),
        told=words.told,
        tasks=_tasks,
        minus=template.minus,
        style=template.Html(template.part(HERE, "page.css")),
        vega=template.Html(file.vega()),
        data=template.in_script({"charts": drawn}),
    )


def _runs(plan: SequencePlan | None) -> list[str]:
    """The steps of a plan, with repeated arms together."""
    return [] if plan is None else spelled(plan.arms, "\n").split("\n")


def _gaps(report: JudgeReport) -> list[tuple[Point, float]]:
    """The estimates for every way to choose, with what a perfect judge would add at the same k: never less than 0."""
    best = {point.k: point.value for point in report.oracle}
    return [(point, max(round(best[point.k] - point.value, 12), 0.0)) for point in judges.side_by_side(report)]


def _calibration(report: JudgeReport) -> dict[str, Any]:
    """The truth by level of the judge: headings and rows of the table for the terminal."""
    table = judges.calibration(report)
    return {
        "headings": [str(column.header) for column in table.columns],
        "rows": list(zip(*(map(str, column.cells) for column in table.columns), strict=True)),
    }


def _minus(written: Callable[[Any], str]) -> Callable[[Any], str]:
    """A way to write numbers, with true minus signs."""
    return lambda x: template.minus(written(x))


def _tasks(n: int) -> str:
    return count_of(n, "task")
