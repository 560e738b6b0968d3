"""The command line: arguments in, the library's answer out; no logic of its own.

Click does the parsing, the help and the completion: it stands alone, where others bring more packages along.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem, shell_complete

import maxatk as mk
from maxatk.attempts.study.command import attempts
from maxatk.base import archive, checks, stopping
from maxatk.base.findings import Outcome
from maxatk.base.stopping import Reason, StoppedError
from maxatk.comparison.rows import Row
from maxatk.planning import CertifiedPlan
from maxatk.problem import find as problems
from maxatk.show import report, verdict
from maxatk.show.console import Console as _Console
from maxatk.show.console import write_plainly
from maxatk.show.page import prepare

T = TypeVar("T")

DEFAULT = "windy_cliff"
TRIALS = 10_000  # of a table
TRIALS_IN_ENVIRONMENT = 1_000  # which are run step by step


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 if output fails, 2 for bad input, 130 after Ctrl-C."""
    if instruction := os.environ.get("_MAXATK_COMPLETE"):
        return shell_complete(commands, {}, "maxatk", "_MAXATK_COMPLETE", instruction)
    if getattr(sys, "stdout", None) is None:
        return _complain("cannot write: standard output is closed", 1)
    for stream in (sys.stdout, sys.stderr):
        write_plainly(stream)
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        with commands.make_context("maxatk", given) as context:
            code = commands.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:  # help was asked for, and given
        raise SystemExit(end.exit_code) from None
    except click.MissingParameter as error:
        return _complain(f"{error.format_message()} {_example(error.ctx)}", 2)
    except click.ClickException as error:
        return _complain(error.format_message(), 2)
    except mk.MaxAtKError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except SystemError as error:  # compiled code that is interrupted wraps what it was interrupted by
        inner: BaseException | None = error
        while inner is not None and not isinstance(inner, KeyboardInterrupt):
            inner = inner.__cause__ or inner.__context__
        if inner is None:
            raise
        return _complain("interrupted", 130)
    except BrokenPipeError:  # the reader has seen enough; keep Python from complaining at exit
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _complain(f"cannot write: {error.strerror}", 1)
    return code or 0


def _example(ctx: click.Context | None) -> str:
    """The first example of a command, as its help has it."""
    lines = (ctx.command.epilog or "").splitlines() if ctx else []
    return f"For example: {lines[2].strip()}" if len(lines) > 2 else ""


def _complain(message: str, code: int) -> int:
    print(f"maxatk: {' '.join(message.split())}", file=sys.stderr)
    return code


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Commands(click.Group):
    """Commands in the order in which they are met; a name that is nearly right is pointed out."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            close = checks.nearest(name, self.list_commands(ctx))
            known = f"did you mean {close}?" if close else f"the commands are {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"there is no command {checks.shown(name)}: {known}")
        return super().resolve_command(ctx, args)


def _versions(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    """Say what is installed, and end."""
    if asked and not ctx.resilient_parsing:
        from maxatk.show.versions import installed  # nothing else needs it

        click.echo(installed())
        ctx.exit()


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


def _examples(*lines: str) -> str:
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


_problem = _options(
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
_planned = _options(
    _problem,
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
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog='\b\nTab completion: eval "$(_MAXATK_COMPLETE=bash_source maxatk)" in ~/.bashrc; '
    "zsh_source and fish_source\nfor other shells.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_versions,
    help="Show versions: of maxatk and what it needs, extras, compiled loops.",
)  # fmt: skip
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Best-of-K (max@k) decision making: plan and act when only the best of K tries counts."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@commands.command(
    epilog=_examples(
        "solve",
        "solve windy_cliff -k 20 --tol 1e-6 --explain",
        "solve figure1 -k 2 --exact",
        "solve windy_cliff -k 20 --cost 0.5",
        "solve FrozenLake-v1 --horizon 30 --set is_slippery=false --save lake.plan",
    )
)
@_planned
@click.option(
    "--page",
    type=Path,
    metavar="HTML",
    help="Write the plan as a web page of one file (extra page), with a comparison unless --no-compare.",
)
@click.option("--open", "open_page", is_flag=True, help="Show that page in a browser.")
@click.option("--exact", is_flag=True, help="Solve in fractions, and show what the policy does; small problems.")
@click.option("--compare/--no-compare", default=None, help="Show what smaller classes of policies earn.")
@click.option("--explain/--no-explain", default=None, help="Say what the policy does differently on the last try.")
@_json
def solve(
    problem: str | None, settings: dict[str, Any], k: int, tol: float | None,
    time_limit: float | None, best_so_far: float, cost: float, abandon: bool, save: Path | None, page: Path | None,
    open_page: bool, exact: bool, compare: bool | None, explain: bool | None, as_json: bool,
) -> int:  # fmt: skip
    """Plan for the best of K rollouts, to a certified interval.

    The problem is a named instance (`maxatk instances`), a file of `MDP.save`, or the id of a Gymnasium environment
    with a table. Without one, a walk along a windy cliff is planned, compared with simpler policies, and explained.
    """
    title = DEFAULT if problem is None else problem
    tour = problem is None and not exact and not as_json
    on_page = compare is not False  # unless --no-compare
    compare, explain = tour if compare is None else compare, tour if explain is None else explain
    if open_page and page is None:
        raise click.UsageError("--open shows the page that --page writes, so that must be given")
    _check_outputs(title, save=save, page=page)
    began = time.perf_counter()
    if page is not None:
        prepare()
    with stopping.scope(None if time_limit is None else time_limit - (time.perf_counter() - began)):
        if exact:
            for option, given in (("--tol", tol), ("--time-limit", time_limit), ("--save", save)):
                if given is not None:
                    raise click.UsageError(f"{option} is for the certified planner, not for --exact")
            if compare or explain:
                option = "compare" if compare else "explain"
                raise click.UsageError(f"--{option} is for the certified planner, not --exact")
            mdp = mk.find_problem(title, **settings)
            found = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=best_so_far, cost=cost, abandon=abandon)
            _show(as_json, lambda: report.plan_data(found), lambda: report.exact_plan(found, title))
            if page is not None:
                _page(found, page, title, on_page, open_page, as_json)
            return 0
        with stopping.half() if compare or explain or page else nullcontext():
            plan = _plan(title, settings, k, tol, (best_so_far, cost, abandon), save, as_json)
        comparison = words = None
        if explain:
            words = _in_time("no explanation", lambda: mk.contrast(plan))
        if not as_json:
            told = _verdict(plan, words)
            later = compare and told and plan.gain.outcome is Outcome.UNKNOWN  # rows may know more than the plan does
            _Console().print(report.certified_plan(plan, title, [] if later else told))
            if words:
                _Console().print("", report.contrast(words), sep="\n")
            if compare:
                comparison = _in_time("no comparison", lambda: _compared(plan, as_json))
            if later:
                _Console().print("", " ".join(_verdict(plan, words, comparison)), sep="\n", style="bold")
        elif compare:
            comparison = _in_time("no comparison", lambda: _compared(plan, as_json))
        if as_json:
            explained = {"tries": report.contrast_data(words) if words else None} if explain else {}
            compared = {"comparison": report.comparison_data(comparison) if comparison else None} if compare else {}
            print(json.dumps({**report.plan_data(plan, comparison), **explained, **compared}))
        if page is not None:
            shown = comparison or on_page
            _in_time("no page", lambda: _page(plan, page, title, shown, open_page, as_json))
        return _code(plan, save)


@commands.command(epilog=_examples("compare", "compare proposition3 -k 2", "compare Taxi-v4 --horizon 20 -k 3 --json"))
@_planned
@_json
def compare(
    problem: str | None, settings: dict[str, Any], k: int, tol: float | None,
    time_limit: float | None, best_so_far: float, cost: float, abandon: bool, save: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Compare classes of policies.

    What is it worth to adapt to the best return so far, and to that of the present try?
    """
    title = DEFAULT if problem is None else problem
    with stopping.scope(time_limit):
        with stopping.half():
            plan = _plan(title, settings, k, tol, (best_so_far, cost, abandon), save, as_json)
        found = _compared(plan, as_json, title)
        if as_json:
            print(json.dumps({**report.plan_data(plan, found), "comparison": report.comparison_data(found)}))
        return _code(plan, save)


commands.add_command(attempts)


@commands.command(
    epilog=_examples("run cliff.plan", "run lake.plan FrozenLake-v1 --horizon 30 --set is_slippery=false --trials 500")
)
@click.argument("plan_file", metavar="PLAN", type=Path)
@_problem
@click.option("--trials", type=int, metavar="N", help=f"Default: {TRIALS}, or {TRIALS_IN_ENVIRONMENT} with a GYM_ID.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the random numbers.")
@_json
def run(
    plan_file: Path, problem: str | None, settings: dict[str, Any],
    trials: int | None, seed: int, as_json: bool,
) -> int:  # fmt: skip
    """Run a saved plan or a learned policy, and check its certificate.

    A plan is run in the problem that was saved with it, or in the one named, which must be the same; a learned policy
    in the one named. With the id of a Gymnasium environment it is run in that, step by step.
    """
    arena: Any = None
    mdp: mk.MDP | None = None
    if problem is None:
        plan = mk.load_plan(plan_file)
    elif problems.is_environment(problem):
        mdp = mk.find_problem(problem, **settings)
        plan = mk.load_plan(plan_file, mdp)
        arena = problems.find_environment(problem, **{**settings, "horizon": mdp.horizon})
    else:
        mdp = mk.find_problem(problem, **settings)
        plan = mk.load_plan(plan_file, mdp)
    if mdp is None and isinstance(plan, mk.Learned):
        raise mk.InputError(f"{plan_file} holds a learned policy: name the problem that it is to be run in")
    n = trials if trials is not None else TRIALS if arena is None else TRIALS_IN_ENVIRONMENT
    where = arena if arena is not None else plan.mdp if isinstance(plan, CertifiedPlan) else mdp
    found = mk.simulate(where, plan.policy, trials=n, rng=seed, progress=not as_json)
    _show(as_json, lambda: report.simulation_data(plan, found), lambda: report.simulation(plan, found))
    return 0


@commands.command(
    epilog=_examples(
        "learn figure1 -k 2 --epsilon 0.1",
        "learn windy_cliff --horizon 15 -k 2 --epsilon 20 --budget 1000000",
        "learn FrozenLake-v1 --horizon 10 -k 2 --epsilon 0.2 --online --returns 0 1 --budget 100000",
    )
)
@_problem
@click.option("-k", type=int, default=2, show_default=True, metavar="K", help="The number of rollouts.")
@click.option("--epsilon", type=float, required=True, metavar="E", help="The loss allowed, in units of the return.")
@click.option("--delta", type=float, default=0.05, show_default=True, metavar="D", help="The probability of failure.")
@click.option("--uniform", is_flag=True, help="Draw all samples at once, as many of each row as Theorem 4 needs.")
@click.option("--online", is_flag=True, help="Learn by playing alone: states cannot be set, and rollouts run forward.")
@click.option(
    "--explore",
    type=click.Choice(["optimism", "posterior"]),
    default="optimism",
    show_default=True,
    help="How to explore, with --online.",
)
@click.option("--rewards", type=float, nargs=2, metavar="LOW HIGH", help="Bounds on a reward, with --online.")
@click.option("--returns", type=float, nargs=2, metavar="LOW HIGH", help="Bounds on a return, with --online.")
@click.option("--best-so-far", type=float, metavar="M", help="A return in hand, with --online.")
@click.option("--budget", type=int, metavar="N", help="The number of samples at most.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the random numbers.")
@click.option("--checkpoint", type=Path, metavar="FILE", help="Keep the run here, and go on from here.")
@click.option("--save", type=Path, metavar="PLAN", help="Write the policy, with what is certain of it, to a file.")
@_json
def learn(
    problem: str | None, settings: dict[str, Any], k: int, epsilon: float,
    delta: float, uniform: bool, online: bool, explore: Any, rewards: tuple[float, float] | None,
    returns: tuple[float, float] | None, best_so_far: float | None, budget: int | None, seed: int,
    checkpoint: Path | None, save: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Learn a policy from samples, with a guarantee.

    The learner does not see the problem: it may only ask what an action in a state would bring. With --online it may
    not even that: it plays, as a user of any Gymnasium environment with finitely many states would.

    After Ctrl-C the same command goes on where it was, if it has a --checkpoint or a --save: the latter's is kept
    beside the plan, as PLAN.checkpoint, until the plan is there.
    """
    title = DEFAULT if problem is None else problem
    _check_outputs(title, save=save, checkpoint=checkpoint)
    kept = checkpoint or (save.with_name(f"{save.name}.checkpoint") if save else None)
    _check_outputs(title, checkpoint=kept)
    learner: Any = mk.Online(explore) if online else mk.Uniform() if uniform else mk.Adaptive()
    if online and uniform:
        raise mk.InputError("--online and --uniform are two ways to learn: choose one")
    known = {"reward_range": rewards, "return_range": returns, "best_so_far": best_so_far}
    given = {name: value for name, value in known.items() if value is not None}
    if given and not online:
        option = {"reward_range": "--rewards", "return_range": "--returns", "best_so_far": "--best-so-far"}
        raise mk.InputError(f"{option[next(iter(given))]} is for --online alone")
    model: Any = _episodes(title, settings, given) if online else mk.TabularModel(mk.find_problem(title, **settings))
    try:
        found = mk.learn(
            model, k, epsilon=epsilon, delta=delta, learner=learner, budget=budget, rng=seed, checkpoint=kept,
            progress=not as_json,
        )  # fmt: skip
    except KeyboardInterrupt:
        if kept is None or not kept.exists():
            raise
        return _complain(f"interrupted: {kept} holds the run, and the same command goes on", 130)
    if save is not None:
        found.save(save)
        if kept is not None and kept != checkpoint:
            kept.unlink(missing_ok=True)
    _show(as_json, lambda: report.learned_data(found), lambda: report.learned(found, title))
    return 0


def _episodes(title: str, settings: dict[str, Any], known: dict[str, Any]) -> Any:
    """What to play in: an environment as it is, or a table that only runs forward."""
    if problems.is_environment(title):
        return mk.gym.EnvEpisodes(title, **settings, **known)
    episodes: Any = mk.TabularEpisodes(mk.find_problem(title, **settings))
    for name, value in known.items():
        setattr(episodes, name, value)
    return episodes


@commands.command(epilog=_examples("paper --quick", "paper --out results --only theorem1"))
@click.option(
    "--quick",
    is_flag=True,
    help="Smaller versions: about a minute on two idle cores, longer the first time, when loops are compiled.",
)
@click.option(
    "--out", type=Path, default=Path("maxatk-paper"), show_default=True, metavar="DIR", help="Where results go."
)
@click.option("--only", multiple=True, metavar="CLAIM", help="One claim; repeatable.")
def paper(quick: bool, out: Path, only: tuple[str, ...]) -> int:
    """Recompute the claims of the paper, one by one.

    The exit code is 1 if a number is not what it should be.
    """
    from maxatk.paper import reproduce  # nothing else needs it

    found = reproduce(out, quick=quick, only=only, progress=True)
    print(found)
    return 1 if found.failed else 0


@commands.command(epilog=_examples("instances", "solve footnote --set horizon=3"))
@_json
def instances(as_json: bool) -> int:
    """List the named problems and their arguments, for --set."""
    found = mk.instances.described()
    _show(as_json, lambda: found, lambda: report.instances(found))
    return 0


def _plan(
    title: str, settings: dict[str, Any], k: int, tol: float | None, objective: tuple[float, float, bool],
    save: Path | None, quiet: bool,
) -> CertifiedPlan:  # fmt: skip
    """A plan, saved where it is to be."""
    _check_outputs(title, save=save)
    mdp = mk.find_problem(title, **settings)
    best_so_far, cost, abandon = objective
    solver = mk.Certified(tol=tol)
    plan = mk.solve(mdp, k, solver=solver, best_so_far=best_so_far, cost=cost, abandon=abandon, progress=not quiet)
    if save is not None:
        plan.save(save, with_problem=True)
    return plan


def _page(
    plan: mk.Plan, path: Path, title: str, comparison: mk.Comparison | bool, show: bool, quiet: bool
) -> None:  # fmt: skip
    """The page of a plan, in a file and, if asked for, in a browser."""
    plan.page(path, title=title, comparison=comparison, progress=not quiet)
    if not quiet:
        print(f"wrote {path}")
    if show:
        click.launch(path.resolve().as_uri())


def _code(plan: CertifiedPlan, save: Path | None) -> int:
    """The exit code of a command that has shown what it knows."""
    if stopping.current().reason is not Reason.INTERRUPTED:
        return 0
    if plan.status is mk.Status.INTERRUPTED:
        return _complain(f"interrupted: the best so far is {f'in {save}' if save else 'shown'}", 130)
    return _complain("interrupted: what was not done by then is missing", 130)


def _in_time(missing: str, work: Callable[[], T]) -> T | None:
    """What some work gives, or a line that says what is missing, if anything, because the command was stopped."""
    try:
        stopping.check()
        return work()
    except StoppedError as stop:
        if missing and stop.reason is not Reason.INTERRUPTED:
            _complain(f"{missing}: {stop.reason}", 0)
        return None


def _verdict(
    plan: CertifiedPlan, contrast: mk.Contrast | None, comparison: mk.Comparison | None = None
) -> list[str]:  # fmt: skip
    """The verdict, by what is known when the time is up; none after Ctrl-C."""
    try:
        return verdict.sentences(plan, contrast, comparison)
    except StoppedError:
        return []


def _check_outputs(title: str, **outputs: Path | None) -> None:
    """Refuse, before any work, to write where nothing can be written, over the problem, or one thing over another."""
    taken = {Path(title).resolve(): "the problem"} if os.path.isfile(title) else {}  # noqa: PTH113 (never raises)
    for option, path in outputs.items():
        if path is None:
            continue
        archive.check_target(path)
        if path.resolve() in taken:
            raise click.UsageError(f"--{option} {path} would overwrite {taken[path.resolve()]}")
        taken[path.resolve()] = f"what --{option} writes"


def _compared(plan: CertifiedPlan, quiet: bool, title: str | None = None) -> mk.Comparison:
    """Classes of policies beside a plan's; unless it is to be quiet, a table of them."""
    console = _Console()
    if not quiet:
        console.print(f"{title}: {plan.mdp!r}\n" if title else "\nWhat simpler policies earn:\n")
        _passing("evaluating a policy with the best mean; Ctrl-C keeps what is known")

    def show(row: Row) -> None:
        if not quiet:
            _passing(f"{row.name}: at least {row.lower:.6g}; searching on, Ctrl-C keeps what is known")

    found = mk.compare(plan.mdp, plan.k, plan=plan, progress=show)
    if not quiet:
        _passing("")
        console.print(report.comparison_rows(found, found.rows))
        console.print(f"\n{report.comparison_note(found)}")
    return found


def _passing(line: str) -> None:
    """What is being done, on a terminal's standard error, until the next such line takes its place."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _show(as_json: bool, data: Callable[[], Any], table: Callable[[], Any]) -> None:
    if as_json:
        print(json.dumps(data()))
    else:
        _Console().print(table())
