"""Weights for max@k and the planner: they climb the exact value of one policy that is sampled k times."""

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at
from subset_oracles import UNBIASED, oracle

F = Fraction


class Sampled(NamedTuple):
    """A try under a tabular softmax policy: its probability, its return, and the choices that it made."""

    prob: F
    total: F
    choices: tuple[tuple[int, int, int], ...]  # (step, state, action)


def tries(mdp: mk.MDP, policy: dict[tuple[int, int], list[F]]) -> list[Sampled]:
    """All tries with a positive probability."""
    ended, going = [], [(Sampled(F(1), F(0), ()), 0, int(mdp.start_state[0]))]
    while going:
        so_far, step, state = going.pop()
        if state is None or step == mdp.horizon:
            ended.append(so_far)
            continue
        for action, chance in enumerate(policy.get((step, state), FIXED)):
            for outcome in mdp.exact_outcomes(step, state, action):
                prob, total = so_far.prob * chance * outcome.prob, so_far.total + outcome.reward
                going.append(
                    (Sampled(prob, total, (*so_far.choices, (step, state, action))), step + 1, outcome.next_state)
                )
    return ended


def exact_value(mdp: mk.MDP, policy: dict[tuple[int, int], list[F]], k: int) -> F:
    """What mk.evaluate says of the policy sampled k times: a mixture of all deterministic Markov policies."""
    nodes, parts, chances = list(policy), [], []
    for actions in itertools.product(*(range(len(policy[node])) for node in nodes)):
        table = np.zeros((mdp.horizon, mdp.n_states), int)
        for (step, state), action in zip(nodes, actions, strict=True):
            table[step, state] = action
        parts.append(mk.MarkovPolicy(table, k=1))
        chances.append(math.prod((policy[node][a] for node, a in zip(nodes, actions, strict=True)), start=F(1)))
    value = mk.evaluate(mdp, mk.MixedPolicy(parts, chances, k=k)).exact
    assert value is not None
    return value


def slope(values: list[F]) -> F:
    """The derivative at 0 of the polynomial with these values at 0, 1, 2, ..."""
    m = range(len(values))
    return sum(
        v * sum(math.prod((F(-c, a - c) for c in m if c not in (a, b)), start=F(1)) / (a - b) for b in m if b != a)
        for a, v in zip(m, values, strict=True)
    )


FIXED = [F(1)]  # where no choice matters: the first action
LOTTERIES = {(0, 0): [F(2, 3), F(1, 3)]}
PROBLEMS = {
    "figure1": (mk.instances.figure1(F(1, 4)), LOTTERIES),
    "proposition1": (mk.instances.proposition1(3), LOTTERIES),
    "proposition3": (mk.instances.proposition3(), {(2, 3): [F(3, 5), F(2, 5)]}),
    "footnote": (mk.instances.footnote(horizon=2), {(0, 0): [F(1, 3), F(2, 3)], (1, 0): [F(3, 4), F(1, 4)]}),
}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_weights_climb_the_exact_value_of_one_policy_sampled_k_times(name: str, k: int):
    """The derivative of mk.evaluate by every logit of a softmax policy is what the weights average to, exactly."""
    mdp, policy = PROBLEMS[name]
    sampled = tries(mdp, policy)
    assert sum(x.prob for x in sampled) == 1
    n = 3
    tuples = list(itertools.product(sampled, repeat=n))
    rewards = [[x.total for x in drawn] for drawn in tuples]
    prob = [math.prod(x.prob for x in drawn) for drawn in tuples]
    by_baseline = {b: at.weights(rewards, k, b) for b in (("marginal", "none") if k == n else UNBIASED)}
    memo = {tuple(r): {b: oracle(r, k, b) for b in by_baseline} for r in rewards}
    for node, chances in policy.items():
        for action, chance in enumerate(chances):
            # Along the softmax, the probability of action b moves by pi_b (1[b = a] - pi_a); the value is a polynomial.
            moves = [p * ((b == action) - chance) for b, p in enumerate(chances)]
            step = F(1, 100)
            along = [
                exact_value(mdp, {**policy, node: [p + t * step * m for p, m in zip(chances, moves, strict=True)]}, k)
                for t in range(k + 1)
            ]
            gradient = slope(along) / step
            for baseline, weights in by_baseline.items():
                exact, rounded = F(0), 0.0
                for p, drawn, r, w in zip(prob, tuples, rewards, weights, strict=True):
                    scores = [sum((c[:2] == node) * ((c[2] == action) - chance) for c in x.choices) for x in drawn]
                    exact += p * sum(a * b for a, b in zip(memo[tuple(r)][baseline], scores, strict=True))
                    rounded += float(p) * float(w @ np.array(scores, float))
                assert exact == gradient
                assert abs(rounded - float(gradient)) <= 1e-14
