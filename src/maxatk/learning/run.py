"""One run of a learner: its samples, its budget, its place in a checkpoint, and whom it tells where it stands.

All sampling passes through :class:`Run`, so that what is counted is what was drawn and no budget is ever exceeded. What
a run has to remember lies in its fields and nowhere else: a run that is read back from its checkpoint goes on exactly
as if nothing had happened.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from maxatk.base import archive, checks
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints
from maxatk.learning.data import Data
from maxatk.learning.models import CheckedModel
from maxatk.planning import Plan, Solver, Status
from maxatk.problem.objective import Objective
from maxatk.show.bounds import at_least, at_most, decimals_of

PlanT = TypeVar("PlanT", bound=Plan)

VERSION = 2
CHUNK = 2**18  # samples in one call of the model
SAVE_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class LearningProgress:
    """Where a run stands: samples drawn, and bounds on the optimum and on what the policy at hand earns."""

    samples: int  # drawn so far
    budget: int | None  # that may be drawn
    lower: float  # of the policy's value
    upper: float  # of the optimum
    seconds: float  # since the run began or was continued

    def __str__(self) -> str:
        of = "" if self.budget is None else f" of {self.budget}"
        decimals = decimals_of(self.lower, self.upper)
        lower, upper = at_least(self.lower, decimals), at_most(self.upper, decimals)
        return f"{self.samples} samples{of}: policy at least {lower}, optimum at most {upper}"


LearningReporter: TypeAlias = Callable[[LearningProgress], None]


class Run:
    """The state of one run."""

    def __init__(
        self,
        model: CheckedModel,
        rng: np.random.Generator,
        budget: int | None,
        checkpoint: str | PathLike[str] | None,
        settings: dict[str, Any],
        reporter: LearningReporter | None,
    ) -> None:
        self.model, self.rng, self.budget = model, rng, budget
        self.data = Data(model)  # what the model of the problem is built from
        self.trials = Data(model)  # what the trials of the present policy drew
        self.returns: Floats = np.zeros(0)  # [T] the best returns of these trials
        self.round = 0
        self.target: Ints = np.zeros(model.n_rows, np.int64)  # [N] how many samples each row is to have
        self._checkpoint = checkpoint
        self._reporter = reporter
        begun_with = hashlib.sha256(json.dumps(_plain(rng.bit_generator.state)).encode()).hexdigest()
        self._settings = {**settings, "model": model.signature(), "rng": begun_with}
        self._began = self._saved = time.perf_counter()
        self._settled = True
        if checkpoint is not None and Path(checkpoint).exists():
            archive.read(checkpoint, "checkpoint", VERSION, self._read)

    # Sampling.

    @property
    def samples(self) -> int:
        """All samples drawn so far."""
        return self.data.samples + self.trials.samples

    @property
    def left(self) -> int | None:
        """What is left of the budget."""
        return None if self.budget is None else self.budget - self.samples

    def fill(self) -> None:
        """Sample every row up to its target."""
        while (behind := np.flatnonzero(self.data.counts < self.target)).size:
            row = int(behind[0])
            n = min(int(self.target[row] - self.data.counts[row]), CHUNK)
            self.data.add(row, *self._draw(row, n))
            self.settle()

    def try_out(self, row: int, n: int) -> tuple[Ints, Floats]:
        """Samples for a trial of a policy; :meth:`settle` must follow when the trial is over."""
        found = self._draw(row, n)
        self.trials.add(row, *found)
        return found

    def _draw(self, row: int, n: int) -> tuple[Ints, Floats]:
        if self.left is not None and n > self.left:
            raise InputError(f"budget: {n} samples are wanted, but only {self.left} are left")
        self._settled = False
        return self.model.sample(row, n, self.rng)

    def plan(self, solver: Solver[PlanT], k: int) -> PlanT:
        """A plan for the empirical problem."""
        found = solver.solve(self.data.mdp(), Objective(k))
        if found.status is Status.INTERRUPTED:  # it has caught what was meant for the whole run
            raise KeyboardInterrupt
        return found

    def next_round(self, target: Ints) -> None:
        """Begin another round: the trials of the last policy count as samples of their rows."""
        self._settled = False
        self.data.merge(self.trials)
        self.trials, self.returns = Data(self.model), np.zeros(0)
        self.target = target
        self.round += 1
        self.settle()

    # Reporting and keeping.

    @property
    def seconds(self) -> float:
        """How long this run has taken since it was begun or taken up again."""
        return time.perf_counter() - self._began

    def report(self, lower: float, upper: float) -> None:
        """Tell where the run stands."""
        if self._reporter is not None:
            self._reporter(LearningProgress(self.samples, self.budget, lower, upper, self.seconds))

    def settle(self) -> None:
        """All fields belong together now: save them if it is time to."""
        self._settled = True
        if time.perf_counter() - self._saved >= SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the checkpoint, if there is to be one and the fields belong together."""
        if self._checkpoint is None or not self._settled:
            return
        header = {"settings": self._settings, "round": self.round, "generator": _plain(self.rng.bit_generator.state)}
        arrays = {
            **self.data.arrays("data"),
            **self.trials.arrays("trials"),
            "returns": self.returns,
            "target": self.target,
        }
        archive.write(self._checkpoint, "checkpoint", VERSION, header, arrays)
        self._saved = time.perf_counter()

    def _read(self, file: Archive) -> None:
        header = file.header
        found: Any = header.get("settings")
        if not checks.is_dict(found):
            raise InputError("it has no settings")
        for name, value in self._settings.items():
            if found.get(name) != json.loads(json.dumps(value)):
                raise InputError(f"it was begun with another {name}: give the same arguments, or another path")
        self.round = checks.integer(header.get("round"), "round")
        self.data, self.trials = Data.read(file, "data", self.model), Data.read(file, "trials", self.model)
        self.returns, self.target = file.array("returns", "<f8"), file.array("target", "<i8")
        if len(self.target) != self.model.n_rows or not np.isfinite(self.returns).all():
            raise InputError("its arrays make no sense")
        if self.budget is not None and self.samples > self.budget:
            raise InputError(f"it holds {self.samples} samples, more than the budget of {self.budget}")
        try:
            self.rng.bit_generator.state = _unplain(header.get("generator"))
        except Exception:  # what NumPy raises depends on the generator
            raise InputError("its random generator has no such state") from None


def _plain(state: Any) -> Any:
    """The state of a generator as JSON: arrays as lists, integers of any size as they are."""
    if checks.is_dict(state):
        return {name: _plain(value) for name, value in state.items()}
    if type(state) is np.ndarray:
        return {"dtype": str(state.dtype), "array": state.tolist()}
    return state


def _unplain(state: Any) -> Any:
    if checks.is_dict(state):
        if set(state) == {"dtype", "array"}:
            return np.array(state["array"], np.dtype(str(state["dtype"])))
        return {name: _unplain(value) for name, value in state.items()}
    return state
