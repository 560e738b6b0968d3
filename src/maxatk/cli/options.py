"""Options that several commands share, with their checks."""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import maxatk as mk
from maxatk.base import archive, checks

DEFAULT = "windy_cliff"  # the problem of a command without one


def _settings(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> dict[str, Any]:
    """The values of ``NAME=VALUE`` by name: each is read as JSON, or else taken as a string."""
    settings: dict[str, Any] = {}
    for setting in given:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{checks.shown(setting)} is not of the form NAME=VALUE", ctx, param)
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = text
    return settings


def _problem_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions of a problem: names of instances, or else files."""
    names = [CompletionItem(name) for name in mk.instances.names() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def examples(*lines: str) -> str:
    """The examples at the end of a help text, in a paragraph that Click does not rewrap."""
    return "\n".join(["\b", "Examples:", *(f"  maxatk {line}" for line in lines)])


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that adds several options to a command."""

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def _horizon(ctx: click.Context, param: click.Parameter, given: int | None) -> None:
    """Treat ``--horizon H`` as ``--set horizon=H``."""
    if given is not None:
        ctx.params.setdefault("settings", {})["horizon"] = given


def _seconds(ctx: click.Context, param: click.Parameter, given: float | None) -> float | None:
    if given is not None and checks.exact_number(given, "--time-limit") < 0:
        raise click.BadParameter(f"must not be negative, but is {given:g}", ctx, param)
    return given


problem_options = _options(
    click.argument("problem", required=False, metavar="[NAME|FILE|GYM_ID]", shell_complete=_problem_names),
    click.option(
        "--set",
        "settings",
        callback=_settings,
        multiple=True,
        is_eager=True,
        metavar="NAME=VALUE",
        help="An argument of the problem; repeatable.",
    ),
    click.option(
        "--horizon",
        type=int,
        callback=_horizon,
        expose_value=False,
        metavar="H",
        help="The number of steps of a try, if the problem does not fix it.",
    ),
)


@dataclass(frozen=True)
class PlanRequest:
    """The arguments of a command that plans."""

    title: str  # the problem, in one word
    settings: dict[str, Any]  # arguments of the problem
    k: int
    tol: float | None
    time_limit: float | None  # seconds for the whole command
    best_so_far: float
    cost: float
    abandon: bool
    save: Path | None  # the file to write the plan to
    quiet: bool  # whether the result alone is printed, without progress

    def objective(self) -> dict[str, Any]:
        """The keywords of :func:`maxatk.solve` that describe the objective, apart from ``k``."""
        return {"best_so_far": self.best_so_far, "cost": self.cost, "abandon": self.abandon}


_PLAN_OPTIONS = _options(
    problem_options,
    click.option("-k", type=int, default=5, show_default=True, metavar="K", help="The number of tries."),
    click.option("--tol", type=float, metavar="T", help="The width of the interval, in units of the return."),
    click.option(
        "--time-limit",
        type=float,
        callback=_seconds,
        metavar="S",
        help="Seconds for the whole command; what is known by then is shown.",
    ),
    click.option("--best-so-far", type=float, default=-math.inf, metavar="M", help="A best return before the first."),
    click.option("--cost", type=float, default=0.0, metavar="C", help="The cost of each try; the plan may stop."),
    click.option("--abandon", is_flag=True, help="A try may be abandoned at any step; for use with costs."),
    click.option("--save", type=Path, metavar="PLAN", help="Write the plan and its problem to a file."),
    click.option("-q", "--quiet", is_flag=True, help="Print the result alone, without progress."),
)


def plan_options(function: Callable[..., int]) -> Callable[..., int]:
    """A decorator for commands that plan: it passes their options as one :class:`PlanRequest`."""

    @wraps(function)
    def command(problem: str | None, **given: Any) -> int:
        names = [field.name for field in fields(PlanRequest) if field.name != "title"]
        request = PlanRequest(DEFAULT if problem is None else problem, **{name: given.pop(name) for name in names})
        return function(request, given_problem=problem is not None, **given)

    return _PLAN_OPTIONS(command)


quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print the result alone, without progress.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def check_outputs(title: str, **outputs: Path | None) -> None:
    """Raise an error, before any work, if an output cannot be written or would overwrite the problem or another."""
    taken = {Path(title).resolve(): "the problem"} if os.path.isfile(title) else {}  # noqa: PTH113 (never raises)
    for option, path in outputs.items():
        if path is None:
            continue
        archive.check_target(path)
        if path.resolve() in taken:
            raise click.UsageError(f"--{option} {path} would overwrite {taken[path.resolve()]}")
        taken[path.resolve()] = f"the output of --{option}"
