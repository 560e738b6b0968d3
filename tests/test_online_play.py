"""Learning from episodes: the closed loop, ask and tell, runs that were interrupted, refusals by name."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.grid import grid_for_episodes
from maxatk.planning.certified.policy import SlicePolicy
from online_runs import EXPLORE, begun, optimum, per_step, played

# The closed loop.


@pytest.mark.parametrize("explore", EXPLORE)
def test_a_policy_is_learned_and_proved(explore):
    mdp, k = mk.instances.figure1(), 2
    out = mk.learn(mk.TabularEpisodes(mdp), k, epsilon=0.15, delta=0.1, learner=mk.Online(explore), rng=1)
    best = float(optimum(mdp, k))
    assert out.epsilon <= 0.15
    assert out.lower <= mk.evaluate(mdp, out.policy).lower <= best <= out.upper
    assert out.upper - out.lower == pytest.approx(out.epsilon)
    assert out.samples == out.counts.sum() == out.stats["trials"] * 2
    assert "steps in" in out.certificate
    assert str(out.samples) in out.certificate
    bests = [-math.inf, 0.0, 0.5, 1.0]
    taken = out.policy.actions(rollout=1, step=0, state=0, best=bests, so_far=0.0)
    assert taken.tolist() == [out.policy.action(rollout=1, step=0, state=0, best=m, so_far=0.0) for m in bests]


@pytest.mark.parametrize("budget", [12, 13, 100, 1001])
def test_a_budget_is_kept_to(budget):
    mdp = mk.instances.proposition3()
    out = mk.learn(mk.TabularEpisodes(mdp), 2, epsilon=1e-3, delta=0.1, learner=mk.Online(), budget=budget)
    assert budget - 6 < out.samples <= budget
    assert out.epsilon >= 1e-3
    assert out.lower <= 21 / 16 <= out.upper


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("explore", "real"), [("optimism", False), ("posterior", False), ("optimism", True), ("posterior", True)]
)
def test_an_interrupted_run_goes_on(tmp_path, tune, explore, real):
    tune(save_every=0.0)
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
        assert again.model_plan.mdp == whole.model_plan.mdp
        assert again.model_plan.lower == whole.model_plan.lower
    with pytest.raises(mk.InputError, match="it was begun with another"):
        mk.learn(Stopping(mdp), **{**arguments, "k": 3}, checkpoint=path)
    with pytest.raises(mk.InputError, match="it was begun with another"):
        mk.learn(mk.TabularModel(mdp), 2, epsilon=0.4, delta=0.1, rng=3, checkpoint=path)


def test_episodes_are_learned_from_by_playing():
    """Without a learner that is Online, also for sources that know of no table."""
    source = mk.TabularEpisodes(mk.instances.figure1())
    arguments = {"epsilon": 0.3, "delta": 0.1, "rng": 2}
    usual, online = mk.learn(source, 2, **arguments), mk.learn(source, 2, learner=mk.Online(), **arguments)
    assert (usual.lower, usual.upper, usual.samples) == (online.lower, online.upper, online.samples)


# Ask and tell.


def ask_and_tell(run, source, trials):
    for _ in range(trials):
        trial = run.trial()
        while not trial.finished:
            i, state = trial.rollout, source.reset(run.rng)
            while trial.rollout == i:
                state, reward, done = source.step(trial.act(state))
                last = trial.step + 1 == source.spec.horizon and not done
                trial.observe(reward, done, next_state=state if last else source.spec.n_states if done else None)


@pytest.mark.parametrize("explore", EXPLORE)
@pytest.mark.parametrize("homogeneous", [True, False])
def test_ask_and_tell_is_the_closed_loop(explore, homogeneous):
    mdp = mk.instances.proposition3() if homogeneous else per_step(1)
    closed = played(begun(mdp, 2, explore, seed=5, delta=0.05), 60)
    source = mk.TabularEpisodes(mdp)
    told = mk.Online(explore).begin(
        *(2, mdp.n_states, mdp.n_actions, mdp.horizon),
        reward_range=source.spec.reward_range,
        return_range=source.spec.return_range,
        homogeneous=homogeneous,
        start=source.spec.start,
        can_terminate=source.spec.can_terminate,
        max_outcomes=source.spec.max_outcomes,
        rng=5,
    )
    ask_and_tell(told, source, 60)
    assert told.ledger.returns == closed.ledger.returns
    assert told.ledger.data.counts.tolist() == closed.ledger.data.counts.tolist()
    assert told.bounds == closed.bounds
    assert told.regret == closed.regret


@pytest.mark.parametrize("explore", EXPLORE)
def test_a_trial_plays_the_plan(explore):
    """Where something can be won yet, at the very returns that the trial is at."""
    mdp = mk.instances.random_sparse(4, 3, 3, successors=2, rewards=[0, 0.5, 1], rng=2)
    run, asked = begun(mdp, 2, explore), 0
    for _ in range(60):
        trial = run.trial()
        policy = run.policy
        while not trial.finished:
            i, state = trial.rollout, run.ledger.source.reset(run.rng)
            while trial.rollout == i:
                at = {"step": trial.step, "best": trial.best, "so_far": trial.so_far}
                action = trial.act(state)
                if trial.best < trial.so_far + (3 - trial.step):
                    asked += 1
                    assert action == policy.action(rollout=i, state=state, **at)
                state, reward, done = run.ledger.source.step(action)
                trial.observe(reward, done, mdp.n_states if done else state)
    assert asked > 100


def test_a_policy_that_is_tested_is_asked_with_exact_sums(monkeypatch):
    """As evaluation asks it; what the trial shows are floats."""
    asked = []
    action = SlicePolicy.action
    monkeypatch.setattr(SlicePolicy, "action", lambda self, **at: asked.append(at) or action(self, **at))
    run = mk.Online().begin(k=2, n_states=1, n_actions=2, horizon=4, reward_range=(0, 0.1), rng=0)
    for begin in (run.trial, run.test):
        trial = begin()
        while not trial.finished:
            trial.act(0)
            trial.observe(0.1, next_state=0)
            assert type(trial.best) is type(trial.so_far) is float
        if begin == run.trial:
            run.begin_test()
            asked.clear()
    assert [at["so_far"] for at in asked[:4]] == [n * Fraction(0.1) for n in range(4)]
    assert run.ledger.returns == [float(4 * Fraction(0.1))] * 2


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
        ({"best_so_far": 2}, "the best so far is 2, and no return can be better"),
        ({"best_so_far": math.nan}, "best_so_far"),
        ({"max_outcomes": 0}, "max_outcomes"),
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
        mk.Online().begin(**{"k": 2, "n_states": 2, "n_actions": 2, "horizon": 2, "can_terminate": False, **arguments})


def test_what_cannot_be_told():
    with pytest.raises(mk.InputError, match="explore must be one of optimism, posterior"):
        mk.Online("greedy")
    run = mk.Online().begin(2, 2, 2, 2, return_range=(0, 1), can_terminate=False)
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
        (0.5, True, None, rf"{row}: the rollout ended, but can_terminate is false"),
        (0.5, False, 3, "the next state"),
        (0.5, False, 2, "can_terminate is false"),
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
            spread = run.ledger.grid().kappa / math.sqrt(times) + (mdp.reward.max() - mdp.reward.min()) / math.sqrt(
                times
            )
            assert abs(reward[row == x] @ n[row == x] / times - true) < 4 * spread


@pytest.mark.parametrize("reward", [0.3, 0.7123, 1.0])
def test_rounding_keeps_the_mean(reward):
    points = grid_for_episodes(CheckedEpisodes.of(mk.TabularEpisodes(mk.instances.figure1())), [], rounds=True)
    rng = np.random.default_rng(0)
    jumps = np.array([points.rounded(reward, 1, rng)[0][0] for _ in range(4000)])
    assert set(jumps) <= {math.floor(reward / points.kappa + 1e-9), math.ceil(reward / points.kappa - 1e-9)}
    assert abs(jumps.mean() - reward / points.kappa) <= 4 * 0.5 / math.sqrt(4000)


def test_a_finer_reward_makes_a_finer_lattice():
    run = mk.Online("posterior").begin(1, 1, 2, 2, reward_range=(0, 1))
    steps = []
    for reward in (1.0, 1.0, 0.5, 0.5, 0.1, 0.1, math.pi / 4, 0.3):
        trial = run.trial()
        steps.append(trial._grid.kappa)
        for _ in range(2):
            trial.act(0)
            trial.observe(reward if trial.step == 0 else 0.0, next_state=0)
    assert steps == pytest.approx([1, 1, 1, 0.5, 0.5, 0.1, 0.1, 2 / 64])


# Gymnasium.


@pytest.mark.slow
def test_frozen_lake_without_a_table():
    gym = pytest.importorskip("gymnasium")
    episodes = mk.gym.EnvEpisodes("FrozenLake-v1", horizon=8, return_range=(0, 1), is_slippery=False)
    arguments = {"k": 2, "epsilon": 0.1, "delta": 0.1, "budget": 3000, "rng": 0}
    out = mk.learn(episodes, **arguments)
    table = mk.MDP.from_gymnasium("FrozenLake-v1", horizon=8, is_slippery=False)
    assert mk.evaluate(table, out.policy).value == 1.0
    assert mk.learn(episodes, **arguments).counts.tolist() == out.counts.tolist()  # seeds are drawn from rng
    with pytest.raises(mk.InputError, match="the states of CartPole-v1 are not numbered"):
        mk.gym.EnvEpisodes("CartPole-v1")
    short = mk.gym.EnvEpisodes(gym.make("FrozenLake-v1", max_episode_steps=3), horizon=8)
    with pytest.raises(mk.InputError, match="cuts rollouts off after 3 steps, before the horizon of 8"):
        mk.learn(short, **arguments)
