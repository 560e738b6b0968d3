"""What the certified planner returns: curves, and a policy that acts on slices solved again from them."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from maxatk import checks
from maxatk.checks import Number
from maxatk.errors import InputError
from maxatk.formats import archive
from maxatk.formats.archive import Archive
from maxatk.mdp import MDP
from maxatk.planning.curves import Curve
from maxatk.planning.lattice import Lattice, Slice
from maxatk.planning.plan import Plan, Status, floats_around
from maxatk.policies import Policy

VERSION = 1


@dataclass(frozen=True, eq=False)
class CertifiedPlan(Plan):
    """An interval around the optimum and the curves behind it: some kilobytes per rollout, whatever the problem's size.

    Slices are solved again from the curves when the policy is run, and kept.
    """

    lattice: Lattice
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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to ``path``: its curves and numbers, not the problem; :func:`maxatk.load_plan` reads it."""
        arrays = {f"{name}{i}": getattr(curve, name) for i, curve in enumerate(self.curves) for name in Curve.arrays()}
        arrays["floor"] = np.array([curve.floor for curve in self.curves])
        archive.write(path, "plan", VERSION, {"problem": self.mdp.fingerprint, **self._numbers()}, arrays)

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


def load_plan(path: str | PathLike[str], mdp: MDP) -> CertifiedPlan:
    """Read a plan that :meth:`CertifiedPlan.save` wrote for this very problem, however that was built.

    >>> import os, tempfile, maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan.save(os.path.join(folder, "x.plan"))
    ...     mk.load_plan(os.path.join(folder, "x.plan"), mdp).lower == plan.lower
    True
    """

    def plan(file: Archive) -> CertifiedPlan:
        numbers = file.header
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


class CertifiedPolicy(Policy):
    """Acts on the slice of the tangent that is active at the true best return, as its certificate demands.

    Each slice is solved when it is first needed and kept; one that would take more than half of this machine's memory
    is refused with :class:`maxatk.TooLargeError`.
    """

    def __init__(self, plan: CertifiedPlan) -> None:
        super().__init__(plan.k, plan.mdp.horizon, plan.best_so_far)
        self._plan = plan
        self._slices: dict[tuple[Any, ...], Slice] = {}

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take at the true best return and the true return so far."""
        mdp, plan = self._plan.mdp, self._plan
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        s = checks.integer(state, "state", most=mdp.n_states - 1)
        G = float(checks.exact_number(so_far, "so_far"))
        # A best return that no rollout can fall short of, or on which the next curve is flat, is as good as none.
        flat = plan.curves[i + 1].flat_to
        M = max(float(checks.incumbent(best, "best")), mdp.return_range[0], flat if flat < math.inf else -math.inf)
        if plan.lattice.exact:
            return self._exact_action(i, h, s, M, G)
        _, row = self.best_plane(i, h, s, M, G)
        return self._action_of(row if row >= 0 else self._rows(h, s)[0])

    def _exact_action(self, i: int, h: int, s: int, M: float, G: float) -> int:
        """On an exact lattice the slice at the true M is solved itself: it is worth at least every tangent there."""
        lattice = self._plan.lattice
        phase = 0.0 if lattice.is_point(G) else G - lattice.kappa * math.floor(G / lattice.kappa)
        g = round((G - phase) / lattice.kappa) - lattice.tables.drift * h
        found = self._slice(i, h, s, M, g, phase)
        rows = range(*self._rows(h, s))
        if found.cell(h, s, g) is None:
            return self._action_of(rows[0])
        tables, place = found.tables, found.layout.place[h + 1]
        worth: list[float] = []
        for row in rows:
            span = slice(tables.outcome_start[row], tables.outcome_start[row + 1])
            cells = place[tables.next_state[span]] + g + tables.jump[span]
            worth.append(float(tables.prob[span] @ found.lower[cells]))
        return self._action_of(rows[int(np.argmax(worth))])

    def best_plane(self, i: int, h: int, s: int, M: float, G: float) -> tuple[float, int]:
        """The best, at the true (M, G), of all planes that the lattice walk may have drifted to; and its row, or -1.

        The winner's value is an average of planes at what may come next, each at most the best plane there: what is
        promised never falls, and at the end of the rollout it is at most the next curve (docs/planner.md, 8).
        """
        plan = self._plan
        lattice, kappa = plan.lattice, plan.lattice.kappa
        knot = plan.start if i == 0 else plan.curves[i].knot(M)
        if knot >= plan.curves[i].point[-1]:  # the tangent that promises M itself: any slice at M does
            knot = M
        near = math.floor(G / kappa) - lattice.tables.drift * h
        at_step = kappa * lattice.tables.drift * h
        first, last = lattice.tables.first[h, s], lattice.tables.last[h, s]
        drift = range(max(near - h, first), min(near + 1 + h, last) + 1)
        phase = 0.0
        if not drift:  # no rollout comes here with such a return; answer all the same
            phase, knot, drift = G - at_step - kappa * near, M, range(near, near + 1)
        found = self._slice(i, h, s, knot, drift[0], phase)
        promised, row = found.idle[1] + found.idle[2] * (M - found.m), -1
        for g in drift:
            cell = found.cell(h, s, g)
            if cell is not None and found.choice[cell] >= 0:
                off = G - at_step - kappa * g - phase
                plane = found.lower[cell] + found.slope_g[cell] * off + found.slope_m[cell] * (M - found.m)
                if plane > promised:
                    promised, row = plane, int(found.choice[cell])
        return promised, row

    def _slice(self, i: int, h: int, s: int, m: float, g: int, phase: float) -> Slice:
        """The slice that holds return ``g`` of state ``s`` at step ``h``: from the start, or from there."""
        lattice = self._plan.lattice
        tables = lattice.tables
        usual = phase == 0.0 and tables.first[h, s] <= g <= tables.last[h, s]
        key = (i, m) if usual else (i, m, h, s, g, phase)
        if key not in self._slices:
            after = self._plan.curves[i + 1]
            if usual:
                self._slices[key] = Slice(lattice, tables, after, m, keep=True, memory=checks.memory() / 2)
            else:
                self._slices[key] = Slice(
                    lattice,
                    lattice.tables_from(h, s),
                    after,
                    m,
                    shifts=(g, g),
                    phase=phase,
                    keep=True,
                    memory=checks.memory() / 2,
                )
        return self._slices[key]

    def _rows(self, h: int, s: int) -> tuple[int, int]:
        mdp = self._plan.mdp
        node = int(mdp.step_layer[h]) * mdp.n_states + s
        return int(mdp.pair_start[node]), int(mdp.pair_start[node + 1])

    def _action_of(self, row: int) -> int:
        return int(self._plan.mdp.action[row])
