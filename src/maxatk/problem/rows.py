"""The gate that every problem passes: outcomes as a caller wrote them become checked ones in canonical order.

Every constructor of :class:`maxatk.MDP` reads its own format into :class:`Rows`, and :func:`canonical` checks and sorts
them. A *row* is the set of outcomes of one action in one state. A *layer* is the set of rows in force at a step; steps
that behave alike share a layer, so a time-homogeneous problem has one layer and a per-step problem has up to ``H``. No
code past this file needs to tell the two apart.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Bools, Floats, Ints, Ints32, Reals

SUM_TOLERANCE = 1e-6
"""How far from 1 a row of probabilities may sum. Within it, the row means its entries divided by their exact sum."""

LARGEST_INDEX = 2**31 - 1
LARGEST_RETURN = float(np.finfo(np.float64).max) / 1024  # headroom: chords extended beyond all returns stay finite
LEAST_SIZE = 1e-300  # of the largest reward: numbers that underflow are then far below its last digit


@dataclass(frozen=True)
class Rows:
    """A problem as it was read: unchecked, with rows and outcomes in any order."""

    n_states: int  # S
    n_actions: int  # A
    step_layer: Ints  # [H] the layer in force at each step
    layer: Ints  # [N] the layer that row n belongs to
    state: Ints  # [N]
    action: Ints  # [N]
    start: Ints  # [N + 1] the outcomes of row n are start[n] : start[n + 1]
    prob: Reals  # [T]
    next_state: Ints  # [T] a state, also where the rollout ends
    reward: Reals  # [T]
    ends: Bools  # [T] whether the rollout is over after this outcome
    action_cost: Reals | None = None  # [N] the expected cost of taking each row; None if all are 0


@dataclass(frozen=True)
class Canonical:
    """Checked outcomes: sorted by layer, state, action, next state and reward; merged; all probabilities positive."""

    step_layer: Ints32  # [H] which layer is in force at each step
    pair_start: Ints  # [L * S + 1] the rows of state s in layer l are pair_start[l * S + s] : pair_start[l * S + s + 1]
    action: Ints32  # [N] the action of each row, rising within a state
    outcome_start: Ints  # [N + 1] the outcomes of row n are outcome_start[n] : outcome_start[n + 1]
    prob: Floats  # [T] positive; each row means its entries divided by their exact sum
    next_state: Ints32  # [T] the next state of each outcome; S if the rollout ends
    reward: Floats  # [T] the reward of each outcome
    exact_prob: tuple[Fraction, ...] | None  # [T] normalised; None if the floats are exact
    exact_reward: tuple[Fraction, ...] | None  # [T] likewise
    action_cost: Floats  # [N] the expected cost of taking each row; not a part of the return
    exact_action_cost: tuple[Fraction, ...] | None  # [N] likewise


def array(values: Any, name: str) -> NDArray[Any]:
    """``values`` as an array of numbers; an error of one line if they are not."""
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array: fill in the masked entries")
    try:
        entries = np.asarray(values)
    except Exception as error:  # a foreign __array__ may raise anything
        raise InputError(f"{name} is not an array of numbers: {' '.join(str(error).split())}") from None
    if entries.dtype.kind not in "biufcOUS":
        raise InputError(f"{name} holds {entries.dtype}, not numbers")
    return entries


def integers(values: Any, name: str) -> Ints:
    """``values`` as integers; floats are refused even if they are whole."""
    entries = array(values, name)
    if entries.size == 0:
        return np.zeros(entries.shape, np.int64)
    if entries.dtype.kind not in "iu":
        raise InputError(f"{name} must hold integers, not {entries.dtype}")
    if int(entries.max()) > LARGEST_INDEX:
        raise InputError(f"{name} must hold integers up to {LARGEST_INDEX}, not {entries.max()}")
    return entries.astype(np.int64)


def real_column(values: Any) -> Reals:
    """``values`` as float64 if that is lossless, otherwise as objects.

    Integers beyond 2**53, fractions, and entries that are not numbers stay objects: :func:`canonical` keeps the first
    two exact and names the last in an error. (Long doubles are rounded.)
    """
    column = np.asarray(values)
    if column.dtype.kind == "O":
        plain = all(isinstance(x, float | np.floating) or _small_integer(x) for x in column.flat)
        return column.astype(np.float64) if plain else column
    if column.dtype.kind in "iu" and column.dtype.itemsize == 8 and column.size:
        large = int(column.max()) > 2**53 or int(column.min()) < -(2**53)
        return column.astype(object) if large else column.astype(np.float64)
    return column.astype(np.float64 if column.dtype.kind in "biuf" else object, copy=False)


def _small_integer(value: Any) -> bool:
    return isinstance(value, Integral) and abs(int(value)) <= 2**53


def canonical(rows: Rows) -> Canonical:
    """Check ``rows`` and put them in canonical order; one problem written in two ways gives one result.

    Raises:
        InputError: in one line that names the first offending entry.
    """
    _check_indices(rows)
    names, n_states = _Names(rows), rows.n_states
    row = np.repeat(np.arange(len(rows.state)), np.diff(rows.start))  # [T]

    def outcome(t: int) -> str:
        return names.outcome(row[t], rows.next_state[t])

    prob = _checked_column(rows.prob, "probability", outcome)
    reward = _checked_column(rows.reward, "reward", outcome)
    cost = _checked_costs(rows, names)
    _first(prob < 0, lambda t: f"{outcome(t)}: probability {shown(prob[t])} is negative")
    _first(prob > 1 + SUM_TOLERANCE, lambda t: f"{outcome(t)}: probability {shown(prob[t])} is above 1")

    next_state = np.where(rows.ends, n_states, rows.next_state).astype(np.int32)
    possible = prob > 0
    if not possible.all():
        row, prob, next_state, reward = row[possible], prob[possible], next_state[possible], reward[possible]

    # Rows in order of layer, state and action. From here on `row` holds places in that order.
    node = rows.layer * n_states + rows.state  # [N]
    order = np.lexsort((rows.action, node))
    node, action = node[order], rows.action[order]
    twice = (node[1:] == node[:-1]) & (action[1:] == action[:-1])
    _first(twice, lambda n: f"{names.row(order[n + 1])}: given twice")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    row, prob, next_state, reward = _merged(place[row], prob, next_state, reward)

    counts = np.bincount(row, minlength=len(order))
    _first(counts == 0, lambda n: f"{names.row(order[n])}: probabilities sum to 0")
    outcome_start = offsets(counts)
    total = np.add.reduceat(prob, outcome_start[:-1])
    off = np.abs((total - 1).astype(np.float64)) > SUM_TOLERANCE
    _first(off, lambda n: f"{names.row(order[n])}: probabilities sum to {float(total[n]):.10g}")

    actions_at = np.bincount(node, minlength=len(names.first_step) * n_states)  # [L * S]
    _first(
        actions_at == 0,
        lambda i: (
            f"state {i % n_states} has no actions at step {names.first_step[i // n_states]} "
            "(one where rollouts end still needs an action, such as staying there)"
        ),
    )
    _check_size(reward, len(rows.step_layer), lambda t: names.row(order[row[t]]))

    # A column keeps its fractions only if floats would change it.
    exact_prob = None
    if prob.dtype == object:
        prob, exact_prob = floats_and_fractions(prob, outcome_start)
        _first(prob == 0, lambda t: f"{names.row(order[row[t]])}: a probability is above 0 but below any float")
    reward, exact_reward = _floats_beside(reward)
    cost, exact_action_cost = _floats_beside(cost[order])

    return _without_repeated_layers(
        Canonical(
            step_layer=rows.step_layer.astype(np.int32),
            pair_start=offsets(actions_at),
            action=action.astype(np.int32),
            outcome_start=outcome_start,
            # A single outcome is certain. (Always a copy, since this may be the caller's memory; all else is new.)
            prob=np.where(np.repeat(counts == 1, counts), 1.0, prob),
            next_state=next_state,
            reward=reward + 0.0,  # no negative zeros: -0.0 is the same reward as 0.0
            exact_prob=exact_prob,
            exact_reward=exact_reward,
            action_cost=cost + 0.0,
            exact_action_cost=exact_action_cost,
        ),
        n_states,
    )


class _Names:
    """Names of rows and outcomes in messages."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.first_step = np.unique(rows.step_layer, return_index=True)[1]  # [L]

    def row(self, n: Any) -> str:
        rows = self._rows
        return f"row (state {rows.state[n]}, action {rows.action[n]}, step {self.first_step[rows.layer[n]]})"

    def outcome(self, n: Any, next_state: Any) -> str:
        rows = self._rows
        step = self.first_step[rows.layer[n]]
        return f"outcome (state {rows.state[n]}, action {rows.action[n]}, step {step}, next state {next_state})"


def _first(wrong: Any, message: Callable[[int], str]) -> None:
    """Raise ``message(i)`` for the first ``i`` with ``wrong[i]``, if there is one."""
    where = np.flatnonzero(wrong)
    if len(where):
        raise InputError(message(int(where[0])))


def offsets(counts: Any) -> Ints:
    """The start of each run of these lengths, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def _check_indices(rows: Rows) -> None:
    if rows.n_states < 1:
        raise InputError("a problem needs at least one state")
    if max(rows.n_states, rows.n_actions) > LARGEST_INDEX:
        raise InputError(f"at most {LARGEST_INDEX} states and actions can be numbered")
    n, t = len(rows.state), len(rows.prob)
    lengths = [len(rows.layer), len(rows.action), len(rows.start) - 1]
    if lengths != [n, n, n] or not len(rows.next_state) == len(rows.reward) == len(rows.ends) == t:
        raise InputError("the columns of the outcomes differ in length")
    if rows.start[0] != 0 or rows.start[-1] != t or (np.diff(rows.start) < 0).any():
        raise InputError("the row offsets must rise from 0 to the number of outcomes")
    layers = np.unique(rows.step_layer)
    if not np.array_equal(layers, np.arange(len(layers))):
        raise InputError("the layers of the steps must be numbered from 0 without gaps")
    for name, column, size in (
        ("layer", rows.layer, len(layers)),
        ("state", rows.state, rows.n_states),
        ("action", rows.action, rows.n_actions),
    ):
        _check_range(column, name, size, lambda n, name=name: f"row {n}: {name}")
    names = _Names(rows)

    def target(t: int) -> str:
        return f"{names.row(np.searchsorted(rows.start, t, side='right') - 1)}: next state"

    _check_range(rows.next_state, "state", rows.n_states, target)


def _check_range(column: Ints, kind: str, size: int, name: Callable[[int], str]) -> None:
    _first(
        (column < 0) | (column >= size),
        lambda i: f"{name(i)} {column[i]} is out of range: there are {size} {kind}s, numbered from 0",
    )


def _checked_column(column: Reals, what: str, name: Callable[[int], str]) -> Reals:
    """``column`` if all entries are finite real numbers, as fractions if some are; ``name(t)`` names entry ``t``."""
    if column.dtype != object:
        _first(~np.isfinite(column), lambda t: f"{name(t)}: {what} is {column[t]}")
        return column
    exact = np.empty(len(column), object)

    def refuse(t: int, why: str) -> NoReturn:
        raise InputError(f"{name(t)}: {what} {why}") from None

    for t, value in enumerate(column):
        if isinstance(value, Rational):
            exact[t] = Fraction(int(value.numerator), int(value.denominator))
            if abs(exact[t]) > LARGEST_RETURN:
                refuse(t, "is too large for a float")
        elif not isinstance(value, Real):
            refuse(t, f"is {shown(value)}, not a real number")
        elif not math.isfinite(value):
            refuse(t, f"is {float(value)}")
        else:
            exact[t] = Fraction(float(value))
    return exact


def _checked_costs(rows: Rows, names: _Names) -> Reals:
    """The expected cost of each row [N]: finite, not negative, and such that sums do not overflow."""
    if rows.action_cost is None:
        return np.zeros(len(rows.state))
    if len(rows.action_cost) != len(rows.state):
        raise InputError(f"action_cost has {len(rows.action_cost)} entries, but there are {len(rows.state)} rows")
    cost = _checked_column(rows.action_cost, "cost", names.row)
    _first(cost < 0, lambda n: f"{names.row(n)}: cost {shown(cost[n])} is negative")
    most = LARGEST_RETURN / len(rows.step_layer)
    _first(
        cost > most,
        lambda n: f"{names.row(n)}: cost {float(cost[n]):g} over {len(rows.step_layer)} steps is too large for floats",
    )
    _first((cost > 0) & (cost < LEAST_SIZE), lambda n: f"{names.row(n)}: the cost is above 0, but below {LEAST_SIZE:g}")
    return cost


def _floats_beside(column: Reals) -> tuple[Floats, tuple[Fraction, ...] | None]:
    """A column as floats, and as fractions if the floats are not exact."""
    if column.dtype != object:
        return column, None
    exact = tuple(Fraction(x) for x in column.tolist())
    floats = _as_floats(exact)
    same = all(Fraction(x) == q for x, q in zip(floats.tolist(), exact, strict=True))
    return floats, None if same else exact


def _merged(row: Ints, prob: Reals, next_state: Ints32, reward: Reals) -> tuple[Ints, Reals, Ints32, Reals]:
    """Outcomes sorted by row, next state and reward, the probabilities of equal ones added up."""
    rank: Any = np.unique(reward, return_inverse=True)[1] if reward.dtype == object else reward

    def compared(key: Any) -> tuple[Bools, Bools]:
        return key[1:] > key[:-1], key[1:] == key[:-1]

    def rising_and_equal() -> tuple[Bools, Bools]:
        above, same = compared(rank)
        for key in (next_state, row):
            key_above, key_same = compared(key)
            above, same = key_above | (key_same & above), key_same & same
        return above, same

    rising, equal = rising_and_equal()
    if not (rising | equal).all():
        order = np.lexsort((rank, next_state, row))
        row, next_state, prob = row[order], next_state[order], prob[order]
        reward, rank = reward[order], rank[order]
        rising, equal = rising_and_equal()
    if not equal.any():
        return row, prob, next_state, reward
    first = np.flatnonzero(np.concatenate(([True], ~equal)))
    total = np.add.reduceat(prob, first)
    sizes = np.diff(np.append(first, len(prob)))
    if prob.dtype != object:
        # A sum of three or more floats depends on their order; the correctly rounded one does not.
        for i in np.flatnonzero(sizes > 2):
            total[i] = math.fsum(prob[first[i] : first[i] + sizes[i]])
    return row[first], total, next_state[first], reward[first]


def _check_size(reward: Reals, horizon: int, name: Callable[[int], str]) -> None:
    size = np.abs(reward)
    t = int(np.argmax(size))
    if float(size[t]) > LARGEST_RETURN / horizon:
        raise InputError(f"{name(t)}: reward {float(reward[t]):g} over {horizon} steps is too large for floats")
    if 0 < size[t] < LEAST_SIZE:
        raise InputError(
            f"{name(t)}: the largest reward of all is below {LEAST_SIZE:g} in size, where floats lose their digits: "
            "scale the rewards up"
        )


def floats_and_fractions(prob: Reals, start: Ints) -> tuple[Floats, tuple[Fraction, ...] | None]:
    """Rows of exact probabilities as floats; and as fractions that sum to 1, if the floats are not exact.

    Floats stand for themselves divided by their exact sum. The floats nearest to the given numbers are tried first, so
    that floats given as fractions make the same problem as floats.
    """
    exact = _normalised(prob.tolist(), start)
    given, nearest = _as_floats(prob), _as_floats(exact)
    for floats in (given, nearest):
        if floats.all() and _normalised(floats.tolist(), start) == exact:
            return floats, None
    return nearest, exact


def _normalised(prob: list[Any], start: Ints) -> tuple[Fraction, ...]:
    """Probabilities divided by the exact sum of their row, as fractions."""
    fractions = np.array([Fraction(p) for p in prob], object)
    total = np.repeat(np.add.reduceat(fractions, start[:-1]), np.diff(start))
    return tuple(fractions / total)


def _as_floats(values: Any) -> Floats:
    return np.array([float(x) for x in values], np.float64)


def exact_text(values: tuple[Fraction, ...]) -> str:
    """Fractions as text, in hexadecimal: Python neither prints nor parses decimal integers of any size."""
    return " ".join(f"{x.numerator:x}/{x.denominator:x}" for x in values)


def _without_repeated_layers(problem: Canonical, n_states: int) -> Canonical:
    """``problem`` with equal layers merged, numbered by the first step that uses each."""
    n_layers = (len(problem.pair_start) - 1) // n_states
    if n_layers == 1:
        return problem
    pairs = problem.pair_start[::n_states]  # [L + 1] where the rows of each layer start
    outcomes = problem.outcome_start[pairs]  # [L + 1]
    digests = [_layer_digest(problem, n_states, layer, pairs, outcomes) for layer in range(n_layers)]
    layers: list[int] = problem.step_layer.tolist()  # [H]
    first: dict[bytes, int] = {}  # digest -> the layer with it that is used first, in order of use
    for layer in layers:
        first.setdefault(digests[layer], layer)
    number = {digest: i for i, digest in enumerate(first)}
    kept = list(first.values())
    rows, picked = _spans(pairs, kept), _spans(outcomes, kept)
    actions_at = np.diff(problem.pair_start).reshape(n_layers, n_states)[kept]
    return Canonical(
        step_layer=np.array([number[digests[layer]] for layer in layers], np.int32),
        pair_start=offsets(actions_at),
        action=problem.action[rows],
        outcome_start=offsets(np.diff(problem.outcome_start)[rows]),
        prob=problem.prob[picked],
        next_state=problem.next_state[picked],
        reward=problem.reward[picked],
        exact_prob=_picked(problem.exact_prob, picked),
        exact_reward=_picked(problem.exact_reward, picked),
        action_cost=problem.action_cost[rows],
        exact_action_cost=_picked(problem.exact_action_cost, rows),
    )


def _spans(starts: Ints, kept: list[int]) -> Ints:
    """The indices ``starts[i] : starts[i + 1]`` for every kept ``i``."""
    return np.concatenate([np.arange(int(starts[i]), int(starts[i + 1])) for i in kept])


def _picked(values: tuple[Fraction, ...] | None, places: Ints) -> tuple[Fraction, ...] | None:
    if values is None:
        return None
    chosen: list[int] = places.tolist()
    return tuple(values[t] for t in chosen)


def _layer_digest(problem: Canonical, n_states: int, layer: int, pairs: Ints, outcomes: Ints) -> bytes:
    a, b = pairs[layer], pairs[layer + 1]
    t, u = outcomes[layer], outcomes[layer + 1]
    digest = hashlib.sha256()
    nodes = problem.pair_start[layer * n_states : (layer + 1) * n_states + 1]
    for part in (
        np.diff(nodes),
        problem.action[a:b],
        np.diff(problem.outcome_start[a : b + 1]),
        problem.prob[t:u],
        problem.next_state[t:u],
        problem.reward[t:u],
        problem.action_cost[a:b],
    ):
        digest.update(np.ascontiguousarray(part).data)
    for exact, first, end in (
        (problem.exact_prob, t, u),
        (problem.exact_reward, t, u),
        (problem.exact_action_cost, a, b),
    ):
        digest.update(f"; {exact_text(exact[first:end]) if exact else ''}".encode())
    return digest.digest()
