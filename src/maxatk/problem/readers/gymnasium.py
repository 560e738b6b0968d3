"""Gymnasium environments with a table of outcomes (``env.unwrapped.P``), as toy text has, or with a model."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from maxatk.base.checks import shown
from maxatk.base.errors import InputError, MissingExtraError
from maxatk.problem.explore import MOST_STATES, Exploration, Explored, States, explored
from maxatk.problem.grid import cell_names
from maxatk.problem.readers.costs import with_costs
from maxatk.problem.readers.simulators import Simulator, blackjack, copied, minigrid_key, model_table
from maxatk.problem.readers.table import read_table

HARMLESS = {  # wrappers that change neither observations nor actions nor rewards
    *(f"gymnasium.{name}" for name in ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit", "RecordEpisodeStatistics")),
    *(f"gymnasium.{name}" for name in ("RecordVideo", "HumanRendering", "RenderCollection")),
    "stable_baselines3.Monitor",
    "sb3_contrib.ActionMasker",
}
CHANGING = {  # a wrapper that defines none of these changes nothing
    *("step", "reset", "action", "reward", "observation", "unwrapped", "__getattr__", "__getattribute__")
}
TOLD_BY = ("P", "initial_state_distrib", "model", "_generate_transitions")  # attributes that describe the steps


def read_environment(
    env: Any,
    horizon: int | None,
    start: Any,
    make_arguments: Mapping[str, Any],
    *,
    action_cost: Any = None,
    key: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    max_states: int = MOST_STATES,
    progress: bool | Callable[[Explored], None] = False,
) -> Exploration:
    """An environment as a problem; :func:`maxatk.gym.explore` describes the arguments."""
    source, arguments = _read(env, horizon, start, dict(make_arguments), key, seed)
    if not isinstance(source, Simulator):
        rows = with_costs(read_table(source, arguments["horizon"]), action_cost)
        states = States({s: s for s in range(rows.n_states)}, range(rows.n_actions))
        return Exploration(rows, arguments["start"], states, arguments["state_names"], arguments["action_names"])
    if action_cost is not None:
        raise InputError(
            "action_cost= is for environments with a table; use MDP.with_action_costs after exploring one without"
        )
    exploration = explored(
        *(source.start, source.actions, source.outcomes, arguments["horizon"]),
        max_states=max_states,
        progress=progress,
        reward_at=source.reward_at,
    )
    exploration.states.key = source.key
    return exploration


def _read(
    env: Any,
    horizon: Any,
    start: Any,
    make_arguments: dict[str, Any],
    key: Callable[[Any], Any] | None = None,
    seed: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The table of ``env`` or a simulator of it, and the other arguments of a problem; given ones take precedence."""
    made, inner, name = open_gymnasium(env, make_arguments)
    if not hasattr(inner.action_space, "n"):
        raise InputError(f"{name} has continuous actions and no table of outcomes, so it cannot be read as a problem")
    simulator = _simulator(inner, name, key, seed)
    if simulator is not None:
        if start is not None:
            raise InputError(f"{name} defines its own resets, so start= cannot be given")
        limit = time_limit(made) if horizon is None else horizon
        return simulator, {"horizon": gymnasium_horizon(made, name, simulator.horizon if limit is None else limit)}
    _check_own(inner, name, "step", "if its table is right, MDP.from_table(env.unwrapped.P, ...) takes it")
    table, own_start = getattr(inner, "P", None), None
    if table is None:
        modelled = model_table(inner)
        if modelled is None:
            raise InputError(
                f"{name} has no table of outcomes (no attribute P) and no model, so it cannot be read as a problem; "
                "maxatk.gym.explore(key=) tries out copies of an environment, MDP.explore takes functions"
            )
        table, own_start = modelled
    return table, {
        "horizon": gymnasium_horizon(made, name, horizon),
        "start": gymnasium_start(inner, name, start, own_start),
        "state_names": _rides(inner, len(table)) or _cells(inner, len(table)),
        "action_names": _ACTIONS.get(type(inner).__name__),
    }


def _simulator(inner: Any, name: str, key: Callable[[Any], Any] | None, seed: int | None) -> Simulator | None:
    """The simulator by which to explore an environment; None if it is read as a table."""
    if key is not None:
        return copied(inner, name, key, seed)
    modules = {kind.__module__ for kind in type(inner).__mro__}
    if any(module.startswith("minigrid.") for module in modules):
        return copied(inner, name, minigrid_key, seed)
    if "gymnasium.envs.toy_text.blackjack" in modules:
        for method in ("step", "reset"):
            _check_own(inner, name, method, "maxatk.gym.explore(key=) tries out copies of it")
        return blackjack(inner)
    return None


_ACTIONS = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("down", "up", "right", "left", "pick up", "drop off"),
}


def _rides(inner: Any, n_states: int) -> list[str] | None:
    """The states of Gymnasium's taxi in words."""
    if type(inner).__name__ != "TaxiEnv":
        return None
    stands = ("red", "green", "yellow", "blue")
    names: list[str] = []
    for s in range(n_states):
        row, column, passenger, target = inner.decode(s)
        rider = f"passenger at {stands[passenger]}" if passenger < 4 else "passenger aboard"
        names.append(f"taxi in row {row}, column {column}, {rider}, bound for {stands[target]}")
    return names


def _cells(inner: Any, n_states: int) -> list[str] | None:
    """The names of the states of an environment whose states are the cells of a grid, row by row; else None."""
    shape: Any = getattr(getattr(inner, "desc", None), "shape", None) or getattr(inner, "shape", None)
    try:
        rows, columns = (int(x) for x in shape)
    except (TypeError, ValueError):
        return None
    return cell_names(rows, columns) if rows * columns == n_states else None


def open_gymnasium(env: Any, make_arguments: dict[str, Any]) -> tuple[Any, Any, str]:
    """The environment, unwrapped as well, and its name; wrappers that may change what it does raise an error."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtraError("Gymnasium is not installed: pip install 'maxatk[gym]'") from None
    made: Any = env
    if isinstance(env, str):
        name = env
        if name.startswith(("MiniGrid-", "BabyAI-")):
            with contextlib.suppress(ImportError):  # importing it registers its environments
                import_module("minigrid")
        try:
            made = gymnasium.make(env, **make_arguments)
        except Exception as error:  # an environment's constructor may raise anything
            raise InputError(f"{name} cannot be made: {type(error).__name__}: {' '.join(str(error).split())}") from None
        made.close()  # its table and its steps remain usable
    elif make_arguments:
        raise InputError(
            f"{next(iter(make_arguments))} is an argument of gymnasium.make, but env is an environment already"
        )
    elif not isinstance(env, gymnasium.Env):
        raise InputError(f"env must be a Gymnasium environment or its id, not {shown(env)}")
    else:
        name = made.spec.id if made.spec is not None else type(made.unwrapped).__name__
    for wrapper in wrappers_of(made):
        if not _harmless(wrapper, gymnasium.Wrapper):
            kind = type(wrapper).__name__
            raise InputError(
                f"{name} is wrapped in {kind}, which may change its steps and rewards, but not its table; if it does "
                "not, give env.unwrapped"
            )
    inner: Any = made.unwrapped
    if getattr(inner, "fickle_passenger", False):
        raise InputError(f"{name} has a fickle passenger, which neither its table nor its states describe")
    return made, inner, name


def wrappers_of(env: Any) -> Iterator[Any]:
    """The wrappers of an environment, from the outermost."""
    while env is not env.unwrapped:
        yield env
        env = env.env


def _harmless(wrapper: Any, plain: type) -> bool:
    """Whether a wrapper is known not to change observations, actions and rewards, or defines nothing that could."""
    kind: Any = getattr(wrapper, "__class__")  # noqa: B009  (generic in unknown types)
    if f"{kind.__module__.partition('.')[0]}.{kind.__name__}" in HARMLESS:
        return True
    own: Any = kind.__mro__[: kind.__mro__.index(plain)]
    replaced = any(name in vars(wrapper) for name in ("step", "reset"))
    return not replaced and not any(name in vars(one) for one in own for name in CHANGING)


def _check_own(inner: Any, name: str, method: str, hint: str) -> None:
    """Raise an error if ``method`` is overridden below the class whose table is read, since it may differ from it."""
    import gymnasium

    if method in vars(inner):
        raise InputError(f"{name} replaces the {method} of its class, which its table may not describe; {hint}")
    kinds: Any = type(inner).__mro__
    kinds = kinds[: kinds.index(gymnasium.Env)]
    theirs = [i for i, kind in enumerate(kinds) if method in vars(kind)]
    told = [i for i, kind in enumerate(kinds) if any(one in vars(kind) for one in TOLD_BY)]
    if len(theirs) > 1 and min(told, default=len(kinds)) > theirs[0]:
        own, other = (kinds[i].__name__ for i in theirs[:2])
        raise InputError(f"{name}: {own} overrides {method} of {other}, whose table may not describe it; {hint}")


def time_limit(env: Any) -> int | None:
    """The number of steps after which an environment or its wrappers truncate rollouts; None if there is no limit.

    It is read from the spec, from ``TimeLimit``, or from an attribute ``max_steps`` (MiniGrid) or ``horizon`` (ours).
    """
    inner = env.unwrapped
    said: list[Any] = [env.spec.max_episode_steps if env.spec is not None else None]
    said += [getattr(wrapper, "_max_episode_steps", None) for wrapper in wrappers_of(env)]
    said += [getattr(inner, name, None) for name in ("max_steps", "horizon")]
    limits = [int(x) for x in said if np.asarray(x).dtype.kind in "iu" and np.ndim(x) == 0 and x >= 1]
    return min(limits, default=None)


def gymnasium_horizon(made: Any, name: str, horizon: Any) -> Any:
    """The horizon that the caller gave, or else the environment's time limit."""
    if horizon is None:
        horizon = time_limit(made)
        if horizon is None:
            raise InputError(f"{name} has no time limit of its own: give horizon=")
    return horizon


def gymnasium_start(inner: Any, name: str, start: Any, own_start: Any = None) -> Any:
    """The start that the caller gave, or else the environment's: ``own_start``, or its attribute."""
    if start is None:
        _check_own(inner, name, "reset", "give start=")
        start = getattr(inner, "initial_state_distrib", None) if own_start is None else own_start
        if start is None:
            raise InputError(f"{name} does not define its resets (no attribute initial_state_distrib): give start=")
    return start
