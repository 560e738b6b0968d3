"""The command line: arguments in, the library's answer out; no logic of its own."""

import argparse
import os
import sys
from collections.abc import Sequence

from rich.console import Console

import maxatk as mk
from maxatk import report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 if output fails, 2 for bad input, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="maxatk", description="Best-of-K (max@k) decision making.")
    parser.add_argument("--version", action="version", version=f"maxatk {mk.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    solve = commands.add_parser(
        "solve",
        help="plan for the best of k rollouts",
        description="Plan for the best of k rollouts of a named problem, to a certified interval.",
        epilog="examples: maxatk solve; maxatk solve windy_cliff -k 20 --tol 1e-6; maxatk solve figure1 -k 2 --exact",
    )
    solve.add_argument("name", nargs="?", default="windy_cliff", help="a named problem (default: windy_cliff)")
    solve.add_argument("-k", type=int, default=5, help="the number of rollouts (default: 5)")
    how = solve.add_mutually_exclusive_group()
    how.add_argument("--tol", type=float, help="the width of the interval, in units of the return")
    how.add_argument("--exact", action="store_true", help="solve in fractions, and show what the policy does")
    solve.set_defaults(run=_solve)
    paper = commands.add_parser(
        "paper",
        help="recompute the paper and write a report",
        description="Recompute every claim of the paper and write report.html, results.json and the figures.",
        epilog="examples: maxatk paper --quick; maxatk paper --only theorem1 --out theorem1",
    )
    paper.add_argument("--quick", action="store_true", help="compute less: under two minutes, not up to an hour")
    paper.add_argument("--out", default="maxatk-paper", metavar="DIR", help="where to write (default: maxatk-paper)")
    paper.add_argument("--only", action="append", default=[], metavar="CLAIM", help="a claim, such as theorem1")
    paper.set_defaults(run=_paper)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except mk.MaxAtKError as error:
        print(f"maxatk: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("maxatk: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has seen enough; keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"maxatk: cannot write: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


class _Console(Console):
    """A console that takes names as they are and leaves a closed pipe to :func:`main`."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False)

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: let it pass."""
        raise BrokenPipeError


def _solve(options: argparse.Namespace) -> None:
    mdp = mk.instances.make(options.name)
    if options.exact:
        found = report.exact_plan(mk.solve(mdp, options.k, solver=mk.Exact()), options.name)
    else:
        plan = mk.solve(mdp, options.k, solver=mk.Certified(tol=options.tol), progress=True)
        found = report.certified_plan(plan, options.name)
    _Console().print(found)


def _paper(options: argparse.Namespace) -> None:
    from maxatk.paper import reproduce

    found = reproduce(options.out, quick=options.quick, only=options.only, progress=True)
    _Console().print(str(found))
    if found.failed:
        raise mk.MaxAtKError(f"{len(found.failed)} checks fail, first: {found.failed[0].what}")
