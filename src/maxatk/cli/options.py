"""Options that several commands share, and the checks of what they are given."""

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

DEFAULT = "windy_cliff"  # the problem of a command that is given none


def _settings(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` by name: each value in JSON, or else a word."""
    found: dict[str, Any] = {}
    for setting in given:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{checks.shown(setting)} is not of the form NAME=VALUE", ctx, param)
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


def _problem_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What may follow on the command line: instances, or else files."""
    found = [CompletionItem(name) for name in mk.instances.names() if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def examples(*lines: str) -> str:
    """The end of a help text; Click leaves the lines of such a paragraph as they are."""
    return "\n".join(["\b", "Examples:", *(f"  maxatk {line}" for line in lines)])


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Options that several commands share."""

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def _horizon(ctx: click.Context, param: click.Parameter, given: int | None) -> None:
    """``--horizon H`` is short for ``--set horizon=H``."""
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
        help="Steps of a rollout, where the problem leaves them open.",
    ),
)


@dataclass(frozen=True)
class PlanRequest:
    """What a command is asked to plan."""

    title: str  # the problem, in one word
    settings: dict[str, Any]  # arguments of the problem
    k: int
    tol: float | None
    time_limit: float | None  # seconds for all that the command does
    best_so_far: float
    cost: float
    abandon: bool
    save: Path | None  # where the plan is to be written

    def objective(self) -> dict[str, Any]:
        """What :func:`maxatk.solve` takes beside the problem, the number of rollouts and the solver."""
        return {"best_so_far": self.best_so_far, "cost": self.cost, "abandon": self.abandon}


_PLAN_OPTIONS = _options(
    problem_options,
    click.option("-k", type=int, default=5, show_default=True, metavar="K", help="The number of rollouts."),
    click.option("--tol", type=float, metavar="T", help="The width of the interval, in units of the return."),
    click.option(
        "--time-limit",
        type=float,
        callback=_seconds,
        metavar="S",
        help="Seconds for all that the command does; then what is known.",
    ),
    click.option("--best-so-far", type=float, default=-math.inf, metavar="M", help="A return that is in hand already."),
    click.option(
        "--cost", type=float, default=0.0, metavar="C", help="What each rollout costs; the plan then may stop."
    ),
    click.option("--abandon", is_flag=True, help="A rollout may be given up at any step; for use with costs."),
    click.option("--save", type=Path, metavar="PLAN", help="Write the plan and its problem to a file."),
)


def plan_options(function: Callable[..., int]) -> Callable[..., int]:
    """The options of a command that plans, given to ``function`` as one :class:`PlanRequest`."""

    @wraps(function)
    def command(problem: str | None, **given: Any) -> int:
        names = [field.name for field in fields(PlanRequest) if field.name != "title"]
        request = PlanRequest(DEFAULT if problem is None else problem, **{name: given.pop(name) for name in names})
        return function(request, given_problem=problem is not None, **given)

    return _PLAN_OPTIONS(command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def check_outputs(title: str, **outputs: Path | None) -> None:
    """Refuse, before any work, to write where nothing can be written, over the problem, or one thing over another."""
    taken = {Path(title).resolve(): "the problem"} if os.path.isfile(title) else {}  # noqa: PTH113 (never raises)
    for option, path in outputs.items():
        if path is None:
            continue
        archive.check_target(path)
        if path.resolve() in taken:
            raise click.UsageError(f"--{option} {path} would overwrite {taken[path.resolve()]}")
        taken[path.resolve()] = f"what --{option} writes"
