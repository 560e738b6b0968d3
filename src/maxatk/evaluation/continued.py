"""What a policy earns from a moment of a trial on, in fractions."""

import math
from collections import defaultdict
from fractions import Fraction

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Number
from maxatk.laws.forward import NO_RETURN, not_offered
from maxatk.policies import ABANDON, CompressedPolicy, check_policy, hooks
from maxatk.policies.policy import ask
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.histories import CompressedHistory
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import Objective, try_cost

MOST_OUTCOMES = 1_000_000  # that are followed by default


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
    max_outcomes: int = MOST_OUTCOMES,
) -> Fraction:
    """What ``policy`` is expected to achieve from a moment of a trial on, exactly: the best return, less costs to come.

    The cost of the present rollout beside its rows is not to come. ``plan.value`` with the same arguments bounds the
    optimum, so the difference is what the policy loses from there on.

    Args:
        mdp: the problem, which need not be the one that the policy was made for.
        policy: a policy that is a function of rollout, step, state, ``best`` and ``so_far``.
        rollout: from 0.
        step: from 0.
        state: the present state.
        best: the best return of earlier rollouts; ``-inf`` for no result yet.
        so_far: the return of this rollout so far.
        cost: what each rollout costs beside its rows; by default what the policy was planned for, or nothing.
        max_outcomes: how many outcomes are followed.

    Raises:
        TooLargeError: where more outcomes would have to be followed.

    >>> import maxatk as mk
    >>> mdp = mk.instances.proposition3()
    >>> safe = mk.MarkovPolicy([[0] * mdp.n_states] * mdp.horizon, k=2)
    >>> mk.evaluate_from(mdp, safe, rollout=1, step=2, state=3, best=1.5, so_far=1)
    Fraction(3, 2)
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {checks.shown(mdp)}")
    check_policy(policy, mdp.horizon)
    if not isinstance(policy, CompressedPolicy) or hooks.traits(policy).memory not in (None, hooks.no_memory):
        raise InputError(f"{type(policy).__name__} is not a function of rollout, step, state, best and so_far")
    price = policy.cost if cost is None else try_cost(cost)
    problem = DecisionProblem(mdp, Objective(policy.k, cost=price))
    at = CompressedHistory.of(problem, rollout=rollout, step=step, state=state, best=best, so_far=so_far)
    most = checks.integer(max_outcomes, "max_outcomes", least=1)
    with stopping.scope():
        return _Walk(problem, policy, most).value(at)


class _Walk:
    """Carries the chances of (state, M, G) forward, all branches at once."""

    def __init__(self, problem: DecisionProblem, policy: CompressedPolicy, most: int) -> None:
        self._mdp, self._policy, self._price = problem.mdp, policy, problem.objective.cost
        self._left = self._most = most

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
                        total += p * Fraction(m)
                        continue
                    total -= p * self._price
                    present |= {(s, m, Fraction(0)): p * q for q, s in mdp.exact_start()}
            ended, costs = self._rollout(i, at.step if i == at.rollout else 0, present)
            total -= costs
        if -math.inf in ended:
            raise InputError(NO_RETURN)
        return total + sum((p * Fraction(m) for m, p in ended.items()), Fraction(0))

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
            raise TooLargeError(
                f"more than {self._most} outcomes can follow; evaluate_from(max_outcomes=...) allows more"
            )
