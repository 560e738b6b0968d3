"""The problem: a finite Markov decision process whose rollouts are scored by their best return.

An agent has ``K`` tries. Each try is a *rollout* of at most ``H`` steps from a state drawn afresh from the start
distribution ``rho``; a step in state ``s`` with action ``a`` brings an *outcome* ``(p, s', r)``. With ``R_1, ..., R_K``
the returns (sums of rewards) of the rollouts, a policy is worth ``E[max(R_1, ..., R_K)]``.

:class:`MDP` holds such a problem, checked once and frozen. It says nothing of ``K``: that is the planner's.
"""

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Floats, Ints, Ints32
from maxatk.base.workers import Workers
from maxatk.problem import formats
from maxatk.problem.explore import MOST_STATES, Exploration, Explored, States, explored, with_states
from maxatk.problem.rows import SUM_TOLERANCE, Rows, array, canonical, exact_text, floats_and_fractions, real_column
from maxatk.problem.tuning import TUNING


class Outcome(NamedTuple):
    """What one step may bring. ``next_state`` is None where the rollout ends."""

    prob: float  # with which it comes
    next_state: int | None  # None where the rollout ends
    reward: float  # what the step pays


class ExactOutcome(NamedTuple):
    """An :class:`Outcome` in rational arithmetic; the probabilities of a row sum to exactly 1."""

    prob: Fraction  # with which it comes
    next_state: int | None  # None where the rollout ends
    reward: Fraction  # what the step pays


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MDP:
    """A finite-horizon decision problem: frozen, checked once, in one canonical form.

    Build one with :meth:`from_arrays`, :meth:`from_table`, :meth:`from_pairs`, :meth:`from_gymnasium` or
    :func:`maxatk.load_mdp`; the constructor itself takes ``maxatk.problem.rows.Rows``, into which they all read.

    Outcomes with equal next state and reward are merged (their probabilities added and rounded once, unless they are
    fractions), impossible ones dropped, the rest sorted, and steps that behave alike share one *layer*. So one problem
    written in two ways is one problem: equal, with one :attr:`fingerprint`, names and unused action labels aside. A
    reward that depends on the next state stays a distribution; it is never replaced by its mean.

    A row of probabilities may miss 1 by 1e-6, for the sake of rounding. What it means is then its
    entries divided by their exact sum; the stored floats are those given.

    >>> import maxatk as mk
    >>> table = {0: {0: [(0.75, 0, 0.5, True), (0.25, 0, 0.0, True)], 1: [(0.25, 0, 1, True), (0.75, 0, 0, True)]}}
    >>> mdp = mk.MDP.from_table(table, horizon=1)
    >>> mdp
    MDP(1 state, 2 actions, horizon 1, 4 outcomes)
    >>> mdp.outcomes(step=0, state=0, action=0)
    [Outcome(prob=0.25, next_state=None, reward=0.0), Outcome(prob=0.75, next_state=None, reward=0.5)]
    >>> mdp == mk.MDP.from_arrays([[[1.0], [1.0]]], [[0.5, 0.25]], horizon=1)
    False
    """

    n_states: int  # S, the number of states
    n_actions: int  # A, the number of labels; a state offers some or all of them
    horizon: int  # H, the number of steps of a rollout
    step_layer: Ints32  # [H] which layer is in force at each step
    pair_start: Ints  # [L * S + 1] the rows of state s in layer l are pair_start[l * S + s] : pair_start[l * S + s + 1]
    action: Ints32  # [N] the action of each row, rising within a state
    outcome_start: Ints  # [N + 1] the outcomes of row n are outcome_start[n] : outcome_start[n + 1]
    prob: Floats  # [T] positive; each row means its entries divided by their exact sum
    next_state: Ints32  # [T] where each outcome leads; S where the rollout ends
    reward: Floats  # [T] what each outcome pays
    start_state: Ints32  # [B] the support of the reset state's distribution, rising
    start_prob: Floats  # [B] positive; means its entries divided by their exact sum
    exact_prob: tuple[Fraction, ...] | None  # [T] normalised; None where the floats say it all
    exact_reward: tuple[Fraction, ...] | None  # [T] likewise
    exact_start_prob: tuple[Fraction, ...] | None  # [B] likewise
    action_cost: Floats  # [N] what taking each row costs on average; no part of the return
    exact_action_cost: tuple[Fraction, ...] | None  # [N] likewise
    state_names: tuple[str, ...] | None  # [S] for people
    action_names: tuple[str, ...] | None  # [A] for people

    def __init__(
        self,
        rows: Rows,
        *,
        start: ArrayLike = 0,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(rows, Rows):
            raise InputError("an MDP is built by MDP.from_arrays, from_pairs, from_table, from_gymnasium or load_mdp")
        fields: dict[str, Any] = {
            "n_states": rows.n_states,
            "n_actions": rows.n_actions,
            "horizon": checks.horizon(len(rows.step_layer)),
            **vars(canonical(rows)),
            **_start(start, rows.n_states),
            "state_names": _names(state_names, rows.n_states, "state_names"),
            "action_names": _names(action_names, rows.n_actions, "action_names"),
        }
        self.__setstate__(fields)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        """Take these fields and freeze them; what a copy had derived is left behind."""
        for field in dataclasses.fields(self):
            value = fields[field.name]
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, field.name, value)

    # Ways in. Each reads one format; the constructor checks.

    @classmethod
    def from_arrays(
        cls,
        P: Any,
        R: Any,
        *,
        horizon: int,
        start: ArrayLike = 0,
        available: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        action_cost: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> "MDP":
        """A problem from arrays of probabilities and rewards, dense or sparse.

        Args:
            P: probabilities ``[S, A, S]`` or per step ``[H, S, A, S]``; or a SciPy sparse matrix ``[S*A, S]``, row
                ``s*A + a`` for state ``s`` and action ``a``; or a list of ``H`` such matrices. (Other libraries put
                actions first, ``[A, S, S]``: that is refused, but where ``S = A`` nothing tells the two apart, so give
                ``np.moveaxis(P, 0, 1)`` then.)
            R: rewards ``[S, A]`` or, where they depend on the next state, ``[S, A, S]`` or sparse ``[S*A, S]``; per
                step with a leading ``[H]`` or as a list. (Where ``H = S = A`` makes the three dimensions of an array
                ambiguous, it is read per step exactly if ``P`` is given per step.)
            horizon: the number of steps of a rollout, ``H``.
            start: the state every rollout starts in, or a distribution ``[S]`` drawn from at every reset.
            available: which actions each state offers, ``[S, A]`` or ``[H, S, A]`` of booleans; all, by default. Rows
                of other actions are not read.
            terminal: states whose entering ends the rollout: their numbers, or ``[S]`` booleans.
            action_cost: what taking an action costs on average, 0 or more: ``[S, A]``, ``[H, S, A]`` or one number
                for all.
                It is no part of the return, but counts against the best one (:func:`maxatk.solve`).
            state_names: ``S`` names, for people.
            action_names: ``A`` names, for people.

        >>> import maxatk as mk
        >>> P = [[[0.5, 0.5], [1, 0]], [[0, 1], [0, 1]]]
        >>> mk.MDP.from_arrays(P, [[0, 0.25], [1, 1]], horizon=4)
        MDP(2 states, 2 actions, horizon 4, 5 outcomes)
        """
        rows = formats.with_costs(formats.read_arrays(P, R, horizon, available, terminal), action_cost)
        return cls(rows, start=start, state_names=state_names, action_names=action_names)

    @classmethod
    def from_pairs(
        cls,
        R: Any,
        Q: Any,
        s_indices: ArrayLike,
        a_indices: ArrayLike,
        *,
        horizon: int,
        start: ArrayLike = 0,
        terminal: ArrayLike | None = None,
        action_cost: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> "MDP":
        """A problem as a list of ``N`` state-action pairs: QuantEcon's form for action sets that differ by state.

        Args:
            R: rewards ``[N]`` or, where they depend on the next state, ``[N, S]``, dense or sparse; per step with a
                leading ``[H]`` or as a list of ``H``.
            Q: probabilities ``[N, S]``, dense or sparse; likewise per step.
            s_indices: the state of each pair, ``[N]``, in any order.
            a_indices: the action of each pair, ``[N]``.
            horizon: the number of steps of a rollout, ``H``.
            start: the state every rollout starts in, or a distribution ``[S]`` drawn from at every reset.
            terminal: states whose entering ends the rollout: their numbers, or ``[S]`` booleans.
            action_cost: what each pair costs on average, 0 or more: ``[N]``, ``[H, N]`` or one number
                for all.
            state_names: ``S`` names, for people.
            action_names: ``A`` names, for people.

        >>> import maxatk as mk
        >>> mk.MDP.from_pairs([5, 10, 0], [[0.5, 0.5], [0, 1], [0, 1]], [0, 0, 1], [0, 1, 0], horizon=3)
        MDP(2 states, 2 actions, horizon 3, 4 outcomes)
        """
        rows = formats.read_pairs(R, Q, s_indices, a_indices, horizon, terminal, action_cost)
        return cls(rows, start=start, state_names=state_names, action_names=action_names)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        horizon: int,
        start: ArrayLike = 0,
        action_cost: Any = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> "MDP":
        """A problem from Gymnasium's form of table; fractions in it are kept exact.

        Args:
            table: ``table[s][a]`` is a list of outcomes ``(probability, next_state, reward, terminated)``, with dicts
                or lists for ``table`` and ``table[s]``; or a list of ``H`` such tables. After ``terminated`` the
                rollout is over, whatever the next state. A state may offer only some actions.
            horizon: the number of steps of a rollout, ``H``.
            start: the state every rollout starts in, or a distribution ``[S]`` drawn from at every reset.
            action_cost: what taking an action costs on average, 0 or more: ``{s: {a: cost}}``, where what is not named
                costs nothing; a list of ``H`` of those; arrays ``[S, A]`` or ``[H, S, A]``; or one number
                for all.
            state_names: ``S`` names, for people.
            action_names: ``A`` names, for people.

        >>> from fractions import Fraction
        >>> import maxatk as mk
        >>> third = Fraction(1, 3)
        >>> mdp = mk.MDP.from_table({0: {0: [(third, 0, 1, True), (1 - third, 0, third, False)]}}, horizon=2)
        >>> mdp.exact_outcomes(step=0, state=0, action=0)[0].reward
        Fraction(1, 3)
        """
        rows = formats.with_costs(formats.read_table(table, horizon), action_cost)
        return cls(rows, start=start, state_names=state_names, action_names=action_names)

    @classmethod
    def from_gymnasium(
        cls,
        env: Any,
        *,
        horizon: int | None = None,
        start: ArrayLike | None = None,
        action_cost: Any = None,
        **make_arguments: Any,
    ) -> "MDP":
        """A problem from a Gymnasium environment that carries its table, such as those of toy text, or can be asked.

        Args:
            env: an environment, or the id of one, made with ``make_arguments``.
            horizon: the number of steps of a rollout; by default the environment's own time limit.
            start: as in :meth:`from_table`; by default the environment's own distribution of reset states.
            action_cost: as in :meth:`from_table`.
            make_arguments: what ``gymnasium.make`` is to be given beside the id.

        Needs the extra ``maxatk[gym]``. The table is that of the unwrapped environment, so wrappers that may change
        what is observed, done or rewarded are refused, and so are subclasses that override ``step``, or ``reset``
        without ``start``: give their table to :meth:`from_table` if it is right. States that the environment lays out
        on a grid are named by their cells. Environments without a table are asked for one where they can be: those with
        a ``model(state, action)`` as gym-classics has, Blackjack, MiniGrid. Their states are those of
        :func:`maxatk.gym.explore`.

        >>> import maxatk as mk
        >>> mk.MDP.from_gymnasium("FrozenLake-v1", is_slippery=True)
        MDP(16 states, 4 actions, horizon 100, 146 outcomes)
        """
        return explore_gymnasium(
            env, horizon=horizon, start=start, action_cost=action_cost, make_arguments=make_arguments
        )[0]

    @classmethod
    def explore(
        cls,
        start: Any,
        actions: Any,
        outcomes: Callable[[Any, Any], Iterable[Any]],
        *,
        horizon: int,
        max_states: int = MOST_STATES,
        progress: bool | Callable[[Explored], None] = False,
    ) -> "tuple[MDP, States]":
        """A problem from functions that say what can be done and what may come of it, and its states by number.

        States may be anything that can be hashed. Those that can be reached within the horizon are numbered as they are
        met, breadth first; ``states[i]`` is the ``i``-th, ``states.index(state)`` the number of one.

        Args:
            start: the state that every rollout starts in, or a dict of states and their probabilities.
            actions: a function of a state, which lists what can be done there; or one list for all. Whole numbers are
                the numbers of the actions; other labels are numbered as they are met (``states.actions``).
            outcomes: a function of a state and an action, which lists ``(probability, next_state, reward, done)``;
                fractions are kept exact.
            horizon: the number of steps of a rollout, ``H``.
            max_states: how many states there may be; :class:`maxatk.TooLargeError` where there are more.
            progress: a function that is told where the exploration stands, or True for lines on standard error.

        >>> import maxatk as mk
        >>> def roll(score, action):                        # a die: stop, or add up until a 1 takes it all
        ...     if action == "stop":
        ...         return [(1, score, score, True)]
        ...     return [(1 / 6, 0, 0, True)] + [(1 / 6, score + pips, 0, False) for pips in range(2, 7)]
        >>> mdp, states = mk.MDP.explore(0, ["stop", "roll"], roll, horizon=10)
        >>> mdp
        MDP(54 states, 2 actions, horizon 10, 348 outcomes)
        >>> plan = mk.solve(mdp, k=3)
        >>> last = [plan.policy.action(rollout=2, step=5, state=states.index(25), best=m, so_far=0) for m in (0, 15)]
        >>> [states.actions[a] for a in last]       # 25 in the cup on the last try: enough, but not with 15 in hand
        ['stop', 'roll']
        """
        found = explored(start, actions, outcomes, horizon, max_states=max_states, progress=progress)
        return explored_problem(found), found.states

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to ``path`` as an ``.npz`` archive without pickle; :func:`maxatk.load_mdp` reads it.

        The file is whole or not there: it is written beside ``path`` and then moved.
        """
        formats.write_npz(path, self)

    def with_rewards(self, reward: ArrayLike) -> "MDP":
        """The same problem with another reward for each outcome, in the order of :attr:`reward`."""
        return self._with(reward=real_column(self._column(reward)))

    def with_action_costs(self, action_cost: ArrayLike) -> "MDP":
        """The same problem with another cost for each row, in the order of :attr:`action_cost`; or one number
                for all.

        >>> import maxatk as mk
        >>> mk.instances.figure1().with_action_costs(0.1).action_cost.tolist()
        [0.1, 0.1]
        """
        if isinstance(action_cost, Fraction):
            given = np.array(action_cost, object)
        else:
            given = real_column(array(action_cost, "action_cost"))
        column = np.repeat(given.reshape(1), len(self.action_cost)) if given.ndim == 0 else given.ravel()
        return self._with(action_cost=column)

    def _with(self, **columns: Any) -> "MDP":
        """The same problem with other columns."""
        node = np.repeat(np.arange(len(self.pair_start) - 1), np.diff(self.pair_start))
        layer, state = np.divmod(node, self.n_states)
        ends = self.next_state == self.n_states
        rows = Rows(
            n_states=self.n_states,
            n_actions=self.n_actions,
            step_layer=self.step_layer.astype(np.int64),
            layer=layer,
            state=state,
            action=self.action.astype(np.int64),
            start=self.outcome_start,
            prob=self.prob if self.exact_prob is None else np.array(self.exact_prob, object),
            next_state=np.where(ends, 0, self.next_state).astype(np.int64),
            reward=self.reward if self.exact_reward is None else np.array(self.exact_reward, object),
            ends=ends,
            action_cost=self.action_cost
            if self.exact_action_cost is None
            else np.array(self.exact_action_cost, object),
        )
        start: Any = np.zeros(self.n_states, object if self.exact_start_prob else np.float64)
        start[self.start_state] = self.exact_start_prob or self.start_prob
        changed = dataclasses.replace(rows, **columns)
        return MDP(changed, start=start, state_names=self.state_names, action_names=self.action_names)

    def _column(self, reward: ArrayLike) -> NDArray[Any]:
        column = array(reward, "reward")
        if column.shape != self.reward.shape:
            raise InputError(f"reward must have {len(self.reward)} entries, one for each outcome, not {shown(reward)}")
        return column

    # What is in it.

    @property
    def n_layers(self) -> int:
        """``L``: how many different steps there are; 1 where all steps behave alike."""
        return (len(self.pair_start) - 1) // self.n_states

    @property
    def homogeneous(self) -> bool:
        """Whether all steps behave alike."""
        return self.n_layers == 1

    def actions(self, step: int, state: int) -> list[int]:
        """The actions that ``state`` offers at ``step``."""
        first, last = self._rows_of(step, state)
        return self.action[first:last].tolist()

    def outcomes(self, step: int, state: int, action: int) -> list[Outcome]:
        """What ``action`` may bring in ``state`` at ``step``, sorted by next state and reward, the end last."""
        span = self._outcomes_of(step, state, action)
        return [
            Outcome(float(p), self._target(s), float(r))
            for p, s, r in zip(self.row_prob[span], self.next_state[span], self.reward[span], strict=True)
        ]

    def exact_outcomes(self, step: int, state: int, action: int) -> list[ExactOutcome]:
        """:meth:`outcomes` in rational arithmetic: fractions as given, floats at their exact binary values.

        Args:
            step: the step, from 0.
            state: the state.
            action: an action that it offers.
        """
        span = self._outcomes_of(step, state, action)
        prob = self.exact_prob[span] if self.exact_prob else _normalised(self.prob[span])
        reward = self.exact_rewards_of(step, state, action)
        return [
            ExactOutcome(p, self._target(s), r) for p, s, r in zip(prob, self.next_state[span], reward, strict=True)
        ]

    def exact_rewards_of(self, step: int, state: int, action: int) -> Sequence[Fraction]:
        """What each of :meth:`outcomes` pays, exactly: fractions as given, floats at their exact binary values.

        Args:
            step: the step, from 0.
            state: the state.
            action: an action that it offers.
        """
        span = self._outcomes_of(step, state, action)
        return self.exact_reward[span] if self.exact_reward else [Fraction(r) for r in self.reward[span].tolist()]

    def exact_action_cost_of(self, step: int, state: int, action: int) -> Fraction:
        """What taking ``action`` in ``state`` at ``step`` costs on average."""
        row = self._row(step, state, action)
        return self.exact_action_cost[row] if self.exact_action_cost else Fraction(float(self.action_cost[row]))

    @cached_property
    def has_costs(self) -> bool:
        """Whether any row costs anything."""
        return bool(self.action_cost.any())

    def exact_start(self) -> list[tuple[Fraction, int]]:
        """The distribution of the reset state, as pairs of probability and state; they sum to exactly 1."""
        return list(zip(self.exact_start_prob or _normalised(self.start_prob), self.start_state.tolist(), strict=True))

    # What planners derive from it: computed on demand, once.

    def step(self, h: int) -> "Step":
        """The rows in force at step ``h``."""
        node = int(self.step_layer[h]) * self.n_states
        return Step(self, self.pair_start[node : node + self.n_states + 1])

    @cached_property
    def row_prob(self) -> Floats:
        """``[T]`` :attr:`prob` with every row divided by its sum, in floats."""
        sums = np.add.reduceat(self.prob, self.outcome_start[:-1])
        return self.prob / np.repeat(sums, np.diff(self.outcome_start))

    @cached_property
    def reset_prob(self) -> Floats:
        """``[B]`` :attr:`start_prob` divided by its sum, in floats."""
        return self.start_prob / self.start_prob.sum()

    @cached_property
    def least(self) -> Floats:
        """``[H + 1, S]`` the least return still reachable from each step and state, with positive probability.

        Never above the true number: where a sum is not a float, it is rounded down (and :attr:`most` up).
        """
        least = 0.0 - self._most_ahead(-1)  # no negative zeros
        least.flags.writeable = False
        return least

    @cached_property
    def most(self) -> Floats:
        """``[H + 1, S]`` the greatest return still reachable from each step and state, with positive probability."""
        most = self._most_ahead(1)
        most.flags.writeable = False
        return most

    @property
    def return_range(self) -> tuple[float, float]:
        """The least and the greatest return that a rollout can have: every best return lies between."""
        return float(self.least[0, self.start_state].min()), float(self.most[0, self.start_state].max())

    @cached_property
    def mean_optimal(self) -> tuple[Ints32, float]:
        """The rows ``[H, S]`` that maximise the mean return of one rollout, less what its rows cost; and that mean."""
        return self._mean_optimal(0.0)

    def _mean_optimal(self, noise: float) -> tuple[Ints32, float]:
        rows = np.empty((self.horizon, self.n_states), np.int32)
        values, errors = np.zeros((2, self.n_states + 1)), np.zeros((2, self.n_states + 1))
        self._pass_back(
            *(kernels.best_means, kernels.best_means_layer, self.step_layer, self.pair_start, self.outcome_start),
            *(self.row_prob, self.next_state, self.reward, self.action_cost, noise, values, errors, rows),
        )
        return rows, float(values[0, self.start_state] @ self.reset_prob)

    @cached_property
    def mean_optimal_actions(self) -> Ints:
        """The actions ``[H, S]`` that maximise the mean of one rollout; of equals, but for rounding, the first."""
        rows, _ = self._mean_optimal(2.0**-45)
        return self.action[rows].astype(np.int64)

    @cached_property
    def least_costs(self) -> tuple[Floats, Ints32]:
        """The least expected cost of finishing from each step and state ``[H + 1, S]``, and the rows that have it
        ``[H, S]``, counted from each state's first."""
        return self._costs_ahead(self.action_cost)

    @cached_property
    def greatest_costs(self) -> Floats:
        """The greatest expected cost of finishing from each step and state, ``[H + 1, S]``."""
        return 0.0 - self._costs_ahead(-self.action_cost)[0]

    def _costs_ahead(self, cost: Floats) -> tuple[Floats, Ints32]:
        return stopping.run(
            *(kernels.least_costs, self.step_layer, self.pair_start, self.outcome_start),
            *(self.row_prob, self.next_state, cost),
        )

    def _most_ahead(self, sign: int) -> Floats:
        """The most that rewards times ``sign`` can still add up to, rounded up, [H + 1, S]."""
        shape = (self.horizon + 1, self.n_states)
        checks.fits_in_memory(8 * math.prod(shape), f"a table of {self.horizon} steps and {self.n_states} states")
        reward = sign * self.reward
        if self.exact_reward is not None:  # the floats are the nearest; bounds must hold for the fractions
            short = [sign * q > r for q, r in zip(self.exact_reward, reward.tolist(), strict=True)]
            reward = np.where(short, np.nextafter(reward, np.inf), reward)
        most = np.zeros(shape)
        self._pass_back(
            *(kernels.most_ahead, kernels.most_ahead_layer, self.step_layer, self.pair_start, self.outcome_start),
            *(self.next_state, reward, most),
        )
        return most

    def _pass_back(self, every: Any, one: Any, *arguments: Any) -> None:
        """Run a kernel over all steps from the last to the first; where layers are large, on all cores."""
        if len(self.prob) < TUNING.large_problem_layer * self.n_layers:
            stopping.run(every, *arguments)
            return
        with Workers() as workers:
            cuts = [i * self.n_states // (2 * workers.threads) for i in range(2 * workers.threads + 1)]
            parts = len(cuts) - 1
            fixed = [[x] * parts for x in (*arguments, stopping.current().flag)]
            for h in range(self.horizon - 1, -1, -1):
                workers.map(one, [h] * parts, cuts[:-1], cuts[1:], *fixed)

    def _rows_of(self, step: int, state: int) -> tuple[int, int]:
        step = checks.integer(step, "step", most=self.horizon - 1)
        state = checks.integer(state, "state", most=self.n_states - 1)
        first, last = self.step(step).first_row[state : state + 2].tolist()
        return first, last

    def _outcomes_of(self, step: int, state: int, action: int) -> slice:
        row = self._row(step, state, action)
        return slice(int(self.outcome_start[row]), int(self.outcome_start[row + 1]))

    def _row(self, step: int, state: int, action: int) -> int:
        first, last = self._rows_of(step, state)
        action = checks.integer(action, "action")
        row = first + int(np.searchsorted(self.action[first:last], action))
        if row == last or self.action[row] != action:
            raise InputError(f"state {state} does not offer action {shown(action)} at step {step}")
        return row

    def _target(self, next_state: int) -> int | None:
        return None if next_state == self.n_states else int(next_state)

    # Identity and looks.

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the problem: the same for the same problem however it was built, names aside."""
        digest = hashlib.sha256(f"maxatk problem 1: {self.n_states} states, {self.horizon} steps".encode())
        for part in (
            *(self.step_layer, self.pair_start, self.action, self.outcome_start),
            *(self.prob, self.next_state, self.reward, self.start_state, self.start_prob),
        ):
            digest.update(f"; {part.dtype.str} {part.size}: ".encode())
            digest.update(part.data)
        for exact in (self.exact_prob, self.exact_reward, self.exact_start_prob):
            digest.update(f"; {exact_text(exact or ())}".encode())
        if self.has_costs:  # a problem without costs is the one it was before there were any
            digest.update(f"; cost {self.action_cost.size}: ".encode())
            digest.update(self.action_cost.data)
            digest.update(f"; {exact_text(self.exact_action_cost or ())}".encode())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MDP) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        def count(n: int, noun: str) -> str:
            return f"{n} {noun}" if n == 1 else f"{n} {noun}s"

        sizes = [count(self.n_states, "state"), count(self.n_actions, "action"), f"horizon {self.horizon}"]
        if not self.homogeneous:
            sizes.append(f"{self.n_layers} different steps")
        sizes.append(count(len(self.prob), "outcome"))
        return f"MDP({', '.join(sizes)}{', with costs' if self.has_costs else ''})"


@dataclass(frozen=True)
class Step:
    """The rows in force at one step of a problem.

    >>> import maxatk as mk
    >>> step = mk.instances.figure1().step(0)
    >>> step.rows, step.first_row.tolist()  # one state with two actions
    (slice(0, 2, None), [0, 2])
    """

    mdp: MDP
    first_row: Ints  # [S + 1] the rows of state s are first_row[s] : first_row[s + 1]

    @property
    def rows(self) -> slice:
        """All of them."""
        return slice(int(self.first_row[0]), int(self.first_row[-1]))

    @property
    def first_outcome(self) -> Ints:
        """``[S + 1]`` the outcomes of state s, whatever is done, are ``first_outcome[s] : first_outcome[s + 1]``."""
        return self.mdp.outcome_start[self.first_row]

    def row_of(self, state: Ints, action: Ints) -> Ints:
        """The row of each state's action [n], or -1 where the state does not offer it."""
        return kernels.rows_of_actions(self.first_row, self.mdp.action, state, action)


def load_mdp(path: str | PathLike[str]) -> MDP:
    """Read a problem that :meth:`MDP.save` wrote.

    Nothing in the file is trusted: a truncated, foreign, newer or hostile one gets a :class:`maxatk.InputError`.

    >>> import os, tempfile, maxatk as mk
    >>> mdp = mk.instances.proposition3()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mdp.save(os.path.join(folder, "x.npz"))
    ...     mk.load_mdp(os.path.join(folder, "x.npz")) == mdp
    True
    """
    rows, arguments = formats.read_npz(path)
    try:
        return MDP(rows, **arguments)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def start_distribution(start: Any, n_states: int) -> tuple[Ints32, Floats]:
    """The support [B] and the probabilities [B] of a start: a state, or a distribution over ``n_states``."""
    fields = _start(start, n_states)
    return fields["start_state"], fields["start_prob"]


def _start(start: Any, n_states: int) -> dict[str, Any]:
    """The fields of the start distribution: support, probabilities, and these exactly where floats fall short."""
    given = array(start, "start")
    if given.ndim == 0:
        state = checks.integer(given.item(), "start", most=n_states - 1)
        return {
            "start_state": np.array([state], np.int32),
            "start_prob": np.ones(1),
            "exact_start_prob": None,
        }
    if given.shape != (n_states,):
        raise InputError(f"start has shape {given.shape}: expected a state or a distribution over {n_states} states")
    prob = real_column(given)
    if prob.dtype == object:
        prob = np.array([checks.exact_number(p, f"start[{s}]") for s, p in enumerate(prob)], object)
    wrong = ~((prob >= 0) & (prob <= 1 + SUM_TOLERANCE))
    if wrong.any():
        s = int(np.argmax(wrong))
        raise InputError(f"start[{s}]: probability {shown(given[s])} is not between 0 and 1")
    total = prob.sum()
    if abs(total - 1) > SUM_TOLERANCE:
        raise InputError(f"start: probabilities sum to {float(total):.10g}")
    support = np.flatnonzero(prob > 0)
    prob, exact = prob[support], None
    if prob.dtype == object:
        prob, exact = floats_and_fractions(prob, np.array([0, len(support)]))
        if not prob.all():
            raise InputError(f"start[{support[np.argmin(prob)]}]: the probability is below any float")
    floats = prob if len(support) > 1 else np.ones(1)  # a single state is certain
    return {"start_state": support.astype(np.int32), "start_prob": floats, "exact_start_prob": exact}


def _normalised(prob: Floats) -> tuple[Fraction, ...]:
    """Floats, taken at their exact values, divided by their exact sum."""
    exact = [Fraction(p) for p in prob.tolist()]
    total = sum(exact)
    return tuple(p / total for p in exact)


def _names(names: Sequence[str] | None, size: int, what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    names = names.tolist() if isinstance(names, np.ndarray) else names
    if isinstance(names, str | Mapping) or not isinstance(names, Sequence):
        raise InputError(f"{what} must be a list of {size} strings, not {shown(names)}")
    if len(names) != size:
        raise InputError(f"{what} has {len(names)} entries: expected {size}")
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise InputError(f"{what}[{i}] must be a string, not {shown(name)}")
    return tuple(names)


def explore_gymnasium(
    env: Any,
    *,
    horizon: int | None,
    start: ArrayLike | None = None,
    action_cost: Any = None,
    key: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    max_states: int = MOST_STATES,
    progress: bool | Callable[[Explored], None] = False,
    make_arguments: Mapping[str, Any],
) -> tuple[MDP, States]:
    """The problem of an environment and its states; :func:`maxatk.gym.explore` says what the arguments are."""
    found, arguments = formats.read_gymnasium(env, horizon, start, dict(make_arguments), key, seed)
    if not isinstance(found, formats.Simulator):
        mdp = MDP.from_table(found, action_cost=action_cost, **arguments)
        return mdp, States({s: s for s in range(mdp.n_states)}, range(mdp.n_actions))
    if action_cost is not None:
        raise InputError(
            "action_cost= is for environments with a table; MDP.with_action_costs sets those of one that is explored"
        )
    exploration = explored(
        *(found.start, found.actions, found.outcomes, arguments["horizon"]),
        max_states=max_states,
        progress=progress,
        paid_at=found.paid_at,
    )
    exploration.states.key = found.key
    return explored_problem(exploration), exploration.states


def explored_problem(found: Exploration) -> MDP:
    """The problem that was found; its states are named as the simulator shows them."""
    names = [shown(state) for state in found.states]
    try:
        return MDP(found.rows, start=found.start, state_names=names, action_names=found.action_names)
    except InputError as error:
        raise InputError(with_states(str(error), found.states)) from None
