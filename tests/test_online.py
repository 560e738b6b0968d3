"""Learning from episodes: bounds against exact optima, runs against runs that were interrupted, refusals by name."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lemmas
import maxatk as mk
from maxatk.kernels.uncertain import judged
from maxatk.learning import ledger as ledger_module
from maxatk.learning.betting import betting_bound
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.online import certificate
from maxatk.learning.online import points as points_module
from maxatk.learning.online.explore import balls
from maxatk.learning.online.online import play
from maxatk.learning.online.points import points_for
from maxatk.learning.online.run import OnlineRun
from maxatk.learning.online.swept import ABOVE, BELOW, MEAN, Belief, Swept, SweptPolicy
from maxatk.learning.optimism import STAKES
from oracles import policy_value
from problems import specs, table_of

EXPLORE = ["optimism", "posterior", "tuned"]


def optimum(mdp, k, best_so_far=-math.inf):
    return mk.solve(mdp, k, solver=mk.Exact(), best_so_far=best_so_far).exact


def coins(k, gap=0.25):
    return mk.MDP.from_table([[[(x, 0, 1.0, True), (1 - x, 0, 0.0, True)] for x in (1 / k, (1 + gap) / k)]], horizon=1)


def per_step(seed):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(2), (2, 2, 2))
    return mk.MDP.from_arrays(P, random.choice([0, 0.5, 1], (2, 2, 2)), horizon=2, start=[0.25, 0.75])


def begun(mdp, k, explore="optimism", seed=0, delta=0.1, known_start=True, **more):
    source = mk.TabularEpisodes(mdp, known_start=known_start)
    for name, value in more.items():
        setattr(source, name, value)
    ledger = mk.Online().ledger(source, k, np.random.default_rng(seed), delta=delta)
    return OnlineRun(ledger, explore)


def played(run, trials):
    for _ in range(trials):
        play(run.ledger, run.trial())
    return run


def truth(mdp, log):
    """The rows of a problem as a belief, as uncertain as ``log`` says."""
    setting = CheckedEpisodes(mk.TabularEpisodes(mdp))
    points = points_for(setting, mdp.reward.tolist(), rounds=False)
    sizes = np.diff(mdp.outcome_start)
    belief = Belief(
        np.repeat(np.arange(setting.n_rows), sizes),
        mdp.next_state.astype(np.int64),
        np.rint(mdp.reward / points.kappa).astype(np.int64),
        np.array(mdp.row_prob),
        *setting.start,
        np.append(np.full(setting.n_rows, log), 0.0),
    )
    return points, belief


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
    above = judged(ABOVE, worth, share, len(n), risk, least, most, stakes)
    below = judged(BELOW, worth, share, len(n), risk, least, most, stakes)
    assert least <= below <= judged(MEAN, worth, share, len(n), risk, least, most, stakes) + 1e-12 <= above + 2e-12
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
    seen = judged(ABOVE, np.array([0.0, 1.0]), np.array([0.9, 0.1]), 2, 1.0, 0.0, 1.0, stakes)
    assert seen < 0.9


@settings(max_examples=40)
@given(spec=specs(max_horizon=3), k=st.integers(1, 3), log=st.sampled_from([0.02, 0.5]), seed=st.integers(0, 9))
def test_a_plan_of_the_truth_is_the_optimum(spec, k, log, seed):
    """By means it is the optimum itself, earned by its policy; bounds from above and below are ever closer to it."""
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    assume(mdp.return_range[1] > mdp.return_range[0] and mdp.homogeneous)
    points, belief = truth(mdp, log)
    best = float(optimum(mdp, k))
    plain, above, below = (Swept(points, k, belief, way) for way in (MEAN, ABOVE, BELOW))
    assert plain.value == pytest.approx(best, abs=1e-9)
    assert float(policy_value(mdp, SweptPolicy(plain), k)) == pytest.approx(best, abs=1e-9)
    assert below.value <= best + 1e-9
    assert above.value >= best - 1e-9
    assert below.value_of(plain) <= best + 1e-9
    assert plain.value_of(plain) == pytest.approx(best, abs=1e-9)
    assert plain.value_of(below) <= best + 1e-9
    surer = belief._replace(risk=belief.risk / 4)
    assert Swept(points, k, surer, ABOVE).value <= above.value + 1e-9
    assert Swept(points, k, surer, BELOW).value >= below.value - 1e-9
    certain = belief._replace(risk=belief.risk * 1e-9)
    assert Swept(points, k, certain, ABOVE).value == pytest.approx(best, abs=2e-3 * (1 + abs(best)))


@settings(max_examples=30)
@given(spec=specs(max_horizon=3), seed=st.integers(0, 99))
def test_the_policy_is_the_same_asked_one_by_one_and_in_bulk(spec, seed):
    mdp = mk.MDP.from_table(table_of(spec), horizon=spec.H, start=spec.start)
    assume(mdp.return_range[1] > mdp.return_range[0])
    run = played(begun(mdp, 2, "tuned", seed), 5)

    class OneByOne(mk.CompressedPolicy):
        def action(self, **asked):
            return run.policy.action(**asked)

    for rollout in range(2):
        bulk, alone = (mk.simulate(mdp, p, trials=50, rng=rollout) for p in (run.policy, OneByOne(2, spec.H)))
        assert bulk.returns.tolist() == alone.returns.tolist()


# Bounds.


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


def test_the_bound_pays_for_what_it_claims():
    """With a tenth of the logarithm the bound from above fails often: it is not true for want of trying."""
    mdp, k = mk.instances.figure1(), 2
    best, failed = float(optimum(mdp, k)), 0
    for seed in range(40):
        run = played(begun(mdp, k, "tuned", seed), 30)
        points = run.ledger.points()
        belief = certificate.optimistic(
            run.ledger, points, run.ledger.risk.share("the optimum from above", Fraction(1, 2))
        )
        failed += Swept(points, k, belief._replace(risk=belief.risk / 100), ABOVE).value < best
    assert failed >= 5


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
    alone = mk.learn_from([[(0, 0, 0.5, None)]] * 3000, 1, n_states=1, n_actions=2, horizon=1, support=2)
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
def test_few_knots_bound_less(monkeypatch, way, sign):
    """Between knots a bound from above is a chord, one from below the knot before: neither may be better than all."""
    differ = 0
    for seed in range(6):
        mdp = mk.instances.random_sparse(4, 2, 3, successors=2, rewards=[0, 0.1, 0.7, 1], rng=seed)
        points, belief = truth(mdp, 0.002)
        monkeypatch.setattr(points_module, "KNOTS", 64)
        every = Swept(points, 3, belief, way).value
        monkeypatch.setattr(points_module, "KNOTS", 3)
        few = Swept(points, 3, belief, way).value
        assert sign * few >= sign * every - 1e-12
        differ += few != every
    assert differ


# The closed loop.


@pytest.mark.parametrize("explore", EXPLORE)
def test_a_policy_is_learned_and_proved(explore):
    mdp, k = mk.instances.figure1(), 2
    out = mk.learn(mk.TabularEpisodes(mdp), k, epsilon=0.15, delta=0.1, learner=mk.Online(explore), rng=1)
    best = float(optimum(mdp, k))
    assert out.epsilon <= 0.15
    assert out.stats["lower"] <= mk.evaluate(mdp, out.plan.policy).lower <= best <= out.stats["upper"]
    assert out.stats["upper"] - out.stats["lower"] == pytest.approx(out.epsilon)
    assert out.samples == out.counts.sum() == out.stats["trials"] * 2
    assert "steps in" in out.certificate
    assert str(out.samples) in out.certificate


@pytest.mark.parametrize("budget", [12, 13, 100, 1001])
def test_a_budget_is_kept_to(budget):
    mdp = mk.instances.proposition3()
    out = mk.learn(mk.TabularEpisodes(mdp), 2, epsilon=1e-3, delta=0.1, learner=mk.Online(), budget=budget)
    assert budget - 6 < out.samples <= budget
    assert out.epsilon >= 1e-3
    assert out.stats["lower"] <= 21 / 16 <= out.stats["upper"]


def test_progress_is_told():
    told = []
    mk.learn(
        *(mk.TabularEpisodes(mk.instances.figure1()), 2),
        epsilon=0.3, delta=0.2, learner=mk.Online(), progress=told.append,
    )  # fmt: skip
    assert told[-1].upper - told[-1].lower <= 0.3
    assert [p.samples for p in told] == sorted(p.samples for p in told)
    assert all(a.upper >= b.upper for a, b in itertools.pairwise(told))


class Stopping(mk.TabularEpisodes):
    """Episodes that are interrupted at their ``last`` step."""

    def __init__(self, mdp, last=0):
        super().__init__(mdp)
        self.calls, self.last = 0, last

    def step(self, action):
        self.calls += 1
        if self.calls == self.last:
            raise KeyboardInterrupt
        return super().step(action)


@pytest.mark.parametrize(
    ("explore", "real"), [("optimism", False), ("posterior", False), ("tuned", True), ("posterior", True)]
)
def test_an_interrupted_run_goes_on(tmp_path, monkeypatch, explore, real):
    monkeypatch.setattr(ledger_module, "SAVE_EVERY", 0.0)
    mdp = mk.instances.proposition3()
    if real:  # rewards that are multiples of nothing: rounded at random
        mdp = mdp.with_rewards(mdp.reward * math.sqrt(0.5) + 0.1 * np.sin(np.arange(len(mdp.reward))))
    arguments = {"k": 2, "epsilon": 0.4, "delta": 0.1, "learner": mk.Online(explore), "rng": 3, "budget": 400}
    source = Stopping(mdp)
    whole = mk.learn(source, **arguments)
    for last in {1, 50, source.calls // 2, source.calls - 1}:
        path = tmp_path / f"{last}.ckpt"
        with pytest.raises(KeyboardInterrupt):
            mk.learn(Stopping(mdp, last), **arguments, checkpoint=path)
        again = mk.learn(Stopping(mdp), **arguments, checkpoint=path)
        assert (again.samples, again.epsilon, again.certificate) == (whole.samples, whole.epsilon, whole.certificate)
        assert again.counts.tolist() == whole.counts.tolist()
        assert again.plan.mdp == whole.plan.mdp
        assert again.plan.lower == whole.plan.lower
    with pytest.raises(mk.InputError, match="it was begun with another"):
        mk.learn(Stopping(mdp), **{**arguments, "k": 3}, checkpoint=path)
    with pytest.raises(mk.InputError, match="it was begun with another"):
        mk.learn(mk.TabularModel(mdp), 2, epsilon=0.4, delta=0.1, rng=3, checkpoint=path)


# Ask and tell.


def ask_and_tell(run, source, trials):
    for _ in range(trials):
        trial = run.trial()
        while not trial.finished:
            i, state = trial.rollout, source.reset(run.rng)
            while trial.rollout == i:
                state, reward, done = source.step(trial.act(state))
                last = trial.step + 1 == source.horizon and not done
                trial.observe(reward, done, next_state=state if last else source.n_states if done else None)


@pytest.mark.parametrize("explore", EXPLORE)
@pytest.mark.parametrize("homogeneous", [True, False])
def test_ask_and_tell_is_the_closed_loop(explore, homogeneous):
    mdp = mk.instances.proposition3() if homogeneous else per_step(1)
    closed = played(begun(mdp, 2, explore, seed=5, delta=0.05), 60)
    source = mk.TabularEpisodes(mdp)
    told = mk.Online(explore).begin(
        *(2, mdp.n_states, mdp.n_actions, mdp.horizon),
        reward_range=source.reward_range,
        return_range=source.return_range,
        homogeneous=homogeneous,
        start=source.start,
        may_end=source.may_end,
        support=source.support,
        rng=5,
    )
    ask_and_tell(told, source, 60)
    assert told.ledger.returns == closed.ledger.returns
    assert told.ledger.data.counts.tolist() == closed.ledger.data.counts.tolist()
    assert told.bounds == closed.bounds
    assert told.regret == closed.regret


def test_a_saved_run_goes_on(tmp_path):
    """Between trials it is the same run; a trial that nobody finishes counts as what it had in hand."""
    mdp, source = mk.instances.proposition3(), mk.TabularEpisodes(mk.instances.proposition3())
    sizes = {"k": 2, "n_states": 4, "n_actions": 2, "horizon": 3, "reward_range": (0, 1)}

    def new(**more):
        return mk.Online("posterior").begin(**sizes, rng=np.random.default_rng(1), **more)

    whole, half = new(), new()
    ask_and_tell(whole, source, 50)
    ask_and_tell(half, source, 20)
    half.save(tmp_path / "x.run")
    later = new(checkpoint=tmp_path / "x.run")
    ask_and_tell(later, source, 30)
    assert later.ledger.returns == whole.ledger.returns
    assert later.bounds == whole.bounds
    trial = later.trial()
    for reward in (1.0, 0.0, 0.5, 1.0):
        trial.act(0)
        trial.observe(reward, next_state=0)
    later.save()
    dropped = new(checkpoint=tmp_path / "x.run")
    assert dropped.ledger.returns == [*whole.ledger.returns, 1.5]
    later.trial()
    assert later.ledger.returns == dropped.ledger.returns
    assert dropped.ledger.data.counts.sum() == whole.ledger.data.counts.sum() + 4
    assert dropped.plan.mdp.n_states == mdp.n_states


def test_a_last_step_counts_if_its_next_state_is_known():
    """Otherwise it is left out, whatever it brought; where steps differ, nothing comes after the last."""
    for homogeneous, next_state, counted in ((True, None, 1), (True, 0, 2), (True, 2, 2), (False, None, 2)):
        run = mk.Online().begin(1, 2, 1, 2, homogeneous=homogeneous)
        trial = run.trial()
        for after in (None, next_state):
            trial.act(1)
            trial.observe(0.5, next_state=after)
        assert trial.finished
        assert run.ledger.data.counts.sum() == counted
        assert run.ledger.steps == 2


def test_idle_time_is_used_to_look_around():
    run = mk.Online().begin(2, 1, 3, 1)
    for _ in range(10):
        trial = run.trial()
        taken = []
        for _ in range(2):
            least = run.ledger.data.counts.min()
            taken.append(trial.act(0))
            assert trial.rollout == 0 or run.ledger.data.counts[taken[-1]] == least
            trial.observe(1.0, True)
    assert run.bounds[1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward_range": (1, 0)}, "has its least above its most"),
        ({"return_range": (3, 4)}, r"return_range \(3, 4\) has nothing in common"),
        ({"return_range": 1}, "return_range must be a pair"),
        ({"return_range": (0, math.nan)}, r"return_range\[1\]"),
        ({"best_so_far": 2}, "2 is in hand, and no return can be better"),
        ({"best_so_far": math.nan}, "best_so_far"),
        ({"support": 0}, "support"),
        ({"start": 5}, "start"),
        ({"homogeneous": "yes"}, "homogeneous must be true or false"),
        ({"delta": 0}, "delta"),
        ({"delta": 2}, "delta"),
        ({"rng": "x"}, "rng"),
        ({"checkpoint": 3}, "checkpoint must be a path"),
        ({"k": 0}, "k"),
        ({"n_states": 10**9}, "rows"),
    ],
)
def test_what_cannot_be_begun(arguments, message):
    with pytest.raises(mk.MaxAtKError, match=message):
        mk.Online().begin(**{"k": 2, "n_states": 2, "n_actions": 2, "horizon": 2, "may_end": False, **arguments})


def test_what_cannot_be_told():
    with pytest.raises(mk.InputError, match="explore must be one of optimism, posterior, tuned"):
        mk.Online("greedy")
    run = mk.Online().begin(2, 2, 2, 2, return_range=(0, 1), may_end=False)
    with pytest.raises(mk.InputError, match="there is no plan before the first step"):
        _ = run.plan
    trial = run.trial()
    with pytest.raises(mk.InputError, match="state"):
        trial.act(2)
    with pytest.raises(mk.InputError, match="no action was taken"):
        trial.observe(0.5)
    a = trial.act(0)
    row = rf"row \(state 0, action {a}, step 0\) in trial 0"
    for reward, done, after, message in (
        (1.5, False, None, rf"{row}: reward 1.5 is outside the reward_range \(0, 1\)"),
        (math.nan, False, None, "reward"),
        ("x", False, None, "reward"),
        (0.5, "yes", None, "done must be true or false"),
        (0.5, True, None, rf"{row}: the rollout ended, but may_end is false"),
        (0.5, False, 3, "the next state"),
        (0.5, False, 2, "may_end is false"),
    ):
        with pytest.raises(mk.InputError, match=message):
            trial.observe(reward, done, after)
    trial.observe(1.0)
    trial.act(1)
    with pytest.raises(mk.InputError, match=r"rollout 0 of trial 0 returned 1.5, outside the return_range \(0, 1\)"):
        trial.observe(0.5)
    trial.observe(0.0, next_state=1)  # nothing that was refused has left a trace
    assert run.ledger.steps == 2
    assert run.ledger.data.counts.sum() == 2
    assert run.ledger.starts.tolist() == [1, 0]
    trial.act(0)
    with pytest.raises(mk.InputError, match="not observed yet"):
        trial.act(0)


def test_what_cannot_be_played():
    with pytest.raises(mk.InputError, match="the episodes have no function reset"):
        mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.1, delta=0.1, learner=mk.Online())
    with pytest.raises(mk.InputError, match=r"the model has no sample.*runs forward only: learn with mk.Online\(\)"):
        mk.learn(mk.TabularEpisodes(mk.instances.figure1()), 2, epsilon=0.1, delta=0.1)
    source = mk.TabularEpisodes(mk.instances.figure1())
    with pytest.raises(mk.InputError, match="budget 3 is less than two trials of up to 2 steps"):
        mk.learn(source, 2, epsilon=0.1, delta=0.1, learner=mk.Online(), budget=3)
    source.step = lambda action: 1  # type: ignore[method-assign]
    with pytest.raises(mk.InputError, match=r"step must return \(next state, reward, done\), not 1"):
        mk.learn(source, 2, epsilon=0.1, delta=0.1, learner=mk.Online())


# Real rewards.


@pytest.mark.parametrize("explore", EXPLORE)
def test_rewards_that_are_multiples_of_nothing(explore):
    """They are rounded at random; the bound from above is still one, and what is remembered keeps its mean."""
    mdp = mk.instances.random_sparse(4, 2, 3, successors=2, rng=2)
    best = mk.solve(mdp, 2).lower
    run = begun(mdp, 2, explore, known_start=False)
    for n in (5, 200, 400):
        played(run, n)
        assert run.ledger.rounds
        lower, upper = run.bounds
        assert lower <= best <= upper + 1e-12
    row, _, reward, n = run.ledger.data.columns()
    for x in range(mdp.n_states * 2):
        true = sum(o.prob * o.reward for o in mdp.outcomes(0, x // 2, x % 2))
        times = n[row == x].sum()
        if times > 100:
            spread = run.ledger.points().kappa / math.sqrt(times) + (mdp.reward.max() - mdp.reward.min()) / math.sqrt(
                times
            )
            assert abs(reward[row == x] @ n[row == x] / times - true) < 4 * spread


@pytest.mark.parametrize("reward", [0.3, 0.7123, 1.0])
def test_rounding_keeps_the_mean(reward):
    points = points_for(CheckedEpisodes(mk.TabularEpisodes(mk.instances.figure1())), [], rounds=True)
    rng = np.random.default_rng(0)
    jumps = np.array([points.jump(reward, rng) for _ in range(4000)])
    assert set(jumps) <= {math.floor(reward / points.kappa + 1e-9), math.ceil(reward / points.kappa - 1e-9)}
    assert abs(jumps.mean() - reward / points.kappa) <= 4 * 0.5 / math.sqrt(4000)


def test_a_finer_reward_makes_a_finer_lattice():
    run = mk.Online("tuned").begin(1, 1, 2, 2, reward_range=(0, 1))
    steps = []
    for reward in (1.0, 1.0, 0.5, 0.5, 0.1, 0.1, math.pi / 4, 0.3):
        trial = run.trial()
        steps.append(trial._points.kappa)
        for _ in range(2):
            trial.act(0)
            trial.observe(reward if trial.step == 0 else 0.0, next_state=0)
    assert steps == pytest.approx([1, 1, 1, 0.5, 0.5, 0.1, 0.1, 2 / 64])


# Logs.


def log_of(mdp, rollouts, rng, behave):
    source, log = mk.TabularEpisodes(mdp), []
    for _ in range(rollouts):
        state, rollout, done = source.reset(rng), [], False
        while not done and len(rollout) < mdp.horizon:
            action = behave(log, rollout, state, rng)
            after, reward, done = source.step(action)
            rollout.append((state, action, reward, None if done else after))
            state = after
        log.append(rollout)
    return log


def at_random(log, rollout, state, rng):
    return int(rng.integers(2))


def while_it_pays(log, rollout, state, rng):
    """Goes on with an action until it pays, and never takes it again."""
    paid = {a for old in log for _, a, reward, _ in old if reward > 0}
    return next((a for a in range(2) if a not in paid), int(rng.integers(2)))


@pytest.mark.parametrize("behave", [at_random, while_it_pays])
@pytest.mark.parametrize("support", [True, False])
def test_a_log_bounds_the_optimum(behave, support):
    for mdp, k in ((mk.instances.figure1(), 2), (mk.instances.proposition3(), 2)):
        source, best = mk.TabularEpisodes(mdp), mk.solve(mdp, k)
        sizes = {"n_states": mdp.n_states, "n_actions": 2, "horizon": mdp.horizon, "may_end": source.may_end}
        for seed in range(8):
            log = log_of(mdp, 200, np.random.default_rng(seed), behave)
            out = mk.learn_from(log, k, 0.2, **sizes, start=0, support=source.support if support else None)
            assert out.lower <= mk.evaluate(mdp, out.policy).value + 1e-9
            assert out.lower <= best.upper
            assert best.lower <= out.upper + 1e-12
            assert out.rollouts == 200
            assert out.counts.sum() == sum(map(len, log))


def test_a_long_log_says_much():
    """The interval closes in on the optimum, and the policy is the best one."""
    mdp = mk.instances.figure1()
    log = log_of(mdp, 8000, np.random.default_rng(0), at_random)
    for support in (2, None):
        out = mk.learn_from(log, 2, n_states=1, n_actions=2, horizon=1, support=support)
        assert out.upper - out.lower < 0.1
        assert mk.evaluate(mdp, out.policy).value == pytest.approx(9 / 16)


@pytest.mark.parametrize(
    ("log", "more", "message"),
    [
        ([], {}, "the log is empty"),
        ([[(0, 0, 1.0, None)]], {"kept": "best"}, "a log that kept 'best' cannot be learned from"),
        ([[(0, 0, 1.0, None)], []], {}, "rollout 1 of the log must be a list of 1 to 3 steps"),
        ([[(0, 0, 1.0, 1)] * 4], {}, "must be a list of 1 to 3 steps"),
        ([[(0, 0, 1.0)]], {}, r"rollout 0, step 0 of the log must be \(state, action, reward, next_state\)"),
        ([[(2, 0, 1.0, None)]], {}, "the state"),
        ([[(0, 2, 1.0, None)]], {}, "the action"),
        ([[(0, 0, 2.0, None)]], {}, "reward 2 is outside"),
        ([[(0, 0, math.inf, None)]], {}, "the reward"),
        (
            [[(0, 0, 0.5, 1), (0, 0, 0.5, None)]],
            {},
            "starts in state 0, but the one before led to 1: was one left out?",
        ),
        ([[(0, 0, 0.5, None), (0, 0, 0.5, None)]], {}, "ends the rollout, but others follow"),
        ([[(0, 0, 0.5, 1), (1, 0, 0.5, 1)]], {}, "stops after 2 of 3 steps without an end"),
        ([[(0, 0, 0.5, 1), (1, 0, 1.0, None)]], {"return_range": (0, 1)}, "rollout 0 of the log returned 1.5"),
    ],
)
def test_logs_that_cannot_be_learned_from(log, more, message):
    with pytest.raises(mk.InputError, match=message):
        mk.learn_from(log, 2, n_states=2, n_actions=2, horizon=3, **more)


# Gymnasium.


def test_frozen_lake_without_a_table():
    gym = pytest.importorskip("gymnasium")
    episodes = mk.gym.Episodes("FrozenLake-v1", horizon=8, return_range=(0, 1), is_slippery=False)
    arguments = {"k": 2, "epsilon": 0.1, "delta": 0.1, "learner": mk.Online("tuned"), "budget": 3000, "rng": 0}
    out = mk.learn(episodes, **arguments)
    table = mk.MDP.from_gymnasium("FrozenLake-v1", horizon=8, is_slippery=False)
    assert mk.evaluate(table, out.plan.policy).value == 1.0
    assert mk.learn(episodes, **arguments).counts.tolist() == out.counts.tolist()  # seeds are drawn from rng
    with pytest.raises(mk.InputError, match="the states of CartPole-v1 are not numbered"):
        mk.gym.Episodes("CartPole-v1")
    short = mk.gym.Episodes(gym.make("FrozenLake-v1", max_episode_steps=3), horizon=8)
    with pytest.raises(mk.InputError, match="cuts rollouts off after 3 steps, before the horizon of 8"):
        mk.learn(short, **arguments)


def test_the_radius_is_that_of_the_lemma():
    run = played(begun(mk.instances.figure1(), 2), 20)
    above = run.ledger.risk.share("the optimum from above", Fraction(1, 2))
    counts = [*run.ledger.data.counts.tolist(), 40]
    radii = [n * lemmas.kl_radius(size, n, 0.1 / 4 / 3) for n, size in zip(counts, (2, 2, 1), strict=True)]
    assert balls(run.ledger, above).tolist() == pytest.approx(radii, rel=1e-12)
