"""Dense rows as a matrix, where rows lead almost anywhere and their reward is their own.

If all outcomes of a row bring the same reward, what the row is worth is one row of the matrix of probabilities times
the values of the next layer, moved by that reward: ``rectangles.py`` has the slices that are swept so.
"""

from typing import Any, NamedTuple

import numpy as np

from maxatk.base.types import Floats, Ints32
from maxatk.planning.tuning import TUNING
from maxatk.problem.mdp import MDP


class DenseRows(NamedTuple):
    """Rows as a matrix, and as tables in which each leads to its product, or to the end.

    The last step has a layer of its own, the last one, in which all rollouts end.
    """

    matrix: Floats  # [N, S] probabilities of next states, without the last step's layer
    tables: dict[str, Any]  # the fields in which they differ from the lattice's


def is_sparse(mdp: MDP) -> bool:
    """Whether rows lead to too few states for a matrix."""
    return len(mdp.prob) < TUNING.dense_share * len(mdp.action_cost) * mdp.n_states


def dense_rows(mdp: MDP, jump: Ints32) -> DenseRows | None:
    """The rows as a matrix; None where their rewards are not their own."""
    n, S = len(mdp.action_cost), mdp.n_states
    of_row, sizes = jump[mdp.outcome_start[:-1]], np.diff(mdp.outcome_start)
    if not np.array_equal(np.repeat(of_row, sizes), jump):
        return None
    chance = np.zeros((n, S + 1))
    np.add.at(chance, (np.repeat(np.arange(n), sizes), mdp.next_state), mdp.row_prob)
    layers = (len(mdp.pair_start) - 1) // S
    number = np.arange(n) - np.repeat(mdp.pair_start[:-1:S], np.diff(mdp.pair_start[::S]))  # of a row in its layer
    leads_on = chance[:, :S].any(axis=1)
    # The last step's rows come after all others.
    node = int(mdp.step_layer[-1]) * S
    first, end = (int(mdp.pair_start[at]) for at in (node, node + S))
    last = np.arange(first, end)
    rows = np.append(np.arange(n), last)
    may = np.concatenate([np.stack([leads_on, chance[:, S] > 0], axis=1), np.tile([False, True], (len(last), 1))])
    prob = np.stack([np.ones(len(rows)), np.append(chance[:, S], np.ones(len(last)))], axis=1)
    target = np.stack([S + 1 + number[rows], np.full(len(rows), S)], axis=1)
    tables = {
        "step_layer": np.append(mdp.step_layer[:-1], layers),
        "pair_start": np.append(mdp.pair_start, n + mdp.pair_start[node + 1 : node + S + 1] - first),
        "outcome_start": np.append(0, np.cumsum(may.sum(axis=1))),
        "next_state": target[may].astype(np.int32),
        "prob": prob[may],
        "jump": np.repeat(of_row[rows], may.sum(axis=1)),
        "cost": mdp.action_cost[rows],
    }
    return DenseRows(np.ascontiguousarray(chance[:, :S]), tables)
