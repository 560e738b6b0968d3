"""Proposition 1: adaptive policies can earn 1.24 times what Markov policies earn."""

import itertools
import math
from fractions import Fraction

from scipy import optimize

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, equal

MOST = 1000


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
    """Where the limit is largest."""
    return float(optimize.minimize_scalar(lambda mu: -limit(mu), bounds=(0.1, 0.9), options={"xatol": 1e-9}).x)


def all_markov_policies(K: int) -> Fraction:
    """The best Markov value by evaluating a policy for every ``W``."""
    mdp = mk.instances.proposition1(k=K)
    values = [mk.evaluate(mdp, mk.MarkovPolicy([[[int(i >= W)]] for i in range(K)])).exact for W in range(K + 1)]
    return max(value for value in values if value is not None)


def run(effort: Effort) -> Claim:
    """Recompute Proposition 1."""
    ks = list(range(2, MOST + 1))
    if effort.quick:
        ks = [*range(2, 101), 150, 200, 300, 500, 700, 1000]
    above: dict[int, Fraction] = {}
    below: dict[int, Fraction] = {}
    for k in ks:
        above[k], below[k] = adaptive(k), markov(k)
        if k % 100 == 0:
            effort.tell(f"ratio for K = {k} of {MOST}")
    ratio = {K: above[K] / below[K] for K in ks}
    exact_ks = list(range(2, effort.pick(60, 400) + 1))
    planned = {K: mk.solve(mk.instances.proposition1(k=K), K, solver=mk.Exact()).exact for K in exact_ks}
    large = effort.pick([200, 1000], list(range(450, MOST + 1, 50)))
    inside: dict[int, bool] = {}
    for k in large:
        effort.tell(f"certified interval at K = {k}")
        plan = mk.solve(mk.instances.proposition1(k=k), k, solver=mk.Certified(tol=1e-10))
        inside[k] = Fraction(plan.lower) <= above[k] <= Fraction(plan.upper)
    few = list(range(2, effort.pick(6, 10) + 1))
    evaluated = {K: all_markov_policies(K) for K in few}
    first = next(K for K in ks if ratio[K] > Fraction(124, 100))
    mu = best_mu()
    last = float(ratio[MOST])
    claim = Claim(
        name="proposition1",
        title="Proposition 1: the price of not adapting",
        paper="For every K ≥ 2 there is a problem where history-dependent policies earn at least 1.24 − O(1/K) times "
        "what Markov policies earn: a safe action pays 1/K with probability 1/K, a risky one μ = 1/2 with probability "
        "1/K². The proof's policy plays safe until it pays, then risky.",
        method=f"Both values in exact arithmetic for {len(ks)} values of K from 2 to {MOST}: the proof's closed form, "
        "and the largest over all numbers W of safe plays. That the closed form is the optimum is checked with the "
        f"exact planner for K = 2..{exact_ks[-1]} and with certified intervals (width at most 1e-10) at larger K; that "
        f"W is all that matters to Markov policies, by evaluating them for K = 2..{few[-1]}.",
        letters=[
            ("a_s, a_r", "actions 0 and 1 of mk.instances.proposition1(k, mu)"),
            ("μ", "mu"),
            ("α, β", "1 − 1/K and 1 − 1/K²"),
            ("W", "the number of rollouts that play safe"),
        ],
    )
    claim.checks = [
        check(
            "the ratio grows with K towards its limit",
            paper="at least 1.24 − O(1/K)",
            ours=f"{last:.6f} at K = {MOST}, limit {limit(0.5):.6f}",
            holds=all(ratio[a] < ratio[b] for a, b in itertools.pairwise(ks))
            and all(0 < K * (limit(0.5) - float(ratio[K])) < 1 for K in ks)
            and limit(0.5) >= 1.24,
        ),
        equal("first K with a ratio above 1.24", ours=first, right=59),
        check(
            "at K = 2 and μ = 1/2 there is a gap",
            paper="any K ≥ 2",
            ours=f"ratio {ratio[2]} at K = 2: μ > 1/K is needed",
            holds=ratio[2] == 1 and all(ratio[K] > 1 for K in ks[1:]),
            as_printed=ratio[2] > 1,
        ),
        check(
            "best μ for large K",
            paper="1/2",
            ours=f"{mu:.6f}, limit {limit(mu):.6f}",
            holds=limit(mu) > limit(0.5) and abs(limit(mu) - 1.248965998455226) < 1e-9,
            tight=abs(mu - 0.5) < 1e-6,
        ),
        check(
            f"the proof's policy is optimal (K = 2..{exact_ks[-1]} exactly, {len(large)} larger ones by intervals)",
            paper="a lower bound",
            ours="the optimum",
            holds=all(planned[K] == adaptive(K) for K in exact_ks) and all(inside.values()),
        ),
        check(
            f"Markov value by evaluation, K = 2..{few[-1]}",
            paper="max over W",
            ours="max over W",
            holds=all(evaluated[K] == below[K] for K in few),
        ),
    ]
    shown = [K for K in (2, 3, 4, 5, 10, 20, 50, 59, 100, 200, 500, 1000) if K in ratio]
    claim.tables = [
        Table(
            "Values and ratio, computed in fractions and shown in decimals where these are long.",
            ("K", "adaptive", "Markov", "ratio", "K × (limit − ratio)"),
            [
                (K, above[K], below[K], f"{float(ratio[K]):.6f}", f"{K * (limit(0.5) - float(ratio[K])):.4f}")
                for K in shown
            ],
        )
    ]
    picture, (left, right) = drawing.figure(2)
    left.plot(ks, [float(ratio[K]) for K in ks], color=drawing.BLUE, label="μ = 1/2")
    left.axhline(limit(0.5), color="black", linewidth=0.9, linestyle=":", label=f"limit {limit(0.5):.4f}")
    left.axhline(1.24, color=drawing.RED, linewidth=1, linestyle="--", label="the paper's 1.24")
    left.set_xscale("log")
    left.set_xlabel("rollouts K")
    left.set_ylabel("adaptive / Markov")
    left.legend(loc="lower right")
    grid = [0.02 + 0.96 * j / 200 for j in range(201)]
    right.plot(grid, [limit(m) for m in grid], color=drawing.BLUE)
    right.plot([mu], [limit(mu)], "o", color=drawing.RED)
    right.annotate(f"best μ = {mu:.4f}", (mu, limit(mu)), (0, 6), textcoords="offset points", ha="center")
    right.set_ylim(1, 1.28)
    right.set_xlabel("prize μ of the risky action")
    right.set_ylabel("limit of the ratio, K → ∞")
    claim.pictures = [Picture("proposition1", picture, "Left: the ratio by K. Right: its limit by μ.")]
    claim.numbers = {
        "rows": [
            {
                "K": K,
                "ratio": float(ratio[K]),
                "adaptive": above[K] if K <= 30 else float(above[K]),
                "markov": below[K] if K <= 30 else float(below[K]),
            }
            for K in ks
        ],
        "limit": limit(0.5),
        "best_mu": mu,
        "best_limit": limit(mu),
        "first_above_1.24": first,
        "planned_exactly_up_to": exact_ks[-1],
        "inside_certified_interval": {str(K): yes for K, yes in inside.items()},
    }
    return claim
