"""Proposition 3: dropping M or G loses. All numbers of its proof, and the one it leaves open."""

from fractions import Fraction
from typing import Any

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, equal

K = 2
SAFE, RISKY = 0, 1
LAST_STEP, LAST_STATE = 2, 3
BESTS = [Fraction(x) for x in ("0", "1/2", "1", "3/2", "2")]
BEHAVIOURS = {"sr"[a] + "sr"[b]: (a, b) for a in (SAFE, RISKY) for b in (SAFE, RISKY)}
FACTS: dict[str, dict[Any, Any]] = {  # as printed in the proof
    "U": dict(zip(BESTS, (Fraction(x) for x in ("1", "17/16", "5/4", "25/16", "2")), strict=True)),
    "bound after first": {"ss": "21/16", "sr": "5/4", "rs": "21/16", "rr": "5/4"},
    "best action": {(0, 0): "s", (0, 1): "s", (1, 0): "r", (1, 1): "s", (3, 0): "tie", (3, 1): "r"},  # by (2M, G)
    "returns": {"s": {"1/2": "1/2", "3/2": "1/2"}, "r": {"0": "3/8", "1": "1/2", "2": "1/8"}},
}


def value(mdp: mk.MDP, policy: mk.Policy) -> Fraction:
    """The exact value of a policy."""
    found = mk.evaluate(mdp, policy).exact
    assert found is not None
    return found


def by_return(b: tuple[int, int], h: int, g: Any) -> int:
    """What a behaviour ``(a_0, a_1)`` does at the last step, by the return so far; before that nothing matters."""
    return b[int(g)] if h == LAST_STEP else SAFE


def without_best(mdp: mk.MDP, first: tuple[int, int], second: tuple[int, int]) -> Fraction:
    """The value of a pair of behaviours, one per rollout: all that a policy without M can do."""
    return value(mdp, mk.NoBestPolicy(lambda i, h, s, g: by_return((first, second)[i], h, g), K, mdp.horizon))


def run(effort: Effort) -> Claim:
    """Recompute Proposition 3."""
    mdp = mk.instances.proposition3()
    plan = mk.solve(mdp, K, solver=mk.Exact())
    policy = plan.policy

    def q(m: Fraction, g: int) -> dict[int, Fraction]:
        return policy.action_values(rollout=1, step=LAST_STEP, state=LAST_STATE, best=m, so_far=g)

    def best(m: Fraction, g: int) -> str:
        values = q(m, g)
        return "tie" if values[SAFE] == values[RISKY] else "s" if values[SAFE] > values[RISKY] else "r"

    U = {m: mk.solve(mdp, 1, best_so_far=m, solver=mk.Exact()).exact for m in BESTS}
    fixed = {  # U^s(M) and U^r(M): the last rollout with one action throughout
        (name, m): value(mdp, mk.MarkovPolicy([[[action] * mdp.n_states] * mdp.horizon], best_so_far=m))
        for name, action in (("s", SAFE), ("r", RISKY))
        for m in BESTS
    }
    laws: dict[str, dict[str, str]] = {}
    for name, action in (("s", SAFE), ("r", RISKY)):
        law = mk.evaluate(mdp, mk.MarkovPolicy([[action] * mdp.n_states] * mdp.horizon, k=1)).law
        laws[name] = {
            str(Fraction(float(v))): str(Fraction(float(p))) for v, p in zip(law.values, law.probs, strict=True)
        }
    after_first: dict[str, Fraction] = {}  # E[U(G_1)] for each behaviour in the first rollout
    for name, b in BEHAVIOURS.items():

        def greedy(i: int, h: int, s: int, m: Any, g: Any, b: tuple[int, int] = b) -> int:
            return policy.action(rollout=1, step=h, state=s, best=m, so_far=g) if i else by_return(b, h, g)

        after_first[name] = value(mdp, mk.AdaptivePolicy(greedy, K, mdp.horizon))
    pairs = {(a, b): without_best(mdp, BEHAVIOURS[a], BEHAVIOURS[b]) for a in BEHAVIOURS for b in BEHAVIOURS}
    effort.tell("comparing classes of policies")
    classes = mk.compare(mdp, K)
    no_best, no_return, markov = (
        classes[name].exact or Fraction(0) for name in ("without M", "without G", "Markov, per rollout")
    )
    thirty_two = Fraction(1, 32)
    claim = Claim(
        name="proposition3",
        title="Proposition 3: both M and G are needed",
        paper="In one small problem with two rollouts, a history-dependent policy earns 42/32; policies that do not "
        "see G earn 41/32 at most, and policies that do not see M strictly less than 42/32.",
        method="The exact planner's values of both actions at the last state for every M and G of the proof; the value "
        "of every pair of behaviours; the best of each class of policies by enumeration (mk.compare). In fractions.",
        letters=[
            ("s_1, u_0, u_1, s̄", "states 0 to 3 of mk.instances.proposition3()"),
            ("a_s, a_r", "actions 0 and 1"),
            ("M, G", "best, so_far"),
            ("q_s, q_r", "plan.policy.action_values(rollout=1, step=2, state=3, best=M, so_far=G)"),
            ("U(M)", "mk.solve(mdp, 1, best_so_far=M, solver=mk.Exact()).exact"),
            ("OPT_noG, OPT_noM", 'mk.compare(mdp, 2)["without G"].exact, ["without M"]'),
        ],
    )
    matches = {m: U[m] == FACTS["U"][m] for m in BESTS}
    printed_table = {(m, g): FACTS["best action"].get((int(2 * m), g)) for m in BESTS for g in (0, 1)}
    claim.checks = [
        equal("OPT, over all policies", paper=42 * thirty_two, ours=plan.exact),
        equal("OPT_noG, without the return so far", paper=41 * thirty_two, ours=no_return),
        check(
            "OPT_noM, without the best return",
            paper="< 42/32",
            ours=no_best,
            holds=no_best == max(pairs.values()) == 41 * thirty_two and no_best < plan.exact,
            tight=False,
        ),
        equal("best Markov value", ours=markov, right=Fraction(5, 4)),
        check(
            "U(M) at M = 0, 1/2, 1, 3/2, 2",
            paper="1, 17/16, 5/4, 25/16, 2",
            ours=", ".join(map(str, U.values())),
            holds=all(matches.values()),
        ),
        check(
            "best action at M = 0, 1/2, 3/2 and G = 0, 1",
            paper="ss, rs, (s or r)r",
            ours=", ".join(
                (best(m, 0) + best(m, 1)).replace("tie", "(s or r)") for m in (BESTS[0], BESTS[1], BESTS[3])
            ),
            holds=all(p in (None, best(*at)) for at, p in printed_table.items()),
        ),
        check(
            "E[U(G₁)] after ss, sr, rs, rr in the first rollout",
            paper="21/16, 5/4, 21/16, 5/4",
            ours=", ".join(str(after_first[b]) for b in ("ss", "sr", "rs", "rr")),
            holds=all(str(after_first[b]) == v for b, v in FACTS["bound after first"].items()),
        ),
        check(
            "laws of a rollout's return, safe and risky",
            paper="(1/2, 1/2) and (3/8, 1/2, 1/8)",
            ours=" and ".join(f"({', '.join(law.values())})" for law in laws.values()),
            holds=laws == FACTS["returns"],
        ),
    ]
    claim.tables = [
        Table(
            "The second rollout at s̄: what both actions are worth, which is better; U, U^s, U^r.",
            ("M", "q_s, q_r at G = 0", "better", "q_s, q_r at G = 1", "better", "U(M)", "U^s(M)", "U^r(M)"),
            [
                (
                    *(m, f"{q(m, 0)[0]}, {q(m, 0)[1]}", best(m, 0), f"{q(m, 1)[0]}, {q(m, 1)[1]}", best(m, 1)),
                    *(U[m], fixed["s", m], fixed["r", m]),
                )
                for m in BESTS
            ],
        ),
        Table(
            "Without M: the value of every behaviour in the first rollout (rows) and the second (columns). "
            "The first letter is what is done at G = 0, the second at G = 1. The largest is OPT_noM.",
            ("first \\ second", *BEHAVIOURS),
            [(a, *(pairs[a, b] for b in BEHAVIOURS)) for a in BEHAVIOURS],
        ),
    ]
    claim.pictures = [
        Picture(
            "proposition3_problem",
            drawing.diagram(mdp, {0: (0, 4.2), 1: (-1.9, 2.9), 2: (1.9, 2.9), 3: (0, 1.5)}),
            "The problem, drawn from mk.instances.proposition3(). Boxes are the last rewards.",
        ),
        Picture("proposition3", _picture(best, {
            "Markov": markov, "without M": no_best, "without G": no_return, "adaptive": plan.exact}),
            "Left: the best action of the second rollout at s̄. Right: the best of each class of policies."),
    ]  # fmt: skip
    claim.numbers = {
        "OPT": plan.exact,
        "OPT_noG": no_return,
        "OPT_noM": no_best,
        "OPT_markov": markov,
        "U": {str(m): u for m, u in U.items()},
        "U_safe": {str(m): fixed["s", m] for m in BESTS},
        "U_risky": {str(m): fixed["r", m] for m in BESTS},
        "q": {f"M={m}, G={g}": [q(m, g)[SAFE], q(m, g)[RISKY], best(m, g)] for m in BESTS for g in (0, 1)},
        "E[U(G1)]": after_first,
        "without_M": {f"{a}, {b}": v for (a, b), v in pairs.items()},
        "laws": laws,
    }
    return claim


def _picture(best: Any, classes: dict[str, Fraction]) -> Any:
    picture, (left, right) = drawing.figure(2, 3.4, 2.4)
    colours = {"s": drawing.SKY, "r": drawing.ORANGE, "tie": "#dddddd"}
    names = {"s": "safe", "r": "risky", "tie": "either"}
    for x, m in enumerate(BESTS):
        for g in (0, 1):
            found = best(m, g)
            left.add_patch(_square(x, g, colours[found]))
            left.text(x + 0.5, g + 0.5, names[found], ha="center", va="center", fontsize=8.5)
    left.set_xlim(0, len(BESTS))
    left.set_ylim(0, 2)
    left.set_xticks([x + 0.5 for x in range(len(BESTS))], [str(m) for m in BESTS])
    left.set_yticks([0.5, 1.5], ["0", "1"])
    left.tick_params(length=0)
    left.set_xlabel("best return so far, M")
    left.set_ylabel("return so far, G")
    y = list(range(len(classes)))[::-1]
    values = [float(v) for v in classes.values()]
    right.hlines(y, 1.24, values, color="#cccccc", linewidth=1.2)
    for place, v, colour in zip(y, values, (drawing.GREY, drawing.GREEN, drawing.PINK, drawing.BLUE), strict=True):
        right.plot(v, place, "o", color=colour, markersize=8)
    for place, v in zip(y, classes.values(), strict=True):
        right.text(float(v) + 0.005, place, str(v), va="center", fontsize=8.5)
    right.set_yticks(y, list(classes))
    right.set_ylim(-0.5, len(classes) - 0.5)
    right.set_xlim(1.24, 1.335)
    right.set_xlabel("expected best of two rollouts")
    return picture


def _square(x: float, y: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=2)
