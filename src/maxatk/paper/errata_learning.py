"""Errors and remarks on learning: Section 4, Theorems 3 and 4 and their lemmas."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper import lemmas, theorem3
from maxatk.paper.claim import Check, check
from maxatk.paper.values import HALF, QUARTER, coins, optimum, value

SEED = 5

# Theorem 3.


def section42() -> Check:
    """Never playing the better of two actions loses about ``Δ K``, not ``Δ K²``."""
    ratio: dict[int, float] = {}
    for K in (4, 32):
        p = Fraction(1, 8 * K)
        mdp = coins(p + p / 2, p)
        lost = optimum(mdp, K) - value(mdp, mk.MarkovPolicy([[1]], k=K))
        ratio[K] = float(lost / (p / 2 * K))  # of Δ Σ(1 − α)
    return check(
        "Section 4.2: loss of never playing the better action (K = 4, 32)",
        paper=f"≳ ΔK Σ(1 − α): {', '.join(f'{r / K:.3f}' for K, r in ratio.items())} of that; so Σα ≳ K − Δ/ε",
        ours=f"≳ Δ Σ(1 − α): {', '.join(f'{r:.3f}' for r in ratio.values())} of that; so Σα ≳ K − ε/Δ",
        holds=all(0.5 < r <= 1 for r in ratio.values()), as_printed=all(r / K > 0.5 for K, r in ratio.items()),
    )  # fmt: skip


def theorem3_rewards() -> Check:
    """With reward 1 outside the goal, too, there is nothing to learn."""
    pair = [mk.instances.lower_bound(alternative=a) for a in (None, (0, 0))]
    printed = [optimum(m.with_rewards(np.ones(len(m.reward))), 2) for m in pair]
    right = [optimum(m, 2) for m in pair]
    return check(
        "Theorem 3: r(s_i, a) outside the goal", paper=f"1, which makes every value {printed[0]}",
        ours=f"0: the hidden action adds {float(right[1] - right[0]):.2e}",
        holds=right[1] > right[0], as_printed=printed[1] > printed[0],
    )  # fmt: skip


def theorem3_range() -> Check:
    """Whether Δ ≤ p/2 at the end of the range of epsilon."""
    K, H = 2, 4
    printed, right = (theorem3.difference_at(Fraction(H, n), K, H) for n in (96 * 8196, 192 * 8192))
    return check(
        "Theorem 3: Δ/p at the largest ε (K = 2, H = 4)", paper=f"ε ≤ H/(96·8196): {float(printed):.4f} > 1/2",
        ours=f"ε ≤ H/(192·8192): {right}", holds=right <= HALF, as_printed=printed <= HALF,
    )  # fmt: skip


def theorem3_event() -> Check:
    """Two actions can both have half of the mass, but not three quarters of it, which Step 2 gives all the same."""
    K, L = 2, 2
    taken = list(itertools.product((0, 1), repeat=K * L))
    half = max(sum(2 * t.count(a) >= K * L for a in (0, 1)) for t in taken)
    more = max(sum(4 * t.count(a) >= 3 * K * L for a in (0, 1)) for t in taken)
    return check(
        "Theorem 3, Step 3: actions that can pass the event at once", paper=f"Σα ≥ KL/2: {half}",
        ours=f"Σα ≥ 3KL/4: {more}; Step 2 gives {float(theorem3.SHARE):.4f} KL, so the bound stays the same",
        holds=more == 1 and theorem3.SHARE > 3 * QUARTER, as_printed=half == 1,
    )  # fmt: skip


def theorem3_step4() -> Check:
    """Three factors between the lines of Step 4. They cancel: the last line holds."""
    K, H = 2, 4
    p = Fraction(1, 96 * K * H)
    gap = p / 2
    by_variation = gap**2 / (p + gap) / (gap**2 / p)  # TV = Δ; all in units of Δ²/p
    kl = theorem3.bernoulli_kl(float(p), float(p + gap)) / float(gap**2 / p)
    allowed = 1 / (2 * (1 - p))  # kl ≤ Δ²/(2p(1 − p))
    end = theorem3.constants_compared()["own_constants"]
    return check(
        "Theorem 3, Step 4: factors (at Δ = p/2)",
        paper="TV²/(p + Δ) = 8Δ²/p; p/(8Δ²) grows to p/(2Δ²); p/(16Δ²) = c₀KH³/(8c₁²ε²)",
        ours=f"TV²/(p + Δ) = ({by_variation}) Δ²/p; kl = {kl:.3f} Δ²/p, at most Δ²/(2p(1 − p)), allows p/(2Δ²) and "
        f"more; p/(16Δ²) = c₀KH³/(16c₁²ε²). They cancel: {end:.3f} times the last line is proved",
        holds=kl <= allowed and by_variation == Fraction(2, 3) and end >= 1, as_printed=by_variation == 8,
    )  # fmt: skip


# Theorem 4.


def lemma_constants(variance: float, split: float) -> list[Check]:
    """The two lemmas with constants that can be improved."""
    return [
        check(
            "variance lemma: the largest sum over all policies, in H²", paper="at most 3",
            ours=f"at most 1 is proved; {variance:.4f} seen", holds=variance <= 1, tight=variance > 1,
        ),
        check(
            "error decomposition: the largest loss, in C + C", paper="at most 4, and 3Hκ",
            ours=f"at most 2 is proved, and Hκ; {split:.4f} seen", holds=split <= 2, tight=split > 2,
        ),
    ]  # fmt: skip


def reset_state() -> Check:
    """One table on (s, M, G) for two start states: what is best in the first rollout depends on where resets lead.

    From x every rollout comes to c, where the choice of Figure 1 waits (γ = 1/10). From y it does so by a coin; else it
    earns a sure 1/2.
    """
    g = Fraction(1, 10)
    table = {
        0: {0: [(1, 2, 0, False)]},  # x
        1: {0: [(HALF, 2, 0, False), (HALF, 3, 0, False)]},  # y
        2: {0: [(1 - g, 2, HALF, True), (g, 2, 0, True)], 1: [(QUARTER, 2, 1, True), (3 * QUARTER, 2, 0, True)]},
        3: {0: [(1, 3, HALF, True)]},
    }
    problems = [mk.MDP.from_table(table, horizon=2, start=s) for s in (0, 1)]
    plans = [mk.solve(m, 2, solver=mk.Exact()) for m in problems]
    first = [p.policy.action(rollout=0, step=1, state=2, best=-math.inf, so_far=0) for p in plans]
    bests = [Fraction(0), HALF, Fraction(1)]
    regrets: list[Fraction] = []
    for actions in itertools.product((0, 1), repeat=1 + len(bests)):  # at c: first rollout; second by M

        def choose(i: int, h: int, s: int, m: Any, g: Any, actions: tuple[int, ...] = actions) -> int:
            return 0 if s != 2 else actions[1 + bests.index(m)] if i else actions[0]

        policy = mk.AdaptivePolicy(choose, k=2, horizon=2)
        regrets.append(max(p.exact - value(m, policy) for p, m in zip(plans, problems, strict=True)))
    return check(
        f"Theorem 4: one table on (s, M, G) for all start states ({len(regrets)} tables, 2 start states)",
        paper="some table is optimal for all",
        ours=f"the best loses {min(regrets)} from one of them: it must know the reset state",
        holds=first[0] != first[1] and min(regrets) > 0, as_printed=min(regrets) == 0,
    )  # fmt: skip


SIZES: dict[str, Any] = {"n_states": 10, "n_actions": 4, "horizon": 10, "k": 4, "epsilon": 0.1}


def theorem4_constants() -> Check:
    """The number of samples with the printed and with the tight constants."""
    paper, tight = (mk.sample_size(**SIZES, delta=0.1, constants=c).per_pair for c in ("paper", "tight"))
    return check(
        "Theorem 4: constants of m (S = 10, A = 4, H = 10, K = 4, ε = δ = 0.1)",
        paper=f"128, 384, 1152: m = {paper:.3g}",
        ours=f"valid; 32 and 64 are proved: m = {tight:.3g}, {paper / tight:.1f} times fewer",
        holds=tight < paper, tight=tight >= paper,
    )  # fmt: skip


def theorem4_starts() -> Check:
    """The union over start states."""
    paper, every = (mk.sample_size(**SIZES, delta=delta).per_pair for delta in (0.1, Fraction(1, 100)))
    return check(
        "Theorem 4: the union over start states", paper=f"m = {paper:.4g} for all of them",
        ours=f"a factor S in the logarithm: m = {every:.4g}", holds=every > paper, as_printed=every == paper,
    )  # fmt: skip


def queries() -> Check:
    """The number of samples of every row."""
    model = mk.TabularModel(mk.instances.figure1())
    learner = mk.Uniform(constants="paper", planner="midpoint")
    out = mk.learn(model, 2, epsilon=1.0, delta=0.1, learner=learner, rng=SEED)
    m = out.stats["per_row"]
    return check(
        "Section 4.3: how often each (s, a) is queried", paper="“(s, a) times”",
        ours=f"m times: {' and '.join(str(n) for n in out.counts.tolist())} in a run with m = {m}",
        holds=all(n == m for n in out.counts), as_printed=False,
    )  # fmt: skip


def last_step() -> Check:
    """The next state after the last step does not matter."""
    mdp = lemmas.small_problem(np.random.default_rng(SEED), H=2)
    steps: Any = [
        [[[(p, t if h == 0 else 1 - (t or 0), r, False) for p, t, r in mdp.exact_outcomes(h, s, a)] for a in (0, 1)]
         for s in range(2)]
        for h in range(2)
    ]  # fmt: skip
    changed, best = optimum(mk.MDP.from_table(steps, horizon=2), 2), optimum(mdp, 2)
    return check(
        "p_H, the kernel of the last step (a random problem)", paper="sampled like p_1..p_{H−1}",
        ours=f"never used: {best} with it, {changed} with another; step H need not be sampled",
        holds=changed == best, remark=True,
    )  # fmt: skip


def high_probability_lemma() -> Check:
    """``√(2LKH³)`` follows from H² in the variance lemma, not from its 3H²; the theorem's m is enough either way."""
    left = {factor: 8 * math.sqrt(factor / 1152) + 8 / 1152 + 3 / 9 for factor in (2, 6)}  # at m and κ = ε/(9H), in ε
    return check(
        "high-probability lemma: √(2L · KH · variances)", paper="√(2LKH³), by the variance lemma with 3H²",
        ours=f"3H² gives √(6LKH³); H², which holds, gives the printed √(2LKH³). The theorem's m is enough either way: "
        f"the loss is at most {left[6]:.4f} ε or {left[2]:.4f} ε",
        holds=max(left.values()) <= 1, remark=True,
    )  # fmt: skip


def simulation_lemmas() -> Check:
    """``|V − V̂|`` before a coin that leads to 1 or 0, and the right side of the recursion, which is larger by D."""
    true, wrong = (coins(p) for p in (HALF, HALF + Fraction(1, 8)))
    off = abs(optimum(true, 1) - optimum(wrong, 1))  # also |(T − T̂)V|: after the coin V and V̂ are the same
    apart = 2 * Fraction(1, 8)  # the L1 distance of the rows
    right = off + apart * off
    return check(
        "simulation lemmas: |V − V̂| and |(T − T̂)V| + T|V − V̂| + D (coins of 1/2 and 5/8)", paper="equal",
        ours=f"at most: {off} and {right}", holds=off <= right, as_printed=off == right,
    )  # fmt: skip


def union_over_rollouts() -> Check:
    """How many events are in ℰ₂, and over how many the printed sum goes."""
    X, A, H, K, delta = 30, 2, 3, 4, Fraction(1, 10)
    printed, right = (n * delta / (2 * X * H * K * A) for n in (X * A * H, X * A * H * K))
    return check(
        "high-probability lemma: the union bound for ℰ₂ (K = 4, δ = 1/10)",
        paper=f"Σ over (x, a, h): δ/(2K) = {printed}",
        ours=f"Σ over (x, a, h, i): δ/2 = {right}, which is what the proof goes on with",
        holds=right == delta / 2, as_printed=printed == right,
    )  # fmt: skip


LINES = (
    section42, theorem3_rewards, theorem3_range, theorem3_event, theorem3_step4, reset_state, theorem4_constants,
    theorem4_starts, queries, last_step, high_probability_lemma, simulation_lemmas, union_over_rollouts,
)  # fmt: skip
