"""A plan as a web page.

Python computes everything on the page: numbers, charts (``charts.py``) and the actions of the policy at many moments
(``moments.py``). The scripts beside this file only select and show them.
"""

import base64
import copy
import itertools
import math
import re
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from maxatk.base import archive, stopping
from maxatk.base.checks import is_list, name_of, shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Outcome
from maxatk.base.progress import reporter
from maxatk.base.stopping import StoppedError
from maxatk.base.text import at_least, at_most, finite
from maxatk.comparison.compare import compare
from maxatk.comparison.contrast import Contrast, contrast, return_to_exceed
from maxatk.comparison.results import Comparison
from maxatk.evaluation.trials import TrialStep
from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.plan import Plan
from maxatk.policies import ABANDON
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.grid import CellGrid, find_grid
from maxatk.problem.mdp import MDP
from maxatk.report import views
from maxatk.report.page import file, graph
from maxatk.report.page.boards import boards
from maxatk.report.page.moments import ANY, Count, ask, frame, passed_over, sample_trials, story
from maxatk.report.page.sheets import find_sheets
from maxatk.report.palette import action_colours
from maxatk.report.tables import plans as tables
from maxatk.report.tables.comparisons import share_of, tries_of
from maxatk.report.template import Html, in_script, minus, part, render
from maxatk.report.words import contrasts, verdict

HERE = "maxatk.report.page"  # where its parts are
POINTS = 61  # of each curve
SCRIPTS = ("moments.js", "shower.js", "player.js", "page.js")

Names: TypeAlias = Sequence[str] | Callable[[int], str] | None
PageMaker: TypeAlias = Callable[[Plan, str | None, Comparison | bool, Callable[[str], None]], str]


def write(
    plan: Plan,
    path: str | PathLike[str],
    title: str | None = None,
    comparison: Comparison | bool = True,
    names: Names = None,
    progress: bool | Callable[[str], None] = False,
    make: PageMaker | None = None,
) -> None:
    """Write the page of a plan to ``path`` atomically: as ``make`` has it, by default :func:`page`."""
    if plan.objective.utility is not None:
        raise InputError("page: a plan for a utility has no page: pages show the best return")
    file.require()
    archive.check_target(path)
    plan = renamed(plan, names)
    with reporter(progress, "writing the page", lambda part: f"writing the page: {part}") as tell:
        text = (make or page)(plan, title, comparison, tell or (lambda part: None))
    file.save(text, path)


def renamed(plan: Plan, names: Names) -> Plan:
    """The plan with other names for its states."""
    if names is None:
        return plan
    count = plan.mdp.n_states
    given = [names(s) for s in range(count)] if callable(names) else names
    if not is_list(given) or len(given) != count or not all(isinstance(name, str) for name in given):
        raise InputError(f"names must be {count} strings, one for each state, or a function that gives them")
    twin, named = copy.copy(plan), copy.copy(plan.mdp)
    object.__setattr__(named, "state_names", tuple(given))
    object.__setattr__(twin, "problem", DecisionProblem(named, plan.objective))
    return twin


def page(plan: Plan, title: str | None, comparison: Comparison | bool, tell: Callable[[str], None]) -> str:
    """The page as text; ``tell`` is called with the part that is being computed."""
    from maxatk.report.page import charts

    tell("the curves")
    curves = views.curves(plan, POINTS)
    drawn = {"curves": charts.curves(curves)}
    tell("simpler policies")
    compared, refused = _compared(plan, comparison, tell)
    if compared and any(compared.share(row) is not None for row in compared.rows):  # otherwise the chart would be empty
        drawn["comparison"] = charts.comparison(views.classes(compared))
    in_rounds = views.by_rounds(compared) if compared else None
    if in_rounds is not None:
        drawn["rounds"] = charts.by_rounds(in_rounds)
    tell("what the plan does")
    grid = _grid(plan.mdp)
    tries, words = _words(plan)
    rows = views.listed(views.panels(tries)) if tries and not grid else []
    actions = [_action(plan.mdp, a, grid) for a in range(plan.mdp.n_actions)]
    actions += ["give up"] if plan.problem.may_abandon else []
    sizes = {"k": plan.k, "horizon": plan.mdp.horizon, "n_states": plan.mdp.n_states, "n_actions": plan.mdp.n_actions}
    stop_at = float(plan.stop_at) if plan.stop_at < math.inf else None
    data: dict[str, Any] = {"problem": {**sizes, "actions": actions, "stop_at": stop_at}, "charts": drawn}
    try:
        data |= _moments(plan, grid, actions, drawn)
        sheets = None if grid else find_sheets(plan.mdp)
        drawing = None if grid or sheets else _graph(plan.mdp, data)
        if sheets:
            data["sheets"] = sheets.data()
        silent = ""
    except (TooLargeError, StoppedError) as error:
        silent, drawing, sheets = str(error), None, None
    return render(
        part(HERE, "plan.html"),
        plan=plan,
        minus=minus,
        title=title or f"Best of {plan.k}",
        nothing=plan.best_so_far == -math.inf,
        rollouts=tables.tries(plan),
        interval=tables.interval(plan),
        decimals=tables.decimals(plan),
        at_least=at_least,
        at_most=at_most,
        comparison=compared,
        refused=refused,
        silent=silent,
        verdict=[_marked(sentence) for sentence in _verdict(plan, tries, compared)],
        words=words,
        boards=boards(tries, grid, data.get("colours") or action_colours(actions)) if tries else [],
        listed=rows,
        colours=data.get("colours", []),
        inks=data.get("inks", []),
        short=_gains_nothing(plan, compared),
        made=file.made_by(_call(plan)),
        home=file.home(),
        actions=actions,
        state_names=_names(plan.mdp, {row.state for row in rows}),
        drawn=drawn,
        left_out=curves.note,
        priced=plan.stop_at < math.inf,
        stopping=verdict.stopping(plan),
        share_of=share_of,
        tries_of=tries_of,
        grid="grid" in drawn,
        graph=drawing,
        sheets=sheets,
        trials=len(data.get("trials", [])),
        style=Html(part(HERE, "page.css")),
        script=Html("\n".join(part(HERE, name) for name in SCRIPTS)),
        vega=Html(file.vega()),
        data=in_script(data),
    )


def _compared(plan: Plan, given: Comparison | bool, tell: Callable[[str], None]) -> tuple[Comparison | None, str]:
    """The comparison of classes of policies with the plan, or the reason why there is none."""
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


def _gains_nothing(plan: Plan, compared: Comparison | None) -> bool:
    """Whether it is proved that adapting gains nothing, so that most of the page is about nothing, and is folded."""
    try:
        gain = compared.gain if compared else plan.gain
    except StoppedError:
        return False
    return gain.outcome is Outcome.DISPROVED and plan.stop_at == math.inf


def _call(plan: Plan) -> str:
    """The call that makes such a page."""
    given = [f"k={plan.k}"]
    if plan.best_so_far > -math.inf:
        given.append(f"best_so_far={float(plan.best_so_far):g}")
    if plan.objective.cost:
        given.append(f"cost={float(plan.objective.cost):g}")
    if plan.objective.abandon:
        given.append("abandon=True")
    arguments = ", ".join(given)
    return f'mk.solve(problem, {arguments}).page("page.html")'


def _grid(mdp: MDP) -> CellGrid | None:
    try:
        return find_grid(mdp)
    except InputError:
        return None


def _action(mdp: MDP, action: int, grid: CellGrid | None) -> str:
    name = grid.action_name(mdp, action) if grid else name_of(mdp.action_names, action)
    return name if name != str(action) else f"action {action}"


def _names(mdp: MDP, states: set[int]) -> dict[int, str]:
    """The names of the states that the page shows; there may be millions of others."""
    return {s: mdp.state_names[s] if mdp.state_names else f"state {s}" for s in sorted(states)}


def _moments(plan: Plan, grid: CellGrid | None, actions: list[str], drawn: dict[str, Any]) -> dict[str, Any]:
    """What the plan does at many moments, and trials of it; their charts are added to ``drawn``."""
    from maxatk.report.page import charts

    count, trials = Count(plan), sample_trials(plan)
    asked = ask(plan, count, trials, views.range_of_interest(plan)[0])
    taken = np.concatenate([some.ravel() for some in asked.actions])
    gives_up = plan.problem.may_abandon
    often = np.bincount(taken[taken != ANY], minlength=plan.mdp.n_actions + gives_up)
    colours = action_colours(actions, often.tolist())
    drawn["map"] = charts.action_map(colours)

    @cache
    def negligible(rollout: int, best: float) -> float:
        return return_to_exceed(plan, rollout, best)

    data: dict[str, Any] = {
        "colours": colours,
        "inks": charts.inks(colours),
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
        "trials": [
            [
                [*frame(plan, count, taken), idle, _stepped(grid, taken, after)]
                for taken, idle, after in itertools.zip_longest(
                    trial, passed_over(plan.mdp, trial, negligible), trial[1:]
                )
            ]
            for trial in trials
        ],
        "story": story(trials),
        "states": _names(plan.mdp, {*asked.state, *(taken.state for trial in trials for taken in trial)}),
    }
    if grid:
        drawn["grid"] = charts.grid(grid, plan.mdp.start_state.tolist(), colours)
        towards = [*grid.towards.round(6).tolist(), *([[0.0, 0.0]] if gives_up else [])]
        data["grid"] = {"rows": grid.rows, "columns": grid.columns, "towards": towards, "goals": sorted(grid.goals)}
    return data


def _graph(mdp: MDP, data: dict[str, Any]) -> Html | None:
    """The graph of states, for problems without a grid; None if not all states are shown."""
    if not data["moments"]["all"]:
        return None
    first: dict[int, int] = {}
    for h, s in zip(data["moments"]["step"], data["moments"]["state"], strict=True):
        first[s] = min(h, first.get(s, h))
    return graph.graph(mdp, first, data["states"])


def _packed(values: Any, kind: str) -> str:
    """An array as compressed text."""
    return base64.b64encode(zlib.compress(values.astype(kind).tobytes(), 9)).decode()


def _stepped(grid: CellGrid | None, taken: TrialStep, after: TrialStep | None) -> int | None:
    """The goal or hazard that a step entered, if that is not the state after it."""
    if grid is None or taken.action == ABANDON:
        return None
    return grid.stepped_into(taken.state, taken.action, None if taken.over or after is None else after.state)


def _words(plan: Plan) -> tuple[Contrast | None, list[str]]:
    try:
        tries = contrast(plan)
        told = "\n".join(contrasts.sentences(tries, most=6)).replace("\n  ", " ")  # a line for each try
        return tries, told.split("\n")
    except (TooLargeError, StoppedError) as error:
        return None, [f"Not shown: {error}."]


def _marked(sentence: str) -> Html:
    """A sentence with the value after its first colon highlighted."""
    kind = "plan" if sentence.startswith("Planning") else "mean"
    text = escape(minus(sentence), quote=False)
    return Html(
        re.sub(r"(?<=: )((?:at least |between )?)(−?\d[\d.]*\d|\d)", rf'\1<b class="{kind}">\2</b>', text, count=1)
    )


def _verdict(plan: Plan, tries: Contrast | None, compared: Comparison | None) -> list[str]:
    try:
        return verdict.sentences(plan, tries, compared)
    except StoppedError:
        return []
