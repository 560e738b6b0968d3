"""Gymnasium environments that carry their table (``env.unwrapped.P``), such as those of toy text, or can be asked."""

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

HARMLESS = {  # wrappers that change neither what is observed nor what is done nor what is paid
    *(f"gymnasium.{name}" for name in ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit", "RecordEpisodeStatistics")),
    *(f"gymnasium.{name}" for name in ("RecordVideo", "HumanRendering", "RenderCollection")),
    "stable_baselines3.Monitor",
    "sb3_contrib.ActionMasker",
}
CHANGING = {  # what a wrapper must define to change anything
    *("step", "reset", "action", "reward", "observation", "unwrapped", "__getattr__", "__getattribute__"),
}
TOLD_BY = ("P", "initial_state_distrib", "model", "_generate_transitions")  # what a class says of its own steps by


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
    """An environment as a problem; :func:`maxatk.gym.explore` says what the arguments are."""
    found, arguments = _read(env, horizon, start, dict(make_arguments), key, seed)
    if not isinstance(found, Simulator):
        rows = with_costs(read_table(found, arguments["horizon"]), action_cost)
        states = States({s: s for s in range(rows.n_states)}, range(rows.n_actions))
        return Exploration(rows, arguments["start"], states, arguments["state_names"], arguments["action_names"])
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
    return exploration


def _read(
    env: Any,
    horizon: Any,
    start: Any,
    make_arguments: dict[str, Any],
    key: Callable[[Any], Any] | None = None,
    seed: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The table of ``env`` or a simulator of it, and what else a problem takes; what the caller gave comes first."""
    made, inner, name = open_gymnasium(env, make_arguments)
    if not hasattr(inner.action_space, "n"):
        raise InputError(f"{name} has continuous actions and no table of outcomes, so it cannot be read as a problem")
    simulator = _simulator(inner, name, key, seed)
    if simulator is not None:
        if start is not None:
            raise InputError(f"{name} says itself how it resets, so start= cannot be given")
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
    """What an environment is explored by; None where it is read as a table."""
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
    """The names of the states of an environment that says that they are the cells of a grid, row by row."""
    shape: Any = getattr(getattr(inner, "desc", None), "shape", None) or getattr(inner, "shape", None)
    try:
        rows, columns = (int(x) for x in shape)
    except (TypeError, ValueError):
        return None
    return cell_names(rows, columns) if rows * columns == n_states else None


def open_gymnasium(env: Any, make_arguments: dict[str, Any]) -> tuple[Any, Any, str]:
    """The environment, what its wrappers hold, and its name; wrappers that may change what it does are refused."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtraError("Gymnasium is not installed: pip install 'maxatk[gym]'") from None
    made: Any = env
    if isinstance(env, str):
        name = env
        if name.startswith(("MiniGrid-", "BabyAI-")):
            with contextlib.suppress(ImportError):  # it registers its environments when it is imported
                import_module("minigrid")
        try:
            made = gymnasium.make(env, **make_arguments)
        except Exception as error:  # an environment's constructor may raise anything
            raise InputError(f"{name} cannot be made: {type(error).__name__}: {' '.join(str(error).split())}") from None
        made.close()  # only its table or its steps are needed, which outlive its window
    elif make_arguments:
        raise InputError(
            f"{next(iter(make_arguments))} is an argument for making an environment, but env is made already"
        )
    elif not isinstance(env, gymnasium.Env):
        raise InputError(f"env must be a Gymnasium environment or its id, not {shown(env)}")
    else:
        name = made.spec.id if made.spec is not None else type(made.unwrapped).__name__
    for wrapper in wrappers_of(made):
        if not _harmless(wrapper, gymnasium.Wrapper):
            kind = type(wrapper).__name__
            raise InputError(
                f"{name} is wrapped in {kind}, which may change what it does and pays, and its table knows nothing of "
                "that; if it does not, give env.unwrapped"
            )
    inner: Any = made.unwrapped
    if getattr(inner, "fickle_passenger", False):
        raise InputError(f"{name} has a fickle passenger, who is neither in its table nor in its states")
    return made, inner, name


def wrappers_of(env: Any) -> Iterator[Any]:
    """The wrappers of an environment, from the outermost."""
    while env is not env.unwrapped:
        yield env
        env = env.env


def _harmless(wrapper: Any, plain: type) -> bool:
    """Whether a wrapper is known not to change what is observed, done and paid, or cannot since it does nothing."""
    kind: Any = getattr(wrapper, "__class__")  # noqa: B009  (generic in types that nobody knows)
    if f"{kind.__module__.partition('.')[0]}.{kind.__name__}" in HARMLESS:
        return True
    own: Any = kind.__mro__[: kind.__mro__.index(plain)]
    replaced = any(name in vars(wrapper) for name in ("step", "reset"))
    return not replaced and not any(name in vars(one) for one in own for name in CHANGING)


def _check_own(inner: Any, name: str, method: str, hint: str) -> None:
    """That ``method`` is that of the class whose table is read: one that overrides it may do something else."""
    import gymnasium

    if method in vars(inner):
        raise InputError(f"{name} has a {method} of its own in place of its class's, which no table knows; {hint}")
    kinds: Any = type(inner).__mro__
    kinds = kinds[: kinds.index(gymnasium.Env)]
    theirs = [i for i, kind in enumerate(kinds) if method in vars(kind)]
    told = [i for i, kind in enumerate(kinds) if any(one in vars(kind) for one in TOLD_BY)]
    if len(theirs) > 1 and min(told, default=len(kinds)) > theirs[0]:
        own, other = (kinds[i].__name__ for i in theirs[:2])
        raise InputError(f"{name}: {own} overrides {method} of {other}, whose table may know nothing of it; {hint}")


def time_limit(env: Any) -> int | None:
    """The steps after which an environment cuts its rollouts off, as it or the wrappers around it say; or None.

    They say so by their spec, as ``TimeLimit`` does, or by an attribute ``max_steps`` (MiniGrid) or ``horizon`` (ours).
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
    """The start that the caller gave, or else the environment's: ``own_start``, or what its attribute says."""
    if start is None:
        _check_own(inner, name, "reset", "give start=")
        start = getattr(inner, "initial_state_distrib", None) if own_start is None else own_start
        if start is None:
            raise InputError(f"{name} does not say how it resets (no attribute initial_state_distrib): give start=")
    return start
