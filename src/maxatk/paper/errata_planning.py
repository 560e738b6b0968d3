"""Slips and remarks on planning: Figure 1, the letters, Propositions 1 to 3, Theorems 1 and 2."""

import itertools
import math
from fractions import Fraction

import numpy as np

import maxatk as mk
from maxatk.paper import figure1, lemmas, proposition1, theorem1, theorem2
from maxatk.paper.claim import Check, check
from maxatk.paper.values import HALF, QUARTER, optimum, value

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


def mean_rewards() -> Check:
    """A reward that depends on chance, replaced by its mean: the paper's rewards are functions of (s, a)."""
    mdp = mk.instances.figure1()
    rows = [[(1, 0, sum(o.prob * o.reward for o in mdp.exact_outcomes(0, 0, a)), True)] for a in (0, 1)]
    by_means, best = optimum(mk.MDP.from_table([rows], horizon=1), 2), optimum(mdp, 2)
    return check(
        "random rewards: Figure 1 in one step (γ = 1/4)", paper="r_h(s, a) is deterministic; two steps draw the reward",
        ours=f"a random reward must stay a distribution: {best}; its mean would give {by_means}",
        holds=best == Fraction(9, 16) and by_means < best, remark=True,
    )  # fmt: skip


def index_of_best() -> Check:
    """The convention on the best of no rollouts: rollouts are counted from 1, so it is one on M₁."""
    K = 3
    earlier = {i: [j for j in range(1, K + 1) if j < i] for i in range(1, K + 1)}  # what M_i is the maximum of
    empty = [i for i, rollouts in earlier.items() if not rollouts]
    return check(
        "M_i: which one is the best of no rollouts (K = 3)", paper="M_0 = 0, but no rollout has number 0",
        ours=f"{' and '.join(f'M_{i}' for i in empty)} = 0", holds=empty == [1], as_printed=0 in earlier,
    )  # fmt: skip


def start_of_best() -> Check:
    """M before the first rollout: 0 is right because no return is negative."""
    mdp = mk.MDP.from_table([[[(HALF, 0, -1, True), (HALF, 0, -2, True)]]], horizon=1)
    best, with_zero = optimum(mdp, 2), optimum(mdp, 2, best=0)
    same = optimum(mk.instances.proposition3(), 2) == optimum(mk.instances.proposition3(), 2, best=0)
    return check(
        "M before the first rollout", paper="0; rewards are in [0, 1]",
        ours=f"right there. With returns of −1 or −2 it must be −∞: two tries earn −{-best}, where 0 gives {with_zero}",
        holds=same and best == Fraction(-5, 4), remark=True,
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


def summand() -> Check:
    """What is added up in G: the rewards of the earlier steps, not that of step h again and again."""
    mdp = mk.instances.footnote(horizon=3)
    taken = [mdp.exact_outcomes(h, 0, 1)[0].reward for h in range(3)]  # always taking
    printed, right = [(h + 1) * r for h, r in enumerate(taken)], [sum(taken[:h], Fraction(0)) for h in range(3)]
    optimal = sum(taken, Fraction(0)) == optimum(mdp, 1)
    return check(
        "G_{h,i}: the summand (the footnote's problem, always taking; h = 1, 2, 3)",
        paper=f"r_h, summed over k ≤ h: {', '.join(str(g) for g in printed)}",
        ours=f"r_k, summed over k < h: {', '.join(str(g) for g in right)}",
        holds=optimal and right == [0, HALF, 3 * QUARTER], as_printed=printed == right,
    )  # fmt: skip


def boundary() -> Check:
    """The end of a rollout in the proof of Proposition 2: the value there is one of the next rollout."""
    mdp, H, safe = mk.instances.proposition3(), 3, 0

    def entries(h: int, i: int) -> int:
        """States and actions in the history at step h of rollout i, as the paper defines it."""
        return (i - 1) * (1 + 2 * H) + 1 + 2 * (h - 1)

    plan = mk.solve(mdp, 2, solver=mk.Exact())
    at_end = plan.policy.action_values(rollout=0, step=2, state=3, best=0, so_far=0)[safe]  # it returns 1/2
    after = optimum(mdp, 1, best=HALF)
    takes, given = entries(H + 1, 1), entries(1, 2)
    return check(
        "Proposition 2, proof: the value at a rollout's end (Proposition 3's problem, return 1/2)",
        paper=f"V_{{H+1,i}}(H_{{1,i+1}}): {given} entries, where V_{{4,1}} takes {takes}",
        ours=f"V_{{1,i+1}}(H_{{1,i+1}}): {after}" if at_end == after else f"{at_end} against {after}",
        holds=at_end == after == Fraction(17, 16), as_printed=takes == given,
    )  # fmt: skip


# Propositions 1 and 3.


def proposition1_range() -> Check:
    """The ratio at K = 2."""
    ratios = {K: optimum(mk.instances.proposition1(k=K), K) / proposition1.all_markov_policies(K) for K in (2, 3)}
    return check(
        "Proposition 1 with μ = 1/2 at K = 2", paper="1.24 − O(1/K); the proof takes μ > 1/K",
        ours=f"ratio {ratios[2]}, which O(1/K) allows: μ = 1/K there. At K = 3 it is {float(ratios[3]):.4f}",
        holds=ratios[2] == 1 < ratios[3], remark=True,
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


# Theorem 1.


def theorem1_constant() -> Check:
    """The largest loss of the midpoint planner."""
    n, H = 4, 3
    lost, _ = theorem1.worst_case(n, H, 2)
    return check(
        "Theorem 1, the constant (κ = 1/4, H = 3)", paper=f"2κH = {Fraction(2 * H, n)}", ours=f"κH = {lost}, attained",
        holds=lost == Fraction(H, n), as_printed=lost <= Fraction(2 * H, n), tight=lost == Fraction(2 * H, n),
    )  # fmt: skip


def histories(k: int, start: int = 0) -> int:
    """How many the exact planner goes through, on a random problem of two states, from one of them."""
    mdp = lemmas.small_problem(np.random.default_rng(SEED), H=4)
    rows = [[mdp.exact_outcomes(0, s, a) for a in (0, 1)] for s in (0, 1)]
    table = [[[(p, t, r, False) for p, t, r in row] for row in actions] for actions in rows]
    plan = mk.solve(mk.MDP.from_table(table, horizon=4, start=start), k, solver=mk.Exact())
    return int(plan.stats["histories"])


def theorem1_time() -> Check:
    """The running time with kappa = epsilon/H has the factor K, and S for a policy from every start state."""
    work = {k: histories(k) for k in (4, 8, 16)}
    step = (work[16] - work[8]) / (work[8] - work[4])
    both = histories(4) + histories(4, start=1)
    return check(
        "Theorem 1, text: O(H⁵S²A/ε²) has no K", paper="histories do not grow with K",
        ours=f"times K: {', '.join(str(n) for n in work.values())} histories at K = 4, 8, 16; times S if planned from "
        f"every start state: {both} from two of them at K = 4",
        holds=abs(step - 2) < 0.1 and both > 1.5 * work[4], as_printed=work[4] == work[16],
    )  # fmt: skip


def grid_of_midpoints() -> Check:
    """The printed grid where 1/kappa is not whole: a point beyond 1, and the theorem all the same."""
    kappa = Fraction(3, 10)
    points = [kappa * (j - HALF) for j in range(1, math.ceil(1 / kappa) + 1)]
    moved = max(min(abs(x - Fraction(r, 100)) for x in points) for r in range(101))
    rng = np.random.default_rng(SEED)
    problems = [lemmas.small_problem(rng) for _ in range(10)]
    steps = [kappa, Fraction(2, 3), Fraction(3, 2)]
    lost = [
        (optimum(mdp, 2) - value(mdp, mk.solve(mdp, 2, solver=mk.Midpoint(step)).policy)) / (step * mdp.horizon)
        for mdp in problems
        for step in steps
    ]
    return check(
        "Theorem 1: the grid where 1/κ is not whole", paper="any κ > 0",
        ours=f"it holds. At κ = 3/10 the last point is {points[-1]} > 1, but rewards move by {moved} = κ/2 at most; "
        f"the largest of {len(lost)} losses at κ = 3/10, 2/3, 3/2 is {float(max(lost)):.3f} κH",
        holds=points[-1] > 1 and moved <= kappa / 2 and max(lost) <= 1, remark=True,
    )  # fmt: skip


def ties_of_the_grid() -> Check:
    """A reward on the border of two cells: two points are as near, and floats do not always pick the same one."""
    n = 12
    points = [Fraction(2 * j - 1, 2 * n) for j in range(1, n + 1)]
    ties = sum([abs(x - Fraction(j, n)) for x in points].count(Fraction(1, 2 * n)) == 2 for j in range(1, n))
    grid = np.array([1 / n * (j - 0.5) for j in range(1, n + 1)])
    up = sum(int(np.argmin(np.abs(grid - j / n))) == j for j in range(1, n))
    return check(
        f"Theorem 1: rewards on the border of two cells (κ = 1/{n})", paper="the nearest point (argmin)",
        ours=f"two points are equally near at each of {ties} borders; argmin in floats goes up at {up} and down at "
        f"{n - 1 - up}: use one rule, in integers or fractions",
        holds=ties == n - 1 and 0 < up < n - 1, remark=True,
    )  # fmt: skip


# Theorem 2.


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


def theorem2_eta() -> Check:
    """Which number is the statement's η: the proof's β (or less), not the proof's own η."""
    weights = [3, 5, 7]
    cases = [(weights, L) for L in range(1, 17)]
    right = {"η": 0, "β/2": 0}
    for case in cases:
        difference, beta = theorem2.gap(*case)
        for name, threshold in (("η", Fraction(1, 8 * 2 ** len(weights))), ("β/2", beta / 2)):
            right[name] += (difference >= -threshold) == theorem2.solvable(*case)
    return check(
        f"Theorem 2: the η of the statement ({len(cases)} instances with weights 3, 5, 7)",
        paper=f"the proof's η = 2⁻ⁿ/8: decides {right['η']}",
        ours=f"the proof's β = 2⁻ⁿ/(16C), or less: β/2 decides {right['β/2']}",
        holds=right["β/2"] == len(cases), as_printed=right["η"] == len(cases),
    )  # fmt: skip


def theorem2_threshold() -> Check:
    """A no-instance with a gap of just −β."""
    gap = gap_in_beta([4, 4], 9)
    return check(
        "Theorem 2: the gap of a no-instance (weights 4, 4; L = 9)", paper="at most −β",
        ours="exactly −β occurs, so the statement's threshold must be below β" if gap == -1 else f"{gap} β",
        holds=gap == -1, remark=True,
    )  # fmt: skip


def theorem2_counting() -> Check:
    """How many subsets sum to L, read off action values: from a difference, and from three values of one action."""
    cases = theorem2.instances(40)
    by_difference = by_values = 0
    for weights, L in cases:
        n, C = len(weights), L + 5 + sum(weights)
        count = sum(sum(taken) == L for r in range(n + 1) for taken in itertools.combinations(weights, r))
        difference, _ = theorem2.gap(weights, L)
        by_difference += math.ceil(2 ** (n + 2) * C * difference) == count
        plus = [theorem2.value_of_plus(weights, L, off) for off in (-1, 0, 1)]
        by_values += 2 ** (n + 1) * C * (plus[0] - 2 * plus[1] + plus[2]) == count
    return check(
        f"Theorem 2, text: what follows beyond NP-hardness ({len(cases)} instances)", paper="“not even in NP”",
        ours=f"not shown. Action values count the subsets with sum L ({by_difference} of {len(cases)} by Q⁻ − Q⁺, "
        f"{by_values} by three values of a⁺): the exact value is #P-hard under Turing reductions",
        holds=by_difference == by_values == len(cases), remark=True,
    )  # fmt: skip


LINES = (
    figure1_text, figure1_value, mean_rewards, index_of_best, start_of_best, return_so_far, summand, boundary,
    proposition1_range, proposition1_exponent, proposition3_missing, one_policy, theorem1_constant, theorem1_time,
    grid_of_midpoints, ties_of_the_grid, theorem2_last_state, theorem2_identity, theorem2_eta, theorem2_threshold,
    theorem2_counting,
)  # fmt: skip
