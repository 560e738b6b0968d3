"""The returns that rollouts come to a state with, where they are few among the points of a huge lattice.

A *node* is a state at a step with a return that some rollout comes there with. Nodes are the states of a problem whose
steps earn nothing: it pays at the end, by the rank of the return among all returns of rollouts. Ranks keep the order of
returns, which is all that windows need, so that sweeps of nodes are those of states (docs/theory/planner.md, 13).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxatk import kernels
from maxatk.base import stopping
from maxatk.base.types import Floats, Ints, Ints32


class Start(NamedTuple):
    """Where rollouts begin, or go on from: states [n] at a step, with one return."""

    step: int
    state: Ints
    so_far: int  # in lattice steps


class Layer:
    """The nodes of a step, by state and then by return.

    Args:
        state: [n] of each node.
        so_far: [n] in lattice steps.
    """

    def __init__(self, state: Ints, so_far: Ints) -> None:
        self._returns, rank = np.unique(so_far, return_inverse=True)
        self._keys, first, self.places = np.unique(
            state * len(self._returns) + rank, return_index=True, return_inverse=True
        )  # places: which node each of those given is
        self.state: Ints = state[first]
        self.so_far: Ints = so_far[first]

    def __len__(self) -> int:
        return len(self.state)

    def nodes(self, state: Ints, so_far: Ints) -> Ints:
        """The node of each state and return [n]; -1 where no rollout comes to."""
        if not len(self):
            return np.full(len(state), -1)
        rank = np.minimum(np.searchsorted(self._returns, so_far), len(self._returns) - 1)
        key = state * len(self._returns) + rank
        node = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
        return np.where((self._keys[node] == key) & (self._returns[rank] == so_far), node, -1)


@dataclass(frozen=True)
class _Step:
    """A layer with what its nodes lead to."""

    layer: Layer
    rows: Ints  # [N] the problem's rows that the nodes have, node by node
    outcome: Ints  # [T] the problem's outcomes of these rows
    source: Ints  # [T] the node of each
    ends: Ints  # [E] which outcomes end the rollout
    final: Ints  # [E] with which return
    onward: Ints  # [T - E] which outcomes do not


@dataclass(frozen=True)
class Reached:
    """All nodes of a problem, from a start on."""

    table: kernels.RowTable  # of the problem itself
    states: int  # of the problem
    first_step: int
    steps: tuple[_Step, ...]  # from the first on

    @classmethod
    def within(cls, table: kernels.RowTable, states: int, jump: Ints, start: Start, most: float) -> "Reached | None":
        """All nodes, or nothing if they are more than ``most``; ``jump`` [T] are rewards in lattice steps."""
        H, steps, count = len(table.step_layer), list[_Step](), 0
        layer = Layer(start.state, np.full(len(start.state), start.so_far))
        for h in range(start.step, H):
            stopping.check()
            count += len(layer)
            if count > most:
                return None
            node = int(table.step_layer[h]) * states + layer.state
            rows, _ = _ranges(table.pair_start[node], table.pair_start[node + 1])
            begin, end = table.outcome_start[table.pair_start[node]], table.outcome_start[table.pair_start[node + 1]]
            outcome, source = _ranges(begin, end)
            to, so_far = table.next_state[outcome].astype(np.int64), layer.so_far[source] + jump[outcome]
            over = np.full(len(to), True) if h == H - 1 else to == states
            ends, onward = np.flatnonzero(over), np.flatnonzero(~over)
            steps.append(_Step(layer, rows, outcome, source, ends, so_far[ends], onward))
            layer = Layer(to[onward], so_far[onward])
        return cls(table, states, start.step, tuple(steps))

    @cached_property
    def returns(self) -> Ints:
        """The returns of whole rollouts, in lattice steps, rising."""
        return np.unique(np.concatenate([step.final for step in self.steps]))

    def rank(self, m: int) -> int:
        """The rank of the greatest return up to ``m``; -1 below all."""
        return int(np.searchsorted(self.returns, m, side="right")) - 1

    @property
    def width(self) -> int:
        """Nodes of a step, at most."""
        return max(len(step.layer) for step in self.steps)

    def nodes(self, step: int, state: Ints, so_far: Ints) -> Ints:
        """The node of each state and return [n] at a step; -1 where no rollout comes to."""
        if step < self.first_step:
            return np.full(len(state), -1)
        return self.steps[step - self.first_step].layer.nodes(state, so_far)

    def tables(self, finish_cost: Floats, abandon: bool) -> kernels.Tables:
        """The nodes as the states of a problem on a lattice of ranks; ``finish_cost`` [H + 1, S] is by state."""
        rows, moves = self._rows, self._moves
        with stopping.brief(True):
            start = np.arange(len(self.steps[0].layer), dtype=np.int32)
            reach = stopping.run(kernels.reachable, rows, moves, self.first_step, start)
        costs = np.zeros((len(rows.step_layer) + 1, self.width))
        for h, step in enumerate(self.steps, self.first_step):
            costs[h, : len(step.layer)] = finish_cost[h, step.layer.state]
        return kernels.Tables(rows, moves, reach, costs, abandon)

    @cached_property
    def _rows(self) -> kernels.RowTable:
        given, width, H = self.table, self.width, len(self.table.step_layer)
        counts = np.zeros((H, width), np.int64)  # rows of each node
        following: list[Ints32] = []
        for h, (step, after) in enumerate(zip(self.steps, [*self.steps[1:], None], strict=True), self.first_step):
            node = int(given.step_layer[h]) * self.states + step.layer.state
            counts[h, : len(node)] = given.pair_start[node + 1] - given.pair_start[node]
            to: Ints32 = np.full(len(step.outcome), width, np.int32)
            if after is not None:
                to[step.onward] = after.layer.places
            following.append(to)
        row, outcome = (np.concatenate([getattr(step, name) for step in self.steps]) for name in ("rows", "outcome"))
        return kernels.RowTable(
            step_layer=np.arange(H, dtype=given.step_layer.dtype),
            pair_start=np.concatenate([[0], np.cumsum(counts)]),
            outcome_start=np.concatenate([[0], np.cumsum(np.diff(given.outcome_start)[row])]),
            prob=given.prob[outcome],
            next_state=np.concatenate(following),
            reward=given.reward[outcome],
            action_cost=given.action_cost[row],
        )

    @cached_property
    def _moves(self) -> kernels.Moves:
        H, width = len(self.table.step_layer), self.width
        most = np.zeros((H + 1, width), np.int64)  # the rank of the greatest return that a node can still come to
        jumps: list[Ints] = []
        for h, step in reversed(list(enumerate(self.steps, self.first_step))):
            jump, best = np.zeros((2, len(step.outcome)), np.int64)
            jump[step.ends] = best[step.ends] = np.searchsorted(self.returns, step.final)
            if len(step.onward):
                best[step.onward] = most[h + 1, self.steps[h + 1 - self.first_step].layer.places]
            np.maximum.at(most[h], step.source, best)
            jumps.append(jump)
        jump = np.concatenate(jumps[::-1])
        return kernels.Moves(jump.astype(np.int32), np.zeros(len(jump)), most, 0)


def _ranges(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All numbers from each ``begin`` [n] up to its ``end``, and which of the [n] each is of."""
    sizes = end - begin
    source = np.repeat(np.arange(len(begin)), sizes)
    return np.arange(int(sizes.sum())) + (begin - np.cumsum(sizes) + sizes)[source], source
