"""Learning from a generative model, held to exact optima and exact values of what was learned."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
import reference_kernels
from maxatk import kernels
from maxatk.base.betting import mean_from_below
from maxatk.learning.adaptive import upper_bound
from maxatk.learning.data import Data
from maxatk.learning.grid import STAKES, Kind, ReturnGrid, grid_for_rows
from maxatk.learning.models import CheckedModel
from maxatk.learning.risk import Claim, GridClaim, Risk, series
from maxatk.learning.rows import RowLedger
from maxatk.learning.sample_size import error_bound
from maxatk.learning.trials import TryOut
from maxatk.learning.uncertain import ABOVE
from oracles import policy_value
from problems import problem, specs


def optimum(mdp, k):
    return mk.solve(mdp, k, solver=mk.Exact()).exact


def loss(mdp, k, policy):
    """What a policy loses to the optimum, exactly."""
    return optimum(mdp, k) - Fraction(mk.evaluate(mdp, policy).lower)


def small(seed, paid_by_row=False):
    """Three states, two actions, two steps: small enough for exact numbers, large enough to be learned wrongly."""
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.full(3, 0.7), (3, 2))
    R = random.choice([0, 0.25, 0.5, 1], (3, 2) if paid_by_row else (3, 2, 3))
    return mk.MDP.from_arrays(P, R, horizon=2)


def early_end():
    """Two steps, but a try may end after the first, with more or with less than it would get by going on."""
    stop = [(0.5, 1, 0.75, True), (0.5, 1, 0.0, False)]
    go_on = [(0.5, 0, 0.25, False), (0.5, 1, 0.0, True)]
    later = [(0.25, 0, 1.0, False), (0.75, 0, 0.25, True)]
    return mk.MDP.from_table({0: {0: stop, 1: go_on}, 1: {0: later, 1: go_on}}, horizon=3)


def per_step(seed):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(2), (2, 2, 2))
    return mk.MDP.from_arrays(P, random.choice([0, 0.5, 1], (2, 2, 2)), horizon=2, start=[0.5, 0.5])


def sampled(mdp, n, seed):
    """A run with ``n`` samples of each row."""
    model = CheckedModel(mk.TabularModel(mdp))
    run = RowLedger(model, np.random.default_rng(seed))
    run.next_round(np.full(model.n_rows, n))
    run.fill()
    return run


@dataclass
class Counting:
    """A model that counts what it is asked for, by row."""

    inner: mk.TabularModel
    drawn: dict = field(default_factory=dict)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def sample(self, step, state, action, n, rng):
        self.drawn[step, state, action] = self.drawn.get((step, state, action), 0) + n
        return self.inner.sample(step, state, action, n, rng)


PROBLEMS = {
    "figure 1": (lambda: mk.instances.figure1(), 2, 0.15, False),
    "proposition 3": (lambda: mk.instances.proposition3(), 2, 0.4, False),
    "random": (lambda: small(1), 2, 0.4, False),
    "known rewards": (lambda: small(3, paid_by_row=True), 2, 0.35, True),
    "per step, random start": (lambda: per_step(0), 2, 0.4, False),
    "early end": (early_end, 2, 0.5, False),
    "one rollout": (lambda: small(4), 1, 0.3, False),
    "negative, shifted": (lambda: small(5).with_rewards(small(5).reward * 20 - 1000), 2, 8.0, False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_guarantee(name):
    """Repeated runs: how often the loss exceeds what is certified does not refute delta. Counts add up."""
    make, k, epsilon, known = PROBLEMS[name]
    mdp = make()
    best, delta, runs = optimum(mdp, k), 0.05, 20
    assert best < mdp.return_range[1] - epsilon / 4  # there is something to be missed
    failures = 0
    for seed in range(runs):
        model = Counting(mk.TabularModel(mdp, known_rewards=known))
        out = mk.learn(model, k, epsilon=epsilon, delta=delta, rng=seed)
        assert out.epsilon <= epsilon
        assert out.delta == delta
        assert out.samples == out.counts.sum() == sum(model.drawn.values())
        if mdp.homogeneous:
            at = [(0, s, a) for s in range(mdp.n_states) for a in mdp.actions(0, s)]
            assert out.counts.tolist() == [model.drawn[row] for row in at]
        earned = policy_value(mdp, out.policy, k)
        right = best - earned <= out.epsilon and out.lower <= earned and best <= out.upper
        failures += not right
    assert failures <= 3  # more would come up with a chance below 0.02, were they 0.05 each


def test_the_same_harness_fails_with_far_too_few_samples():
    """A learner that claims the same of a handful of samples is found out."""
    mdp, k, epsilon, failures = mk.instances.figure1(), 2, 0.05, 0
    for seed in range(20):
        run = sampled(mdp, 3, seed)
        failures += loss(mdp, k, run.plan(mk.Certified(), k).policy) > epsilon
    assert failures > 10


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 8, 30])
def test_the_upper_bound_covers_at_small_numbers_of_samples(n):
    """The event behind it, where widths are far from zero. Without the price of the union it would fail."""
    mdp = small(6)
    best, k, below, below_unpaid = float(optimum(mdp, 2)), 2, 0, 0
    for seed in range(40):
        run = sampled(mdp, n, seed)
        plan = run.plan(mk.Certified(), k)
        below += upper_bound(run.data, plan, 0.1, Risk(Fraction(1, 2))).value < best
        grid = grid_for_rows(run.model, run.data.columns()[2].tolist(), k, 0.1)
        unpaid = Risk(Fraction(99, 100) * grid.functions(k) * len(STAKES) / grid.share)
        below_unpaid += upper_bound(run.data, plan, 0.1, unpaid).value < best
    assert below == 0
    assert below_unpaid > 4


# Accounts of risk.


def taken(risk):
    """What every claim may fail with, by its name."""
    return {claim: share.amount for claim, share in risk._shares.items()}


def test_an_account_of_risk_is_never_overdrawn():
    risk = Risk(Fraction(1, 3))
    a, b = Claim.PLAYED, Claim.TESTED
    half = risk.half(a)
    assert risk.half(a) is half  # the same claim takes its share once
    assert risk.left == half.amount == Fraction(1, 6)
    for claim, part in ((b, Fraction(501, 1000)), (a, Fraction(1, 4))):
        with pytest.raises(AssertionError, match=f"{claim} takes .* of a risk of which 1/2 is left"):
            risk.share(claim, part)
    with pytest.raises(AssertionError, match="a series takes all of a risk of which 1/2 is left"):
        risk.nth(1)
    risk.half(b)
    assert risk.left == 0
    assert taken(risk) == {a: Fraction(1, 6), b: Fraction(1, 6)}
    assert half.log(7) == pytest.approx(math.log(42), rel=1e-15)
    assert half.log(7) >= math.log(42)
    assert 1 - sum(map(series, range(1, 50))) == Fraction(1, 50)


def test_a_series_of_claims_takes_all_and_no_time():
    """The number of claims so far may come from a forged checkpoint: each was paid for anew, one by one."""
    risk = Risk(Fraction(1, 3))
    late = risk.nth(10**12)
    assert late.amount == Fraction(1, 3) * series(10**12)
    assert risk.nth(10**12) is late
    assert sum(risk.nth(n).amount for n in range(1, 100)) < risk.amount
    assert risk.left == 0


@pytest.mark.parametrize("continued", [False, True])
def test_all_claims_of_a_run_are_paid_for(continued, monkeypatch, tmp_path):
    """Every bound of every round takes its risk from one account, whose shares add up to less than delta."""
    accounts, logs = [], []
    init, log = Risk.__init__, Risk.log
    monkeypatch.setattr(Risk, "__init__", lambda self, amount: (init(self, amount), accounts.append(self))[0])
    monkeypatch.setattr(Risk, "log", lambda self, claims=1: logs.append((self, claims)) or log(self, claims))
    model, delta = mk.TabularModel(mk.instances.figure1()), 0.1
    arguments = {"epsilon": 0.02, "delta": delta, "rng": 1, "checkpoint": tmp_path / "x"}
    if continued:
        with pytest.raises(KeyboardInterrupt):
            mk.learn(model, 2, **arguments, progress=lambda at: at.samples > 2000 and _interrupt())
        accounts.clear()
        logs.clear()
    out = mk.learn(model, 2, **arguments)
    rounds = int(out.stats["rounds"])
    assert rounds >= 3
    whole = accounts[0]
    assert whole.amount == Fraction(delta)
    above, below = whole._shares.values()
    assert above.amount + below.amount == whole.amount
    assert not below._shares
    trials = below._series
    assert trials.amount == below.amount  # all of it is for the rounds, one by one
    asked = {n: below.amount * series(n) for n in range(1, rounds + 1)}
    assert taken(trials).items() <= asked.items()
    assert continued or taken(trials) == asked
    assert rounds in taken(trials)
    assert taken(above) == {GridClaim("whole", Fraction(1, 2)): above.amount * Fraction(1, 2) * Fraction(1, 6) / 2}
    tried = [(share, claims) for share, claims in logs if share in trials._shares.values()]
    assert len(tried) >= 1
    assert {claims for _, claims in tried} == {97}  # as many as there are stakes
    assert {share for share, _ in logs} <= {*above._shares.values(), *trials._shares.values()}


def _interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("kappa", [0.25, 0.5, 0.3])
@pytest.mark.parametrize("make", [lambda: small(1), lambda: per_step(0), early_end])
def test_all_functions_that_are_bet_on_are_counted(make, kappa):
    """One for each step, row of it, rollout, best return and partial return on the lattice, and stake."""
    model, k = CheckedModel(mk.TabularModel(make())), 3
    least, most = model.return_range
    best_returns = math.ceil(most / kappa) - math.floor(least / kappa) + 1
    functions = 0
    for h in range(model.horizon):
        layer = int(model.step_layer[h])
        first, last = model.pair_start[layer * model.n_states], model.pair_start[(layer + 1) * model.n_states]
        low, high = math.floor(model.least_reward / kappa) * h, math.ceil(model.most_reward / kappa) * h
        functions += int(last - first) * (high - low + 1)
    needed = functions * best_returns * k * len(STAKES)
    grid = ReturnGrid(model, Kind.WHOLE, Fraction(kappa).limit_denominator(10))
    counted = grid.functions(k) * len(STAKES)
    assert needed <= counted <= 4 * model.horizon * needed


def test_rows_that_do_not_matter_are_not_sampled_on():
    """A hopeless action, and a state that cannot be reached, keep their first samples; all others get more."""
    stay, half = [(1, 0, 0.25, False)], [(0.5, 0, 0, False), (0.5, 0, 1, False)]
    table = {0: {0: stay, 1: half, 2: [(1, 0, 0, False)]}, 1: {0: half}}
    mdp = mk.MDP.from_table(table, horizon=2)
    out = mk.learn(mk.TabularModel(mdp), 2, epsilon=0.1, delta=0.1)
    assert out.counts[3] == 64
    assert 64 <= out.counts[2] < out.counts[1] / 4


@pytest.mark.slow
def test_the_trials_bound_covers():
    """Betting on trials: right for all numbers of trials at once, in a share of runs of at least 1 - delta."""
    random = np.random.default_rng(0)
    failed = tight = 0
    for _ in range(150):
        returns = random.choice([-3.0, 0.0, 5.0], p=[0.1, 0.6, 0.3], size=200)
        bounds = [mean_from_below(returns[:n], -4.0, 6.0, math.log(97 / 0.3)) for n in range(5, 201, 15)]
        failed += max(bounds) > 1.2
        tight += bounds[-1] > 0.2
    assert failed <= 150 * 0.3
    assert tight > 75  # and it is no trifle
    assert mean_from_below(np.zeros(0), -4.0, 6.0, 1.0) == -4.0


def test_trials_are_those_of_a_user():
    """The mean of many trials is the policy's exact value; every sample is counted."""
    mdp, k = mk.instances.proposition3(), 2
    policy = mk.solve(mdp, k).policy
    model = Counting(mk.TabularModel(mdp))
    run = RowLedger(CheckedModel(model), np.random.default_rng(1))
    returns = TryOut(run, policy).best_returns(4000)
    value, deviation = float(policy_value(mdp, policy, k)), returns.std() / math.sqrt(4000)
    assert abs(returns.mean() - value) < 4 * deviation
    assert set(returns) <= {0.0, 0.5, 1.0, 1.5, 2.0}
    assert run.samples == sum(model.drawn.values()) == 4000 * 6


def test_trials_end_early_and_start_anew():
    mdp, k = early_end(), 2
    policy = mk.solve(mdp, k).policy
    run = RowLedger(CheckedModel(mk.TabularModel(mdp)), np.random.default_rng(1))
    returns = TryOut(run, policy).best_returns(4000)
    assert abs(returns.mean() - float(policy_value(mdp, policy, k))) < 4 * returns.std() / math.sqrt(4000)
    assert run.samples < 4000 * 6
    with pytest.raises(mk.InputError, match="HistoryPolicy remembers more than M and G"):
        TryOut(run, mk.HistoryPolicy(lambda seen: 0, k, mdp.horizon))


@pytest.mark.parametrize(
    ("rewards", "can_terminate", "expected"),
    [((-2, -1), True, (-6, -1)), ((-2, -1), False, (-6, -3)), ((1, 2), True, (1, 6)), ((-1, 2), True, (-3, 6))],
)
def test_the_range_of_returns(rewards, can_terminate, expected):
    model = mk.TabularModel(mk.instances.random_sparse(2, 2, 3))
    model.reward_range, model.can_terminate = rewards, can_terminate
    assert CheckedModel(model).return_range == pytest.approx(expected)


def test_one_rollout_is_ordinary_model_based_learning():
    """For K = 1 the policy is worth what value iteration on the empirical problem finds, and earns the same."""
    mdp = mk.instances.random_dense(4, 3, 4, rewards=[0, 1, 2, 3], rng=1)
    run = sampled(mdp, 3, 2)
    model = run.model
    P, R = np.zeros((4, 3, 4)), np.zeros((4, 3))
    for row, next_state, reward, n in zip(*(column.tolist() for column in run.data.columns()), strict=True):
        P[model.state[row], model.action[row], next_state] += n / 3
        R[model.state[row], model.action[row]] += n / 3 * reward
    V, greedy = np.zeros(4), []
    for _ in range(4):
        Q = R + P @ V
        V, greedy = Q.max(axis=1), [Q.argmax(axis=1), *greedy]
    plan = run.plan(mk.Certified(), 1)
    assert plan.lower == pytest.approx(V[0], abs=1e-9)

    class Greedy(mk.CompressedPolicy):
        def action(self, *, rollout, step, state, best, so_far):
            return int(greedy[step][state])

    assert policy_value(mdp, plan.policy, 1) == policy_value(mdp, Greedy(1, 4), 1)


# The kernel and its twin.


@settings(max_examples=60)
@given(
    spec=specs(max_horizon=3),
    kappa=st.sampled_from([0.25, 0.3, 0.7]),
    at=st.floats(0, 1),
    seed=st.integers(0, 99),
    certain=st.booleans(),
)
def test_optimistic_sweep(spec, kappa, at, seed, certain):
    mdp = problem(spec)
    random = np.random.default_rng(seed)
    steps = mdp.reward / kappa
    jump = np.floor(steps).astype(np.int64)
    N = len(mdp.action)
    risk = np.where(random.random(N) < 0.2, np.inf, random.random(N))
    h = np.arange(spec.H + 1)
    rise = np.ceil(np.full(N, mdp.reward.max() + seed % 2) / kappa).astype(np.int64)
    high, lowest, most_rise = h * int(rise.max()), h * int(jump.min()), int(rise.max())
    m = int(lowest.min() + at * (high.max() - lowest.min()))
    left = np.maximum((spec.H - h) * most_rise, np.minimum(spec.H - h, 1) * most_rise)
    low = np.maximum(lowest, m - left + 1)
    start = random.dirichlet(np.ones(spec.S))
    rows = kernels.UncertainRows(
        step_layer=mdp.step_layer.astype(np.int64),
        pair_start=mdp.pair_start,
        sampled=kernels.Sampled(mdp.outcome_start, mdp.prob, mdp.next_state.astype(np.int64), jump, steps - jump),
        risk=np.append(risk, 0.0),
        rise=rise,
        start_state=np.arange(spec.S),
        start_prob=start,
        can_terminate=bool(spec.terminal) or seed % 3 == 0,
        last_is_certain=certain,
        cells=kernels.Cells(
            high, int(high.max()), low, np.ones((spec.H + 1, max(np.ptp(high) + np.ptp(low), 1) + 99), np.bool_)
        ),
    )
    points = np.arange(m, max(m, int(high.max())) + 1)
    end = kappa * points + np.exp(-(points - m) / 5)  # some curve
    span = 4 * (np.ptp(end) + 1)
    stakes = end.max() + span * STAKES
    used, choice = np.zeros((spec.H, N), np.bool_), np.empty((0, 0, 0), np.int32)
    given = (ABOVE, False, rows, low, m, end, stakes, used)
    bound = kernels.uncertain_slice(*given, choice, np.zeros(1, np.int8))
    expected, best = reference_kernels.optimistic_start(
        rows, low.tolist(), m, lambda j: float(end[j - m]), stakes.tolist()
    )
    assert bound == pytest.approx(float(start @ expected), abs=1e-9 * span)
    assert all(used[at] for at in best)
    assert used.any(axis=1).all() == (low <= high)[:-1].all()
    choice = np.empty((spec.H, spec.S, max(int((high - low).max()), 0) + 1), np.int32)
    assert kernels.uncertain_slice(*given, choice, np.zeros(1, np.int8)) == bound
    followed = (ABOVE, True, rows, low, m, end, stakes, used)
    assert kernels.uncertain_slice(*followed, choice, np.zeros(1, np.int8)) == bound


# Models.


def test_a_tabular_model_samples_its_table():
    mdp = mk.instances.windy_cliff()
    model = mk.TabularModel(mdp)
    next_states, rewards = model.sample(0, 24, 1, 20_000, np.random.default_rng(0))
    for p, s, r in mdp.outcomes(0, 24, 1):
        share = ((next_states == (48 if s is None else s)) & (rewards == r)).mean()
        assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / 20_000)
    goal, _ = mk.TabularModel(mk.instances.figure1()).sample(0, 0, 0, 10, np.random.default_rng(0))
    assert goal.tolist() == [1] * 10  # the end
    assert mk.TabularModel(per_step(0)).homogeneous is False
    assert mk.TabularModel(mdp).reward_range == (-100, -1)
    assert mk.TabularModel(mdp).can_terminate
    assert not mk.TabularModel(small(0)).can_terminate
    assert mk.TabularModel(small(0, paid_by_row=True), known_rewards=True).rewards.shape == (3, 2)
    assert mk.TabularModel(per_step(0), known_rewards=True).rewards.shape == (2, 2, 2)


def test_a_gymnasium_environment_is_a_model():
    model = mk.GymnasiumModel("FrozenLake-v1", horizon=3, is_slippery=True)
    mdp = mk.MDP.from_gymnasium("FrozenLake-v1", horizon=3, is_slippery=True)
    next_states, rewards = model.sample(0, 14, 2, 3000, np.random.default_rng(0))
    for p, s, r in mdp.outcomes(0, 14, 2):
        share = ((next_states == (16 if s is None else s)) & (rewards == r)).mean()
        assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / 3000)
    again, _ = model.sample(0, 14, 2, 3000, np.random.default_rng(0))
    assert again.tolist() == next_states.tolist()  # the generator decides
    out = mk.learn(model, 2, epsilon=1, delta=0.5, budget=64 * 8)
    assert out.samples <= 64 * 8
    wrapped = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 2 * r)
    for env, arguments, message in (
        ("Blackjack-v1", {}, "has no finite number of states"),
        ("CartPole-v1", {}, "has no finite number of states"),
        (wrapped, {}, "wrapped in TransformReward"),
        ("CliffWalking-v1", {}, "no time limit of its own: give horizon="),
        (None, {}, "env must be a Gymnasium environment or its id, not None"),
    ):
        with pytest.raises(mk.InputError, match=message):
            mk.GymnasiumModel(env, **arguments)

    class Stateless(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(mk.InputError, match="Stateless has no state that can be set"):
        mk.GymnasiumModel(Stateless(), horizon=2, start=0)
    cliff = mk.GymnasiumModel("CliffWalking-v1", horizon=3)
    with pytest.raises(mk.InputError, match=r"reward -1 is outside the model's reward_range \(0, 1\)"):
        mk.learn(cliff, 1, epsilon=1, delta=0.1)


# Sample sizes.


def by_hand(S, A, H, K, epsilon, delta, constants):
    """The formulas of the paper and of the errata, in floating point."""
    if constants == "paper":
        n = math.ceil(9 * H / epsilon)
        L = math.log(4 * H * K * A * S * (1 + H * n) ** 2 / delta)
        first = 128 * K**2 * H**2 * (math.log(2 * S * A * H / delta) + S * math.log(384 * S * K**2 * H**2))
        return max(2 * (2 + first), 1152 * L * K * H**3 / epsilon**2)
    n = math.ceil(4 * H / epsilon)
    L = math.log(4 * S * S * (1 + H * n) ** 2 * H * K * A / delta)
    return max(32 * K**2 * H**2 * (math.log(2 * S * A * H / delta) + S * math.log(2)), 64 * L * K * H**3 / epsilon**2)


@pytest.mark.parametrize("constants", ["paper", "tight"])
@pytest.mark.parametrize(("S", "A", "H", "K"), [(1, 1, 1, 1), (2, 3, 4, 5), (50, 4, 20, 3), (10, 2, 3, 100)])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1])
def test_sample_sizes(S, A, H, K, epsilon, constants):
    sizes = {"n_states": S, "n_actions": A, "horizon": H, "k": K, "epsilon": epsilon, "delta": 0.05}
    size = mk.sample_size(**sizes, constants=constants)
    expected = by_hand(S, A, H, K, epsilon, 0.05, constants)
    assert 0 <= size.per_pair - expected <= 1 + 1e-9 * expected
    assert size.total == size.per_pair * S * A
    assert size.kappa == 1 / size.cells
    assert size.kappa <= epsilon / ((9 if constants == "paper" else 4) * H) * (1 + 1e-12)
    other = mk.sample_size(**sizes, constants=constants, homogeneous=False)
    assert other.per_pair == size.per_pair
    assert other.total == size.total * H
    assert mk.sample_size(**sizes, constants=constants, outcomes=S + 5).per_pair >= size.per_pair


def test_sample_sizes_of_any_size():
    huge = mk.sample_size(n_states=10**30, n_actions=10**12, horizon=10**9, k=10**40, epsilon=1e-9, delta=1e-200)
    assert isinstance(huge.total, int)
    assert huge.total > 10**150
    tiny = mk.sample_size(n_states=2, n_actions=2, horizon=2, k=1, epsilon=Fraction(1, 3), delta=Fraction(1, 10))
    assert tiny.cells == 54


def test_certified_planning_fits_the_same_sample_sizes():
    """What the error bound leaves for planning is positive at the tight sample sizes, and more at the paper's."""
    for S, A, H, K in ((1, 2, 1, 1), (2, 2, 2, 2), (5, 3, 10, 4), (3, 2, 4, 1000), (100, 10, 50, 2)):
        for epsilon in (0.01, 0.3, 1):
            sizes = {"n_states": S, "n_actions": A, "horizon": H, "k": K, "delta": 0.05}
            tight = mk.sample_size(**sizes, epsilon=epsilon, constants="tight").per_pair
            assert error_bound(**sizes, m=tight, outcomes=S) <= 0.97 * epsilon
            paper = mk.sample_size(**sizes, epsilon=epsilon).per_pair
            assert error_bound(**sizes, m=paper, outcomes=S) <= 0.5 * epsilon


# Uniform sampling.


def test_the_papers_algorithm_and_the_default():
    """The paper's m and grid come with its constants and planner; the default of Uniform has neither."""
    mdp, sizes = mk.instances.figure1(), {"n_states": 1, "n_actions": 2, "horizon": 1, "k": 2, "outcomes": 2}
    runs = {
        learner: mk.learn(mk.TabularModel(mdp), 2, epsilon=1, delta=0.1, learner=learner, rng=0)
        for learner in (mk.Uniform(), mk.Uniform(constants="paper", planner="midpoint"))
    }
    default, paper = runs.values()
    size = mk.sample_size(**sizes, epsilon=1, delta=0.1, constants="paper")
    assert paper.samples == size.total
    assert paper.model_plan.kappa == Fraction(1, size.cells) <= Fraction(1, 9)
    assert default.samples < size.total
    assert not hasattr(default.model_plan, "kappa")
    assert 'Uniform(constants="paper", planner="midpoint")' in mk.Uniform.__doc__


def test_uniform_learning():
    mdp, k, epsilon = mk.instances.figure1(), 2, 0.8
    model = Counting(mk.TabularModel(mdp))
    out = mk.learn(model, k, epsilon=epsilon, delta=0.1, learner=mk.Uniform())
    size = mk.sample_size(
        n_states=1, n_actions=2, horizon=1, k=k, epsilon=epsilon, delta=0.1, constants="tight", outcomes=2
    )
    assert out.samples == size.total == sum(model.drawn.values())
    assert out.counts.tolist() == [size.per_pair] * 2
    assert out.upper - out.lower <= out.epsilon <= epsilon  # no more than the bounds say
    assert out.target == epsilon
    assert str(size.per_pair) in out.certificate
    assert loss(mdp, k, out.policy) <= 0.05  # far better than promised
    midpoint = mk.learn(mk.TabularModel(mdp), k, epsilon=epsilon, delta=0.1, learner=mk.Uniform(planner="midpoint"))
    assert midpoint.model_plan.cells == size.cells
    assert midpoint.counts.tolist() == out.counts.tolist()
    paper = mk.learn(
        mk.TabularModel(mdp), k, epsilon=epsilon, delta=0.1, learner=mk.Uniform(constants="paper"), budget=10**6
    )
    assert paper.samples > 10 * out.samples
    assert paper.model_plan.stats["tol"] < epsilon


def test_uniform_learning_scales_with_the_rewards():
    """Ten times the rewards and ten times epsilon: the same samples, whatever the rewards start from."""
    counts = []
    for scale, shift in ((1, 0), (10, 0), (10, 500)):
        mdp = small(1).with_rewards(small(1).reward * scale + shift)
        out = mk.learn(mk.TabularModel(mdp), 1, epsilon=1.5 * scale, delta=0.2, learner=mk.Uniform())
        counts.append(out.counts.tolist())
        assert out.model_plan.gap <= 1.5 * scale
    assert counts[0] == counts[1] == counts[2]
    ending = mk.instances.figure1().with_rewards(mk.instances.figure1().reward + 9)  # 0 comes after an end
    wide = mk.learn(mk.TabularModel(ending), 1, epsilon=8, delta=0.2, learner=mk.Uniform())
    same = mk.sample_size(
        n_states=1, n_actions=2, horizon=1, k=1, epsilon=0.8, delta=0.2, constants="tight", outcomes=2
    )
    assert wide.samples == same.total


def test_uniform_learning_says_what_a_budget_buys_before_sampling():
    model = Counting(mk.TabularModel(mk.instances.figure1()))
    with pytest.raises(mk.InputError, match=r"budget 5000 is too small: 168902 samples for each of 2 rows") as error:
        mk.learn(model, 2, epsilon=0.1, delta=0.05, learner=mk.Uniform(), budget=5000)
    assert not model.drawn
    offer = str(error.value).split("buys epsilon=")[1]
    epsilon, delta = (float(x) for x in offer.split(" at delta="))
    assert delta == 0.05
    out = mk.learn(model, 2, epsilon=epsilon, delta=delta, learner=mk.Uniform(), budget=5000)
    assert 4900 < out.samples <= 5000
    with pytest.raises(mk.InputError, match=r"buys epsilon=1 at delta=0\.") as error:  # at no epsilon with this delta
        mk.learn(model, 2, epsilon=0.1, delta=1e-9, learner=mk.Uniform(), budget=2400)
    delta = float(str(error.value).split("delta=")[1])
    assert mk.learn(model, 2, epsilon=1, delta=delta, learner=mk.Uniform(), budget=2400).samples <= 2400
    with pytest.raises(mk.InputError, match="5 for each row buy no guarantee, whatever epsilon and delta"):
        mk.learn(model, 2, epsilon=0.1, delta=0.05, learner=mk.Uniform(), budget=10)


# Budgets.


@pytest.mark.parametrize("budget", [2, 3, 10, 37, 200, 1000, 3000])
def test_no_budget_is_exceeded(budget):
    mdp = mk.instances.figure1()
    model = Counting(mk.TabularModel(mdp))
    out = mk.learn(model, 2, epsilon=0.01, delta=0.1, budget=budget)
    assert out.samples == out.counts.sum() == sum(model.drawn.values())
    assert budget - 2 < out.samples <= budget  # less than a trial is left
    assert loss(mdp, 2, out.policy) <= out.epsilon
    assert 0.01 < out.epsilon <= 1 + 1e-12
    assert out.epsilon < 0.6 or budget < 1000


def test_more_budget_proves_more():
    model = mk.TabularModel(small(1))
    proved = [mk.learn(model, 2, epsilon=1e-3, delta=0.1, budget=budget).epsilon for budget in (100, 3000, 50_000)]
    assert proved == sorted(proved, reverse=True)
    assert proved[2] < 0.25


def test_progress():
    told = []
    out = mk.learn(mk.TabularModel(small(1)), 2, epsilon=0.4, delta=0.1, progress=told.append)
    assert [at.samples for at in told] == sorted(at.samples for at in told)
    assert told[-1].samples == out.samples
    assert (told[-1].lower, told[-1].upper) == (out.lower, out.upper)
    assert "samples: policy at least" in str(told[-1])
    mk.learn(mk.TabularModel(small(1)), 1, epsilon=1, delta=0.1, progress=True)


def test_rewards_seen_off_any_lattice():
    """Rewards without a common step are bounded by chords."""
    mdp = mk.instances.random_sparse(2, 2, 2, successors=2, rng=7)
    out = mk.learn(mk.TabularModel(mdp), 2, epsilon=0.5, delta=0.1)
    assert out.epsilon <= 0.5
    assert loss(mdp, 2, out.policy) <= out.epsilon


def test_what_no_samples_can_prove_is_refused():
    model = mk.TabularModel(mk.instances.random_sparse(2, 2, 2, successors=2, rng=7))
    with pytest.raises(mk.TooLargeError, match="epsilon 1e-05 may be out of reach of any number of samples"):
        mk.learn(model, 2, epsilon=1e-5, delta=0.1)
    assert mk.learn(model, 2, epsilon=1e-5, delta=0.1, budget=1000).epsilon > 1e-5


def test_a_problem_without_a_choice_or_a_chance():
    sure = mk.MDP.from_arrays([[[1.0]]], [[2.0]], horizon=3)
    out = mk.learn(mk.TabularModel(sure), 2, epsilon=1e-6, delta=0.1)
    assert out.lower <= 6 <= out.upper
    nothing = mk.MDP.from_arrays([[[1.0]]], [[0.0]], horizon=2)
    assert mk.learn(mk.TabularModel(nothing), 1, epsilon=1e-9, delta=0.1).epsilon <= 1e-9


def test_what_was_sampled_is_the_empirical_problem():
    model = CheckedModel(mk.TabularModel(mk.instances.figure1()))
    data = Data(model)
    data.add(0, np.array([1, 1, 1, 1]), np.array([0.5, 0.5, 0.0, 0.5]))
    data.add(1, np.array([1, 1]), np.array([1.0, 0.0]))
    mdp = data.mdp(*model.start)
    assert mdp.outcomes(0, 0, 0) == [(0.25, None, 0.0), (0.75, None, 0.5)]
    assert mdp.outcomes(0, 0, 1) == [(0.5, None, 0.0), (0.5, None, 1.0)]
    assert optimum(mdp, 1) == Fraction(1, 2)


# Found by a stranger.


class Sure:
    """One state, two actions that always pay the same: the better of the two is the optimum, exactly."""

    n_states, n_actions, horizon, start, homogeneous, can_terminate = 1, 2, 1, 0, True, False

    def __init__(self, rewards, reward_range):
        self._rewards, self.reward_range = rewards, reward_range

    def sample(self, step, state, action, n, rng):
        return np.zeros(n, int), np.full(n, self._rewards[action])


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_greatest_reward_off_the_lattice(seed, k):
    """Above the last lattice point below the greatest return no chord may run below the truth."""
    random = np.random.default_rng(seed)
    low, high = -random.random(), random.random()
    out = mk.learn(Sure([high, random.uniform(low, high)], (low, high)), k, epsilon=0.3, delta=0.1, budget=20_000)
    assert out.upper >= high


@pytest.mark.parametrize("best", [0.9, 0.988375, 0.991375])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e7, 1e8])
def test_rewards_far_from_0(offset, best):
    """Off an exact lattice nothing is taken for whole, however large returns are beside its step."""

    class Far:
        n_states, n_actions, horizon, start, homogeneous, can_terminate = 1, 2, 1, 0, True, False
        reward_range = (offset, offset + 1)

        def sample(self, step, state, action, n, rng):
            other = np.where(rng.random(n) < 0.5, 0.1234567, 0.3141592)
            return np.zeros(n, int), offset + (np.full(n, best) if action else other)

    out = mk.learn(Far(), 1, epsilon=0.01, delta=0.1, rng=0)
    assert out.upper >= offset + best
    assert out.epsilon <= 0.01


@pytest.mark.parametrize("budget", range(4, 40, 3))
def test_small_budgets_end(budget):
    class Coin:
        n_states, n_actions, horizon, start, homogeneous = 2, 2, 1, 0, True

        def sample(self, step, state, action, n, rng):
            return rng.integers(0, 2, n), (rng.random(n) < 0.5).astype(float)

    assert mk.learn(Coin(), 1, epsilon=0.5, delta=0.9, budget=budget).samples <= budget


def test_a_checkpoint_belongs_to_one_start_and_its_rewards(tmp_path):
    class Known:
        n_states, n_actions, horizon, homogeneous, can_terminate = 2, 2, 1, True, False

        def __init__(self, start=0, rewards=((1.0, 0.0), (1.0, 0.0))):
            self.start, self.rewards = start, np.array(rewards)

        def sample(self, step, state, action, n, rng):
            return np.full(n, state), np.full(n, self.rewards[state, action])

    options = {"epsilon": 0.4, "delta": 0.01, "checkpoint": tmp_path / "x.ckpt"}
    mk.learn(Known(), 1, **options)
    for other in (Known(start=1), Known(rewards=((0.0, 1.0), (0.0, 1.0)))):
        with pytest.raises(mk.InputError, match="another model"):
            mk.learn(other, 1, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: mk.learn(m, 1, epsilon=0.1, delta=Fraction(1, 10**400)), "delta is too small"),
        (lambda m: mk.learn(m, 1, epsilon=0.1, delta=0.1, checkpoint=5), "checkpoint must be a path, not 5"),
        (lambda m: mk.learn(m, 1, epsilon=0.1, delta=0.1, checkpoint="no/such/x"), "No such file or directory"),
        (lambda m: mk.learn(m, 1, epsilon=1e-10, delta=0.1, learner=mk.Uniform()), "no run ends so late"),
        (lambda m: mk.learn(m, 1, epsilon=1e-200, delta=0.1, learner=mk.Uniform(), budget=1000), "too small"),
        (
            lambda m: mk.least_samples(n_states=2, n_actions=2, horizon=4, k=1, epsilon=1e-200, delta=0.05),
            "beyond the range of floats",
        ),
    ],
)
def test_numbers_beyond_reach(call, message):
    with pytest.raises(mk.InputError, match=message):
        call(mk.TabularModel(mk.instances.figure1()))


def test_rows_that_take_turns_do_not_drive_each_other_up():
    """On a lake without slipping every row has to be sampled about equally often, one after the other.

    If each round started from the largest number of samples of any row, these would be multiplied again and again.
    """
    size, holes, goal = 4, (5, 7, 11, 12), 15

    def move(s, down, right):
        row, column = (min(max(x, 0), size - 1) for x in (s // size + down, s % size + right))
        t = size * row + column
        return [(1.0, t, float(t == goal), t in holes or t == goal)]

    ways = ((0, -1), (1, 0), (0, 1), (-1, 0))
    table = {s: {a: move(s, *way) for a, way in enumerate(ways)} for s in range(size * size)}
    model = mk.TabularModel(mk.MDP.from_table(table, horizon=8))
    learned = mk.learn(model, 2, epsilon=0.3, delta=0.1, rng=0, budget=1_000_000)
    assert learned.epsilon <= 0.3
