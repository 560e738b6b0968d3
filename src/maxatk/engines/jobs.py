"""What engines do: jobs, which are swept in pieces of the engine's choosing."""

from abc import ABC, abstractmethod
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from maxatk import kernels
from maxatk.base.errors import TooLargeError
from maxatk.base.types import Ints

T = TypeVar("T")
Kernel = Literal["sweep_values", "sweep_decisions", "sweep_planes", "multiply_values", "multiply_decisions"]


class Windows(NamedTuple):
    """The cells that a sweep needs, in the order of :func:`maxatk.kernels.windows`: arrays of the engine."""

    low: Any  # [H, S]
    pad: Any  # [H, S]
    high: Any  # [H, S]
    before: Any  # [H, S] cells of earlier states of the layer
    sizes: Ints  # [H] cells of each layer; on the host


class Runs(NamedTuple):
    """Runs of equal choices of some states of a layer, state by state and then by return: arrays of the engine."""

    first: Any  # [runs] the least return of each
    choice: Any  # [runs]
    count: Any  # [states] how many each state has


class Job(ABC, Generic[T]):
    """One sweep over the layers of a problem, from the last to the first, in pieces of the engine's choosing."""

    steps: int  # layers
    states: int  # of each layer
    large: bool = False  # whether a layer takes so long that it is worth splitting
    multiplies: bool = False  # whether BLAS is at work

    @property
    def brief(self) -> bool:
        """Whether all of it takes less than to hand it to a thread; a few milliseconds at most."""
        return False

    @abstractmethod
    def begin(self, memory: float) -> None:
        """Lay out the cells in at most so many bytes; :class:`maxatk.TooLargeError` where they do not fit."""

    @abstractmethod
    def sweep(self, where: kernels.Part) -> None:
        """Fill some layers, or some states of one; all layers behind are filled."""

    @abstractmethod
    def cuts(self, step: int, parts: int) -> list[int]:
        """Where to cut the states of a layer into parts of about equal work; into fewer where that is little."""

    @abstractmethod
    def result(self) -> T:
        """What came of it."""

    def alone(self, memory: float) -> T:
        """All of it, on the present thread."""
        self.begin(memory)
        self.sweep(kernels.Part(0, self.steps, 0, self.states))
        return self.result()

    def portable(self) -> tuple[Any, ...] | None:
        """A function and small arguments from which a worker elsewhere makes the same result; None where none does.

        The function is called with the object that the workers know, and then with these.
        """
        return None


def check_memory(needed: float, memory: float) -> None:
    """Refuse a job that takes more bytes than there are."""
    if needed > memory:
        raise TooLargeError(f"a slice would take {needed / 2**20:.0f} MiB")
