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
CONSTANTS = {"paper": (Fraction(1, 96), 8192), "tight": (Fraction(1, 9), 17)}  # c₀, c₁
SHARE = 1 - 4 * Fraction(256, 47 * 8192)  # of the better action in an ε-optimal policy, by step 2
SIZES: dict[str, Any] = {"n_states": 3, "n_actions": 2, "epsilon": 0.01, "delta": 0.05}


def policies(K: int, H: int, count: int | None) -> Any:
    """Every deterministic policy on (h, i), or a number of random ones, with two actions [policies, K, H]."""
    if count is None:
        return np.array(list(itertools.product((0, 1), repeat=K * H))).reshape(-1, K, H)
    rng = np.random.default_rng(SEED)
    return (rng.random((count, K, H)) < rng.random((count, 1, 1))).astype(int)


def largest(H: int, constants: str = "paper") -> Fraction:
    """The largest ε for which ``Δ ≤ p/2``: ``c₀H/(2c₁)``."""
    c0, c1 = CONSTANTS[constants]
    return c0 * H / (2 * c1)


def per_miss(constants: str) -> Fraction:
    """What each missed choice costs at least, in units of ΔH: as printed, or with nothing given away in Step 2."""
    c0, _ = CONSTANTS[constants]
    return Fraction(47, 256) if constants == "paper" else (Fraction(3, 4) - 3 * c0 / 2) * (1 - 3 * c0 / 2)


def step_two(K: int, H: int, count: int | None, constants: str = "paper") -> dict[str, Any]:
    """Step 2 of the proof in fractions, on one state with two actions of which action 0 is better.

    The loss of policies against ``per_miss Δ H (K H/4 − Σ α)``, where ``Σ α`` counts the better action in the first
    quarters of all rollouts. Loss and bound are linear in every α, so that deterministic policies are enough.
    """
    c0, c1 = CONSTANTS[constants]
    epsilon = largest(H, constants)
    p, delta = c0 / (K * H), c1 * epsilon / (K * H * H)
    mdp = mk.instances.lower_bound(2, 2, H, K, epsilon, alternative=(0, 0), constants=constants)
    best, tables = optimum(mdp, K), policies(K, H, count)
    least = least_of_half = math.inf  # the latter in ε: what policies lose that have no more than half of the mass
    least_share = Fraction(1)  # of the better action in any policy that is within ε
    for table in tables:
        lost = best - value(mdp, mk.MarkovPolicy(np.stack([table, table], axis=2)))
        mass = int((table[:, : H // 4] == 0).sum())
        missed = K * H // 4 - mass
        if missed:
            least = min(least, float(lost / (per_miss(constants) * delta * H * missed)))
        if missed >= mass:
            least_of_half = min(least_of_half, float(lost / epsilon))
        if lost <= epsilon:
            least_share = min(least_share, Fraction(4 * mass, K * H))
    goal = optimum(mk.instances.lower_bound(2, 2, H, K, epsilon, start=1, constants=constants), K)
    return {
        "constants": constants, "K": K, "H": H, "epsilon": epsilon, "policies": len(tables), "least_ratio": least,
        "least_of_half": least_of_half, "least_share": least_share, "optimum_over_H": best / H, "from_goal": goal / H,
        "delta_over_p": delta / p, "never_reached": float((1 - p - delta) ** (K * H)),
    }  # fmt: skip


def proved(S: int, A: int, H: int, K: int, epsilon: float, delta: float) -> tuple[float, float]:
    """What the proof gives with its own constants, ``(S−1)[(A−1) ln(1/δ) − A ln 2]/kl(p, p+Δ)``; what is printed."""
    c0, c1 = (float(c) for c in CONSTANTS["paper"])
    p, gap = c0 / (K * H), c1 * epsilon / (K * H**2)
    log = math.log(1 / delta)
    printed = c0 / (8 * c1**2) * K * S * A * H**3 / epsilon**2 * log
    return (S - 1) * ((A - 1) * log - A * math.log(2)) / bernoulli_kl(p, p + gap), printed


def constants_compared() -> dict[str, float]:
    """Over a grid of sizes: how much more the proof gives than is printed, and how much more mk.least_samples is."""
    rows: list[tuple[float, float]] = []
    grid = itertools.product((2, 3, 20), (2, 3, 10), (4, 8, 40), (1, 2, 10), (1 / 16, 0.05, 1e-6), (1, 1000))
    for S, A, H, K, delta, part in grid:
        epsilon = float(largest(H) / part)
        more, printed = proved(S, A, H, K, epsilon, delta)
        sizes: dict[str, Any] = {"n_states": S, "n_actions": A, "horizon": H, "k": K, "delta": delta}
        rows.append((more / printed, mk.least_samples(**sizes, epsilon=epsilon) / printed))
    own, better = (min(column) for column in zip(*rows, strict=True))
    return {"cases": len(rows), "own_constants": own, "better_constants": better}


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
    cases: list[dict[str, Any]] = []
    for constants in CONSTANTS:
        effort.tell(f"step 2 with the {constants} constants: all policies")
        cases += [step_two(1, 4, None, constants), step_two(2, 4, None, constants)]
        for K, H in effort.pick(((3, 8), (6, 4)), ((3, 8), (6, 4), (4, 12), (8, 8), (12, 4))):
            effort.tell(f"step 2 with the {constants} constants at K = {K}, H = {H}")
            cases.append(step_two(K, H, effort.pick(20, 100), constants))
    effort.tell("samples that tell two actions apart")
    rows = [two_coins(2**j) for j in range(effort.pick(7, 9))]
    tail = [r for r in rows if r["K"] >= 4]
    slope, compared = exponent(column(tail, "K"), column(tail, "fewest")), constants_compared()
    return Claim(
        "theorem3",
        checks=[*_proof_checks(cases), *_constant_checks(cases, compared), *_growth_checks(rows, slope)],
        tables=[
            Table.of(
                "Step 2 in exact arithmetic, at the largest ε: c₀ = 1/96, c₁ = 8192 (paper) and c₀ = 1/9, c₁ = 17 "
                "(tight). The bound is (47/256) Δ H (KL − Σα) with the former, (35/72) Δ H (KL − Σα) with the latter.",
                [{**c, "share": float(c["optimum_over_H"]), "at": float(c["epsilon"])} for c in cases],
                {"constants": "constants", "ε": "{at:.2g}", "K": "K", "H": "H", "policies": "policies",
                 "least loss / bound": "{least_ratio:.3f}", "least loss / ε if Σα ≤ KL/2":
                 "{least_of_half:.3f}", "least share if ε-optimal": "least_share", "V*/H": "{share:.5f}",
                 "V* from the goal / H": "from_goal"},
            ),
            Table.of(
                "Two actions that succeed with 1/(4K) and 5/(16K). Last: what Theorem 3 says of 3 states, 2 actions, "
                "H = 4, ε = 0.01 and δ = 0.05.",
                rows,
                {"K": "K", "loss if wrong": "{loss:.4f}", "samples of each": "fewest", "samples / K": "{each:.1f}",
                 "ln(1/δ)/kl": "{change_of_measure:.0f}", "mk.least_samples": "{bound:.0f}"},
            ),
        ],
        pictures=[_picture(rows, slope)],
        facts={"confidence": CONFIDENCE},
        numbers={
            "step_two": cases,
            "constants": compared,
            "coins": only(rows, "K", "loss", "fewest", "change_of_measure"),
            "least_samples": {r["K"]: r["bound"] for r in rows},
        },
        seeds={"random policies": SEED},
    )  # fmt: skip


def _proof_checks(every: list[dict[str, Any]]) -> list[Check]:
    cases = [c for c in every if c["constants"] == "paper"]
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
            ours=f"at least {float(SHARE):.4f} by step 2 (seen: {text(share)}). More than 1/2 is needed: two actions "
            "can both have 1/2",
            holds=share >= SHARE > HALF, tight=False,
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


def _constant_checks(every: list[dict[str, Any]], compared: dict[str, float]) -> list[Check]:
    cases = [c for c in every if c["constants"] == "tight"]
    ratio, half = (min(c[name] for c in cases) for name in ("least_ratio", "least_of_half"))
    short, long = (float(pick(c["epsilon"] for c in cases)) for pick in (min, max))
    own, better = compared["own_constants"], compared["better_constants"]
    return [
        check(
            f"the constant of the bound, {compared['cases']} sizes", paper="c₀/(8c₁²), c₀ = 1/96, c₁ = 8192",
            ours=f"the proof gives {own:.3f} times that or more: c₀/({8 / own:.2f}c₁²)",
            holds=own >= 1, tight=own < 1,
        ),
        check(
            "better constants: c₀ = 1/9, c₁ = 17, for ε ≤ H/306",
            ours=f"mk.least_samples is at least {better / 1e6:.2f} million times the printed bound",
            holds=better > 4.8e6,
        ),
        check(
            f"the family with these constants at ε = {short:.3f} to {long:.3f}: loss ≥ (35/72) Δ H (KL − Σα), "
            f"{sum(c['policies'] for c in cases)} policies",
            ours=f"least loss {ratio:.3f} times that; policies with Σα ≤ KL/2 lose at least {half:.3f} ε",
            holds=ratio >= 1 and half > 1 and all(c["delta_over_p"] == HALF for c in cases),
        ),
    ]  # fmt: skip


def difference_at(epsilon: Fraction, K: int, H: int) -> Fraction:
    """``Δ/p`` at this epsilon."""
    return 8192 * epsilon / (K * H * H) / Fraction(1, 96 * K * H)


def _growth_checks(rows: list[dict[str, float]], slope: float) -> list[Check]:
    sizes: dict[str, Any] = {**SIZES, "epsilon": 1e-6}  # small, where kl(p, p + Δ) is close to its limit Δ²/(2p(1 − p))
    ks, hs = (4, 8, 16, 32), (4, 8, 16)
    in_k = exponent(ks, [mk.least_samples(**sizes, horizon=4, k=K) for K in ks])
    in_h = exponent(hs, [mk.least_samples(**sizes, horizon=H, k=2) for H in hs])
    return [
        check(
            "samples that tell two actions apart: exponent in K", paper=1,
            ours=f"{slope:.3f} (K = 4..{rows[-1]['K']})", holds=abs(slope - 1) < 0.1,
        ),
        check(
            "mk.least_samples: exponents in K and H (ε = 10^−6)", paper="1, 3", ours=f"{in_k:.3f}, {in_h:.3f}",
            holds=abs(in_k - 1) < 0.01 and abs(in_h - 3) < 0.01,
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
