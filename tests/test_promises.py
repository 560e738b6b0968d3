"""What is promised holds for those, too, who look for where it does not: heavy tails, near ties, numbers of any size.

The invariant behind a plan's lower bound (docs/theory/planner.md, 8): from every rollout and every best return on, the
policy earns at least what the lower bound of that rollout's curve says there.
"""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.tuning import tuned
from maxatk.laws.forward import Propagation
from maxatk.laws.units import Units
from maxatk.planning.certified.plan import evidence_of
from maxatk.policies.hooks import traits
from oracles import policy_value

BRANCHES = {  # settings that lead small problems where only large ones come otherwise
    "as it is": {},
    "knots": {"small_slice": -1},
    "coarse": {"coarse_points": 5},
    "no common step": {"common_points": -1},
    "refined to a common step": {"exact_points": 1},
    "no table": {"table_points": 1},
    "no table, knots": {"table_points": 1, "small_slice": -1},
}


def heavy(seed: int, real: bool) -> mk.MDP:
    """Small gains beside losses up to 10^5 times as large, whose chances nearly level out: near ties for the mean."""
    random = np.random.default_rng(seed)
    S, H = int(random.integers(1, 3)), int(random.integers(1, 3))
    scale = float(10 ** random.uniform(1, 5))

    def amount(x: float) -> float:
        return x if real else float(np.rint(x))

    def row() -> list[tuple[float, int, float, bool]]:
        gain, loss = amount(random.uniform(1, 12)), -amount(scale * random.uniform(0.5, 1))
        level = gain / (gain - loss)  # with this chance of the loss the mean is 0
        p = float(np.clip(level * (1 + random.choice([0, 1e-12, -1e-9, 1e-3, 0.3, -0.3])), 1e-9, 0.99))
        ends = bool(random.random() < 0.3)
        kinds = [
            [(1.0, 0, 0.0, ends)],
            [(1 - p, 0, gain, ends), (p, 0, loss, True)],
            [(0.5, S - 1, gain, ends), (0.5, 0, loss, ends)],
            [(0.5 - p / 2, 0, gain, ends), (0.5 - p / 2, S - 1, amount(gain / 3), ends), (p, 0, loss, ends)],
        ]
        return kinds[int(random.integers(len(kinds)))]

    table = {s: {a: row() for a in range(int(random.integers(2, 4)))} for s in range(S)}
    return mk.MDP.from_table(table, horizon=H)


def best_returns(plan, i: int) -> list[float]:
    """Best returns at which something changes in rollout ``i``, those beside them, and none at all."""
    least, most = plan.mdp.return_range
    curve = evidence_of(plan).curves[i]
    places = [
        *curve.line_end,
        *curve.line_knot,
        curve.floor,
        evidence_of(plan).start,
        least,
        most,
        plan.mdp.analysis.mean_optimal[1],
    ]
    bests = {float(x) for x in places if math.isfinite(x)}
    span = most - least
    bests |= {x + step for x in list(bests) for step in (1e-9 * span, -1e-9 * span, 0.01 * span, -0.2 * span)}
    return [-math.inf, *sorted(bests)]


def check_every_line(plan) -> None:
    """The invariant, in fractions, from every rollout but the first; and from the first the plan's lower bound."""
    mdp, k = plan.mdp, plan.k
    assert policy_value(mdp, plan.policy, k, plan.best_so_far) >= Fraction(plan.lower)
    if evidence_of(plan).repeats_mean:
        return
    for i in range(1, k):
        for m in best_returns(plan, i)[::3] if k > 2 else best_returns(plan, i):
            promised = Fraction(float(evidence_of(plan).curves[i].lower(m))) - Fraction(evidence_of(plan).rounding)
            assert policy_value(mdp, plan.policy, k, m, first=i) >= promised, (i, m)


@pytest.mark.slow
@pytest.mark.parametrize("branch", BRANCHES)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    real=st.booleans(),
    k=st.integers(1, 4),
    tol=st.sampled_from([None, 1e-6, 1e-2, 0.3]),
    incumbent=st.sampled_from([-math.inf, -math.inf, 0.0, 3.3, -50.0, 1e6]),
)
def test_every_line_is_earned(branch, seed, real, k, tol, incumbent):
    """Whatever the lattice, the slices that are acted on, and the tolerance, which here is a share of the range."""
    mdp = heavy(seed, real)
    least, most = mdp.return_range
    with tuned(**BRANCHES[branch]):
        width = None if tol is None else tol * (most - least)
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=width, threads=1, time_limit=5), best_so_far=incumbent)
        optimum = mk.solve(mdp, k, solver=mk.Exact(), best_so_far=incumbent).exact
        assert Fraction(plan.lower) <= optimum <= Fraction(plan.upper)
        check_every_line(plan)


@pytest.mark.parametrize("branch", ["as it is", "knots"])
@pytest.mark.parametrize("p", [0.2757, 0.2757115800073742])
@pytest.mark.parametrize("tol", [2, None])
@pytest.mark.parametrize("digits", [0.123456789, 0.0])
def test_a_line_far_below_the_floor(branch, p, tol, digits, tune):
    """Promised was the mean, but the policy that acted there maximised E max(floor, R): 6.89 against -67."""
    tune(**BRANCHES[branch])
    D, b, top = 1000 + digits, 9 + digits, 10 + digits
    table = {
        0: {
            0: [(1, 0, 0, True)],
            1: [(1 - p, 0, b, True), (p, 0, -D, True)],
            2: [(0.5, 0, top, True), (0.5, 0, -D, True)],
        }
    }
    check_every_line(mk.solve(mk.MDP.from_table(table, horizon=1), 2, solver=mk.Certified(tol=tol)))


@pytest.mark.slow
@pytest.mark.parametrize("branch", ["as it is", "knots"])
def test_a_certain_best_return_is_taken(branch, tune):
    """Where the largest return is certain every state is idle in its slice, but the first action is not the one."""
    tune(**BRANCHES[branch])
    for sure in (5.0, 5.123456789):
        table = {0: {0: [(0.5, 0, sure, True), (0.5, 0, -30, True)], 1: [(1, 0, sure, True)]}}
        check_every_line(mk.solve(mk.MDP.from_table(table, horizon=1), 3))


def test_repeating_the_mean_is_a_floor():
    """Pass or fail: repeating is optimal, and no plan promises less, however little it was asked for."""
    table = {0: {0: [(0.3, 0, 1, True), (0.7, 0, 0, True)], 1: [(0.29, 0, 1, True), (0.71, 0, 0, True)]}}
    mdp = mk.MDP.from_table(table, horizon=1)
    for tol, limit in ((0.9, None), (1e-9, None), (1e-9, 0.0)):
        plan = mk.solve(mdp, 5, solver=mk.Certified(tol=tol, time_limit=limit))
        floor = 0.3 if limit == 0.0 else 1 - 0.7**5
        assert plan.lower >= floor - 1e-12
        assert policy_value(mdp, plan.policy, 5) >= Fraction(plan.lower)


# Numbers of any size.


def coin(r: float) -> mk.MDP:
    return mk.MDP.from_table({0: {0: [(0.5, 0, 0, False), (0.5, 0, r, False)], 1: [(1, 0, 0.5, False)]}}, horizon=2)


@pytest.mark.parametrize("make", [lambda: coin(1), lambda: mk.instances.random_sparse(3, 2, 2, rng=3)])
def test_any_best_return_and_return_so_far(make):
    """What lies beyond all that the problem can bring is answered as what decides alike, in bulk and one by one."""
    mdp = make()
    policy = mk.solve(mdp, 2).policy
    sizes = [0.0, 0.25, 2.2e9, -2.2e9, 1e10, -1e10, 1e20, 1e300, -1e300, 1.7e308, -1.7e308]
    for best, so_far, h in itertools.product([-math.inf, *sizes], sizes, range(2)):
        answer = policy.action(rollout=1, step=h, state=0, best=best, so_far=so_far)
        assert answer in mdp.actions(h, 0)
    assert (
        policy.action(rollout=1, step=0, state=0, best=-math.inf, so_far=1e300)
        == mdp.action[mdp.analysis.mean_optimal[0][0, 0]]
    )


def test_a_return_beyond_all_returns_decides_by_the_difference():
    """Beyond the greatest return both are worth themselves: shifting M and G alike changes nothing."""
    policy = mk.solve(coin(1), 2).policy
    most = coin(1).return_range[1]
    for h, so_far, shift in itertools.product(range(2), [0.0, 0.5, 1.0, 1.5], [1.0, 2.0**40]):
        near, far = (policy.action(rollout=1, step=h, state=0, best=most + x, so_far=so_far + x) for x in (0.0, shift))
        assert near == far


@pytest.mark.parametrize("r", [2.2e9, 1e10, 1e18, 1e300])
def test_a_policy_in_a_problem_with_other_returns(r):
    evaluation = mk.evaluate(coin(r), mk.solve(coin(1), 2).policy)
    assert 0 <= evaluation.lower <= evaluation.upper <= 2 * r
    trial = mk.solve(coin(1), 2).policy.begin()
    for _ in range(4):
        trial.act(0)
        trial.observe(r)
    assert trial.best == 2 * Fraction(r)
    assert mk.simulate(coin(r), mk.solve(coin(1), 2).policy, trials=100, rng=0).best.max() <= 2 * r


@pytest.mark.parametrize("size", [10**7, 3 * 10**8, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_large_integers_with_early_ends(size, k):
    """Rollouts that end early have returns far from the others, and nothing between."""
    for a, b in ((False, True), (True, False), (True, True)):
        table = {
            0: {0: [(0.5, 0, size, a), (0.5, 1, size + 1, b)], 1: [(1, 1, size, False)]},
            1: {0: [(0.25, 0, size, True), (0.75, 1, size + 1, False)]},
        }
        mdp = mk.MDP.from_table(table, horizon=2)
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-3))
        optimum = mk.solve(mdp, k, solver=mk.Exact()).exact
        assert Fraction(plan.lower) <= optimum <= Fraction(plan.upper)
        assert plan.status in (mk.Status.WITHIN_TOL, mk.Status.ROUNDING)
        assert plan.gap <= 1e-12 * size + 1e-3
        check_every_line(plan)


@pytest.mark.parametrize("incumbent", [1e20, 1e300, -1e20, Fraction(1, 3), Fraction(10**400, 10**395), 0.75])
def test_any_incumbent(incumbent):
    mdp = mk.instances.figure1()
    plan = mk.solve(mdp, 2, best_so_far=incumbent)
    optimum = mk.solve(mdp, 2, solver=mk.Exact(), best_so_far=incumbent).exact
    assert Fraction(plan.lower) <= optimum <= Fraction(plan.upper)
    evaluation = mk.evaluate(mdp, plan.policy)
    assert Fraction(evaluation.lower) <= policy_value(mdp, plan.policy, 2, incumbent) <= Fraction(evaluation.upper)
    assert mk.simulate(mdp, plan.policy, trials=10, rng=0).best.min() >= float(incumbent)
    seen = []
    policy = mk.AdaptivePolicy(lambda i, h, s, m, g: seen.append(m) or 0, 2, 1, incumbent)
    mk.evaluate(mdp, policy)
    assert not seen or seen[0] == incumbent  # the policy sees what is in hand, not what it is as good as


@pytest.mark.parametrize("tiny", [1e-308, 5e-324, Fraction(1, 10**400)])
def test_rewards_that_floats_cannot_tell_apart(tiny):
    """Alone they are refused at the gate; beside others they count for what they are."""
    table = {0: {0: [(0.3, 0, 3 * tiny, True), (0.7, 0, tiny, True)]}}
    with pytest.raises(
        mk.InputError, match=r"row \(state 0, action 0, step 0\): the largest reward of all is below 1e-300"
    ):
        mk.MDP.from_table(table, horizon=1)
    table[0][1] = [(0.5, 0, 1, True), (0.5, 0, tiny, True)]
    mdp = mk.MDP.from_table(table, horizon=1)
    plan = mk.solve(mdp, 3)
    assert Fraction(plan.lower) <= mk.solve(mdp, 3, solver=mk.Exact()).exact <= Fraction(plan.upper)
    check_every_line(plan)


def test_tenths_beside_fractions_have_a_common_step():
    """Fractions in one column leave the floats of the other alone; beside fractions a float counts as what it means."""
    third = Fraction(1, 3)
    for rewards in ([0.1, 0.7], [0.1, Fraction(1, 2)]):
        table = {0: {0: [(third, 0, rewards[0], False), (1 - third, 0, rewards[1], False)]}}
        plan = mk.solve(mk.MDP.from_table(table, horizon=3), 2, solver=mk.Certified(tol=0.0, time_limit=60))
        assert plan.stats["exact_lattice"]
        assert plan.status == "rounding"
        assert Fraction(plan.lower) <= mk.solve(plan.mdp, 2, solver=mk.Exact()).exact <= Fraction(plan.upper)


# Very many rollouts.


@pytest.mark.slow
@pytest.mark.parametrize("k", [10**5, 2**31 - 1])
def test_very_many_rollouts(k, tmp_path):
    mdp = mk.instances.figure1()
    plan = mk.solve(mdp, k)
    assert plan.upper == 1  # no upper bound exceeds the greatest return
    assert 1 - 1e-4 <= plan.lower <= 1
    assert len(evidence_of(plan).curves.tail) < 1000
    assert plan.policy.action(rollout=k - 1, step=0, state=0, best=0.5, so_far=0) == 1
    assert mk.evaluate(mdp, plan.policy).lower >= plan.lower
    plan.save(tmp_path / "x.plan")
    assert mk.load_plan(tmp_path / "x.plan", mdp).curve(k // 2, 0.5) == plan.curve(k // 2, 0.5)


def test_a_curve_that_stands_for_many_is_theirs():
    """From far fewer rollouts on it is: no curve of the tail contradicts the exact one."""
    mdp, k = mk.instances.figure1(), 200
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-9))
    assert len(evidence_of(plan).curves.tail) < k
    for i in (1, 2, k - len(evidence_of(plan).curves.tail), k - 3):
        exact = mk.solve(mdp, k - i, solver=mk.Exact(), best_so_far=0.5).exact
        lower, upper = plan.curve(i, 0.5)
        assert Fraction(lower) <= exact <= Fraction(upper)


@pytest.mark.parametrize(
    "use",
    [
        lambda k: mk.solve(mk.instances.figure1(), k),
        lambda k: mk.solve(mk.instances.figure1(), k, solver=mk.Exact()),
        lambda k: mk.MarkovPolicy([[0]], k=k),
        lambda k: mk.compare(mk.instances.figure1(), k),
        lambda k: mk.learn(mk.TabularModel(mk.instances.figure1()), k, epsilon=0.1, delta=0.1),
    ],
)
def test_more_rollouts_than_can_be_counted(use):
    with pytest.raises(mk.InputError, match="k must be at most 2147483647, not 1000000000000"):
        use(10**12)


# Curves and laws.


@pytest.mark.parametrize("limit", [None, 0.0])
def test_the_curve_before_the_first_rollout_agrees_with_the_plan(limit):
    """Also where the search gave up: what was not planned is open up to the greatest return."""
    for mdp, incumbent in (
        (mk.instances.figure1(), -math.inf),
        (mk.instances.figure1(), 0.5),
        (mk.instances.proposition3(), 0.4),
        (mk.instances.random_sparse(3, 2, 2, rng=0), -math.inf),
    ):
        plan = mk.solve(mdp, 3, solver=mk.Certified(time_limit=limit), best_so_far=incumbent)
        assert plan.curve(0, incumbent)[0] >= plan.lower
        assert plan.curve(0, incumbent)[1] <= plan.upper
        oracle = mk.solve(mdp, 3, solver=mk.Exact())
        least, most = mdp.return_range
        for m in (-math.inf, least - 1, *np.linspace(least, most, 9), Fraction(1, 3), most + 1):
            for i in range(4):
                lower, upper = plan.curve(i, m)
                if i == 3 and m == -math.inf:
                    continue
                assert Fraction(lower) <= oracle.table.curve(i, m) <= Fraction(upper)
                assert upper <= max(float(m), most)


def test_a_law_at_the_rounding_of_a_return():
    """Two returns that a float lies between: what is at most that float is known."""
    third = Fraction(1, 3)
    table = {0: {0: [(0.4737, 0, third, True), (0.5263, 0, 0, True)]}}
    law = mk.evaluate(mk.MDP.from_table(table, horizon=1), mk.MarkovPolicy([[0]], k=1))
    at = float(third)  # below a third
    assert law.cdf(at)[1] < 0.53
    assert law.cdf(math.nextafter(at, 1))[0] > 0.99


def test_midpoint_plans_can_be_sent_away():
    plan = mk.solve(mk.instances.figure1(), 2, solver=mk.Midpoint(0.25))
    copy = pickle.loads(pickle.dumps(plan.policy))
    at = {"rollout": 0, "step": 0, "state": 0, "best": -math.inf, "so_far": 0}
    assert copy.action(**at) == plan.policy.action(**at)
    assert traits(copy).memory(Fraction(1, 2)) == Fraction(5, 8)


def test_a_problem_is_the_same_when_it_is_saved(tmp_path):
    """Probabilities that do not sum to 1 beside a fraction; fractions that do not, either."""
    for p, q in ((0.3333333, 0.6666666), (Fraction(3333333, 10**7), 0.6666666), (Fraction(1, 3), Fraction(2, 3))):
        for reward in (Fraction(1, 3), 0.5):
            mdp = mk.MDP.from_table({0: {0: [(p, 0, reward, True), (q, 0, 0, True)]}}, horizon=1)
            mdp.save(tmp_path / "x.npz")
            again = mk.load_mdp(tmp_path / "x.npz")
            assert again == mdp
            assert again.exact_outcomes(0, 0, 0) == mdp.exact_outcomes(0, 0, 0)
            mk.solve(mdp, 2).save(tmp_path / "x.plan", with_problem=True)
            assert mk.load_plan(tmp_path / "x.plan").mdp == mdp


def test_a_plan_with_a_single_possible_return_is_read_back(tmp_path):
    mdp = mk.MDP.from_table({0: {0: [(1, 0, 0.123456789, True)]}}, horizon=1)
    plan = mk.solve(mdp, 2)
    plan.save(tmp_path / "x.plan")
    loaded = mk.load_plan(tmp_path / "x.plan", mdp)
    assert (loaded.lower, loaded.upper) == (plan.lower, plan.upper)
    assert (evidence_of(loaded).rounding, evidence_of(loaded).tol) == (
        evidence_of(plan).rounding,
        evidence_of(plan).tol,
    )
    assert Fraction(plan.lower) <= Fraction(0.123456789) <= Fraction(plan.upper)


# Rounding errors are counted where they arise.


def test_every_step_of_a_propagation_counts_its_rounding():
    """A product of so many factors, each rounded, in sums of so many terms (docs/theory/evaluation.md, 1)."""
    b, H = 5, 40
    table = {0: {0: [(1 / b, 0, float(j), False) for j in range(b)]}}
    mdp = mk.MDP.from_table(table, horizon=H)
    policy = mk.MarkovPolicy([[0]] * H, k=1)
    walk = Propagation(mdp, Units.of(mdp, policy), 0.0, 10**6)
    bests = walk.rollout(policy, 0, walk.first(-math.inf), later=False)
    assert len(bests.prob) > 100
    assert walk.error >= H * (b + 4) * 2.0**-53 + H * 2.0**-53  # each step's, and that of adding up


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_bins_count_the_rounding_of_large_returns(offset, tune):
    """In bins returns are floats: with rewards of 10^9 and many steps their last digits go, and bounds allow for it."""
    tune(few_outcomes=-1, most_outcomes=-1)
    random = np.random.default_rng(0)
    H = 60
    for _ in range(20):
        rewards = (offset + random.random(3)).tolist()
        probs = random.dirichlet(np.ones(3)).tolist()
        row = [(p, 0, r, False) for p, r in zip(probs, rewards, strict=True)]
        mdp = mk.MDP.from_table({0: {0: row}}, horizon=H)
        evaluation = mk.evaluate(mdp, mk.MarkovPolicy([[0]] * H, k=1), max_atoms=300)
        (exact,) = [sum(p * r for p, _, r in mdp.exact_outcomes(0, 0, 0))]
        assert Fraction(evaluation.lower) <= H * exact <= Fraction(evaluation.upper)


def test_an_interrupted_midpoint_plan_says_so():
    def interrupt(at):
        raise KeyboardInterrupt

    mdp = mk.instances.random_sparse(3, 2, 2, rng=0)
    mdp = mdp.with_rewards(np.random.default_rng(0).random(len(mdp.reward)))
    plan, whole = (mk.solve(mdp, 3, solver=mk.Midpoint(1 / 50), progress=tell) for tell in (interrupt, False))
    assert (plan.status, whole.status) == (mk.Status.INTERRUPTED, mk.Status.WITHIN_TOL)
    assert plan.gap > whole.gap
    optimum = mk.solve(mdp, 3, solver=mk.Exact()).exact
    assert Fraction(plan.lower) <= optimum <= Fraction(plan.upper)


# Found by the hunt (benchmarks/soak.py).


def test_what_is_dropped_keeps_its_side_of_a_float(tune):
    """A best return in hand is rounded down in one law and up in the other, also where the rest was not followed."""
    tune(few_outcomes=-1, most_outcomes=-1)
    a, b, c, third = -6.738512797462052, -3.464987737862057, -2.6273583941006278, 0.3333333333333333
    table = {0: {0: [(third, 0, a, False), (third, 0, b, False), (third, 0, c, True)]}}
    mdp = mk.MDP.from_table(table, horizon=2)
    policy = mk.solve(mdp, 2).policy
    at = float(Fraction(b) + Fraction(c))
    assert Fraction(b) + Fraction(c) > at  # the float lies below the return
    lower, upper = mk.evaluate(mdp, policy).cdf(at)
    assert lower < 0.31
    assert upper > 0.44


def test_chances_too_small_for_floats_leave_bounds_true():
    """Of 794 tries the best is 0, but for a chance of 10^-465: less than 0 on average, if only by so much."""
    mdp = mk.MDP.from_table({0: {0: [(0.75, 0, 0, True), (0.25, 0, -4, True)]}}, horizon=1)
    for evaluation in (mk.solve(mdp, 794), mk.evaluate(mdp, mk.MarkovPolicy([[0]], k=794), max_atoms=1000)):
        assert evaluation.lower < 0 or getattr(evaluation, "exact", None) is not None
        assert evaluation.upper <= 0


def test_simulated_returns_do_not_depend_on_what_is_in_hand():
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, 0.4710033882288371, True), (0.5, 0, 1 / 3, True)]}}, horizon=1)
    policy = mk.MarkovPolicy([[0]], k=2, best_so_far=1e20)
    runs = mk.simulate(mdp, policy, trials=20, rng=0)
    assert set(np.unique(runs.returns).tolist()) == {0.4710033882288371, 1 / 3}
    assert (runs.best == 1e20).all()


def test_a_comparison_of_large_integers_with_early_ends():
    size = 36712347980
    table = {0: {0: [(0.375, 0, size, True), (0.625, 0, size, False)], 1: [(1.0, 0, size + 1, True)]}}
    mdp = mk.MDP.from_table(table, horizon=2)
    row = mk.compare(mdp, 2)["adaptive"]
    assert Fraction(row.lower) <= mk.solve(mdp, 2, solver=mk.Exact()).exact <= Fraction(row.upper)


def test_acting_breaks_ties_as_the_bounds_did(tune):
    """At M = 5 both actions are worth 7, but only one of them gains with M: the line promises what that one earns."""
    tune(small_slice=-1)
    third = 1 / 3
    lottery = [(third, 0, -2, True), (third, 0, 7, True), (third, 0, 2, False)]
    for horizon, k in ((2, 2), (3, 2), (3, 3)):
        mdp = mk.MDP.from_table({0: {0: lottery, 1: [(0.9999999999999999, 0, 7, True)]}}, horizon=horizon)
        plan = mk.solve(mdp, k)
        assert policy_value(mdp, plan.policy, k) >= Fraction(plan.lower)


def test_learning_where_squares_are_no_floats():
    tiny = [(0.42309596876830785, 0, -3.1e-286, False), (0.3156655716250086, 0, -3.1e-286, True)]
    mdp = mk.MDP.from_table({0: {0: [*tiny, (0.26123845960668357, 0, 6e-287, False)]}}, horizon=2)
    learned = mk.learn(mk.TabularModel(mdp), 1, epsilon=5e-286, delta=0.5, budget=3000, rng=0)
    assert 0 <= learned.epsilon <= 8e-286
