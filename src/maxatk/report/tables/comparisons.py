"""Classes of policies side by side, and the first try beside the last, for the terminal."""

import math
from collections.abc import Sequence
from fractions import Fraction

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.base.errors import InputError
from maxatk.base.findings import Share
from maxatk.base.text import agreed, at_least, at_most
from maxatk.comparison.contrast import Contrast
from maxatk.comparison.results import Comparison, ComparisonByTries
from maxatk.comparison.rows import Row
from maxatk.problem.grid import CellGrid, action_name, find_grid
from maxatk.problem.mdp import MDP
from maxatk.report.tables.fitting import FittingTable, as_text
from maxatk.report.views import Panel, listed, panels
from maxatk.report.words import verdict as verdicts

LONGEST_NAME = 30  # of a class that is not wrapped
MOST_DIGITS = 6  # where classes differ by next to nothing for all numbers of tries
MOST_COLUMNS = 24  # of a grid that is drawn
GUARANTEE = (
    "Always, whatever the problem: rounds of w tries alike can keep 1 - (1 - 1/w)^w of what tries one after another "
    "add to the best so far, or to the least return (the correlation gap of the maximum)."
)

BY_TRIES_NOTE = "A policy of the class earns at least the number below it; no policy earns more than the last."


def comparison(compared: Comparison) -> RenderableType:
    """Classes of policies side by side."""
    return Group(
        Text.assemble((verdicts.goal(compared.plan), "bold"), f": {compared.mdp!r}\n"),
        comparison_rows(compared, compared.rows),
        f"\n{comparison_note(compared)}",
    )


def text(compared: Comparison) -> str:
    """A comparison as plain text."""
    return as_text(comparison(compared), width=100)


def comparison_rows(compared: Comparison, rows: Sequence[Row]) -> Table:
    """Some rows of a comparison as a table."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    digits = _digits(compared)
    priced = compared.plan.costly
    table.add_column("policy", overflow="fold", no_wrap=all(len(row.name) <= LONGEST_NAME for row in rows))
    in_rounds = any(row.in_rounds is not None for row in rows)
    for name in ("earns", "at most", "of the gain", *(["tries"] if priced else ["always"] * in_rounds)):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("obtained by", overflow="fold")
    for row in rows:
        lower, upper = (row.lower, row.upper) if row.exact is None else (row.exact, row.exact)
        lower = max([lower, *(other.exact for other in compared.inside(row) if other.exact is not None)])
        method = row.method.removeprefix("best found by ")
        how = method if row.exact is None else f"{method}: {_short_fraction(row.exact)}"
        table.add_row(
            row.name,
            at_least(lower, digits),
            at_most(upper, digits),
            share_of(compared, row),
            *([tries_of(row)] if priced else [guarantee_of(row)] * in_rounds),
            how,
        )
    return table


def by_tries(shown: ComparisonByTries) -> RenderableType:
    """What classes of policies earn, by the number of tries."""
    return Group(
        Text.assemble(("by number of tries", "bold"), f": {shown.comparisons[0].mdp!r}\n"),
        by_tries_rows(shown),
        f"\n{BY_TRIES_NOTE}",
    )


def by_tries_text(shown: ComparisonByTries) -> str:
    """The same as plain text."""
    return as_text(by_tries(shown), width=100)


def by_tries_rows(shown: ComparisonByTries) -> Table:
    """A row for each number of tries, a column for each class that is in all comparisons."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    digits = min(*(_digits(each) for each in shown), MOST_DIGITS)
    for name in ("tries", *shown.names, "at most"):
        table.add_column(name, justify="right", overflow="fold")
    for each in shown:
        earned = [at_least(each[name].lower, digits) for name in shown.names]
        table.add_row(str(each.plan.k), *earned, at_most(each.rows[-1].upper, digits))
    return table


def _digits(compared: Comparison) -> int:
    """How many decimals tell the rows of a comparison apart."""
    spread = max(compared.plan.upper - compared.rows[0].lower, 1e-9 * abs(compared.plan.upper), 1e-300)
    return min(max(4 - math.floor(math.log10(spread)), 0), 12)


def _short_fraction(value: Fraction) -> str:
    """A fraction if it is short, otherwise the word "exact"."""
    return str(value) if value.denominator < 10_000 else "exact"


def comparison_note(compared: Comparison) -> str:
    """The meaning of the numbers of a comparison."""
    note = "A policy of the class earns the first number; no policy of the class earns more than the second."
    if any(row.method.startswith("best found by ") for row in compared.rows):
        note += " Coordinate ascent may miss the best policy of a class."
    if not compared.plan.costly and any(row.in_rounds is not None for row in compared.rows):
        note += f" {GUARANTEE}"
    if compared.gain.tied:
        note += " Several policies have the best mean; the first row is about one of them."
    return note


def share_of(compared: Comparison, row: Row) -> str:
    """The share of the gain that a class has, rounded so that it still holds; a dash if it is not known."""
    share = compared.share(row)
    if share is None:
        return "-"
    proved = next((one for one in compared.findings if isinstance(one, Share) and one.name == row.name), None)
    low, high = (share, share) if proved is None else (proved.lower, proved.upper)
    rounded = {f"{100 * x:.1f} %" for x in (low, high)}
    if len(rounded) == 1 and (low == 1 or low < 0.999):  # 100 % means all of it
        return rounded.pop()
    return f"≥ {math.floor(1000 * low) / 10:.1f} %" if low >= 0.001 else "-"


def guarantee_of(row: Row) -> str:
    """What rounds of these widths keep in every problem, rounded down."""
    return "" if row.in_rounds is None else f"≥ {math.floor(1000 * row.in_rounds.guarantee) / 10:.1f} %"


def tries_of(row: Row) -> str:
    """The mean number of tries of a row's policy, if it is known."""
    return "" if row.evaluation is None else agreed(*row.evaluation.tries.ends, digits=3)


def contrast(shown: Contrast, in_full: bool = True) -> RenderableType:
    """The first try and the last: as small maps or a table of states, and in words or in one sentence."""
    drawn, said = maps(shown), str(shown) if in_full else verdicts.on_last_try(shown)
    return Group(*([drawn] if drawn is not None else []), *(["", said] if drawn is not None and said else [said]))


def maps(shown: Contrast) -> RenderableType | None:
    """The first try and the last: as small maps if states are the cells of a grid, else as a table of states."""
    try:
        grid = find_grid(shown.mdp)
    except InputError:
        return _listed(shown)
    signs = [*(_arrow(*grid.towards[a].tolist()) for a in range(shown.mdp.n_actions)), "×"]
    if grid.columns > MOST_COLUMNS or len(set(signs)) < len(signs):
        return _listed(shown)
    drawn = [Text(f"{panel.title}\n{_map(shown, grid, panel, signs)}") for panel in panels(shown)]
    quits = " × gives up," if any("×" in str(one) for one in drawn) else ""
    legend = f"Most common action while something is left to win;{quits} S start, G goal, ▒ hazard"
    return Group(Columns(drawn, padding=(0, 3)), Text(legend, style="dim"))


def _arrow(down: float, right: float) -> str:
    if abs(down) > abs(right):
        return "↓" if down > 0 else "↑"
    return "→" if right > 0 else "←" if right < 0 else "•"


def _map(shown: Contrast, grid: CellGrid, panel: Panel, signs: Sequence[str]) -> str:
    marks = dict.fromkeys(grid.closed, "█") | dict.fromkeys(grid.hazards, "▒") | dict.fromkeys(grid.goals, "G")
    marks |= dict.fromkeys(shown.mdp.start_state.tolist(), "S") if len(shown.mdp.start_state) == 1 else {}
    cells = [marks.get(s) or ("·" if a < 0 else signs[a]) for s, a in enumerate(panel.action)]
    return "\n".join(" ".join(cells[r * grid.columns : (r + 1) * grid.columns]) for r in range(grid.rows))


def _listed(shown: Contrast) -> RenderableType | None:
    table = by_state(shown)
    return table if table.rows else None


def by_state(shown: Contrast) -> Table:
    """The action of each try in the states that are visited most."""
    mdp, tries = shown.mdp, panels(shown)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("mostly, in", *(panel.title for panel in tries)):
        table.add_column(heading)
    for row in listed(tries):
        taken = zip(row.actions, row.mixed, strict=True)
        acts = [_acts(mdp, action) + (" and others" if mixed else "") for action, mixed in taken]
        table.add_row(mdp.state_names[row.state] if mdp.state_names else f"state {row.state}", *acts)
    return table


def _acts(mdp: MDP, action: int) -> str:
    return "-" if action < 0 else "give up" if action == mdp.n_actions else action_name(mdp, action)
