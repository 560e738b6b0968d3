"""Trials of K rollouts as one environment, and problems as environments.

:class:`BestOfK` lets any deep-RL library learn best-of-K policies: it turns an environment into one whose episodes are
trials of K rollouts, and whose return is the best return of these. :class:`TabularEnv` runs a table.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from maxatk.base import checks
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.gym.observations import Observations, is_a, return_scale
from maxatk.laws.sampling import RowSampler
from maxatk.problem.mdp import MDP
from maxatk.problem.objective import try_cost
from maxatk.problem.readers.gymnasium import time_limit, wrappers_of


class BestOfK(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """One episode is one trial: ``k`` rollouts of ``env``, of which the best counts.

    **Observations** carry, beside the original one, all that the best policy needs (Proposition 2 of the paper):

    * ``observation``: the original observation;
    * ``has_best``: 1 if there is a best return so far, 0 before the end of the first rollout;
    * ``best``: that best return, M, on the scale below; 0 if there is no result yet;
    * ``so_far``: the return of the present rollout so far, G, on the same scale;
    * ``rollouts_left``: those not over yet, the present one included, divided by ``k``: from 1 down to 0;
    * ``steps_left``: those of the present rollout, divided by the horizon: from 1 down to 0.

    As a ``Dict`` the entries have these names, beside those of the environment if its observation is a dict itself
    (there is no entry ``observation`` then). ``flat=True`` makes it one ``Box`` of 32-bit floats, the original
    observation first (flattened as Gymnasium does, discrete ones one-hot) and then the five numbers in this order.
    Images of at least 36 x 36 pixels stay images: flat observations are then a ``Dict`` of these and of ``vector``,
    which holds all the rest.

    **The scale** of M and G: without ``returns`` it is ``sign(x) log(1 + |x|)``, which suits any magnitude. With
    ``returns=(low, high)``, the returns that matter, the scale is linear between these and maps them to -1 and 1;
    beyond, a return ``z`` on that scale is mapped to ``sign(z)(2 - 1/|z|)``, which is monotone and within (-2, 2).

    **The reward** is 0 except at the last step of a rollout, where it is the increase of the best return: the return
    itself after the first rollout, ``max(G - M, 0)`` after the others. The rewards of a trial thus add up to its best
    return, also if returns are negative (with an incumbent ``best_so_far``, to the gain over it). With ``dense=True``
    the reward of each step is the change of ``max(M, G)`` (of G, in the first rollout). The sum and the optimal
    policies are the same, but good steps are rewarded sooner: use it if rewards are costs. With ``potential=h``, an
    estimate of the rest of a rollout's return, the reward of each step is the change of ``max(M, G + h(observation))``,
    across resets, too. The sum is the same for every ``h``. Do not discount any of these rewards. ``reward_scale``
    multiplies them, to suit a network.

    **Costs.** With ``cost`` each rollout costs that much, subtracted from the reward of its first step; with
    ``row_costs`` every step also costs ``info["cost"]``, if the environment has it (:class:`TabularEnv` does). The
    rewards of a trial then add up to its best return less its costs, and its costs so far are
    ``info["trial"]["paid"]``. With ``stop=True`` there is one more action, the last: it ends the trial with the best so
    far; a rollout that it interrupts does not count. With no result yet the trial ends with ``returns[0]``, which must
    be given unless there is an incumbent.

    **Ends.** When a rollout is over the environment is reset, and the observation is the next rollout's first. The
    trial is over (``terminated``) after ``k`` rollouts; ``truncated`` is never true, since the time left is observed.

    **info** has, beside the environment's own: ``trial``, with ``rollout``, ``step``, ``best`` (``-inf`` for none) and
    ``so_far`` unscaled, as :meth:`maxatk.CompressedPolicy.action` takes them; and ``rollout_over``. If that is true, it
    also has ``rollout_return``, ``rollout_terminated`` (the environment ended it), ``rollout_truncated`` (the time
    limit did), and ``last_observation`` and ``last_info``, the original ones at the end of the rollout: the
    environment's own entries of info always belong to the rollout that is observed. At the end of a trial there are
    ``best_return`` and ``rollout_returns``, in the form that Stable-Baselines3's ``Monitor(info_keywords=...)`` takes.

    **Masks.** :meth:`action_masks` returns the available actions, if the environment tells: by a method of the same
    name, or by ``info["action_mask"]``. ``MaskablePPO`` of sb3-contrib calls it.

    **Other wrappers.** Wrappers that change observations or actions may be inside or outside. Those that change rewards
    belong inside, where they change the returns. ``NormalizeReward`` inside raises a warning: its scale drifts, so
    that returns of a trial would not be comparable. Use ``reward_scale``, or put it outside.

    **Seeds.** ``reset(seed=n)`` seeds the environment once for the whole trial: the same seed and the same actions give
    the same trial, and its rollouts differ. ``options`` go to every reset of the trial.

    Args:
        env: an environment.
        k: the number of rollouts.
        horizon: the steps after which a rollout is cut off; by default the environment's own time limit.
        best_so_far: the incumbent, a best return before the trial.
        returns: the least and the greatest return that matter, if these are known.
        flat: whether observations are flattened.
        dense: whether steps within a rollout have rewards.
        potential: a function of the original observation; it implies ``dense``.
        reward_scale: the factor of all rewards, more than 0.
        cost: the cost of each rollout.
        row_costs: whether each step costs the environment's ``info["cost"]``.
        stop: whether there is an action that ends the trial; for environments with finitely many actions.

    >>> import gymnasium, maxatk as mk
    >>> env = mk.BestOfK(gymnasium.make("FrozenLake-v1", is_slippery=False), k=2, flat=True)
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, info["trial"]
    ((21,), {'rollout': 0, 'step': 0, 'best': -inf, 'so_far': 0.0})
    >>> for action in [1, 1, 2, 1, 2, 2]:                       # down, down, right, down, right, right: the goal
    ...     observation, reward, terminated, truncated, info = env.step(action)
    >>> reward, terminated, info["rollout_over"], info["trial"]
    (1.0, False, True, {'rollout': 1, 'step': 0, 'best': 1.0, 'so_far': 0.0})
    """

    def __init__(
        self,
        env: Any,
        k: int,
        *,
        horizon: int | None = None,
        best_so_far: Number = -math.inf,
        returns: tuple[float, float] | None = None,
        flat: bool = False,
        dense: bool = False,
        potential: Callable[[Any], float] | None = None,
        reward_scale: Number = 1,
        cost: Number = 0,
        row_costs: bool = False,
        stop: bool = False,
    ) -> None:
        if not is_a(env, gymnasium.Env):
            raise InputError(f"env must be a Gymnasium environment, not {shown(env)}")
        RecordConstructorArgs.__init__(
            self, k=k, horizon=horizon, best_so_far=best_so_far, returns=returns, flat=flat, dense=dense,
            potential=potential, reward_scale=reward_scale, cost=cost, row_costs=row_costs, stop=stop,
        )  # fmt: skip
        gymnasium.Wrapper.__init__(self, env)  # pyright: ignore[reportUnknownMemberType]
        self.k = checks.integer(k, "k", least=1)
        self._name = _name(env)
        self.horizon = _horizon(env, self._name, horizon)
        _warn_of_drifting_rewards(env, self._name)
        self._incumbent = float(checks.incumbent(best_so_far))
        self._dense = bool(dense) or potential is not None
        self._potential = _function(potential)
        self._reward_scale = positive(reward_scale, "reward_scale")
        self._cost, self._row_costs = float(try_cost(cost)), bool(row_costs)
        self._inner, self._actions = env.observation_space, env.action_space
        self._least = None if returns is None else return_scale(returns)[0]  # the value of stopping with no result yet
        self._stop = self._stopping_action() if stop else None
        self._observations = Observations(self._inner, self._name, return_scale(returns), bool(flat))
        self.observation_space = self._observations.space  # the inner one, and what a trial adds
        self._options: dict[str, Any] | None = None
        self._last: Any = None  # the original observation
        self._mask: Any = None  # of actions, from the environment's last info
        self._open = False  # whether there is a trial to step in
        self._begin()

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a trial; ``seed`` and ``options`` are as above."""
        self._options = options
        self._begin()
        self._open = True
        info = self._reset(seed)
        return self._observed(), {**info, "rollout_over": False, "trial": self._trial()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step of the present rollout."""
        if not self._open:
            raise InputError("step: the trial is over, or none has begun: call reset first")
        if self._stop is not None and action == self._stop:
            return self._stopped()
        cost = self._cost if self._step == 0 else 0.0
        self._last, reward, terminated, truncated, info = self.env.step(action)
        self._mask = info.get("action_mask")
        if self._row_costs:
            cost += float(try_cost(info.get("cost", 0.0), 'info["cost"]'))
        self._spent += cost
        self._so_far += float(reward)
        self._step += 1
        out_of_time = bool(truncated) or self._step >= self.horizon
        over = bool(terminated) or out_of_time
        added: dict[str, Any] = {"rollout_over": over}
        told = info  # of the environment, for the rollout that is observed
        if over:
            added |= {
                "rollout_return": self._so_far,
                "rollout_terminated": bool(terminated),
                "rollout_truncated": out_of_time and not terminated,
                "last_observation": self._last,
                "last_info": info,
            }
            self._returned.append(self._so_far)
            self._best = max(self._best, self._so_far)
            self._rollout += 1
            self._open = self._rollout < self.k
            if self._open:
                self._step, self._so_far = 0, 0.0
                told = self._reset(None)
        return self._rewarded(cost, {**told, **added})

    def action_masks(self) -> Any:
        """The available actions, ``[A]`` of booleans; all, if the environment does not tell.

        The action that stops, if there is one, is always available.
        """
        if not is_a(self._actions, spaces.Discrete):
            raise InputError(f"masks are for finitely many actions, but {self._name} has {shown(self._actions)}")
        if self.env.has_wrapper_attr("action_masks"):
            given = self.env.get_wrapper_attr("action_masks")()
        else:
            given = self._mask if self._mask is not None else np.ones(int(self._actions.n), np.bool_)
        mask = np.asarray(given).astype(np.bool_)
        if mask.shape != (int(self._actions.n),):
            raise InputError(f"the mask of {self._name} has shape {mask.shape}: expected {(int(self._actions.n),)}")
        return mask if self._stop is None else np.append(mask, True)

    # The trial.

    def _stopping_action(self) -> int:
        """The number of the action that ends the trial, which is added to the space."""
        if not is_a(self._actions, spaces.Discrete):
            raise InputError(f"stop=True is for finitely many actions, but {self._name} has {shown(self._actions)}")
        if self._incumbent == -math.inf and self._least is None:
            raise InputError("stop=True needs a value of stopping with no result yet: give best_so_far= or returns=")
        first, n = int(self._actions.start), int(self._actions.n)
        self.action_space = spaces.Discrete(n + 1, start=first)
        return first + n

    def _stopped(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """End the trial with the best so far."""
        if self._best == -math.inf and self._least is not None:
            self._best = self._least
        self._open = False
        return self._rewarded(0.0, {"rollout_over": False})

    def _rewarded(self, cost: float, info: dict[str, Any]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The result of a step: its reward is the change of the trial's value, less ``cost``."""
        before, self._value = self._value, self._present_value()
        if not self._open:
            info |= {"best_return": self._best, "rollout_returns": list(self._returned)}
        reward = self._reward_scale * (self._value - before - cost)
        return self._observed(), reward, not self._open, False, {**info, "trial": self._trial()}

    def _begin(self) -> None:
        self._rollout, self._step, self._so_far, self._best = 0, 0, 0.0, self._incumbent
        self._returned: list[float] = []
        self._value = self._incumbent if self._incumbent > -math.inf else 0.0  # the sum of all rewards so far
        self._spent = 0.0  # the sum of all costs so far

    def _reset(self, seed: int | None) -> dict[str, Any]:
        """Begin a rollout and return its info."""
        self._last, info = self.env.reset(seed=seed, options=self._options)
        self._mask = info.get("action_mask")
        if self.env.observation_space != self._inner or self.env.action_space != self._actions:
            raise InputError(f"{self._name} has changed its spaces, so its trials are not of one kind")
        return info

    def _trial(self) -> dict[str, Any]:
        known = {"rollout": self._rollout, "step": self._step, "best": self._best, "so_far": self._so_far}
        return {**known, "paid": self._spent} if self._cost or self._row_costs or self._stop is not None else known

    def _present_value(self) -> float:
        """The value of the trial so far: rewards are its changes, and it ends at the best return."""
        if not self._dense or not self._open:
            return self._best if self._best > -math.inf else 0.0
        ahead = 0.0 if self._potential is None else checks.exact_number(self._potential(self._last), "the potential")
        return max(self._best, self._so_far + float(ahead))

    def _observed(self) -> Any:
        over = self._rollout == self.k
        return self._observations(
            self._last,
            self._best,
            self._so_far,
            (self.k - self._rollout) / self.k,
            0.0 if over else (self.horizon - self._step) / self.horizon,
        )


class TabularEnv(gymnasium.Env[Any, Any]):
    """A problem as an environment: it observes states and truncates rollouts after the horizon.

    ``info["action_mask"]`` marks the actions that the state offers; others raise an error. If rows have costs,
    ``info["cost"]`` is the cost of the last step.

    Args:
        mdp: the problem.

    >>> import maxatk as mk
    >>> env = mk.gym.TabularEnv(mk.instances.windy_cliff())
    >>> env.reset(seed=0)[0], env.step(0)[:4]
    (36, (24, -1.0, False, False))
    """

    def __init__(self, mdp: MDP) -> None:
        if not isinstance(mdp, MDP):
            raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")
        self.mdp = mdp
        self.horizon = mdp.horizon  # the maximal number of steps of a rollout
        self.observation_space = spaces.Discrete(mdp.n_states)  # a state
        self.action_space = spaces.Discrete(mdp.n_actions)  # an action, offered or not
        self._sampler = RowSampler(mdp)
        self._state, self._step, self._cost = 0, mdp.horizon, 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin a rollout in a state drawn afresh; ``seed`` is Gymnasium's, ``options`` are ignored."""
        super().reset(seed=seed, options=options)
        self._state, self._step, self._cost = self._sampler.start(self.np_random), 0, 0.0
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Draw an outcome."""
        if self._step == self.horizon:
            raise InputError("step: the rollout is over, or none has begun: call reset first")
        row = self._sampler.row(self._step, self._state, int(action))
        drawn = self._sampler.outcome(row, self.np_random)
        after, reward = int(self.mdp.next_state[drawn]), float(self.mdp.reward[drawn])
        ended = after == self.mdp.n_states
        self._step = self.horizon if ended else self._step + 1
        self._state, self._cost = self._state if ended else after, float(self.mdp.action_cost[row])
        return self._state, reward, ended, not ended and self._step == self.horizon, self._info()

    def _info(self) -> dict[str, Any]:
        layer_step = min(self._step, self.horizon - 1)
        mask = np.zeros(self.mdp.n_actions, np.int8)
        mask[self.mdp.actions(layer_step, self._state)] = 1
        return {"action_mask": mask, "cost": self._cost} if self.mdp.has_costs else {"action_mask": mask}


def _name(env: Any) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _horizon(env: Any, name: str, horizon: int | None) -> int:
    """The number of steps of a rollout: ``horizon``, or the environment's own limit if that is less."""
    limit = time_limit(env)
    if horizon is None and limit is None:
        raise InputError(f"{name} has no time limit, and may never end: give horizon=")
    asked = math.inf if horizon is None else checks.horizon(horizon)
    return int(min(asked, math.inf if limit is None else limit))


def positive(value: Any, name: str) -> float:
    """A finite number above 0."""
    number = float(checks.exact_number(value, name))
    if number <= 0:
        raise InputError(f"{name} must be more than 0, not {shown(value)}")
    return number


def _function(potential: Any) -> Any:
    if potential is not None and not callable(potential):
        raise InputError(f"potential must be a function of the observation, not {shown(potential)}")
    return potential


def _warn_of_drifting_rewards(env: Any, name: str) -> None:
    for wrapper in wrappers_of(env):
        if type(wrapper).__name__ == "NormalizeReward":
            warnings.warn(
                f"{name} is wrapped in NormalizeReward, whose scale drifts: returns of one trial are not comparable; "
                "put it outside BestOfK, or use reward_scale=",
                stacklevel=3,
            )
