"""Acting: what to do, given all that was seen, or the part of it that a class of policies may remember.

The classes of the paper, from the largest to the smallest, and what a policy of each is a function of:

========================  ==========================================================  =========
:class:`HistoryPolicy`    everything seen: all rollouts so far, step by step          ``Π_H``
:class:`AdaptivePolicy`   rollout, step, state, best return so far M, return so far G  ``Π_C``
:class:`NoBestPolicy`     rollout, step, state, G
:class:`NoReturnPolicy`   rollout, step, state, M
:class:`MarkovPolicy`     rollout, step, state (or step and state alone)              ``Π_M``
========================  ==========================================================  =========

By Proposition 2 an adaptive policy can be as good as any. Every policy can :meth:`~Policy.begin` a :class:`Trial`,
which keeps count for a caller who only has states and rewards; all but history policies can also be asked directly,
with :meth:`~CompressedPolicy.action`. Rollouts, steps, states and actions count from 0.

Where rollouts cost something, a policy may stop before one (:meth:`~Policy.stops`), and give one up (:data:`ABANDON`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.returns import Amounts, Scale
from maxatk.base.types import Bools, Ints, Number

ABANDON = -1
"""What :meth:`CompressedPolicy.action` and :meth:`Trial.act` answer where the rollout is to be given up."""


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
        self.stop_at: Number = stop_at if stop_at == math.inf else checks.exact_number(stop_at, "stop_at")

    def stops(self, *, rollout: int, best: Number) -> bool:
        """Whether the trial is over before ``rollout``, with ``best`` in hand."""
        return best != -math.inf and best >= self.stop_at

    def stopped(self, rollout: int, best: Amounts) -> Bools:
        """The same for many trials at once [n]."""
        if type(self).stops is Policy.stops and self.stop_at == math.inf:
            return np.zeros(len(best.units), np.bool_)
        some, places = np.unique(best.units, return_inverse=True)
        answers = [self.stops(rollout=rollout, best=best.scale.number(x)) for x in some.tolist()]
        return np.array(answers, np.bool_)[places.ravel()]

    @abstractmethod
    def begin(self) -> "Trial":
        """A new trial of ``k`` rollouts that keeps count of itself."""


class Trial(ABC):
    """One trial of ``k`` rollouts under a policy: ask with :meth:`act`, tell with :meth:`observe`, in turn.

    Returns are summed exactly, so that nothing drifts from what was observed.

    >>> import maxatk as mk
    >>> trial = mk.solve(mk.instances.figure1(gamma=0.25), k=2).policy.begin()
    >>> trial.act(state=0)
    0
    >>> trial.observe(reward=0.5, done=True)
    >>> trial.rollout, float(trial.best)
    (1, 0.5)
    """

    def __init__(self, policy: Policy) -> None:
        self._k, self._horizon, self._stops = policy.k, policy.horizon, policy.stops
        self._stopped: bool | None = None  # whether the policy stops before this rollout, once it was asked
        self._taken: tuple[Any, int] | None = None  # state and action whose outcome was not observed yet
        self.rollout = 0  # the number of rollouts that are over
        self.step = 0  # the number of steps of this rollout that are over
        self.best = policy.best_so_far  # the best return of the earlier rollouts, M
        self.so_far = Fraction(0)  # the return of this rollout so far, G

    @property
    def finished(self) -> bool:
        """Whether all rollouts are over, or the policy stops with what is in hand."""
        if self.rollout == self._k:
            return True
        if self._stopped is None:
            self._stopped = self._stops(rollout=self.rollout, best=self.best)
        return self._stopped

    @property
    def remembered(self) -> tuple[Number, Number]:
        """M and G as the policy remembers them: the true ones, but for policies that round."""
        return self.best, self.so_far

    def act(self, state: Any) -> int:
        """The action to take in ``state``, where the trial stands; :data:`ABANDON` if the rollout is to be given up."""
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
        exact = checks.exact_number(reward, "reward")
        given_up = self._taken[1] == ABANDON
        over = bool(done) or given_up or self.step + 1 == self._horizon
        self._remember(*self._taken, exact, over)
        self._taken = None
        self.so_far += exact
        self.step += 1
        if over:
            self.best = self.best if given_up else max(self.best, self.so_far)
            self.rollout, self.step, self.so_far, self._stopped = self.rollout + 1, 0, Fraction(0), None

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
            best: the best return of the earlier rollouts, ``M``; ``-inf`` where there is none.
            so_far: the return of this rollout so far, ``G``.
        """

    def remembered(self, reward: Fraction) -> Fraction:
        """What the policy adds to G for a reward: the reward itself, but for policies that round."""
        return reward

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """What the policy does in ``rollout``, for trials whose best return is one of ``best``."""

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            # One question for all trials that agree in everything.
            alike, first, places = np.unique(
                np.stack([tag, state, so_far.units]), axis=1, return_index=True, return_inverse=True
            )
            answers = [
                checks.integer(
                    self.action(rollout=rollout, step=step, state=s, best=best[t], so_far=so_far[i]),
                    "the policy's action",
                    least=ABANDON,
                    most=2**31,
                )
                for (t, s, _), i in zip(alike.T.tolist(), first.tolist(), strict=True)
            ]
            return np.array(answers, np.int64)[places.ravel()]

        return act

    def certificate(self, mdp: Any) -> tuple[float, float] | None:
        """Bounds on what the policy earns in ``mdp``, where they are known without an evaluation."""
        return None

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


F = TypeVar("F", bound=Callable[..., int])


class _FunctionPolicy(CompressedPolicy, Generic[F]):
    """A policy that asks a function of what its class may see."""

    def __init__(
        self, choose: F, k: int, horizon: int, best_so_far: Number = -math.inf, *, stop_at: Number = math.inf
    ) -> None:
        super().__init__(k, horizon, best_so_far, stop_at=stop_at)
        self._function: F = _callable(choose)


class AdaptivePolicy(_FunctionPolicy[Callable[[int, int, Any, Number, Number], int]]):
    """Any function of rollout, step, state, best return and return so far: ``Π_C``, as good as any policy can be.

    Args:
        choose: the function, of ``(rollout, step, state, best, so_far)``.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.

    >>> import maxatk as mk
    >>> policy = mk.AdaptivePolicy(lambda rollout, step, state, best, so_far: int(best >= 0.5), k=2, horizon=1)
    >>> str(mk.evaluate(mk.instances.figure1(gamma=0.25), policy).exact)     # safe; then risky if that has paid
    '9/16'
    """

    def action(self, *, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
        """The function's answer."""
        return self._function(rollout, step, state, best, so_far)


class NoBestPolicy(_FunctionPolicy[Callable[[int, int, Any, Number], int]]):
    """Any function of rollout, step, state and return so far: without M, so that rollouts are independent.

    Args:
        choose: the function, of ``(rollout, step, state, so_far)``.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.
    """

    independent = True

    def action(self, *, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
        """The function's answer, whatever ``best`` is."""
        return self._function(rollout, step, state, so_far)


class NoReturnPolicy(_FunctionPolicy[Callable[[int, int, Any, Number], int]]):
    """Any function of rollout, step, state and best return: without G.

    Args:
        choose: the function, of ``(rollout, step, state, best)``.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.
    """

    def action(self, *, rollout: int, step: int, state: Any, best: Number, so_far: Number) -> int:
        """The function's answer, whatever ``so_far`` is."""
        return self._function(rollout, step, state, best)


class MarkovPolicy(CompressedPolicy):
    """An action for each step and state ``[H, S]``, repeated in ``k`` rollouts; or for each rollout, too ``[K, H, S]``.

    Args:
        actions: the table of actions.
        k: the number of rollouts, where the table is ``[H, S]``.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.

    >>> import maxatk as mk
    >>> safe_then_risky = mk.MarkovPolicy([[[0]], [[1]]])
    >>> str(mk.evaluate(mk.instances.figure1(gamma=0.25), safe_then_risky).exact)
    '17/32'
    """

    independent = True
    memory = "nothing"

    def __init__(
        self,
        actions: ArrayLike,
        k: int | None = None,
        best_so_far: Number = -math.inf,
        *,
        stop_at: Number = math.inf,
    ) -> None:
        try:
            table = np.array(actions)
        except ValueError:
            raise InputError("actions must be an array [H, S] or [K, H, S]") from None
        if table.dtype.kind not in "iu" or table.ndim not in (2, 3) or table.size == 0:
            raise InputError(f"actions must be integers [H, S] or [K, H, S], not {table.dtype} {list(table.shape)}")
        if table.min() < 0:
            raise InputError(f"actions[{', '.join(map(str, np.argwhere(table < 0)[0]))}] is negative: {table.min()}")
        if table.ndim == 2:
            if k is None:
                raise InputError("k is missing: how often are actions [H, S] repeated?")
            self.repeated = True
            table = np.broadcast_to(table, (checks.rollouts(k), *table.shape))
        elif k is not None and k != len(table):
            raise InputError(f"k is {checks.shown(k)}, but actions are for {len(table)} rollouts")
        table.setflags(write=False)
        super().__init__(len(table), table.shape[1], best_so_far, stop_at=stop_at)
        self.actions = table  # [K, H, S]

    def action(self, *, rollout: int, step: int, state: int, best: Number = -math.inf, so_far: Number = 0) -> int:
        """The table's entry."""
        i = checks.integer(rollout, "rollout", most=self.k - 1)
        h = checks.integer(step, "step", most=self.horizon - 1)
        return int(self.actions[i, h, checks.integer(state, "state", most=self.actions.shape[2] - 1)])

    def remembered(self, reward: Fraction) -> Fraction:
        """Nothing."""
        return Fraction(0)

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """The table of one rollout."""
        table = self.actions[rollout]

        def act(step: int, tag: Ints, state: Ints, so_far: Amounts) -> Ints:
            try:
                return table[step][state]
            except IndexError:
                raise InputError(f"the policy has actions for {table.shape[1]} states only") from None

        return act


class RoundingPolicy(CompressedPolicy):
    """Acts as another policy does, on rewards that it remembers rounded and in other units.

    Args:
        inner: the policy to ask.
        remembered: what is remembered of a reward.
        scale: how much larger returns are for the inner policy.
    """

    memory = "rounded rewards"

    def __init__(self, inner: CompressedPolicy, remembered: Callable[[Fraction], Fraction], scale: Fraction) -> None:
        best = inner.best_so_far
        super().__init__(inner.k, inner.horizon, best if best == -math.inf else Fraction(best) / scale)
        self.independent, self.repeated = inner.independent, inner.repeated
        self._inner, self._remembered, self._scale = inner, remembered, scale

    def remembered(self, reward: Fraction) -> Fraction:
        """The rounded reward."""
        return self._remembered(reward)

    def action(self, *, rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        """The inner policy's action; ``best`` and ``so_far`` are sums of *rounded* rewards, as trials keep them."""
        exact = checks.incumbent(best, "best")
        return self._inner.action(
            rollout=rollout,
            step=step,
            state=state,
            best=exact if exact == -math.inf else exact * self._scale,
            so_far=checks.exact_number(so_far, "so_far") * self._scale,
        )

    def rule(self, rollout: int, best: Amounts) -> Rule:
        """The inner policy's rule."""

        def scaled(amounts: Amounts) -> Amounts:
            codes = (
                x if math.isinf(x) else Fraction(x) * self._scale for x in (amounts.scale.none, amounts.scale.beyond)
            )
            return Amounts(amounts.units, Scale(amounts.scale.unit * self._scale, *codes))

        inner = self._inner.rule(rollout, scaled(best))
        return lambda step, tag, state, so_far: inner(step, tag, state, scaled(so_far))


class MixedPolicy(Policy):
    """Each rollout follows one of several policies of a single rollout, drawn afresh: rollouts are independent.

    Sampling one randomised policy ``k`` times is such a policy; so is a policy of its own for every rollout.

    Args:
        parts: the policies, of one rollout each.
        weights: with what probability each part is drawn, ``[n]``; or for each rollout, ``[k, n]``.
        k: the number of rollouts.
        best_so_far: the incumbent, if there is one.
        rng: a seed or a NumPy Generator, from which trials draw.
    """

    def __init__(
        self,
        parts: Sequence[CompressedPolicy],
        weights: ArrayLike,
        k: int,
        best_so_far: Number = -math.inf,
        rng: Any = None,
    ) -> None:
        if not parts or any(not isinstance(part, CompressedPolicy) or part.k != 1 for part in parts):
            raise InputError("the parts of a mixed policy must be policies of one rollout, one at least")
        super().__init__(k, parts[0].horizon, best_so_far)
        table: Any = np.array(weights, dtype=object)
        if table.shape not in ((len(parts),), (self.k, len(parts))):
            raise InputError(f"weights must be [{len(parts)}] or [{self.k}, {len(parts)}], not {list(table.shape)}")
        self.repeated = table.ndim == 1  # whether all rollouts are alike
        rows = [[checks.exact_number(w, "weight") for w in row] for row in (table[None] if self.repeated else table)]
        if any(min(row) < 0 or sum(row) == 0 for row in rows):
            raise InputError("weights must not be negative, nor all 0")
        self.parts = tuple(parts)
        # Each row sums to 1 exactly; one row where all rollouts are alike.
        self.weights = tuple(tuple(w / sum(row) for w in row) for row in rows)
        self.rng = np.random.default_rng(rng)

    def chances(self, rollout: int) -> list[float]:
        """With what probability each part is drawn."""
        return [float(w) for w in self.weights[0 if self.repeated else rollout]]

    def begin(self, rng: np.random.Generator | None = None) -> "MixedTrial":
        """A new trial, whose parts are drawn from ``rng``, the policy's own by default."""
        return MixedTrial(self, rng or self.rng)


class MixedTrial(Trial):
    """A trial that draws a policy at the start of each rollout."""

    def __init__(self, policy: MixedPolicy, rng: np.random.Generator) -> None:
        super().__init__(policy)
        self._policy, self._rng = policy, rng
        self._inner: Trial | None = None

    def _choose(self, state: Any) -> int:
        if self._inner is None:
            drawn = self._rng.choice(len(self._policy.parts), p=self._policy.chances(self.rollout))
            self._inner = self._policy.parts[drawn].begin()
        return self._inner.act(state)

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        if self._inner is not None:
            self._inner.observe(reward, over)
        if over:
            self._inner = None


# Policies that remember everything.


class Seen(NamedTuple):
    """One step of the past."""

    state: Any  # the state stepped from
    action: int  # the action taken
    reward: Fraction  # what it paid


@dataclass(frozen=True)
class History:
    """All that was seen in a trial: the rollouts that are over, the present one, and the present state."""

    past: tuple[tuple[Seen, ...], ...]  # the steps of the rollouts that are over
    present: tuple[Seen, ...]  # the steps of this one
    state: Any  # the present state
    best_so_far: Number = -math.inf  # the incumbent

    @property
    def rollout(self) -> int:
        """The number of rollouts that are over."""
        return len(self.past)

    @property
    def step(self) -> int:
        """The number of steps of this rollout that are over."""
        return len(self.present)

    @property
    def so_far(self) -> Fraction:
        """The return of this rollout so far, ``G``."""
        return _total(self.present)

    @property
    def best(self) -> Number:
        """The best return of the earlier rollouts, ``M``."""
        return max([self.best_so_far, *(_total(one) for one in self.past if one[-1].action != ABANDON)])


class HistoryPolicy(Policy):
    """Any function of the whole :class:`History`: ``Π_H``.

    Args:
        choose: the function, of a :class:`History`.
        k: the number of rollouts.
        horizon: the number of steps of a rollout.
        best_so_far: the incumbent, or ``-inf`` where there is none.
        stop_at: the best return at which to stop; by default all rollouts are made.

    >>> import maxatk as mk
    >>> policy = mk.HistoryPolicy(lambda seen: len(seen.past) % 2, k=2, horizon=1)
    >>> str(mk.evaluate(mk.instances.figure1(gamma=0.25), policy).exact)
    '17/32'
    """

    def __init__(
        self,
        choose: Callable[[History], int],
        k: int,
        horizon: int,
        best_so_far: Number = -math.inf,
        *,
        stop_at: Number = math.inf,
    ) -> None:
        super().__init__(k, horizon, best_so_far, stop_at=stop_at)
        self.choose = _callable(choose)

    def begin(self) -> "HistoryTrial":
        """A new trial, which remembers everything."""
        return HistoryTrial(self)


class HistoryTrial(Trial):
    """A trial that remembers everything."""

    def __init__(self, policy: HistoryPolicy) -> None:
        super().__init__(policy)
        self._policy = policy
        self._past: tuple[tuple[Seen, ...], ...] = ()
        self._present: tuple[Seen, ...] = ()

    def _choose(self, state: Any) -> int:
        return self._policy.choose(History(self._past, self._present, state, self._policy.best_so_far))

    def _remember(self, state: Any, action: int, reward: Fraction, over: bool) -> None:
        self._present = (*self._present, Seen(state, action, reward))
        if over:
            self._past, self._present = (*self._past, self._present), ()


def _total(rollout: tuple[Seen, ...]) -> Fraction:
    return sum((seen.reward for seen in rollout), Fraction(0))


def _callable(choose: Any) -> Any:
    if not callable(choose):
        raise InputError(f"a policy needs a function that chooses, not {checks.shown(choose)}")
    return choose
