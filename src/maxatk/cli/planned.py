"""Shared by commands that plan: the plan, the comparison with its progress, time limits and the exit code."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import maxatk as mk
from maxatk.base import stopping
from maxatk.base.stopping import Reason, StoppedError
from maxatk.cli.console import Console
from maxatk.cli.options import PlanRequest, check_outputs
from maxatk.cli.streams import complain
from maxatk.comparison.rows import Row
from maxatk.planning import CertifiedPlan
from maxatk.report.tables.comparisons import comparison_note, comparison_rows
from maxatk.report.words import verdict

T = TypeVar("T")


def planned(request: PlanRequest, silent: bool) -> CertifiedPlan:
    """The plan that was requested, saved if that was requested, too."""
    check_outputs(request.title, save=request.save)
    mdp = mk.find_problem(request.title, **request.settings)
    solver = mk.Certified(tol=request.tol)
    plan = mk.solve(mdp, request.k, solver=solver, progress=not (silent or request.quiet), **request.objective())
    assert isinstance(plan, CertifiedPlan)
    if request.save is not None:
        plan.save(request.save, with_problem=True)
    return plan


def exit_code(plan: mk.Plan, save: Path | None) -> int:
    """The exit code of a command that has shown its result."""
    if stopping.current().reason is not Reason.INTERRUPTED:
        return 0
    if plan.status is mk.Status.INTERRUPTED:
        return complain(f"interrupted: the best so far is {f'in {save}' if save else 'shown'}", 130)
    return complain("interrupted: the output is incomplete", 130)


def in_time(missing: str, work: Callable[[], T]) -> T | None:
    """The result of ``work``; None if the command was stopped, after a line that says what is ``missing``."""
    try:
        stopping.check()
        return work()
    except StoppedError as stop:
        if missing and stop.reason is not Reason.INTERRUPTED:
            complain(f"{missing}: {stop.reason}", 0)
        return None


def verdict_in_time(
    plan: CertifiedPlan, contrast: mk.Contrast | None, comparison: mk.Comparison | None = None
) -> list[str]:  # fmt: skip
    """The sentences of the verdict, from what is known in time; none if it is stopped before."""
    try:
        return verdict.sentences(plan, contrast, comparison)
    except StoppedError:
        return []


def compared(
    plan: CertifiedPlan, hidden: bool, quiet: bool, title: str | None = None, widths: Sequence[int] = ()
) -> mk.Comparison:  # fmt: skip
    """The comparison of a plan with classes of policies: a table unless ``hidden``, its progress unless ``quiet``."""
    console, silent = Console(), hidden or quiet
    if not hidden:
        console.print(f"{title}: {plan.mdp!r}\n" if title else "\nWhat simpler policies earn:\n")
    if not silent:
        _passing("evaluating a policy with the best mean; Ctrl-C keeps the rows so far")

    def show(row: Row) -> None:
        if not silent:
            _passing(f"{row.name}: at least {row.lower:.6g}; still searching, Ctrl-C keeps the rows so far")

    comparison = mk.compare(plan.mdp, plan.k, plan=plan, widths=widths, progress=show)
    if not silent:
        _passing("")
    if not hidden:
        console.print(comparison_rows(comparison, comparison.rows))
        console.print(f"\n{comparison_note(comparison)}")
    return comparison


def _passing(line: str) -> None:
    """Show a line of progress on standard error, if it is a terminal; the next one replaces it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
