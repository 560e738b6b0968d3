"""What the certified planner returns: curves, and a policy that acts on slices solved again from them."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from maxatk import checks, formats
from maxatk.checks import Number
from maxatk.errors import InputError
from maxatk.formats import archive
from maxatk.formats.archive import Archive
from maxatk.mdp import MDP
from maxatk.planning.curves import Curve
from maxatk.planning.lattice import Lattice, Slice
from maxatk.planning.plan import Plan, Status, floats_around
from maxatk.planning.slice_policy import SlicePolicy

VERSION = 1
PROBLEM = "problem_"  # what the members of a problem within a plan are named with


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPlan(Plan):
    """An interval around the optimum and the curves behind it: some kilobytes per rollout, whatever the problem's size.

    Slices are solved again from the curves when the policy is run, and kept.
    """

    lattice: Lattice  # the problem on a lattice of returns
    curves: tuple[Curve, ...] = field(repr=False)  # [K + 1] U_0 to U_K; the first is only a stand-in
    start: float  # the best return that stands for the incumbent in the first rollout

    @property
    def policy(self) -> "CertifiedPolicy":
        """A policy that earns at least ``lower``, with the true rewards. It keeps the slices that it solves."""
        return self._policy

    @cached_property
    def _policy(self) -> "CertifiedPolicy":
        return CertifiedPolicy(self)

    def curve(self, i: int, m: Number) -> tuple[float, float]:
        """Bounds on ``U_i(m)``; for ``i = 0`` a slice is solved."""
        i = checks.integer(i, "i", most=self.k)
        best = checks.incumbent(m, "m")
        least, most = self.mdp.return_range
        if i == self.k or best >= most:  # nothing can be improved
            return floats_around(best) if isinstance(best, Fraction) else (best, best)
        x = float(best)
        rounding = self.stats["rounding"] + (math.ulp(x) if math.isfinite(x) else 0.0)
        if i > 0:
            lower, upper = float(self.curves[i].lower(x)), float(self.curves[i].upper(x))
        else:
            after = self.curves[1]
            start = max(x, least, after.flat_to)
            upper, lower, _ = Slice(self.lattice, self.lattice.tables, after, start).at_start()[:, 0].tolist()
            if self.lattice.exact:  # the next rollout meets lattice points, whose gap is known, and m itself
                upper = lower + max(self.stats["gap_after_first"], float(after.upper(start) - after.lower(start)))
        return lower - rounding, min(upper + rounding, most)

    def save(self, path: str | PathLike[str], *, with_problem: bool = False) -> None:
        """Write the plan to ``path``, for :func:`maxatk.load_plan` to read: its curves and numbers.

        Args:
            path: the file, which is whole or not there: it is written beside ``path`` and then moved.
            with_problem: whether the file holds the problem, too, so that it can be read without it.
        """
        arrays = {f"{name}{i}": getattr(curve, name) for i, curve in enumerate(self.curves) for name in Curve.arrays()}
        arrays["floor"] = np.array([curve.floor for curve in self.curves])
        header = {"problem": self.mdp.fingerprint, **self._numbers()}
        if with_problem:
            header["problem_header"], problem = formats.problem_members(self.mdp, PROBLEM)
            arrays |= problem
        archive.write(path, "plan", VERSION, header, arrays)

    def _numbers(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "best_so_far": float(self.best_so_far),
            "lower": self.lower,
            "upper": self.upper,
            "status": str(self.status),
            "stats": dict(self.stats),
            "kappa": self.lattice.kappa,
            "exact": self.lattice.exact,
            "start": self.start,
        }


def load_plan(path: str | PathLike[str], mdp: MDP | None = None) -> CertifiedPlan:
    """Read a plan that :meth:`CertifiedPlan.save` wrote for this very problem, however that was built.

    Args:
        path: the file.
        mdp: the problem; by default the one that the file holds, if it was saved with it.

    >>> import os, tempfile, maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan.save(os.path.join(folder, "x.plan"))
    ...     mk.load_plan(os.path.join(folder, "x.plan"), mdp).lower == plan.lower
    True
    """
    given = mdp

    def plan(file: Archive) -> CertifiedPlan:
        numbers = file.header
        mdp = _held_problem(file) if given is None else given
        if numbers.get("problem") != mdp.fingerprint:
            raise InputError("it was made for another problem")
        k = checks.integer(numbers.get("k"), "k", least=1)
        floor = file.array("floor", "<f8")
        if len(floor) != k + 1:
            raise InputError(f"it has {len(floor)} curves, but {k} rollouts")
        curves = [
            Curve(float(floor[i]), **{name: file.array(f"{name}{i}", "<f8") for name in Curve.arrays()})
            for i in range(k + 1)
        ]
        for curve in curves:
            curve.check()
        stats = {str(name): float(value) for name, value in dict(numbers["stats"]).items()}
        kappa, start, lower, upper = (
            float(checks.exact_number(numbers[name], name)) for name in ("kappa", "start", "lower", "upper")
        )
        if kappa <= 0 or lower > upper:
            raise InputError("its numbers make no sense")
        return CertifiedPlan(
            mdp=mdp,
            k=k,
            best_so_far=checks.incumbent(float(numbers["best_so_far"])),
            lower=lower,
            upper=upper,
            status=Status(numbers["status"]),
            stats=stats,
            lattice=Lattice(mdp, kappa, bool(numbers["exact"])),
            curves=tuple(curves),
            start=start,
        )

    return archive.read(path, "plan", VERSION, plan)


def _held_problem(file: Archive) -> MDP:
    header = file.header.get("problem_header")
    if not checks.is_dict(header):
        raise InputError("it was saved without its problem, which must be given")
    rows, arguments = formats.read_problem(file, header, PROBLEM)
    return MDP(rows, **arguments)


class CertifiedPolicy(SlicePolicy):
    """Acts on the slices of a plan's curves, as its certificate demands: it earns at least the plan's ``lower``."""

    def __init__(self, plan: CertifiedPlan) -> None:
        super().__init__(plan.lattice, plan.curves, plan.start, plan.best_so_far)
        self._plan = plan

    def certificate(self, mdp: MDP) -> tuple[float, float] | None:
        """The plan's own bounds, for the problem that it was made for."""
        return (self._plan.lower, self._plan.upper) if mdp == self._plan.mdp else None
