"""A plan in rounds as a web page: what its tries do side by side, and what rounds keep. It has no player."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxatk.base import stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Kept
from maxatk.base.stopping import StoppedError
from maxatk.base.text import at_least, at_most
from maxatk.comparison.compare import compare
from maxatk.comparison.contrast import Try, try_of
from maxatk.comparison.results import Comparison
from maxatk.evaluation.typical import best_after
from maxatk.planning.plan import Plan
from maxatk.planning.rounds.plan import RoundsPlan
from maxatk.problem.grid import CellGrid, find_grid
from maxatk.problem.objective import rounds_of
from maxatk.report import views
from maxatk.report.page import file
from maxatk.report.page.boards import Board, boards_of
from maxatk.report.palette import action_colours
from maxatk.report.tables import plans as tables
from maxatk.report.tables.comparisons import share_of
from maxatk.report.template import Html, in_script, minus, part, render
from maxatk.report.views import Listed, Panel
from maxatk.report.words import plans as words
from maxatk.report.words import verdict

HERE = "maxatk.report.page"  # where its parts are
MOST_TRIES = 8  # different ones that are shown of a round
MOST_ROUNDS = 6  # whose values are listed beside that of all: each is evaluated


@dataclass(frozen=True)
class TriesOfRound:
    """What the tries of one round do."""

    name: str
    title: str
    boards: list[Board]
    listed: list[Listed]
    left_out: int  # how many tries are not shown


def page(plan: Plan, title: str | None, comparison: Comparison | bool, tell: Callable[[str], None]) -> str:
    """The page as text; ``tell`` is called with the part that is being computed."""
    from maxatk.report.page import charts

    tell("simpler policies")
    compared, refused = _compared(plan, comparison, tell)
    by_rounds = views.by_rounds(compared) if compared else None
    drawn: dict[str, Any] = {} if by_rounds is None else {"rounds": charts.by_rounds(by_rounds)}
    tell("what the plan does")
    grid, silent, groups, colours = _grid(plan), "", list[TriesOfRound](), list[str]()
    try:
        panels = _panels(plan)
        often = sum((_often(plan, some) for _, _, some, _ in panels), np.zeros(plan.mdp.n_actions))
        colours = action_colours(views.action_names(plan.mdp), often.tolist())
        groups = [
            TriesOfRound(name, head, boards_of(some, plan.mdp, grid, colours), views.listed(some), left_out)
            for name, head, some, left_out in panels
        ]
    except (TooLargeError, StoppedError) as error:
        silent = str(error)
    states = {row.state for group in groups for row in group.listed}
    return render(
        part(HERE, "rounds.html"),
        plan=plan,
        minus=minus,
        title=title or verdict.goal(plan).capitalize(),
        rounds=words.rounds(plan.objective.rounds),
        rivals=verdict.rivals(plan),
        nothing=plan.best_so_far == -np.inf,
        verdict=_verdict(plan),
        interval=tables.interval(plan),
        decimals=tables.decimals(plan),
        at_least=at_least,
        at_most=at_most,
        groups=groups,
        silent=silent,
        grid=grid is not None,
        actions=views.action_names(plan.mdp),
        colours=colours,
        inks=charts.inks(colours),
        state_names={s: plan.mdp.state_names[s] if plan.mdp.state_names else f"state {s}" for s in sorted(states)},
        comparison=compared,
        refused=refused,
        share_of=share_of,
        drawn=drawn,
        by_rounds=_values(plan),
        made=file.made_by(f'mk.solve(problem, k={plan.k}, rounds={plan.objective.rounds}).page("page.html")'),
        home=file.home(),
        style=Html(part(HERE, "page.css")),
        vega=Html(file.vega()),
        data=in_script({"charts": drawn}),
    )


def _compared(plan: Plan, given: Comparison | bool, tell: Callable[[str], None]) -> tuple[Comparison | None, str]:
    """The comparison of one try at a time with tries in rounds, or the reason why there is none."""
    one_by_one = replace(plan.objective, rounds=())
    if isinstance(given, Comparison):
        if given.mdp != plan.mdp or given.plan.objective != one_by_one:
            raise InputError("the comparison is of another problem, or for another k or incumbent")
        return given, ""
    if not isinstance(given, bool):
        raise InputError(f"comparison must be one of mk.compare, or true or false, not {shown(given)}")
    if not given:
        return None, "it was not asked for"
    width = plan.objective.rounds[0]
    widths = (width,) if plan.objective.rounds == rounds_of(plan.k, width) else ()
    known: dict[str, Any] = {"best_so_far": plan.best_so_far}
    if isinstance(plan, RoundsPlan):
        known = {"plan": plan.sequential}
    try:
        with stopping.half():
            return compare(
                plan.mdp,
                plan.k,
                widths=widths,
                progress=lambda row: tell(f"simpler policies, {row.name} done"),
                **known,
            ), ""
    except TooLargeError as error:
        return None, str(error)


def _panels(plan: Plan) -> list[tuple[str, str, list[Panel], int]]:
    """A name, a title and the different tries of the first round and, for a typical best so far, of the last."""
    rounds = plan.objective.rounds
    groups = [("first", "The first round", 0, rounds[0], float(plan.best_so_far))]
    if len(rounds) > 1:
        first = plan.k - rounds[-1]
        best = best_after(plan.mdp, plan.policy, first).quantile(0.5)
        groups.append(("last", f"The last round, with a best so far of {best:.6g}", first, rounds[-1], best))
    return [(name, title, *_of_round(plan, first, width, best)) for name, title, first, width, best in groups]


def _of_round(plan: Plan, first: int, width: int, best: float) -> tuple[list[Panel], int]:
    """The tries of a round, those that do the same together; and how many are not shown."""
    same: list[tuple[Try, list[int]]] = []
    for i in range(first, first + width):
        one = try_of(plan, i, best)
        numbers = next((numbers for other, numbers in same if np.array_equal(other.visits, one.visits)), None)
        if numbers is None:
            same.append((one, [i + 1]))
        else:
            numbers.append(i + 1)
    shown_tries = [views.panel(_numbered(numbers), one) for one, numbers in same[:MOST_TRIES]]
    return shown_tries, sum(len(numbers) for _, numbers in same[MOST_TRIES:])


def _numbered(numbers: Sequence[int]) -> str:
    """The tries that do the same, such as "tries 1, 3"."""
    if len(numbers) == 1:
        return f"try {numbers[0]}"
    if 2 < len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"tries {numbers[0]} to {numbers[-1]}"
    return f"tries {', '.join(map(str, numbers))}"


def _values(plan: Plan) -> list[tuple[int, int, float, float]]:
    """Numbers of rounds at the end, how many tries they have, and bounds on what these earn."""
    ends = list(itertools.accumulate(reversed(plan.objective.rounds)))
    asked = sorted({*range(1, min(len(ends), MOST_ROUNDS) + 1), len(ends)})
    values = plan.values_by_tries([ends[n - 1] for n in asked])
    return [(n, ends[n - 1], lower, upper) for n, (lower, upper) in zip(asked, values, strict=True)]


def _often(plan: Plan, some: Sequence[Panel]) -> Any:
    """How often actions are those of a map, [A]."""
    taken = np.concatenate([panel.action for panel in some])
    return np.bincount(taken[(taken >= 0) & (taken < plan.mdp.n_actions)], minlength=plan.mdp.n_actions)


def _grid(plan: Plan) -> CellGrid | None:
    try:
        return find_grid(plan.mdp)
    except InputError:
        return None


def _verdict(plan: Plan) -> list[str]:
    try:
        kept = [words.kept(one) for one in plan.findings if isinstance(one, Kept) and one.lower > 0]
        return [*verdict.sentences(plan), *kept]
    except StoppedError:
        return []
