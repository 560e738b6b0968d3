"""The classes of policies that are compared. A class is a name, the classes that lie in it, and a way to find its best.

To add one, write a function that finds its best policy and list it in ``CLASSES`` or ``COSTLY_CLASSES``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from maxatk.base.errors import TooLargeError
from maxatk.base.types import Number
from maxatk.comparison.enumeration import Best, Option, best_by_best, best_selection, options
from maxatk.comparison.rows import InRounds
from maxatk.comparison.search import Candidate, Search
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.planning.certified.curves import Curves, identity
from maxatk.planning.certified.payoffs import CurveUnits
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.certified.policy import SlicePolicy
from maxatk.planning.rivals import OneTry, Repetitions, mean_rival
from maxatk.policies import MarkovPolicy, NoBestPolicy, NoReturnPolicy, Policy
from maxatk.policies.repeated import FixedBest
from maxatk.problem.mdp import MDP

ASCENT = "best found by coordinate ascent"
DEPTH = 16  # how far below the mean returns are told apart, in distances from the mean to the largest return
CANDIDATES = 8  # best returns for which policies are tried


@dataclass(frozen=True)
class Member:
    """The best known policy of a class, and how it was obtained."""

    policy: Policy
    method: str  # how the class was searched; or, where tries cost something, what the policy does
    upper: float = math.inf  # a bound on the class, where the search proves one
    exact: Fraction | None = None  # the best that the class can do, where it is known
    tries: int | None = None  # how many tries the policy makes, where their number is fixed
    evaluation: Evaluation | None = None  # of the policy, where it was made
    lower: float | None = None  # what the policy earns at least, where that is known without an evaluation


class Workshop:
    """What several classes use to find their best policies: made once, when it is first needed."""

    def __init__(self, plan: CertifiedPlan) -> None:
        self.plan, self.problem, self.mdp = plan, plan.problem, plan.mdp
        self.k, self.best_so_far = plan.k, plan.best_so_far

    @cached_property
    def markov_options(self) -> list[Option] | None:
        """All Markov policies of one rollout that matter; None if they are too many, or a utility counts."""
        return None if self.problem.objective.utility is not None else options(self.mdp, sees_return=False)

    @cached_property
    def search(self) -> Search:
        """A search on the plan's lattice; :class:`TooLargeError` where the problem is too large for one."""
        least, most = self.mdp.return_range
        mean = evaluate(self.mdp, MarkovPolicy(self.mdp.mean_optimal_actions, k=1)).value
        return Search(self.plan, max(least, mean - DEPTH * (most - mean)))

    @cached_property
    def first(self) -> Candidate:
        """The mean-optimal policy, with which searches begin."""
        return self.search.markov_candidate(self.search.rows_of(self.mdp.mean_optimal_actions))

    @cached_property
    def markov(self) -> list[Candidate]:
        """Good Markov policies, one for each rollout."""
        return self.search.markov(self.first)

    @cached_property
    def repetitions(self) -> Repetitions:
        """Policies of one rollout, repeated."""
        return Repetitions(self.problem)

    @cached_property
    def one_try(self) -> list[OneTry]:
        """Good policies of one rollout: that of the best mean, and those of the last rollout for some best returns.

        With unlimited rollouts one of the latter is optimal (docs/theory/costs.md, Theorem 3).
        """
        method = evidence_of(self.plan).method.changed(self.problem.changed(abandon=False))
        lattice, most = method.lattice, self.problem.most
        curves = Curves(1, (identity(lattice.floor, most),))
        # From the value of a first try to the best return that ends the search.
        mean, top = self.mdp.analysis.mean_optimal[1] - self.problem.rollout_cost, min(self.plan.stop_at, most)
        places: list[float] = np.linspace(max(mean, lattice.floor), top, CANDIDATES).tolist() if top > mean else []
        policies = [FixedBest(SlicePolicy(method, curves, start=m, best_so_far=m), m) for m in places]
        return [self.repetitions.mean, *map(self.repetitions.one, policies)]


def _mean(shop: Workshop) -> Member:
    """The policy with the best mean, repeated; where tries cost something, the best number of times."""
    rival = mean_rival(shop.problem, shop.plan.upper)
    if rival.evaluation is None:
        raise TooLargeError("the policy cannot be evaluated")
    method = "backward induction" if rival.tries is None else _tries(rival.tries)
    return Member(
        *(rival.policy, method, float(rival.upper), rival.evaluation.exact if rival.tries is None else None),
        *(rival.tries, rival.evaluation),
    )


def _single(shop: Workshop) -> Member:
    policy, upper = shop.search.single(shop.first, evidence_of(shop.plan).tol)
    utility = shop.problem.objective.utility
    if utility is not None:
        upper = CurveUnits.of(shop.problem, utility).utilities(upper, upper + evidence_of(shop.plan).method.rounding)[1]
    return Member(policy, "Frank-Wolfe", upper)


def _markov(shop: Workshop) -> Member:
    every = shop.markov_options
    best = best_selection(every, shop.k, shop.best_so_far) if every else None
    if best is None:
        return Member(shop.search.table(shop.markov), ASCENT)
    tables = [_table(shop.mdp, option) for option in best.chosen]
    return _enumerated(best, MarkovPolicy(tables, best_so_far=shop.best_so_far))


def _without_best(shop: Workshop) -> Member:
    # Markov policies are among those that see the return: where they are too many, so are these.
    every = options(shop.mdp, sees_return=True) if shop.markov_options else None
    best = best_selection(every, shop.k, shop.best_so_far) if every else None
    if best is None:
        return Member(shop.search.separate(shop.search.without_best(shop.markov)), ASCENT)
    picked = best.chosen

    def choose(rollout: int, step: int, state: int, so_far: Number) -> int:
        return picked[rollout].decisions.get((step, state, so_far), shop.mdp.actions(step, state)[0])

    return _enumerated(best, NoBestPolicy(choose, shop.k, shop.mdp.horizon, shop.best_so_far))


def _without_return(shop: Workshop) -> Member:
    if not shop.markov_options:
        return Member(shop.search.without_return(shop.markov), ASCENT)
    best = best_by_best(shop.markov_options, shop.k, shop.best_so_far)
    picked = best.chosen

    def choose(rollout: int, step: int, state: int, best: Number) -> int:
        decisions = picked[rollout][best].decisions if best in picked[rollout] else {}
        return decisions.get((step, state), shop.mdp.actions(step, state)[0])

    return _enumerated(best, NoReturnPolicy(choose, shop.k, shop.mdp.horizon, shop.best_so_far))


def _one_fixed(shop: Workshop) -> Member:
    made = shop.repetitions
    n, one = max(
        ((made.best_number(one), one) for one in shop.one_try), key=lambda pair: pair[1].net(pair[0], made.best)
    )
    return Member(made.policy(one.policy, n), _tries(n), tries=n)


def _one_until(shop: Workshop) -> Member:
    one = max(shop.one_try, key=lambda one: one.net_until(shop.k, shop.repetitions.best))
    policy = shop.repetitions.until(one.policy, shop.k, one.stop_at)
    return Member(policy, f"until the best is {one.stop_at:.15g}")


def _enumerated(best: Best[Any], policy: Policy) -> Member:
    """A class whose policies were all tried."""
    exact = best.upper if isinstance(best.upper, Fraction) else None
    return Member(policy, "enumeration" if exact is not None else "enumeration, in floats", float(best.upper), exact)


def _table(mdp: MDP, option: Option) -> list[list[int]]:
    """The decisions of a Markov option as a table [H, S]; any action where it cannot come."""
    return [
        [option.decisions.get((h, s), mdp.actions(h, s)[0]) for s in range(mdp.n_states)] for h in range(mdp.horizon)
    ]


def _tries(n: int) -> str:
    return "no try" if n == 0 else "1 try" if n == 1 else f"{n} tries"


@dataclass(frozen=True)
class PolicyClass:
    """A class of policies."""

    name: str
    inside: tuple[str, ...]  # the names of classes that lie in it, or that it is no worse than
    find: Callable[[Workshop], Member]
    in_rounds: InRounds | None = None  # where its tries are made several at a time


MEAN, SINGLE, MARKOV, NO_BEST, NO_RETURN, ADAPTIVE = (
    *("mean-optimal, repeated", "one policy, sampled k times", "Markov, per try", "without M", "without G"),
    "adaptive",
)
CLASSES = (
    PolicyClass(MEAN, (), _mean),
    PolicyClass(SINGLE, (MEAN,), _single),
    PolicyClass(MARKOV, (MEAN,), _markov),
    PolicyClass(NO_BEST, (MEAN, SINGLE, MARKOV), _without_best),
    PolicyClass(NO_RETURN, (MEAN, MARKOV), _without_return),
)
MEAN_FIXED, ONE_FIXED, ONE_UNTIL = "mean-optimal, fixed number", "one policy, fixed number", "one policy, until enough"
COSTLY_CLASSES = (  # where tries cost something
    PolicyClass(MEAN_FIXED, (), _mean),
    PolicyClass(ONE_FIXED, (MEAN_FIXED,), _one_fixed),
    PolicyClass(ONE_UNTIL, (MEAN_FIXED, ONE_FIXED), _one_until),
)
NAMES = frozenset((ADAPTIVE, *(each.name for each in (*CLASSES, *COSTLY_CLASSES))))
