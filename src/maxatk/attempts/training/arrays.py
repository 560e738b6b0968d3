"""Arrays of any library, checked on the way in.

Libraries are spoken to in the Python array API standard, through array-api-compat. Arrays stay on their own device.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import array_api_compat
import numpy as np

from maxatk.base.errors import InputError

Array: TypeAlias = Any  # of NumPy, PyTorch, JAX or another library of the standard
Library: TypeAlias = Any  # the functions of the standard

_compat: Any = array_api_compat  # its types are those of all libraries, installed or not


def taken_in(named: Mapping[str, Any], nonnegative: str = "") -> tuple[Library, tuple[Array, ...], Any]:
    """Arrays of one library and shape in a floating type that is wide enough to compute in, and the type to return.

    ``nonnegative`` names the one that must have no entry below 0.
    """
    arrays = {name: _as_array(value, name) for name, value in named.items()}
    first = next((x for x in arrays.values() if is_foreign(x)), None)
    if first is not None:  # plain numbers go with any library, an array of NumPy does not
        xp, device = _compat.array_namespace(first), _compat.device(first)
        for name, x in arrays.items():
            if isinstance(named[name], np.ndarray) or (is_foreign(x) and _compat.array_namespace(x) is not xp):
                raise InputError(f"{' and '.join(named)} must be arrays of one library")
            arrays[name] = x if is_foreign(x) else xp.asarray(x, device=device)
            if is_traced(arrays[name]) or is_traced(first):
                continue  # inside ``jax.jit`` and ``jax.grad`` an array has no device yet
            if _compat.device(arrays[name]) != device:
                raise InputError(f"{' and '.join(named)} must be on one device, not {device} and {_compat.device(x)}")
    xp = _compat.array_namespace(*arrays.values())
    shapes = {name: tuple(x.shape) for name, x in arrays.items()}
    if len(set(shapes.values())) > 1:
        raise InputError(f"shapes disagree: {', '.join(f'{name} {shape}' for name, shape in shapes.items())}")
    floats = {name: _as_floats(xp, x, name) for name, x in arrays.items()}
    kept = xp.result_type(*floats.values())
    wide = xp.float32 if getattr(kept, "itemsize", 8) < 4 else kept
    numbers = {name: xp.astype(x, wide, copy=False) for name, x in floats.items()}
    for name, x in numbers.items():
        refuse(xp, ~xp.isfinite(x), x, lambda where, entry, name=name: f"{name}{where} is {entry}, not a finite number")
        if name == nonnegative:
            refuse(xp, x < 0, x, lambda where, entry, name=name: f"{name}{where} is {entry}, which is negative")
    return xp, tuple(numbers.values()), kept


def is_foreign(x: Any) -> bool:
    """Whether this is an array of another library than NumPy."""
    return bool(_compat.is_array_api_obj(x)) and not isinstance(x, np.ndarray | np.generic)


def _as_array(value: Any, name: str) -> Array:
    """The array that it is, or a NumPy array of what is none."""
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{name} must not be masked: leave samples out, and say by index which are of one group")
    if is_foreign(value):
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":  # fractions
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers, in groups of one size or with an index of groups") from None
    if array.dtype.kind not in "biufc":
        raise InputError(f"{name} must be numbers, not {array.dtype}")
    return array


def _as_floats(xp: Library, x: Array, name: str) -> Array:
    """Real numbers; whole ones and truth values in the library's usual floating type."""
    if xp.isdtype(x.dtype, "complex floating"):
        raise InputError(f"{name} must be real numbers, not {x.dtype}")
    return xp.astype(x, xp.asarray(0.0).dtype) if xp.isdtype(x.dtype, ("bool", "integral")) else x


def refuse(xp: Library, bad: Array, x: Array, message: Callable[[str, float], str]) -> None:
    """Refuse the first entry of ``x`` that is ``bad``, in a message of its place and value.

    Inside ``jax.jit`` no value is known, and nothing is refused.
    """
    if is_traced(bad) or not bool(xp.any(bad)):
        return
    place = int(xp.argmax(xp.astype(xp.reshape(bad, (-1,)), xp.int32)))
    where = ", ".join(str(int(i)) for i in np.unravel_index(place, tuple(bad.shape)))
    raise InputError(message(f"[{where}]", float(xp.reshape(x, (-1,))[place])))


def is_traced(x: Array) -> bool:
    """Whether JAX stands for a value that is not known yet."""
    return _compat.is_jax_array(x) and isinstance(x, sys.modules["jax"].core.Tracer)


def on_host(x: Array) -> Any:
    """The array in this machine's memory, for NumPy."""
    return _compat.to_device(x, "cpu") if _compat.is_torch_array(x) or _compat.is_cupy_array(x) else x


def like(xp: Library, numbers: Any, other: Array, dtype: Any = None) -> Array:
    """Numbers of NumPy on the device of another array, and of its type unless another is asked for."""
    return xp.asarray(np.array(numbers), dtype=dtype or other.dtype, device=_compat.device(other))
