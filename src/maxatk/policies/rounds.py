"""Policies of rollouts in rounds: those of a round see the best return at its start, and not each other."""

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import NONE, Amounts, Scale
from maxatk.base.types import Ints, Number, Seed
from maxatk.policies.hooks import Act, KnownValue, Rule, Traits
from maxatk.policies.policy import CompressedPolicy
from maxatk.policies.trial import CompressedTrial

UNKNOWN = Amounts(np.array([NONE]), Scale(Fraction(1)))  # parts are policies of one rollout that know no best return


@dataclass(frozen=True)
class Round:
    """What the rollouts of one round follow: a tuple of policies of one rollout, by the best return at its start."""

    ends: tuple[Number, ...]  # [n - 1] rising: up to where each tuple counts, the end included
    tuples: tuple[tuple[CompressedPolicy, ...], ...]  # [n], as many policies in each as the round is wide
    stop_at: Number = math.inf  # the best return at which the trial is over before this round

    @property
    def width(self) -> int:
        """How many rollouts it has."""
        return len(self.tuples[0])

    def place(self, best: Number) -> int:
        """Which tuple counts at a best return."""
        return bisect.bisect_left(self.ends, best)


class RoundsPolicy(CompressedPolicy):
    """Rollouts in rounds. ``best`` is the best return at the start of the round, the same for all rollouts of it.

    Args:
        rounds: what the rollouts of each round follow.
        best_so_far: the incumbent, or ``-inf`` where there is none.

    >>> import maxatk as mk
    >>> policy = mk.solve(mk.instances.figure1(gamma=0), k=4, width=2).policy
    >>> [policy.action(rollout=i, step=0, state=0, best=-float("inf"), so_far=0) for i in (0, 1)]
    [0, 1]
    >>> tries = policy.begin_round(round=1, best=0.5)
    >>> [attempt.act(state=0) for attempt in tries]
    [1, 1]
    """

    def __init__(self, rounds: Sequence[Round], best_so_far: Number = -math.inf) -> None:
        parts = [part for one in rounds for members in one.tuples for part in members]
        self._rounds, self._widths = tuple(rounds), tuple(one.width for one in rounds)
        super().__init__(sum(self._widths), parts[0].horizon, best_so_far)
        first = parts[0]._traits
        self._traits = Traits(memory=first.memory, n_states=first.n_states, in_floats=first.in_floats)
        self._places = [(b, j) for b, width in enumerate(self._widths) for j in range(width)]  # of each rollout

    @property
    def rounds(self) -> tuple[int, ...]:
        """How many rollouts each round has."""
        return self._widths

    @property
    def stops_at(self) -> tuple[Number, ...]:
        """Before each round, the best return from which on the trial is over; infinite where it never is."""
        return tuple(one.stop_at for one in self._rounds)

    @property
    def _may_stop(self) -> bool:
        return any(one.stop_at < math.inf for one in self._rounds)

    def certified(self, known: KnownValue) -> "RoundsPolicy":
        """The same with bounds on its value."""
        self._traits = replace(self._traits, known_value=known)
        return self

    def stops(self, *, rollout: int, best: Number) -> bool:
        """Whether the trial is over before ``rollout``: never within a round."""
        b, j = self._places[checks.integer(rollout, "rollout", most=self.k - 1)]
        return j == 0 and best != -math.inf and best >= self._rounds[b].stop_at

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take; ``best`` is the best return at the start of the round."""
        b, j = self._places[checks.integer(rollout, "rollout", most=self.k - 1)]
        one = self._rounds[b]
        part = one.tuples[one.place(checks.incumbent(best, "best"))][j]
        return part.action(rollout=0, step=step, state=state, best=-math.inf, so_far=so_far)

    def begin(self, rng: Seed = None) -> "RoundsTrial":
        """A new trial whose rollouts are run one after another: the best return is frozen within a round."""
        return RoundsTrial(self, self._traits.memory)

    def begin_round(self, *, round: int, best: Number) -> list["RoundTry"]:
        """The rollouts of a round, to be run side by side, in any order.

        Args:
            round: which round, from 0.
            best: the best return at its start; ``-inf`` where there is none.
        """
        b = checks.integer(round, "round", most=len(self._widths) - 1)
        known, first = checks.incumbent(best, "best"), sum(self._widths[:b])
        return [RoundTry(self, first + j, known, self._traits.memory) for j in range(self._widths[b])]

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        b, j = self._places[rollout]
        one = self._rounds[b]
        places: Ints = np.array([one.place(best.scale.number(x)) for x in best.units.tolist()])
        parts: dict[int, CompressedPolicy] = {p: one.tuples[p][j] for p in set(places.tolist())}
        acts: dict[int, Act] = {p: part._rule(0, UNKNOWN).act for p, part in parts.items()}

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            answers, mine = np.empty(len(tag), np.int64), places[tag]
            for p in np.unique(mine).tolist():
                these = np.flatnonzero(mine == p)
                part = Amounts(so_far.units[these], so_far.scale)
                answers[these] = acts[p](step, np.zeros(len(these), np.int64), state[these], part)
            return answers

        return Rule(act)


class RoundsTrial(CompressedTrial):
    """A trial in rounds: the policy is asked with the true best return at the start of the round."""

    def __init__(self, policy: RoundsPolicy, memory: Callable[[Fraction], Fraction] | None) -> None:
        super().__init__(policy, memory)
        self._starts = {sum(policy.rounds[:b]) for b in range(len(policy.rounds))}

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        frozen = self._best
        super()._remember(state, action, reward, over)
        self._best = frozen

    def _choose(self, state: Any) -> int:
        if self.step == 0 and self.rollout in self._starts:
            self._best = self.exact_best
        return super()._choose(state)


class RoundTry:
    """One rollout of a round: ask with :meth:`act`, tell with :meth:`observe`, in turn.

    Args:
        policy: the policy of all rounds.
        rollout: which of all rollouts it is, from 0.
        best: the best return at the start of the round.
        memory: what is remembered of a reward; None for the reward itself.
    """

    def __init__(
        self, policy: RoundsPolicy, rollout: int, best: Number, memory: Callable[[Fraction], Fraction] | None
    ) -> None:
        self._policy, self._memory, self._so_far = policy, memory, Fraction(0)
        self.rollout = rollout  # which of all rollouts it is, from 0
        self.best = best  # the best return at the start of the round
        self.step = 0  # the number of steps that are over
        self.total = Fraction(0)  # the return so far, the rewards' exact sum
        self.finished = False  # whether it is over
        self._acted = False

    def __repr__(self) -> str:
        where = "over" if self.finished else f"step {self.step}"
        which = f"try {self.rollout + 1} of {self._policy.k}"
        return f"{type(self).__name__}({which}, {where}, return {float(self.total):.6g})"

    def act(self, state: Any) -> int:
        """The action to take in ``state``."""
        if self.finished or self._acted:
            why = "this rollout is over" if self.finished else "the outcome of the last action was not observed yet"
            raise InputError(f"act: {why}")
        action = self._policy.action(
            rollout=self.rollout, step=self.step, state=state, best=self.best, so_far=self._so_far
        )
        self._acted = True
        return action

    def observe(self, reward: Any, done: bool = False) -> None:
        """Take in the ``reward`` that the last action brought; ``done`` says that this rollout is over."""
        if not self._acted:
            raise InputError("observe: no action was taken since the last outcome")
        if not isinstance(done, bool | np.bool_):
            raise InputError(f"done must be true or false, not {checks.shown(done)}")
        amount = checks.exact_number(reward, "reward")
        self._so_far += amount if self._memory is None else self._memory(amount)
        self.total += amount
        self.step, self._acted = self.step + 1, False
        self.finished = bool(done) or self.step == self._policy.horizon
