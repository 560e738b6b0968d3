"""Learning from episodes: kernels, plans and bounds against exact optima, closed forms and accounts."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lemmas
import maxatk as mk
from maxatk.base.betting import betting_bound
from maxatk.kernels.uncertain import row_value
from maxatk.learning.grid import STAKES
from maxatk.learning.online import certificate
from maxatk.learning.online.explore import balls, optimistic
from maxatk.learning.online.online import play
from maxatk.learning.risk import Claim
from maxatk.learning.uncertain import ABOVE, BELOW, MEAN, UncertainPlan, UncertainPolicy
from online_runs import EXPLORE, begun, coins, optimum, per_step, played, truth
from oracles import policy_value
from problems import specs, table_of

# The kernel.


@settings(max_examples=100)
@given(
    n=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    seed=st.integers(0, 99),
    risk=st.floats(0.01, 3),
    room=st.sampled_from([0.0, 0.5]),
)
def test_a_row_is_judged_as_the_ball_around_it(n, seed, risk, room):
    """No distribution within the ball has a larger mean, an unseen outcome of the greatest worth included."""
    random = np.random.default_rng(seed)
    share, worth = np.array(n) / sum(n), random.uniform(0, 1, len(n))
    most, least = float(worth.max()) + room, float(worth.min()) - room
    stakes = np.sort(np.concatenate([most + 2.0 ** (np.arange(-48, 49) / 4), least - 2.0 ** (np.arange(-48, 49) / 4)]))
    above = row_value(ABOVE, worth, share, len(n), risk, least, most, stakes)
    below = row_value(BELOW, worth, share, len(n), risk, least, most, stakes)
    assert least <= below <= row_value(MEAN, worth, share, len(n), risk, least, most, stakes) + 1e-12 <= above + 2e-12
    assert above <= most
    best = min([betting_bound(share, worth, x, risk) for x in stakes[stakes > most]] + [most])
    assert (
        best - 1e-12 <= above <= best + 0.6 * max(best - float(share @ worth), 0) + 1e-12
    )  # and not far from the best
    values = np.append(worth, [most, least])
    for q in random.dirichlet(np.append(4 * share, [0.2, 0.2]), 300):
        with np.errstate(divide="ignore"):
            divergence = float(share @ np.log(share / q[:-2]))
        if divergence <= risk:
            assert below - 1e-12 <= float(q @ values) <= above + 1e-12


def test_a_stake_lies_above_what_was_seen():
    """A row whose best outcome was seen is bounded by it: with the stake there, the bound would be void."""
    stakes = 1 + STAKES  # the greatest return is one of them
    seen = row_value(ABOVE, np.array([0.0, 1.0]), np.array([0.9, 0.1]), 2, 1.0, 0.0, 1.0, stakes)
    assert seen < 0.9


@pytest.mark.slow
@settings(max_examples=40)
@given(spec=specs(max_horizon=3), k=st.integers(1, 3), log=st.sampled_from([0.02, 0.5]), seed=st.integers(0, 9))
def test_a_plan_of_the_truth_is_the_optimum(spec, k, log, seed):
    """By means it is the optimum itself, earned by its policy; bounds from above and below are ever closer to it."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    assume(mdp.return_range[1] > mdp.return_range[0] and mdp.homogeneous)
    grid, belief = truth(mdp, log)
    best = float(optimum(mdp, k))
    plain, above, below = (UncertainPlan(grid, k, belief, way) for way in (MEAN, ABOVE, BELOW))
    assert plain.value == pytest.approx(best, abs=1e-9)
    assert float(policy_value(mdp, UncertainPolicy(plain), k)) == pytest.approx(best, abs=1e-9)
    assert below.value <= best + 1e-9
    assert above.value >= best - 1e-9
    assert below.value_of(plain) <= best + 1e-9
    assert plain.value_of(plain) == pytest.approx(best, abs=1e-9)
    assert plain.value_of(below) <= best + 1e-9
    surer = belief._replace(risk=belief.risk / 4)
    assert UncertainPlan(grid, k, surer, ABOVE).value <= above.value + 1e-9
    assert UncertainPlan(grid, k, surer, BELOW).value >= below.value - 1e-9
    certain = belief._replace(risk=belief.risk * 1e-9)
    assert UncertainPlan(grid, k, certain, ABOVE).value == pytest.approx(best, abs=2e-3 * (1 + abs(best)))


def test_a_given_policy_may_be_worse_with_a_better_return_in_hand():
    """It was planned where the risky action pays with 0.45. In truth it never does, and only a return of a quarter
    makes the policy take it: then a bound from below that takes nothing in hand for the worst is above the truth."""

    def problem(p):
        safe, risky = [(1.0, 0, 0.5, True)], [(p, 0, 1.0, True), (1 - p, 0, 0.0, True)]
        other = [(0.5, 0, 0.25, True), (0.5, 0, 0.0, True)]
        return mk.MDP.from_table([[safe, risky], [other, other]], horizon=1, start=[0.5, 0.5])

    believed, true = problem(0.45), problem(0.0)
    grid, belief = truth(believed, 0.0)
    plan = UncertainPlan(grid, 2, belief, MEAN)
    earns = float(policy_value(true, UncertainPolicy(plan), 2))
    known = truth(true, 1e-9)[1]  # on its own grid, which is as fine
    assert truth(true, 0.0)[0].kappa == grid.kappa == 0.25
    bound = UncertainPlan(grid, 1, known, BELOW).value_of(plan)
    assert earns - 0.01 <= bound <= earns
    assert UncertainPlan(grid, 1, known, MEAN).value_of(plan) == pytest.approx(earns, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_a_policy_of_another_problem_is_bounded_from_below(seed):
    """Planned for one problem, valued in another of the same shape: the bound is below the truth, and close to it."""
    drawn = np.random.default_rng(seed)
    start, rewards = drawn.dirichlet(np.ones(3)), drawn.choice([0, 0.25, 0.5, 1], (3, 2, 3))
    believed, true = (
        mk.MDP.from_arrays(drawn.dirichlet(np.full(3, 0.3), (3, 2)), rewards, horizon=2, start=start) for _ in range(2)
    )
    (grid, belief), (other, known) = truth(believed, 0.0), truth(true, 1e-7)
    assert grid.kappa == other.kappa
    assert grid.known.return_range == other.known.return_range
    jumps = np.arange(grid.fall, grid.rise + 1)
    plan = UncertainPlan(grid, 3, belief, MEAN, jumps=jumps)
    earns = float(policy_value(true, UncertainPolicy(plan), 3))
    bound = UncertainPlan(grid, 1, known, BELOW, jumps=jumps).value_of(plan)
    assert earns - 0.02 <= bound <= earns + 1e-12


def test_between_knots_a_policy_from_below_stands_at_the_knot_that_promises_most(tune):
    tune(curve_knots=3)
    mdp = mk.instances.random_sparse(4, 2, 3, successors=2, rewards=[0, 0.1, 0.7, 1], rng=0)
    grid, belief = truth(mdp, 0.002)
    plan = UncertainPlan(grid, 3, belief, BELOW)
    knots = [*grid.knots().tolist(), grid.top]
    for m in range(grid.first, grid.top):
        knot = max(x for x in knots if x <= m)
        for s in range(4):
            assert plan.row(1, 0, s, m, 0) == plan.row(1, 0, s, knot, 0)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 10, 3000])
def test_many_rollouts_are_told_apart_until_they_no_longer_differ(k):
    """One coin: the best of k is 1 - (1 - p)^k, which is 1 to the last bit long before the last k."""
    p = 1 / 64
    mdp = mk.MDP.from_table([[[(p, 0, 1.0, True), (1 - p, 0, 0.0, True)]]], horizon=1)
    grid, belief = truth(mdp, 0.0)
    assert UncertainPlan(grid, k, belief, MEAN).value == pytest.approx(-math.expm1(k * math.log1p(-p)), abs=1e-12)


@settings(max_examples=30)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 99))
def test_the_policy_is_the_same_asked_one_by_one_and_in_bulk(spec, seed):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    assume(mdp.return_range[1] > mdp.return_range[0])
    run = played(begun(mdp, 2, "posterior", seed), 5)

    class OneByOne(mk.CompressedPolicy):
        def action(self, **asked):
            return run.policy.action(**asked)

    for rollout in range(2):
        bulk, alone = (mk.simulate(mdp, p, trials=50, rng=rollout) for p in (run.policy, OneByOne(2, spec.H)))
        assert bulk.returns.tolist() == alone.returns.tolist()


# Bounds.


@pytest.mark.slow
@pytest.mark.parametrize("explore", EXPLORE)
@pytest.mark.parametrize(
    ("mdp", "k", "known_start"),
    [
        (mk.instances.figure1(), 2, True),
        (mk.instances.proposition3(), 2, True),
        (per_step(3), 2, False),
        (mk.instances.random_sparse(5, 2, 3, successors=2, rewards=[0, 0.5, 1], rng=1), 3, True),
    ],
)
def test_bounds_hold_at_every_plan(mdp, k, known_start, explore):
    best = mk.solve(mdp, k).lower
    for seed in range(2):
        run = begun(mdp, k, explore, seed, delta=0.3, known_start=known_start)
        values, plan, value = [], -1, 0.0
        for _ in range(30):
            trial = run.trial()
            if run.ledger.plans != plan:
                plan, value = run.ledger.plans, mk.evaluate(mdp, run.policy).value
            lower, upper = run.bounds
            assert upper >= best - 1e-12
            bound, first = certificate.played(run.ledger)
            assert bound == lower
            assert not values or lower <= np.mean(values[first:]) + 1e-9
            assert run.regret >= sum(best - v for v in values) - 1e-9
            play(run.ledger, trial)
            values.append(value)
        assert run.ledger.risk.left >= 0


@pytest.mark.slow
def test_the_bound_pays_for_what_it_claims():
    """With a tenth of the logarithm the bound from above fails often: it is not true for want of trying."""
    mdp, k = mk.instances.figure1(), 2
    best, failed = float(optimum(mdp, k)), 0
    for seed in range(40):
        run = played(begun(mdp, k, "posterior", seed), 30)
        grid = run.ledger.grid()
        belief = optimistic(run.ledger, grid)
        failed += UncertainPlan(grid, k, belief._replace(risk=belief.risk / 100), ABOVE).value < best
    assert failed >= 5


def test_claims_are_paid_from_delta():
    """However many windows and tests there are: half from above, a quarter for what was played, a quarter for tests."""
    run = played(begun(mk.instances.figure1(), 2, delta=0.1), 40)
    for _ in range(30):
        run.begin_test()
        run.test().act(0)
        assert run.tested == 0.0 <= run.bounds[1]
    delta, below = Fraction(0.1), run.ledger.risk.half(Claim.POLICIES)
    for account in (below.half(Claim.PLAYED), below.half(Claim.TESTED)):
        assert account.amount == delta / 4
        assert account.left == 0
        assert 0 < account._series.left < account.amount / 6
    assert run.ledger.risk.half(Claim.OPTIMUM).amount == delta / 2


def test_nothing_is_put_off_for_ever():
    """With 64 rollouts to come the first is used to explore, too: both coins are thrown in it within 20 trials."""
    run = begun(coins(64), 64)
    first = set()
    for _ in range(20):
        trial = run.trial()
        state = run.ledger.source.reset(run.ledger.rng)
        first.add(trial.act(state))
        trial.observe(*run.ledger.source.step(0)[1:])
        while not trial.finished:
            trial.act(0)
            trial.observe(0.0, True)
    assert first == {0, 1}


@pytest.mark.parametrize("explore", EXPLORE)
def test_learning_finds_the_optimum(explore):
    mdp, k = mk.instances.proposition3(), 2
    run = played(begun(mdp, k, explore), 400)
    assert float(optimum(mdp, k)) - mk.evaluate(mdp, run.plan.policy).lower < 1e-9


def test_what_was_never_seen_may_be_anything():
    """Rows without a visit bound nothing from above, and earn what is in hand from below."""
    run = mk.Online().begin(1, 1, 2, 1, best_so_far=0.25)
    assert run.bounds == pytest.approx((0.25, 1.0))
    for _ in range(3000):
        trial = run.trial()
        taken = trial.act(0)
        trial.observe(0.0, True)
    assert taken in (0, 1)
    assert run.bounds[1] < 0.3  # both were tried, and neither is better
    alone = mk.learn_from([[(0, 0, 0.5, None)]] * 3000, 1, n_states=1, n_actions=2, horizon=1, max_outcomes=2)
    assert alone.upper == pytest.approx(1.0)
    assert 0.4 < alone.lower <= 0.5
    assert alone.policy.action(rollout=0, step=0, state=0, best=-math.inf, so_far=0) == 0


def test_an_early_end_is_counted_as_one():
    run = mk.Online().begin(1, 2, 1, 3)
    trial = run.trial()
    trial.act(0)
    trial.observe(0.5)
    trial.act(1)
    trial.observe(0.5, True)
    assert trial.finished
    assert [column.tolist() for column in run.ledger.data.columns()] == [[0, 1], [1, 2], [0.5, 0.5], [1, 1]]


@pytest.mark.parametrize(("way", "sign"), [(ABOVE, 1), (BELOW, -1)])
def test_few_knots_bound_less(tune, way, sign):
    """Between knots a bound from above is a chord, one from below the knot before: neither may be better than all."""
    differ = 0
    for seed in range(6):
        mdp = mk.instances.random_sparse(4, 2, 3, successors=2, rewards=[0, 0.1, 0.7, 1], rng=seed)
        grid, belief = truth(mdp, 0.002)
        tune(curve_knots=64)
        every = UncertainPlan(grid, 3, belief, way).value
        tune(curve_knots=3)
        few = UncertainPlan(grid, 3, belief, way).value
        assert sign * few >= sign * every - 1e-12
        differ += few != every
    assert differ


def test_the_radius_is_that_of_the_lemma():
    run = played(begun(mk.instances.figure1(), 2), 20)
    counts = [*run.ledger.data.counts.tolist(), 40]
    radii = [n * lemmas.kl_radius(size, n, 0.1 / 4 / 3) for n, size in zip(counts, (2, 2, 1), strict=True)]
    assert balls(run.ledger).tolist() == pytest.approx(radii, rel=1e-12)
