"""The problem: a finite Markov decision process whose rollouts are scored by their best return.

An agent has ``K`` tries. Each try is a *rollout* of at most ``H`` steps from a state drawn afresh from the start
distribution ``rho``; a step in state ``s`` with action ``a`` brings an *outcome* ``(p, s', r)``. With ``R_1, ..., R_K``
the returns (sums of rewards) of the rollouts, the value of a policy is ``E[max(R_1, ..., R_K)]``.

:class:`MDP` holds such a problem, checked once and frozen. ``K`` is not a part of it: it is given to the planner.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Ints, Number
from maxatk.problem import files, readers
from maxatk.problem.builder import rows_of
from maxatk.problem.data import ProblemData
from maxatk.problem.explore import MOST_STATES, Explored, States, explored, with_states
from maxatk.problem.rows import Rows, array, canonical, real_column
from maxatk.problem.start import Start

LONGEST_UNIT = 40  # characters

if TYPE_CHECKING:
    from maxatk.problem.analysis import Analysis


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MDP(ProblemData):
    """A finite-horizon decision problem: frozen, checked once, in one canonical form.

    Build one with :meth:`from_arrays`, :meth:`from_table`, :meth:`from_pairs`, :meth:`from_gymnasium` or
    :func:`maxatk.load_mdp`; the constructor itself takes ``maxatk.problem.rows.Rows``, into which they all read.

    Outcomes with equal next state and reward are merged (their probabilities added and rounded once, unless they are
    fractions), impossible ones dropped, the rest sorted, and steps that behave alike share one *layer*. So two
    descriptions of one problem are equal and have one ``fingerprint``, which ignores names and unused action labels. A
    reward that depends on the next state stays a distribution; it is never replaced by its mean.

    The probabilities of a row may sum to 1 within 1e-6, to allow for rounding. The row then stands for its entries
    divided by their exact sum; the stored floats are those given.

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

    def __init__(
        self,
        rows: Rows,
        *,
        start: ArrayLike = 0,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        unit: str = "",
        states: States | None = None,
    ) -> None:
        if not isinstance(rows, Rows):
            raise InputError("an MDP is built by MDP.from_arrays, from_pairs, from_table, from_gymnasium or load_mdp")
        try:
            horizon, columns = checks.horizon(len(rows.step_layer)), canonical(rows)
            reset = Start.of(start, rows.n_states)
            fields: dict[str, Any] = {
                **vars(columns),
                "n_states": rows.n_states,
                "n_actions": rows.n_actions,
                "horizon": horizon,
                "start_state": reset.state,
                "start_prob": reset.prob,
                "exact_start_prob": reset.exact,
                "state_names": _names(state_names, rows.n_states, "state_names"),
                "action_names": _names(action_names, rows.n_actions, "action_names"),
                "unit": _unit(unit),
                "states": states,
            }
        except InputError as error:
            raise InputError(with_states(str(error), states)) from None
        self.__setstate__(fields)

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
                actions first, ``[A, S, S]``: that is refused unless ``S = A``, when the two cannot be told apart. Give
                ``np.moveaxis(P, 0, 1)`` for such an array.)
            R: rewards ``[S, A]`` or, if they depend on the next state, ``[S, A, S]`` or sparse ``[S*A, S]``; per
                step with a leading ``[H]`` or as a list. (If ``H = S = A``, an array of three dimensions is ambiguous:
                it is read per step if and only if ``P`` is given per step.)
            horizon: the number of steps of a rollout, ``H``.
            start: the state every rollout starts in, or a distribution ``[S]`` drawn from at every reset.
            available: which actions each state offers, ``[S, A]`` or ``[H, S, A]`` of booleans; all, by default. Rows
                of other actions are not read.
            terminal: states whose entering ends the rollout: their numbers, or ``[S]`` booleans.
            action_cost: the expected cost of taking an action, 0 or more: ``[S, A]``, ``[H, S, A]`` or one number for
                all. It is not a part of the return, but is subtracted from the best one (:func:`maxatk.solve`).
            state_names: ``S`` names, for people.
            action_names: ``A`` names, for people.

        >>> import maxatk as mk
        >>> P = [[[0.5, 0.5], [1, 0]], [[0, 1], [0, 1]]]
        >>> mk.MDP.from_arrays(P, [[0, 0.25], [1, 1]], horizon=4)
        MDP(2 states, 2 actions, horizon 4, 5 outcomes)
        """
        rows = readers.with_costs(readers.read_arrays(P, R, horizon, available, terminal), action_cost)
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
            R: rewards ``[N]`` or, if they depend on the next state, ``[N, S]``, dense or sparse; per step with a
                leading ``[H]`` or as a list of ``H``.
            Q: probabilities ``[N, S]``, dense or sparse; likewise per step.
            s_indices: the state of each pair, ``[N]``, in any order.
            a_indices: the action of each pair, ``[N]``.
            horizon: the number of steps of a rollout, ``H``.
            start: the state every rollout starts in, or a distribution ``[S]`` drawn from at every reset.
            terminal: states whose entering ends the rollout: their numbers, or ``[S]`` booleans.
            action_cost: the expected cost of each pair, 0 or more: ``[N]``, ``[H, N]`` or one number for all.
            state_names: ``S`` names, for people.
            action_names: ``A`` names, for people.

        >>> import maxatk as mk
        >>> mk.MDP.from_pairs([5, 10, 0], [[0.5, 0.5], [0, 1], [0, 1]], [0, 0, 1], [0, 1, 0], horizon=3)
        MDP(2 states, 2 actions, horizon 3, 4 outcomes)
        """
        rows = readers.read_pairs(R, Q, s_indices, a_indices, horizon, terminal, action_cost)
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
                rollout is over, and the next state is ignored. A state may offer only some actions.
            horizon: the number of steps of a rollout, ``H``.
            start: the state every rollout starts in, or a distribution ``[S]`` drawn from at every reset.
            action_cost: the expected cost of taking an action, 0 or more: ``{s: {a: cost}}``, 0 for pairs that are
                missing; a list of ``H`` of those; arrays ``[S, A]`` or ``[H, S, A]``; or one number for all.
            state_names: ``S`` names, for people.
            action_names: ``A`` names, for people.

        >>> from fractions import Fraction
        >>> import maxatk as mk
        >>> third = Fraction(1, 3)
        >>> mdp = mk.MDP.from_table({0: {0: [(third, 0, 1, True), (1 - third, 0, third, False)]}}, horizon=2)
        >>> mdp.exact_outcomes(step=0, state=0, action=0)[0].reward
        Fraction(1, 3)
        """
        rows = readers.with_costs(readers.read_table(table, horizon), action_cost)
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
        """A problem from a Gymnasium environment that has a table of outcomes, such as those of toy text, or a model.

        Args:
            env: an environment, or the id of one, made with ``make_arguments``.
            horizon: the number of steps of a rollout; by default the environment's own time limit.
            start: as in :meth:`from_table`; by default the environment's own distribution of reset states.
            action_cost: as in :meth:`from_table`.
            make_arguments: further arguments of ``gymnasium.make``.

        It needs the extra ``maxatk[gym]``. The table is that of the unwrapped environment, so wrappers that may change
        observations, actions or rewards are refused, and so are subclasses that override ``step``, or ``reset``
        without ``start``: give their table to :meth:`from_table` if it is right. States that the environment lays out
        on a grid are named by their cells. Some environments without a table can be read as well: those with a
        ``model(state, action)`` such as gym-classics', Blackjack and MiniGrid. Their states are those of
        :func:`maxatk.gym.explore`.

        >>> import maxatk as mk
        >>> mk.MDP.from_gymnasium("FrozenLake-v1", is_slippery=True)
        MDP(16 states, 4 actions, horizon 100, 146 outcomes)
        """
        made = readers.read_environment(env, horizon, start, make_arguments, action_cost=action_cost)
        return cls(made.rows, **made.arguments())

    @classmethod
    def from_log(cls, log: Any) -> "MDP":
        """The problem counted from a log of attempts: one step, an action per arm, all attempts of an arm pooled.

        It warns, with numbers, if attempts at one task share its difficulty: the table ignores that, and overestimates
        the best of several attempts.

        Args:
            log: a :class:`maxatk.attempts.Log`.

        >>> import maxatk as mk
        >>> rows = [{"task": t, "arm": arm, "score": t % n} for t in range(6) for arm, n in (("a", 2), ("b", 3))]
        >>> mk.MDP.from_log(mk.attempts.Log.from_records(rows))
        MDP(1 state, 2 actions, horizon 1, 5 outcomes)
        """
        if not hasattr(log, "pooled_scores"):
            raise InputError(f"log must be a log of attempts, such as mk.attempts.read_log gives, not {shown(log)}")
        scores: dict[str, list[tuple[Fraction, float]]] = log.pooled_scores()
        rows = [[(share, 0, score, True) for share, score in law] for law in scores.values()]
        return cls.from_table([rows], horizon=1, action_names=list(scores))

    @classmethod
    def explore(
        cls,
        start: Any,
        actions: Any,
        outcomes: Callable[[Any, Any], Iterable[Any]],
        *,
        horizon: int,
        action_cost: Callable[[Any, Any], Number] | None = None,
        max_states: int = MOST_STATES,
        progress: bool | Callable[[Explored], None] = False,
    ) -> "MDP":
        """A problem from functions that list the actions of a state and the outcomes of an action.

        States may be any hashable objects. Those that can be reached within the horizon are numbered breadth first:
        ``mdp.states[i]`` is the ``i``-th, and ``mdp.states.index(state)`` is the number of a state.

        Args:
            start: the state that every rollout starts in, or a dict of states and their probabilities.
            actions: a function of a state, which lists the actions there; or one list for all states. Integers are
                the numbers of the actions; other labels are numbered in order of appearance (``mdp.states.actions``).
            outcomes: a function of a state and an action, which lists ``(probability, next_state, reward, done)``;
                fractions are kept exact.
            horizon: the number of steps of a rollout, ``H``.
            action_cost: a function of a state and an action, which returns the expected cost of taking it, 0 or more.
            max_states: the maximal number of states; more raise :class:`maxatk.TooLargeError`.
            progress: a function that is called with the progress, or True for lines on standard error.

        >>> import maxatk as mk
        >>> def roll(score, action):                        # a die: stop, or add up until a 1 takes it all
        ...     if action == "stop":
        ...         return [(1, score, score, True)]
        ...     return [(1 / 6, 0, 0, True)] + [(1 / 6, score + pips, 0, False) for pips in range(2, 7)]
        >>> mdp = mk.MDP.explore(0, ["stop", "roll"], roll, horizon=10)
        >>> mdp
        MDP(54 states, 2 actions, horizon 10, 348 outcomes)
        >>> plan = mk.solve(mdp, k=3)
        >>> cup = mdp.states.index(25)
        >>> last = [plan.policy.action(rollout=2, step=5, state=cup, best=m, so_far=0) for m in (0, 15)]
        >>> [mdp.states.actions[a] for a in last]   # 25 on the last try: enough, unless the best so far is 15
        ['stop', 'roll']
        """
        made = explored(
            *(start, actions, outcomes, horizon), action_cost=action_cost, max_states=max_states, progress=progress
        )
        return cls(made.rows, **made.arguments())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to ``path`` as an ``.npz`` archive without pickle; :func:`maxatk.load_mdp` reads it.

        The file is written atomically: beside ``path``, and then moved there.
        """
        files.write_npz(path, self)

    def with_rewards(self, reward: ArrayLike) -> "MDP":
        """The same problem with another reward for each outcome, in the order of ``mdp.reward``."""
        return self._with(reward=real_column(self._column(reward)))

    def with_action_costs(self, action_cost: ArrayLike) -> "MDP":
        """The same problem with another cost for each row, in the order of ``mdp.action_cost``, or one for all.

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

    def with_unit(self, unit: str) -> "MDP":
        """The same problem with a name for the unit of its returns, which is shown beside numbers.

        Args:
            unit: the unit in the plural, such as "points"; empty for none.

        >>> import maxatk as mk
        >>> mk.instances.figure1().with_unit("points").unit
        'points'
        """
        copy = object.__new__(MDP)
        copy.__setstate__(self.__getstate__() | {"states": self.states, "unit": _unit(unit)})
        return copy

    def _with(self, **columns: Any) -> "MDP":
        """The same problem with other columns."""
        exact = {name: getattr(self, f"exact_{name}") for name in ("prob", "reward", "action_cost")}
        given = {name: np.array(column, object) for name, column in exact.items() if column is not None}
        rows = rows_of(self.n_states, self.n_actions, vars(self) | given)
        start: Any = np.zeros(self.n_states, object if self.exact_start_prob else np.float64)
        start[self.start_state] = self.exact_start_prob or self.start_prob
        changed = dataclasses.replace(rows, **columns)
        names: dict[str, Any] = {name: getattr(self, name) for name in ("state_names", "action_names", "unit")}
        return MDP(changed, start=start, states=self.states, **names)

    def _column(self, reward: ArrayLike) -> NDArray[Any]:
        column = array(reward, "reward")
        if column.shape != self.reward.shape:
            raise InputError(f"reward must have {len(self.reward)} entries, one for each outcome, not {shown(reward)}")
        return column

    # What planners derive from the problem.

    @cached_property
    def analysis(self) -> "Analysis":
        """Results of passes over the problem, each computed once, on demand."""
        from maxatk.problem.analysis import Analysis  # loads the compiler, which is not needed to hold data

        return Analysis(self)

    @property
    def return_range(self) -> tuple[float, float]:
        """The least and the greatest return that a rollout can have: every best return lies between."""
        return self.analysis.return_range

    @property
    def mean_optimal_actions(self) -> Ints:
        """The actions ``[H, S]`` that maximise the mean of one rollout; the first of those equal up to rounding."""
        return self.analysis.mean_optimal_actions


def load_mdp(path: str | PathLike[str]) -> MDP:
    """Read a problem that :meth:`MDP.save` wrote.

    The whole file is validated: a truncated, foreign, newer or hostile one raises :class:`maxatk.InputError`.

    >>> import os, tempfile, maxatk as mk
    >>> mdp = mk.instances.proposition3()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mdp.save(os.path.join(folder, "x.npz"))
    ...     mk.load_mdp(os.path.join(folder, "x.npz")) == mdp
    True
    """
    rows, arguments = files.read_npz(path)
    try:
        return MDP(rows, **arguments)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _unit(unit: str) -> str:
    if not isinstance(unit, str) or len(unit) > LONGEST_UNIT or not (unit.isprintable() and unit == unit.strip()):
        raise InputError(f"unit must be a short name, such as 'points', not {shown(unit)}")
    return unit


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
