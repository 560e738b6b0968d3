"""The compiled sweeps against their plain-Python twins, cell by cell."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.kernels import reference
from maxatk.planning.curves import from_knots, identity
from maxatk.planning.lattice import Lattice, Slice
from problems import specs, table_of


def some_curve(mdp: mk.MDP, knots: int, random: np.random.Generator, gap: float):
    """A curve with arbitrary but consistent bounds: tangents and points of a convex function."""
    least, most = mdp.return_range
    if most - least < 1e-6:
        return identity(least, most)
    x = np.sort(random.uniform(least, most, knots + 1))
    x[0] = least
    width = most - least
    value = np.maximum(x + (most - x) ** 2 / (4 * width), least + width / 4)
    slope = np.clip(1 - (most - x) / (2 * width), 0, 1)
    slope[0] = 0
    return from_knots(least, most, x, value + gap, value - gap, slope)


def all_cells(found: Slice) -> list[tuple[int, int, int]]:
    low, high = found.layout.low, found.layout.high
    return [
        (h, s, g)
        for h in range(low.shape[0])
        for s in range(low.shape[1])
        for g in range(int(low[h, s]), int(high[h, s]) + 1)
    ]


def ends(curve):
    return lambda x: (float(curve.upper(x)), float(curve.lower(x)), curve.slope(x))


@pytest.mark.parametrize("drift", [0, 2**30])
@settings(max_examples=60)
@given(spec=specs(max_horizon=4), knots=st.integers(1, 4), at=st.floats(0, 1), seed=st.integers(0, 99))
def test_exact_sweep(drift, spec, knots, at, seed):
    table = table_of(spec, lambda x: x)
    mdp = mk.MDP.from_table(table, horizon=spec.H, start=spec.start)
    assume(not drift or not spec.terminal)  # early ends would be far apart
    mdp = mdp.with_rewards(mdp.reward + drift)
    random = np.random.default_rng(seed)
    lattice = Lattice(mdp, 0.25, exact=True)
    curve = some_curve(mdp, knots, random, 0.0)
    least, most = mdp.return_range
    m = max(least, curve.floor) + at * (most - max(least, curve.floor))
    m = 0.25 * round(m / 0.25) if seed % 2 else m
    found = Slice(lattice, lattice.tables, curve, m, keep=True)
    cells = all_cells(found)
    expected = reference.exact_cells(lattice.tables, lattice.kappa, lattice.index(m), found.idle, ends(curve), cells)
    size = 1e-13 * max(1.0, abs(most), abs(least))
    single = all(len(mdp.actions(h, s)) == 1 for h in range(mdp.horizon) for s in range(mdp.n_states))
    for cell, (value, slope) in expected.items():
        at_cell = found.cell(*cell)
        assert found.lower[at_cell] == pytest.approx(value, abs=size)
        if single:  # with a choice, equal actions may differ in slope
            assert found.slope_m[at_cell] == pytest.approx(slope, abs=1e-12)
    two = Slice(lattice, lattice.tables, curve, m)  # two layers at a time give the same numbers at the start
    assert two.at_start().tolist() == found.at_start().tolist()
    others = [
        m,
        least + 0.3 * (most - least),
        least + 0.9 * (most - least),
    ]  # several m at once: the same but for idle sums
    together = Slice(lattice, lattice.tables, curve, *others).at_start()
    alone = [Slice(lattice, lattice.tables, curve, x).at_start()[:, 0] for x in others]
    assert together == pytest.approx(np.array(alone).T, abs=size)


@settings(max_examples=80)
@given(
    spec=specs(max_horizon=3),
    kappa=st.sampled_from([0.3, 0.5, 0.7, 1.5]),
    knots=st.integers(1, 4),
    at=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_bounding_sweep(spec, kappa, knots, at, seed):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    random = np.random.default_rng(seed)
    mdp = mdp.with_rewards(mdp.reward + random.uniform(-0.1, 0.1, len(mdp.reward)))
    least, most = mdp.return_range
    assume(most - least > 1e-3)
    lattice = Lattice(mdp, kappa, exact=False)
    curve = some_curve(mdp, knots, random, 0.05)
    m = least + at * (most - least)
    found = Slice(lattice, lattice.tables, curve, m, keep=True)
    cells = all_cells(found)
    expected = reference.bound_cells(lattice.tables, lattice.kappa, m, lattice.index(m), found.idle, ends(curve), cells)
    for cell, (upper, lower, _, _) in expected.items():
        at_cell = found.cell(*cell)
        assert found.upper[at_cell] == pytest.approx(upper, abs=1e-12)
        assert found.lower[at_cell] == pytest.approx(lower, abs=1e-12)


@settings(max_examples=60)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 99), kappa=st.sampled_from([0.3, 0.7]))
def test_slopes_where_they_are_unique(spec, seed, kappa):
    """With one action nothing ties but kinks of the curve, which random rewards avoid: slopes must agree, too."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    random = np.random.default_rng(seed)
    assume(all(len(mdp.actions(h, s)) == 1 for h in range(mdp.horizon) for s in range(mdp.n_states)))
    mdp = mdp.with_rewards(mdp.reward + random.uniform(-0.1, 0.1, len(mdp.reward)))
    least, most = mdp.return_range
    assume(most - least > 1e-3)
    lattice = Lattice(mdp, kappa, exact=False)
    curve = some_curve(mdp, 3, random, 0.05)
    m = least + 0.6 * (most - least)
    found = Slice(lattice, lattice.tables, curve, m, keep=True)
    cells = all_cells(found)
    expected = reference.bound_cells(lattice.tables, lattice.kappa, m, lattice.index(m), found.idle, ends(curve), cells)
    for cell, numbers in expected.items():
        at_cell = found.cell(*cell)
        got = (found.upper[at_cell], found.lower[at_cell], found.slope_g[at_cell], found.slope_m[at_cell])
        assert got == pytest.approx(numbers, abs=1e-12)
