"""The paper's slips, each shown by a computed line: what is printed, and what holds."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper import drawing, figure1, lemmas, proposition1, theorem1, theorem2, theorem3
from maxatk.paper.claim import Check, Claim, Effort, Picture, check
from maxatk.paper.values import HALF, QUARTER, coins, optimum, value

SEED = 5

# Figure 1, the letters, the footnote.


def figure1_text() -> Check:
    """Which action pays 1/2, and which pairs of actions Markov policies choose from."""
    mdp = mk.instances.figure1(gamma=Fraction(1, 10))
    pays = {a: max(o.reward for o in mdp.exact_outcomes(0, 0, a)) for a in (0, 1)}
    once = value(mdp, mk.MarkovPolicy([[[0]], [[1]]]))
    twice = [value(mdp, mk.MarkovPolicy([[a]], k=2)) for a in (0, 1)]
    return check(
        "Figure 1, text: the action that pays 1/2; the other Markov policies", paper="risky; both a_s and a_r",
        ours=f"safe; the same twice ({twice[0]}, {twice[1]} against {once} for one each)",
        holds=pays == {0: HALF, 1: 1} and once > max(twice), as_printed=pays[1] == HALF,
    )  # fmt: skip


def figure1_value() -> Check:
    """The adaptive value, at one gamma."""
    printed, best = figure1.printed(QUARTER), optimum(mk.instances.figure1(gamma=QUARTER), 2)
    return check(
        "Figure 1, value at γ = 1/4", paper=f"5/8 − γ(1/8 + γ) = {printed}", ours=f"5/8 − γ/8 − γ²/2 = {best}",
        holds=best == figure1.corrected(QUARTER), as_printed=best == printed,
    )  # fmt: skip


def start_of_best() -> Check:
    """M before the first rollout: 0 will do only if no return is negative."""
    mdp = mk.MDP.from_table([[[(HALF, 0, -1, True), (HALF, 0, -2, True)]]], horizon=1)
    best, with_zero = optimum(mdp, 2), optimum(mdp, 2, best=0)
    same = optimum(mk.instances.proposition3(), 2) == optimum(mk.instances.proposition3(), 2, best=0)
    return check(
        "M before the first rollout (returns −1 or −2, two tries)", paper=f"M₀ = 0, which makes it {with_zero}",
        ours=f"M₁ = 0 for rewards ≥ 0, else −∞: {best}",
        holds=same and best == Fraction(-5, 4), as_printed=best == with_zero,
    )  # fmt: skip


def return_so_far() -> Check:
    """G when step h is decided: rewards before it. Including its own is impossible where that depends on the action."""
    mdp = mk.instances.footnote(horizon=3)
    before = [{Fraction(0)}]
    for h in range(3):
        before.append({g + o.reward for g in before[-1] for a in (0, 1) for o in mdp.exact_outcomes(h, 0, a)})
    sizes = [len(returns) for returns in before]
    return check(
        "G_{h,i}, and |C_h| in the footnote (h = 1, 2, 3)",
        paper=f"sum up to h; 2^h: {', '.join(str(n) for n in sizes[1:])}",
        ours=f"sum before h; 2^(h−1): {', '.join(str(n) for n in sizes[:3])}; |B| = {sizes[3]}",
        holds=sizes == [1, 2, 4, 8], as_printed=sizes[:3] == [2, 4, 8],
    )  # fmt: skip


# Propositions 1 and 3.


def proposition1_range() -> Check:
    """The ratio at K = 2."""
    mdp = mk.instances.proposition1(k=2)
    ratio = optimum(mdp, 2) / proposition1.all_markov_policies(2)
    return check(
        "Proposition 1 with μ = 1/2 at K = 2", paper="any K ≥ 2 shows a gap", ours=f"ratio {ratio}: needs μ > 1/K",
        holds=ratio == 1, as_printed=ratio > 1,
    )  # fmt: skip


def proposition1_exponent() -> Check:
    """``1 − β^{(1−x)K} ≤ (1−x)/K``, where the proof prints ``β^{xK}``."""
    K = 100
    beta = 1 - 1 / K**2
    xs = [j / 10 for j in range(11)]
    right = all(1 - beta ** ((1 - x) * K) <= (1 - x) / K + 1e-15 for x in xs)
    wrong = all(1 - beta ** (x * K) <= (1 - x) / K + 1e-15 for x in xs)
    return check(
        "Proposition 1, proof: 1 − β^? ≤ (1 − x)/K",
        paper="β^{xK}" + ("" if wrong else f": {1 - beta ** (0.9 * K):.4f} > {0.1 / K:.4f} at x = 0.9"),
        ours="β^{(1−x)K}", holds=right, as_printed=wrong,
    )  # fmt: skip


def proposition3_missing() -> Check:
    """The value without M."""
    best = mk.compare(mk.instances.proposition3(), 2)["without M"].exact
    return check("Proposition 3: OPT_noM", ours=best, holds=best == Fraction(41, 32))


# Theorems 1 and 2.


def theorem1_constant() -> Check:
    """The largest loss of the midpoint planner."""
    n, H = 4, 3
    lost, _ = theorem1.worst_case(n, H, 2)
    return check(
        "Theorem 1, the constant (κ = 1/4, H = 3)", paper=f"2κH = {Fraction(2 * H, n)}", ours=f"κH = {lost}, attained",
        holds=lost == Fraction(H, n), as_printed=lost <= Fraction(2 * H, n), tight=lost == Fraction(2 * H, n),
    )  # fmt: skip


def theorem1_time() -> Check:
    """The running time with kappa = epsilon/H has the factor K: as many curves as rollouts."""
    mdp = mk.instances.random_dense(4, 2, 3, rewards=[0, 0.25, 0.5, 1], rng=SEED)
    work = {k: mk.solve(mdp, k, solver=mk.Exact()).stats["histories"] for k in (4, 8, 16)}
    step = (work[16] - work[8]) / (work[8] - work[4])
    return check(
        "Theorem 1, text: O(H⁵S²A/ε²) has no K", paper="histories do not grow with K",
        ours=f"times K: {', '.join(f'{v:.0f}' for v in work.values())} at K = 4, 8, 16",
        holds=abs(step - 2) < 0.1, as_printed=work[4] == work[16],
    )  # fmt: skip


def grid_of_midpoints() -> Check:
    """The printed grid where kappa is not 1/n."""
    kappa = Fraction(3, 10)
    last = max(kappa * (j - HALF) for j in range(1, math.ceil(1 / kappa) + 1))
    return check(
        "the grid for κ = 3/10", paper=f"points up to {last} in [0, 1]", ours="κ = 1/n",
        holds=last > 1, as_printed=last <= 1,
    )  # fmt: skip


def theorem2_last_state() -> Check:
    """Where the prize L + 3 is paid: the instance with the last state of its own decides; without it, not."""
    weights, target = [2, 4], 3
    mdp = mk.instances.subset_sum(weights, target)
    last = mdp.n_states - 1
    prize = max(o.reward for o in mdp.exact_outcomes(0, last, 0)) * (target + 5 + sum(weights))
    return check(
        "Theorem 2: the state that pays L + 3 (n = 2)", paper="s_n, which pays w_n too",
        ours=f"s_{last}: pays {prize} or 0",
        holds=prize == target + 3 and last == len(weights) + 1, as_printed=last == len(weights),
    )  # fmt: skip


def gap_in_beta(weights: list[int], target: int) -> Fraction:
    """``(Q⁻ − Q⁺)/β`` after a safe first rollout."""
    difference, beta = theorem2.gap(weights, target)
    return difference / beta


def theorem2_identity() -> Check:
    """``Q⁻ − Q⁺`` (the proof prints Q⁺ twice) is ``(P[X = L]/2 − η P[X ≥ L])/C`` (it prints T for L)."""
    weights, L = [3, 5, 7], 8
    n = len(weights)
    sums = [
        sum(w for w, z in zip([*weights, L + 3], taken, strict=True) if z)
        for taken in itertools.product((0, 1), repeat=n + 1)
    ]
    equal, at_least = (Fraction(sum(yes), len(sums)) for yes in ([x == L for x in sums], [x >= L for x in sums]))
    right = (equal / 2 - Fraction(1, 8 * 2**n) * at_least) * 16 * 2**n  # in β
    gap = gap_in_beta(weights, L)
    plus = sum(max(Fraction(1, 8 * 2**n) + x - L, 0) for x in sums) / len(sums)  # C Q⁺, and what is called so below it
    again = sum(max(x - L + 2 * z - 1, 0) for x in sums for z in (0, 1)) / Fraction(2 * len(sums))
    return check(
        "Theorem 2: Q⁻ − Q⁺ for weights 3, 5, 7 and L = 8",
        paper=f"Q⁺ twice, as {plus}/C and as {again}/C; an undefined T",
        ours=f"the second is Q⁻, T = L: {gap} β either way" if gap == right else f"{gap} β against {right} β",
        holds=gap == right, as_printed=plus == again,
    )  # fmt: skip


def theorem2_threshold() -> Check:
    """A no-instance with a gap of just −β."""
    gap = gap_in_beta([4, 4], 9)
    return check(
        "Theorem 2: the gap of a no-instance (weights 4, 4; L = 9)", paper="a threshold of β decides",
        ours=f"{gap} β: the threshold must be strictly below β", holds=gap == -1, as_printed=gap < -1,
    )  # fmt: skip


# Theorem 3.


def section41() -> Check:
    """Never playing the better of two actions loses about ``Δ K``, not ``Δ K²``."""
    ratio: dict[int, float] = {}
    for K in (4, 32):
        p = Fraction(1, 8 * K)
        mdp = coins(p + p / 2, p)
        lost = optimum(mdp, K) - value(mdp, mk.MarkovPolicy([[1]], k=K))
        ratio[K] = float(lost / (p / 2 * K))  # of Δ Σ(1 − α)
    return check(
        "Section 4.2: loss of never playing the better action (K = 4, 32)",
        paper=f"≳ ΔK Σ(1 − α): {', '.join(f'{r / K:.3f}' for K, r in ratio.items())} of that",
        ours=f"≳ Δ Σ(1 − α): {', '.join(f'{r:.3f}' for r in ratio.values())} of that; so Σα ≳ K − ε/Δ",
        holds=all(0.5 < r <= 1 for r in ratio.values()), as_printed=all(r / K > 0.5 for K, r in ratio.items()),
    )  # fmt: skip


def theorem3_rewards() -> Check:
    """With reward 1 outside the goal, too, there is nothing to find."""
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
    """Two actions can both have half of the mass; not three quarters."""
    K, L = 2, 2
    half, more = (
        max(sum(taken.count(a) >= share * K * L for a in (0, 1)) for taken in itertools.product((0, 1), repeat=K * L))
        for share in (HALF, Fraction(3, 4))
    )
    samples = mk.least_samples(n_states=3, n_actions=2, horizon=4, k=2, epsilon=1e-6, delta=0.05)
    constant = samples * 1e-12 / (2 * 3 * 2 * 4**3 * math.log(20)) * 96 * 8192**2
    return check(
        "Theorem 3: actions that can pass the event; the constant", paper=f"KL/2: {half} at once; c₀/(8c₁²)",
        ours=f"3KL/4: {more}; c₀/({1 / constant:.0f}c₁²)",
        holds=more == 1 and abs(1 / constant - 16) < 1e-6, as_printed=half == 1,
    )  # fmt: skip


# Theorem 4.


def lemma_constants(variance: float, split: float) -> list[Check]:
    """The two lemmas whose constants are larger than need be."""
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


def theorem4_constants() -> list[Check]:
    """The numbers of samples with the printed and with the tight constants, and the union over start states."""
    sizes: dict[str, Any] = {"n_states": 10, "n_actions": 4, "horizon": 10, "k": 4, "epsilon": 0.1}
    paper, tight = (mk.sample_size(**sizes, delta=0.1, constants=c).per_pair for c in ("paper", "tight"))
    every = mk.sample_size(**sizes, delta=Fraction(1, 100)).per_pair
    return [
        check(
            "Theorem 4: constants of m (S = 10, A = 4, H = 10, K = 4, ε = δ = 0.1)",
            paper=f"128, 384, 1152: m = {paper:.3g}",
            ours=f"valid; 32 and 64 are proved: m = {tight:.3g}, {paper / tight:.1f} times fewer",
            holds=tight < paper, tight=tight >= paper,
        ),
        check(
            "Theorem 4: the union over start states", paper=f"m = {paper:.4g} for all of them",
            ours=f"a factor S in the logarithm: m = {every:.4g}", holds=every > paper, as_printed=every == paper,
        ),
    ]  # fmt: skip


def last_step() -> Check:
    """What the last step leads to does not matter; every row is drawn m times."""
    mdp = lemmas.small_problem(np.random.default_rng(SEED), H=2)
    steps: Any = [
        [[[(p, t if h == 0 else 1 - (t or 0), r, False) for p, t, r in mdp.exact_outcomes(h, s, a)] for a in (0, 1)]
         for s in range(2)]
        for h in range(2)
    ]  # fmt: skip
    same = optimum(mk.MDP.from_table(steps, horizon=2), 2) == optimum(mdp, 2)
    model = mk.TabularModel(mk.instances.figure1())
    out = mk.learn(model, 2, epsilon=0.5, delta=0.1, learner=mk.Uniform(), rng=SEED)
    return check(
        "Section 4.3: how often each (s, a) is queried; p_H", paper="“times”; all of p_1..p_H",
        ours=f"m times ({out.counts.tolist()}); changing p_H changes {'nothing' if same else 'the optimum'}",
        holds=same and all(n == out.stats["per_row"] for n in out.counts), as_printed=not same,
    )  # fmt: skip


# What the paper warns of too little.


def mean_rewards() -> Check:
    """A reward that depends on chance, replaced by its mean."""
    mdp = mk.instances.figure1()
    rows = [[(1, 0, sum(o.prob * o.reward for o in mdp.exact_outcomes(0, 0, a)), True)] for a in (0, 1)]
    wrong, right = optimum(mk.MDP.from_table([rows], horizon=1), 2), optimum(mdp, 2)
    return check(
        "r_h(s, a) deterministic: Figure 1 in one step (γ = 1/4)", paper=f"mean rewards would make it {wrong}",
        ours=f"a reward stays a distribution: {right}", holds=right == Fraction(9, 16), as_printed=wrong == right,
    )  # fmt: skip


def one_policy() -> Check:
    """Policies that are the same in every rollout gain from chance; the footnote on multilinearity is for Π_M only."""
    mdp = mk.instances.figure1(gamma=0)
    fixed = max(value(mdp, mk.MarkovPolicy([[a]], k=2)) for a in (0, 1))
    mixed = mk.compare(mdp, 2)["one policy, sampled k times"]
    return check(
        "policies on (h, s) alone, Figure 1 at γ = 0: best deterministic, best random",
        ours=f"{fixed}, {mixed.lower:.5f} (11/20)",
        holds=fixed == HALF and mixed.lower - 1e-3 <= 0.55 <= mixed.upper + 1e-9,
    )


def run(effort: Effort) -> Claim:
    """Every correction, computed."""
    effort.tell("the variance lemma, over all policies of random problems")
    variance = lemmas.variance_ratio(effort.pick(30, 400))
    effort.tell("the error decomposition")
    split = lemmas.decomposition_ratio(effort.pick(40, 400))
    before = (
        figure1_text, figure1_value, start_of_best, return_so_far, proposition1_range, proposition1_exponent,
        proposition3_missing, theorem1_constant, theorem1_time, grid_of_midpoints, theorem2_last_state,
        theorem2_identity, theorem2_threshold, section41, theorem3_rewards, theorem3_range, theorem3_event,
    )  # fmt: skip
    checks = [line() for line in before]
    checks += [*lemma_constants(variance, split), reset_state(), *theorem4_constants()]
    checks += [last_step(), mean_rewards(), one_policy()]
    return Claim(
        "errata",
        checks,
        pictures=[_picture(variance, split)],
        numbers={
            "lines": [{"where": c.what, "paper": c.paper, "ours": c.ours} for c in checks],
            "variance_in_H2": variance,
            "loss_in_C": split,
        },
        seeds={"random problems": SEED},
    )


def _picture(variance: float, split: float) -> Picture:
    figure, (ax,) = drawing.figure(1, 5.6, 2.2)
    rows = [("loss / κH (Theorem 1)", 2, 1, 1.0), ("variances / H²", 3, 1, variance), ("loss / (C + C)", 4, 2, split)]
    for y, (_, printed, proved, seen) in enumerate(rows):
        ax.plot([seen, printed], [y, y], color="#cccccc", linewidth=1.2, zorder=0)
        ax.plot(printed, y, "s", color=drawing.RED, label="printed" if y == 0 else None, markersize=7)
        ax.plot(proved, y, "o", color=drawing.BLUE, label="proved" if y == 0 else None, markersize=7)
        ax.plot(seen, y, "|", color="black", label="largest seen" if y == 0 else None, markersize=13)
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set(xlim=(0, 4.2), ylim=(-0.6, 2.6), xlabel="constant")
    ax.legend(loc="lower right")
    return Picture("errata", figure, "Constants: as printed, as proved, and the largest ratio computed.")
