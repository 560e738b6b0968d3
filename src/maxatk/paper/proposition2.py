"""Proposition 2: nothing is lost by remembering only (s, M, G). Every policy of many small problems, one by one."""

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, column, text
from maxatk.paper.values import HALF, optimum

COUNTED = ("problems", "policies", "histories", "compressed", "missed", "split")
Step = tuple[int, int, Fraction]  # state, action, reward
History = tuple[tuple[tuple[Step, ...], ...], tuple[Step, ...], int]  # finished rollouts, the present one, the state


def lotteries() -> Iterator[mk.MDP]:
    """One step, two actions: every pair of laws on the rewards 0, 1, 2 with probabilities in thirds."""
    thirds = [(a, b, 3 - a - b) for a in range(4) for b in range(4 - a)]
    laws = [[(Fraction(n, 3), 0, r, True) for r, n in enumerate(law) if n] for law in thirds]
    for pair in itertools.combinations_with_replacement(laws, 2):
        yield mk.MDP.from_table([list(pair)], horizon=1)


def two_states(moves: int) -> Iterator[mk.MDP]:
    """Two steps, states and actions: every way to give each of the four pairs a reward 0 or 1 and one of the moves.

    A coin between both states, to state 0, and to state 1: the first ``moves`` of these.
    """
    options = ([(HALF, 0), (HALF, 1)], [(Fraction(1), 0)], [(Fraction(1), 1)])[:moves]
    rows = [[(p, t, r, False) for p, t in move] for move in options for r in (0, 1)]
    for chosen in itertools.product(rows, repeat=4):
        yield mk.MDP.from_table([list(chosen[:2]), list(chosen[2:])], horizon=2)


class Everything:
    """The values of all deterministic history-dependent policies of a problem; no maximum is ever moved inside."""

    def __init__(self, mdp: mk.MDP, k: int) -> None:
        self._mdp, self._k = mdp, k
        self.histories = 0
        self.best: dict[Any, set[Fraction]] = {}  # by (i, h, s, M, G): the best value of each history that has these
        ((_, self._start),) = mdp.exact_start()
        self.values, self.policies = self._of(((), (), self._start))

    def _of(self, history: History) -> tuple[set[Fraction], int]:
        """The values that policies can have from here on, and how many policies there are."""
        past, present, state = history
        finished = [sum((r for *_, r in rollout), Fraction(0)) for rollout in past]
        if len(past) == self._k:
            return {max(finished)}, 1
        self.histories += 1
        values: set[Fraction] = set()
        policies = 0
        for action in self._mdp.actions(len(present), state):
            sums, ways = {Fraction(0)}, 1
            for p, t, r in self._mdp.exact_outcomes(len(present), state, action):
                after, count = self._of(self._next(history, action, t, r))
                sums = {x + p * y for x in sums for y in after}  # any policy here with any policy there
                ways *= count
            values |= sums
            policies += ways
        compressed = (len(past), len(present), state, max(finished, default=None), sum((r for *_, r in present), 0))
        self.best.setdefault(compressed, set()).add(max(values))
        return values, policies

    def _next(self, history: History, action: int, next_state: int | None, reward: Fraction) -> History:
        past, present, state = history
        present = (*present, (state, action, reward))
        if next_state is None or len(present) == self._mdp.horizon:
            return (*past, present), (), self._start
        return past, present, next_state


def family(problems: Iterator[mk.MDP], k: int, effort: Effort, name: str) -> dict[str, int]:
    """Every problem of a family: counts of what was enumerated, and of failures of the proposition."""
    counts = Counter[str]()
    for mdp in problems:
        everything = Everything(mdp, k)
        counts += Counter(
            problems=1, policies=everything.policies, histories=everything.histories, compressed=len(everything.best)
        )
        counts["missed"] += max(everything.values) != optimum(mdp, k)
        counts["split"] += any(len(values) > 1 for values in everything.best.values())
        if counts["problems"] % 50 == 0:
            effort.tell(f"{name}: {counts['problems']} problems")
    return {what: counts[what] for what in COUNTED}


def run(effort: Effort) -> Claim:
    """Recompute Proposition 2."""
    families = {
        "lotteries, K = 2": (lotteries(), 2),
        f"two states, {effort.pick(4, 6)} rows, K = 2": (two_states(effort.pick(2, 3)), 2),
        **effort.pick({}, {"lotteries, K = 3": (lotteries(), 3)}),
    }
    counts = {name: family(problems, k, effort, name) for name, (problems, k) in families.items()}
    total = {what: sum(row[what] for row in counts.values()) for what in COUNTED}
    return Claim(
        "proposition2",
        checks=[
            check(
                f"optimum of {total['problems']} problems, over {text(total['policies'])} history-dependent policies",
                paper="Π_C attains it",
                ours=f"attained in {total['problems'] - total['missed']} of {total['problems']}",
                holds=total["missed"] == 0,
            ),
            check(
                f"the value of a history depends on (s, M, G) alone, {text(total['histories'])} histories",
                paper="always",
                ours=f"{total['problems'] - total['split']} of {total['problems']} problems",
                holds=total["split"] == 0,
            ),
        ],
        tables=[
            Table.of(
                "What was enumerated.",
                [{"family": name, **row} for name, row in counts.items()],
                {"family": "family", "problems": "problems", "policies": "policies", "full histories": "histories",
                 "compressed histories": "compressed", "optimum missed": "missed"},
            )
        ],
        pictures=[_picture(counts)],
        numbers={**counts, "total": total},
    )  # fmt: skip


def _picture(counts: dict[str, dict[str, int]]) -> Picture:
    figure, (ax,) = drawing.figure(1, 4.6)
    at = range(len(counts))
    for shift, what, colour, label in (
        (-0.27, "policies", drawing.ORANGE, "policies"),
        (0.0, "histories", drawing.SKY, "full histories"),
        (0.27, "compressed", drawing.BLUE, "compressed histories (s, M, G)"),
    ):
        ax.bar([x + shift for x in at], column(counts.values(), what), 0.25, color=colour, label=label)
    ax.set(yscale="log", ylabel="how many, over all problems")
    ax.set_xticks(list(at), [f"{name}\n{row['problems']} problems" for name, row in counts.items()])
    ax.margins(y=0.35)
    ax.legend()
    caption = "What the enumeration went through, and what a planner has to remember."
    return Picture("proposition2", figure, caption)
