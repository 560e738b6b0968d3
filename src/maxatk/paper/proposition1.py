"""Proposition 1: the value of adaptive policies can be 1.24 times that of Markov policies."""

import itertools
import math
from fractions import Fraction
from typing import Any

from scipy import optimize

import maxatk as mk
from maxatk.paper import adapting, drawing
from maxatk.paper.claim import Check, Claim, Effort, Picture, Row, Table, check, equal, only
from maxatk.paper.values import optimum, value

MOST = 1000
SHOWN = (2, 3, 4, 5, 10, 20, 50, 59, 100, 200, 500, 1000)


def adaptive(K: int) -> Fraction:
    """The proof's policy, safe until it pays and then risky, for ``mu = 1/2``: its closed form, in exact arithmetic."""
    a, b = Fraction(K - 1, K) ** K, Fraction(K * K - 1, K * K) ** K
    return (b - a) / (K - 1) + Fraction(1, 2) * (1 - Fraction(K, K - 1) * b + a / (K - 1))


def markov(K: int) -> Fraction:
    """The best Markov value for ``mu = 1/2``: the largest over all ``W = 0..K``, in integers.

    Playing safe ``W`` times is worth ``mu(1 - β^(K-W)) + (1/K) β^(K-W) (1 - α^W)``; times ``2 K^(2K+1)`` that is an
    integer. In which rollouts it plays safe does not matter.
    """
    unit = 2 * K ** (2 * K + 1)
    best = 0
    risky_fails = (K * K - 1) ** K * 2  # 2 K^(2K) β^(K-W), W = 0 first
    safe_fails, scale = 1, 1  # α^W = safe_fails / scale
    for _ in range(K + 1):
        best = max(best, unit // 2 - risky_fails * (K - 2) // 2 - risky_fails * safe_fails // scale)
        risky_fails = risky_fails // (K * K - 1) * (K * K)
        safe_fails, scale = safe_fails * (K - 1), scale * K
    return Fraction(best, unit)


def limit(mu: float) -> float:
    """The ratio as K grows: ``(1 - (1 - mu)/e) / (1 + mu ln mu)``."""
    return (1 - (1 - mu) / math.e) / (1 + mu * math.log(mu))


def best_mu() -> float:
    """The ``mu`` with the largest limit."""
    return float(optimize.minimize_scalar(lambda mu: -limit(mu), bounds=(0.1, 0.9), options={"xatol": 1e-9}).x)


def all_markov_policies(K: int) -> Fraction:
    """The best Markov value by evaluating a policy for every ``W``."""
    mdp = mk.instances.proposition1(k=K)
    return max(value(mdp, mk.MarkovPolicy([[[int(i >= W)]] for i in range(K)])) for W in range(K + 1))


def ratios(effort: Effort) -> list[dict[str, Any]]:
    """Both values, their ratio and how far that is from its limit, by K."""
    rows: list[dict[str, Any]] = []
    for K in effort.pick([*range(2, 101), 150, 200, 300, 500, 700, 1000], list(range(2, MOST + 1))):
        above, below = adaptive(K), markov(K)
        ratio = above / below
        left = K * (limit(0.5) - float(ratio))
        rows.append({"K": K, "adaptive": above, "markov": below, "times": ratio, "ratio": float(ratio), "left": left})
        if K % 100 == 0:
            effort.tell(f"ratio for K = {K} of {MOST}")
    return rows


def inside(K: int, effort: Effort) -> bool:
    """Whether the proof's value lies in a narrow certified interval."""
    effort.tell(f"certified interval at K = {K}")
    plan = mk.solve(mk.instances.proposition1(k=K), K, solver=mk.Certified(tol=1e-10))
    return Fraction(plan.lower) <= adaptive(K) <= Fraction(plan.upper)


def run(effort: Effort) -> Claim:
    """Recompute Proposition 1."""
    rows = ratios(effort)
    planned, evaluated = effort.pick(60, 400), effort.pick(6, 10)  # up to which K
    intervals = {K: inside(K, effort) for K in effort.pick([200, 1000], list(range(450, MOST + 1, 50)))}
    mu = best_mu()
    family, kept = adapting.family(effort), adapting.shares(effort)
    first = next(r["K"] for r in rows if r["times"] > Fraction(124, 100))
    return Claim(
        "proposition1",
        checks=[
            *_ratio_checks(rows, first, mu),
            check(
                f"the proof's policy is optimal (K = 2..{planned} exactly, {len(intervals)} larger ones by intervals)",
                paper="a lower bound", ours="the optimum",
                holds=all(optimum(mk.instances.proposition1(k=K), K) == adaptive(K) for K in range(2, planned + 1))
                and all(intervals.values()),
            ),
            check(
                f"Markov value by evaluation, K = 2..{evaluated}", paper="max over W", ours="max over W",
                holds=all(all_markov_policies(K) == markov(K) for K in range(2, evaluated + 1)),
            ),
            *adapting.checks(family, kept),
        ],
        tables=[
            Table.of(
                "Values and ratio, computed in fractions and shown in decimals where these are long.",
                [r for r in rows if r["K"] in SHOWN],
                {"K": "K", "adaptive": "adaptive", "Markov": "markov", "ratio": "{ratio:.6f}",
                 "K × (limit − ratio)": "{left:.4f}"},
            ),
            *adapting.tables(family, kept),
        ],
        pictures=[_picture(rows, mu)],
        facts={"count": len(rows), "most": MOST, "planned": planned, "evaluated": evaluated},
        numbers={
            "rows": [_number(r) for r in rows],
            "limit": limit(0.5),
            "best_mu": mu,
            "best_limit": limit(mu),
            "first_above_1.24": first,
            "planned_exactly_up_to": planned,
            "inside_certified_interval": intervals,
            "theorem_b": family,
            "theorem_a": only(kept, "problem", "K", "share", "least"),
        },
    )  # fmt: skip


def _ratio_checks(rows: list[dict[str, Any]], first: int, mu: float) -> list[Check]:
    return [
        check(
            "the ratio grows with K towards its limit", paper="at least 1.24 − O(1/K)",
            ours=f"{rows[-1]['ratio']:.6f} at K = {MOST}, limit {limit(0.5):.6f}",
            holds=all(a["times"] < b["times"] for a, b in itertools.pairwise(rows))
            and all(0 < r["left"] < 1 for r in rows)
            and limit(0.5) >= 1.24,
        ),
        equal("first K with a ratio above 1.24", ours=first, right=59),
        check(
            "the ratio at K = 2 and μ = 1/2", paper="at least 1.24 − O(1/K)",
            ours=f"{rows[0]['times']}: the proof takes μ > 1/K; from K = 3 on it is above 1",
            holds=rows[0]["times"] == 1 and all(r["times"] > 1 for r in rows[1:]), remark=True,
        ),
        check(
            "best μ for large K", paper="1/2", ours=f"{mu:.6f}, limit {limit(mu):.6f}",
            holds=limit(mu) > limit(0.5) and abs(limit(mu) - 1.248965998455226) < 1e-9, tight=abs(mu - 0.5) < 1e-6,
        ),
    ]  # fmt: skip


def _number(row: Row) -> dict[str, Any]:
    """The numbers of a row; values as fractions if these are short."""
    values = {name: row[name] if row["K"] <= 30 else float(row[name]) for name in ("adaptive", "markov")}
    return {"K": row["K"], "ratio": row["ratio"], **values}


def _picture(rows: list[dict[str, Any]], mu: float) -> Picture:
    figure, (left, right) = drawing.figure(2)
    drawing.line(left, rows, "K", "ratio", color=drawing.BLUE, label="μ = 1/2")
    left.axhline(limit(0.5), color="black", linewidth=0.9, linestyle=":", label=f"limit {limit(0.5):.4f}")
    left.axhline(1.24, color=drawing.RED, linewidth=1, linestyle="--", label="the paper's 1.24")
    left.set(xscale="log", xlabel="rollouts K", ylabel="adaptive / Markov")
    left.legend(loc="lower right")
    prizes = [0.02 + 0.96 * j / 200 for j in range(201)]
    right.plot(prizes, [limit(m) for m in prizes], color=drawing.BLUE)
    right.plot([mu], [limit(mu)], "o", color=drawing.RED)
    right.annotate(f"best μ = {mu:.4f}", (mu, limit(mu)), (0, 6), textcoords="offset points", ha="center")
    right.set(xlabel="prize μ of the risky action", ylabel="limit of the ratio, K → ∞", ylim=(1, 1.28))
    return Picture("proposition1", figure, "Left: the ratio by K. Right: its limit by μ.")
