"""The command ``maxatk solve``: a plan, and on request a comparison, an explanation and a page."""

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

import maxatk as mk
from maxatk.base import stopping
from maxatk.base.findings import Outcome
from maxatk.cli.console import Console, show
from maxatk.cli.options import PlanRequest, check_outputs, examples, json_option, plan_options
from maxatk.cli.planned import compared, exit_code, in_time, planned, verdict_in_time
from maxatk.planning import CertifiedPlan
from maxatk.planning.exact import ExactPlan
from maxatk.report.data.plans import comparison_data, contrast_data, plan_data
from maxatk.report.page.file import prepare
from maxatk.report.tables import comparisons, plans
from maxatk.report.tuning import TUNING


@click.command(
    epilog=examples(
        "solve",
        "solve windy_cliff -k 20 --tol 1e-6 --explain",
        "solve figure1 -k 2 --exact",
        "solve windy_cliff -k 20 --cost 0.5",
        "solve windy_cliff -k 12 --width 4",
        "solve FrozenLake-v1 --horizon 30 --set is_slippery=false --save lake.plan",
    )
)
@plan_options
@click.option(
    "--page",
    type=Path,
    metavar="HTML",
    help="Write the plan as a web page of one file (extra page), with a comparison unless --no-compare.",
)
@click.option("--open", "open_page", is_flag=True, help="Show that page in a browser.")
@click.option("--exact", is_flag=True, help="Solve in fractions and show the policy; for small problems.")
@click.option("--compare/--no-compare", default=None, help="Show the values of smaller classes of policies.")
@click.option("--explain/--no-explain", default=None, help="Explain what the policy does differently on the last try.")
@click.option("--width", type=int, metavar="W", help="Run W tries at a time: those of a round do not see each other.")
@click.option("-v", "--verbose", is_flag=True, help="Show bounds by number of tries, and the work of the search.")
@json_option
def solve(
    request: PlanRequest, *, given_problem: bool, page: Path | None, open_page: bool, exact: bool,
    compare: bool | None, explain: bool | None, width: int | None, verbose: bool, as_json: bool,
) -> int:  # fmt: skip
    """Plan for the best of K tries, to a certified interval.

    The problem is a named instance (`maxatk instances`), a file of `MDP.save`, or the id of a Gymnasium environment
    with a table; without one, a walk along a windy cliff. The first screen shows what the plan gains, its first try and
    its last, and the value of every number of tries.
    """
    if open_page and page is None:
        raise click.UsageError("--open shows the page that --page writes: give --page, too")
    check_outputs(request.title, save=request.save, page=page)
    shown = _Shown(
        compare=bool(compare),
        explain=explain,
        verbose=verbose,
        page=page,
        compare_on_page=compare is not False,
        open_page=open_page,
        as_json=as_json,
    )
    began = time.perf_counter()
    if page is not None:
        prepare()  # loading the renderer does not count against the time limit
    limit = request.time_limit
    with stopping.scope(None if limit is None else limit - (time.perf_counter() - began)):
        if exact:
            _refuse_with_exact(request, shown)
        if width is not None:
            return _in_rounds(request, shown, mk.Exact() if exact else mk.Certified(tol=request.tol), width)
        return _exactly(request, shown) if exact else _certified(request, shown)


@dataclass(frozen=True)
class _Shown:
    """What is to be shown of a plan."""

    compare: bool
    explain: bool | None  # None: maps or a table of states, if they can be made quickly
    verbose: bool
    page: Path | None
    compare_on_page: bool
    open_page: bool
    as_json: bool

    def write_page(self, plan: mk.Plan, title: str, comparison: mk.Comparison | None = None) -> None:
        """Write the page of a plan and, if asked for, show it in a browser."""
        assert self.page is not None
        plan.page(self.page, title=title, comparison=comparison or self.compare_on_page, progress=not self.as_json)
        if not self.as_json:
            print(f"wrote {self.page}")
        if self.open_page:
            click.launch(self.page.resolve().as_uri())


def _in_rounds(request: PlanRequest, shown: _Shown, solver: mk.Exact | mk.Certified, width: int) -> int:
    """Plan for rounds of so many tries at a time, and show what they keep."""
    for option, given in (("--compare", shown.compare), ("--explain", shown.explain)):
        if given:
            raise click.UsageError(f"{option} is for tries one after another, not for --width")
    mdp = mk.find_problem(request.title, **request.settings)
    plan = mk.solve(mdp, request.k, solver=solver, width=width, **request.objective())
    if request.save is not None:
        plan.save(request.save, with_problem=True)
    show(shown.as_json, lambda: plan_data(plan), lambda: str(plan))
    if shown.page is not None:
        in_time("no page", lambda: shown.write_page(plan, request.title))
    return exit_code(plan, request.save)


def _exactly(request: PlanRequest, shown: _Shown) -> int:
    """Solve in fractions, and show what the policy does."""
    mdp = mk.find_problem(request.title, **request.settings)
    plan = mk.solve(mdp, request.k, solver=mk.Exact(), **request.objective())
    assert isinstance(plan, ExactPlan)
    show(shown.as_json, lambda: plan_data(plan), lambda: plans.exact_plan(plan, request.title))
    if shown.page is not None:
        shown.write_page(plan, request.title)
    return 0


def _refuse_with_exact(request: PlanRequest, shown: _Shown) -> None:
    """Refuse options that the exact solver does not have."""
    for option, given in (("--tol", request.tol), ("--time-limit", request.time_limit), ("--save", request.save)):
        if given is not None:
            raise click.UsageError(f"{option} is for the certified planner, not for --exact")
    if shown.compare or shown.explain:
        raise click.UsageError(
            f"--{'compare' if shown.compare else 'explain'} is for the certified planner, not --exact"
        )


def _certified(request: PlanRequest, shown: _Shown) -> int:
    """Plan, then show what was requested, as far as the time allows."""
    more = shown.explain is not False and not shown.as_json and not request.quiet
    with stopping.half() if shown.compare or shown.explain or shown.page or more else nullcontext():
        plan = planned(request, shown.as_json)
    compare = partial(in_time, "no comparison", lambda: compared(plan, shown.as_json, request.quiet))
    contrast = None
    if shown.explain:
        contrast = in_time("no explanation", lambda: mk.contrast(plan))
    elif more:
        contrast = in_time("no maps", lambda: mk.contrast(plan) if _quickly_contrasted(plan) else None)
    if shown.as_json:
        comparison = compare() if shown.compare else None
        data = plan_data(plan, comparison)
        if shown.explain:
            data["tries"] = contrast_data(contrast) if contrast else None
        if shown.compare:
            data["comparison"] = comparison_data(comparison) if comparison else None
        print(json.dumps(data))
    else:
        comparison = _printed(plan, request, shown, contrast, compare if shown.compare else None)
    if shown.page is not None:
        in_time("no page", lambda: shown.write_page(plan, request.title, comparison))
    return exit_code(plan, request.save)


def _quickly_contrasted(plan: CertifiedPlan) -> bool:
    """Whether the first screen shows the first try and the last: of small problems in which adapting gains."""
    small = len(plan.mdp.prob) / plan.mdp.n_layers * plan.mdp.horizon <= TUNING.first_screen_work
    return small and plan.k > 1 and plan.gain.outcome is not Outcome.DISPROVED


def _printed(
    plan: CertifiedPlan, request: PlanRequest, shown: _Shown, contrast: mk.Contrast | None,
    compare: Callable[[], mk.Comparison | None] | None,
) -> mk.Comparison | None:  # fmt: skip
    """Print the plan, its verdict and its comparison, and return the comparison for the page."""
    console = Console()
    sentences = verdict_in_time(plan, contrast)
    if request.quiet:
        console.print(" ".join(sentences) or repr(plan))
        return compare() if compare else None
    # A comparison may prove more than the plan alone: then the verdict follows it.
    later = compare is not None and sentences and plan.gain.outcome is Outcome.UNKNOWN
    drawn = None if contrast is None else comparisons.contrast(contrast, in_full=bool(shown.explain))
    console.print(plans.first_screen(plan, request.title, [] if later else sentences, drawn))
    if shown.verbose:
        console.print("", plans.details(plan), sep="\n")
    comparison = compare() if compare else None
    if later:
        console.print("", " ".join(verdict_in_time(plan, contrast, comparison)), sep="\n", style="bold")
    if not (shown.compare or shown.explain or shown.verbose or shown.page):
        console.print("", plans.hints(request.title), sep="\n", style="dim")
    return comparison
