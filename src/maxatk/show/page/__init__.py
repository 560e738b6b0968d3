"""A plan as a web page: one file that needs nothing else, neither other files nor a network (extra ``page``).

Python says everything that the page knows: numbers, charts (``charts.py``) and what the policy does at a great many
moments (``moments.py``). The script in ``page.js`` only picks one of them and shows it.
"""

import base64
import math
import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from maxatk.base import archive, stopping
from maxatk.base.checks import name_of, shown
from maxatk.base.errors import InputError, MissingExtraError, TooLargeError
from maxatk.base.stopping import StoppedError
from maxatk.comparison.compare import Comparison, compare
from maxatk.comparison.contrast import contrast
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.plan import Plan
from maxatk.problem.mdp import MDP
from maxatk.show import report, views
from maxatk.show.bounds import at_least, at_most
from maxatk.show.grid import CellGrid, find_grid
from maxatk.show.page.moments import ANY, Count, ask, finite, frame, sample_trials
from maxatk.show.progress import reporter
from maxatk.show.template import Html, in_script, minus, part, render

POINTS = 61  # of each curve


def require() -> None:
    """Refuse, before long work, to make a page without what draws it."""
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            import_module(name)
        except ImportError:
            raise MissingExtraError(f"pages need {name}, which is not installed: pip install 'maxatk[page]'") from None


def prepare() -> None:
    """Load what draws pages ahead of long work: it takes a second or two, and may be missing."""
    require()
    vega()


def write(
    plan: Plan,
    path: str | PathLike[str],
    title: str | None = None,
    comparison: Comparison | bool = True,
    progress: bool | Callable[[str], None] = False,
) -> None:
    """Write the page of a plan to ``path``, whole or not at all."""
    require()
    archive.check_target(path)
    with reporter(progress, "writing the page", lambda part: f"writing the page: {part}") as tell:
        text = page(plan, title, comparison, tell or (lambda part: None))
    save(text, path)


def save(text: str, path: str | PathLike[str]) -> None:
    """Write a page, whole or not at all."""
    try:
        with archive.atomic_write(Path(path)) as file:
            file.write(text.encode(errors="replace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def page(plan: Plan, title: str | None, comparison: Comparison | bool, tell: Callable[[str], None]) -> str:
    """The page as text; ``tell`` is told which part of it is at work."""
    from maxatk.show.page import charts

    tell("the curves")
    drawn = {"curves": charts.curves(views.curves(plan, POINTS))}
    tell("simpler policies")
    compared, refused = _compared(plan, comparison, tell)
    if compared:
        drawn["comparison"] = charts.comparison(views.classes(compared))
    tell("what the plan does")
    grid = _grid(plan.mdp)
    actions = [_action(plan.mdp, a, grid) for a in range(plan.mdp.n_actions)]
    actions += ["give up"] if plan.objective.gives_up(plan.mdp) else []
    sizes = {"k": plan.k, "horizon": plan.mdp.horizon, "n_states": plan.mdp.n_states, "n_actions": plan.mdp.n_actions}
    data: dict[str, Any] = {"problem": {**sizes, "actions": actions}, "charts": drawn}
    try:
        data |= _moments(plan, grid, drawn)
        silent = ""
    except (TooLargeError, StoppedError) as error:
        silent = str(error)
    return render(
        part(__name__, "page.html"),
        plan=plan,
        minus=minus,
        title=title or f"Best of {plan.k}",
        nothing=plan.best_so_far == -math.inf,
        rollouts=report.tries(plan),
        interval=report.interval(plan),
        decimals=report.decimals(plan),
        at_least=at_least,
        at_most=at_most,
        comparison=compared,
        refused=refused,
        silent=silent,
        words=_words(plan),
        priced=plan.stop_at < math.inf,
        stopping=report.stopping_words(plan),
        tries_of=report.tries_of,
        grid="grid" in drawn,
        trials=len(data.get("trials", [])),
        style=Html(part(__name__, "page.css")),
        script=Html(part(__name__, "page.js")),
        vega=Html(vega()),
        data=in_script(data),
    )


@cache
def vega() -> str:
    """The chart library itself, in the version that Altair wrote the charts for."""
    import altair
    import vl_convert

    converter: Any = vl_convert
    return converter.javascript_bundle(vl_version=".".join(altair.SCHEMA_VERSION.split(".")[:2]))


def _compared(plan: Plan, given: Comparison | bool, tell: Callable[[str], None]) -> tuple[Comparison | None, str]:
    """Classes of policies beside the plan, or why there are none."""
    if isinstance(given, Comparison):
        if given.mdp != plan.mdp or given.plan.objective != plan.objective:
            raise InputError("the comparison is of another problem, or for another k, incumbent or cost")
        return given, ""
    if not isinstance(given, bool):
        raise InputError(f"comparison must be one of mk.compare, or true or false, not {shown(given)}")
    if not given:
        return None, "it was not asked for"
    mine: dict[str, Any] = {"plan": plan}
    if not isinstance(plan, CertifiedPlan):
        objective = plan.objective
        mine = {"best_so_far": plan.best_so_far, "cost": objective.cost, "abandon": objective.abandon}
    try:
        with stopping.half():
            return compare(
                plan.mdp, plan.k, progress=lambda row: tell(f"simpler policies, {row.name} done"), **mine
            ), ""
    except TooLargeError as error:
        return None, str(error)


def _grid(mdp: MDP) -> CellGrid | None:
    try:
        return find_grid(mdp)
    except InputError:
        return None


def _action(mdp: MDP, action: int, grid: CellGrid | None) -> str:
    name = grid.action_name(mdp, action) if grid else name_of(mdp.action_names, action)
    return name if name != str(action) else f"action {action}"


def _names(mdp: MDP, states: set[int]) -> dict[int, str]:
    """The names of those states that the page shows: there may be millions of others."""
    return {s: mdp.state_names[s] if mdp.state_names else f"state {s}" for s in sorted(states)}


def _moments(plan: Plan, grid: CellGrid | None, drawn: dict[str, Any]) -> dict[str, Any]:
    """What the plan does when, and trials of it; adds the charts that show them."""
    from maxatk.show.page import charts

    count, trials = Count(plan), sample_trials(plan)
    asked = ask(plan, count, trials, views.range_of_interest(plan)[0])
    taken = np.concatenate([some.ravel() for some in asked.actions])
    gives_up = plan.objective.gives_up(plan.mdp)
    often = np.bincount(taken[taken != ANY], minlength=plan.mdp.n_actions + gives_up)
    colours = charts.colours(often)
    drawn["map"] = charts.action_map(colours)
    data: dict[str, Any] = {
        "colours": colours,
        "moments": {
            "rollouts": asked.rollouts,
            "bests": [finite(m) for m in asked.bests.tolist()],
            "step": asked.step,
            "state": asked.state,
            "counts": [len(returns) for returns in asked.returns],
            "returns": _packed(np.concatenate(asked.returns), "<f8"),
            "actions": _packed(taken, "<u2"),
            "any": ANY,
            "all": asked.all_places,
            "rounds": count.rounds,
        },
        "trials": [[frame(plan, count, taken) for taken in trial] for trial in trials],
        "states": _names(plan.mdp, {*asked.state, *(taken.state for trial in trials for taken in trial)}),
    }
    if grid:
        drawn["grid"] = charts.grid(grid, plan.mdp.start_state.tolist(), colours)
        towards = [*grid.towards.round(6).tolist(), *([[0.0, 0.0]] if gives_up else [])]
        data["grid"] = {"rows": grid.rows, "columns": grid.columns, "towards": towards}
    return data


def _packed(values: Any, kind: str) -> str:
    """An array, compressed, as text."""
    return base64.b64encode(zlib.compress(values.astype(kind).tobytes(), 9)).decode()


def _words(plan: Plan) -> list[str]:
    try:
        return contrast(plan).sentences(most=6)
    except (TooLargeError, StoppedError) as error:
        return [f"Not told: {error}."]
