"""Problems as files. The constructor checks again all that a file holds."""

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from maxatk.base import archive, checks
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.problem.builder import rows_of
from maxatk.problem.data import ProblemData
from maxatk.problem.rows import Rows, exact_text

VERSION, WITH_COSTS = 2, 4
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
_EXACT = ("exact_prob", "exact_reward", "exact_start_prob", "exact_action_cost")  # members only if entries are exact


def write_npz(path: str | os.PathLike[str], mdp: ProblemData) -> None:
    """Write ``mdp`` to ``path`` atomically."""
    header, arrays = problem_members(mdp)
    archive.write(path, "problem", WITH_COSTS if mdp.has_costs else VERSION, header, arrays)


def problem_members(mdp: ProblemData, prefix: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a problem; ``prefix`` distinguishes its arrays from others of the same file."""
    header = {name: getattr(mdp, name) for name in ("n_states", "n_actions", "state_names", "action_names")}
    header |= {"unit": mdp.unit} if mdp.unit else {}
    arrays = {name: getattr(mdp, name).astype(dtype, copy=False) for name, dtype in _ARRAYS.items()}
    if mdp.has_costs:
        arrays["action_cost"] = mdp.action_cost
    for name in _EXACT:
        if getattr(mdp, name) is not None:
            arrays[name] = archive.text_array(exact_text(getattr(mdp, name)))
    return header, {prefix + name: array for name, array in arrays.items()}


def read_npz(path: str | os.PathLike[str]) -> tuple[Rows, dict[str, Any]]:
    """The rows in the file, and the other arguments of the constructor."""
    return archive.read(path, {"problem": (VERSION, WITH_COSTS)}, lambda file: read_problem(file, file.header))


def fractions(text: str) -> Any:
    """The column of fractions that :func:`maxatk.problem.rows.exact_text` wrote."""
    words = text.split()
    column = np.empty(len(words), object)
    for i, word in enumerate(words):
        if len(word) > LONGEST_FRACTION:
            raise InputError(f"a fraction has more than {LONGEST_FRACTION} digits")
        numerator, denominator = word.split("/")
        column[i] = Fraction(int(numerator, 16), int(denominator, 16))
    return column


def read_problem(file: Archive, header: Mapping[str, Any], prefix: str = "") -> tuple[Rows, dict[str, Any]]:
    """The rows in the file and the other arguments of the constructor, which checks all else."""
    arrays = {name: file.array(prefix + name, dtype) for name, dtype in _ARRAYS.items()}
    exact = {name: fractions(file.text(prefix + name)) for name in _EXACT if prefix + name in file}
    S = checks.integer(header.get("n_states"), "n_states", least=1)
    A = checks.integer(header.get("n_actions"), "n_actions", least=1)
    pair_start, action = arrays["pair_start"], arrays["action"]
    checks.horizon(len(arrays["step_layer"]))
    layers = int(arrays["step_layer"].max()) + 1
    if layers < 1 or len(pair_start) - 1 != layers * S or pair_start[0] != 0 or pair_start[-1] != len(action):
        raise InputError("pair_start does not list the rows of every state")
    if (np.diff(pair_start) < 0).any():
        raise InputError("pair_start does not rise")
    if len(arrays["outcome_start"]) != len(action) + 1:
        raise InputError("outcome_start does not list the outcomes of every row")
    costs = prefix + "action_cost"
    arrays["action_cost"] = file.array(costs, "<f8") if costs in file else None
    rows = rows_of(S, A, arrays | {name.removeprefix("exact_"): column for name, column in exact.items()})
    start_state = arrays["start_state"]
    start_prob = exact.get("exact_start_prob", arrays["start_prob"])
    if len(start_state) != len(start_prob) or not len(start_state) or start_state.min() < 0 or start_state.max() >= S:
        raise InputError("start_state does not list states")
    start = np.zeros(S, start_prob.dtype)
    start[start_state] = start_prob
    names = {name: header.get(name) for name in ("state_names", "action_names")}
    return rows, {"start": start, **names, "unit": header.get("unit", "")}
