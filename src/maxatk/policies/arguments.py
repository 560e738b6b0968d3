"""What people hand to policies, checked: functions that choose, arrays of states and of returns."""

import math
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Bools, Floats, Ints


def checked_function(choose: Any) -> Any:
    """A function that chooses, or an error."""
    if not callable(choose):
        raise InputError(f"a policy needs a function that chooses, not {checks.shown(choose)}")
    return choose


def states_of(state: Any, n_states: int | None) -> Ints:
    """States as integers below ``n_states``, if that is known, or an error that names the first that is none."""
    states = _array(state, "state", "integers", "iu")
    wrong = (states < 0) | (states >= 2**53 if n_states is None else states >= n_states)
    if wrong.any():
        most = "" if n_states is None else f" and at most {n_states - 1}"
        raise InputError(f"{_entry('state', states, wrong)}: it must be at least 0{most}")
    return states.astype(np.int64)


def returns_of(amount: Any, name: str) -> Floats:
    """Returns, or an error that names the first that is none."""
    returns = _array(amount, name, "floats", "iuf").astype(np.float64)
    wrong = ~np.isfinite(returns) & (returns != -math.inf if name == "best" else True)
    if wrong.any():
        none = ", or -inf where there is none" if name == "best" else ""
        raise InputError(f"{_entry(name, returns, wrong)}: it must be finite{none}")
    return returns


def _array(values: Any, name: str, what: str, kinds: str) -> Any:
    try:
        array = np.asarray(values)
    except Exception:  # whatever a foreign __array__ raises
        raise InputError(f"{name} must be an array of {what}, not {checks.shown(values)}") from None
    if array.dtype.kind not in kinds:
        raise InputError(f"{name} must be {what}, not {array.dtype} {list(array.shape)}")
    return array


def _entry(name: str, array: Any, wrong: Bools) -> str:
    """The first entry that is wrong, as a caller would write it."""
    place = tuple(np.argwhere(wrong)[0].tolist())
    index = f"[{', '.join(map(str, place))}]" if place else ""
    return f"{name}{index} is {checks.shown(array[place])}"
