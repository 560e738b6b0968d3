"""Theorem 3: every learner needs samples in proportion to K."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, exponent, text

SEED = 3
CONFIDENCE = 0.9


def step_two(K: int, H: int, policies: int | None) -> dict[str, Any]:
    """Step 2 of the proof in fractions, on one state with two actions of which action 0 is better.

    Every deterministic policy on (h, i), or so many random ones: its loss against ``(47/256) Δ H (K H/4 − Σ α)``, where
    ``Σ α`` counts the better action in the first quarters of all rollouts.
    """
    epsilon = Fraction(H, 192 * 8192)
    p, delta = Fraction(1, 96 * K * H), 8192 * epsilon / (K * H * H)
    mdp = mk.instances.lower_bound(2, 2, H, K, epsilon, alternative=(0, 0))
    optimum = mk.solve(mdp, K, solver=mk.Exact()).exact
    tables: Any  # [policies, K, H]
    if policies is None:
        tables = np.array(list(itertools.product((0, 1), repeat=K * H))).reshape(-1, K, H)
    else:
        rng = np.random.default_rng(SEED)
        tables = (rng.random((policies, K, H)) < rng.random((policies, 1, 1))).astype(int)
    least = math.inf
    worst_good = Fraction(1)  # the least share of the better action of any policy that is within epsilon
    for table in tables:
        value = mk.evaluate(mdp, mk.MarkovPolicy(np.stack([table, table], axis=2))).exact
        assert value is not None
        mass = int((table[:, : H // 4] == 0).sum())
        missed = K * H // 4 - mass
        if missed:
            bound = Fraction(47, 256) * delta * H * missed
            least = min(least, float((optimum - value) / bound))
        if optimum - value <= epsilon:
            worst_good = min(worst_good, Fraction(4 * mass, K * H))
    goal = mk.solve(mk.instances.lower_bound(2, 2, H, K, epsilon, start=1), K, solver=mk.Exact()).exact
    return {
        "K": K, "H": H, "policies": len(tables), "least_ratio": least, "least_share": worst_good,
        "optimum_over_H": optimum / H, "from_goal": goal / H, "delta_over_p": delta / p,
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


def coins(ks: list[int]) -> list[dict[str, float]]:
    """Section 4.2's example: chances 1/(4K) and 5/(16K) of a reward of 1, so that the wrong action costs the same."""
    rows: list[dict[str, float]] = []
    for K in ks:
        p, q = 1 / (4 * K), 5 / (16 * K)
        rows.append(
            {
                "K": K,
                "loss": (1 - p) ** K - (1 - q) ** K,
                "fewest": fewest(p, q),
                "change_of_measure": math.log(1 / (1 - CONFIDENCE)) / bernoulli_kl(p, q),
            }
        )
    return rows


def run(effort: Effort) -> Claim:
    """Recompute Theorem 3."""
    effort.tell("step 2: all policies")
    cases = [step_two(1, 4, None), step_two(2, 4, None)]
    for K, H in effort.pick(((3, 8), (6, 4)), ((3, 8), (6, 4), (4, 12), (8, 8), (12, 4))):
        effort.tell(f"step 2 at K = {K}, H = {H}")
        cases.append(step_two(K, H, effort.pick(20, 100)))
    ks = effort.pick([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64, 128, 256])
    effort.tell("samples that tell two actions apart")
    rows = coins(ks)
    sizes: dict[str, Any] = {"n_states": 3, "n_actions": 2, "horizon": 4, "epsilon": 1e-6, "delta": 0.05}
    bound = {K: mk.least_samples(**sizes, k=K) for K in ks}
    tail = [r for r in rows if r["K"] >= 4]
    slope = exponent([r["K"] for r in tail], [r["fewest"] for r in tail])
    in_h = [mk.least_samples(**{**sizes, "horizon": H}, k=2) for H in (4, 8, 16)]
    paper_range = Fraction(4, 96 * 8196)
    too_wide = 8192 * paper_range / (2 * 16) / Fraction(1, 96 * 2 * 4)  # Δ/p at the end of the printed range, H=4, K=2
    claim = Claim(
        name="theorem3",
        title="Theorem 3: a lower bound for learning, linear in K",
        paper="For every K there is a family of problems on which every (ε, δ)-correct learner draws at least "
        "Ω(K S A H³ ε⁻² ln(1/δ)) samples: K times as many as ordinary reinforcement learning. The goal is reached with "
        "probability p = c₀/(KH) at every step, and with p + Δ, Δ = c₁ε/(KH²), by one hidden action.",
        method="Step 2 of the proof in fractions: the loss of every deterministic policy on the alternative instance "
        "(of random ones where there are too many) against the proof's bound, and the inequalities it uses. The growth "
        "in K: the formula with its constants, and, for the example of Section 4.2, the exact number of samples that "
        f"shows the better of two actions with probability {CONFIDENCE}.",
        letters=[
            ("M_0, M_{s,a}", "mk.instances.lower_bound(..., alternative=None or (s, a))"),
            ("c_0, c_1", "1/96, 8192"),
            ("L", "H/4"),
            ("α", "whether the policy takes the better action"),
            ("E[τ_δ] ≥", "mk.least_samples(...)"),
        ],
        seeds={"random policies": SEED},
    )
    claim.checks = [
        check(
            f"step 2: loss ≥ (47/256) Δ H (KL − Σα), {sum(c['policies'] for c in cases)} policies",
            paper="always",
            ours=f"least loss {min(c['least_ratio'] for c in cases):.3f} times that",
            holds=min(c["least_ratio"] for c in cases) >= 1,
        ),
        check(
            "share of the better action in an ε-optimal policy",
            paper="at least 1/2",
            ours=f"at least {text(min(c['least_share'] for c in cases))}; 3/4 is needed, since two can tie at 1/2",
            holds=all(c["least_share"] >= Fraction(3, 4) for c in cases),
        ),
        check(
            "the goal is hard to reach: V* ≤ H/64",
            paper="1/64 H",
            ours=f"{float(max(c['optimum_over_H'] for c in cases)):.5f} H",
            holds=all(c["optimum_over_H"] <= Fraction(1, 64) for c in cases),
        ),
        check(
            "probability of never reaching it, (1 − p − Δ)^KH",
            paper="at least 1/4",
            ours=f"at least {min(c['never_reached'] for c in cases):.4f}",
            holds=min(c["never_reached"] for c in cases) >= 0.25,
        ),
        check(
            "Δ ≤ p/2 on the range of ε",
            paper="ε ≤ H/(96·8196)",
            ours=f"ε ≤ H/(192·8192): Δ/p = {cases[0]['delta_over_p']}; the printed range gives {float(too_wide):.4f}",
            holds=all(c["delta_over_p"] == Fraction(1, 2) for c in cases) and too_wide > Fraction(1, 2),
            as_printed=too_wide <= Fraction(1, 2),
        ),
        check(
            "samples that tell two actions apart: exponent in K",
            paper=1,
            ours=f"{slope:.3f} (K = 4..{ks[-1]})",
            holds=abs(slope - 1) < 0.1,
        ),
        check(
            "mk.least_samples: exponents in K and H",
            paper="1, 3",
            ours=f"{exponent(ks, list(bound.values())):.3f}, {exponent((4, 8, 16), in_h):.3f}",
            holds=abs(exponent(ks, list(bound.values())) - 1) < 1e-9 and abs(exponent((4, 8, 16), in_h) - 3) < 1e-9,
        ),
    ]
    claim.tables = [
        Table(
            "Step 2 in exact arithmetic.",
            ("K", "H", "policies", "least loss / bound", "least share if ε-optimal", "V*/H", "V* from the goal / H"),
            [
                (
                    *(c["K"], c["H"], c["policies"], f"{c['least_ratio']:.3f}", c["least_share"]),
                    *(f"{float(c['optimum_over_H']):.5f}", c["from_goal"]),
                )
                for c in cases
            ],
        ),
        Table(
            "Two actions that succeed with 1/(4K) and 5/(16K).",
            ("K", "loss if wrong", "samples of each", "samples / K", "ln(1/δ)/kl", "mk.least_samples"),
            [
                (
                    *(r["K"], f"{r['loss']:.4f}", r["fewest"], f"{r['fewest'] / r['K']:.1f}"),
                    *(f"{r['change_of_measure']:.0f}", f"{bound[int(r['K'])]:.0f}"),
                )
                for r in rows
            ],
        ),
    ]
    picture, (left, right) = drawing.figure(2)
    left.plot(ks, [r["fewest"] for r in rows], "o-", color=drawing.BLUE, label=f"needed: exponent {slope:.2f}")
    left.plot(ks, [r["change_of_measure"] for r in rows], "s--", color=drawing.ORANGE, label="ln(1/δ) / kl(p, p + Δ)")
    drawing.power_line(left, ks, rows[-1]["fewest"], 1, "slope 1")
    left.set_xscale("log")
    left.set_yscale("log")
    drawing.doubling_ticks(left, ks)
    left.set_xlabel("rollouts K")
    left.set_ylabel("samples of each action")
    left.legend()
    right.plot(ks, [r["loss"] for r in rows], "o-", color=drawing.BLUE)
    right.set_xscale("log")
    drawing.doubling_ticks(right, ks)
    right.set_ylim(0, 0.08)
    right.set_xlabel("rollouts K")
    right.set_ylabel("loss of the wrong action")
    claim.pictures = [
        Picture("theorem3", picture, "Left: samples that show the better of two actions, by K; its chance shrinks like "
                "1/K. Right: what confusing them costs, which hardly depends on K."),
    ]  # fmt: skip
    claim.numbers = {"step_two": cases, "coins": rows, "least_samples": {str(k): v for k, v in bound.items()}}
    return claim
