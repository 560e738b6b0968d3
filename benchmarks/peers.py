"""What people could use instead: the full table in NumPy (the paper's algorithm) and QuantEcon's backward induction."""

import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy import sparse

import maxatk as mk


def normalised(mdp: mk.MDP) -> np.ndarray:
    """Probabilities whose rows sum to 1."""
    total = np.add.reduceat(mdp.prob, mdp.outcome_start[:-1])
    return mdp.prob / np.repeat(total, np.diff(mdp.outcome_start))


def matrix(mdp: mk.MDP) -> sparse.csr_array:
    """Homogeneous probabilities as a sparse matrix [S*A, S]; every state offers every action, no rollout ends early."""
    return sparse.csr_array((normalised(mdp), mdp.next_state, mdp.outcome_start), shape=(len(mdp.action), mdp.n_states))


def full_table(mdp: mk.MDP, k: int, jump: np.ndarray, points: int, dense: bool) -> float:
    """The paper's algorithm in vectorised NumPy: all (s, M, G) on the grid, in grid steps.

    ``jump`` [S, A] is each action's reward in grid steps. Beyond what the paper asks for, it uses that the value with a
    larger M than can be beaten is known, that is, G never leaves the grid.
    """
    S, A = mdp.n_states, mdp.n_actions
    P = matrix(mdp).toarray() if dense else matrix(mdp)
    grid = np.arange(points)
    after = grid.astype(float)  # U_{i+1} by M
    best = np.maximum(grid[:, None], grid[None, :])  # [M, G]
    for _ in range(k):
        V = np.broadcast_to(after[best], (S, points, points)).reshape(S, points * points)
        for _ in range(mdp.horizon):
            Q = (P @ V).reshape(S, A, points, points)
            V = np.full((S, points, points), -np.inf)
            for a in range(A):
                for j in np.unique(jump[:, a]):
                    rows = jump[:, a] == j
                    moved = Q[rows, a][:, :, np.minimum(grid + j, points - 1)]
                    V[rows] = np.maximum(V[rows], moved)
            V = V.reshape(S, points * points)
        after = V.reshape(S, points, points)[mdp.start_state[0], :, 0]
    return float(after[0])


class QuantEcon:
    """QuantEcon's ``backward_induction`` on the product state (s, g): sparse state-action pairs, one call per slice."""

    def __init__(self, mdp: mk.MDP, points: int) -> None:
        from quantecon.markov import DiscreteDP

        self.mdp, self.points = mdp, points
        S, A = mdp.n_states, mdp.n_actions
        g = np.arange(points)
        row = np.repeat(np.arange(len(mdp.action)), np.diff(mdp.outcome_start))
        state, action = row // A, row % A
        pair = (state[:, None] * points + g) * A + action[:, None]
        target = mdp.next_state[:, None] * points + np.minimum(g + mdp.reward.astype(int)[:, None], points - 1)
        prob = np.broadcast_to(normalised(mdp)[:, None], pair.shape)
        shape = (S * points * A, S * points)
        Q = sparse.csr_matrix((prob.ravel(), (pair.ravel(), target.ravel())), shape=shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that an infinite horizon would need discounting
            s, a = np.divmod(np.arange(shape[0]), A)
            self.problem = DiscreteDP(np.zeros(shape[0]), Q, 1.0, s, a)

    def slice_value(self, after: np.ndarray, m: int) -> float:
        """``U_i(m)`` from the next curve at all points."""
        from quantecon.markov import backward_induction

        g = np.arange(self.points)
        values, _ = backward_induction(
            self.problem, self.mdp.horizon, np.tile(after[np.maximum(m, g)], self.mdp.n_states)
        )
        return float(values[0][int(self.mdp.start_state[0]) * self.points])

    def value(self, k: int) -> float:
        """The optimum for ``k`` rollouts: all slices of all rollouts but the first, which needs one."""
        after = np.arange(self.points, dtype=float)
        for _ in range(k - 1):
            after = np.array([self.slice_value(after, m) for m in range(self.points)])
        return self.slice_value(after, 0)


def seconds(run: Callable[[], object], repeats: int = 1) -> float:
    """The best of some runs."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)
