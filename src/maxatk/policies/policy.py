"""What a policy is: all of them, and those that remember the best return and the return so far at most."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.base.returns import Amounts
from maxatk.base.types import Floats, Ints, Number, Seed
from maxatk.policies.arguments import returns_of, states_of
from maxatk.policies.hooks import Component, Rule, Traits
from maxatk.policies.trial import ABANDON, CompressedTrial, Trial
from maxatk.problem.utility import Utility


class Policy(ABC):
    """What to do at every step of every one of ``k`` rollouts of at most ``horizon`` steps.

    Args:
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.
    """

    cost: Fraction = Fraction(0)  # what a rollout costs beside its rows, where the policy was planned for that
    utility: Utility | None = None  # of the final best return, where the policy was planned for one

    def __init__(self, k: int, horizon: int, best_so_far: Number = -math.inf, *, stop_at: Number = math.inf) -> None:
        self.k = checks.rollouts(k)
        self.horizon = checks.horizon(horizon)
        self.best_so_far = checks.incumbent(best_so_far)
        never = isinstance(stop_at, Real) and stop_at == math.inf
        self.stop_at: Number = math.inf if never else checks.exact_number(stop_at, "stop_at")

    def __repr__(self) -> str:
        known = vars(self).get("k"), vars(self).get("horizon")
        return f"{type(self).__name__}({f'best of {known[0]}, horizon {known[1]}' if None not in known else ''})"

    def stops(self, *, rollout: int, best: Number) -> bool:
        """Whether the trial is over before ``rollout``, where ``best`` is the best return so far."""
        return best != -math.inf and best >= self.stop_at

    @abstractmethod
    def begin(self, rng: Seed = None) -> Trial:
        """A new trial of ``k`` rollouts that keeps count of itself; where a policy draws, it does so from ``rng``."""

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take.

        Args:
            rollout: the number of rollouts that are over.
            step: the number of steps of this rollout that are over.
            state: the present state.
            best: the best return of the earlier rollouts, ``M``; ``-inf`` where there is none. Evaluation, simulation
                and trials ask with the exact sum of rewards, a fraction.
            so_far: the return of this rollout so far, ``G``; a fraction likewise.
        """
        self._refuse()

    def actions(self, *, rollout: int, step: int, state: ArrayLike, best: ArrayLike, so_far: ArrayLike) -> Ints:
        """The actions to take at many states and returns at once: what :meth:`action` answers for each of these floats.

        ``state``, ``best`` and ``so_far`` are arrays or single numbers; they are broadcast, and the answer has their
        common shape. ``ABANDON``, -1, is among the actions where a rollout is to be given up. Policies that draw what
        they follow, or remember more than M and G, are asked by their trials alone.

        Args:
            rollout: the number of rollouts that are over.
            step: the number of steps of this rollout that are over.
            state: integers, the present states.
            best: floats, the best returns of the earlier rollouts; ``-inf`` where there is none.
            so_far: floats, the returns of this rollout so far.

        >>> import numpy as np
        >>> import maxatk as mk
        >>> policy = mk.solve(mk.instances.figure1(gamma=0.25), k=2).policy
        >>> policy.actions(rollout=1, step=0, state=0, best=np.array([0.0, 0.25, 0.5]), so_far=0)
        array([0, 0, 1])
        """
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(f"{type(self).__name__} needs more than M and G to act: run its trials, with begin()")

    # For the library alone: see hooks.py.

    _traits = Traits()
    _widths: tuple[int, ...] = ()

    @property
    def _may_stop(self) -> bool:
        return self.stop_at < math.inf or type(self).stops is not Policy.stops

    def _mixture(self, rollout: int) -> Sequence[Component]:
        return ()


class CompressedPolicy(Policy):
    """A policy that answers from the rollout, the step, the state, the best return so far and the return so far."""

    @abstractmethod
    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The action to take; see :meth:`Policy.action`."""

    def actions(self, *, rollout: int, step: int, state: ArrayLike, best: ArrayLike, so_far: ArrayLike) -> Ints:
        """The actions to take at many states and returns at once; see :meth:`Policy.actions`."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        given = states_of(state, self._traits.n_states), returns_of(best, "best"), returns_of(so_far, "so_far")
        try:
            s, M, G = np.broadcast_arrays(*given)
        except ValueError:
            shapes = "state {}, best {} and so_far {}".format(*(list(array.shape) for array in given))
            raise InputError(f"{shapes} do not broadcast to one shape") from None
        answers = self._answers(i, h, s.ravel(), M.ravel(), G.ravel()) if s.size else np.zeros(0, np.int64)
        return answers.reshape(s.shape)

    def begin(self, rng: Seed = None) -> CompressedTrial:
        """A new trial, which remembers M and G alone, and draws nothing."""
        return CompressedTrial(self, self._traits.memory)

    def _answers(self, rollout: int, step: int, state: Ints, best: Floats, so_far: Floats) -> Ints:
        """:meth:`actions` for numbers [n] that were checked; one question for all that agree in everything."""
        alike, places = np.unique(np.stack([state, best, so_far]), axis=1, return_inverse=True)
        answers = [ask(self, rollout, step, int(s), m, g) for s, m, g in alike.T.tolist()]
        return np.array(answers, np.int64)[places.ravel()]

    def _known(self, state: Ints) -> Ints:
        """The states [n], if the policy has actions for them."""
        n_states = self._traits.n_states
        if n_states is not None and state.max(initial=0) >= n_states:
            raise InputError(f"the policy has actions for {n_states} states, and is asked about state {state.max()}")
        return state

    def _mixture(self, rollout: int) -> Sequence[Component]:
        return [Component(self, rollout, Fraction(1))]

    def _rule(self, rollout: int, best: Amounts) -> Rule:
        """In exact numbers, one question for all trials that agree in everything; or in floats, if they are enough."""
        if self._traits.in_floats:
            bests = best.floats()
            return Rule(
                lambda step, tag, state, so_far: self._answers(
                    rollout, step, self._known(state), bests[tag], so_far.floats()
                )
            )

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            alike, first, places = np.unique(
                np.stack([tag, state, so_far.units]), axis=1, return_index=True, return_inverse=True
            )
            questions = zip(alike.T.tolist(), first.tolist(), strict=True)
            answers = [ask(self, rollout, step, s, best[t], so_far[i]) for (t, s, _), i in questions]
            return np.array(answers, np.int64)[places.ravel()]

        return Rule(act)


def ask(policy: CompressedPolicy, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
    """A policy's action, checked to be a number that may be one; it may take its time over each question."""
    stopping.check()
    answer = policy.action(rollout=rollout, step=step, state=state, best=best, so_far=so_far)
    return checks.integer(answer, "the policy's action", least=ABANDON, most=2**31)


def check_policy(policy: Policy, horizon: int | None) -> None:
    """That ``policy`` is one, for rollouts of ``horizon`` steps."""
    if not isinstance(policy, Policy):
        raise InputError(f"policy must be a maxatk.Policy such as plan.policy, not {checks.shown(policy)}")
    if horizon is not None and policy.horizon != horizon:
        raise InputError(f"the policy is for rollouts of {policy.horizon} steps, not {horizon}")
