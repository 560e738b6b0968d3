"""What is known of a class of policies."""

from dataclasses import dataclass, field
from fractions import Fraction

from maxatk.evaluation.evaluate import Evaluation
from maxatk.planning.rounds.plan import correlation_gap
from maxatk.policies import Policy


@dataclass(frozen=True)
class InRounds:
    """Rounds of tries that are made at a time."""

    rounds: tuple[int, ...]  # how many tries each round has
    alike: bool  # whether all of a round draw from one mixture, each by itself

    @property
    def guarantee(self) -> float:
        """The share of what one try after another adds to the best so far that such rounds can keep in any problem.

        It is the correlation gap of the maximum (docs/theory/rounds.md, 2 and 3), and true without costs.
        """
        return correlation_gap(max(self.rounds))


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
    inside: tuple[str, ...] = field(default=(), repr=False)  # the names of classes that it is no worse than
    in_rounds: InRounds | None = None  # the rounds of a class whose tries are made several at a time

    @property
    def ends(self) -> tuple[float | Fraction, float | Fraction]:
        """Bounds on the best that the class can do; equal fractions where that is known exactly."""
        return (self.lower, self.upper) if self.exact is None else (self.exact, self.exact)
