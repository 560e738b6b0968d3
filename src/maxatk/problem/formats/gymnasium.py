"""Gymnasium environments that carry their table (``env.unwrapped.P``), such as those of toy text."""

from typing import Any

from maxatk.base.checks import shown
from maxatk.base.errors import InputError, MissingExtraError
from maxatk.show.grid import cell_names


def read_gymnasium(env: Any, horizon: Any, start: Any, make_arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The table of ``env``, and what else :meth:`maxatk.MDP.from_table` takes; what the caller gave comes first."""
    made, inner, name = open_gymnasium(env, make_arguments)
    table = getattr(inner, "P", None)
    if table is None:
        what = "no table" if hasattr(inner.action_space, "n") else "continuous actions and no table"
        raise InputError(f"{name} has {what} of outcomes (no attribute P), so it cannot be read as a problem")
    return table, {
        "horizon": gymnasium_horizon(made, name, horizon),
        "start": gymnasium_start(inner, name, start),
        "state_names": _rides(inner, len(table)) or _cells(inner, len(table)),
        "action_names": _ACTIONS.get(type(inner).__name__),
    }


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
    """The environment, what its wrappers hold, and its name; wrappers that change what it does are refused."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtraError("Gymnasium is not installed: pip install 'maxatk[gym]'") from None
    made: Any = env
    if isinstance(env, str):
        name = env
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
    changing = {"RewardWrapper", "ActionWrapper", "ObservationWrapper"}
    inner: Any = made
    while inner is not made.unwrapped:
        kinds = [kind.__name__ for kind in inner.__class__.__mro__]
        if changing & set(kinds):
            raise InputError(f"{name} is wrapped in {kinds[0]}, which its table knows nothing of")
        inner = inner.env
    return made, inner, name


def gymnasium_horizon(made: Any, name: str, horizon: Any) -> Any:
    """The horizon that the caller gave, or else the environment's time limit."""
    if horizon is None:
        horizon = made.spec.max_episode_steps if made.spec is not None else None
        if horizon is None:
            raise InputError(f"{name} has no time limit of its own: give horizon=")
    return horizon


def gymnasium_start(inner: Any, name: str, start: Any) -> Any:
    """The start that the caller gave, or else the environment's."""
    if start is None:
        start = getattr(inner, "initial_state_distrib", None)
        if start is None:
            raise InputError(f"{name} does not say how it resets (no attribute initial_state_distrib): give start=")
    return start
