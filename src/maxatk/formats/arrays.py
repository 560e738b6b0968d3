"""Arrays of probabilities and rewards, dense or sparse: by state and action, or by a list of state-action pairs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxatk import checks
from maxatk.errors import InputError
from maxatk.rows import Bools, Ints, Reals, Rows, array, integers, real_column


def read_arrays(P: Any, R: Any, horizon: Any, available: Any, terminal: Any) -> Rows:
    """Read ``P`` and ``R`` by state and action: :meth:`maxatk.MDP.from_arrays` states the shapes."""
    horizon = checks.horizon(horizon)
    P = _given(P, "P")
    S, A = _sizes(P)
    matrix, pairs = (S * A, S), (S, A)
    p_steps = _per_step(P, "P", "[S, A, S]", [(S, A, S), matrix], horizon, preferred=False)
    r_steps = _per_step(
        _given(R, "R"), "R", "[S, A] or [S, A, S]", [pairs, (S, A, S), matrix], horizon, preferred=len(p_steps) > 1
    )
    offered = [np.ones(pairs, np.bool_)]
    if available is not None:
        offered = _per_step(array(available, "available"), "available", "[S, A]", [pairs], horizon, preferred=False)
        if offered[0].dtype != np.bool_:
            raise InputError(f"available must hold booleans, not {offered[0].dtype}")
    state, action = np.divmod(np.arange(S * A), A)
    return _rows(S, A, state, action, p_steps, r_steps, offered, horizon, terminal)


def read_pairs(R: Any, Q: Any, s_indices: Any, a_indices: Any, horizon: Any, terminal: Any) -> Rows:
    """Read ``R`` and ``Q`` by state-action pair: :meth:`maxatk.MDP.from_pairs` states the shapes."""
    horizon = checks.horizon(horizon)
    state, action = integers(s_indices, "s_indices"), integers(a_indices, "a_indices")
    if state.ndim != 1 or state.shape != action.shape:
        raise InputError(f"s_indices has shape {state.shape} and a_indices {action.shape}: expected [N] twice")
    Q = _given(Q, "Q")
    first = Q[0] if isinstance(Q, list) else Q
    S = int(first.shape[-1]) if first.ndim else 0
    matrix = (len(state), S)
    q_steps = _per_step(Q, "Q", "[N, S]", [matrix], horizon, preferred=False)
    r_steps = _per_step(
        _given(R, "R"), "R", "[N] or [N, S]", [matrix[:1], matrix], horizon, preferred=len(q_steps) > 1
    )
    A = int(action.max()) + 1 if len(action) else 0
    return _rows(S, A, state, action, q_steps, r_steps, [np.ones(len(state), np.bool_)], horizon, terminal)


def _given(value: Any, name: str) -> Any:
    """One sparse matrix, one array, or (where some entry of a list is sparse) a list of those."""
    if sparse.issparse(value):
        return value
    if isinstance(value, Sequence) and any(sparse.issparse(entry) for entry in value):
        return [entry if sparse.issparse(entry) else array(entry, f"{name}[{h}]") for h, entry in enumerate(value)]
    return array(value, name)


def _sizes(P: Any) -> tuple[int, int]:
    """``S`` and ``A``, from the shape of ``P`` or of its first step."""
    first = P[0] if isinstance(P, list) else P
    shape = tuple(first.shape)
    if sparse.issparse(first) and shape[1] > 0 and shape[0] > 0 and shape[0] % shape[1] == 0:
        return shape[1], shape[0] // shape[1]
    if not sparse.issparse(first) and len(shape) in (3, 4) and 0 not in shape and shape[-1] == shape[-3]:
        return shape[-1], shape[-2]
    raise InputError(f"P has shape {shape}: expected [S, A, S] or [H, S, A, S], or sparse [S*A, S]")


def _per_step(
    value: Any, name: str, expected: str, shapes: list[tuple[int, ...]], horizon: int, *, preferred: bool
) -> list[Any]:
    """``value`` as a list of one entry for all steps, or of one per step; each of one of the ``shapes``.

    Where both readings fit, the entries are per step if that is ``preferred``.
    """
    if isinstance(value, list):
        steps: list[Any] = value
        if len(steps) != horizon:
            raise InputError(f"{name} lists {len(steps)} steps, but the horizon is {horizon}")
    else:
        shape = tuple(value.shape)
        same, per_step = shape in shapes, shape[:1] == (horizon,) and shape[1:] in shapes
        if not same and not per_step:
            sizes = " or ".join(str(s) for s in shapes)
            raise InputError(
                f"{name} has shape {shape}: expected {expected}, here {sizes}, or a leading {horizon} for the steps"
            )
        steps = list(value) if per_step and (preferred or not same) else [value]
    for h, step in enumerate(steps):
        if tuple(step.shape) not in shapes:
            raise InputError(f"{name}[{h}] has shape {tuple(step.shape)}: expected {expected}, here {shapes[0]}")
    return steps


class _Layer(NamedTuple):
    start: Ints  # [N + 1]
    prob: Reals  # [T]
    next_state: Ints  # [T]
    reward: Reals  # [T]


def _rows(
    S: int,
    A: int,
    state: Ints,
    action: Ints,
    p_steps: list[Any],
    r_steps: list[Any],
    offered: list[Any],
    horizon: int,
    terminal: Any,
) -> Rows:
    """All steps put together; steps made of the very same objects become one layer at once."""
    parts = (p_steps, r_steps, offered)
    keys = [tuple(id(part[h if len(part) > 1 else 0]) for part in parts) for h in range(horizon)]
    if all(len(part) == 1 for part in parts):
        keys = keys[:1] * horizon
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    first_step = {number[key]: h for h, key in reversed(list(enumerate(keys)))}
    layers: list[_Layer] = []
    kept: list[Ints] = []  # per layer, the rows that are offered
    for layer in range(len(number)):
        P, R, mask = (part[first_step[layer] if len(part) > 1 else 0] for part in parts)
        kept.append(np.flatnonzero(mask))
        layers.append(_layer(P, R, kept[-1], len(state), S))
    sizes = [len(layer.prob) for layer in layers]
    starts = [layer.start[1:] + offset for layer, offset in zip(layers, np.cumsum([0, *sizes[:-1]]), strict=True)]
    next_state = np.concatenate([layer.next_state for layer in layers])
    rows = np.concatenate(kept)
    return Rows(
        n_states=S,
        n_actions=A,
        step_layer=np.array([number[key] for key in keys], np.int64),
        layer=np.repeat(np.arange(len(layers)), [len(k) for k in kept]),
        state=state[rows],
        action=action[rows],
        start=np.concatenate([[0], *starts]),
        prob=np.concatenate([layer.prob for layer in layers]),
        next_state=next_state,
        reward=np.concatenate([layer.reward for layer in layers]),
        ends=_terminal_states(terminal, S)[next_state],
    )


def _layer(P: Any, R: Any, kept: Ints, n_rows: int, S: int) -> _Layer:
    """The outcomes of the ``kept`` rows at one step."""
    if sparse.issparse(P):
        matrix = sparse.csr_array(P)
        row = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
        next_state, prob = matrix.indices, matrix.data
    else:
        dense = P.reshape(n_rows, S)
        row, next_state = np.nonzero(dense != 0)  # NaN is not 0 either, so that it is found and named later
        prob = dense[row, next_state]
    if len(kept) < n_rows:
        place = np.full(n_rows, -1)
        place[kept] = np.arange(len(kept))
        chosen = place[row] >= 0
        row, next_state, prob = row[chosen], next_state[chosen], prob[chosen]
        counts = np.bincount(place[row], minlength=len(kept))
    else:
        counts = np.bincount(row, minlength=n_rows)
    if sparse.issparse(R):
        reward = np.asarray(sparse.csr_array(R)[row, next_state]).ravel()
    elif R.size == n_rows:
        reward = R.reshape(n_rows)[row]
    else:
        reward = R.reshape(n_rows, S)[row, next_state]
    return _Layer(np.concatenate(([0], np.cumsum(counts))), real_column(prob), next_state, real_column(reward))


def _terminal_states(terminal: Any, S: int) -> Bools:
    """Which of the ``S`` states end the rollout when entered."""
    ending = np.zeros(S, np.bool_)
    if terminal is None:
        return ending
    given = array(terminal, "terminal")
    if given.dtype == np.bool_:
        if given.shape != (S,):
            raise InputError(f"terminal has shape {given.shape}: expected [S], here {(S,)}, or a list of states")
        return given
    for state in integers(terminal, "terminal").ravel():
        ending[checks.integer(state, "terminal state", most=S - 1)] = True
    return ending
