"""The compiled sweeps against their plain-Python twins, cell by cell."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maxatk as mk
import reference_kernels
from maxatk import kernels
from maxatk.comparison.search import Search
from maxatk.kernels import compiled
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.curves import from_knots, identity
from maxatk.planning.certified.plan import evidence_of
from methods import decided, off_lattice, on_lattice, planes, values
from problems import problem, specs, table_of

GOING = np.zeros(1, np.int8)  # nobody asks to stop


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


def idle(curve, m):
    return float(curve.upper(m)), float(curve.lower(m)), curve.slope(m)


def at(layout, h, s, g):
    return int(layout.place[h, s]) + g


def all_cells(swept) -> list[tuple[int, int, int]]:
    low, high = swept.layout.low, swept.layout.high
    return [
        (h, s, g)
        for h in range(low.shape[0])
        for s in range(low.shape[1])
        for g in range(int(low[h, s]), int(high[h, s]) + 1)
    ]


def ends(curve):
    return lambda x: (float(curve.upper(x)), float(curve.lower(x)), curve.slope(x))


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0, 2**30])
@settings(max_examples=60)
@given(spec=specs(max_horizon=4), knots=st.integers(1, 4), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_whole_sweep(drift, spec, knots, share, seed):
    table = table_of(spec, lambda x: x)
    mdp = mk.MDP.from_table(table, horizon=spec.H, start=spec.start)
    assume(not drift or not spec.terminal)  # early ends would be far apart
    mdp = mdp.with_rewards(mdp.reward + drift)
    random = np.random.default_rng(seed)
    method = on_lattice(mdp, 0.25)
    curve = some_curve(mdp, knots, random, 0.0)
    least, most = mdp.return_range
    m = max(least, curve.floor) + share * (most - max(least, curve.floor))
    m = 0.25 * round(m / 0.25) if seed % 2 else m
    swept = values(method, curve, m)
    cells = all_cells(swept)
    expected = reference_kernels.exact_cells(
        method.tables, method.lattice.kappa, method.lattice.index(m), idle(curve, m), ends(curve), cells
    )
    size = 1e-13 * max(1.0, abs(most), abs(least))
    single = all(len(mdp.actions(h, s)) == 1 for h in range(mdp.horizon) for s in range(mdp.n_states))
    for cell, (value, slope) in expected.items():
        at_cell = swept.cell(*cell)
        assert swept.value[at_cell, 0] == pytest.approx(value, abs=size)
        if single:  # with a choice, equal actions may differ in slope
            assert swept.slope[at_cell, 0] == pytest.approx(slope, abs=1e-12)
    two = values(method, curve, m, keep=False)  # two layers at a time give the same numbers at the start
    assert two.result().tolist() == swept.result().tolist()
    others = [
        m,
        least + 0.3 * (most - least),
        least + 0.9 * (most - least),
    ]  # several m at once: the same but for idle sums
    together = values(method, curve, *others, keep=False).result()
    alone = [values(method, curve, x, keep=False).result()[:, 0] for x in others]
    assert together == pytest.approx(np.array(alone).T, abs=size)


@settings(max_examples=80)
@given(
    spec=specs(max_horizon=3),
    kappa=st.sampled_from([0.3, 0.5, 0.7, 1.5]),
    knots=st.integers(1, 4),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_bounding_sweep(spec, kappa, knots, share, seed):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    random = np.random.default_rng(seed)
    mdp = mdp.with_rewards(mdp.reward + random.uniform(-0.1, 0.1, len(mdp.reward)))
    least, most = mdp.return_range
    assume(most - least > 1e-3)
    method = off_lattice(mdp, kappa)
    curve = some_curve(mdp, knots, random, 0.05)
    m = least + share * (most - least)
    swept = planes(method, curve, m)
    cells = all_cells(swept)
    expected = reference_kernels.bound_cells(
        method.tables, method.lattice.kappa, m, method.lattice.index(m), idle(curve, m), ends(curve), cells
    )
    for cell, (upper, lower, _, _) in expected.items():
        at_cell = at(swept.layout, *cell)
        assert swept.planes.upper[at_cell] == pytest.approx(upper, abs=1e-12)
        assert swept.planes.lower[at_cell] == pytest.approx(lower, abs=1e-12)


@settings(max_examples=60)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 99), kappa=st.sampled_from([0.3, 0.7]))
def test_slopes_where_they_are_unique(spec, seed, kappa):
    """With one action nothing ties but kinks of the curve, which random rewards avoid: slopes must agree, too."""
    mdp = problem(spec)
    random = np.random.default_rng(seed)
    assume(all(len(mdp.actions(h, s)) == 1 for h in range(mdp.horizon) for s in range(mdp.n_states)))
    mdp = mdp.with_rewards(mdp.reward + random.uniform(-0.1, 0.1, len(mdp.reward)))
    least, most = mdp.return_range
    assume(most - least > 1e-3)
    method = off_lattice(mdp, kappa)
    curve = some_curve(mdp, 3, random, 0.05)
    m = least + 0.6 * (most - least)
    swept = planes(method, curve, m)
    cells = all_cells(swept)
    expected = reference_kernels.bound_cells(
        method.tables, method.lattice.kappa, m, method.lattice.index(m), idle(curve, m), ends(curve), cells
    )
    for cell, numbers in expected.items():
        got = [column[at(swept.layout, *cell)] for column in swept.planes[:4]]
        assert got == pytest.approx(numbers, abs=1e-12)


@settings(max_examples=60)
@given(spec=specs(max_horizon=3), knots=st.integers(1, 4), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_acting_and_walking_on_a_whole_slice(spec, knots, share, seed):
    """Decisions are best rows by the values of the slice, and so are greedy ones; and where these lead to."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    method = on_lattice(mdp, 0.25)
    tables = method.tables
    curve = some_curve(mdp, knots, np.random.default_rng(seed), 0.0)
    least, most = mdp.return_range
    m = max(least, curve.floor) + share * (most - max(least, curve.floor))
    swept, acting = values(method, curve, m), decided(method, Task(curve, (m,)))
    assert acting.choice.dtype == np.uint8
    place, value = swept.layout.place, swept.value[:, 0]

    def worth(row, h, g):
        outcomes = range(tables.rows.outcome_start[row], tables.rows.outcome_start[row + 1])
        after = [place[h + 1, tables.rows.next_state[o]] + g + tables.moves.jump[o] for o in outcomes]
        return sum(tables.rows.prob[o] * value[x] for o, x in zip(outcomes, after, strict=True))

    choice = np.full(len(value), -1)
    kernels.choose_greedily(tables, swept.layout, value, choice, GOING)
    for h, s, g in all_cells(swept):
        node = int(tables.rows.step_layer[h]) * mdp.n_states + s
        rows = range(tables.rows.pair_start[node], tables.rows.pair_start[node + 1])
        asked = np.array([g, int(swept.layout.low[h, s]) - 1])
        row, when_idle = acting.rows(h, np.array([s, s]), asked, np.zeros(2), np.zeros(2)).tolist()
        best = max(worth(r, h, g) for r in rows)
        assert row in rows
        assert worth(row, h, g) == pytest.approx(best, abs=1e-12)
        assert worth(choice[swept.cell(h, s, g)], h, g) == pytest.approx(best, abs=1e-12)
        assert all(worth(r, h, g) < best + 1e-12 for r in range(rows[0], row))  # of equals, the first
        assert when_idle == rows[0]
    mass = np.zeros(len(value))
    law = {}  # (step, state, g) -> probability, walked in Python
    for p, s in zip(mdp.reset_prob, mdp.start_state.tolist(), strict=True):
        if swept.cell(0, s, 0) is not None:
            mass[swept.cell(0, s, 0)] += p
            law[0, s, 0] = law.get((0, s, 0), 0.0) + p
    expected = np.zeros(len(value))
    for h in range(mdp.horizon):
        for (step, s, g), p in sorted(law.items()):
            if step == h and s < mdp.n_states and swept.cell(h, s, g) is not None:
                expected[swept.cell(h, s, g)] += p
                row = choice[swept.cell(h, s, g)]
                for o in range(tables.rows.outcome_start[row], tables.rows.outcome_start[row + 1]):
                    t = int(tables.rows.next_state[o]) if h + 1 < mdp.horizon else mdp.n_states
                    key = (h + 1, t, g + int(tables.moves.jump[o]))
                    law[key] = law.get(key, 0.0) + p * tables.rows.prob[o]
    for (step, s, g), p in law.items():
        if s == mdp.n_states:
            expected[place[step, s] + g] += p
    kernels.carry_forward(tables, swept.layout, choice, mass, GOING)
    for h, s, g in all_cells(swept):
        assert mass[swept.cell(h, s, g)] == pytest.approx(expected[swept.cell(h, s, g)], abs=1e-12)
    ends = len(swept.cells.final)
    assert mass[:ends] == pytest.approx(expected[:ends], abs=1e-12)


@settings(max_examples=60)
@given(
    spec=specs(max_horizon=3),
    kappa=st.sampled_from([0.3, 0.7]),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_best_planes(spec, kappa, share, seed):
    """At every cell, off the lattice in both directions, the best of all planes that a walk may have drifted to."""
    mdp = problem(spec)
    random = np.random.default_rng(seed)
    mdp = mdp.with_rewards(mdp.reward + random.uniform(-0.1, 0.1, len(mdp.reward)))
    least, most = mdp.return_range
    assume(most - least > 1e-3)
    method = off_lattice(mdp, kappa)
    curve = some_curve(mdp, 3, random, 0.05)
    m = least + share * (most - least)
    swept = planes(method, curve, m)
    kept, (_, idle_lower, idle_slope) = swept.planes, idle(curve, m)
    for h, s, g in all_cells(swept):
        off_m, G = random.uniform(-0.2, 0.2), kappa * (g + random.uniform(0, 1))
        best, row = idle_lower + idle_slope * off_m, -1
        for near in range(g - h, g + 1 + h + 1):
            if swept.layout.low[h, s] <= near <= swept.layout.high[h, s]:
                cell = at(swept.layout, h, s, near)
                plane = kept.lower[cell] + kept.slope_g[cell] * (G - kappa * near) + kept.slope_m[cell] * off_m
                if kept.choice[cell] != 255 and plane > best:
                    best, row = plane, int(kept.choice[cell])
        got, got_row = kernels.best_planes(
            *(method.tables, swept.layout, swept.ends, kept),
            *(h, np.array([s]), np.array([off_m]), np.array([G])),
        )
        assert got[0] == pytest.approx(best, abs=1e-12)
        assert got_row[0] == row or got[0] == pytest.approx(idle_lower + idle_slope * off_m, abs=1e-12)


def test_draws_are_the_inverse_of_the_distribution_function():
    start = np.array([0, 3, 4])
    prob = np.array([0.2, 0.5, 0.3, 1.0])
    uniform = np.array([0.0, 0.19, 0.2, 0.69, 0.71, 0.999999, 0.5])
    rows = np.array([0, 0, 0, 0, 0, 0, 1])
    assert kernels.draw_outcomes(start, prob, rows, uniform).tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_rows_of_actions():
    pairs, action = np.array([0, 2, 3, 5]), np.array([0, 4, 1, 0, 2], np.int32)
    state, wanted = np.array([0, 0, 1, 2, 2, 1]), np.array([4, 1, 1, 0, 2, 0])
    assert kernels.rows_of_actions(pairs, action, state, wanted).tolist() == [1, -1, 2, 3, 4, -1]


@pytest.mark.slow
@settings(max_examples=60)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 99), k=st.integers(1, 3))
def test_bettered_rows(spec, seed, k):
    """From any Markov policy: what is gained is what the value rises by, until no single change helps.

    With one rollout every ascent ends at the mean-optimal value.
    """
    mdp = problem(spec)
    plan = mk.solve(mdp, k)
    assume(evidence_of(plan).method.exact)
    search = Search(plan, mdp.return_range[0])
    random = np.random.default_rng(seed)
    actions = np.array([[random.choice(mdp.actions(h, s)) for s in range(spec.S)] for h in range(spec.H)])
    rows = search.rows_of(actions)
    others = search.markov_candidate(rows).below ** (k - 1)
    swept = search._slice(search._curve(search.payoff(others)))

    def paid(rows) -> float:
        return search.value(others * search.markov_candidate(rows).below)

    for _ in range(20):
        before, choice, value = paid(rows), np.zeros(len(swept.value), np.int64), swept.value[:, 0].copy()
        kernels.choose_by_state(swept.layout, rows, choice)
        mass = search._mass(swept, choice)
        gained = kernels.improve_rows(swept.cells.tables, swept.layout, swept.idle_value[0], mass, value, rows, GOING)
        assert paid(rows) - before == pytest.approx(gained, abs=1e-9)
        if gained <= 1e-12:
            break
    for h in range(spec.H):
        for s in range(spec.S):
            for a in mdp.actions(h, s):
                changed = actions_of(mdp, rows)
                changed[h, s] = a
                assert paid(search.rows_of(changed)) <= paid(rows) + 1e-9
    if k == 1:
        policy = mk.MarkovPolicy(actions_of(mdp, rows), k=1)
        assert mk.evaluate(mdp, policy).value == pytest.approx(plan.lower, abs=1e-9)


def actions_of(mdp, rows):
    return mdp.action[rows].astype(np.int64)


def test_without_the_compiler():
    """Loops run as plain Python then, and nothing is kept of them on disk."""
    code = (
        "import maxatk as mk; from maxatk.kernels.compiled import kept; from maxatk.report.versions import _compiled;"
        "print(mk.solve(mk.instances.figure1(gamma=0.25), k=2).lower, kept(), _compiled())"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    value, rest = done.stdout.split(maxsplit=1)
    assert float(value) == pytest.approx(0.5625, abs=1e-9)
    assert rest.strip() == "(None, 0) compiled loops: none are kept"


def test_a_compiler_that_keeps_its_files_otherwise():
    """Parts of Numba that are not public may be gone: then nothing is done about old files."""
    for loop in (object(), type("Loop", (), {"_cache": object()})()):
        compiled._distrust_old_files(loop)
