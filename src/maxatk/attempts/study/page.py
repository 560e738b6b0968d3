"""A study as a web page: one file that needs nothing else (extra ``page``). It looks like the pages of plans."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from maxatk.attempts.study.tables import ends, short, spelled
from maxatk.base import archive
from maxatk.show import page as pages

if TYPE_CHECKING:
    from maxatk.attempts.study.study import Study


def write(study: Study, path: str | os.PathLike[str], title: str | None) -> None:
    """Write the page, whole or not at all."""
    pages.require()
    archive.check_target(path)
    pages.save(render(study, title), path)


def render(study: Study, title: str | None) -> str:
    """The page as text."""
    import jinja2

    from maxatk.attempts.study import charts

    drawn: dict[str, Any] = {f"curve{i}": charts.curve(curve) for i, curve in enumerate(study.curves)}
    if study.frontier is not None:
        drawn["frontier"] = charts.frontier(study.frontier)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)

    def interval(found: Any) -> str:
        low, _, high = ends(found)
        return pages.minus(f"{low} to {high}")

    def value(found: Any) -> str:
        return pages.minus(ends(found)[1])

    return environment.from_string(pages.part("study.html", "maxatk.attempts.study")).render(
        study=study,
        runs=[] if study.plan is None else spelled(study.plan.arms, "\n").split("\n"),
        title=title or "Attempts",
        interval=interval,
        value=value,
        short=_short,
        minus=pages.minus,
        style=pages.Text(pages.part("page.css")),
        vega=pages.Text(pages.vega()),
        data=pages.in_script({"charts": drawn}),
    )


def _short(x: float) -> str:
    return pages.minus(short(x))
