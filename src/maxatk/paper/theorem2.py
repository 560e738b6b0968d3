"""Theorem 2: exact planning decides Subset-Sum."""

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Check, Claim, Effort, Picture, Table, check, column, seconds

SEED = 2
PLUS, MINUS = 1, 2  # actions; 0 is safe
TOL = 1e-3  # what the certified planner is asked for


def solvable(weights: list[int], target: int) -> bool:
    """Whether some of the weights sum to the target: the direct way."""
    sums = {0}
    for w in weights:
        sums |= {s + w for s in sums}
    return target in sums


def gap(weights: list[int], target: int, k: int = 1) -> tuple[Fraction, Fraction]:
    """``Q⁻ − Q⁺`` after a safe first rollout, by the exact planner, and the theorem's ``β``.

    With ``k = 1`` the safe return is an incumbent; with ``k = 2`` it is what the first of two rollouts has brought.
    """
    mdp, incumbent, beta = reduction(weights, target)
    plan = mk.solve(mdp, 1, best_so_far=incumbent, solver=mk.Exact()) if k == 1 else mk.solve(mdp, 2, solver=mk.Exact())
    values = plan.policy.action_values(rollout=k - 1, step=0, state=0, best=incumbent, so_far=0)
    return values[MINUS] - values[PLUS], beta


def reduction(weights: list[int], target: int) -> tuple[mk.MDP, Fraction, Fraction]:
    """The theorem's problem, its safe return ``(1 + L)/C``, and ``β``."""
    C = target + 5 + sum(weights)
    return (mk.instances.subset_sum(weights, target), Fraction(1 + target, C), Fraction(1, 16 * C * 2 ** len(weights)))


def value_of_plus(weights: list[int], target: int, off: int) -> Fraction:
    """``E max(m, R⁺)`` for ``m = (1 + η + L + off)/C``; its second difference in ``off`` is ``P[X = L]/C``."""
    mdp, _, _ = reduction(weights, target)
    eta, C = Fraction(1, 8 * 2 ** len(weights)), target + 5 + sum(weights)
    plan = mk.solve(mdp, 1, best_so_far=(1 + eta + target + off) / C, solver=mk.Exact())
    return plan.policy.action_values(rollout=0, step=0, state=0, best=plan.best_so_far, so_far=0)[PLUS]


def instances(count: int) -> list[tuple[list[int], int]]:
    """Random instances of 1 to 8 weights, every other with a target that some of them do sum to."""
    rng = np.random.default_rng(SEED)
    drawn: list[tuple[list[int], int]] = []
    for j in range(count):
        weights = [int(w) for w in rng.integers(1, 30, size=1 + j % 8)]
        chosen = rng.random(len(weights)) < 0.5
        target = sum(w for w, yes in zip(weights, chosen, strict=True) if yes) if j % 2 else 0
        drawn.append((weights, target or int(rng.integers(1, sum(weights) + 4))))
    return drawn


def explosion(effort: Effort) -> list[dict[str, Any]]:
    """Weights 1, 2, 4, ..., whose sums all differ: what exact and certified planning take, and how much they see."""
    rows: list[dict[str, Any]] = []
    for n in range(2, effort.pick(13, 15) + 1):
        effort.tell(f"time against n: {n}")
        mdp, incumbent, beta = reduction([2**j for j in range(n)], (2**n - 1) // 2)
        exactly = partial(mk.solve, mdp, 1, best_so_far=incumbent, solver=mk.Exact(max_histories=10**6))
        certify = partial(mk.solve, mdp, 1, best_so_far=incumbent, solver=mk.Certified(tol=TOL, threads=1))
        plan, certified = exactly(), certify()
        rows.append(
            {
                "n": n,
                "histories": int(plan.stats["histories"]),
                "beta": float(beta),
                "width": certified.gap,
                "inside": certified.lower <= plan.exact <= certified.upper,
                "exact": seconds(exactly, 2),
                "certified": seconds(certify, 5),
            }
        )
    return rows


def run(effort: Effort) -> Claim:
    """Recompute Theorem 2."""
    mk.solve(mk.instances.subset_sum(), 1, best_so_far=0.1, solver=mk.Certified(tol=0.1))  # compile before measuring
    rows: list[dict[str, Any]] = []
    small = [(list(w), L) for w in itertools.combinations_with_replacement(range(1, 4), 3) for L in range(1, 12)]
    for j, (weights, target) in enumerate([*instances(effort.pick(200, 1000)), *small]):
        difference, beta = gap(weights, target)
        rows.append({"yes": solvable(weights, target), "gap": difference / beta})
        if j % 50 == 49:
            effort.tell(f"{j + 1} instances decided")
    both = all(gap(w, L, k=1) == gap(w, L, k=2) for w, L in small[:: effort.pick(8, 1)])
    yes, no = [r["gap"] for r in rows if r["yes"]], [r["gap"] for r in rows if not r["yes"]]
    numbers = {
        "instances": len(rows),
        "yes": len(yes),
        "right": sum((r["gap"] > 0) == r["yes"] for r in rows),
        "right_by_the_printed_rule": sum((r["gap"] >= -1) == r["yes"] for r in rows),  # a⁻ within β of the others
        "least_yes_gap_in_beta": min(yes),
        "largest_no_gap_in_beta": max(no),
        "no_gaps_of_just_minus_beta": no.count(Fraction(-1)),
    }
    steps = explosion(effort)
    return Claim(
        "theorem2",
        checks=[*_gap_checks(numbers, both), *_time_checks(steps)],
        tables=[
            Table.of(
                "Weights 1, 2, 4, ..., 2^(n−1).",
                steps,
                {"n": "n", "histories": "histories", "exact, seconds": "{exact:.3g}",
                 "certified, seconds": "{certified:.3g}", "certified width": "{width:.1e}", "β": "{beta:.1e}"},
            )
        ],
        pictures=[_picture(yes, no, steps)],
        facts={"instances": len(rows), "small": len(small), "tol": f"{TOL:g}"},
        numbers={**numbers, "histories": {str(r["n"]): r["histories"] for r in steps}},
        measured={"steps": [{name: float(x) for name, x in r.items()} for r in steps]},
        seeds={"instances": SEED},
    )  # fmt: skip


def _gap_checks(numbers: dict[str, Any], both: bool) -> list[Check]:
    count, yes, right, by_rule = (numbers[n] for n in ("instances", "yes", "right", "right_by_the_printed_rule"))
    least, most = numbers["least_yes_gap_in_beta"], numbers["largest_no_gap_in_beta"]
    return [
        check(
            f"{count} instances decided by planning ({yes} yes, {count - yes} no)", paper="always right",
            ours=f"{right} of {count}", holds=right == count,
        ),
        check("least gap of a yes-instance", paper="at least β", ours=f"{float(least):.4g} β", holds=least >= 1),
        check("largest gap of a no-instance", paper="at most −β", ours=f"{float(most):.4g} β", holds=most <= -1),
        check(
            "the rule “a⁻ is within η of a⁺” with η = β", paper="some η decides",
            ours=f"wrong in {count - by_rule}, where the gap is just −β: η must be below β",
            holds=by_rule < count and most == -1 and right == count, remark=True,
        ),
        check(
            "the same with an incumbent as with a played first rollout", paper="one history",
            ours="equal" if both else "different", holds=both,
        ),
    ]  # fmt: skip


def _time_checks(steps: list[dict[str, Any]]) -> list[Check]:
    last = steps[-1]
    more = last["histories"] / steps[-2]["histories"]
    by_exact, by_certified = (
        math.exp(np.polyfit(column(steps[-6:], "n"), np.log(column(steps[-6:], name)), 1)[0])
        for name in ("exact", "certified")
    )
    return [
        check(
            "histories of the exact planner grow like 2ⁿ", paper="exponential, unless P = NP",
            ours=f"{more:.3f} times per weight", holds=abs(more - 2) < 0.05,
        ),
        check(
            "processor time, with every further weight", paper="polynomial to within ε",
            ours=f"exact × {by_exact:.2f}, certified × {by_certified:.2f}",
            holds=by_exact > 1.5 and by_certified < 1.4 and all(r["inside"] for r in steps),
        ),
        check(
            "what that costs: certified width against β",
            ours=f"{last['width'] / last['beta']:.1e} β at n = {last['n']}",
            holds=last["beta"] < last["width"] <= TOL,
        ),
    ]  # fmt: skip


def _picture(yes: list[Fraction], no: list[Fraction], steps: list[dict[str, Any]]) -> Picture:
    figure, (left, middle, right) = drawing.figure(3, 2.9, 2.6)
    bins = np.geomspace(1, float(max(yes)) * 1.2, 24)
    for gaps, sign, colour, label in ((yes, 1, drawing.BLUE, "yes"), (no, -1, drawing.ORANGE, "no")):
        counts, edges = np.histogram([sign * float(q) for q in gaps], bins)
        left.bar(sign * edges[:-1], counts, sign * np.diff(edges), align="edge", color=colour, label=label)
    left.axvspan(-1, 1, color="#dddddd")
    left.text(0, 0.5, "none", ha="center", transform=left.get_xaxis_transform(), fontsize=8)
    left.set_xscale("symlog", linthresh=1, linscale=0.5)
    left.set_xticks([-1, 1, 10, 100], ["−1", "1", "10", "100"])
    left.set(xlabel="(Q⁻ − Q⁺) / β", ylabel="instances")
    left.legend(loc="upper right")
    drawing.line(middle, steps, "n", "exact", "s-", color=drawing.RED, label="exact")
    drawing.line(middle, steps, "n", "certified", "o-", color=drawing.BLUE, label=f"certified, width {TOL:g}")
    drawing.doubling_line(middle, steps, "n", "exact", label="2ⁿ")
    middle.set(yscale="log", xlabel="weights n", ylabel="seconds")
    middle.legend()
    drawing.line(right, steps, "n", "width", "o-", color=drawing.BLUE, label="certified width")
    drawing.line(right, steps, "n", "beta", "s-", color=drawing.RED, label="β: what deciding takes")
    right.set(yscale="log", ylim=(1e-15, 1), xlabel="weights n", ylabel="in units of the return")
    right.legend(loc="upper right")
    exact = max(step["n"] for step in steps if step["width"] < step["beta"])
    caption = (
        "Left: the gaps of all instances in units of β, none between −1 and 1. Middle: time against n. Right: what "
        f"the certified planner's interval can see, against what deciding takes; up to n = {exact} there are so few "
        "returns that it tells all of them apart, and it is exact."
    )
    return Picture("theorem2", figure, caption)
