"""Proposition 3: dropping M or G loses. All numbers of its proof, and the one it leaves open."""

from fractions import Fraction
from typing import Any

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Check, Claim, Effort, Picture, Table, check, equal
from maxatk.paper.values import optimum, value

K = 2
SAFE, RISKY = 0, 1
LAST_STEP, LAST_STATE = 2, 3
BESTS = [Fraction(x) for x in ("0", "1/2", "1", "3/2", "2")]
ACTIONS = {"s": SAFE, "r": RISKY}
BEHAVIOURS = {a + b: (ACTIONS[a], ACTIONS[b]) for a in "sr" for b in "sr"}  # at the last step, by G = 0 or 1
FACTS: dict[str, dict[Any, Any]] = {  # as printed in the proof
    "U": dict(zip(BESTS, (Fraction(x) for x in ("1", "17/16", "5/4", "25/16", "2")), strict=True)),
    "bound after first": {"ss": "21/16", "sr": "5/4", "rs": "21/16", "rr": "5/4"},
    "best action": {(0, 0): "s", (0, 1): "s", (1, 0): "r", (1, 1): "s", (3, 0): "tie", (3, 1): "r"},  # by (2M, G)
    "returns": {"s": {"1/2": "1/2", "3/2": "1/2"}, "r": {"0": "3/8", "1": "1/2", "2": "1/8"}},
}
PROBLEM = mk.instances.proposition3()


def last_choice(policy: Any) -> dict[tuple[Fraction, int], tuple[Fraction, Fraction, str]]:
    """The second rollout at the last state, by M and G: the values of both actions, and the better one."""
    choices: dict[tuple[Fraction, int], tuple[Fraction, Fraction, str]] = {}
    for m in BESTS:
        for g in (0, 1):
            q = policy.action_values(rollout=1, step=LAST_STEP, state=LAST_STATE, best=m, so_far=g)
            safe, risky = q[SAFE], q[RISKY]
            choices[m, g] = safe, risky, "tie" if safe == risky else "s" if safe > risky else "r"
    return choices


def always(action: int) -> list[list[int]]:
    """One action throughout a rollout."""
    return [[action] * PROBLEM.n_states] * PROBLEM.horizon


def law(action: int) -> dict[str, str]:
    """The law of a rollout's return with one action throughout."""
    returns = mk.evaluate(PROBLEM, mk.MarkovPolicy(always(action), k=1)).law
    return {
        str(Fraction(float(v))): str(Fraction(float(p))) for v, p in zip(returns.values, returns.probs, strict=True)
    }


def by_return(b: tuple[int, int], h: int, g: Any) -> int:
    """The action of a behaviour ``(a_0, a_1)`` at the last step, by the return so far; earlier ones do not matter."""
    return b[int(g)] if h == LAST_STEP else SAFE


def without_best(first: tuple[int, int], second: tuple[int, int]) -> Fraction:
    """The value of a pair of behaviours, one per rollout: all that a policy without M can do."""
    return value(PROBLEM, mk.NoBestPolicy(lambda i, h, s, g: by_return((first, second)[i], h, g), K, PROBLEM.horizon))


def after_first(b: tuple[int, int], policy: mk.CompressedPolicy) -> Fraction:
    """``E[U(G_1)]`` for a behaviour in the first rollout: the second is the optimal policy's."""

    def choose(i: int, h: int, s: int, m: Any, g: Any) -> int:
        return policy.action(rollout=1, step=h, state=s, best=m, so_far=g) if i else by_return(b, h, g)

    return value(PROBLEM, mk.AdaptivePolicy(choose, K, PROBLEM.horizon))


def run(effort: Effort) -> Claim:
    """Recompute Proposition 3."""
    plan = mk.solve(PROBLEM, K, solver=mk.Exact())
    last = last_choice(plan.policy)
    fixed = {  # U^s(M) and U^r(M): the last rollout with one action throughout
        name: {str(m): value(PROBLEM, mk.MarkovPolicy([always(action)], best_so_far=m)) for m in BESTS}
        for name, action in ACTIONS.items()
    }
    pairs = {(a, b): without_best(BEHAVIOURS[a], BEHAVIOURS[b]) for a in BEHAVIOURS for b in BEHAVIOURS}
    effort.tell("comparing classes of policies")
    compared = mk.compare(PROBLEM, K)
    classes = {
        "OPT": plan.exact,
        "OPT_noG": compared["without G"].exact or Fraction(0),
        "OPT_noM": compared["without M"].exact or Fraction(0),
        "OPT_markov": compared["Markov, per try"].exact or Fraction(0),
    }
    numbers: dict[str, Any] = {
        **classes,
        "U": {str(m): optimum(PROBLEM, 1, m) for m in BESTS},
        "U_safe": fixed["s"],
        "U_risky": fixed["r"],
        "q": {f"M={m}, G={g}": list(q) for (m, g), q in last.items()},
        "E[U(G1)]": {name: after_first(b, plan.policy) for name, b in BEHAVIOURS.items()},
        "without_M": {f"{a}, {b}": v for (a, b), v in pairs.items()},
        "laws": {name: law(action) for name, action in ACTIONS.items()},
    }
    diagram = drawing.diagram(PROBLEM, {0: (0, 4.2), 1: (-1.9, 2.9), 2: (1.9, 2.9), 3: (0, 1.5)})
    better = {at: which for at, (_, _, which) in last.items()}
    return Claim(
        "proposition3",
        checks=[*_class_checks(classes, max(pairs.values())), *_proof_checks(better, numbers)],
        tables=_tables(numbers, pairs),
        pictures=[
            Picture("proposition3_problem", diagram, "The problem, drawn from mk.instances.proposition3(). Boxes are "
                    "the last rewards."),
            _picture(better, classes),
        ],
        numbers=numbers,
    )  # fmt: skip


def _class_checks(classes: dict[str, Fraction], best_pair: Fraction) -> list[Check]:
    most, less, without_m = Fraction(42, 32), Fraction(41, 32), classes["OPT_noM"]
    return [
        equal("OPT, over all policies", paper=most, ours=classes["OPT"]),
        equal("OPT_noG, without the return so far", paper=less, ours=classes["OPT_noG"]),
        check(
            "OPT_noM, without the best return", paper="< 42/32", ours=without_m,
            holds=without_m == best_pair == less and without_m < classes["OPT"], tight=False,
        ),
        equal("best Markov value", ours=classes["OPT_markov"], right=Fraction(5, 4)),
    ]  # fmt: skip


def _proof_checks(better: dict[tuple[Fraction, int], str], numbers: dict[str, Any]) -> list[Check]:
    after, laws = numbers["E[U(G1)]"], numbers["laws"]
    both = [better[m, 0] + better[m, 1] for m in (BESTS[0], BESTS[1], BESTS[3])]
    return [
        check(
            "U(M) at M = 0, 1/2, 1, 3/2, 2", paper="1, 17/16, 5/4, 25/16, 2",
            ours=", ".join(map(str, numbers["U"].values())),
            holds=all(numbers["U"][str(m)] == u for m, u in FACTS["U"].items()),
        ),
        check(
            "best action at M = 0, 1/2, 3/2 and G = 0, 1", paper="ss, rs, (s or r)r",
            ours=", ".join(both).replace("tie", "(s or r)"),
            holds=all(better[Fraction(m, 2), g] == which for (m, g), which in FACTS["best action"].items()),
        ),
        check(
            "E[U(G₁)] after ss, sr, rs, rr in the first rollout", paper="21/16, 5/4, 21/16, 5/4",
            ours=", ".join(str(after[b]) for b in ("ss", "sr", "rs", "rr")),
            holds=all(str(after[b]) == v for b, v in FACTS["bound after first"].items()),
        ),
        check(
            "laws of a rollout's return, safe and risky", paper="(1/2, 1/2) and (3/8, 1/2, 1/8)",
            ours=" and ".join(f"({', '.join(law.values())})" for law in laws.values()),
            holds=laws == FACTS["returns"],
        ),
    ]  # fmt: skip


def _tables(numbers: dict[str, Any], pairs: dict[tuple[str, str], Fraction]) -> list[Table]:
    rows: list[tuple[object, ...]] = []
    for m in BESTS:
        choices = [numbers["q"][f"M={m}, G={g}"] for g in (0, 1)]
        cells = [cell for safe, risky, better in choices for cell in (f"{safe}, {risky}", better)]
        rows.append((m, *cells, *(numbers[name][str(m)] for name in ("U", "U_safe", "U_risky"))))
    return [
        Table(
            "The second rollout at s̄: what both actions are worth, which is better; U, U^s, U^r.",
            ("M", "q_s, q_r at G = 0", "better", "q_s, q_r at G = 1", "better", "U(M)", "U^s(M)", "U^r(M)"),
            rows,
        ),
        Table(
            "Without M: the value of every behaviour in the first rollout (rows) and the second (columns). "
            "The first letter is what is done at G = 0, the second at G = 1. The largest is OPT_noM.",
            ("first \\ second", *BEHAVIOURS),
            [(a, *(pairs[a, b] for b in BEHAVIOURS)) for a in BEHAVIOURS],
        ),
    ]


def _picture(better: dict[tuple[Fraction, int], str], classes: dict[str, Fraction]) -> Picture:
    figure, (left, right) = drawing.figure(2, 3.4, 2.4)
    looks = {"s": ("safe", drawing.SKY), "r": ("risky", drawing.ORANGE), "tie": ("either", "#dddddd")}
    for (m, g), which in better.items():
        name, colour = looks[which]
        x = BESTS.index(m)
        left.barh(g + 0.5, 1, 1, x, color=colour, edgecolor="white", linewidth=2)
        left.text(x + 0.5, g + 0.5, name, ha="center", va="center", fontsize=8.5)
    left.set(xlim=(0, len(BESTS)), ylim=(0, 2), xlabel="best return so far, M", ylabel="return so far, G")
    left.set_xticks([x + 0.5 for x in range(len(BESTS))], [str(m) for m in BESTS])
    left.set_yticks([0.5, 1.5], ["0", "1"])
    left.tick_params(length=0)
    rows = (
        ("adaptive", "OPT", drawing.BLUE),
        ("without G", "OPT_noG", drawing.PINK),
        ("without M", "OPT_noM", drawing.GREEN),
        ("Markov", "OPT_markov", drawing.GREY),
    )
    for y, (_, name, colour) in enumerate(rows):
        at = float(classes[name])
        right.hlines(y, 1.24, at, color="#cccccc", linewidth=1.2)
        right.plot(at, y, "o", color=colour, markersize=8)
        right.text(at + 0.005, y, str(classes[name]), va="center", fontsize=8.5)
    right.set_yticks(range(len(rows)), [label for label, *_ in rows])
    right.set(ylim=(-0.5, len(rows) - 0.5), xlim=(1.24, 1.335), xlabel="expected best of two rollouts")
    caption = "Left: the best action of the second rollout at s̄. Right: the best of each class of policies."
    return Picture("proposition3", figure, caption)
