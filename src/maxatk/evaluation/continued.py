"""What a policy earns from a moment of a trial on: in fractions where few outcomes can follow, else between floats."""

import math
from collections import defaultdict
from fractions import Fraction

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.intervals import Interval, down, up
from maxatk.base.returns import floats_around
from maxatk.base.types import Number
from maxatk.evaluation.evaluate import TOO_MANY_DIGITS, tolerance
from maxatk.evaluation.tuning import TUNING
from maxatk.laws.bounds import propagate_from
from maxatk.laws.exact_forward import TooManyError
from maxatk.laws.forward import NO_RETURN, not_offered
from maxatk.laws.units import Units
from maxatk.policies import ABANDON, CompressedPolicy, check_policy, hooks
from maxatk.policies.policy import ask
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective, try_cost
from maxatk.problem.utility import Knots, utility_of

MOST_BITS = 14_000  # of a fraction that is handed out: Python prints no more than 4,300 digits


def evaluate_from(
    mdp: MDP,
    policy: CompressedPolicy,
    *,
    rollout: int,
    step: int,
    state: int,
    best: Number = -math.inf,
    so_far: Number = 0,
    cost: Number | None = None,
    utility: Knots | None = None,
    tol: float | None = None,
    max_atoms: int = 100_000,
) -> Interval:
    """What ``policy`` is expected to achieve from a moment of a trial on: the best return, less costs to come.

    The cost of the present rollout beside its rows is not to come. ``plan.value`` with the same arguments bounds the
    optimum, so the difference is what the policy loses from there on. At moments that no trial comes to, such as a best
    return below all that rollouts can return, a plan's policy may lose something.

    Where few outcomes can follow, the value is known in fractions; elsewhere it lies between the floats ``lower`` and
    ``upper``, as in :func:`maxatk.evaluate`.

    Args:
        mdp: the problem, which need not be the one that the policy was made for.
        policy: a policy that is a function of rollout, step, state, ``best`` and ``so_far``.
        rollout: from 0.
        step: from 0.
        state: the present state.
        best: the best return of earlier rollouts; ``-inf`` for no result yet.
        so_far: the return of this rollout so far.
        cost: what each rollout costs beside its rows; by default what the policy was planned for, or nothing.
        utility: knots of a convex nondecreasing function of the final best return, whose expectation counts in place
            of the best return's; by default what the policy was planned for.
        tol: how wide the interval may be because unlikely histories are left out; 1e-9 of the range of returns by
            default.
        max_atoms: how many histories (state, M, G) are followed at a time; where there are more the likeliest are,
            and the interval is wider. A plan's policy solves a slice for each best return that it meets: where these
            are thousands, fewer histories are faster.

    Raises:
        TooLargeError: where outcomes are many, and returns have more digits than 64 bits hold.

    >>> import maxatk as mk
    >>> mdp = mk.instances.proposition3()
    >>> safe = mk.MarkovPolicy([[0] * mdp.n_states] * mdp.horizon, k=2)
    >>> mk.evaluate_from(mdp, safe, rollout=1, step=2, state=3, best=1.5, so_far=1).exact
    Fraction(3, 2)
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=5)
    >>> earned = mk.evaluate_from(mdp, plan.policy, rollout=0, step=10, state=24, so_far=-10)
    >>> f"{earned.lower:.6f} to {earned.upper:.6f}"
    '-16.499154 to -16.499154'
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {checks.shown(mdp)}")
    check_policy(policy, mdp.horizon)
    if not isinstance(policy, CompressedPolicy) or hooks.traits(policy).memory not in (None, hooks.no_memory):
        raise InputError(f"{type(policy).__name__} is not a function of rollout, step, state, best and so_far")
    price = policy.cost if cost is None else try_cost(cost)
    counts = policy.utility if utility is None else utility_of(utility)
    problem = DecisionProblem(mdp, Objective(policy.k, cost=price, utility=counts))
    at = CompressedHistory.of(problem, rollout=rollout, step=step, state=state, best=best, so_far=so_far)
    width = (problem.most - problem.least) * 1e-9 if tol is None else tolerance(tol)
    checks.integer(max_atoms, "max_atoms", least=1)
    with stopping.scope():
        try:
            return Interval.of(_Walk(problem, policy, TUNING.few_outcomes).value(at))
        except TooManyError:
            return _in_floats(problem, policy, at, width / (policy.k * mdp.horizon), max_atoms)


def _in_floats(
    problem: DecisionProblem, policy: CompressedPolicy, at: CompressedHistory, share: float, max_atoms: int
) -> Interval:  # fmt: skip
    """Bounds, by carrying the law of (state, M, G) forward."""
    if Units.after(problem.mdp, policy, at).error:
        raise TooLargeError(TOO_MANY_DIGITS)
    bounds = propagate_from(problem, policy, at, share, max_atoms)
    utility = problem.objective.utility
    lower, upper = bounds.bounds() if utility is None else bounds.utility_bounds(utility)
    if problem.costly:
        (fewest, most), (least_rows, most_rows) = bounds.costs()
        low, high = floats_around(problem.objective.cost)
        lower = down(lower - up(up(most * high) + most_rows))
        upper = up(upper - max(down(down(fewest * low) + least_rows), 0.0))
    return Interval(lower, upper)


class _Walk:
    """Carries the chances of (state, M, G) forward, all branches at once."""

    def __init__(self, problem: DecisionProblem, policy: CompressedPolicy, most: int) -> None:
        self._mdp, self._policy, self._price = problem.mdp, policy, problem.objective.cost
        self._utility = problem.objective.utility
        self._left = most

    def value(self, at: CompressedHistory) -> Fraction:
        """What is expected in the end."""
        mdp, policy = self._mdp, self._policy
        M: Number = at.best if at.best == -math.inf else Fraction(at.best)
        total = Fraction(0)
        present: dict[tuple[int, Number, Fraction], Fraction] = {(at.state, M, Fraction(at.so_far)): Fraction(1)}
        ended: dict[Number, Fraction] = {}
        for i in range(at.rollout, policy.k):
            if i > at.rollout:
                present = {}
                for m, p in ended.items():
                    if m > -math.inf and policy.stops(rollout=i, best=m):
                        total += p * self._counts(m)
                        continue
                    total -= p * self._price
                    present |= {(s, m, Fraction(0)): p * q for q, s in mdp.exact_start()}
            ended, costs = self._rollout(i, at.step if i == at.rollout else 0, present)
            total -= costs
        if -math.inf in ended:
            raise InputError(NO_RETURN)
        total += sum((p * self._counts(m) for m, p in ended.items()), Fraction(0))
        if max(total.numerator.bit_length(), total.denominator.bit_length()) > MOST_BITS:
            raise TooManyError
        return total

    def _counts(self, best: Number) -> Fraction:
        """What a final best return counts as."""
        return Fraction(best) if self._utility is None else self._utility(best)

    def _rollout(
        self, i: int, first: int, present: dict[tuple[int, Number, Fraction], Fraction]
    ) -> tuple[dict[Number, Fraction], Fraction]:
        """The law of the best return after a rollout, and what its rows cost on average."""
        mdp, ended, costs = self._mdp, defaultdict[Number, Fraction](Fraction), Fraction(0)
        for h in range(first, mdp.horizon):
            following = defaultdict[tuple[int, Number, Fraction], Fraction](Fraction)
            for (s, m, g), prob in present.items():
                action = ask(self._policy, i, h, s, m, g)
                if action == ABANDON:
                    ended[m] += prob
                    continue
                if action not in mdp.actions(h, s):
                    raise not_offered(mdp, i, h, s, action)
                costs += prob * mdp.exact_action_cost_of(h, s, action)
                for p, after, r in mdp.exact_outcomes(h, s, action):
                    self._count()
                    if after is None or h + 1 == mdp.horizon:
                        ended[max(m, g + r)] += prob * p
                    else:
                        following[after, m, g + r] += prob * p
            present = following
        return ended, costs

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyError
