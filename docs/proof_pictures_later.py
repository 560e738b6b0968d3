"""More pictures of the page on why the interval is true, from the last try on; ``pictures.py`` draws them, too."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.report.palette import action_colours
from proof_pictures import BLUE, GREEN, GREY, ORANGE, axes

EDGE, STEP = 30, 9  # a cell above the cliff's edge, and a step at which tries are often there
PROBLEMS = {
    "windy_cliff": 5,
    "figure1": 2,
    "proposition3": 2,
    "drafts": 4,
    "javelin": 3,
    "blackjack": 3,
    "speedrun": 4,
}  # tries


def drawings(plan: mk.Plan) -> dict[str, Callable[[], Any]]:
    """A figure for each name of a file, about a plan of the windy cliff."""
    return {
        "last_try.svg": lambda: last_try(plan),
        "promise.svg": promise,
        "stopped.svg": stopped,
        "outward.svg": outward,
        "tolerance.svg": tolerance,
        "inside.svg": lambda: inside(plan),
        "nodes.svg": nodes,
    }


def _minus(text: str) -> str:
    return text.replace("-", "−")


def last_try(plan: mk.Plan) -> Any:
    """The last try at three returns so far, whose values differ by a shift alone."""
    figure, (left, right) = axes(9, 3.2, 2, sharey=False)
    best = np.arange(-34.0, -14.0)
    for so_far, colour, marker in ((-5.0, BLUE, "o"), (-9.0, ORANGE, "s"), (-13.0, GREEN, "^")):
        bounds = [plan.value(rollout=plan.k - 1, step=STEP, state=EDGE, best=m, so_far=so_far) for m in best]
        value = np.mean(bounds, axis=1)
        left.plot(best, value, f"{marker}-", color=colour, markersize=4, label=_minus(f"g = {so_far:g}"))
        right.plot(best - so_far, value - so_far, marker, color=colour, markersize=4, alpha=0.8)
    left.set(xlabel="best return so far, m", ylabel="value V", title="three returns so far")
    right.set(xlabel="m − g", ylabel="V − g", title="shifted: one curve")
    left.set_xticks(range(-34, -14, 4))  # far enough from each other
    left.legend(frameon=False)
    return figure


def promise() -> Any:
    """What wide plans promise for a best so far, and what their policies earn from there on."""
    cliff = mk.instances.windy_cliff()
    best = np.arange(-40.0, -13.0, 3)
    plans = [mk.solve(cliff, k=8, solver=mk.Certified(tol=1), best_so_far=m) for m in best]
    earned = [mk.evaluate(cliff, plan.policy).value for plan in plans]
    figure, ax = axes()
    ax.vlines(best, [p.lower for p in plans], [p.upper for p in plans], color=GREY, linewidth=5, alpha=0.5)
    ax.plot(
        best,
        [p.lower for p in plans],
        "_",
        color=GREEN,
        markersize=14,
        markeredgewidth=2.5,
        label="promised: the lower bound",
    )
    ax.plot(
        best,
        [p.upper for p in plans],
        "_",
        color=ORANGE,
        markersize=14,
        markeredgewidth=2.5,
        label="no policy earns more",
    )
    ax.plot(best, earned, "o", color=BLUE, markersize=6, label="earned by the policy")
    ax.set(xlabel="best return so far, m", ylabel="value with eight tries left")
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def stopped() -> Any:
    """The interval that is known after each curve, and the value of ever more tries."""
    cliff, seen = mk.instances.windy_cliff(), list[mk.Progress]()
    mk.solve(cliff, k=5, progress=seen.append)
    figure, (left, right) = axes(9, 3.2, 2)
    done = [5 - at.rollout for at in seen]
    lower, upper = [at.lower for at in seen], [at.upper for at in seen]
    left.vlines(done, lower, upper, color=GREY, linewidth=7, alpha=0.5)
    left.plot(done, lower, "_", color=GREEN, markersize=16, markeredgewidth=2.5, label="the policy earns at least")
    left.plot(done, upper, "_", color=ORANGE, markersize=16, markeredgewidth=2.5, label="no policy earns more")
    left.set(xlabel="curves finished, of five", ylabel="value of five tries", title="stopped early")
    left.legend(frameon=False, fontsize=9, loc="lower left")
    tries = [1, 2, 3, 5, 8, 12, 20, 40, 80]
    many = mk.solve(cliff, k=tries[-1])
    right.plot(tries, np.mean(many.values_by_tries(tries), axis=1), "o-", color=BLUE, markersize=4)
    right.axhline(cliff.return_range[1], color=GREY, linestyle=":", linewidth=1.4)
    right.annotate("the greatest return", (1, cliff.return_range[1]), (0, -12), textcoords="offset points", fontsize=9)
    right.set(xlabel="tries, K", xscale="log", title="very many tries")
    right.set_xticks([1, 5, 20, 80], ["1", "5", "20", "80"])
    right.minorticks_off()
    return figure


def outward() -> Any:
    """How far both ends are from the optimum, which is known in fractions, as all rewards grow by a constant."""
    shifts = [0, 10, 10**3, 10**5, 10**7, 10**9]
    figure, ax = axes()
    below, above = list[float](), list[float]()
    for shift in shifts:
        mdp = _shifted(shift)
        plan, exact = mk.solve(mdp, k=3, solver=mk.Certified(tol=0)), mk.solve(mdp, k=3, solver=mk.Exact()).exact
        below.append(float(exact - Fraction(plan.lower)))
        above.append(float(Fraction(plan.upper) - exact))
    places = range(len(shifts))
    ax.plot(places, above, "^", color=ORANGE, label="upper bound above the optimum by")
    ax.plot(places, below, "v", color=GREEN, label="lower bound below it by")
    ax.set(xlabel="added to every reward", ylabel="distance", yscale="log")
    ax.set_xticks(list(places), ["0", "10", "10³", "10⁵", "10⁷", "10⁹"])
    ax.legend(frameon=False, fontsize=9)
    return figure


def _shifted(by: int) -> mk.MDP:
    """A safe and a bold draw, with a constant added to what they bring."""
    draws = {0: [(0.5, 0, by + 1, True), (0.5, 0, by, True)], 1: [(0.75, 0, by, True), (0.25, 0, by + 2, True)]}
    return mk.MDP.from_table({0: draws}, horizon=1)


def tolerance() -> Any:
    """The gap of plans by default, as a share of what the tries after the first add."""
    figure, ax = axes()
    plans = [mk.solve(mk.instances.make(name), k=k) for name, k in PROBLEMS.items()]
    shares = [plan.gap / (plan.lower - plan.value_of_tries(1)[1]) for plan in plans]
    ax.plot(shares, range(len(plans)), "o", color=BLUE, markersize=6)
    ax.axvline(1e-3, color=ORANGE, linewidth=1.6, label="a thousandth: the search may end")
    ax.set_yticks(range(len(plans)), [f"{name.replace('_', ' ')}, K = {k}" for name, k in PROBLEMS.items()])
    ax.set(xlabel="gap, as a share of what the tries after the first add", xscale="log", xlim=(1e-14, 1))
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def inside(plan: mk.Plan) -> Any:
    """The value of every action at one moment of the last try, by the best so far."""
    names = plan.mdp.action_names
    assert names is not None
    figure, ax = axes()
    best = np.arange(-40.0, -13.0)
    rows = [plan.action_values(rollout=plan.k - 1, step=STEP, state=EDGE, best=m, so_far=-STEP) for m in best]
    for a, (name, colour) in enumerate(zip(names, action_colours(names), strict=True)):
        ax.plot(best, [sum(row[a]) / 2 for row in rows], color=colour, linewidth=2.2, label=name)
    ax.set(xlabel="best return so far, m", ylabel="value after the action")
    ax.legend(frameon=False, fontsize=9, title="at the edge, last try", title_fontsize=9)
    return figure


def nodes() -> Any:
    """The returns that rollouts come to with a jackpot beside small rewards, by step."""
    rewards = (0, 1, 2, 10**6)
    figure, ax = axes()
    reached = {0}
    for step in range(4):
        ax.plot([1 + g for g in sorted(reached)], [step] * len(reached), "o", color=BLUE, markersize=5)
        ax.annotate(str(len(reached)), (1.2e7, step), color=GREY, va="center", fontsize=9)
        reached = {g + r for g in reached for r in rewards}
    ax.set(xlabel="1 + return so far", xscale="log", xlim=(0.6, 2.4e7), ylabel="after steps")
    ax.set_yticks(range(4))
    return figure
