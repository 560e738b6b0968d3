"""Theorem 3: every learner needs samples in proportion to K."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Check, Claim, Effort, Picture, Table, check, column, exponent, only, text
from maxatk.paper.values import HALF, optimum, value

SEED = 3
CONFIDENCE = 0.9
SIZES: dict[str, Any] = {"n_states": 3, "n_actions": 2, "epsilon": 1e-6, "delta": 0.05}


def policies(K: int, H: int, count: int | None) -> Any:
    """Every deterministic policy on (h, i), or so many random ones, with two actions [policies, K, H]."""
    if count is None:
        return np.array(list(itertools.product((0, 1), repeat=K * H))).reshape(-1, K, H)
    rng = np.random.default_rng(SEED)
    return (rng.random((count, K, H)) < rng.random((count, 1, 1))).astype(int)


def step_two(K: int, H: int, count: int | None) -> dict[str, Any]:
    """Step 2 of the proof in fractions, on one state with two actions of which action 0 is better.

    The loss of policies against ``(47/256) Δ H (K H/4 − Σ α)``, where ``Σ α`` counts the better action in the first
    quarters of all rollouts.
    """
    epsilon = Fraction(H, 192 * 8192)
    p, delta = Fraction(1, 96 * K * H), 8192 * epsilon / (K * H * H)
    mdp = mk.instances.lower_bound(2, 2, H, K, epsilon, alternative=(0, 0))
    best, tables = optimum(mdp, K), policies(K, H, count)
    least = math.inf
    worst_good = Fraction(1)  # the least share of the better action of any policy that is within epsilon
    for table in tables:
        lost = best - value(mdp, mk.MarkovPolicy(np.stack([table, table], axis=2)))
        mass = int((table[:, : H // 4] == 0).sum())
        missed = K * H // 4 - mass
        if missed:
            least = min(least, float(lost / (Fraction(47, 256) * delta * H * missed)))
        if lost <= epsilon:
            worst_good = min(worst_good, Fraction(4 * mass, K * H))
    goal = optimum(mk.instances.lower_bound(2, 2, H, K, epsilon, start=1), K)
    return {
        "K": K, "H": H, "policies": len(tables), "least_ratio": least, "least_share": worst_good,
        "optimum_over_H": best / H, "from_goal": goal / H, "delta_over_p": delta / p,
        "never_reached": float((1 - p - delta) ** (K * H)),
    }  # fmt: skip


def fewest(p: float, q: float) -> int:
    """The least number of samples of each of two actions that shows the better one with the confidence, ties halved."""

    def right(n: int) -> float:
        x = np.arange(min(n, int(n * q + 12 * math.sqrt(n * q) + 20)) + 1)
        below = stats.binom.cdf(x - 1, n, p) + 0.5 * stats.binom.pmf(x, n, p)
        return float(stats.binom.pmf(x, n, q) @ below)

    low, high = 0, 1
    while right(high) < CONFIDENCE:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if right(middle) >= CONFIDENCE else (middle, high)
    return high


def bernoulli_kl(p: float, q: float) -> float:
    """The divergence of two coins."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def two_coins(K: int) -> dict[str, float]:
    """Section 4.2's example: chances 1/(4K) and 5/(16K) of a reward of 1, so that the wrong action costs the same."""
    p, q = 1 / (4 * K), 5 / (16 * K)
    needed = fewest(p, q)
    return {
        "K": K, "loss": (1 - p) ** K - (1 - q) ** K, "fewest": needed, "each": needed / K,
        "change_of_measure": math.log(1 / (1 - CONFIDENCE)) / bernoulli_kl(p, q),
        "bound": mk.least_samples(**SIZES, horizon=4, k=K),
    }  # fmt: skip


def run(effort: Effort) -> Claim:
    """Recompute Theorem 3."""
    effort.tell("step 2: all policies")
    cases = [step_two(1, 4, None), step_two(2, 4, None)]
    for K, H in effort.pick(((3, 8), (6, 4)), ((3, 8), (6, 4), (4, 12), (8, 8), (12, 4))):
        effort.tell(f"step 2 at K = {K}, H = {H}")
        cases.append(step_two(K, H, effort.pick(20, 100)))
    effort.tell("samples that tell two actions apart")
    rows = [two_coins(2**j) for j in range(effort.pick(7, 9))]
    tail = [r for r in rows if r["K"] >= 4]
    slope = exponent(column(tail, "K"), column(tail, "fewest"))
    return Claim(
        "theorem3",
        checks=[*_proof_checks(cases), *_growth_checks(rows, slope)],
        tables=[
            Table.of(
                "Step 2 in exact arithmetic.",
                [{**c, "share": float(c["optimum_over_H"])} for c in cases],
                {"K": "K", "H": "H", "policies": "policies", "least loss / bound": "{least_ratio:.3f}",
                 "least share if ε-optimal": "least_share", "V*/H": "{share:.5f}", "V* from the goal / H": "from_goal"},
            ),
            Table.of(
                "Two actions that succeed with 1/(4K) and 5/(16K).",
                rows,
                {"K": "K", "loss if wrong": "{loss:.4f}", "samples of each": "fewest", "samples / K": "{each:.1f}",
                 "ln(1/δ)/kl": "{change_of_measure:.0f}", "mk.least_samples": "{bound:.0f}"},
            ),
        ],
        pictures=[_picture(rows, slope)],
        facts={"confidence": CONFIDENCE},
        numbers={
            "step_two": cases,
            "coins": only(rows, "K", "loss", "fewest", "change_of_measure"),
            "least_samples": {r["K"]: r["bound"] for r in rows},
        },
        seeds={"random policies": SEED},
    )  # fmt: skip


def _proof_checks(cases: list[dict[str, Any]]) -> list[Check]:
    ratio, share, never = (min(c[name] for c in cases) for name in ("least_ratio", "least_share", "never_reached"))
    goal = max(c["optimum_over_H"] for c in cases)
    too_wide = difference_at(Fraction(4, 96 * 8196), 2, 4)
    return [
        check(
            f"step 2: loss ≥ (47/256) Δ H (KL − Σα), {sum(c['policies'] for c in cases)} policies",
            paper="always", ours=f"least loss {ratio:.3f} times that", holds=ratio >= 1,
        ),
        check(
            "share of the better action in an ε-optimal policy", paper="at least 1/2",
            ours=f"at least {text(share)}; 3/4 is needed, since two can tie at 1/2", holds=share >= Fraction(3, 4),
        ),
        check(
            "the goal is hard to reach: V* ≤ H/64", paper="1/64 H", ours=f"{float(goal):.5f} H",
            holds=goal <= Fraction(1, 64),
        ),
        check(
            "probability of never reaching it, (1 − p − Δ)^KH", paper="at least 1/4", ours=f"at least {never:.4f}",
            holds=never >= 0.25,
        ),
        check(
            "Δ ≤ p/2 on the range of ε", paper="ε ≤ H/(96·8196)",
            ours=f"ε ≤ H/(192·8192): Δ/p = {cases[0]['delta_over_p']}; the printed range gives {float(too_wide):.4f}",
            holds=all(c["delta_over_p"] == HALF for c in cases) and too_wide > HALF, as_printed=too_wide <= HALF,
        ),
    ]  # fmt: skip


def difference_at(epsilon: Fraction, K: int, H: int) -> Fraction:
    """``Δ/p`` at this epsilon."""
    return 8192 * epsilon / (K * H * H) / Fraction(1, 96 * K * H)


def _growth_checks(rows: list[dict[str, float]], slope: float) -> list[Check]:
    in_k = exponent(column(rows, "K"), column(rows, "bound"))
    in_h = exponent((4, 8, 16), [mk.least_samples(**SIZES, horizon=H, k=2) for H in (4, 8, 16)])
    return [
        check(
            "samples that tell two actions apart: exponent in K", paper=1,
            ours=f"{slope:.3f} (K = 4..{rows[-1]['K']})", holds=abs(slope - 1) < 0.1,
        ),
        check(
            "mk.least_samples: exponents in K and H", paper="1, 3", ours=f"{in_k:.3f}, {in_h:.3f}",
            holds=abs(in_k - 1) < 1e-9 and abs(in_h - 3) < 1e-9,
        ),
    ]  # fmt: skip


def _picture(rows: list[dict[str, float]], slope: float) -> Picture:
    figure, (left, right) = drawing.figure(2)
    ks = column(rows, "K")
    needs = f"needed: exponent {slope:.2f}"
    drawing.line(left, rows, "K", "fewest", "o-", color=drawing.BLUE, label=needs)
    drawing.line(left, rows, "K", "change_of_measure", "s--", color=drawing.ORANGE, label="ln(1/δ) / kl(p, p + Δ)")
    drawing.power_line(left, ks, rows[-1]["fewest"], 1, "slope 1")
    left.set(xscale="log", yscale="log", xlabel="rollouts K", ylabel="samples of each action")
    left.legend()
    drawing.line(right, rows, "K", "loss", "o-", color=drawing.BLUE)
    right.set(xscale="log", ylim=(0, 0.08), xlabel="rollouts K", ylabel="loss of the wrong action")
    for ax in (left, right):
        drawing.doubling_ticks(ax, ks)
    caption = (
        "Left: samples that show the better of two actions, by K; its chance shrinks like 1/K. Right: what confusing "
        "them costs, which hardly depends on K."
    )
    return Picture("theorem3", figure, caption)
