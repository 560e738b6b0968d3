"""One word for a problem: the name of an instance, a file, or the id of a Gymnasium environment."""

import re
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from maxatk.base.checks import nearest, shown
from maxatk.base.errors import InputError
from maxatk.problem import instances
from maxatk.problem.mdp import MDP, load_mdp
from maxatk.problem.readers import open_gymnasium

_ID = re.compile(r"(?:[\w.]+:)?(?:[\w:-]+/)?[\w:.-]+-v\d+")  # [module:][namespace/]name-v0


def find_problem(name: str | PathLike[str], /, *, horizon: int | None = None, **arguments: Any) -> MDP:
    """The problem that ``name`` stands for.

    Args:
        name: an instance (``maxatk.instances.names()``), a file that :meth:`MDP.save` wrote, or the id of a Gymnasium
            environment that has a table. An instance takes precedence over a file of its name.
        horizon: the number of steps of a rollout; by default that of the instance or the environment.
        arguments: further arguments of the instance or of ``gymnasium.make``.

    >>> import maxatk as mk
    >>> mk.find_problem("windy_cliff", horizon=20)
    MDP(48 states, 4 actions, horizon 20, 524 outcomes)
    >>> mk.find_problem("FrozenLake-v1", is_slippery=False)
    MDP(16 states, 4 actions, horizon 100, 64 outcomes)
    """
    try:
        word = fspath(name)
        if not isinstance(word, str):
            raise TypeError
    except TypeError:
        raise InputError(f"a problem is named by a word or a path, not {shown(name)}") from None
    given = arguments if horizon is None else {"horizon": horizon, **arguments}
    if word in instances.names():
        return instances.make(word, **given)
    if is_environment(word):
        if "env" in arguments:
            raise InputError(f"{word} is the environment, so env= cannot be given")
        return MDP.from_gymnasium(word, horizon=horizon, **arguments)
    if Path(word).exists() or Path(word).suffix or Path(word).name != word:
        if given:
            raise InputError(f"{word}: a saved problem takes no {next(iter(given))}: it is used as it was saved")
        return load_mdp(word)
    known = [*instances.names(), *_environments()]
    close = nearest(word, known) or nearest(word, [id.split("-v")[0] for id in known])
    if close:
        listed = f"`maxatk instances` lists all {len(instances.names())}"
        raise InputError(f"there is no instance {shown(word)}: did you mean {close}? ({listed})")
    raise InputError(
        f"there is no instance {shown(word)}: the instances are {', '.join(instances.names())}"
        " (or give a file or a Gymnasium id)"
    )


def is_environment(word: str) -> bool:
    """Whether ``word`` has the form of a Gymnasium id, and is not an existing file."""
    return _ID.fullmatch(word) is not None and not Path(word).exists()


def _environments() -> list[str]:
    """The ids of Gymnasium's environments, if it is installed."""
    try:
        import gymnasium
    except ImportError:
        return []
    return list(gymnasium.registry)


def find_environment(name: str, *, horizon: int, **arguments: Any) -> Any:
    """The Gymnasium environment of this id, with rollouts of at most ``horizon`` steps, to run a policy in."""
    environment, _, _ = open_gymnasium(name, {"max_episode_steps": horizon, **arguments})
    return environment
