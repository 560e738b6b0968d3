"""What is known of a class of policies."""

from dataclasses import dataclass, field
from fractions import Fraction

from maxatk.evaluation.evaluate import Evaluation
from maxatk.policies import Policy


@dataclass(frozen=True, eq=False)
class Row:
    """A class of policies: ``lower <= the best that it can do <= upper``, and a policy of it that earns ``lower``."""

    name: str  # of the class
    lower: float  # what the policy earns at least
    upper: float  # what no policy of the class exceeds
    exact: Fraction | None = field(repr=False)  # the best that the class can do, where it is known exactly
    how: str  # how it was obtained
    policy: Policy = field(repr=False)  # of the class; it earns ``lower``
    evaluation: Evaluation | None = field(repr=False)  # of the policy; None where that says nothing
