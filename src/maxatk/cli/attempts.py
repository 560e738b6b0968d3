"""The command ``maxatk attempts``: arguments in, a study out; no logic of its own."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import click

from maxatk import attempts as at
from maxatk.base import archive
from maxatk.cli.console import Console
from maxatk.cli.options import quiet_option
from maxatk.cli.streams import complain
from maxatk.report.page.file import require


class _Numbers(click.Command):
    """A command whose ``-k`` takes all numbers that follow: ``-k 1 2 4 8``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        gathered: list[str] = []
        for word in args:
            if (
                gathered
                and re.fullmatch(r"\d+", word)
                and (gathered[-1] == "-k" or re.fullmatch(r"-k[\d,]*", gathered[-1]))
            ):
                gathered[-1] += word if gathered[-1] == "-k" else f",{word}"
            else:
                gathered.append(word)
        return super().parse_args(ctx, gathered)


def _several(ctx: click.Context, param: click.Parameter, given: str | None) -> list[int] | None:
    if given is None:
        return None
    try:
        return [int(word) for word in given.split(",")]
    except ValueError:
        raise click.BadParameter(f"{given!r} is not a list of whole numbers", ctx, param) from None


def _column(name: str, what: str) -> Any:
    return click.option(f"--{name}", metavar="COLUMN", help=what)


@click.command(
    cls=_Numbers,
    epilog="\n".join(
        [
            "\b",
            "Examples:",
            "  maxatk attempts",
            "  maxatk attempts runs.csv -k 1 2 4 8 --price 0.5 --page runs.html",
            "  maxatk attempts runs.jsonl --task question --arm model --score points --budget 0.25",
            "  maxatk attempts logs/ --score includes --arm solver    # a folder of Inspect or of lm_eval",
            "  zcat runs.jsonl.gz | maxatk attempts -",
            "  maxatk attempts runs.csv --judge rm --answer answer",
            "  maxatk attempts runs.csv --width 4            # attempts four at a time",
            "  maxatk attempts --watch runs.db               # a scheduler at work",
        ]
    ),
)
@click.argument("log", required=False, nargs=-1, metavar="[LOG...]", type=click.Path(path_type=Path))
@click.option("-k", "ks", callback=_several, metavar="K ...", help="Numbers of attempts; by default 1, 2, 4, ...")
@click.option("--price", type=float, metavar="P", help="What one unit of cost is worth, in score.")
@click.option("--budget", type=float, metavar="B", help="Instead of a price: the mean cost allowed per task.")
@click.option(
    "--target-score", type=float, metavar="S", help="Instead of both: the mean score to reach at the lowest cost."
)
@click.option("--pass-threshold", type=float, metavar="S", help="The lowest score that passes; by default the highest.")
@click.option("--stop-at", type=float, metavar="S", help="The score at which to stop; chosen by default.")
@click.option(
    "--width",
    "widths",
    type=int,
    multiple=True,
    metavar="W",
    help="Show what it costs to make W attempts at once, and how many rounds that takes; may be repeated.",
)
@click.option("--min-attempts", type=int, default=0, metavar="N", help="Omit tasks with fewer attempts of an arm.")
@click.option("--arms", metavar="A,B", help="Only these arms, separated by commas.")
@_column("task", "The column of tasks [task].")
@_column("arm", "The column of arms [arm].")
@_column("score", "The column of scores, a scorer of Inspect, a metric of lm_eval [score].")
@_column("cost", "The column of costs [cost].")
@_column("seconds", "The column of durations [seconds].")
@_column("attempt", "The column of the numbers of attempts, so that duplicates are refused [attempt].")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="COLUMN",
    help="What a judge gave each attempt; may be repeated. Plans stop and pick by the first.",
)
@_column("answer", "The column of answers, which vote [answer].")
@click.option("--score-range", type=float, nargs=2, metavar="LOW HIGH", help="Range of all scores, for proofs.")
@click.option("--cost-limit", type=float, metavar="C", help="Highest possible cost of an attempt, for proofs.")
@click.option("--missing-score", type=float, metavar="S", help="The score of attempts without one.")
@click.option("--level", type=float, default=0.95, show_default=True, metavar="L", help="Of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the folds of cross-validation.")
@click.option("--all", "every", is_flag=True, help="Show all estimates, differences, strategies and the plan.")
@quiet_option
@click.option("--page", type=Path, metavar="HTML", help="Write a web page of one file (extra page).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--watch", metavar="RUNS", help="Show the progress of a scheduler, by its file or postgresql://...")
def attempts(
    log: tuple[Path, ...], ks: list[int] | None, price: float | None, budget: float | None, target_score: float | None,
    pass_threshold: float | None, stop_at: float | None, min_attempts: int, arms: str | None, task: str | None,
    arm: str | None, score: str | None, cost: str | None, seconds: str | None, attempt: str | None,
    score_range: tuple[float, float] | None, cost_limit: float | None, missing_score: float | None, level: float,
    seed: int, judges: tuple[str, ...], answer: str | None, widths: tuple[int, ...],
    every: bool, quiet: bool, page: Path | None, as_json: bool, watch: str | None,
) -> int:  # fmt: skip
    """Estimates from a log of attempts, and what to try next.

    LOG is CSV, JSON lines, Parquet or Arrow, a log of Inspect or samples of lm_eval, with a task, an arm, a score and a
    cost for every attempt; also compressed, a folder or pattern of such files, or - for standard input. Prints curves
    of the best of k with intervals over tasks, differences between arms, the frontier of score and cost, and which arm
    to try next until when, with score and cost on held-out tasks.

    With --judge the score is the truth, which is not seen at run time: attempts are stopped and picked by the judge.
    Prints what each judge is good for, and a plan that it decides, all scored by the truth.

    Without a LOG it reads the example log: restarts of five solvers on 120 functions, cost in seconds; with --judge
    judge, solutions of GPQA with a verifier.
    """
    if watch is not None:
        from maxatk.cli.watch import watch as watched

        return watched(watch, as_json)
    if page is not None:
        require()
        archive.check_target(page)
        if page.resolve() in {path.resolve() for path in log}:
            raise click.UsageError(f"--page {page} would overwrite the log")
    columns: dict[str, Any] = {"task": task, "arm": arm, "score": score, "cost": cost, "seconds": seconds}
    columns |= {"attempt": attempt, "judge": list(judges) or None, "answer": answer}
    given = {name: column for name, column in columns.items() if column is not None}
    if log:
        options: dict[str, Any] = {"score_range": score_range, "cost_limit": cost_limit, "missing_score": missing_score}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", at.AttemptsWarning)
            chosen = at.read_log(list(log), **given, **options)
        for warning in caught:
            complain(str(warning.message), 0)
    else:
        chosen = at.example_judged_log() if judges else at.example_log()
    if arms is not None or min_attempts:
        some = None if arms is None else [name.strip() for name in arms.split(",")]
        chosen = chosen.select(arms=some, min_attempts=min_attempts)
    study = at.study(
        chosen,
        ks,
        price=price,
        budget=budget,
        target_score=target_score,
        pass_threshold=pass_threshold,
        stop_at=stop_at,
        level=level,
        rng=seed,
        progress=not quiet,
        judge=next(iter(judges), None),
        widths=list(widths) or None,
    )
    if as_json:
        print(json.dumps(study.data(), allow_nan=False))
    else:
        Console().print(" ".join(study.advice) if quiet else study.show(every))
    if page is not None:
        example = "64 solutions of each of 64 questions" if judges else "Restarts of five solvers"
        title = example if not log else ", ".join(path.name for path in log)
        study.page(page, title=title)
    return 0
