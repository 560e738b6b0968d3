"""What was sampled: how often each outcome of each row came up."""

from typing import Any, TypeVar

import numpy as np

from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints
from maxatk.learning.models import Checked
from maxatk.planning import Plan, Solver, Status
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective
from maxatk.problem.rows import Rows, offsets

PlanT = TypeVar("PlanT", bound=Plan)


class Data:
    """Counts of outcomes by row."""

    def __init__(self, known: Checked) -> None:
        self.known = known
        self._outcomes: list[dict[tuple[int, float], int]] = [{} for _ in range(known.n_rows)]
        self.counts: Ints = np.zeros(known.n_rows, np.int64)  # [N]

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return int(self.counts.sum())

    def add(self, row: int, next_states: Ints, rewards: Floats) -> None:
        """Count outcomes of a row."""
        kinds, where = np.unique(rewards, return_inverse=True)
        code = where * (self.known.n_states + 1) + next_states
        different, times = np.unique(code, return_counts=True)
        outcomes = self._outcomes[row]
        for value, n in zip(different.tolist(), times.tolist(), strict=True):
            kind, next_state = divmod(value, self.known.n_states + 1)
            key = (next_state, float(kinds[kind]))
            outcomes[key] = outcomes.get(key, 0) + n
        self.counts[row] += len(rewards)

    def count(self, row: int, next_state: int, reward: float, n: int = 1) -> None:
        """Count one outcome of a row, ``n`` times."""
        outcomes = self._outcomes[row]
        outcomes[next_state, reward] = outcomes.get((next_state, reward), 0) + n
        self.counts[row] += n

    def different(self, row: int, next_state: int, reward: float) -> int:
        """How many different outcomes a row has with this one."""
        outcomes = self._outcomes[row]
        return len(outcomes) + ((next_state, reward) not in outcomes)

    def copy(self) -> "Data":
        """Another one with the same counts."""
        other = Data(self.known)
        other.merge(self)
        return other

    def merge(self, other: "Data") -> None:
        """Take in what another one has counted."""
        for outcomes, more in zip(self._outcomes, other._outcomes, strict=True):
            for key, n in more.items():
                outcomes[key] = outcomes.get(key, 0) + n
        self.counts += other.counts

    def most_outcomes(self) -> tuple[int, int]:
        """The row with the most different outcomes, and their number."""
        sizes = [len(outcomes) for outcomes in self._outcomes]
        row = int(np.argmax(sizes))
        return row, sizes[row]

    def columns(self) -> tuple[Ints, Ints, Floats, Ints]:
        """Rows [T], next states [T], rewards [T] and counts [T] of all outcomes seen, in order."""
        entries = [
            (row, next_state, reward, n)
            for row, outcomes in enumerate(self._outcomes)
            for (next_state, reward), n in sorted(outcomes.items())
        ]
        row, next_state, reward, n = zip(*entries, strict=True) if entries else ((), (), (), ())
        return (
            *(np.array(row, np.int64), np.array(next_state, np.int64)),
            *(np.array(reward, np.float64), np.array(n, np.int64)),
        )

    def mdp(self, start_state: Any, start_prob: Floats) -> MDP:
        """The empirical problem; a row that was never sampled ends, or stays, with the least reward."""
        known = self.known
        row, next_state, reward, n = self.columns()
        unseen = np.flatnonzero(self.counts == 0)
        if unseen.size:
            stays = (
                np.full(len(unseen), known.n_states) if known.can_terminate else known.state[unseen].astype(np.int64)
            )
            order = np.argsort(np.concatenate([row, unseen]), kind="stable")
            row, next_state = np.concatenate([row, unseen])[order], np.concatenate([next_state, stays])[order]
            reward = np.concatenate([reward, np.full(len(unseen), known.least_reward)])[order]
            n = np.concatenate([n, np.ones(len(unseen), np.int64)])[order]
        ends = next_state == known.n_states
        start = np.zeros(known.n_states)
        start[start_state] = start_prob
        return MDP(
            Rows(
                n_states=known.n_states,
                n_actions=known.n_actions,
                step_layer=known.step_layer.astype(np.int64),
                layer=known.layer,
                state=known.state,
                action=known.action,
                start=offsets(np.bincount(row, minlength=known.n_rows)),
                prob=n / np.maximum(self.counts, 1)[row],
                next_state=np.where(ends, 0, next_state),
                reward=reward,
                ends=ends,
            ),
            start=start,
        )

    def plan(self, solver: Solver[PlanT], start: tuple[Ints, Floats], objective: Objective) -> PlanT:
        """A plan for the empirical problem."""
        plan = solver.solve(DecisionProblem(self.mdp(*start), objective))
        if plan.status is Status.INTERRUPTED:  # it has caught what was meant for the whole run
            raise KeyboardInterrupt
        return plan

    # In files: four columns, checked as if a model had sent them.

    def arrays(self, name: str) -> dict[str, Any]:
        """The columns as members of an archive."""
        row, next_state, reward, n = self.columns()
        return {f"{name}_row": row, f"{name}_next": next_state, f"{name}_reward": reward, f"{name}_count": n}

    @classmethod
    def read(cls, file: Archive, name: str, model: Checked, slack: float = 0.0) -> "Data":
        """What :meth:`arrays` wrote, for this model; rewards may be out of their range by ``slack``."""
        row, next_state, n = (file.array(f"{name}_{part}", "<i8") for part in ("row", "next", "count"))
        reward = file.array(f"{name}_reward", "<f8")
        if not len(row) == len(next_state) == len(n) == len(reward):
            raise InputError("its columns differ in length")
        data = cls(model)
        if not len(row):
            return data
        if row.min() < 0 or row.max() >= model.n_rows or next_state.min() < 0 or next_state.max() > model.n_states:
            raise InputError("it counts outcomes of rows or states that do not exist")
        low, high = model.least_reward - slack, model.most_reward + slack
        if not ((reward >= low) & (reward <= high)).all() or n.min() < 1 or n.sum(dtype=np.float64) > 2**53:
            raise InputError("its rewards or counts make no sense")
        places: list[int] = row.tolist()
        for r, t, x, c in zip(places, next_state.tolist(), reward.tolist(), n.tolist(), strict=True):
            outcomes = data._outcomes[r]
            if (t, x) in outcomes:
                raise InputError("it counts an outcome twice")
            outcomes[t, x] = c
            data.counts[r] += c
        return data
