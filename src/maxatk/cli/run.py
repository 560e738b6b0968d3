"""The command ``maxatk run``: trials of a saved plan, compared with its certificate."""

from pathlib import Path
from typing import Any

import click

import maxatk as mk
from maxatk.cli.console import show
from maxatk.cli.options import examples, json_option, problem_options, quiet_option
from maxatk.planning import Plan
from maxatk.problem import find as problems
from maxatk.report.data.plans import simulation_data
from maxatk.report.tables.plans import simulation

TRIALS = 10_000  # of a table
TRIALS_IN_ENVIRONMENT = 1_000  # which are run step by step


@click.command(
    epilog=examples("run cliff.plan", "run lake.plan FrozenLake-v1 --horizon 30 --set is_slippery=false --trials 500")
)
@click.argument("plan_file", metavar="PLAN", type=Path)
@problem_options
@click.option("--trials", type=int, metavar="N", help=f"Default: {TRIALS}, or {TRIALS_IN_ENVIRONMENT} with a GYM_ID.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the random numbers.")
@quiet_option
@json_option
def run(
    plan_file: Path, problem: str | None, settings: dict[str, Any],
    trials: int | None, seed: int, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run a saved plan or a learned policy, and check its certificate.

    A plan runs in the problem that was saved with it, or in the named one, which must be the same; a learned policy
    runs in the named one. With the id of a Gymnasium environment it runs in that, step by step.
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
        raise mk.InputError(f"{plan_file} holds a learned policy: name the problem to run it in")
    n = trials if trials is not None else TRIALS if arena is None else TRIALS_IN_ENVIRONMENT
    where = arena if arena is not None else plan.mdp if isinstance(plan, Plan) else mdp
    trials_made = mk.simulate(where, plan.policy, trials=n, rng=seed, progress=not (as_json or quiet))
    show(as_json, lambda: simulation_data(plan, trials_made), lambda: simulation(plan, trials_made))
    return 0
