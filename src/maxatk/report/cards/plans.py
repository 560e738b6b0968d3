"""Cards of plans, of what their policies earn, of comparisons and of learned policies."""

import math

from maxatk.base.errors import InputError
from maxatk.base.findings import Loss, Outcome
from maxatk.base.text import about, at_least, at_most, count_of, decimals_of, known, probability, span
from maxatk.comparison.contrast import Contrast
from maxatk.comparison.results import Comparison, ComparisonByTries
from maxatk.evaluation.evaluate import Evaluation
from maxatk.evaluation.paired import PairedSimulation
from maxatk.evaluation.simulate import Simulation
from maxatk.learning.learned import Learned
from maxatk.planning.plan import Plan
from maxatk.problem.grid import find_grid
from maxatk.report.cards import parts
from maxatk.report.page.boards import boards
from maxatk.report.palette import action_colours
from maxatk.report.tables import comparisons
from maxatk.report.tables import plans as tables
from maxatk.report.tuning import TUNING
from maxatk.report.views import action_names
from maxatk.report.words import contrasts
from maxatk.report.words import plans as words
from maxatk.report.words import verdict as verdicts

MANY_RETURNS = 20.0  # times as slow, about
LONGEST_MAPS = 80_000  # characters of all maps of a card; longer ones become a table


def _work(plan: Plan) -> float:
    """How many outcomes are followed to evaluate what does not adapt; returns between lattice points are many."""
    returns = 1.0 if plan.stats.get("exact_lattice") else MANY_RETURNS
    return returns * len(plan.mdp.prob) / plan.mdp.n_layers * plan.mdp.horizon * plan.k


def plan(shown: Plan) -> str:
    """The interval of a plan, its verdict where that is known or quickly computed, and values by number of tries."""
    quick = _work(shown) <= TUNING.card_work
    told = verdicts.sentences(shown) if "gain" in vars(shown) or (quick and not shown.costly) else []
    lowest, highest = tables.interval(shown)
    gain = shown.gain if told and shown.k > 1 else None
    boxes = [("this plan earns at least", lowest, "plan"), (f"{verdicts.rivals(shown)} earns more than", highest, "")]
    if gain is not None and gain.outcome is Outcome.PROVED:
        rival = known(gain.rival_lower, gain.rival_upper, decimals_of(gain.rival_lower, digits=4))
        boxes = [("repeating the best mean", rival, "mean"), *boxes, ("gain", span(gain.lower, gain.upper), "plan")]
    stop = verdicts.stopping(shown) if shown.costly and "stop" in vars(shown) else ""
    later = "" if told else "plan.gain computes what adapting gains; "
    return parts.card(
        f"{verdicts.goal(shown)} ({shown.status}): {shown.mdp!r}",
        parts.verdict(told),
        parts.verdict(stop),
        parts.numbers(*boxes),
        parts.table(tables.by_tries(shown)) if shown.k > 1 else "",
        parts.note(f"{later}mk.contrast(plan) shows the first try and the last, plan.page(path) all of it."),
    )


def comparison(shown: Comparison) -> str:
    """Classes of policies side by side."""
    quick = "gain" in vars(shown) or _work(shown.plan) <= TUNING.card_work * shown.plan.k
    head = f"{verdicts.goal(shown.plan)}: {shown.mdp!r}"
    if not quick:
        cells = [(row.name, f"{row.lower:.6g}", f"{row.upper:.6g}", row.method) for row in shown.rows]
        return parts.card(head, parts.rows(("policy", "earns", "at most", "obtained by"), cells, (1, 2)))
    told = verdicts.sentences(shown.plan, comparison=shown)
    rows = comparisons.comparison_rows(shown, shown.rows)
    return parts.card(head, parts.verdict(told), parts.table(rows), parts.note(comparisons.comparison_note(shown)))


def by_tries(shown: ComparisonByTries) -> str:
    """What classes of policies earn, by the number of tries."""
    return parts.card(
        f"by number of tries: {shown.comparisons[0].mdp!r}",
        parts.table(comparisons.by_tries_rows(shown)),
        parts.note(comparisons.BY_TRIES_NOTE),
    )


def contrast(shown: Contrast) -> str:
    """The first try and the last: as maps if states are the cells of a grid, else as a table of states."""
    tries = "try" if shown.k == 1 else f"first try and last of {shown.k}"
    maps = _maps(shown)
    where = parts.table(comparisons.by_state(shown)) if maps is None else maps
    legend = "Most common action in each cell; stronger arrows are visited more often. S start, G goal."
    return parts.card(
        f"{tries}: {shown.mdp!r}",
        where,
        "" if maps is None else parts.note(legend),
        parts.lines(contrasts.sentences(shown)),
    )


def _maps(shown: Contrast) -> str | None:
    try:
        grid = find_grid(shown.mdp)
    except InputError:
        return None
    if grid.rows * grid.columns > TUNING.card_cells:
        return None
    colours = action_colours(action_names(shown.mdp))
    drawn = [
        f"<figure><figcaption>{parts.text(board.title)}</figcaption>{board.svg}</figure>"
        for board in boards(shown, grid, colours)
    ]
    maps = "".join(drawn)
    return f'<div class="mk-maps">{maps}</div>' if len(maps) <= LONGEST_MAPS else None


def evaluation(shown: Evaluation) -> str:
    """What a policy earns, what that costs, and the distribution of the best return."""
    decimals = decimals_of(*shown.ends)
    lower, upper = shown.ends
    boxes = [("it earns at least", at_least(lower, decimals), "plan"), ("and at most", at_most(upper, decimals), "")]
    if shown.cost.upper > 0:
        boxes += [
            (name, about(*one.ends, digits=4), "")
            for name, one in (("best return", shown.best), ("cost", shown.cost), ("tries", shown.tries))
        ]
    law = shown.law
    return parts.card(
        "What a policy earns, without sampling",
        parts.numbers(*boxes),
        parts.histogram(law.values, law.probs, "the best return"),
        parts.note("" if shown.exact is None or len(str(shown.exact)) > 60 else f"Exactly {shown.exact}."),
    )


def simulation(shown: Simulation) -> str:
    """What a policy earned in trials."""
    n = len(shown.best)
    error = f" ± {shown.stderr:.2g}" if math.isfinite(shown.stderr) else ""
    boxes = [("mean ± standard error", f"{shown.mean:.6g}{error}", "plan")]
    if shown.cost.any():
        means = {"best return": shown.best.mean(), "cost": shown.cost.mean(), "tries": shown.tries.mean()}
        boxes += [(name, f"{float(mean):.4g}", "") for name, mean in means.items()]
    return parts.card(
        f"{count_of(n, 'trial')} of up to {count_of(shown.returns.shape[1], 'try').replace('trys', 'tries')}",
        parts.numbers(*boxes),
        parts.histogram(shown.net, None, "best of each trial" + (", less costs" if shown.cost.any() else "")),
        parts.note(f"{count_of(shown.steps, 'step')} in {shown.seconds:.1f} s"),
    )


def paired(shown: PairedSimulation) -> str:
    """By how much one policy did better than another in the same trials."""
    low, high = shown.interval()
    return parts.card(
        f"two policies in the same {count_of(len(shown.net), 'trial')}",
        parts.numbers(
            ("first", f"{shown.first.mean:.6g}", "plan"),
            ("second", f"{shown.second.mean:.6g}", "mean"),
            ("difference, 95 % interval by t", f"{shown.mean:.4g} ({low:.4g} to {high:.4g})", ""),
        ),
        parts.histogram(shown.net, None, "difference in each trial"),
    )


def learned(shown: Learned) -> str:
    """Whether a learned policy meets its target, and what is certain of it."""
    decimals = decimals_of(shown.lower, shown.upper)
    return parts.card(
        f"best of {shown.k}, from {count_of(shown.samples, 'sample')}",
        parts.verdict([words.loss(one) for one in shown.findings if isinstance(one, Loss)]),
        parts.numbers(
            ("the policy earns at least", at_least(shown.lower, decimals), "plan"),
            ("no policy earns more than", at_most(shown.upper, decimals), ""),
            ("with probability at least", probability(shown.delta), ""),
        ),
        parts.note(f"{shown.basis}."),
    )
