"""Arrays of probabilities and rewards, dense or sparse: by state and action, or by a list of state-action pairs."""

import sys
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Bools, Ints, Reals
from maxatk.problem.readers.costs import with_costs_of_pairs
from maxatk.problem.rows import Rows, array, integers, offsets, real_column

Shape: TypeAlias = tuple[int, ...]


def read_arrays(P: Any, R: Any, horizon: Any, available: Any, terminal: Any) -> Rows:
    """Read ``P`` and ``R`` by state and action: :meth:`maxatk.MDP.from_arrays` states the shapes."""
    horizon = checks.horizon(horizon)
    probs, rewards = _Given("P", P), _Given("R", R)
    S, A = _sizes(probs)
    cube, matrix, pairs = (S, A, S), (S * A, S), (S, A)
    p_steps = probs.per_step([cube, matrix], horizon, preferred=False)
    r_steps = rewards.per_step([pairs, cube, matrix], horizon, preferred=len(p_steps) > 1)
    offered = [np.ones(pairs, np.bool_)]
    if available is not None:
        offered = _Given("available", array(available, "available")).per_step([pairs], horizon, preferred=False)
        if offered[0].dtype != np.bool_:
            raise InputError(f"available must hold booleans, not {offered[0].dtype}")
    state, action = np.divmod(np.arange(S * A), A)
    return _rows(S, A, state, action, _Steps(p_steps, r_steps, offered, horizon), terminal)


def read_pairs(R: Any, Q: Any, s_indices: Any, a_indices: Any, horizon: Any, terminal: Any, cost: Any = None) -> Rows:
    """Read ``R`` and ``Q`` by state-action pair: :meth:`maxatk.MDP.from_pairs` states the shapes."""
    horizon = checks.horizon(horizon)
    state, action = integers(s_indices, "s_indices"), integers(a_indices, "a_indices")
    if state.ndim != 1 or state.shape != action.shape:
        raise InputError(f"s_indices has shape {state.shape} and a_indices {action.shape}: expected [N] twice")
    probs, rewards = _Given("Q", Q), _Given("R", R)
    S = probs.shape[-1] if probs.shape else 0
    pairs, matrix = (len(state),), (len(state), S)
    q_steps = probs.per_step([matrix], horizon, preferred=False)
    r_steps = rewards.per_step([pairs, matrix], horizon, preferred=len(q_steps) > 1)
    A = int(action.max()) + 1 if len(action) else 0
    offered = [np.ones(pairs, np.bool_)]
    rows = _rows(S, A, state, action, _Steps(q_steps, r_steps, offered, horizon), terminal)
    return with_costs_of_pairs(rows, cost, state, action)


class _Given:
    """An argument: one sparse matrix, one array, or (if some entry of a list is sparse) a list of those."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.listed = checks.is_list(value) and any(_is_sparse(entry) for entry in value)
        entries: list[Any] = list(value) if self.listed else [value]
        self.entries = [entry if _is_sparse(entry) else array(entry, name) for entry in entries]
        self.shape: Shape = tuple(self.entries[0].shape)  # of the first step, if steps are listed

    def per_step(self, shapes: list[Shape], horizon: int, *, preferred: bool) -> list[Any]:
        """One entry for all steps or one per step, each of one of the ``shapes``; sparse ones of the last shape.

        If an array can be read both ways, ``preferred`` decides whether its first axis is the step.
        """
        if self.listed:
            if len(self.entries) != horizon:
                raise InputError(f"{self.name} lists {len(self.entries)} steps, but the horizon is {horizon}")
            for h, entry in enumerate(self.entries):
                if tuple(entry.shape) not in (shapes[-1:] if _is_sparse(entry) else shapes):
                    raise InputError(f"{self.name}[{h}] has shape {tuple(entry.shape)}: expected {_either(shapes)}")
            return self.entries
        if _is_sparse(self.entries[0]):
            shapes = shapes[-1:]
        same, by_step = self.shape in shapes, self.shape[:1] == (horizon,) and self.shape[1:] in shapes
        if not same and not by_step:
            raise InputError(
                f"{self.name} has shape {self.shape}: expected {_either(shapes)}, "
                f"or that for each of the {horizon} steps"
            )
        return list(self.entries[0]) if by_step and (preferred or not same) else self.entries


def _either(shapes: list[Shape]) -> str:
    return " or ".join(str(shape) for shape in shapes)


def _csr(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array(matrix)


def _is_sparse(value: Any) -> bool:
    """Whether ``value`` is a SciPy sparse matrix; if SciPy is not imported yet, it cannot be one."""
    return "scipy.sparse" in sys.modules and bool(sys.modules["scipy.sparse"].issparse(value))


def _sizes(P: _Given) -> tuple[int, int]:
    """``S`` and ``A``, from the shape of ``P`` or of its first step."""
    shape = P.shape
    if _is_sparse(P.entries[0]):
        if len(shape) == 2 and 0 not in shape and shape[0] % shape[1] == 0:
            return shape[1], shape[0] // shape[1]
    elif len(shape) in (3, 4) and 0 not in shape and shape[-1] == shape[-3]:
        return shape[-1], shape[-2]
    hint = ""
    if len(shape) in (3, 4) and 0 not in shape and shape[-1] == shape[-2]:
        hint = f"; if it is [A, S, S], give np.moveaxis(P, {len(shape) - 3}, {len(shape) - 2})"
    raise InputError(f"P has shape {shape}: expected [S, A, S] or [H, S, A, S], or sparse [S*A, S]{hint}")


@dataclass(frozen=True)
class _Steps:
    """Probabilities, rewards and available actions, each a list of one entry for all steps or one per step."""

    probs: list[Any]
    rewards: list[Any]
    offered: list[Any]
    horizon: int

    def at(self, h: int) -> tuple[Any, Any, Any]:
        """The three entries of a step."""
        P, R, offered = (part[h] if len(part) > 1 else part[0] for part in (self.probs, self.rewards, self.offered))
        return P, R, offered

    def layers(self) -> tuple[Ints, list[int]]:
        """The layer of each step and the first step of each layer; steps made of the same objects share one."""
        if max(len(self.probs), len(self.rewards), len(self.offered)) == 1:
            return np.zeros(self.horizon, np.int64), [0]
        first: dict[tuple[int, ...], int] = {}
        keys = [tuple(id(entry) for entry in self.at(h)) for h in range(self.horizon)]
        for h, key in enumerate(keys):
            first.setdefault(key, h)
        number = {key: layer for layer, key in enumerate(first)}
        return np.array([number[key] for key in keys], np.int64), list(first.values())


def _rows(S: int, A: int, state: Ints, action: Ints, steps: _Steps, terminal: Any) -> Rows:
    """The rows of all layers."""
    step_layer, first_steps = steps.layers()
    ending = _terminal_states(terminal, S)
    kept = [np.flatnonzero(steps.at(h)[2]) for h in first_steps]  # per layer, the rows that are offered
    layers = [
        _layer(P, R, rows, len(state), S) for rows, (P, R, _) in zip(kept, map(steps.at, first_steps), strict=True)
    ]
    next_state = _joined([layer.next_state for layer in layers])
    rows = _joined(kept)
    return Rows(
        n_states=S,
        n_actions=A,
        step_layer=step_layer,
        layer=np.repeat(np.arange(len(layers)), [len(k) for k in kept]),
        state=state[rows],
        action=action[rows],
        start=offsets(_joined([layer.counts for layer in layers])),
        prob=_joined([layer.prob for layer in layers]),
        next_state=next_state,
        reward=_joined([layer.reward for layer in layers]),
        ends=ending[next_state],
    )


def _joined(parts: list[Any]) -> Any:
    """The parts as one array; a single part is not copied, since it may be large."""
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


class _Layer(NamedTuple):
    counts: Ints  # [N] the number of outcomes of each row
    prob: Reals  # [T]
    next_state: Ints  # [T]
    reward: Reals  # [T]


def _layer(P: Any, R: Any, kept: Ints, n_rows: int, S: int) -> _Layer:
    """The outcomes of the ``kept`` rows at one step."""
    row, next_state, prob = _entries(P, n_rows, S)
    if len(kept) < n_rows:
        offered = np.zeros(n_rows, np.bool_)
        offered[kept] = True
        chosen = offered[row]
        row, next_state, prob = row[chosen], next_state[chosen], prob[chosen]
    if _is_sparse(R):
        reward = np.asarray(_csr(R)[row, next_state]).ravel()
    elif R.size == n_rows:
        reward = R.reshape(n_rows)[row]
    else:
        reward = R.reshape(n_rows, S)[row, next_state]
    counts = np.bincount(row, minlength=n_rows)[kept]
    return _Layer(counts, real_column(prob), next_state, real_column(reward))


def _entries(P: Any, n_rows: int, S: int) -> tuple[Any, Any, Any]:
    """The row, next state and probability of all entries that are stored or not 0, row by row."""
    if _is_sparse(P) and P.format == "coo":  # not converted: that would add duplicates in the order of storage
        order = np.argsort(P.row, kind="stable")
        return P.row[order], P.col[order], P.data[order]
    if _is_sparse(P):
        matrix = _csr(P).sorted_indices()  # by row in C: cheaper than one large sort later
        return np.repeat(np.arange(n_rows), np.diff(matrix.indptr)), matrix.indices, matrix.data
    dense = P.reshape(n_rows, S)
    # NaN and entries that are not numbers count as not 0: the checks name them later.
    row, next_state = np.nonzero(_not_zero(dense) if dense.dtype == object else dense != 0)
    return row, next_state, dense[row, next_state]


def _not_zero(entries: Any) -> Bools:
    return np.array([not (isinstance(x, Real) and x == 0) for x in entries.flat], np.bool_).reshape(entries.shape)


def _terminal_states(terminal: Any, S: int) -> Bools:
    """Which of the ``S`` states end the rollout when entered."""
    ending = np.zeros(S, np.bool_)
    if terminal is None:
        return ending
    given = array(terminal, "terminal")
    if given.dtype == np.bool_:
        if given.shape != (S,):
            raise InputError(f"terminal has shape {given.shape}: expected {(S,)}, or a list of states")
        return given
    for state in integers(terminal, "terminal").ravel():
        ending[checks.integer(state, "terminal state", most=S - 1)] = True
    return ending
