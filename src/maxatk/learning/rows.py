"""Rows of a generative model: each sampled as often as a learner asks for, or along the trials of a policy."""

from typing import Any

import numpy as np

from maxatk.base import stopping
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Seed
from maxatk.learning.data import Data, PlanT
from maxatk.learning.fields import Column, Counts, Plain, whole
from maxatk.learning.ledger import Ledger
from maxatk.learning.models import CheckedModel
from maxatk.learning.tuning import TUNING
from maxatk.planning import Solver
from maxatk.problem.objective import Objective


class RowLedger(Ledger):
    """What was drawn from the rows of a model; the arguments are those of :class:`Ledger`."""

    FIELDS = (
        Plain("round", whole),
        Counts("data"),
        Counts("trials"),
        Column("returns", "<f8"),
        Column("target", "<i8", "n_rows"),
    )

    def __init__(self, model: CheckedModel, rng: Seed, **arguments: Any) -> None:
        super().__init__(model, model.signature(), rng, **arguments)
        self.model = model
        self.data = Data(model)  # what the model of the problem is built from
        self.trials = Data(model)  # what the trials of the present policy drew
        self.returns: Floats = np.zeros(0)  # [T] the best returns of these trials
        self.round = 0
        self.target: Ints = np.zeros(model.n_rows, np.int64)  # [N] how many samples each row is to have
        self.open()

    @property
    def samples(self) -> int:
        """All samples drawn so far."""
        return self.data.samples + self.trials.samples

    def fill(self) -> None:
        """Sample every row up to its target."""
        while (behind := np.flatnonzero(self.data.counts < self.target)).size:
            row = int(behind[0])
            n = min(int(self.target[row] - self.data.counts[row]), TUNING.sample_chunk)
            self.data.add(row, *self._draw(row, n))
            self.settle()

    def try_out(self, row: int, n: int) -> tuple[Ints, Floats]:
        """Samples for a trial of a policy; :meth:`finish` must follow when the trial is over."""
        outcomes = self._draw(row, n)
        self.trials.add(row, *outcomes)
        return outcomes

    def finish(self, returns: Floats) -> None:
        """Trials of the present policy are over, with these best returns."""
        self.returns = np.append(self.returns, returns)
        self.settle()

    def _draw(self, row: int, n: int) -> tuple[Ints, Floats]:
        stopping.check()
        self.about_to_draw(n)
        return self.model.sample(row, n, self.rng)

    def plan(self, solver: Solver[PlanT], k: int) -> PlanT:
        """A plan for the empirical problem."""
        assert self.model.start is not None
        return self.data.plan(solver, self.model.start, Objective(k))

    def next_round(self, target: Ints) -> None:
        """Begin another round: the trials of the last policy count as samples of their rows."""
        self._settled = False
        self.data.merge(self.trials)
        self.trials, self.returns = Data(self.model), np.zeros(0)
        self.target = target
        self.round += 1
        self.settle()

    def check(self) -> None:
        """Refuse returns, rounds and targets that no run can have left."""
        least, most = self.model.return_range
        slack = 2.0**-40 * max(abs(least), abs(most))
        if not ((self.returns >= least - slack) & (self.returns <= most + slack)).all():
            raise InputError("its returns are out of range")
        if len(self.returns) > self.trials.samples or bool(len(self.returns)) != bool(self.trials.samples):
            raise InputError(f"it has {len(self.returns)} trials, and {self.trials.samples} samples of them")
        if self.round > self.samples + 1:  # every round draws something
            raise InputError(f"it has {self.samples} samples, and is in round {self.round}")
        beyond = np.maximum(self.data.counts - self.target, 0).sum(dtype=np.float64)
        if beyond > self.target.sum(dtype=np.float64):  # but for trials, rows stop there
            raise InputError("its target does not go with what was counted")

    def check_target(self, most: int) -> None:
        """Refuse a checkpoint in which a row is to have more samples than ``most``, or than the budget has left."""
        row = int(self.target.argmax())
        if self.target[row] > most:
            name, asked = self.model.name(row), int(self.target[row])
            self.refuse(f"its target for {name} is {asked} samples, and this learner takes {most} at most")
        wanted = np.maximum(self.target - self.data.counts, 0).sum(dtype=np.float64)
        if self.left is not None and wanted > self.left:
            self.refuse(f"it is to draw {wanted:.0f} samples next, and the budget leaves {self.left}")
