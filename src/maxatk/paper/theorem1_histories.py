"""Theorem 1 at every history: what the midpoint planner's policy loses from there on, in fractions."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import maxatk as mk
from maxatk.paper import lemmas
from maxatk.paper.claim import Check, Effort, check

SEED = 11


class Losses(NamedTuple):
    """The largest ones over the histories of a problem, in units of ``kappa H``."""

    histories: int
    loss: Fraction  # V* less what the policy earns
    value_error: Fraction  # between V* and the value of the rounded problem


class _Rounded:
    """A problem beside its rounded one: every history of the true problem, with what the policy remembers of it.

    A history is ``(i, h, s, M, G)`` with the rounded ``M`` and ``G`` in units of ``kappa/2``, as odd cells add up.
    """

    def __init__(self, mdp: mk.MDP, k: int, kappa: Fraction) -> None:
        self._mdp, self._k, self._kappa = mdp, k, kappa
        self._true = lemmas.Histories(mdp, k)
        plan = mk.solve(mdp, k, solver=mk.Midpoint(kappa))
        self._policy = plan.rounded.policy
        self._rounded = lemmas.Histories(plan.rounded.mdp, k)
        self._earned: dict[Any, Fraction] = {}

    def _half_steps(self, reward: Fraction) -> int:
        """The midpoint of a reward's cell; a border belongs to the upper cell, and 1 to the last one."""
        last = math.ceil(1 / self._kappa) - 1
        return 2 * min(int(reward // self._kappa), last) + 1

    def after(self, x: Any, action: int) -> list[tuple[Fraction, Any]]:
        """The histories that may follow."""
        i, h, s, (m, mm), (g, gg) = x
        following: list[tuple[Fraction, Any]] = []
        for p, t, r in self._mdp.exact_outcomes(h, s, action):
            a, b = g + r, gg + self._half_steps(r)
            over = t is None or h + 1 == self._mdp.horizon
            none = (Fraction(0), 0)
            following.append((p, (i + 1, 0, 0, (max(m, a), max(mm, b)), none) if over else (i, h + 1, t, x[3], (a, b))))
        return following

    def everything(self) -> list[Any]:
        """All histories that some policy can meet."""
        first = (0, 0, 0, (Fraction(0), 0), (Fraction(0), 0))
        known, left = {first}, [first]
        while left:
            x = left.pop()
            for a in range(self._mdp.n_actions):
                for _, y in self.after(x, a):
                    if y[0] < self._k and y not in known:
                        known.add(y)
                        left.append(y)
        return list(known)

    def earned(self, x: Any) -> Fraction:
        """What the policy earns from a history on, in the true problem."""
        i, h, s, (m, mm), (_, gg) = x
        if i == self._k:
            return m
        if x not in self._earned:
            action = self._policy.action(rollout=i, step=h, state=s, best=mm, so_far=gg)
            self._earned[x] = sum((p * self.earned(y) for p, y in self.after(x, action)), Fraction(0))
        return self._earned[x]

    def losses(self) -> Losses:
        """The largest ones over all histories."""
        everything, unit = self.everything(), self._kappa * self._mdp.horizon
        loss = error = Fraction(0)
        for x in everything:
            i, h, s, (m, mm), (g, gg) = x
            best = self._true.value((i, h, s, m, g))
            rounded = self._kappa / 2 * self._rounded.value((i, h, s, Fraction(mm), Fraction(gg)))
            loss, error = max(loss, best - self.earned(x)), max(error, abs(best - rounded))
        return Losses(len(everything), loss / unit, error / unit)


def losses(mdp: mk.MDP, k: int, kappa: Fraction) -> Losses:
    """The largest losses over all histories of a problem that starts in state 0, with rewards in [0, 1]."""
    return _Rounded(mdp, k, kappa).losses()


def on_small_problems(effort: Effort) -> list[dict[str, Any]]:
    """The largest losses over all histories of random problems and of the paper's own."""
    rng = np.random.default_rng(SEED)
    problems = [lemmas.small_problem(rng) for _ in range(effort.pick(4, 30))]
    problems.append(mk.instances.proposition3())
    rows: list[dict[str, Any]] = []
    for n, mdp in enumerate(problems):
        for kappa in (Fraction(1, 2), Fraction(1, 4), Fraction(2, 7)):
            effort.tell(f"every history of problem {n + 1} of {len(problems)}, κ = {kappa}")
            loss = losses(mdp, 2, kappa)
            rows.append({"problem": n, "H": mdp.horizon, "kappa": kappa, **loss._asdict()})
    return rows


def checks(rows: list[dict[str, Any]]) -> list[Check]:
    """The theorem's statement, which is about every history."""
    count = sum(r["histories"] for r in rows)
    loss, error = max(r["loss"] for r in rows), max(r["value_error"] for r in rows)
    return [
        check(
            f"largest loss from any of {count} histories on, in fractions (K = 2, {len(rows)} cases)",
            paper="at most 2κH at every history", ours=f"{float(loss):.3f} κH; κH is proved at every history",
            holds=loss <= 1, as_printed=loss <= 2,
        ),
        check(
            f"error of the value at any of {count} histories", ours=f"{float(error):.3f} κH; κH/2 is proved",
            holds=error <= Fraction(1, 2),
        ),
    ]  # fmt: skip
