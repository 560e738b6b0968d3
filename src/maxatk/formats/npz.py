"""Problems as files: a versioned ``.npz`` archive of plain arrays, never pickle.

Members are stored uncompressed, so that no array can be larger than the file that brings it; a reader trusts
nothing else about the file, and whatever it holds passes the constructor's checks again.
"""

import json
import os
import secrets
import struct
import tokenize
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from maxatk import checks
from maxatk.checks import shown
from maxatk.errors import InputError
from maxatk.rows import Rows, exact_text

if TYPE_CHECKING:
    from maxatk.mdp import MDP

FORMAT = "maxatk problem"
VERSION = 1
LONGEST_FRACTION = 2**16  # hexadecimal digits: reducing a longer one takes seconds

_ARRAYS = {  # member -> the type it is stored in; all are one-dimensional
    "step_layer": "<i4",
    "pair_start": "<i8",
    "action": "<i4",
    "outcome_start": "<i8",
    "prob": "<f8",
    "next_state": "<i4",
    "reward": "<f8",
    "start_state": "<i4",
    "start_prob": "<f8",
}
_EXACT = ("exact_prob", "exact_reward", "exact_start_prob")  # members only where there are exact entries


def write_npz(path: str | os.PathLike[str], mdp: "MDP") -> None:
    """Write ``mdp`` to ``path``, whole or not at all."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "n_states": mdp.n_states,
        "n_actions": mdp.n_actions,
        "state_names": mdp.state_names,
        "action_names": mdp.action_names,
    }
    members = {"header": _text_array(json.dumps(header))}
    members |= {name: getattr(mdp, name).astype(dtype, copy=False) for name, dtype in _ARRAYS.items()}
    members |= {name: _text_array(exact_text(getattr(mdp, name))) for name in _EXACT if getattr(mdp, name) is not None}
    try:
        with atomic_write(Path(path)) as file:
            np.savez(file, **members)  # pyright: ignore[reportArgumentType]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from None


@contextmanager
def atomic_write(target: Path) -> Generator[IO[bytes]]:
    """A file to write in, which becomes ``target`` only once all is written."""
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")  # no two writers share one
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def read_npz(path: str | os.PathLike[str]) -> tuple[Rows, dict[str, Any]]:
    """The rows in the file, and the other arguments of the constructor."""
    try:
        with zipfile.ZipFile(path) as archive:
            contents = _contents(archive, Path(path).stat().st_size)
            header = _header(_member(archive, contents, "header", "|u1"))
            arrays = {name: _member(archive, contents, name, dtype) for name, dtype in _ARRAYS.items()}
            exact = {name: _fractions(_member(archive, contents, name, "|u1")) for name in _EXACT if name in contents}
        return _problem(header, arrays, exact)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except _UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not a readable maxatk problem: {reason}") from None


_UNREADABLE = (  # what zipfile, numpy, json and int raise for bytes that are not what they should be
    *(zipfile.BadZipFile, struct.error, ValueError, TypeError, EOFError, ArithmeticError),
    *(NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError, MemoryError),
)


def _contents(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name. Stored members that fit in the file together cannot swell when read."""
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise InputError("a member occurs twice")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
        raise InputError("its members are compressed")
    if sum(info.file_size for info in members.values()) > size:
        raise InputError("its members claim more bytes than the file has")
    return members


def _member(archive: zipfile.ZipFile, contents: dict[str, zipfile.ZipInfo], name: str, dtype: str) -> Any:
    """A one-dimensional array of just this type; the header of the member is checked before any memory is taken."""
    if name not in contents:
        raise InputError(f"it has no {name}")
    with archive.open(contents[name]) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise InputError(f"{name} is not stored as a version 1.0 array")
        shape, _, found = np.lib.format.read_array_header_1_0(file)
        if found.str != dtype or len(shape) != 1:
            raise InputError(f"{name} holds {found.str} of shape {shape}: expected one dimension of {dtype}")
        data = file.read()
    if len(data) != shape[0] * found.itemsize:
        raise InputError(f"{name} claims {shape[0]} entries, but holds {len(data)} bytes")
    return np.frombuffer(data, found)


def _text_array(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


def _header(data: Any) -> dict[str, Any]:
    header = json.loads(data.tobytes().decode())
    if not checks.is_dict(header) or header.get("format") != FORMAT:
        raise InputError("its header is not that of a maxatk problem")
    if header.get("version") != VERSION:
        raise InputError(f"it has format version {shown(header.get('version'))}, and this maxatk reads {VERSION}")
    return dict(header)


def _fractions(data: Any) -> Any:
    """What :func:`maxatk.rows.exact_text` wrote, as a column of fractions."""
    texts = data.tobytes().decode().split()
    column = np.empty(len(texts), object)
    for i, text in enumerate(texts):
        if len(text) > LONGEST_FRACTION:
            raise InputError(f"a fraction has more than {LONGEST_FRACTION} digits")
        numerator, denominator = text.split("/")
        column[i] = Fraction(int(numerator, 16), int(denominator, 16))
    return column


def _problem(header: dict[str, Any], arrays: dict[str, Any], exact: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
    """The arguments of the constructor, which checks what is not checked here."""
    S = checks.integer(header.get("n_states"), "n_states", least=1)
    A = checks.integer(header.get("n_actions"), "n_actions", least=1)
    pair_start, action, next_state = arrays["pair_start"], arrays["action"], arrays["next_state"]
    checks.horizon(len(arrays["step_layer"]))
    layers = int(arrays["step_layer"].max()) + 1
    if layers < 1 or len(pair_start) - 1 != layers * S or pair_start[0] != 0 or pair_start[-1] != len(action):
        raise InputError("pair_start does not list the rows of every state")
    if (np.diff(pair_start) < 0).any():
        raise InputError("pair_start does not rise")
    if len(arrays["outcome_start"]) != len(action) + 1:
        raise InputError("outcome_start does not list the outcomes of every row")
    layer, state = np.divmod(np.repeat(np.arange(len(pair_start) - 1), np.diff(pair_start)), S)
    rows = Rows(
        n_states=S,
        n_actions=A,
        step_layer=arrays["step_layer"].astype(np.int64),
        layer=layer,
        state=state,
        action=action.astype(np.int64),
        start=arrays["outcome_start"],
        prob=exact.get("exact_prob", arrays["prob"]),
        next_state=np.where(next_state == S, 0, next_state).astype(np.int64),
        reward=exact.get("exact_reward", arrays["reward"]),
        ends=next_state == S,
    )
    start_state = arrays["start_state"]
    start_prob = exact.get("exact_start_prob", arrays["start_prob"])
    if len(start_state) != len(start_prob) or not len(start_state) or start_state.min() < 0 or start_state.max() >= S:
        raise InputError("start_state does not list states")
    start = np.zeros(S, start_prob.dtype)
    start[start_state] = start_prob
    names = {name: header.get(name) for name in ("state_names", "action_names")}
    return rows, {"start": start, **names}
