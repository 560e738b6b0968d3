"""What planning returns: bounds around the optimum, how they came about, and a policy."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from os import PathLike
from typing import Any, Protocol, TypeAlias, TypeVar

from maxatk.base import checks, display
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Finding, Gain, Stop, Value
from maxatk.base.tabular import Tabular
from maxatk.base.types import Number
from maxatk.planning import gains, stops, tails
from maxatk.planning.tails import Cvar
from maxatk.policies import CompressedPolicy
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective

MOST_TRIES = 1_000_000  # that are listed


class Status(StrEnum):
    """How a solver ended."""

    EXACT = "exact"  # the optimum itself
    WITHIN_TOL = "within tol"  # the interval is as narrow as was asked for
    ROUNDING = "rounding"  # as narrow as floating point allows, but not as was asked for
    TIME_LIMIT = "time limit"  # the best interval within the time that was granted
    WORK_LIMIT = "work limit"  # the best interval within the work that the default tolerance grants
    MEMORY_LIMIT = "memory limit"  # the best interval within the memory that was granted
    INTERRUPTED = "interrupted"  # the best interval before Ctrl-C
    IN_ROUNDS = "in rounds"  # the lower end is what a plan in rounds earns, the upper the optimum of one at a time


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Displayed, Tabular, ABC):
    """A plan for ``k`` rollouts: ``lower <= optimum <= upper``, and a policy that earns at least ``lower``.

    Where rollouts cost something, all of that is about the best return less the costs. Both bounds are true of the
    floating-point numbers themselves.
    """

    problem: DecisionProblem  # the problem, and what was planned for
    lower: float  # the policy earns at least this
    upper: float  # no policy earns more than this
    status: Status  # how the solver ended
    stats: Mapping[str, float]  # plain numbers: work, seconds, ...

    def __repr__(self) -> str:
        what = f"best of up to {self.k}, less costs" if self.costly else f"best of {self.k}"
        what = (
            what if not self.objective.rounds else f"{what} in rounds of {', '.join(map(str, self.objective.rounds))}"
        )
        what = what if self.objective.utility is None else f"utility of the {what}"
        return f"{type(self).__name__}({what}: {self.lower!r} to {self.upper!r}, {self.status})"

    def columns(self) -> dict[str, list[Any]]:
        """The values by number of tries, as :meth:`values_by_tries` has them: tries, lower and upper."""
        lower, upper = zip(*self.values_by_tries(), strict=True)
        return {"tries": list(range(1, self.k + 1)), "lower": list(lower), "upper": list(upper)}

    @property
    def mdp(self) -> MDP:
        """The problem."""
        return self.problem.mdp

    @property
    def objective(self) -> Objective:
        """What was planned for."""
        return self.problem.objective

    @property
    def k(self) -> int:
        """The number of rollouts."""
        return self.objective.k

    @property
    def best_so_far(self) -> Number:
        """The incumbent, or ``-inf``."""
        return self.objective.best_so_far

    @property
    def stop_at(self) -> Number:
        """The best return at which to stop, the same before every rollout; infinite where nothing costs anything.

        Stop as soon as the best return is at least this. Below it another rollout earns its costs, however
        many are left (docs/theory/costs.md, Theorem 2).
        """
        return math.inf

    def useful_tries(self, tol: float) -> int | None:
        """How many tries are worth paying for: all beyond that many are worth at most ``tol`` together.

        None where nothing costs anything, or where the plan is too coarse to say (docs/theory/costs.md, Theorem 3).

        >>> import maxatk as mk
        >>> mk.solve(mk.instances.windy_cliff(), k=20, cost=0.5).useful_tries(0.01)
        24
        """
        return stops.useful_tries(self, tol, self._threshold)

    @property
    def costly(self) -> bool:
        """Whether anything costs anything, so that the plan may stop before all tries are made."""
        return self.problem.costly

    @cached_property
    def gain(self) -> Gain:
        """What the optimum gains over repeating a policy with the best mean: ``lower`` and ``upper``, never below 0.

        Where tries cost something the rival makes the number of tries that is best if it is fixed beforehand. What the
        rival earns is computed on the first access, in a bounded time.

        >>> import maxatk as mk
        >>> gain = mk.solve(mk.instances.windy_cliff(), k=5).gain
        >>> print(f"{gain.lower:.2f} to {gain.upper:.2f}: {gain.outcome}")
        4.72 to 4.73: proved
        """
        return gains.gain_of(self, self._optimum, self._rounding)

    @cached_property
    def stop(self) -> Stop | None:
        """When the plan stops, and what is proved of that; None where nothing costs anything."""
        return stops.stop_of(self, self._threshold) if self.costly else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is proved: the value, the gain and, where something costs something, when to stop."""
        value = Value(lower=self.lower, upper=self.upper, k=self.k)
        return (value, self.gain) if self.stop is None else (value, self.gain, self.stop)

    @property
    def _optimum(self) -> tuple[Number, Number]:
        """Bounds on the optimum; equal fractions where it is known exactly."""
        return self.lower, self.upper

    @property
    def _rounding(self) -> float:
        """What floating point may have added to either bound."""
        return 0.0

    def _threshold(self, tol: float) -> stops.Threshold | None:
        """Where to stop; None if the optimal threshold is not known to within ``tol``."""
        raise InputError(f"{type(self).__name__} does not know when to stop")

    @property
    def gap(self) -> float:
        """``upper - lower``."""
        return self.upper - self.lower

    def value_of_tries(self, n: int) -> tuple[float, float]:
        """Bounds on the optimum of ``n`` rollouts, 1 to ``k``, with the same best return before them."""
        n = checks.integer(n, "n", least=1, most=self.k)
        return self.curve(self.k - n, self.best_so_far) if n < self.k else (self.lower, self.upper)

    def values_by_tries(self, numbers: Sequence[int] | None = None) -> list[tuple[float, float]]:
        """Bounds on the optimum of 1, 2, ... and ``k`` rollouts, with the same best return before them.

        Args:
            numbers: of rollouts, rising, if not all are asked for.

        >>> import maxatk as mk
        >>> for lower, upper in mk.solve(mk.instances.figure1(gamma=0.25), k=3).values_by_tries():
        ...     print(f"{lower:.4f} to {upper:.4f}")
        0.3750 to 0.3750
        0.5625 to 0.5625
        0.6797 to 0.6797
        """
        if numbers is None and self.k > MOST_TRIES:
            raise TooLargeError(f"values_by_tries lists at most {MOST_TRIES} numbers of tries, not {self.k}")
        asked = range(1, self.k + 1) if numbers is None else checks.rising(numbers, "numbers")
        values = [self.value_of_tries(n) for n in asked]
        # One more rollout never lowers the optimum.
        lower = itertools.accumulate((low for low, _ in values), max)
        upper = list(itertools.accumulate((high for _, high in reversed(values)), min))[::-1]
        return list(zip(lower, upper, strict=True))

    def value(
        self, *, rollout: int, step: int, state: int, best: Number = -math.inf, so_far: Number = 0
    ) -> tuple[float, float]:
        """Bounds on the optimum from a moment of a trial on: the best return, less the costs to come.

        It takes what :meth:`action_values` takes, ``rollout``, ``step``, ``state``, ``best`` and ``so_far``, and is the
        greatest of these values.

        >>> import maxatk as mk
        >>> plan = mk.solve(mk.instances.windy_cliff(), k=5)
        >>> lower, upper = plan.value(rollout=4, step=0, state=36, best=-15)
        >>> print(f"{lower:.3f} to {upper:.3f}")
        -14.879 to -14.879
        """
        values = self.action_values(rollout=rollout, step=step, state=state, best=best, so_far=so_far).values()
        return max(lower for lower, _ in values), max(upper for _, upper in values)

    def action_values(
        self, *, rollout: int, step: int, state: int, best: Number = -math.inf, so_far: Number = 0
    ) -> dict[int, tuple[float, float]]:
        """Bounds on what is expected in the end after each action, if all later actions are optimal.

        That is the best return, less the costs to come. Plans of :class:`maxatk.Certified` and :class:`maxatk.Exact`
        have such values. One slice is solved; the bounds are as narrow as the plan's where ``best`` and ``so_far`` are
        returns of its problem, and true for all others. Where a rollout may be given up, -1 is an action, too.

        Args:
            rollout: from 0.
            step: from 0.
            state: the present state.
            best: the best return of earlier rollouts; ``-inf`` for no result yet.
            so_far: the return of this rollout so far.

        >>> import maxatk as mk
        >>> plan = mk.solve(mk.instances.proposition3(), k=2)
        >>> for action, (lower, upper) in plan.action_values(rollout=1, step=2, state=3, best=1.5, so_far=1).items():
        ...     print(f"action {action}: {lower:.6f} to {upper:.6f}")
        action 0: 1.500000 to 1.500000
        action 1: 1.625000 to 1.625000
        """
        at = CompressedHistory.of(
            self.problem, rollout=rollout, step=step, state=state, best=best, so_far=so_far
        )  # fmt: skip
        return self._action_values(at)

    def _action_values(self, at: CompressedHistory) -> dict[int, tuple[float, float]]:
        """:meth:`action_values` at a history that was checked."""
        raise InputError(f"{type(self).__name__} has no values of actions: plans of mk.Certified and mk.Exact have")

    def cvar(self, a: Number) -> Cvar:
        """The mean of the best share ``a`` of the final best return, over all policies that may draw a plan beforehand.

        Args:
            a: the share, above 0 and at most 1: 0.1 for the best tenth.

        Returns:
            Bounds, and the policies of which one is drawn to earn the lower one.

        >>> import maxatk as mk
        >>> best = mk.solve(mk.instances.figure1(gamma=0.25), k=2).cvar(0.5)
        >>> print(f"{best.lower:.3f} to {best.upper:.3f}")
        0.906 to 0.906
        """
        return tails.cvar(self.problem, a, self._for_incumbent)

    def tail(self, x: Number) -> float:
        """No policy reaches a best return of ``x`` or more with a chance above this.

        Args:
            x: a best return.

        >>> import maxatk as mk
        >>> mk.solve(mk.instances.figure1(gamma=0.25), k=2).tail(1)
        0.4375...
        """
        return tails.tail(self.problem, x, self._for_incumbent)

    def _for_incumbent(self, best: float) -> "Plan":
        """The same plan for another incumbent."""
        raise InputError(f"{type(self).__name__} does not know its tail: plans of mk.Certified and mk.Exact do")

    @property
    @abstractmethod
    def policy(self) -> CompressedPolicy:
        """The policy that earns at least ``lower``."""

    def page(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        comparison: Displayed | bool = True,
        names: Sequence[str] | Callable[[int], str] | None = None,
        progress: bool | Callable[[str], None] = False,
    ) -> None:
        """Write the plan to ``path`` as a web page of one file that opens without a network (extra ``page``).

        It shows the interval, what the plan does at any moment of a trial, sampled trials step by step, the curves and
        the comparison with simpler policies.

        Args:
            path: the file, which is whole or not there.
            title: what the page is headed with.
            comparison: the result of :func:`maxatk.compare` for this problem and ``k``. By default it is computed,
                which may take longer than the plan did; False leaves it out.
            names: what to call the states: one name for each, or a function of their numbers; by default the problem's
                own names.
            progress: a function that is told which part is at work, or True for lines on standard error.
        """
        display.page(self, path, title=title, comparison=comparison, names=names, progress=progress)

    def save(self, path: str | PathLike[str], *, with_problem: bool = False) -> None:
        """Write the plan to a file. Plans of :class:`maxatk.Certified` can be saved, and no others.

        Args:
            path: the file.
            with_problem: whether the file is to hold the problem, too.
        """
        raise InputError(f"{type(self).__name__} cannot be saved: only plans of mk.Certified can be")

    @abstractmethod
    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """Bounds on ``U_i(m)``: the value of a best so far of ``m`` before rollouts ``i`` to ``k - 1``."""


@dataclass(frozen=True)
class Progress:
    """Where a search stands: the best interval known, which is what Ctrl-C would leave, and the work done.

    Curves come from the last rollout to the first, more than once where the lattice is refined.
    """

    lower: float  # the best policy known earns at least this
    upper: float  # no policy earns more than this
    rollout: int  # whose curve was the last to be finished; 0 for the whole, k before any
    slices: int  # solved so far
    seconds: float  # since the search began
    tol: float  # the width that was asked for


Reporter: TypeAlias = Callable[[Progress], None]

PlanT = TypeVar("PlanT", bound=Plan, covariant=True)


class Solver(Protocol[PlanT]):
    """A way of planning: frozen configuration with one method.

    What an objective asks beside costs, such as a utility, is refused unless the solver has its name in ``honours``.
    """

    def solve(self, problem: DecisionProblem, progress: Reporter | None = None) -> PlanT:
        """Plan for arguments that :func:`maxatk.solve` has checked.

        Args:
            problem: the problem, how many rollouts, and what counts.
            progress: whom to tell where the search stands.
        """
        ...
