"""Generative models: simulators that can be asked what any action in any state may bring.

A :class:`Model` is anything with a few attributes and :meth:`Model.sample`. :class:`CheckedModel` is the one gate
through which learners speak to it: past it, sizes, rewards and samples can be relied on.
"""

import hashlib
import math
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.returns import floats_around
from maxatk.base.types import Floats, Ints
from maxatk.laws.sampling import RowSampler
from maxatk.problem import readers
from maxatk.problem.mdp import MDP
from maxatk.problem.rows import LEAST_SIZE, array, offsets
from maxatk.problem.start import Start


@runtime_checkable
class Model(Protocol):
    """What a simulator must offer to be learned from; ``start`` is a state or a distribution over them.

    It may offer more, each with the default that the paper takes for granted:

    * ``reward_range = (0, 1)``: bounds on a single reward.
    * ``rewards``: where rewards depend on state and action alone and are known, ``[S, A]`` or per step ``[H, S, A]``;
      those sampled are then not looked at. Otherwise they are observed, and may depend on chance.
    * ``actions(step, state)``: the actions of a state; all ``n_actions`` by default.
    * ``can_terminate = True``: whether rollouts may end before the horizon.
    * ``max_outcomes``: a bound on the number of different outcomes (next state and reward) of a row; by default one for
      each next state and one for the end. Only :class:`maxatk.Uniform` needs it.
    """

    n_states: int  # S
    n_actions: int  # A
    horizon: int  # H, the number of steps of a rollout
    start: Any  # the state that rollouts start in, or a distribution over states [S]
    homogeneous: bool  # whether all steps behave alike

    def sample(self, step: int, state: int, action: int, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Independent outcomes of one row: next states [n] and rewards [n]. Next state ``n_states`` ends the rollout.

        Args:
            step: the step, from 0; it does not matter where all steps behave alike.
            state: the state to step from.
            action: the action to take.
            n: how many outcomes.
            rng: what to draw from.
        """
        ...


class Tabular:
    """A table that learners can only sample."""

    def __init__(self, mdp: MDP) -> None:
        if not isinstance(mdp, MDP):
            raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
        if mdp.has_costs:
            raise InputError("learners know of no costs: plan a problem whose rows cost something, or learn it without")
        self._mdp, self._sampler = mdp, RowSampler(mdp)
        self._start = np.zeros(mdp.n_states)
        self._start[mdp.start_state] = mdp.start_prob
        rewards = mdp.exact_reward or tuple(map(Fraction, (mdp.reward.min().item(), mdp.reward.max().item())))
        self._reward_range = floats_around(min(rewards))[0], floats_around(max(rewards))[1]
        self._can_terminate = bool((mdp.next_state == mdp.n_states).any())
        self._most_outcomes = int(np.diff(mdp.outcome_start).max())

    @property
    def fingerprint(self) -> str:
        """Which table it is: learners look at it no further, but what was learned says where."""
        return self._mdp.fingerprint

    def actions(self, step: int, state: int) -> list[int]:
        """The actions that ``state`` offers at ``step``."""
        return self._mdp.actions(step, state)


class TabularModel(Tabular):
    """A generative model that hides a table.

    Args:
        mdp: the problem to sample from.
        known_rewards: whether the learner is told the rewards, as in the paper; they must then depend on state and
            action alone.

    >>> import numpy as np
    >>> import maxatk as mk
    >>> model = mk.TabularModel(mk.instances.figure1(gamma=0.25))
    >>> next_states, rewards = model.sample(step=0, state=0, action=1, n=5, rng=np.random.default_rng(0))
    >>> next_states, rewards             # state 1 does not exist: every outcome ends the rollout
    (array([1, 1, 1, 1, 1]), array([0., 0., 0., 0., 1.]))
    """

    def __init__(self, mdp: MDP, *, known_rewards: bool = False) -> None:
        super().__init__(mdp)
        self.n_states, self.n_actions, self.horizon = mdp.n_states, mdp.n_actions, mdp.horizon
        self.homogeneous, self.can_terminate = mdp.homogeneous, self._can_terminate
        self.start, self.reward_range = self._start, self._reward_range
        self.max_outcomes = max(mdp.n_states + self.can_terminate, self._most_outcomes)
        self.rewards = _row_rewards(mdp) if known_rewards else None

    def sample(self, step: int, state: int, action: int, n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """``n`` independent outcomes of the row of ``step``, ``state`` and ``action``, drawn from ``rng``."""
        drawn = self._sampler.several(self._sampler.row(step, state, action), n, rng)
        return self._mdp.next_state[drawn].astype(np.int64), self._mdp.reward[drawn]


def _row_rewards(mdp: MDP) -> Floats:
    """``[L or H, S, A]`` the reward of each row, which must have only one."""
    rewards = np.zeros((1 if mdp.homogeneous else mdp.horizon, mdp.n_states, mdp.n_actions))
    for h in range(len(rewards)):
        for s in range(mdp.n_states):
            for a in mdp.actions(h, s):
                different = {o.reward for o in mdp.outcomes(h, s, a)}
                if len(different) > 1:
                    row = f"row (state {s}, action {a}, step {h})"
                    raise InputError(f"{row}: known_rewards needs one reward, but it has {len(different)}")
                (rewards[h, s, a],) = different
    return rewards[0] if mdp.homogeneous else rewards


class GymnasiumModel:
    """A Gymnasium environment as a generative model, where its state can be set: toy text, by ``env.unwrapped.s``.

    Args:
        env: an environment or its id; ``make_arguments`` are those of ``gymnasium.make``.
        reward_range: bounds on a single reward.
        horizon: the number of steps of a rollout; by default the environment's own time limit.
        start: the reset state or its distribution; by default the environment's own.

    >>> import maxatk as mk
    >>> model = mk.GymnasiumModel("FrozenLake-v1", horizon=8)
    >>> model.n_states, model.n_actions
    (16, 4)
    """

    homogeneous = True

    def __init__(
        self,
        env: Any,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: int | None = None,
        start: Any = None,
        **make_arguments: Any,
    ) -> None:
        made, inner, name = readers.open_gymnasium(env, make_arguments)
        for space, what in ((inner.observation_space, "states"), (inner.action_space, "actions")):
            if not hasattr(space, "n"):
                raise InputError(f"{name} has no finite number of {what}, so it cannot be sampled state by state")
        made.reset(seed=0)  # some have no state before
        if not hasattr(inner, "s"):
            raise InputError(f"{name} has no state that can be set (no attribute s), so it cannot be asked about any")
        self.n_states, self.n_actions = int(inner.observation_space.n), int(inner.action_space.n)
        self.horizon = readers.gymnasium_horizon(made, name, horizon)
        self.start = readers.gymnasium_start(inner, name, start)
        self.reward_range = reward_range
        self._env, self._name = inner, name

    def sample(self, step: int, state: int, action: int, n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """``n`` steps of the environment from ``state`` with ``action``, drawn from ``rng``, whatever the ``step``."""
        env = self._env
        env.np_random = rng
        next_states, rewards = np.empty(n, np.int64), np.empty(n)
        for i in range(n):
            env.s = state
            try:
                next_state, rewards[i], over, _, _ = env.step(action)
            except Exception as error:  # an environment may raise anything
                said = " ".join(str(error).split())
                raise InputError(
                    f"{self._name} cannot step from state {state} with action {action}: {type(error).__name__}: {said}"
                ) from None
            next_states[i] = self.n_states if over else next_state
        return next_states, rewards


class Checked:
    """What learners know of a problem before they sample it: sizes, ranges, the start, and its rows in order.

    Rows are numbered in order of layer, state and action.

    Args:
        given: an object with attributes that were written by a user.
        what: how messages call it, as an owner: ``"model's"``.
        offered: the function that gives the actions of a step and a state; all of them by default.
    """

    def __init__(self, given: Any, what: str, offered: Any) -> None:
        self._given, self._what = given, what
        self.n_states = checks.integer(given.n_states, f"the {what} n_states", least=1)
        self.n_actions = checks.integer(given.n_actions, f"the {what} n_actions", least=1)
        self.horizon = checks.horizon(given.horizon)
        alike, can_terminate = given.homogeneous, getattr(given, "can_terminate", True)
        for name, value in (("homogeneous", alike), ("can_terminate", can_terminate)):
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"the {what} {name} must be true or false, not {shown(value)}")
        self.n_layers = 1 if alike else self.horizon
        self.step_layer: Ints = np.zeros(self.horizon, np.int64) if alike else np.arange(self.horizon)  # [H]
        self.can_terminate = bool(can_terminate)
        self.least_reward, self.most_reward = self._reward_range()
        self.return_range = self._natural_returns()  # bounds on the return of a rollout
        self.best_so_far: Fraction | float = -math.inf
        self.rewards: Floats | None = None  # [N] the reward of each row, where it is known
        self.start: tuple[Ints, Floats] | None = None  # states and their probabilities, where they are known
        self._number_rows(offered)

    def _pair(self, given: Any, name: str) -> tuple[float, float]:
        """A range that was given."""
        if not checks.is_list(given) or len(given) != 2:
            raise InputError(f"the {self._what} {name} must be a pair (least, most), not {shown(given)}")
        least, most = (float(checks.exact_number(x, f"{name}[{i}]")) for i, x in enumerate(given))
        if least > most:
            raise InputError(f"the {self._what} {name} {shown(tuple(given))} has its least above its most")
        return least, most

    def _reward_range(self) -> tuple[float, float]:
        given: Any = getattr(self._given, "reward_range", (0.0, 1.0))
        least, most = self._pair(given, "reward_range")
        size = max(abs(least), abs(most))
        if size > 1e280 / self.horizon:
            raise InputError(f"reward_range {shown(tuple(given))} over {self.horizon} steps is too large for floats")
        if 0 < size < LEAST_SIZE:
            raise InputError(
                f"reward_range {shown(tuple(given))} is below {LEAST_SIZE:g} in size: scale the rewards up"
            )
        return least, most

    def _number_rows(self, offered: Any) -> None:
        """``layer``, ``state`` and ``action`` of every row, and where those of a state start."""
        checks.fits_in_memory(24 * self.n_layers * self.n_states * self.n_actions, "the table of all rows")
        nodes = self.n_layers * self.n_states
        if offered is None:  # all of them, everywhere
            counts, self.action = np.full(nodes, self.n_actions), np.tile(np.arange(self.n_actions), nodes)
        else:
            actions = [self._offered(offered, *divmod(node, self.n_states)) for node in range(nodes)]
            counts, self.action = np.array([len(a) for a in actions]), np.concatenate(actions)  # [N]
        self.pair_start: Ints = offsets(counts)  # [L * S + 1]
        self.layer, self.state = np.divmod(np.repeat(np.arange(len(counts)), counts), self.n_states)  # [N] each

    def _offered(self, offered: Any, layer: int, state: int) -> Ints:
        """The actions of a state."""
        name = f"an action of state {state} at step {layer}"
        distinct = sorted({checks.integer(a, name, most=self.n_actions - 1) for a in offered(layer, state)})
        if not distinct:
            raise InputError(f"state {state} has no actions at step {layer}")
        return np.array(distinct)

    @property
    def n_rows(self) -> int:
        """``N``: how many rows there are to learn."""
        return len(self.action)

    @property
    def step_rows(self) -> int:
        """How many pairs of a step and one of its rows there are."""
        return self.n_rows * (self.horizon // self.n_layers)

    def row_at(self, step: int, state: int, action: int) -> int:
        """The number of a row."""
        node = int(self.step_layer[step]) * self.n_states + state
        first, last = self.pair_start[node], self.pair_start[node + 1]
        return int(first + np.searchsorted(self.action[first:last], action))

    def _check_rewards(self, rewards: Floats, rows: Ints) -> None:
        """Refuse rewards [n] of ``rows`` [n] that are not in the range."""
        inside = (rewards >= self.least_reward) & (rewards <= self.most_reward)  # false for NaN, too
        if not inside.all():
            n = int(np.argmin(inside))
            raise InputError(
                f"{self.name(int(rows[n]))}: reward {rewards[n]:g} is outside the {self._what} reward_range "
                f"({self.least_reward:g}, {self.most_reward:g})"
            )

    def name(self, row: int) -> str:
        """How messages call a row."""
        return f"row (state {self.state[row]}, action {self.action[row]}, step {self.layer[row]})"

    # What is known of returns before anything is sampled.

    def _natural_returns(self) -> tuple[float, float]:
        """Bounds on the return of a rollout of 1 to ``horizon`` steps, or just ``horizon`` where none may end early."""
        lengths = (1, self.horizon) if self.can_terminate else (self.horizon,)
        return (
            _outward(min(Fraction(self.least_reward) * n for n in lengths), -math.inf),
            _outward(max(Fraction(self.most_reward) * n for n in lengths), math.inf),
        )

    @property
    def least(self) -> float:
        """What no best return is below."""
        return max(self.return_range[0], float(self.best_so_far))

    @property
    def most(self) -> float:
        """What no best return exceeds."""
        return self.return_range[1]

    def signature(self) -> dict[str, Any]:
        """What tells one source from another without sampling it, for checkpoints."""
        return {
            "n_states": self.n_states,
            "rows": _digest(self.pair_start, self.step_layer, self.action),
            "horizon": self.horizon,
            "n_layers": self.n_layers,
            "reward_range": [self.least_reward, self.most_reward],
            "can_terminate": self.can_terminate,
            "start": None if self.start is None else [part.tolist() for part in self.start],
        }


class CheckedModel(Checked):
    """A generative model whose attributes were read and checked: the one gate through which learners ask it."""

    def __init__(self, model: Any) -> None:
        for name in ("n_states", "n_actions", "horizon", "start", "homogeneous", "sample"):
            if not hasattr(model, name):
                raise InputError(f"the model has no {name}: see maxatk.Model for what it needs")
        if not callable(model.sample):
            raise InputError("the model's sample is not a function")
        super().__init__(model, "model's", getattr(model, "actions", None))
        self.start = normal_start(model.start, self.n_states)
        self.rewards = self._known_rewards()
        given = getattr(model, "max_outcomes", None)
        self.max_outcomes = self.n_states + self.can_terminate
        if given is not None:
            self.max_outcomes = checks.integer(given, "the model's max_outcomes", least=1)

    def _known_rewards(self) -> Floats | None:
        """``[N]`` the reward of each row, where it is known."""
        given = getattr(self._given, "rewards", None)
        if given is None:
            return None
        table = array(given, "rewards")
        shape = (self.n_states, self.n_actions)
        if table.dtype.kind not in "biuf" or table.shape not in (shape, (self.horizon, *shape)):
            raise InputError(
                f"the model's rewards have shape {table.shape}: expected {shape} or {(self.horizon, *shape)}"
            )
        if table.ndim == 3 and self.n_layers == 1 and (table != table[0]).any():
            raise InputError("the model is homogeneous, but its rewards differ by step")
        index = (self.state, self.action) if table.ndim == 2 else (self.layer, self.state, self.action)
        rewards = table[index].astype(np.float64)
        self._check_rewards(rewards, np.arange(self.n_rows))
        return rewards

    def sample(self, row: int, n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """``n`` outcomes of a row, asked for at the first step at which it is in force."""
        place = int(self.layer[row]), int(self.state[row]), int(self.action[row])
        try:
            outcomes: Any = self._given.sample(*place, n, rng)
        except TypeError as error:
            raise InputError(f"{self.name(row)}: sample(step, state, action, n, rng) fails: {error}") from error
        if not checks.is_list(outcomes) or len(outcomes) != 2:
            raise InputError(f"{self.name(row)}: sample must return (next_states, rewards), not {shown(outcomes)}")
        next_states = array(outcomes[0], f"{self.name(row)}: next_states")
        if next_states.shape != (n,) or next_states.dtype.kind not in "iu":
            raise InputError(
                f"{self.name(row)}: next_states holds {next_states.dtype} of shape {next_states.shape}: "
                f"expected {n} integers"
            )
        wrong = (next_states < 0) | (next_states > self.n_states - (not self.can_terminate))
        if wrong.any():
            bad = next_states[np.argmax(wrong)]
            ends = f", and {self.n_states} for the end" if self.can_terminate else ", and can_terminate is false"
            raise InputError(
                f"{self.name(row)}: next state {bad} is out of range: states count from 0 to {self.n_states - 1}{ends}"
            )
        if self.rewards is not None:
            return next_states.astype(np.int64), np.full(n, self.rewards[row])
        rewards = array(outcomes[1], f"{self.name(row)}: rewards")
        if rewards.shape != (n,) or rewards.dtype.kind not in "biuf":
            raise InputError(
                f"{self.name(row)}: rewards holds {rewards.dtype} of shape {rewards.shape}: expected {n} numbers"
            )
        rewards = rewards.astype(np.float64)
        self._check_rewards(rewards, np.full(n, row))
        return next_states.astype(np.int64), rewards + 0.0

    def signature(self) -> dict[str, Any]:
        """What tells one model from another without sampling it, for checkpoints."""
        return {
            **super().signature(),
            "known_rewards": None if self.rewards is None else _digest(self.rewards),
        }


def normal_start(start: Any, n_states: int) -> tuple[Ints, Floats]:
    """The states that rollouts start in, and their probabilities, which add up to 1."""
    states, probs, _ = Start.of(start, n_states)
    return states.astype(np.int64), probs / probs.sum()


def _outward(amount: Fraction, side: float) -> float:
    """The float of an amount, or the next one towards ``side`` where it has none."""
    near = float(amount)
    return near if amount == near else math.nextafter(near, side)


def _digest(*arrays: Any) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()
