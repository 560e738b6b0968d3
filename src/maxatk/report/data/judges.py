"""What judges are good for as plain data, for JSON."""

from typing import Any

from maxatk.attempts.judges.report import JudgeReport
from maxatk.base.text import finite
from maxatk.report.words import judges as words


def report(result: JudgeReport) -> dict[str, Any]:
    """A report; infinite ends are null."""
    ranking, turn, share = result.ranking, result.turn, result.share
    fields = ("k", "value", "lower", "upper", "level", "tasks", "method")
    return {
        "judge": result.judge,
        "arm": result.arm,
        "words": words.sentences(result),
        "curves": [
            {"what": curve.name, **{name: getattr(p, name) for name in fields}}
            for curve in result.curves
            for p in curve
        ],
        "share": None if share is None else {name: _plain(x) for name, x in vars(share).items()},
        "within_task_auc": None if ranking.within is None else vars(ranking.within),
        "pooled_auc": ranking.pooled,
        "mixed_tasks": ranking.mixed,
        "mixed_tasks_below_half": ranking.below_half,
        "peak": turn.peak,
        "smallest_not_worse": turn.smallest,
        "fall": None if turn.fall is None else turn.fall.finding.data(),
        "calibration": [{name: _plain(x) for name, x in vars(level).items()} for level in result.calibration],
        "tasks_hurt": result.hurt.tasks,
        "against": [one.finding.data() for one in result.against],
        "power": [{**vars(one), "needed": [list(pair) for pair in one.needed]} for one in result.power],
    }


def _plain(x: Any) -> Any:
    return finite(x) if isinstance(x, float) else x
