"""The data of a problem: rows and outcomes as columns, with lookups.

A problem is frozen once it is checked: :class:`maxatk.MDP` adds the constructors to this data.
"""

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.text import count_of
from maxatk.base.types import Floats, Ints, Ints32
from maxatk.problem.explore import States
from maxatk.problem.rows import Canonical, exact_text


class Outcome(NamedTuple):
    """One possible outcome of a step."""

    prob: float  # its probability
    next_state: int | None  # None if the rollout ends
    reward: float  # of the step


class ExactOutcome(NamedTuple):
    """An :class:`Outcome` in rational arithmetic; the probabilities of a row sum to exactly 1."""

    prob: Fraction  # its probability
    next_state: int | None  # None if the rollout ends
    reward: Fraction  # of the step


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ProblemData(Displayed, Canonical):
    """A finite-horizon decision problem in its canonical form: see :class:`maxatk.MDP`."""

    n_states: int  # S, the number of states
    n_actions: int  # A, the number of labels; a state offers some or all of them
    horizon: int  # H, the number of steps of a rollout
    start_state: Ints32  # [B] the support of the reset state's distribution, rising
    start_prob: Floats  # [B] positive; means its entries divided by their exact sum
    exact_start_prob: tuple[Fraction, ...] | None  # [B] normalised; None if the floats are exact
    state_names: tuple[str, ...] | None  # [S] for people
    action_names: tuple[str, ...] | None  # [A] for people
    unit: str  # of returns, for people, such as "points"; empty if it has no name
    states: States | None  # [S] the states of its simulator or environment, if it has one; None in copies

    def __getstate__(self) -> dict[str, Any]:
        # A copy is sent to workers, which do not need the simulator's own objects.
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)} | {"states": None}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        """Set these fields and freeze them; cached results are not copied."""
        for field in dataclasses.fields(self):
            value = fields[field.name]
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, field.name, value)

    # Lookups.

    @property
    def n_layers(self) -> int:
        """``L``: the number of different steps; 1 if all steps behave alike."""
        return (len(self.pair_start) - 1) // self.n_states

    @property
    def homogeneous(self) -> bool:
        """Whether all steps behave alike."""
        return self.n_layers == 1

    def actions(self, step: int, state: int) -> list[int]:
        """The actions that ``state`` offers at ``step``."""
        first, last = self._rows_of(step, state)
        return self.action[first:last].tolist()

    def outcomes(self, step: int, state: int, action: int) -> list[Outcome]:
        """The outcomes of ``action`` in ``state`` at ``step``, sorted by next state and reward, the end last."""
        span = self._outcomes_of(step, state, action)
        return [
            Outcome(float(p), self._target(s), float(r))
            for p, s, r in zip(self.row_prob[span], self.next_state[span], self.reward[span], strict=True)
        ]

    def exact_outcomes(self, step: int, state: int, action: int) -> list[ExactOutcome]:
        """:meth:`outcomes` in rational arithmetic: fractions as given, floats at their exact binary values.

        Args:
            step: the step, from 0.
            state: the state.
            action: an action that it offers.
        """
        span = self._outcomes_of(step, state, action)
        prob = self.exact_prob[span] if self.exact_prob else _normalised(self.prob[span])
        reward = self.exact_rewards_of(step, state, action)
        return [
            ExactOutcome(p, self._target(s), r) for p, s, r in zip(prob, self.next_state[span], reward, strict=True)
        ]

    def exact_rewards_of(self, step: int, state: int, action: int) -> Sequence[Fraction]:
        """The reward of each of :meth:`outcomes`, exactly: fractions as given, floats at their exact binary values.

        Args:
            step: the step, from 0.
            state: the state.
            action: an action that it offers.
        """
        span = self._outcomes_of(step, state, action)
        return self.exact_reward[span] if self.exact_reward else [Fraction(r) for r in self.reward[span].tolist()]

    def row_of(self, step: int, state: int, action: int) -> int:
        """The number of the row of ``action`` in ``state`` at ``step``, as arrays count rows.

        Args:
            step: the step, from 0.
            state: the state.
            action: an action that it offers.
        """
        first, last = self._rows_of(step, state)
        action = checks.integer(action, "action")
        row = first + int(np.searchsorted(self.action[first:last], action))
        if row == last or self.action[row] != action:
            raise InputError(f"state {state} does not offer action {shown(action)} at step {step}")
        return row

    def exact_action_cost_of(self, step: int, state: int, action: int) -> Fraction:
        """The expected cost of taking ``action`` in ``state`` at ``step``."""
        row = self.row_of(step, state, action)
        return self.exact_action_cost[row] if self.exact_action_cost else Fraction(float(self.action_cost[row]))

    @cached_property
    def has_costs(self) -> bool:
        """Whether any row has a cost above 0."""
        return bool(self.action_cost.any())

    def exact_start(self) -> list[tuple[Fraction, int]]:
        """The distribution of the reset state, as pairs of probability and state; they sum to exactly 1."""
        return list(zip(self.exact_start_prob or _normalised(self.start_prob), self.start_state.tolist(), strict=True))

    def step(self, h: int) -> "Step":
        """The rows in force at step ``h``."""
        node = int(self.step_layer[h]) * self.n_states
        return Step(self, self.pair_start[node : node + self.n_states + 1])

    @cached_property
    def row_prob(self) -> Floats:
        """``[T]`` ``prob`` with every row divided by its sum, in floats."""
        sums = np.add.reduceat(self.prob, self.outcome_start[:-1])
        return self.prob / np.repeat(sums, np.diff(self.outcome_start))

    @cached_property
    def reset_prob(self) -> Floats:
        """``[B]`` ``start_prob`` divided by its sum, in floats."""
        return self.start_prob / self.start_prob.sum()

    def _rows_of(self, step: int, state: int) -> tuple[int, int]:
        step = checks.integer(step, "step", most=self.horizon - 1)
        state = checks.integer(state, "state", most=self.n_states - 1)
        first, last = self.step(step).first_row[state : state + 2].tolist()
        return first, last

    def _outcomes_of(self, step: int, state: int, action: int) -> slice:
        row = self.row_of(step, state, action)
        return slice(int(self.outcome_start[row]), int(self.outcome_start[row + 1]))

    def _target(self, next_state: int) -> int | None:
        return None if next_state == self.n_states else int(next_state)

    # Identity and representation.

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the problem, the same however it was built; names do not count."""
        digest = hashlib.sha256(f"maxatk problem 1: {self.n_states} states, {self.horizon} steps".encode())
        for part in (
            *(self.step_layer, self.pair_start, self.action, self.outcome_start),
            *(self.prob, self.next_state, self.reward, self.start_state, self.start_prob),
        ):
            digest.update(f"; {part.dtype.str} {part.size}: ".encode())
            digest.update(part.data)
        for exact in (self.exact_prob, self.exact_reward, self.exact_start_prob):
            digest.update(f"; {exact_text(exact or ())}".encode())
        if self.has_costs:  # fingerprints of problems without costs are older than costs
            digest.update(f"; cost {self.action_cost.size}: ".encode())
            digest.update(self.action_cost.data)
            digest.update(f"; {exact_text(self.exact_action_cost or ())}".encode())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProblemData) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        sizes = [count_of(self.n_states, "state"), count_of(self.n_actions, "action"), f"horizon {self.horizon}"]
        if not self.homogeneous:
            sizes.append(f"{self.n_layers} different steps")
        sizes.append(count_of(len(self.prob), "outcome"))
        return f"MDP({', '.join(sizes)}{', with costs' if self.has_costs else ''})"


@dataclass(frozen=True)
class Step:
    """The rows in force at one step of a problem.

    >>> import maxatk as mk
    >>> step = mk.instances.figure1().step(0)
    >>> step.rows, step.first_row.tolist()  # one state with two actions
    (slice(0, 2, None), [0, 2])
    """

    mdp: ProblemData
    first_row: Ints  # [S + 1] the rows of state s are first_row[s] : first_row[s + 1]

    @property
    def rows(self) -> slice:
        """The rows of all states."""
        return slice(int(self.first_row[0]), int(self.first_row[-1]))

    @property
    def first_outcome(self) -> Ints:
        """``[S + 1]`` the outcomes of all actions in state s are ``first_outcome[s] : first_outcome[s + 1]``."""
        return self.mdp.outcome_start[self.first_row]


def _normalised(prob: Floats) -> tuple[Fraction, ...]:
    """Floats, taken at their exact values, divided by their exact sum."""
    exact = [Fraction(p) for p in prob.tolist()]
    total = sum(exact)
    return tuple(p / total for p in exact)
