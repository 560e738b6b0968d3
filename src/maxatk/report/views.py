"""Views of plans and comparisons, as plain data.

``figures.py`` draws them with Matplotlib, ``page/charts.py`` with Altair. A view has the numbers and the labels; the
style of lines belongs to the code that draws it.
"""

import math
from dataclasses import dataclass

import numpy as np

from maxatk.base.checks import name_of
from maxatk.base.errors import InputError
from maxatk.base.types import Floats
from maxatk.comparison.classes import ADAPTIVE
from maxatk.comparison.contrast import SELDOM, Contrast, Try
from maxatk.comparison.results import Comparison
from maxatk.laws.units import Units
from maxatk.planning.plan import Plan
from maxatk.policies import ABANDON
from maxatk.problem.grid import action_name
from maxatk.problem.mdp import MDP
from maxatk.report.palette import action_colours, class_colours, palette
from maxatk.report.reach import Reach

BEST, SO_FAR = "best return so far, M", "return so far, G"  # axes of more than one view
MOST_STATES = 10  # that are listed if there is no grid
FEW = 12  # best returns, up to which a curve is drawn as points
BEATEN = "M cannot be beaten"  # in place of an action: no action matters any more


@dataclass(frozen=True, eq=False)
class Curve:
    """The value of a best return with ``to_come`` rollouts to come."""

    to_come: int
    lower: Floats  # [points]
    upper: Floats  # [points]
    colour: str


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves ``U_i`` between their bounds."""

    best: Floats  # [points]
    curves: list[Curve]
    x: str = BEST
    y: str = "expected final best"
    stop_at: float = math.inf  # the best return from which on the plan stops
    left_out: int = 0  # curves that lie between these

    @property
    def note(self) -> str:
        """What is left out, if anything is."""
        lie = "one lies" if self.left_out == 1 else f"{self.left_out} lie"
        drawn = f"{len(self.curves)} of {len(self.curves) + self.left_out} curves are drawn"
        return f"{drawn}; the other {lie} between them." if self.left_out else ""


def curves(plan: Plan, points: int) -> Curves:
    """At most six curves, including those before the first and after the last rollout."""
    low, most = range_of_interest(plan)
    units = Units.of(plan.mdp, plan.policy)
    ends = (units.memory.units(x) for x in (low, most))
    possible = units.memory.floats(Reach(plan.mdp, units.remembered).totals(*ends, most=points))
    best = possible if len(possible) > 1 else np.linspace(low, most, points)  # where M can be
    shown = sorted({round(i) for i in np.linspace(0, plan.k, min(plan.k + 1, 6))})
    bounds = [np.array([plan.curve(i, m) for m in best.tolist()]).T for i in shown]
    bounds[0] = _within_interval(plan, best, *bounds[0])
    return Curves(
        best,
        [
            Curve(plan.k - i, lower, upper, colour)
            for i, (lower, upper), colour in zip(shown, bounds, palette(len(shown)), strict=True)
        ],
        y="expected final best" + (", less costs to come" if plan.stop_at < math.inf else ""),
        stop_at=float(plan.stop_at),
        left_out=plan.k + 1 - len(shown),
    )


def _within_interval(plan: Plan, best: Floats, lower: Floats, upper: Floats) -> Floats:
    """The bounds of the first curve, tightened by the plan's own: the curve is monotone and convex."""
    least, most = plan.mdp.return_range
    lower = np.maximum(lower, plan.lower)
    if plan.best_so_far == -math.inf and most > least:  # at the least return the curve is then the plan's value
        upper = np.minimum(upper, plan.upper + (most - plan.upper) * (best - least) / (most - least))
    return np.stack((np.minimum(lower, upper), upper))


def range_of_interest(plan: Plan) -> tuple[float, float]:
    """The range of best returns in which the curves bend; below it they are nearly flat."""
    least, most = plan.mdp.return_range
    alone = sum(plan.curve(plan.k - 1, -math.inf)) / 2
    low = max(least, alone - 1.5 * (most - alone), float(plan.best_so_far))
    return (low, most) if low < most else (low - 1.0, low)  # if nothing can be gained


@dataclass(frozen=True)
class Earnings:
    """Bounds on the value of a class of policies."""

    name: str
    lower: float
    upper: float
    method: str
    share: float | None  # of what adaptive policies gain
    colour: str


@dataclass(frozen=True)
class Classes:
    """Classes of policies, one below the other."""

    rows: list[Earnings]
    x: str = "expected best return"
    note: str = "each bar ends at an upper bound of the class"


def classes(comparison: Comparison) -> Classes:
    """The rows of a comparison with finite lower bounds."""
    colours = row_colours(comparison)
    return Classes(
        [
            Earnings(row.name, row.lower, row.upper, row.method, comparison.share(row), colour)
            for colour, row in zip(colours, comparison.rows, strict=True)
            if math.isfinite(row.lower)
        ],
        x="expected best return" + (", less costs" if comparison.plan.stop_at < math.inf else ""),
    )


@dataclass(frozen=True)
class ByRounds:
    """What tries made several at a time earn, by the number of rounds."""

    rows: list[tuple[str, int, float, float]]  # kind, rounds, lower, upper; by kind and rounds
    x: str = "rounds"
    y: str = "expected best return"


KINDS = ("alike", "different")  # of tries in rounds


def by_rounds(comparison: Comparison) -> ByRounds | None:
    """The rows of a comparison that are in rounds, and one try after another at the end; None where none are."""
    rows = [
        (KINDS[not row.in_rounds.alike], len(row.in_rounds.rounds), row.lower, row.upper)
        for row in comparison.rows
        if row.in_rounds is not None and math.isfinite(row.lower)
    ]
    last = comparison[ADAPTIVE]
    ends = [(kind, comparison.plan.k, last.lower, last.upper) for kind in KINDS]
    return ByRounds(sorted([*rows, *ends])) if rows else None


def row_colours(comparison: Comparison) -> list[str]:
    """A colour for each row of a comparison: the same for the mean and for adaptive policies everywhere."""
    return class_colours([row.name for row in comparison.rows], comparison.rows[0].name, ADAPTIVE)


def action_names(mdp: MDP) -> list[str]:
    """The names of all actions: their own, or their directions on a grid."""
    return [action_name(mdp, action) for action in range(mdp.n_actions)]


@dataclass(frozen=True, eq=False)
class Panel:
    """The action that a try mostly takes in each state, while it can still improve the best so far."""

    title: str
    rollout: int
    best: float
    action: list[int]  # [S] -1 if it is not visited, the number of actions to abandon
    visits: list[float]  # [S] per try
    mixed: list[bool]  # [S] whether that action has less than two thirds of the visits


def panels(contrast: Contrast) -> list[Panel]:
    """The first try, the last with no result yet (or the incumbent), and the last with a typical best so far."""
    best = ["no result yet" if one.best == -math.inf else f"best so far {one.best:.6g}" for one in contrast.last]
    last = [f"the last, {words}" for words in best]
    titles = ["the first try" if contrast.k > 1 else "the try", *last[::-1]]
    return [panel(title, one) for title, one in zip(titles, (contrast.first, *contrast.last[::-1]), strict=True)]


def panel(title: str, one: Try) -> Panel:
    """What a try mostly does."""
    return Panel(
        title + (" (the plan stops)" if one.stops else "" if one.visits.any() else " (its choices hardly matter)"),
        one.rollout,
        one.best,
        np.where(one.visits.sum(axis=1) >= SELDOM, one.visits.argmax(axis=1), -1).tolist(),
        one.visits.sum(axis=1).tolist(),
        (3 * one.visits.max(axis=1) < 2 * one.visits.sum(axis=1)).tolist(),
    )


@dataclass(frozen=True)
class Listed:
    """A state, and the action that each try mostly takes there."""

    state: int
    actions: list[int]  # one for each try; -1 if it does not visit the state
    mixed: list[bool]  # whether others are taken nearly as often


def listed(tries: list[Panel]) -> list[Listed]:
    """The states that are visited most, by number."""
    visited = np.max([panel.visits for panel in tries], axis=0)
    often: list[int] = np.argsort(-visited, kind="stable")[:MOST_STATES].tolist()
    return [
        Listed(s, [panel.action[s] for panel in tries], [panel.mixed[s] for panel in tries])
        for s in sorted(often)
        if visited[s] >= SELDOM
    ]


@dataclass(frozen=True, eq=False)
class ActionMap:
    """The actions of a plan in one state at one step, by the best return and the return so far."""

    title: str
    best: Floats  # [m] rising
    so_far: Floats  # [g] rising
    taken: list[list[int]]  # [g][m] indices into names
    names: list[str]  # of the actions that are offered; the last stands for any of them
    colours: list[str]  # one for each name
    x: str = BEST
    y: str = SO_FAR


def action_map(plan: Plan, i: int, h: int, s: int, points: int) -> ActionMap:
    """The map of one state at one step; returns so far are those that can occur there, evenly spread."""
    mdp, policy = plan.mdp, plan.policy
    low, high = range_of_interest(plan)
    left = float(mdp.analysis.most[h, s])
    units = Units.of(mdp, policy)
    so_far = units.memory.floats(Reach(mdp, units.remembered).returns(h, s, points))
    if not len(so_far):
        raise InputError(f"no try comes to state {s} at step {h}")
    so_far = np.array([g for g in so_far if g + left > low] or so_far[-1:])
    best = np.linspace(low, max(min(high, float(so_far[-1]) + left + 0.1 * (high - low)), low), points)
    best = np.unique(np.floor(best) if (mdp.reward == np.rint(mdp.reward)).all() else best)
    offered = [*mdp.actions(h, s), *([ABANDON] if plan.problem.may_abandon else [])]
    taken = [
        [
            len(offered)
            if g + left <= m
            else offered.index(policy.action(rollout=i, step=h, state=s, best=m, so_far=g))
            for m in best.tolist()
        ]
        for g in so_far.tolist()
    ]
    return ActionMap(
        f"{name_of(mdp.state_names, s)}, step {h}, try {i + 1} of {plan.k}",
        best,
        so_far,
        taken,
        [*("give up" if a == ABANDON else name_of(mdp.action_names, a) for a in offered), BEATEN],
        [*(action_colours([*action_names(mdp), "give up"])[a] for a in offered), "#eeeeee"],
    )
