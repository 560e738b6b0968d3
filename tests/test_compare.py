"""The best of every class: golden values, brute force over policies, the order of classes, and certified gaps."""

import importlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import golden
import maxatk as mk
import oracles
from maxatk.comparison import enumeration
from maxatk.comparison.search import Search
from maxatk.planning.certified.plan import evidence_of
from problems import problem, specs

module = importlib.import_module("maxatk.comparison.classes")
MEAN, SINGLE, MARKOV, NO_BEST, NO_RETURN, ADAPTIVE = (
    module.MEAN, module.SINGLE, module.MARKOV, module.NO_BEST, module.NO_RETURN, module.ADAPTIVE,
)  # fmt: skip


def searched(mdp, k, **options) -> mk.Comparison:
    """A comparison in which nothing is enumerated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "options", lambda *_, **__: None)
        return mk.compare(mdp, k, **options)


@pytest.mark.parametrize(
    ("values", "row"), [(golden.MARKOV, MARKOV), (golden.NO_BEST, NO_BEST), (golden.NO_RETURN, NO_RETURN)]
)
def test_golden_values(values, row):
    for name, optima in values.items():
        for k, value in enumerate(optima, start=1):
            compared = mk.compare(golden.OPTIMA[name][0](), k)[row]
            assert compared.exact == value
            assert mk.evaluate(golden.OPTIMA[name][0](), compared.policy).exact == value


def test_golden_markov_values_of_figure1():
    for gamma, value in golden.FIGURE1_MARKOV.items():
        assert mk.compare(mk.instances.figure1(gamma=gamma), 2)[MARKOV].exact == value


@pytest.mark.parametrize("k", golden.PROPOSITION1_MARKOV_EXACT)
def test_golden_markov_values_of_proposition1(k):
    compared = mk.compare(mk.instances.proposition1(k=k), k)
    assert compared[MARKOV].exact == golden.PROPOSITION1_MARKOV_EXACT[k]


@pytest.mark.parametrize("k", [10, 100, 1000])
def test_golden_markov_values_of_proposition1_for_many_rollouts(k):
    options = enumeration.options(mk.instances.proposition1(k=k), sees_return=False)
    value = enumeration.best_selection(options, k, -math.inf).lower
    assert float(value) == pytest.approx(golden.PROPOSITION1_MARKOV[k], rel=1e-12)


@pytest.mark.slow
def test_the_windy_cliff():
    mdp = mk.instances.windy_cliff()
    compared = mk.compare(mdp, 3)  # the README has it for five
    assert compared[ADAPTIVE].lower <= golden.WINDY_CLIFF[2] + 5e-4
    assert golden.WINDY_CLIFF[2] - 5e-4 <= compared[ADAPTIVE].upper
    values = [row.lower for row in compared.rows]
    assert values[0] < values[1] < values[2] <= values[3] < values[4] < values[5]
    assert compared[SINGLE].upper - compared[SINGLE].lower <= 2 * compared.plan.stats["tol"]
    shares = [compared.share(row) for row in compared.rows]
    assert shares[0] == pytest.approx(0, abs=1e-6)
    assert shares[-1] == pytest.approx(1, abs=1e-6)
    for row in compared.rows:
        assert row.lower <= mk.evaluate(mdp, row.policy).upper
        low, high = mk.simulate(mdp, row.policy, trials=20_000, rng=0).interval(0.9997)
        assert low <= row.evaluation.upper
        assert row.evaluation.lower <= high
    text = str(compared)
    assert "mean-optimal, repeated" in text
    assert "coordinate ascent" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.slow
@settings(max_examples=25)
@given(spec=specs(), k=st.integers(1, 3), incumbent=st.sampled_from([-math.inf, 0.25]))
def test_classes_are_in_order(spec, k, incumbent):
    """Enumerated or searched: every class is at least as good as those it contains, and no better than the optimum."""
    mdp = problem(spec)
    optimum = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=incumbent).exact
    for compared in (mk.compare(mdp, k, best_so_far=incumbent), searched(mdp, k, best_so_far=incumbent)):
        for smaller, larger in [
            (MEAN, MARKOV), (MEAN, SINGLE), (MARKOV, NO_BEST), (MARKOV, NO_RETURN), (SINGLE, NO_BEST),
            (NO_BEST, ADAPTIVE), (NO_RETURN, ADAPTIVE),
        ]:  # fmt: skip
            assert compared[smaller].lower <= compared[larger].upper + 1e-12
        for row in compared.rows:
            assert row.lower <= optimum + Fraction(1, 10**12)
            assert row.lower <= row.upper
            if row.name != ADAPTIVE:
                assert row.lower == pytest.approx(float(mk.evaluate(mdp, row.policy).value), abs=1e-9)
        assert compared[ADAPTIVE].lower <= optimum <= compared[ADAPTIVE].upper


@pytest.mark.slow
@settings(max_examples=25)
@given(spec=specs(), k=st.integers(1, 3))
def test_searches_respect_enumeration(spec, k):
    """What is found is at most what there is, and its upper bound at least."""
    mdp = problem(spec)
    enumerated, compared = mk.compare(mdp, k), searched(mdp, k)
    for name in (MARKOV, NO_BEST, NO_RETURN):
        if enumerated[name].exact is not None:
            assert compared[name].lower <= enumerated[name].exact + Fraction(1, 10**12)
            assert enumerated[name].exact <= compared[name].upper + 1e-12


@pytest.mark.slow
def test_searches_mostly_find_the_best():
    """Coordinate ascent may stop early, but must not do so often: two of these 90 may."""
    missed = []
    for seed in range(30):
        mdp = mk.instances.random_sparse(3, 2, 3, successors=2, rewards=range(5), rng=seed)
        enumerated, compared = mk.compare(mdp, 2), searched(mdp, 2)
        missed += [
            (seed, name)
            for name in (MARKOV, NO_BEST, NO_RETURN)
            if enumerated[name].exact is not None and compared[name].lower < float(enumerated[name].exact) - 1e-9
        ]
    assert len(missed) <= 2, missed


@settings(max_examples=25)
@given(spec=specs(max_states=2, max_horizon=2), k=st.integers(1, 2))
def test_enumeration_against_brute_force(spec, k):
    """All policies of each class, one by one, valued by walking all paths."""
    mdp = problem(spec)
    H = mdp.horizon
    returns = sorted(
        {
            sum(combination, Fraction(0))
            for n in range(H + 1)
            for combination in itertools.product({Fraction(r) for r in mdp.reward.tolist()}, repeat=n)
        }
    )
    bests = [-math.inf, *returns]
    spots = [(h, s) for h in range(H) for s in range(mdp.n_states)]
    kinds = {
        MARKOV: [(i, h, s, None, None) for i in range(k) for h, s in spots],
        NO_BEST: [(i, h, s, None, g) for i in range(k) for h, s in spots for g in returns],
        NO_RETURN: [(i, h, s, m, None) for i in range(k) for h, s in spots for m in bests],
    }
    compared = mk.compare(mdp, k)
    for name, keys in kinds.items():
        keys = [key for key in keys if len(mdp.actions(key[1], key[2])) > 1]
        if 2 ** len(keys) > 256:
            continue
        values = []
        for taken in itertools.product(*(mdp.actions(h, s) for _, h, s, _, _ in keys)):
            table = dict(zip(keys, taken, strict=True))

            def choose(i, h, s, m, g, table=table, name=name):
                key = (i, h, s, m if name == NO_RETURN else None, g if name == NO_BEST else None)
                return table.get(key, mdp.actions(h, s)[0])

            values.append(oracles.policy_value(mdp, mk.AdaptivePolicy(choose, k, H), k))
        assert compared[name].exact == max(values)


@pytest.mark.slow
@settings(max_examples=20)
@given(spec=specs(max_states=2, max_horizon=2), k=st.integers(1, 4), seed=st.integers(0, 99))
def test_no_mixture_beats_the_certified_bound(spec, k, seed):
    """The second row against mixtures of all policies of one rollout that see their return."""
    mdp = problem(spec)
    parts = enumeration.options(mdp, sees_return=True)
    assume(parts is not None and len(parts) <= 100)
    row = mk.compare(mdp, k)[SINGLE]
    values = sorted({value for part in parts for value in part.law})
    below = np.array([[float(sum(p for v, p in part.law.items() if v <= x)) for x in values] for part in parts])
    gaps = np.diff([float(v) for v in values])

    def value(weights):
        return float(values[-1]) - ((weights @ below)[:-1] ** k) @ gaps

    random = np.random.default_rng(seed)
    mixtures = [*np.eye(len(parts)), *random.dirichlet(np.full(len(parts), 0.3), 200)]
    assert max(map(value, mixtures)) <= row.upper + 1e-12
    # The bound holds from the first step on, far from the optimum.
    search = Search(mk.solve(mdp, k), mdp.return_range[0])
    actions = [[random.choice(mdp.actions(h, s)) for s in range(spec.S)] for h in range(spec.H)]
    _, upper = search.single(search.markov_candidate(search.rows_of(np.array(actions))), tol=math.inf)
    assert max(map(value, mixtures)) <= upper + 1e-12
    # And it is reached: ascent over the weights themselves, with multiplicative steps.
    weights = np.full(len(parts), 1 / len(parts))
    for _ in range(3000):
        slope = -k * ((weights @ below)[:-1] ** (k - 1) * below[:, :-1]) @ gaps
        weights = weights * np.exp(0.5 * (slope - slope.max()) / (np.ptp(slope) + 1e-12))
        weights /= weights.sum()
    assert row.lower <= max(value(weights), *map(value, mixtures)) + 2e-3 * (1e-12 + float(values[-1] - values[0]))
    assert max(value(weights), *map(value, mixtures)) <= row.upper + 1e-12


def test_real_rewards():
    """Rounded for the search, true for the values: intervals hold, and simulation agrees."""
    mdp = mk.instances.random_sparse(8, 3, 5, successors=3, rng=3)
    mdp = mdp.with_rewards(np.random.default_rng(3).random(len(mdp.reward)))
    compared = mk.compare(mdp, 3)
    assert not evidence_of(compared.plan).method.exact
    assert [row.name for row in compared.rows] == [MEAN, SINGLE, MARKOV, NO_BEST, NO_RETURN, ADAPTIVE]
    for row in compared.rows:
        low, high = mk.simulate(mdp, row.policy, trials=20_000, rng=0).interval(0.9997)
        assert row.lower <= high
        assert low <= row.upper
    assert compared[SINGLE].upper - compared[SINGLE].lower < 0.02
    assert compared[MARKOV].lower > compared[MEAN].lower
    assert compared[ADAPTIVE].lower > compared[MARKOV].lower


def test_many_rollouts_are_searched_in_groups():
    mdp = mk.instances.random_sparse(5, 3, 4, successors=2, rewards=range(6), rng=1)
    compared = searched(mdp, 40)
    assert compared[MEAN].lower <= compared[MARKOV].lower <= compared[NO_RETURN].lower <= compared.plan.upper


def test_a_large_problem_is_not_searched(tune):
    tune(search_cells=10)
    compared = searched(mk.instances.windy_cliff(), 2)
    assert "not searched: " in compared[SINGLE].method
    assert compared[MARKOV].lower == compared[MEAN].lower
    assert compared[MARKOV].upper == compared.plan.upper
    assert not compared[MARKOV].searched
    assert compared.share(compared[MARKOV]) is None


def test_rows_come_one_by_one():
    seen = []
    compared = mk.compare(mk.instances.figure1(), 2, progress=seen.append)
    assert [row.name for row in seen] == [row.name for row in compared.rows]
    assert all(mine.upper <= row.upper for mine, row in zip(compared.rows, seen, strict=True))


def test_no_gain_to_share():
    """One action: all classes are one."""
    compared = mk.compare(mk.instances.random_sparse(3, 1, 2, successors=2, rewards=range(3), rng=0), 2)
    assert {compared.share(row) for row in compared.rows} == {None}


def test_mean_optimal_actions_of_ties_are_the_first():
    mdp = mk.MDP.from_table({0: {2: [(1, 0, 0.3, True)], 5: [(0.5, 0, 0.6, True), (0.5, 0, 0, True)]}}, horizon=1)
    assert mdp.mean_optimal_actions.tolist() == [[2]]


def test_a_search_knows_its_own_values():
    """Lattice laws of candidates against exact evaluation."""
    mdp = mk.instances.random_sparse(4, 2, 4, successors=2, rewards=range(-3, 4), rng=2)
    plan = mk.solve(mdp, 3)
    search = Search(plan, mdp.return_range[0])
    first = search.markov_candidate(search.rows_of(mdp.mean_optimal_actions))
    chosen = search.without_best(search.markov(first))
    value = search.value(np.prod([candidate.below for candidate in chosen], axis=0))
    assert mk.evaluate(mdp, search.separate(chosen)).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"k": 0}, "k must be at least 1"), ({"best_so_far": math.nan}, "best_so_far"), ({"mdp": 3}, "mdp must be a")],
)
def test_bad_input(options, message):
    arguments = {"mdp": mk.instances.figure1(), "k": 2} | options
    with pytest.raises(mk.InputError, match=message):
        mk.compare(**arguments)


# Found by a stranger.


def test_rewards_that_the_lattice_does_not_tell_apart():
    table = {
        0: {
            0: [(0.5, 0, 0.30001, False), (0.5, 0, 0.30002, False)],
            1: [(0.5, 0, math.pi, False), (0.5, 0, -1 / 3, False)],
        }
    }
    compared = mk.compare(mk.MDP.from_table(table, horizon=2), 2)
    assert compared[ADAPTIVE].lower <= compared[ADAPTIVE].upper


def test_the_gain_is_what_is_sure():
    """The smallest possible gain of a class over the largest possible gain of all."""
    compared = mk.compare(mk.instances.proposition3(), 2)
    expected = (Fraction(41, 32) - Fraction(5, 4)) / (Fraction(21, 16) - Fraction(5, 4))
    assert compared.share(compared[NO_BEST]) == pytest.approx(float(expected), abs=1e-9)


def test_rows_by_name():
    compared = mk.compare(mk.instances.figure1(), 2)
    assert list(compared) == list(compared.rows)
    with pytest.raises(mk.InputError, match="there is no row 'typo', but mean-optimal, repeated, one policy"):
        compared["typo"]
    with pytest.raises(mk.InputError, match=r"solver must be mk.Certified\(...\) or mk.cached\(...\), not"):
        mk.compare(mk.instances.figure1(), 2, solver=mk.Exact())


def test_a_bandit_with_many_arms():
    random = np.random.default_rng(0)
    arms = {a: [(0.5, 0, float(r), True), (0.5, 0, 0.0, True)] for a, r in enumerate(random.integers(1, 1000, 60))}
    compared = mk.compare(mk.MDP.from_table({0: arms}, horizon=1), 2)
    assert compared[MARKOV].exact is not None


def test_several_numbers_of_tries():
    mdp = mk.instances.figure1(gamma=0.25)
    several = mk.compare(mdp, k=range(1, 4))
    assert several.tries == [1, 2, 3]
    for n, each in zip(several.tries, several, strict=True):
        alone = mk.compare(mdp, n)
        assert [(row.lower, row.upper) for row in each] == [(row.lower, row.upper) for row in alone]
        assert several[n] is each
    columns = several.columns()
    assert columns["k"] == [n for n in (1, 2, 3) for _ in several.names]
    assert columns["policy"][:6] == several.names
    assert len(several.to_csv().splitlines()) == 19
    text = str(several)
    assert max(map(len, text.splitlines())) <= 100
    assert [line.split()[0] for line in text.splitlines() if line.strip()[:1].isdigit()] == ["1", "2", "3"]
    assert "adaptive" in several._repr_html_()
    assert "\n" not in repr(several)
    with pytest.raises(mk.InputError, match="no comparison for 7 tries, but for 1, 2, 3"):
        several[7]


@pytest.mark.parametrize(
    ("k", "message"),
    [
        ([3, 2], "k must rise, but 2 comes after 3"),
        ([2, 2], "k must rise, but 2 comes after 2"),
        ([], "k has no number of tries"),
        (["a"], "k must be an integer, not 'a'"),
        ("12", "k must be a list of numbers of rollouts, not '12'"),
        (range(0, 2), "k must be at least 1, not 0"),
    ],
)
def test_a_range_of_tries_that_makes_no_sense(k, message):
    mdp = mk.instances.figure1()
    with pytest.raises(mk.InputError, match=message):
        mk.compare(mdp, k)
    if k != []:
        with pytest.raises(mk.InputError, match=message):
            list(mk.solve_many([(mdp, k)]))


def test_a_plan_is_for_one_number_of_tries():
    plan = mk.solve("figure1", 2)
    for other in ({"plan": plan}, {"policies": {"mine": plan.policy}}):
        with pytest.raises(mk.InputError, match="for one number of tries"):
            mk.compare(plan.mdp, [1, 2], **other)


def test_one_time_limit_for_all_numbers_of_tries():
    several = mk.compare(mk.instances.windy_cliff(), [2, 3], time_limit=0)
    assert all(each.stopped for each in several)


@pytest.mark.parametrize(
    ("problems", "message"),
    [
        ([("figure1", [])], r"problems\[0\]: k has no number of tries"),
        ([("figure1", range(3, 3))], r"problems\[0\]: k has no number of tries"),
        (["figure1"], r"problems\[0\] must be a pair of a problem and a number of rollouts, not 'figure1'"),
        ([("figure1", 2, 3)], r"problems\[0\] must be a pair"),
        (3, "problems must be pairs of a problem and a number of rollouts, not 3"),
    ],
)
def test_many_problems_that_make_no_sense(problems, message):
    with pytest.raises(mk.InputError, match=message):
        list(mk.solve_many(problems))
