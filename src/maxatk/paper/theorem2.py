"""Theorem 2: exact planning decides Subset-Sum."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, seconds

SEED = 2
SAFE, PLUS, MINUS = 0, 1, 2
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
    mdp = mk.instances.subset_sum(weights, target)
    C = target + 5 + sum(weights)
    in_hand = Fraction(1 + target, C)
    plan = mk.solve(mdp, 1, best_so_far=in_hand, solver=mk.Exact()) if k == 1 else mk.solve(mdp, 2, solver=mk.Exact())
    values = plan.policy.action_values(rollout=k - 1, step=0, state=0, best=in_hand, so_far=0)
    return values[MINUS] - values[PLUS], Fraction(1, 16 * C * 2 ** len(weights))


def instances(count: int) -> list[tuple[list[int], int]]:
    """Random instances of 1 to 8 weights, every other with a target that some of them do sum to."""
    rng = np.random.default_rng(SEED)
    found: list[tuple[list[int], int]] = []
    for j in range(count):
        weights = [int(w) for w in rng.integers(1, 30, size=1 + j % 8)]
        chosen = rng.random(len(weights)) < 0.5
        target = sum(w for w, yes in zip(weights, chosen, strict=True) if yes) if j % 2 else 0
        found.append((weights, target or int(rng.integers(1, sum(weights) + 4))))
    return found


def explosion(effort: Effort) -> list[dict[str, Any]]:
    """Weights 1, 2, 4, ..., whose sums all differ: what exact and certified planning take, and how much they see."""
    rows: list[dict[str, Any]] = []
    for n in range(2, effort.pick(11, 15) + 1):
        effort.tell(f"time against n: {n}")
        weights = [2**j for j in range(n)]
        target = sum(weights) // 2
        mdp = mk.instances.subset_sum(weights, target)
        C = target + 5 + sum(weights)
        in_hand = Fraction(1 + target, C)
        solvers: dict[str, Any] = {
            "exact": mk.Exact(max_histories=10**6),
            "certified": mk.Certified(tol=TOL, threads=1),
        }
        exact, certified = (mk.solve(mdp, 1, best_so_far=in_hand, solver=s) for s in solvers.values())
        rows.append(
            {
                "n": n,
                "histories": int(exact.stats["histories"]),
                "beta": Fraction(1, 16 * C * 2**n),
                "width": certified.gap,
                "inside": certified.lower <= exact.exact <= certified.upper,
                **{
                    name: seconds(lambda s=s, m=mdp, b=in_hand: mk.solve(m, 1, best_so_far=b, solver=s), repeats)
                    for (name, s), repeats in zip(solvers.items(), (2, 5), strict=True)
                },
            }
        )
    return rows


def run(effort: Effort) -> Claim:
    """Recompute Theorem 2."""
    mk.solve(mk.instances.subset_sum(), 1, best_so_far=0.1, solver=mk.Certified(tol=0.1))  # compile before measuring
    rows: list[tuple[bool, Fraction, Fraction]] = []
    for j, (weights, target) in enumerate(instances(effort.pick(200, 1000))):
        rows.append((solvable(weights, target), *gap(weights, target)))
        if j % 50 == 49:
            effort.tell(f"{j + 1} instances decided")
    small = [(list(w), L) for w in itertools.combinations_with_replacement(range(1, 4), 3) for L in range(1, 12)]
    rows += [(solvable(w, L), *gap(w, L)) for w, L in small]
    both = all(gap(w, L, k=1) == gap(w, L, k=2) for w, L in small[:: effort.pick(8, 1)])
    yes, no = [r for r in rows if r[0]], [r for r in rows if not r[0]]
    right = sum((q > 0) == answer for answer, q, _ in rows)
    strict = sum((q >= -beta) == answer for answer, q, beta in rows)  # the printed rule: a within β of the others
    steps = explosion(effort)
    least_yes, most_no = min(q / b for _, q, b in yes), max(q / b for _, q, b in no)
    exact, certified = (
        math.exp(np.polyfit([r["n"] for r in steps[-6:]], np.log([r[key] for r in steps[-6:]]), 1)[0])
        for key in ("exact", "certified")
    )
    claim = Claim(
        name="theorem2",
        title="Theorem 2: exact planning is hard",
        paper="Subset-Sum reduces to exact planning with two rollouts: after a safe first rollout, action a⁻ is better "
        "than a⁺ by at least β if some of the weights sum to L, and worse by at least β if not, with β = 2⁻ⁿ/(16C).",
        method=f"{len(rows)} instances ({len(small)} of them all those with three weights up to 3 and L up to 11, the "
        "others random), each decided by the exact planner's values of a⁻ and a⁺ and by summing subsets; both gaps in "
        "units of β, in fractions. Then weights 1, 2, 4, ..., whose sums all differ: how long exact planning takes as "
        f"n grows, and how long the certified planner takes for a width of {TOL:g}, which cannot see β.",
        letters=[
            ("w_1..w_n, L", "weights, target of mk.instances.subset_sum"),
            ("a^safe, a⁺, a⁻", "actions 0, 1, 2 in state 0"),
            ("C, η, β", "L + 5 + Σw, 2⁻ⁿ/8, 2⁻ⁿ/(16C)"),
            ("Q⁺, Q⁻", "policy.action_values(rollout, 0, state 0, best=(1+L)/C)[1], [2]"),
        ],
        seeds={"instances": SEED},
    )
    claim.checks = [
        check(
            f"{len(rows)} instances decided by planning ({len(yes)} yes, {len(no)} no)",
            paper="always right",
            ours=f"{right} of {len(rows)}",
            holds=right == len(rows),
        ),
        check(
            "least gap of a yes-instance", paper="at least β", ours=f"{float(least_yes):.4g} β", holds=least_yes >= 1
        ),
        check("largest gap of a no-instance", paper="at most −β", ours=f"{float(most_no):.4g} β", holds=most_no <= -1),
        check(
            "the rule 'a⁻ is within β of a⁺'",
            paper="decides",
            ours=f"wrong in {len(rows) - strict}: gaps of just −β occur; the threshold must be below β",
            holds=strict < len(rows) and most_no == -1 and right == len(rows),
            as_printed=strict == len(rows),
        ),
        check(
            "the same with an incumbent as with a played first rollout",
            paper="one history",
            ours="equal" if both else "different",
            holds=both,
        ),
        check(
            "histories of the exact planner grow like 2ⁿ",
            paper="exponential, unless P = NP",
            ours=f"{steps[-1]['histories'] / steps[-2]['histories']:.3f} times per weight",
            holds=abs(steps[-1]["histories"] / steps[-2]["histories"] - 2) < 0.05,
        ),
        check(
            "processor time, with every further weight",
            paper="polynomial to within ε",
            ours=f"exact × {exact:.2f}, certified × {certified:.2f}",
            holds=exact > 1.5 and certified < 1.4 and all(r["inside"] for r in steps),
        ),
        check(
            "what that costs: certified width against β",
            ours=f"{steps[-1]['width'] / float(steps[-1]['beta']):.1e} β at n = {steps[-1]['n']}",
            holds=steps[-1]["width"] <= TOL and steps[-1]["width"] > float(steps[-1]["beta"]),
        ),
    ]
    claim.tables = [
        Table(
            "Weights 1, 2, 4, ..., 2^(n−1).",
            ("n", "histories", "exact, seconds", "certified, seconds", "certified width", "β"),
            [
                (
                    *(r["n"], r["histories"], f"{r['exact']:.3g}", f"{r['certified']:.3g}"),
                    *(f"{r['width']:.1e}", f"{float(r['beta']):.1e}"),
                )
                for r in steps
            ],
        )
    ]
    claim.pictures = [
        Picture(
            "theorem2",
            _picture(yes, no, steps),
            "Left: the gaps of all instances in units of β, none between −1 and 1. Middle: time against n. Right: what "
            "the certified planner's interval can see, against what deciding takes; up to n = 5 all returns fit on its "
            "lattice, and it is exact.",
        )
    ]
    claim.numbers = {
        "instances": len(rows),
        "yes": len(yes),
        "right": right,
        "right_by_the_printed_rule": strict,
        "least_yes_gap_in_beta": least_yes,
        "largest_no_gap_in_beta": most_no,
        "no_gaps_of_just_minus_beta": sum(q == -b for _, q, b in no),
        "histories": {str(r["n"]): r["histories"] for r in steps},
    }
    claim.measured = {"steps": [{key: float(value) for key, value in r.items()} for r in steps]}
    return claim


def _picture(yes: list[Any], no: list[Any], steps: list[dict[str, Any]]) -> Any:
    picture, (left, middle, right) = drawing.figure(3, 2.9, 2.6)
    bins = np.geomspace(1, max(float(q / b) for _, q, b in yes) * 1.2, 24)
    for found, sign, colour, label in ((yes, 1, drawing.BLUE, "yes"), (no, -1, drawing.ORANGE, "no")):
        counts, edges = np.histogram([sign * float(q / b) for _, q, b in found], bins)
        left.bar(sign * edges[:-1], counts, sign * np.diff(edges), align="edge", color=colour, label=label)
    left.axvspan(-1, 1, color="#dddddd")
    left.text(0, 0.5, "none", ha="center", transform=left.get_xaxis_transform(), fontsize=8)
    left.set_xscale("symlog", linthresh=1, linscale=0.5)
    left.set_xticks([-1, 1, 10, 100], ["−1", "1", "10", "100"])
    left.set_xlabel("(Q⁻ − Q⁺) / β")
    left.set_ylabel("instances")
    left.legend(loc="upper right")
    n = [r["n"] for r in steps]
    middle.plot(n, [r["exact"] for r in steps], "s-", color=drawing.RED, label="exact")
    middle.plot(n, [r["certified"] for r in steps], "o-", color=drawing.BLUE, label=f"certified, width {TOL:g}")
    middle.plot(n, [steps[-1]["exact"] * 2.0 ** (x - n[-1]) for x in n], ":", color="black", linewidth=0.9, label="2ⁿ")
    middle.set_yscale("log")
    middle.set_xlabel("weights n")
    middle.set_ylabel("seconds")
    middle.legend()
    right.plot(n, [r["width"] for r in steps], "o-", color=drawing.BLUE, label="certified width")
    right.plot(n, [float(r["beta"]) for r in steps], "s-", color=drawing.RED, label="β: what deciding takes")
    right.set_yscale("log")
    right.set_ylim(1e-15, 1)
    right.set_xlabel("weights n")
    right.set_ylabel("in units of the return")
    right.legend(loc="upper right")
    return picture
