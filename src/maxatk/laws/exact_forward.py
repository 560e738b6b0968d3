"""What a policy comes to in fractions, on small problems: every path, with equal ones counted together."""

import copy
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from maxatk.base import stopping
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.laws.forward import GIVING_PARTS, NO_RETURN, not_offered
from maxatk.laws.law import ExactLaw, exact_best_of
from maxatk.policies import ABANDON, CompressedPolicy, HistoryPolicy, Policy, Trial, hooks
from maxatk.policies.policy import ask
from maxatk.problem.data import ExactOutcome
from maxatk.problem.decision import DecisionProblem

MOST_HISTORIES = 20_000  # outcomes that are followed of policies that remember everything
MOST_DIGITS = 3_000_000  # of the fractions that the laws of independent rollouts multiply to, in bits
MOST_BITS = 100_000  # of a single probability

Bests: TypeAlias = Mapping[tuple[Number, Number], Fraction]  # (true M, remembered M) -> probability


class TooManyError(Exception):
    """The problem is too large to be evaluated in fractions."""


class ExactEvaluation(NamedTuple):
    """What a policy comes to: the law of the best return, and on average the number of rollouts and what rows cost."""

    law: ExactLaw
    tries: Fraction
    rows: Fraction


def evaluate_exactly(problem: DecisionProblem, policy: Policy, most_outcomes: int) -> ExactEvaluation:
    """What a policy comes to. Where anything costs anything, all rollouts are followed to the end.

    Raises:
        TooManyError: where more than so many outcomes would have to be followed, or fewer with histories.
    """
    if isinstance(policy, HistoryPolicy):
        return _checked(_ExactWalk(problem, MOST_HISTORIES).tree(policy))
    walk = _ExactWalk(problem, most_outcomes)
    if hooks.widths(policy):
        return _checked(walk.rounds(policy))
    rollouts = hooks.different_rollouts(policy)
    if rollouts is not None:
        parts = {(id(one.policy), one.rollout): one for components, _ in rollouts for one in components}
        returns = {key: walk.alone(one.policy, one.rollout) for key, one in parts.items()}
        if not any(-math.inf in one.law for one in returns.values()):
            laws = [(_mixed(components, returns), times) for components, times in rollouts]
            rows = sum((times * one.rows for one, times in laws), Fraction(0))
            best = _best_of([(one.law, times) for one, times in laws], policy.best_so_far)
            return ExactEvaluation(best, Fraction(policy.k), rows)
    if not isinstance(policy, CompressedPolicy):
        raise InputError(GIVING_PARTS)
    return _checked(walk.trials(policy))


def _checked(known: ExactEvaluation) -> ExactEvaluation:
    if -math.inf in known.law:
        raise InputError(NO_RETURN)
    return known


def _mixed(
    components: Sequence[hooks.Component], returns: Mapping[tuple[int, int], ExactEvaluation]
) -> ExactEvaluation:
    """What one rollout comes to that follows one of several policies, from what each of them comes to."""
    parts = [(returns[id(one.policy), one.rollout], one.weight) for one in components if one.weight]
    law = _summed((value, weight * p) for part, weight in parts for value, p in part.law.items())
    return ExactEvaluation(law, Fraction(1), sum((weight * part.rows for part, weight in parts), Fraction(0)))


def _true(bests: Bests) -> ExactLaw:
    """The law of the true one of two numbers, the other being remembered."""
    return _summed((best, p) for (best, _), p in bests.items())


def _summed(atoms: Iterable[tuple[Number, Fraction]]) -> ExactLaw:
    law: defaultdict[Number, Fraction] = defaultdict(Fraction)
    for value, p in atoms:
        law[value] += p
    return dict(law)


def _best_of(laws: list[tuple[ExactLaw, int]], best_so_far: Number) -> ExactLaw:
    if best_so_far != -math.inf:
        laws = [*laws, ({best_so_far: Fraction(1)}, 1)]
    values = len({value for law, _ in laws for value in law})
    bits = sum(times * max(p.denominator.bit_length() for p in law.values()) for law, times in laws)
    if values * bits > MOST_DIGITS:
        raise TooManyError
    return exact_best_of(laws)


class _ExactWalk:
    """Follows outcomes, and counts them."""

    def __init__(self, problem: DecisionProblem, most_outcomes: int) -> None:
        self._problem, self._mdp = problem, problem.mdp
        self._left = most_outcomes

    def trials(self, policy: CompressedPolicy) -> ExactEvaluation:
        """What trials come to, which may stop before each rollout."""
        most = math.inf if self._problem.costly else self._problem.most  # nothing can be improved from there on
        bests: Bests = {(policy.best_so_far, policy.best_so_far): Fraction(1)}
        over: defaultdict[tuple[Number, Number], Fraction] = defaultdict(Fraction)
        tries = rows = Fraction(0)
        for i in range(policy.k):
            following: defaultdict[tuple[Number, Number], Fraction] = defaultdict(Fraction)
            for (best, remembered), p in bests.items():
                if policy.stops(rollout=i, best=best):
                    over[best, remembered] += p
                    continue
                tries += p
                if best >= most:
                    following[best, best] += p
                    continue
                if p.denominator.bit_length() > MOST_BITS:
                    raise TooManyError
                after, cost = self.rollout(policy, i, best, remembered)
                rows += p * cost
                for pair, q in after.items():
                    following[pair] += p * q
            bests = following
        for pair, p in bests.items():
            over[pair] += p
        return ExactEvaluation(_true(over), tries, rows)

    def rounds(self, policy: Policy) -> ExactEvaluation:
        """What trials come to whose rollouts see the best return at the start of their round, and stop before one."""
        bests: ExactLaw = {policy.best_so_far: Fraction(1)}
        over: list[tuple[Number, Fraction]] = []
        tries, rows, first = Fraction(0), Fraction(0), 0
        for width in hooks.widths(policy):
            after: list[tuple[Number, Fraction]] = []
            for best, p in bests.items():
                if policy.stops(rollout=first, best=best):
                    over.append((best, p))
                    continue
                tries += p * width
                ends = [self._drawn(policy, first + j, best) for j in range(width)]
                rows += p * sum((one.rows for one in ends), Fraction(0))
                law = _best_of([(one.law, 1) for one in ends], best)
                after += [(value, p * q) for value, q in law.items()]
            bests, first = _summed(after), first + width
        return ExactEvaluation(_summed([*over, *bests.items()]), tries, rows)

    def _drawn(self, policy: Policy, i: int, best: Number) -> ExactEvaluation:
        """What one rollout of a round comes to by itself, which may draw what it follows."""
        components = [one for one in hooks.mixture(policy, i) if one.weight]
        returns: dict[tuple[int, int], ExactEvaluation] = {}
        for one in components:
            ended, cost = self.rollout(one.policy, one.rollout, -math.inf, best)
            returns[id(one.policy), one.rollout] = ExactEvaluation(_true(ended), Fraction(1), cost)
        return _mixed(components, returns)

    def alone(self, policy: CompressedPolicy, i: int) -> ExactEvaluation:
        """What one rollout comes to by itself, where the policy knows of its incumbent alone; -inf if given up."""
        ended, cost = self.rollout(policy, i, -math.inf, policy.best_so_far)
        return ExactEvaluation(_true(ended), Fraction(1), cost)

    def rollout(self, policy: CompressedPolicy, i: int, best: Number, remembered: Number) -> tuple[Bests, Fraction]:
        """The law of the best return, true and as the policy remembers it, after one more rollout; what rows cost."""
        memory = hooks.traits(policy).memory
        ended: defaultdict[tuple[Number, Number], Fraction] = defaultdict(Fraction)
        cost = Fraction(0)
        present = {(s, Fraction(0), Fraction(0)): p for p, s in self._mdp.exact_start()}  # by state, G, remembered G
        for h in range(self._mdp.horizon):
            following: defaultdict[tuple[int, Fraction, Fraction], Fraction] = defaultdict(Fraction)
            for (s, true, g), prob in present.items():
                action = ask(policy, i, h, s, remembered, g)
                if action == ABANDON:
                    ended[best, remembered] += prob
                    continue
                outcomes, row_cost = self._followed(i, h, s, action)
                cost += prob * row_cost
                for p, t, r in outcomes:
                    new = true + r, g + (r if memory is None else memory(r))
                    if t is None or h + 1 == self._mdp.horizon:
                        ended[max(best, new[0]), max(remembered, new[1])] += prob * p
                    else:
                        following[t, *new] += prob * p
            present = following
        return ended, cost

    def tree(self, policy: Policy) -> ExactEvaluation:
        """Evaluate a policy that remembers everything: walk the tree of its trials, which draw nothing."""
        law: defaultdict[Number, Fraction] = defaultdict(Fraction)
        tries = rows = Fraction(0)
        waiting: list[tuple[Fraction, Trial, int | None]] = [(Fraction(1), policy.begin(), None)]
        while waiting:
            prob, trial, state = waiting.pop()
            if state is None and trial.finished:
                law[trial.exact_best] += prob
            elif state is None:
                tries += prob
                waiting += [(prob * p, trial, s) for p, s in self._mdp.exact_start()]
            else:
                acting = copy.copy(trial)
                i, h, action = trial.rollout, trial.step, acting.act(state)
                given_up = [ExactOutcome(Fraction(1), None, Fraction(0))], Fraction(0)
                outcomes, row_cost = given_up if action == ABANDON else self._followed(i, h, state, action)
                rows += prob * row_cost
                for p, t, r in outcomes:
                    after = copy.copy(acting)
                    after.observe(r, t is None)
                    waiting.append((prob * p, after, t if after.step else None))
        return ExactEvaluation(dict(law), tries, rows)

    def _followed(self, i: int, h: int, s: int, action: int) -> tuple[list[ExactOutcome], Fraction]:
        """The outcomes of an action, and what it costs."""
        stopping.check()
        try:
            outcomes = self._mdp.exact_outcomes(h, s, action)
        except InputError:
            raise not_offered(self._mdp, i, h, s, action) from None
        self._left -= len(outcomes)
        if self._left < 0:
            raise TooManyError
        return outcomes, self._mdp.exact_action_cost_of(h, s, action) if self._mdp.has_costs else Fraction(0)
