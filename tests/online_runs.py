"""Runs that learn by playing, and beliefs, for the tests of them."""

import math

import numpy as np

import maxatk as mk
from maxatk.learning.belief import Belief
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.grid import grid_for_episodes
from maxatk.learning.online.online import play
from maxatk.learning.online.run import OnlineRun

EXPLORE = ["optimism", "posterior"]


def optimum(mdp, k, best_so_far=-math.inf):
    return mk.solve(mdp, k, solver=mk.Exact(), best_so_far=best_so_far).exact


def coins(k, gap=0.25):
    return mk.MDP.from_table([[[(x, 0, 1.0, True), (1 - x, 0, 0.0, True)] for x in (1 / k, (1 + gap) / k)]], horizon=1)


def per_step(seed):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(2), (2, 2, 2))
    return mk.MDP.from_arrays(P, random.choice([0, 0.5, 1], (2, 2, 2)), horizon=2, start=[0.25, 0.75])


def begun(mdp, k, explore="optimism", seed=0, delta=0.1, known_start=True, **more):
    source = mk.TabularEpisodes(mdp, known_start=known_start, **more)
    ledger = mk.Online().ledger(source, k, np.random.default_rng(seed), delta=delta)
    return OnlineRun(ledger, explore)


def played(run, trials):
    for _ in range(trials):
        play(run.ledger, run.trial())
    return run


def truth(mdp, log):
    """The rows of a problem as a belief, as uncertain as ``log`` says."""
    known = CheckedEpisodes.of(mk.TabularEpisodes(mdp))
    grid = grid_for_episodes(known, mdp.reward.tolist(), rounds=False)
    sizes = np.diff(mdp.outcome_start)
    belief = Belief(
        np.repeat(np.arange(known.n_rows), sizes),
        mdp.next_state.astype(np.int64),
        *grid.in_steps(mdp.reward),
        np.array(mdp.row_prob),
        *known.start,
        np.append(np.full(known.n_rows, log), 0.0),
    )
    return grid, belief
