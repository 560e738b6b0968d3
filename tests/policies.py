"""Policies of every class that jump about: what they do tells all that they see apart."""

import math

import maxatk as mk

KINDS = ["adaptive", "no best", "no return", "markov", "repeated"]


def scrambled(mdp: mk.MDP, k: int, seed: int, sees_best=True, sees_return=True):
    """A policy that jumps about as M and G change, deterministically."""

    def choose(rollout, step, state, best, so_far):
        offered = mdp.actions(step, state)
        key = (seed, rollout, step, state, float(best) if sees_best else 0, float(so_far) if sees_return else 0)
        return offered[hash(key) % len(offered)]

    return choose


def policies(mdp: mk.MDP, k: int, seed: int, best_so_far=-math.inf) -> dict[str, mk.CompressedPolicy]:
    """One of each of the kinds."""
    H = mdp.horizon
    adaptive = scrambled(mdp, k, seed)
    no_best = scrambled(mdp, k, seed, sees_best=False)
    no_return = scrambled(mdp, k, seed, sees_return=False)
    markov = scrambled(mdp, k, seed, False, False)
    tables = [[[markov(i, h, s, 0, 0) for s in range(mdp.n_states)] for h in range(H)] for i in range(k)]
    return {
        "adaptive": mk.AdaptivePolicy(adaptive, k, H, best_so_far),
        "no best": mk.NoBestPolicy(lambda i, h, s, g: no_best(i, h, s, 0, g), k, H, best_so_far),
        "no return": mk.NoReturnPolicy(lambda i, h, s, m: no_return(i, h, s, m, 0), k, H, best_so_far),
        "markov": mk.MarkovPolicy(tables, best_so_far=best_so_far),
        "repeated": mk.MarkovPolicy(tables[0], k=k, best_so_far=best_so_far),
    }
