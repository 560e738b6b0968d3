"""Independent ways to the same numbers, written to be obviously right rather than fast.

None of them shares code with a solver: they read problems through ``MDP.exact_outcomes`` and nothing else.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import maxatk as mk
from maxatk.base.types import Number


@dataclass(frozen=True)
class History:
    """All that an agent has seen: finished rollouts and the present one, as tuples of (state, action, reward)."""

    past: tuple[tuple[tuple[int, int, Fraction], ...], ...]
    present: tuple[tuple[int, int, Fraction], ...]
    state: int

    @property
    def rollout(self) -> int:
        return len(self.past)

    @property
    def step(self) -> int:
        return len(self.present)

    @property
    def so_far(self) -> Fraction:
        return sum((r for _, _, r in self.present), Fraction(0))

    def best(self, best_so_far: Number = -math.inf) -> Number:
        return max([best_so_far, *(sum((r for _, _, r in rollout), Fraction(0)) for rollout in self.past)])

    def successors(self, mdp: mk.MDP, action: int) -> Iterator[tuple[Fraction, "History"]]:
        """What may follow ``action``; at the end of a rollout, the next one with each reset state."""
        for p, next_state, r in mdp.exact_outcomes(self.step, self.state, action):
            present = (*self.present, (self.state, action, r))
            if next_state is None or len(present) == mdp.horizon:
                for q, start in mdp.exact_start():
                    yield p * q, History((*self.past, present), (), start)
            else:
                yield p, History(self.past, present, next_state)


def exactly(best_so_far: Number) -> Number:
    """A return as a fraction, since a fraction times a float is a float."""
    return best_so_far if best_so_far == -math.inf else Fraction(best_so_far)


def starts(mdp: mk.MDP) -> Iterator[tuple[Fraction, History]]:
    for p, s in mdp.exact_start():
        yield p, History((), (), s)


def history_policy_value(
    mdp: mk.MDP, choose: Callable[[History], int], k: int, best_so_far: Number = -math.inf
) -> Fraction:
    """The exact value of any policy, a function of the whole history, by walking the tree of histories."""

    def value(history: History) -> Number:
        if history.rollout == k:
            return history.best(exactly(best_so_far))
        return sum(p * value(after) for p, after in history.successors(mdp, choose(history)))

    return Fraction(sum(p * value(history) for p, history in starts(mdp)))


def policy_value(
    mdp: mk.MDP, policy: mk.CompressedPolicy, k: int, best_so_far: Number = -math.inf, first: int = 0
) -> Fraction:
    """The exact value of a policy on (rollout, step, state, M, G), with the true rewards, from rollout ``first`` on.

    Unlike :func:`history_policy_value` it asks once per compressed history, so it reaches further.
    """
    known: dict[tuple, Number] = {}

    def reset_value(i: int, m: Number) -> Number:
        return m if i == k else sum(p * value(i, 0, s, m, Fraction(0)) for p, s in mdp.exact_start())

    def value(i: int, h: int, s: int, m: Number, g: Fraction) -> Number:
        key = (i, h, s, m, g)
        if key not in known:
            action = policy.action(rollout=i, step=h, state=s, best=m, so_far=g)
            known[key] = sum(
                p
                * (
                    reset_value(i + 1, max(m, g + r))
                    if t is None or h + 1 == mdp.horizon
                    else value(i, h + 1, t, m, g + r)
                )
                for p, t, r in mdp.exact_outcomes(h, s, action)
            )
        return known[key]

    return Fraction(reset_value(first, exactly(best_so_far)))


def all_policy_values(mdp: mk.MDP, k: int, most: int = 100_000) -> list[Fraction]:
    """The value of every deterministic history-dependent policy, one by one: no maximum is ever moved inside.

    Policies that differ only where they cannot come are counted once. Raises OverflowError beyond ``most`` policies.
    """

    def together(branches: list[tuple[Fraction, list[Fraction]]]) -> list[Fraction]:
        """A policy for what follows is any combination of policies for each branch."""
        if math.prod(len(values) for _, values in branches) > most:
            raise OverflowError
        probs = [p for p, _ in branches]
        combinations = itertools.product(*(values for _, values in branches))
        return [sum((p * v for p, v in zip(probs, chosen, strict=True)), Fraction(0)) for chosen in combinations]

    def values(history: History) -> list[Fraction]:
        if history.rollout == k:
            return [Fraction(history.best())]
        sums = []
        for action in mdp.actions(history.step, history.state):
            sums += together([(p, values(after)) for p, after in history.successors(mdp, action)])
        return sums

    return together([(p, values(history)) for p, history in starts(mdp)])


def best_of_independent_returns(mdp: mk.MDP, k: int) -> Fraction:
    """E max of ``k`` independent returns, for problems with one action: a sum over returns of F(r)^k - F(r-)^k."""
    law: dict[Fraction, Fraction] = {}

    def walk(h: int, s: int | None, g: Fraction, p: Fraction) -> None:
        if s is None or h == mdp.horizon:
            law[g] = law.get(g, Fraction(0)) + p
            return
        for q, t, r in mdp.exact_outcomes(h, s, 0):
            walk(h + 1, t, g + r, p * q)

    for p, s in mdp.exact_start():
        walk(0, s, Fraction(0), p)
    below = expected = Fraction(0)
    for value in sorted(law):
        expected += value * ((below + law[value]) ** k - below**k)
        below += law[value]
    return expected


def lattice_values(mdp: mk.MDP, k: int) -> list[float]:
    """The optimal values for 1..k rollouts in floating point, for integer rewards and one start state.

    Inside a rollout M is a constant, so for each M there is a one-rollout problem whose end pays the value of the next
    rollout at max(M, G). Here all M and G on the integer lattice are swept densely, with no windows or bounds.
    """
    (start,) = mdp.start_state
    returns: list[set[int]] = [{0}]  # by step
    ends: set[int] = set()
    rewards = sorted({int(r) for r in mdp.reward})
    assert [float(r) for r in rewards] == sorted(set(mdp.reward.tolist()))
    for _ in range(mdp.horizon):
        returns.append({g + r for g in returns[-1] for r in rewards})
        ends |= returns[-1]
    finals = np.array(sorted(ends), float)  # every possible best return
    place = [{g: i for i, g in enumerate(sorted(step))} for step in returns]
    rows = [
        [
            [(float(p), s if t is None else t, t is None, int(r)) for p, t, r in mdp.exact_outcomes(0, s, a)]
            for a in mdp.actions(0, s)
        ]
        for s in range(mdp.n_states)
    ]
    assert mdp.homogeneous
    after = finals.copy()  # U_{i+1} at every possible best return
    values = []
    for _ in range(k):
        # One slice per M, and first the one for M = -inf.
        best = np.concatenate(([finals[0]], finals))[:, None]  # [M, 1]

        def ended(g: np.ndarray, best: np.ndarray = best, after: np.ndarray = after) -> np.ndarray:  # [M, G]
            return after[np.searchsorted(finals, np.maximum(best, g))]

        value = None
        for h in range(mdp.horizon - 1, -1, -1):
            present = np.array(sorted(returns[h]), float)
            last = {r: ended(present + r) for r in rewards}
            moved = {r: [place[h + 1][g + r] for g in sorted(returns[h])] for r in rewards}
            layer = np.empty((mdp.n_states, len(best), len(present)))
            for s in range(mdp.n_states):
                options = []
                for row in rows[s]:
                    total = np.zeros((len(best), len(present)))
                    for p, t, over, r in row:
                        if over or value is None:
                            total += p * last[r]
                        else:
                            total += p * value[t][:, moved[r]]
                    options.append(total)
                layer[s] = np.max(options, axis=0)
            value = layer
        curve = value[start][:, 0]
        values.append(float(curve[0]))
        after = curve[1:]
    return values
