"""Figure 1: two tries at a safe and a risky action, by the chance that the safe one fails."""

import itertools
from fractions import Fraction

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Check, Claim, Effort, Picture, Row, Table, check, equal
from maxatk.paper.values import HALF, QUARTER, optimum, value

K = 2
SAFE, RISKY = 0, 1
HEAD = ("γ", "optimum", "Markov", "gap", "printed adaptive value")
SHOWN = [Fraction(x) for x in ("0", "1/100", "1/10", "1/8", "1/5", "1/4", "3/10", "2/5", "1/2", "3/4")]


def best_markov(mdp: mk.MDP) -> Fraction:
    """The best of the four deterministic Markov policies: the objective is linear in each rollout's policy."""
    pairs = itertools.product((SAFE, RISKY), repeat=K)
    return max(value(mdp, mk.MarkovPolicy([[[first]], [[second]]])) for first, second in pairs)


def described(gamma: Fraction) -> Fraction:
    """The value of the policy that the paper describes: safe, then risky if and only if that has paid."""
    policy = mk.AdaptivePolicy(lambda i, h, s, best, g: RISKY if best >= HALF else SAFE, k=K, horizon=1)
    return value(mk.instances.figure1(gamma=gamma), policy)


def printed(gamma: Fraction) -> Fraction:
    """The adaptive value as the paper prints it."""
    return Fraction(5, 8) - gamma * (Fraction(1, 8) + gamma)


def corrected(gamma: Fraction) -> Fraction:
    """The adaptive value as it is, for ``gamma <= 1/2``."""
    return Fraction(5, 8) - gamma / 8 - gamma**2 / 2


def case(gamma: Fraction) -> dict[str, Fraction]:
    """All values at one gamma."""
    mdp = mk.instances.figure1(gamma=gamma)
    best, markov = optimum(mdp, K), best_markov(mdp)
    return {"gamma": gamma, "optimum": best, "markov": markov, "printed": printed(gamma), "gap": best - markov}


def run(effort: Effort) -> Claim:
    """Recompute Figure 1."""
    n = effort.pick(20, 100)
    rows = [case(g) for g in sorted({Fraction(j, n) for j in range(n + 1)} | {Fraction(1, 100), Fraction(1, 8)})]
    widest = max(rows, key=lambda r: r["gap"])
    diagram = drawing.diagram(mk.instances.figure1(gamma=QUARTER), {0: (0.0, 0.0)})
    return Claim(
        "figure1",
        checks=_checks(rows, widest),
        tables=[
            Table.of(
                "Exact values. The printed formula is below the Markov value from γ = 1/4 on.",
                [r for r in rows if r["gamma"] in SHOWN],
                dict(zip(HEAD, ("gamma", "optimum", "markov", "gap", "printed"), strict=True)),
            )
        ],
        pictures=[
            Picture("figure1_problem", diagram, "The problem, drawn from mk.instances.figure1(gamma=1/4): labels are "
                    "probabilities, boxes final rewards."),
            _picture(rows, widest),
        ],
        numbers={"rows": rows, "largest_gap": widest["gap"], "largest_gap_at": widest["gamma"]},
    )  # fmt: skip


def _checks(rows: list[dict[str, Fraction]], widest: Row) -> list[Check]:
    small = [r for r in rows if r["gamma"] <= HALF]
    beyond = [r for r in rows if r["gamma"] > HALF]
    risky_twice = Fraction(7, 16)
    return [
        check(
            f"value of the adaptive policy, at {len(small)} values of γ ≤ 1/2",
            paper="5/8 − γ(1/8 + γ)",
            ours="5/8 − γ/8 − γ²/2",
            holds=all(r["optimum"] == described(r["gamma"]) == corrected(r["gamma"]) for r in small),
            as_printed=all(r["optimum"] == r["printed"] for r in small),
        ),
        check(
            f"best Markov value, at {len(small)} values of γ ≤ 1/2", paper="5/8 − 3γ/8", ours="5/8 − 3γ/8",
            holds=all(r["markov"] == Fraction(5, 8) - 3 * r["gamma"] / 8 for r in small),
        ),
        check(
            "adaptive beats Markov for small γ", paper="small γ > 0", ours="0 < γ < 1/2",
            holds=all((r["gap"] > 0) == (0 < r["gamma"] < HALF) for r in rows),
        ),
        equal("largest gap", ours=f"{widest['gap']} at γ = {widest['gamma']}", right="1/32 at γ = 1/4"),
        check(
            f"beyond γ = 1/2 ({len(beyond)} values): risky twice is optimal", ours=risky_twice,
            holds=all(r["optimum"] == r["markov"] == risky_twice for r in beyond),
        ),
    ]  # fmt: skip


def _picture(rows: list[dict[str, Fraction]], widest: Row) -> Picture:
    figure, (left, right) = drawing.figure(2)
    drawing.line(left, rows, "gamma", "optimum", color=drawing.BLUE, label="adaptive: the optimum")
    drawing.line(left, rows, "gamma", "markov", "--", color=drawing.ORANGE, label="best Markov policy")
    cut = [r for r in rows if r["printed"] >= Fraction(3, 10)]
    drawing.line(left, cut, "gamma", "printed", ":", color=drawing.GREY, label="adaptive, as printed")
    left.set(xlabel="probability γ that the safe action fails", ylabel="expected best of two")
    left.legend()
    drawing.line(right, rows, "gamma", "gap", color=drawing.BLUE)
    drawing.line(right, [widest], "gamma", "gap", "o", color=drawing.BLUE)
    at = (float(widest["gamma"]), float(widest["gap"]))
    right.annotate(str(widest["gap"]), at, (4, 4), textcoords="offset points")
    right.set(xlabel="γ", ylabel="what adaptivity adds", ylim=(-0.001, 0.037))
    right.set_title("optimum − best Markov value", fontsize=9)
    return Picture("figure1", figure, "Left: the value of two tries by γ. Right: what adaptivity adds.")
