"""The ledger of a run: what it has drawn of its budget, what its claims take of delta, and its place in a checkpoint.

All sampling passes through a ledger, so that what is counted is what was drawn and no budget is ever exceeded. What a
run has to remember lies in the fields of its ledger and nowhere else: a run that is read back from its checkpoint goes
on exactly as if nothing had happened. What those fields are depends on where the samples come from: rows of a
generative model (``rows.py``), or episodes.
"""

import hashlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from maxatk.base import archive, checks
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.base.text import at_least, at_most, decimals_of
from maxatk.base.types import Seed
from maxatk.learning.fields import Field
from maxatk.learning.models import Checked
from maxatk.learning.risk import Risk
from maxatk.learning.tuning import TUNING

VERSION = 3


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


def checked_path(checkpoint: str | PathLike[str]) -> str | PathLike[str]:
    """The path of a checkpoint, which can be written to."""
    if not isinstance(checkpoint, str | PathLike):
        raise InputError(f"checkpoint must be a path, not {checks.shown(checkpoint)}")
    archive.check_target(checkpoint)
    return checkpoint


class Ledger(ABC):
    """The state of one run.

    Args:
        known: what is known of the problem.
        source: what tells the source of the samples from others, for checkpoints.
        rng: what the source draws from; None for a run that nobody can repeat, though it can be continued.
        delta: the probability with which the run's claims may fail, all together.
        budget: how many samples may be drawn.
        checkpoint: the file that the ledger is kept in.
        settings: what else a checkpoint belongs to.
        reporter: whom to tell where the run stands.
    """

    def __init__(
        self,
        known: Checked,
        source: dict[str, Any],
        rng: Seed,
        *,
        delta: float = 1.0,
        budget: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        settings: dict[str, Any] | None = None,
        reporter: LearningReporter | None = None,
    ) -> None:
        self.known = known
        self.rng, self.budget, self.risk = checks.generator(rng), budget, Risk(Fraction(delta))
        self._checkpoint = None if checkpoint is None else checked_path(checkpoint)
        self._reporter = reporter
        state = json.dumps(_plain(self.rng.bit_generator.state))
        begun_with = None if rng is None else hashlib.sha256(state.encode()).hexdigest()
        self._settings = {**(settings or {}), "model": source, "rng": begun_with}
        self._began = self._saved = time.perf_counter()
        self._settled = True

    # What subclasses keep.

    FIELDS: ClassVar[tuple[Field, ...]]  # all that a run has to remember

    @property
    def slack(self) -> float:
        """How far rewards that were counted may be out of their range."""
        return 0.0

    @property
    @abstractmethod
    def samples(self) -> int:
        """All samples drawn so far."""

    @abstractmethod
    def check(self) -> None:
        """Raise :class:`InputError` where fields, each of which is right by itself, do not go together."""

    def members(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """All fields, as plain numbers and arrays by name."""
        numbers: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for field in self.FIELDS:
            field.write(self, numbers, arrays)
        return numbers, arrays

    def take_up(self, file: Archive) -> None:
        """Read what :meth:`members` wrote, or raise :class:`InputError`."""
        for field in self.FIELDS:
            setattr(self, field.name, field.read(self, file))
        self.check()

    # The budget.

    @property
    def left(self) -> int | None:
        """What is left of the budget."""
        return None if self.budget is None else self.budget - self.samples

    def about_to_draw(self, n: int) -> None:
        """Say that ``n`` samples are drawn next; :meth:`settle` must follow when they are entered."""
        if self.left is not None and n > self.left:
            raise InputError(f"budget: {n} samples are wanted, but only {self.left} are left")
        self._settled = False

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
        if time.perf_counter() - self._saved >= TUNING.save_every:
            self.save()

    def keep_in(self, path: str | PathLike[str]) -> None:
        """Write checkpoints to ``path`` from now on."""
        self._checkpoint = checked_path(path)

    def save(self, *, open_trial: bool = False) -> None:
        """Write the checkpoint, if there is to be one and the fields belong together, or ``open_trial`` says so."""
        if self._checkpoint is None or not (self._settled or open_trial):
            return
        numbers, arrays = self.members()
        header = {"settings": self._settings, **numbers, "generator": _plain(self.rng.bit_generator.state)}
        archive.write(self._checkpoint, "checkpoint", VERSION, header, arrays)
        self._saved = time.perf_counter()

    def open(self) -> None:
        """Go on where the checkpoint left off, if there is one."""
        if self._checkpoint is not None and Path(self._checkpoint).exists():
            archive.read(self._checkpoint, {"checkpoint": (VERSION,)}, self._read)

    def refuse(self, reason: str) -> NoReturn:
        """Refuse the checkpoint, whose members are all right one by one."""
        raise InputError(f"{self._checkpoint}: not a readable maxatk checkpoint: {reason}")

    def _read(self, file: Archive) -> None:
        header = file.header
        begun: Any = header.get("settings")
        if not checks.is_dict(begun):
            raise InputError("it has no settings")
        for name, value in self._settings.items():
            if begun.get(name) != json.loads(json.dumps(value)):
                raise InputError(f"it was begun with another {name}: give the same arguments, or another path")
        self.take_up(file)
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
