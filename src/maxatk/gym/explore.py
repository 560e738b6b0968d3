"""Environments as problems, with their states by number."""

from collections.abc import Callable
from typing import Any

from maxatk.problem.explore import MOST_STATES, Explored
from maxatk.problem.mdp import MDP
from maxatk.problem.readers import read_environment


def explore(
    env: Any,
    *,
    horizon: int | None = None,
    key: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    max_states: int = MOST_STATES,
    progress: bool | Callable[[Explored], None] = False,
    **make_arguments: Any,
) -> MDP:
    """A problem from a Gymnasium environment, as :meth:`maxatk.MDP.from_gymnasium` reads it.

    ``mdp.states.now(env)`` is the number of the current state of an environment of this kind, so that a plan can be
    run in it: ``mk.simulate(env, plan.policy, state_of=lambda _: mdp.states.now(env))``.

    Args:
        env: an environment, or the id of one, made with ``make_arguments``.
        horizon: the number of steps of a rollout; by default the environment's own time limit.
        key: for an environment that can be copied, a function of it (unwrapped) that returns a hashable object, a
            different one for each state. Copies of it then take every action from every state, and wherever it draws
            one of finitely many random numbers from ``np_random``, every number is tried. MiniGrid's need no key.
        seed: the seed of all resets, for one that is copied; by default every reset is tried.
        max_states: the maximal number of states.
        progress: a function that is called with the progress, or True for lines on standard error.

    >>> import maxatk as mk
    >>> mdp = mk.gym.explore("Blackjack-v1")
    >>> plan = mk.solve(mdp, k=3)
    >>> mdp.states[0]                                # 12 by two aces, against an ace; no natural
    (12, 1, 1, False)
    """
    made = read_environment(
        *(env, horizon, None, make_arguments), key=key, seed=seed, max_states=max_states, progress=progress
    )
    return MDP(made.rows, **made.arguments())
