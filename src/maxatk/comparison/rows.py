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
    method: str  # how it was obtained
    policy: Policy = field(repr=False)  # of the class; it earns ``lower``
    evaluation: Evaluation | None = field(repr=False)  # of the policy; None where that says nothing
    tries: int | None = None  # how many tries the policy makes, where their number is fixed beforehand
    searched: bool = True  # whether a policy of the class was looked for; if not, bounds are those of other classes

    @property
    def ends(self) -> tuple[float | Fraction, float | Fraction]:
        """Bounds on the best that the class can do; equal fractions where that is known exactly."""
        return (self.lower, self.upper) if self.exact is None else (self.exact, self.exact)
