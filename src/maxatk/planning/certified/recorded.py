"""Decisions recorded while slices are swept for their values, so that a policy need not sweep large slices again.

Neighbouring returns of a state mostly take the same row. So what is kept of a slice are *runs* of equal choices: about
two for each step and state.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxatk import kernels
from maxatk.base.types import Bools, Floats, Ints
from maxatk.engines.engine import Engine
from maxatk.engines.jobs import Runs
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import Curve
from maxatk.problem.decision import DecisionProblem


@dataclass(frozen=True)
class RecordedDecisions:
    """The rows of a slice, by runs."""

    problem: DecisionProblem
    most_left: Any  # [H + 1, S] jumps that can still be gained
    beaten: int  # from here on, with nothing left to gain, the best return of the slice is beaten
    offset: Any  # [H * S + 1] where the runs of each step and state begin
    first: Any  # [runs] the least return of each
    choice: Any  # [runs] the row that it takes, counted from the state's first

    @classmethod
    def of(
        cls, problem: DecisionProblem, moves: kernels.Moves, m: int, parts: Sequence[Runs], engine: Engine
    ) -> "RecordedDecisions":
        """The decisions of a slice held at lattice point ``m``, from its parts in the order of steps and states."""
        beaten, xp = m - moves.drift * problem.mdp.horizon + 1, engine.xp
        first, choice, count = (xp.concatenate(arrays) for arrays in zip(*parts, strict=True))
        offset = xp.zeros(len(count) + 1, np.int32 if len(first) < 2**31 else np.int64)
        xp.cumsum(count, dtype=offset.dtype, out=offset[1:])
        return cls(problem, moves.most_left, beaten, *map(engine.to_host, (offset, first, choice)))

    @property
    def size(self) -> int:
        """Bytes."""
        return self.offset.nbytes + self.first.nbytes + self.choice.nbytes

    def rows(self, step: int, state: Ints, g: Ints, best: Floats, so_far: Floats) -> Ints:
        """The row at each state and return; where nothing can be improved, the cheapest, and -1 where to give up."""
        rows = self.problem.idle_rows(step, state)
        busy = g >= self.beaten - self.most_left[step, state]
        choice = self.choice[self._run(step * self.problem.mdp.n_states + state[busy], g[busy])].astype(np.int64)
        taken = self.problem.mdp.step(step).first_row[state[busy]] + choice
        if self.problem.may_abandon:
            taken = np.where(choice == np.iinfo(self.choice.dtype).max, -1, taken)
        rows[busy] = taken
        return rows

    def _run(self, node: Ints, g: Ints) -> Ints:
        """The run that each return [n] lies in, among those of a step and state: all are bisected at once."""
        at: Ints = self.offset[node].astype(np.int64)
        end: Ints = self.offset[node + 1].astype(np.int64)
        while (end - at > 1).any():
            middle = (at + end) // 2
            beyond: Bools = self.first[middle] > g
            at, end = np.where(beyond, at, middle), np.where(beyond, middle, end)
        return at

    def row(self, step: int, state: int, g: int, best: float, so_far: float) -> int:
        """:meth:`rows` of one state."""
        problem = self.problem
        if g < self.beaten - int(self.most_left[step, state]):
            return problem.idle_row(step, state)
        node = step * problem.mdp.n_states + state
        begin, end = self.offset[node : node + 2].tolist()
        choice = int(self.choice[begin + int(self.first[begin:end].searchsorted(g, side="right")) - 1])
        if problem.may_abandon and choice == np.iinfo(self.choice.dtype).max:
            return -1
        return problem.first_row(step, state) + choice


class Recording:
    """A slice as it was recorded: its runs stay where the engine left them until a policy acts on them.

    Args:
        parts: the runs of its parts, in the order of steps and states.
        read: the decisions, from such parts.
    """

    def __init__(self, parts: Sequence[Runs], read: Callable[[Sequence[Runs]], RecordedDecisions]) -> None:
        self.size = sum(int(array.nbytes) for part in parts for array in part)  # bytes
        self._parts, self._read = parts, read

    @cached_property
    def decisions(self) -> RecordedDecisions:
        """The rows."""
        read = self._read(self._parts)
        self._parts = ()
        return read


class Recorder:
    """What is recorded of slices, by what was swept.

    Args:
        room: bytes that all of it may take.
    """

    def __init__(self, room: float) -> None:
        self._room, self._lock = room, threading.Lock()  # slices are swept on several threads
        self._closed = False
        self._held: dict[tuple[Any, ...], tuple[Curve, Recording]] = {}

    @property
    def has_room(self) -> bool:
        """Whether another slice is recorded."""
        return self._room > 0 and not self._closed

    def keep(self, task: Task, recording: Recording) -> None:
        """Keep what was recorded of a task with one best return, if there is room."""
        with self._lock:
            if recording.size <= self._room:
                self._room -= recording.size
                self._held[_key(task)] = task.after, recording
            else:
                self._room = 0.0

    def of(self, task: Task) -> RecordedDecisions | None:
        """The decisions of a task with one best return, if they were recorded."""
        with self._lock:
            after, recording = self._held.get(_key(task), (None, None))
            return recording.decisions if recording is not None and after is task.after else None

    def close(self) -> None:
        """Record nothing more: the plan is made."""
        self._closed = True

    def keep_only(self, after: Curve, knots: Collection[float]) -> None:
        """Forget slices under a curve that are no knots: nothing acts on them."""
        with self._lock:
            for key, (curve, recording) in list(self._held.items()):
                if curve is after and key[2] == (0, 0) and key[1] not in knots:
                    self._room += recording.size
                    del self._held[key]


def _key(task: Task) -> tuple[Any, ...]:
    (m,) = task.ms
    return id(task.after), m, task.shifts, task.phase, task.start
