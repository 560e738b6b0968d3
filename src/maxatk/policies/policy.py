"""What policies share: all of them, and those that remember the best return and the return so far at most."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.base.returns import Amounts, nearest_float
from maxatk.base.types import Bools, Ints, Number

ABANDON = -1
"""What :meth:`CompressedPolicy.action` and :meth:`Trial.act` answer where the rollout is to be given up."""


class Lot(NamedTuple):
    """What a rollout that is independent of the others follows: one of several policies, drawn by weight."""

    parts: Sequence[tuple["CompressedPolicy", int]]  # each a policy, and which of its rollouts it is
    weights: Sequence[Fraction] | None  # they sum to 1; None where there is one part, and nothing is drawn
    times: int  # how many rollouts are alike in this


class Policy(ABC):
    """What to do at every step of every one of ``k`` rollouts of at most ``horizon`` steps.

    Args:
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.
    """

    cost: Fraction = Fraction(0)  # what a rollout costs beside its rows, where the policy was planned for that

    def __init__(self, k: int, horizon: int, best_so_far: Number = -math.inf, *, stop_at: Number = math.inf) -> None:
        self.k = checks.rollouts(k)
        self.horizon = checks.horizon(horizon)
        self.best_so_far = checks.incumbent(best_so_far)
        never = isinstance(stop_at, Real) and stop_at == math.inf
        self.stop_at: Number = math.inf if never else checks.exact_number(stop_at, "stop_at")

    def stops(self, *, rollout: int, best: Number) -> bool:
        """Whether the trial is over before ``rollout``, with ``best`` in hand."""
        return best != -math.inf and best >= self.stop_at

    @property
    def may_stop(self) -> bool:
        """Whether a trial may be over before all rollouts are made."""
        return self.stop_at < math.inf or type(self).stops is not Policy.stops

    def stopped(self, rollout: int, best: Amounts) -> Bools:
        """Whether trials whose best returns are ``best`` [n] are over before ``rollout``."""
        if not self.may_stop:
            return np.zeros(len(best.units), np.bool_)
        some, places = np.unique(best.units, return_inverse=True)

        def stops(x: int) -> bool:
            stopping.check()
            return self.stops(rollout=rollout, best=best.scale.number(x))

        return np.array([stops(x) for x in some.tolist()], np.bool_)[places.ravel()]

    @abstractmethod
    def begin(self) -> "Trial":
        """A new trial of ``k`` rollouts that keeps count of itself."""

    def begin_from(self, stream: np.random.Generator) -> "Trial":
        """A new trial that draws from ``stream``, if it draws anything."""
        return self.begin()

    @property
    def parts(self) -> Sequence["CompressedPolicy"]:
        """The policies that remember M and G at most which this one follows; none where it remembers more."""
        return ()

    def shared_out(self, rollout: int, trials: int, stream: np.random.Generator) -> list[tuple[int, int, Ints]]:
        """Which part each of ``trials`` trials follows in ``rollout``, drawn from ``stream``.

        By part: its number, which of its rollouts it is, and the trials.
        """
        raise NotImplementedError(f"{type(self).__name__} has no parts")

    def lots(self) -> Sequence[Lot] | None:
        """What rollouts follow, where they are independent of each other; None where they are not."""
        return None

    def certificate(self, mdp: Any) -> tuple[float, float] | None:
        """Bounds on what the policy earns in ``mdp``, where they are known without an evaluation."""
        return None


class Trial(ABC):
    """One trial of ``k`` rollouts under a policy: ask with :meth:`act`, tell with :meth:`observe`, in turn.

    Rewards are summed exactly, so that nothing drifts from what was observed, and the policy is asked with these sums,
    as :func:`maxatk.evaluate` asks it. What a caller reads, :attr:`best` and :attr:`so_far`, is in the caller's own
    numbers: floats, or fractions once a reward was given as one.

    >>> import maxatk as mk
    >>> trial = mk.solve(mk.instances.figure1(gamma=0.25), k=2).policy.begin()
    >>> trial.act(state=0)
    0
    >>> trial.observe(reward=0.5, done=True)
    >>> trial.rollout, trial.best
    (1, 0.5)
    """

    def __init__(self, policy: Policy) -> None:
        self._k, self._horizon, self._stops = policy.k, policy.horizon, policy.stops
        self._stopped: bool | None = None  # whether the policy stops before this rollout, once it was asked
        self._taken: tuple[Any, int] | None = None  # state and action whose outcome was not observed yet
        self.rollout = 0  # the number of rollouts that are over
        self.step = 0  # the number of steps of this rollout that are over
        self.exact_best = policy.best_so_far  # M itself, ``-inf`` where there is none: what the policy is asked with
        self.exact_so_far = Fraction(0)  # G itself
        self._in_floats = _is_float(policy.best_so_far)  # whether no fraction was given yet

    @property
    def best(self) -> Number:
        """The best return of the earlier rollouts, M: the nearest float, or a fraction where fractions were given."""
        return self._readable(self.exact_best)

    @property
    def so_far(self) -> Number:
        """The return of this rollout so far, G: the nearest float, or a fraction where fractions were given."""
        return self._readable(self.exact_so_far)

    def _readable(self, amount: Number) -> Number:
        return nearest_float(amount) if self._in_floats else amount

    @property
    def finished(self) -> bool:
        """Whether all rollouts are over, or the policy stops with what is in hand."""
        if self.rollout == self._k:
            return True
        if self._stopped is None:
            self._stopped = self._stops(rollout=self.rollout, best=self.exact_best)
        return self._stopped

    @property
    def remembered(self) -> tuple[Number, Number]:
        """M and G as the policy remembers them: the true ones, but for policies that round."""
        return self.exact_best, self.exact_so_far

    def act(self, state: Any) -> int:
        """The action to take in ``state``, where the trial stands; ``ABANDON`` if the rollout is to be given up."""
        if self.finished:
            over = self.rollout == self._k
            why = f"all {self._k} rollouts are over" if over else f"the policy stops with {float(self.best):g} in hand"
            raise InputError(f"act: {why}")
        if self._taken:
            raise InputError("act: the outcome of the last action was not observed yet")
        action = self._choose(state)
        self._taken = state, action
        return action

    def observe(self, reward: Any, done: bool = False) -> None:
        """Take in the ``reward`` that the last action brought; ``done`` says that this rollout is over.

        A rollout is over after ``horizon`` steps even if nobody says so, and when it was given up: its return, and the
        reward of that step, do not count then.
        """
        if not self._taken:
            raise InputError("observe: no action was taken since the last outcome")
        if not isinstance(done, bool | np.bool_):
            raise InputError(f"done must be true or false, not {checks.shown(done)}")
        amount = checks.exact_number(reward, "reward")
        given_up = self._taken[1] == ABANDON
        over = bool(done) or given_up or self.step + 1 == self._horizon
        self._remember(*self._taken, amount, over)
        self._taken = None
        self._in_floats &= not isinstance(reward, Rational) or isinstance(reward, Integral)
        self.exact_so_far += amount
        self.step += 1
        if over:
            self.exact_best = self.exact_best if given_up else max(self.exact_best, self.exact_so_far)
            self.rollout, self.step, self.exact_so_far, self._stopped = self.rollout + 1, 0, Fraction(0), None

    @abstractmethod
    def _choose(self, state: Any) -> int:
        """Ask the policy, with what it remembers."""

    @abstractmethod
    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        """Add one step to what the policy remembers; ``over`` where it is the last of its rollout."""


# Policies that remember M and G at most.


class Rule(Protocol):
    """What a policy does within one rollout, for many trials at once: actions [n] for states and returns [n].

    ``tag`` [n] says which of the best returns the rule was made for each trial has.
    """

    def __call__(self, step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
        """The actions to take."""
        ...


class CompressedPolicy(Policy):
    """A policy that answers from the rollout, the step, the state, the best return so far and the return so far."""

    independent = False  # whether the best return so far is ignored, so that rollouts are independent of each other
    repeated = False  # whether, besides, all rollouts are alike
    memory: Literal["rewards", "rounded rewards", "nothing"] = "rewards"  # what :meth:`remembered` adds up

    @abstractmethod
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

    def remembered(self, reward: Fraction) -> Fraction:
        """What the policy adds to G for a reward: the reward itself, but for policies that round."""
        return reward

    def may_round(self, unit: Fraction) -> bool:
        """Whether M and G may be rounded to multiples of ``unit`` before it is asked.

        By default not, however small that is: a policy may look whether M is *exactly* 0.2.
        """
        return False

    def apart(self, rollout: int, best: Amounts) -> Ints:
        """A number for each of ``best`` [n] in ``rollout``: trials with different ones had better be run one by one.

        By default all may run side by side.

        Args:
            rollout: the rollout that they are to run.
            best: their best returns.
        """
        return np.zeros(len(best.units), np.int64)

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """What the policy does in ``rollout``, for trials whose best return is one of ``best``."""

        def ask(step: int, state: int, tag: int, so_far: Number) -> int:
            stopping.check()  # a policy that people write may take its time over each question
            answer = self.action(rollout=rollout, step=step, state=state, best=best[tag], so_far=so_far)
            return checks.integer(answer, "the policy's action", least=ABANDON, most=2**31)

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            # One question for all trials that agree in everything.
            alike, first, places = np.unique(
                np.stack([tag, state, so_far.units]), axis=1, return_index=True, return_inverse=True
            )
            questions = zip(alike.T.tolist(), first.tolist(), strict=True)
            answers = [ask(step, s, t, so_far[i]) for (t, s, _), i in questions]
            return np.array(answers, np.int64)[places.ravel()]

        return act

    @property
    def parts(self) -> Sequence["CompressedPolicy"]:
        """The policy itself."""
        return (self,)

    def lots(self) -> Sequence[Lot] | None:
        """The policy's own rollouts, where it ignores the best return; one where all are alike."""
        if not self.independent or self.may_stop:
            return None
        different = 1 if self.repeated else self.k
        return [Lot([(self, i)], None, self.k // different) for i in range(different)]

    def shared_out(self, rollout: int, trials: int, stream: np.random.Generator) -> list[tuple[int, int, Ints]]:
        """All ``trials`` follow the only part in its own ``rollout``; nothing is drawn from ``stream``."""
        return [(0, rollout, np.arange(trials))]

    def begin(self) -> "CompressedTrial":
        """A new trial, which remembers M and G alone."""
        return CompressedTrial(self)


class CompressedTrial(Trial):
    """A trial that remembers M and G, as the policy wants them."""

    def __init__(self, policy: CompressedPolicy) -> None:
        super().__init__(policy)
        self._policy = policy
        self._best, self._so_far = policy.best_so_far, Fraction(0)

    @property
    def remembered(self) -> tuple[Number, Number]:
        """M and G as the policy remembers them: the true ones, but for policies that round."""
        return self._best, self._so_far

    def _choose(self, state: Any) -> int:
        return self._policy.action(
            rollout=self.rollout, step=self.step, state=state, best=self._best, so_far=self._so_far
        )

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        self._so_far += self._policy.remembered(reward)
        if over:
            kept = self._best if action == ABANDON else max(self._best, self._so_far)
            self._best, self._so_far = kept, Fraction(0)


def _is_float(amount: Number) -> bool:
    """Whether a float says exactly this: what is in hand is kept as a fraction, whatever it was given as."""
    return amount == nearest_float(amount)


def checked_function(choose: Any) -> Any:
    """A function that chooses, or an error."""
    if not callable(choose):
        raise InputError(f"a policy needs a function that chooses, not {checks.shown(choose)}")
    return choose


def check_policy(policy: Policy, horizon: int | None) -> None:
    """That ``policy`` is one, for rollouts of ``horizon`` steps."""
    if not isinstance(policy, Policy):
        raise InputError(f"policy must be a maxatk.Policy such as plan.policy, not {checks.shown(policy)}")
    if horizon is not None and policy.horizon != horizon:
        raise InputError(f"the policy is for rollouts of {policy.horizon} steps, not {horizon}")
