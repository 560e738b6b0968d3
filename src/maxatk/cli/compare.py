"""The command ``maxatk compare``: the value of each class of policies."""

import json

import click

from maxatk.base import stopping
from maxatk.cli.options import PlanRequest, examples, json_option, plan_options
from maxatk.cli.planned import compared, exit_code, planned
from maxatk.report.data.plans import comparison_data, plan_data


@click.command(
    epilog=examples(
        "compare",
        "compare proposition3 -k 2",
        "compare -k 12 --width 3 --width 6",
        "compare Taxi-v4 --horizon 20 -k 3 --json",
    )
)
@plan_options
@click.option("--width", "widths", type=int, multiple=True, metavar="W", help="Also W tries at a time; repeatable.")
@json_option
def compare(request: PlanRequest, *, given_problem: bool, widths: tuple[int, ...], as_json: bool) -> int:
    """Compare classes of policies.

    How much is gained by adapting to the best so far, and to the score of this try so far?
    """
    with stopping.scope(request.time_limit):
        with stopping.half():
            plan = planned(request, as_json)
        comparison = compared(plan, as_json, request.quiet, request.title, widths)
        if as_json:
            print(json.dumps({**plan_data(plan, comparison), "comparison": comparison_data(comparison)}))
        return exit_code(plan, request.save)
