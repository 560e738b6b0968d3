"""What a comparison returns: classes of policies side by side, for one number of tries or for several."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from maxatk.base import display
from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.findings import Finding, Gain, Share
from maxatk.base.returns import floats_around
from maxatk.base.stopping import Reason
from maxatk.base.tabular import Tabular
from maxatk.comparison.classes import ADAPTIVE
from maxatk.comparison.rows import Row
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.gains import gain_over
from maxatk.planning.rivals import Rival
from maxatk.problem.mdp import MDP

NARROW = 0.1  # of the gain: shares are told where the optimum is known to within that


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Displayed, Tabular):
    """Classes of policies side by side, from the smallest to the largest; ``str()`` of it is a table.

    No class earns more than one that contains it. The last row is that of all policies, the adaptive ones.
    """

    mdp: MDP  # the problem
    plan: CertifiedPlan  # the adaptive optimum
    rows: tuple[Row, ...]  # one per class
    stopped: Reason | None = None  # what ended the search early, if anything did; the rows are true all the same

    def __repr__(self) -> str:
        first, last = self.rows[0], self.rows[-1]
        ends = f"{first.name} {first.lower:.6g}, {last.name} {last.lower:.6g}"
        return f"Comparison(best of {self.plan.k}, {len(self.rows)} classes: {ends})"

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(f"there is no row {shown(name)}, but {', '.join(row.name for row in self.rows)}")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def inside(self, row: Row) -> list[Row]:
        """The rows of classes that lie in this one: it earns no less than any of them."""
        names = [other.name for other in self.rows] if row.name == ADAPTIVE else row.inside
        return [other for other in self.rows if other.name in names and other is not row]

    @cached_property
    def gain(self) -> Gain:
        """What the optimum gains over the first row: as :attr:`maxatk.Plan.gain`, by all that the rows know."""
        first = self.rows[0]
        rival = Rival(first.policy, *first.ends, first.evaluation, first.tries)
        return gain_over(self.plan, self[ADAPTIVE].ends, rival, evidence_of(self.plan).rounding)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All that the rows prove: the gain, and the share of it that each class has where that is known."""
        return (self.gain, *_shares(self).values())

    def share(self, row: Row) -> float | None:
        """How much of the gain of adaptive policies over the first row this class is sure to have.

        None where that is not known: the class was not searched, there is no gain that is sure, or the optimum is not
        known to within a tenth of the gain.
        """
        if row.name == self.rows[0].name or row.name == ADAPTIVE:
            known = self.gain.lower > 0
            return float(row.name == ADAPTIVE) if known else None
        return next((one.lower for one in self.findings if isinstance(one, Share) and one.name == row.name), None)

    def columns(self) -> dict[str, list[Any]]:
        """The rows by column: policy, lower, upper, exact, share and method."""
        return {
            "policy": [row.name for row in self.rows],
            "lower": [row.lower for row in self.rows],
            "upper": [row.upper for row in self.rows],
            "exact": [row.exact for row in self.rows],
            "share": [self.share(row) for row in self.rows],
            "method": [row.method for row in self.rows],
        }

    def figure(self) -> Any:
        """The table as a Matplotlib figure (extra ``plot``)."""
        return display.figure(self)


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonByTries(Displayed, Tabular):
    """Comparisons of one problem for rising numbers of tries; ``str()`` of it is a table."""

    comparisons: tuple[Comparison, ...]  # by number of tries

    def __repr__(self) -> str:
        return f"ComparisonByTries(best of {', '.join(map(str, self.tries))}: {self.comparisons[0].mdp!r})"

    @property
    def tries(self) -> list[int]:
        """The numbers of tries."""
        return [each.plan.k for each in self.comparisons]

    @property
    def names(self) -> list[str]:
        """The classes of policies that are in every comparison, from the smallest to the largest."""
        return [row.name for row in self.comparisons[-1].rows if all(row.name in map(_name, each) for each in self)]

    def __getitem__(self, k: int) -> Comparison:
        for each in self.comparisons:
            if each.plan.k == k:
                return each
        raise InputError(f"there is no comparison for {shown(k)} tries, but for {', '.join(map(str, self.tries))}")

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.comparisons)

    def __len__(self) -> int:
        return len(self.comparisons)

    def columns(self) -> dict[str, list[Any]]:
        """The rows of all comparisons by column: k, policy, lower, upper, exact, share and method."""
        tables = [each.columns() for each in self]
        joined = {name: list(itertools.chain(*(table[name] for table in tables))) for name in tables[0]}
        return {"k": [each.plan.k for each in self for _ in each.rows], **joined}

    def figure(self) -> Any:
        """What the classes earn by the number of tries, as a Matplotlib figure (extra ``plot``)."""
        return display.figure(self)


def _name(row: Row) -> str:
    return row.name


def _shares(comparison: Comparison) -> dict[str, Share]:
    """How much of the gain each class of policies has, by name; of classes that were searched, where that is known.

    With the class at ``v``, the rival at ``w`` and the optimum at ``V``, the share is ``(v - w) / (V - w)``: it rises
    with ``v``, and falls with ``V`` and with ``w``.
    """
    gain, last = comparison.gain, comparison[ADAPTIVE]
    if gain.lower <= 0 or last.upper - last.lower > NARROW * gain.upper:
        return {}
    (low, high), (least, most) = _fractions(comparison.rows[0]), _fractions(last)
    known: dict[str, Share] = {}
    for row in comparison.rows:
        if row.searched and row.name not in (comparison.rows[0].name, ADAPTIVE) and math.isfinite(row.lower):
            mine = _fractions(row)
            lower, upper = (mine[0] - high) / (most - high), (mine[1] - low) / (least - low)
            known[row.name] = Share(
                name=row.name,
                lower=floats_around(min(max(lower, Fraction(0)), Fraction(1)))[0],
                upper=floats_around(min(max(upper, Fraction(0)), Fraction(1)))[1],
            )
    return known


def _fractions(row: Row) -> tuple[Fraction, Fraction]:
    lower, upper = row.ends
    return Fraction(lower), Fraction(upper)
