"""What a policy typically does, for figures and contrasts: the likeliest histories, and no bound is claimed."""

import math

import numpy as np

from maxatk.base import checks
from maxatk.base.types import Floats, Ints, Number
from maxatk.laws.forward import Atoms, Laws, Propagation
from maxatk.laws.law import Law
from maxatk.laws.units import Units
from maxatk.policies import CompressedPolicy, check_policy
from maxatk.problem.mdp import MDP

FEW_ATOMS = 20_000  # that are followed


def single_rollout(
    mdp: MDP, policy: CompressedPolicy, rollout: int, best: Number, must_exceed: Number = -math.inf
) -> tuple[Laws, Floats, float]:
    """The law of the return of one rollout, where ``best`` is the best so far, and how often it takes each action.

    Visits are [S, A + 1]; the last action is to give up. They count while the return may still exceed ``must_exceed``.
    What is too unlikely to be followed is counted at its least return, and at its greatest; its chance comes last, less
    that of rollouts whose return is known already.
    """
    walk = _Typical(mdp, policy, best, must_exceed)
    followed = walk.rollout(policy, rollout, walk.alone(best), later=0)
    return walk.laws(followed), walk.visits, walk.pruner.open_chance


def best_after(mdp: MDP, policy: CompressedPolicy, rollouts: int) -> Law:
    """The law of the best return after so many rollouts, one at least."""
    walk = _Typical(mdp, policy, policy.best_so_far)
    return walk.laws(walk.trials(policy, rollouts)).low


class _Typical(Propagation):
    """Follows the likeliest histories, and counts what is done in them."""

    def __init__(self, mdp: MDP, policy: CompressedPolicy, best: Number, must_exceed: Number = -math.inf) -> None:
        check_policy(policy, mdp.horizon)
        share = 1e-6 * (mdp.return_range[1] - mdp.return_range[0]) / mdp.horizon
        super().__init__(mdp, Units.of(mdp, policy, best), share, FEW_ATOMS)
        table = f"a table of {mdp.n_states} states and {mdp.n_actions} actions"
        checks.fits_in_memory(16 * mdp.n_states * mdp.n_actions, table)
        # How often actions are taken; ``ABANDON``, which is -1, comes last.
        self.visits: Floats = np.zeros((mdp.n_states, mdp.n_actions + 1))  # [S, A + 1]
        self._must_exceed = float(must_exceed)  # a return must still be able to exceed it for a visit to count

    def acted(self, h: int, atoms: Atoms, action: Ints) -> None:
        """Count the actions."""
        state = atoms.place[1]
        reach = self.nearest(atoms.value) + self.mdp.analysis.most[h, state]
        open_still = reach - 2.0**-40 * np.abs(reach) > self._must_exceed  # sums of floats may differ by rounding
        np.add.at(self.visits, (state, action), atoms.prob * open_still)
