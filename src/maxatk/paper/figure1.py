"""Figure 1: two tries at a safe and a risky action, by the chance that the safe one fails."""

import itertools
from fractions import Fraction

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, equal

K = 2
SAFE, RISKY = 0, 1


def optimum(gamma: Fraction) -> Fraction:
    """The exact optimum over all policies."""
    return mk.solve(mk.instances.figure1(gamma=gamma), K, solver=mk.Exact()).exact


def best_markov(gamma: Fraction) -> Fraction:
    """The best of the four deterministic Markov policies: the objective is linear in each rollout's policy."""
    mdp = mk.instances.figure1(gamma=gamma)
    values = [
        mk.evaluate(mdp, mk.MarkovPolicy([[[first]], [[second]]])).exact
        for first, second in itertools.product((SAFE, RISKY), repeat=K)
    ]
    return max(value for value in values if value is not None)


def described(gamma: Fraction) -> Fraction:
    """The value of the policy that the paper describes: safe, then risky if and only if that has paid."""
    policy = mk.AdaptivePolicy(lambda i, h, s, best, g: RISKY if best >= Fraction(1, 2) else SAFE, k=K, horizon=1)
    value = mk.evaluate(mk.instances.figure1(gamma=gamma), policy).exact
    assert value is not None
    return value


def printed(gamma: Fraction) -> Fraction:
    """The adaptive value as the paper prints it."""
    return Fraction(5, 8) - gamma * (Fraction(1, 8) + gamma)


def corrected(gamma: Fraction) -> Fraction:
    """The adaptive value as it is, for ``gamma <= 1/2``."""
    return Fraction(5, 8) - gamma / 8 - gamma**2 / 2


def run(effort: Effort) -> Claim:
    """Recompute Figure 1."""
    n = effort.pick(20, 100)
    gammas = sorted({Fraction(j, n) for j in range(n + 1)} | {Fraction(1, 100), Fraction(1, 8)})
    adaptive = {g: optimum(g) for g in gammas}
    markov = {g: best_markov(g) for g in gammas}
    gap = {g: adaptive[g] - markov[g] for g in gammas}
    small = [g for g in gammas if g <= Fraction(1, 2)]
    beyond = [g for g in gammas if g > Fraction(1, 2)]
    widest = max(gammas, key=lambda g: gap[g])
    quarter = Fraction(1, 4)
    claim = Claim(
        name="figure1",
        title="Figure 1: Markov policies are not enough",
        paper="One state, two tries. The safe action pays 1/2 but fails with probability γ; the risky one pays 1 with "
        "probability 1/4. The best Markov policy plays each once and is worth 5/8 − 3γ/8; a policy that plays safe and "
        "then gambles only if that has paid is worth more, for small γ.",
        method="For every γ on a grid: the optimum over all policies by the exact planner, the best of all "
        "deterministic Markov policies by exact evaluation of each, and the value of the described policy; all in "
        "fractions.",
        letters=[
            ("a_s, a_r", "actions 0 and 1 of mk.instances.figure1(gamma)"),
            ("γ", "gamma"),
            ("K = 2", "k=2 in mk.solve"),
            ("max over Π_hist", "mk.solve(mdp, 2, solver=mk.Exact()).exact"),
            ("Π_M", "mk.MarkovPolicy"),
        ],
    )
    claim.checks = [
        check(
            f"value of the adaptive policy, at {len(small)} values of γ ≤ 1/2",
            paper="5/8 − γ(1/8 + γ)",
            ours="5/8 − γ/8 − γ²/2",
            holds=all(adaptive[g] == described(g) == corrected(g) for g in small),
            as_printed=all(adaptive[g] == printed(g) for g in small),
        ),
        check(
            f"best Markov value, at {len(small)} values of γ ≤ 1/2",
            paper="5/8 − 3γ/8",
            ours="5/8 − 3γ/8",
            holds=all(markov[g] == Fraction(5, 8) - 3 * g / 8 for g in small),
        ),
        check(
            "adaptive beats Markov for small γ",
            paper="small γ > 0",
            ours="0 < γ < 1/2",
            holds=all((gap[g] > 0) == (0 < g < Fraction(1, 2)) for g in gammas),
        ),
        equal("largest gap", ours=f"{gap[widest]} at γ = {widest}", right="1/32 at γ = 1/4"),
        check(
            f"beyond γ = 1/2 ({len(beyond)} values): risky twice is optimal",
            ours=Fraction(7, 16),
            holds=all(adaptive[g] == markov[g] == Fraction(7, 16) for g in beyond),
        ),
    ]
    claim.tables = [
        Table(
            "Exact values. The printed formula is below the Markov value from γ = 1/4 on.",
            ("γ", "optimum", "Markov", "gap", "printed adaptive value"),
            [
                (g, adaptive[g], markov[g], gap[g], printed(g))
                for g in gammas
                if g in {Fraction(x) for x in ("0", "1/100", "1/10", "1/8", "1/5", "1/4", "3/10", "2/5", "1/2", "3/4")}
            ],
        )
    ]
    picture, (left, right) = drawing.figure(2)
    x = [float(g) for g in gammas]
    left.plot(x, [float(adaptive[g]) for g in gammas], color=drawing.BLUE, label="adaptive: the optimum")
    left.plot(x, [float(markov[g]) for g in gammas], color=drawing.ORANGE, linestyle="--", label="best Markov policy")
    cut = [g for g in gammas if printed(g) >= Fraction(3, 10)]
    left.plot(
        [float(g) for g in cut], [float(printed(g)) for g in cut],
        color=drawing.GREY, linestyle=":", label="adaptive, as printed",
    )  # fmt: skip
    left.set_xlabel("probability γ that the safe action fails")
    left.set_ylabel("expected best of two")
    left.legend()
    right.plot(x, [float(gap[g]) for g in gammas], color=drawing.BLUE)
    right.plot([float(widest)], [float(gap[widest])], "o", color=drawing.BLUE)
    right.annotate(str(gap[widest]), (float(widest), float(gap[widest])), (4, 4), textcoords="offset points")
    right.set_xlabel("γ")
    right.set_ylabel("what adaptivity adds")
    right.set_ylim(-0.001, 0.037)
    right.set_title("optimum − best Markov value", fontsize=9)
    claim.pictures = [
        Picture(
            "figure1_problem",
            drawing.diagram(mk.instances.figure1(gamma=quarter), {0: (0.0, 0.0)}),
            "The problem, drawn from mk.instances.figure1(gamma=1/4): labels are probabilities, boxes final rewards.",
        ),
        Picture("figure1", picture, "Left: the value of two tries by γ. Right: what adaptivity adds."),
    ]
    claim.numbers = {
        "rows": [
            {"gamma": g, "optimum": adaptive[g], "markov": markov[g], "printed": printed(g), "gap": gap[g]}
            for g in gammas
        ],
        "largest_gap": gap[widest],
        "largest_gap_at": widest,
    }
    return claim
