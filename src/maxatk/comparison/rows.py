"""What is known of a class of policies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from maxatk.evaluation.evaluate import Evaluation
from maxatk.policies import Policy

MEAN, ADAPTIVE = "mean-optimal, repeated", "adaptive"


@dataclass(frozen=True, eq=False)
class Row:
    """A class of policies: ``lower <= the best that it can do <= upper``, and a policy of it that earns ``lower``."""

    name: str  # of the class
    lower: float  # what the policy earns at least
    upper: float  # what no policy of the class exceeds
    exact: Fraction | None = field(repr=False)  # the best that the class can do, where it is known exactly
    method: str  # how it was obtained
    policy: Policy = field(repr=False)  # of the class; it earns ``lower``
    evaluation: Evaluation | None = field(repr=False)  # of the policy; None where that says nothing
    tries: int | None = None  # how many tries the policy makes, where their number is fixed beforehand
    searched: bool = True  # whether a policy of the class was looked for; if not, bounds are those of other classes


def nested(rows: Sequence[Row], smaller: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows with upper bounds that fit: no class can do more than a class that contains it.

    ``smaller`` has the classes that lie in each; rows that it does not name lie in the last one.
    """
    by_name = {row.name: row for row in rows}
    for outer in reversed(rows):
        inside = [row.name for row in rows] if outer.name == rows[-1].name else smaller.get(outer.name, ())
        for name in inside:
            row = by_name.get(name)
            if row is not None and row.exact is None and row.upper > by_name[outer.name].upper:
                by_name[name] = replace(row, upper=by_name[outer.name].upper)
    return list(by_name.values())
