"""The command ``maxatk learn``: a policy from samples."""

from pathlib import Path
from typing import Any

import click

import maxatk as mk
from maxatk.cli.console import show
from maxatk.cli.options import DEFAULT, check_outputs, examples, json_option, problem_options, quiet_option
from maxatk.cli.streams import complain
from maxatk.problem import find as problems
from maxatk.report.data.plans import learned_data
from maxatk.report.tables import plans


@click.command(
    epilog=examples(
        "learn figure1 -k 2 --epsilon 0.1",
        "learn windy_cliff --horizon 15 -k 2 --epsilon 20 --budget 1000000",
        "learn FrozenLake-v1 --horizon 10 -k 2 --epsilon 0.2 --online --returns 0 1 --budget 100000",
    )
)
@problem_options
@click.option("-k", type=int, default=2, show_default=True, metavar="K", help="The number of tries.")
@click.option("--epsilon", type=float, required=True, metavar="E", help="The loss allowed, in units of the return.")
@click.option("--delta", type=float, default=0.05, show_default=True, metavar="D", help="The probability of failure.")
@click.option("--uniform", is_flag=True, help="Draw all samples at once, as many of each row as Theorem 4 needs.")
@click.option("--online", is_flag=True, help="Learn by playing alone: states cannot be set, and tries run forward.")
@click.option(
    "--explore",
    type=click.Choice(["optimism", "posterior"]),
    default="optimism",
    show_default=True,
    help="How to explore, with --online.",
)
@click.option("--rewards", type=float, nargs=2, metavar="LOW HIGH", help="Bounds on a reward, with --online.")
@click.option("--returns", type=float, nargs=2, metavar="LOW HIGH", help="Bounds on a return, with --online.")
@click.option("--best-so-far", type=float, metavar="M", help="A best return before the first try, with --online.")
@click.option("--budget", type=int, metavar="N", help="The maximal number of samples.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the random numbers.")
@click.option("--checkpoint", type=Path, metavar="FILE", help="Save the run here, and resume it from here.")
@click.option("--save", type=Path, metavar="PLAN", help="Write the policy, with its bounds, to a file.")
@quiet_option
@json_option
def learn(
    problem: str | None, settings: dict[str, Any], k: int, epsilon: float,
    delta: float, uniform: bool, online: bool, explore: Any, rewards: tuple[float, float] | None,
    returns: tuple[float, float] | None, best_so_far: float | None, budget: int | None, seed: int,
    checkpoint: Path | None, save: Path | None, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    """Learn a policy from samples, with a guarantee.

    The learner does not see the problem: it can only sample outcomes of an action in a state. With --online it
    cannot query states at all: it only plays episodes, so any Gymnasium environment with finitely many states will do.

    After Ctrl-C the same command resumes the run if it has a --checkpoint or a --save: the latter keeps a checkpoint
    beside the plan, as PLAN.checkpoint, until the plan is written.
    """
    title = DEFAULT if problem is None else problem
    check_outputs(title, save=save, checkpoint=checkpoint)
    kept = checkpoint or (save.with_name(f"{save.name}.checkpoint") if save else None)
    check_outputs(title, checkpoint=kept)
    learner: Any = mk.Online(explore) if online else mk.Uniform() if uniform else mk.Adaptive()
    if online and uniform:
        raise mk.InputError("--online and --uniform exclude each other: choose one")
    known = {"reward_range": rewards, "return_range": returns, "best_so_far": best_so_far}
    given = {name: value for name, value in known.items() if value is not None}
    if given and not online:
        option = {"reward_range": "--rewards", "return_range": "--returns", "best_so_far": "--best-so-far"}
        raise mk.InputError(f"{option[next(iter(given))]} needs --online")
    model: Any = _episodes(title, settings, given) if online else mk.TabularModel(mk.find_problem(title, **settings))
    try:
        learned = mk.learn(
            model, k, epsilon=epsilon, delta=delta, learner=learner, budget=budget, rng=seed, checkpoint=kept,
            progress=not (as_json or quiet),
        )  # fmt: skip
    except KeyboardInterrupt:
        if kept is None or not kept.exists():
            raise
        return complain(f"interrupted: {kept} holds the run, and the same command resumes it", 130)
    if save is not None:
        learned.save(save)
        if kept is not None and kept != checkpoint:
            kept.unlink(missing_ok=True)
    show(as_json, lambda: learned_data(learned), lambda: plans.learned(learned, title))
    return 0


def _episodes(title: str, settings: dict[str, Any], known: dict[str, Any]) -> Any:
    """The source of episodes: a Gymnasium environment, or a table that is only played forward."""
    if problems.is_environment(title):
        return mk.gym.EnvEpisodes(title, **settings, **known)
    return mk.TabularEpisodes(mk.find_problem(title, **settings), **known)
