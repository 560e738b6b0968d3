"""Random small problems, and every way to write each of them down."""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

import maxatk as mk
from maxatk.problem.decision import DecisionProblem
from maxatk.problem.objective import Objective


@dataclass(frozen=True)
class Spec:
    """A problem as plain nested data that all constructors can express; steps holds one entry where all are alike."""

    S: int
    A: int
    H: int
    P: np.ndarray  # [1 or H, S, A, S] multiples of 1/8, so that floats are exact
    R: np.ndarray  # [1 or H, S, A, S] multiples of 1/4
    available: np.ndarray  # [S, A]
    terminal: list[int]
    start: list[float]  # [S]
    cost: np.ndarray | None = None  # [1 or H, S, A] multiples of 1/4


@st.composite
def specs(draw, max_states=3, max_actions=2, max_horizon=3, costs=False) -> Spec:
    S, A, H = (draw(st.integers(1, n)) for n in (max_states, max_actions, max_horizon))
    steps = H if draw(st.booleans()) else 1

    def eighths(n: int) -> list[float]:
        """A distribution over n places, most of them empty."""
        cuts = sorted(draw(st.lists(st.integers(0, 8), min_size=n - 1, max_size=n - 1)))
        return [(b - a) / 8 for a, b in zip([0, *cuts], [*cuts, 8], strict=True)]

    shape = (steps, S, A, S)
    P = np.array([eighths(S) for _ in range(steps * S * A)]).reshape(shape)
    R = np.array([draw(st.integers(-8, 8)) / 4 for _ in range(P.size)]).reshape(shape)
    available = np.array([draw(st.booleans()) for _ in range(S * A)]).reshape(S, A)
    available[:, 0] |= ~available.any(axis=1)
    terminal = [s for s in range(S) if draw(st.integers(0, 3)) == 0]
    cost = None
    if costs and draw(st.booleans()):
        priced = (H if draw(st.booleans()) else 1, S, A)
        cost = np.array([draw(st.integers(0, 6)) / 4 for _ in range(math.prod(priced))]).reshape(priced)
    return Spec(S, A, H, P, R, available, terminal, eighths(S), cost)


def table_of(spec: Spec, number: Callable = lambda x: x):
    """The spec as a table, or a list of tables, with every entry passed through ``number``."""
    tables = [
        {
            s: {
                a: [
                    (number(P[s, a, t]), t, number(R[s, a, t]), t in spec.terminal)
                    for t in range(spec.S)
                ]
                for a in range(spec.A)
                if spec.available[s, a]
            }
            for s in range(spec.S)
        }
        for P, R in zip(spec.P, spec.R, strict=True)
    ]  # fmt: skip
    return tables[0] if len(tables) == 1 else tables


def costs_of(spec: Spec, number: Callable = lambda x: x):
    """The costs as dicts, or a list of dicts, with every entry passed through ``number``."""
    if spec.cost is None:
        return None
    steps = [
        {
            s: {a: number(step[s, a]) for a in range(spec.A) if spec.available[s, a]}
            for s in range(spec.S)
        }
        for step in spec.cost
    ]  # fmt: skip
    return steps[0] if len(steps) == 1 else steps


def _costs(spec: Spec, *, per_step: bool = False) -> np.ndarray | None:
    if spec.cost is None:
        return None
    if per_step:
        return np.broadcast_to(spec.cost, (spec.H, *spec.cost.shape[1:]))
    return spec.cost[0] if len(spec.cost) == 1 else spec.cost


def problem(spec: Spec, real_seed: int | None = None) -> mk.MDP:
    """The spec as a problem; with a seed, its rewards are replaced by real ones."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start, action_cost=costs_of(spec))
    if real_seed is None:
        return mdp
    rewards = np.random.default_rng(real_seed).normal(size=len(mdp.reward))
    return mdp.with_rewards(np.rint(rewards * 2**40) / 2**40)  # so that sums of them fit into 64 bits


def _dense(spec: Spec) -> mk.MDP:
    homogeneous = len(spec.P) == 1
    return mk.MDP.from_arrays(
        spec.P[0] if homogeneous else spec.P,
        spec.R[0] if homogeneous else spec.R,
        horizon=spec.H,
        start=spec.start,
        available=spec.available,
        terminal=spec.terminal,
        action_cost=_costs(spec),
    )


def _dense_per_step(spec: Spec) -> mk.MDP:
    per_step = np.broadcast_to(spec.P, (spec.H, *spec.P.shape[1:]))
    rewards = np.broadcast_to(spec.R, (spec.H, *spec.R.shape[1:]))
    available = np.broadcast_to(spec.available, (spec.H, *spec.available.shape))
    ending = np.isin(np.arange(spec.S), spec.terminal)
    return mk.MDP.from_arrays(
        *(per_step, rewards),
        **{"horizon": spec.H, "start": np.array(spec.start), "available": available, "terminal": ending},
        action_cost=_costs(spec, per_step=True),
    )


def _matrices(values: np.ndarray, form) -> list:
    return [form(step.reshape(-1, step.shape[-1])) for step in values]


def _sparse(spec: Spec) -> mk.MDP:
    P, R = _matrices(spec.P, sparse.csr_array), _matrices(spec.R, sparse.coo_array)
    P, R = (P[0], R[0]) if len(P) == 1 else (P, R)
    return mk.MDP.from_arrays(
        P,
        R,
        horizon=spec.H,
        start=spec.start,
        available=spec.available,
        terminal=spec.terminal,
        action_cost=_costs(spec),
    )


def _sparse_per_step(spec: Spec) -> mk.MDP:
    P = _matrices(np.broadcast_to(spec.P, (spec.H, *spec.P.shape[1:])), sparse.csc_matrix)
    R = spec.R if len(spec.R) > 1 or spec.H == 1 else np.broadcast_to(spec.R, (spec.H, *spec.R.shape[1:]))
    return mk.MDP.from_arrays(
        P,
        R,
        horizon=spec.H,
        start=spec.start,
        available=spec.available,
        terminal=spec.terminal,
        action_cost=_costs(spec),
    )


def _pairs(spec: Spec, form=np.asarray) -> mk.MDP:
    s, a = np.nonzero(spec.available)
    order = np.random.default_rng(0).permutation(len(s))  # in any order
    s, a = s[order], a[order]
    Q, R = ([form(step[s, a]) for step in values] for values in (spec.P, spec.R))
    Q, R = (Q[0], R[0]) if len(Q) == 1 else (Q, R)
    cost = None if spec.cost is None else spec.cost[:, s, a]
    cost = cost[0] if cost is not None and len(cost) == 1 else cost
    return mk.MDP.from_pairs(R, Q, s, a, horizon=spec.H, start=spec.start, terminal=spec.terminal, action_cost=cost)


def _split_table(spec: Spec) -> mk.MDP:
    """Outcomes halved and shuffled, states and actions in reverse, impossible ones left in."""
    random = np.random.default_rng(0)

    def scrambled(table):
        return {
            s: {
                a: [outcomes[i] for i in random.permutation(len(outcomes))]
                for a, row in reversed(actions.items())
                for outcomes in [[(p / 2, *rest) for p, *rest in row] * 2]
            }
            for s, actions in reversed(table.items())
        }

    table = table_of(spec)
    table = [scrambled(t) for t in table] if isinstance(table, list) else scrambled(table)
    return mk.MDP.from_table(table, horizon=spec.H, start=spec.start, action_cost=costs_of(spec))


def _listed_table(spec: Spec) -> mk.MDP:
    """Lists in place of dicts where all actions are offered, NumPy scalars in place of Python's."""

    def listed(table):
        return [list(actions.values()) if len(actions) == spec.A else actions for actions in table.values()]

    table = table_of(spec, np.float64)
    table = [listed(t) for t in table] if isinstance(table, list) else listed(table)
    return mk.MDP.from_table(table, horizon=spec.H, start=spec.start, action_cost=costs_of(spec, np.float64))


def _loaded(spec: Spec) -> mk.MDP:
    with tempfile.TemporaryDirectory() as folder:
        _dense(spec).save(Path(folder) / "x.npz")
        return mk.load_mdp(Path(folder) / "x.npz")


REPRESENTATIONS: dict[str, Callable[[Spec], mk.MDP]] = {
    "dense": _dense,
    "dense per step": _dense_per_step,
    "sparse": _sparse,
    "sparse per step": _sparse_per_step,
    "pairs": _pairs,
    "sparse pairs": lambda spec: _pairs(spec, sparse.csr_matrix),
    "table": problem,
    "table of fractions": lambda spec: mk.MDP.from_table(
        *(table_of(spec, Fraction),),
        **{"horizon": spec.H, "start": [Fraction(p) for p in spec.start], "action_cost": costs_of(spec, Fraction)},
    ),
    "split table": _split_table,
    "listed table": _listed_table,
    "file": _loaded,
}


def one_line(error: mk.MaxAtKError) -> None:
    """Whatever is refused is refused in a line that says why."""
    assert len(str(error).splitlines()) == 1


def decision(mdp: mk.MDP, k: int = 1, best_so_far=-math.inf, cost=0, abandon: bool = False) -> DecisionProblem:
    """A problem and its objective, as everything behind :func:`maxatk.solve` takes them."""
    return DecisionProblem(mdp, Objective(k, best_so_far, Fraction(cost), abandon))
