"""A study as a web page: one self-contained file (extra ``page``), in the style of the pages of plans."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from maxatk.attempts.study.tables import amount, share, short, shown, spelled
from maxatk.base import archive
from maxatk.report import page as pages
from maxatk.report import template, words

if TYPE_CHECKING:
    from maxatk.attempts.study.study import Study


def write(study: Study, path: str | os.PathLike[str], title: str | None) -> None:
    """Write the page, completely or not at all."""
    pages.require()
    archive.check_target(path)
    pages.save(render(study, title), path)


def render(study: Study, title: str | None) -> str:
    """The page as text."""
    from maxatk.attempts.study import charts

    drawn: dict[str, Any] = {f"curve{i}": charts.curve(curve) for i, curve in enumerate(study.curves)}
    if study.frontier is not None:
        drawn["frontier"] = charts.frontier(study.frontier)

    def interval(estimate: Any) -> str:
        return template.minus(shown(estimate)[1])

    def value(estimate: Any) -> str:
        return template.minus(shown(estimate)[0])

    return template.render(
        template.part("maxatk.attempts.study", "study.html"),
        study=study,
        main=study.main,
        runs=[] if study.plan is None else spelled(study.plan.arms, "\n").split("\n"),
        title=title or "Attempts",
        interval=interval,
        value=value,
        short=_short,
        amount=_amount,
        share=share,
        threshold=_threshold,
        told=words.told,
        tasks=words.tasks_in_words,
        minus=template.minus,
        style=template.Html(template.part("maxatk.report.page", "page.css")),
        vega=template.Html(pages.vega()),
        data=template.in_script({"charts": drawn}),
    )


def _short(x: float) -> str:
    return template.minus(short(x))


def _amount(x: float) -> str:
    return template.minus(amount(x))


def _threshold(x: float) -> str:
    return template.minus(words.threshold(x))
