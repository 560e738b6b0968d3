"""A trial keeps its own books, exactly, and does not let a caller lose count."""

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk.base import checks
from maxatk.policies.repeated import FixedBest, Repeated
from policies import policies


class Recorder(mk.CompressedPolicy):
    """Answers 0 and remembers what it was asked."""

    def __init__(self, k, horizon, best_so_far=-math.inf):
        super().__init__(k, horizon, best_so_far)
        self.asked = []

    def action(self, *, rollout, step, state, best, so_far):
        self.asked.append((rollout, step, state, best, so_far))
        return 0


def test_the_books_are_kept():
    policy = Recorder(k=3, horizon=2)
    trial = policy.begin()
    for state, reward, done in [
        (5, 1, False),
        (6, 0.5, False),
        (7, -3, True),
        (8, np.float32(0.25), False),
        (9, 2, False),
    ]:
        assert not trial.finished
        trial.act(state)
        trial.observe(reward, done)
    assert policy.asked == [
        (0, 0, 5, -math.inf, 0),
        (0, 1, 6, -math.inf, 1),
        (1, 0, 7, 1.5, 0),  # over after two steps, though nobody said so
        (2, 0, 8, 1.5, 0),  # over when it was said
        (2, 1, 9, 1.5, 0.25),
    ]
    assert trial.finished
    assert trial.best == Fraction(9, 4)


def test_returns_do_not_drift():
    trial = Recorder(k=1, horizon=1000).begin()
    for _ in range(999):
        trial.act(0)
        trial.observe(0.1)
    assert trial.exact_so_far == 999 * Fraction(0.1)
    assert trial.so_far == float(999 * Fraction(0.1))
    assert trial.so_far != sum([0.1] * 999)  # which drifts


@pytest.mark.parametrize("in_hand", [-math.inf, 0.25, 1])
@pytest.mark.parametrize("kind", ["compressed", "history", "mixed"])
def test_a_trial_shows_floats_and_asks_in_fractions(kind, in_hand):
    """After float rewards it used to show fractions such as 3602879701896397/36028797018963968."""
    one = Recorder(k=1, horizon=2)
    several = Recorder(k=3, horizon=2, best_so_far=in_hand)
    seen = mk.HistoryPolicy(lambda history: several.action(**asked(history)), 3, 2, in_hand)
    policy = {"compressed": several, "history": seen, "mixed": mk.MixedPolicy([one], [1], 3, in_hand)}[kind]
    trial = policy.begin()
    assert type(trial.best) is float
    for reward in (0.1, 2, 0.1, np.float32(0.3)):
        trial.act(0)
        trial.observe(reward)
        assert type(trial.best) is type(trial.so_far) is float
    assert trial.best == max(in_hand, float(Fraction(0.1) + 2))
    recorder = one if kind == "mixed" else several
    assert all(type(so_far) is Fraction for *_, so_far in recorder.asked)
    assert recorder.asked[3][4] == Fraction(0.1)
    trial.act(0)
    trial.observe(Fraction(1, 3))
    assert trial.so_far == Fraction(1, 3)
    assert type(trial.best) is Fraction


def asked(history):
    """What a policy that remembers M and G would be asked."""
    return {name: getattr(history, name) for name in ("rollout", "step", "state", "best", "so_far")}


def test_a_fraction_in_hand_stays_one():
    trial = Recorder(k=1, horizon=1, best_so_far=Fraction(1, 3)).begin()
    assert trial.best == Fraction(1, 3)
    trial.act(0)
    trial.observe(0.1)
    assert trial.best == Fraction(1, 3)


def test_a_return_beyond_all_floats_can_be_read():
    trial = Recorder(k=1, horizon=3).begin()
    for reward in (-1.7e308, -1.7e308):
        trial.act(0)
        trial.observe(reward)
    assert trial.so_far == -math.inf
    assert trial.exact_so_far == 2 * Fraction(-1.7e308)


def test_an_incumbent_is_the_first_best():
    trial = Recorder(k=2, horizon=1, best_so_far=4).begin()
    trial.act(0)
    trial.observe(1)
    assert trial.best == 4


def test_trials_are_independent():
    policy = Recorder(k=1, horizon=1)
    first, second = policy.begin(), policy.begin()
    first.act(0)
    first.observe(3)
    assert first.finished
    assert not second.finished
    assert second.best == -math.inf


def test_wrong_order_of_calls():
    trial = Recorder(k=1, horizon=2).begin()
    with pytest.raises(mk.InputError, match="observe: no action was taken since the last outcome"):
        trial.observe(1)
    trial.act(0)
    with pytest.raises(mk.InputError, match="act: the outcome of the last action was not observed yet"):
        trial.act(0)
    with pytest.raises(mk.InputError, match="reward must be finite, not nan"):
        trial.observe(math.nan)
    with pytest.raises(mk.InputError, match="done must be true or false, not array"):
        trial.observe(1, done=np.array([True, False]))
    assert (trial.step, trial.so_far) == (0, 0)
    trial.observe(np.array(1.0), done=True)  # the bad reward changed nothing
    with pytest.raises(mk.InputError, match="act: all 1 rollouts are over"):
        trial.act(0)


def test_an_exact_policy_can_be_run():
    """Figure 1: after a failure play safe, after a success take the risk."""
    policy = mk.solve(mk.instances.figure1(Fraction(1, 10)), k=2, solver=mk.Exact()).policy
    for reward, then in ((0, 0), (Fraction(1, 2), 1)):
        trial = policy.begin()
        assert trial.act(0) == 0
        trial.observe(reward, done=True)
        assert trial.act(0) == then


# Many questions at once.

CLIFF = mk.instances.windy_cliff(horizon=12)
REAL = mk.instances.random_sparse(6, 3, 4, rng=0)
LETTERS = mk.MDP.from_table({0: {0: [(0.5, 0, 0, False), (0.5, 0, 1, False)], 1: [(1, 0, 0.5, False)]}}, horizon=3)


def asked_at(mdp):
    """States, best returns and returns so far, those of no rollout among them."""
    low, high = mdp.return_range
    random = np.random.default_rng(0)
    n = 60
    amounts = np.concatenate([random.uniform(low - 1, high + 1, n // 2), random.integers(low - 1, high + 2, n // 2)])
    best = np.where(random.random(n) < 0.3, -np.inf, random.permutation(amounts))
    return random.integers(mdp.n_states, size=n), best, random.permutation(amounts)


def kinds():
    """Policies that remember M and G at most, one of each kind, with their problems."""
    for name, policy in policies(LETTERS, 3, seed=1).items():
        yield name, LETTERS, policy
    plans = {
        "certified": mk.solve(CLIFF, 3),
        "certified, on no lattice": mk.solve(REAL, 3),
        "certified, costs": mk.solve(CLIFF, 4, cost=0.5, abandon=True),
        "certified, k = 1": mk.solve(LETTERS, 1),
        "exact": mk.solve(mk.instances.proposition3(), 2, solver=mk.Exact()),
        "midpoint": mk.solve(mk.instances.proposition1(), 2, solver=mk.Midpoint(0.1)),
    }
    for name, plan in plans.items():
        yield name, plan.mdp, plan.policy
    for row in mk.compare(CLIFF, 2):
        if isinstance(row.policy, mk.CompressedPolicy):
            yield row.name, CLIFF, row.policy
    one = FixedBest(mk.solve(CLIFF, 1).policy, -15.0)
    yield "as if -15 were the best", CLIFF, one
    yield "that, repeated", CLIFF, Repeated(one, 3, -math.inf, math.inf)


@pytest.mark.slow
def test_actions_are_what_action_answers():
    for name, mdp, policy in kinds():
        state, best, so_far = asked_at(mdp)
        for rollout, step in itertools.product(range(policy.k), range(min(policy.horizon, 3))):
            taken = policy.actions(rollout=rollout, step=step, state=state, best=best, so_far=so_far)
            assert taken.dtype == np.int64, name
            assert taken.tolist() == [
                policy.action(rollout=rollout, step=step, state=s, best=m, so_far=g)
                for s, m, g in zip(state.tolist(), best.tolist(), so_far.tolist(), strict=True)
            ], name


@pytest.mark.parametrize(
    "kind", [float, int, Fraction, np.float64, np.float32, np.int64, np.array, lambda x: Fraction(x, 3)]
)
def test_any_number_is_the_float_nearest_to_it(kind):
    for x in (0, -7, 2**40, -3):
        assert checks.nearest_return(kind(x), "best", none=True) == float(checks.exact_number(kind(x), "best"))
    huge = Fraction(sys.float_info.max) + 1
    for wrong in (math.nan, math.inf, np.float64("nan"), 10**400, huge, "1", None):
        with pytest.raises(mk.InputError, match=r"^best "):
            checks.nearest_return(wrong, "best", none=True)
    assert checks.nearest_return(-math.inf, "best", none=True) == -math.inf
    with pytest.raises(mk.InputError, match="so_far must be finite"):
        checks.nearest_return(-math.inf, "so_far")


def test_best_returns_asked_about_lately_are_forgotten_and_served_again(tune):
    plan = mk.solve(CLIFF, 3)
    asked = [
        {"rollout": i % 3, "step": i % 4, "state": 36, "best": -20.0 - i % 7, "so_far": -(i % 4)} for i in range(84)
    ]
    first = [plan.policy.action(**place) for place in asked]
    tune(lately_served=2)
    again = mk.solve(CLIFF, 3).policy
    assert [again.action(**place) for place in asked] == first
    assert len(again._lately) <= 2


def test_actions_are_broadcast():
    policy = mk.solve(CLIFF, 3).policy
    best, so_far = np.array([-np.inf, -20, -15]), np.arange(-9, -5.0)
    table = policy.actions(rollout=2, step=5, state=28, best=best[:, None], so_far=so_far)
    assert table.shape == (3, 4)
    assert table[1].tolist() == policy.actions(rollout=2, step=5, state=[28] * 4, best=-20, so_far=so_far).tolist()
    single = policy.actions(rollout=2, step=5, state=28, best=-20, so_far=-9)
    assert single.shape == ()
    assert single == table[1, 0]
    assert policy.actions(rollout=0, step=0, state=np.zeros(0, int), best=0.0, so_far=0.0).shape == (0,)
    none = policies(LETTERS, 2, seed=0)["adaptive"].actions(rollout=0, step=0, state=np.zeros(0, int), best=0, so_far=0)
    assert none.shape == (0,)


def test_rollouts_are_given_up_among_others():
    mdp = mk.MDP.from_table({0: {0: [(1, 0, 1, False)]}}, horizon=2).with_action_costs([[1]])
    policy = mk.solve(mdp, 2, cost=0.5, best_so_far=5, abandon=True).policy
    taken = policy.actions(rollout=0, step=1, state=0, best=[-math.inf, 5], so_far=[1, 1])
    assert taken.tolist() == [policy.action(rollout=0, step=1, state=0, best=m, so_far=1) for m in (-math.inf, 5)]
    assert mk.ABANDON in taken


AT = {"rollout": 0, "step": 0, "state": [0, 1], "best": 0.0, "so_far": 0.0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rollout": 3}, "rollout must be between 0 and 2, not 3"),
        ({"rollout": [0]}, "rollout must be an integer"),
        ({"step": 12}, "step must be between 0 and 11, not 12"),
        ({"state": [0, 48]}, r"state\[1\] is 48: it must be at least 0 and at most 47"),
        ({"state": [[0, 1], [-1, 2]]}, r"state\[1, 0\] is -1"),
        ({"state": -1}, "state is -1"),
        ({"state": np.array([2**64 - 1], np.uint64)}, r"state\[0\] is 18446744073709551615"),
        ({"state": [0.0, 1.0]}, r"state must be integers, not float64 \[2\]"),
        ({"state": [True]}, "state must be integers, not bool"),
        ({"state": ["a"]}, "state must be integers, not <U1"),
        ({"state": [[0], [0, 1]]}, "state must be an array of integers, not"),
        ({"best": [0.0, math.nan]}, r"best\[1\] is nan: it must be finite, or -inf where there is none"),
        ({"best": math.inf}, "best is inf"),
        ({"best": [Fraction(1, 3)]}, "best must be floats, not object"),
        ({"so_far": [0.0, -math.inf]}, r"so_far\[1\] is -inf: it must be finite$"),
        ({"so_far": [1j]}, "so_far must be floats, not complex128"),
        ({"best": [0.0, 1.0, 2.0]}, r"state \[2\], best \[3\] and so_far \[\] do not broadcast to one shape"),
    ],
)
def test_bad_arrays(changed, message):
    policy = mk.solve(CLIFF, 3).policy
    with pytest.raises(mk.InputError, match=message) as error:
        policy.actions(**AT | changed)
    assert "\n" not in str(error.value)


def test_policies_without_actions():
    one = mk.MarkovPolicy([[0]], k=1)
    for policy in (mk.MixedPolicy([one, one], [1, 1], 2), mk.HistoryPolicy(lambda seen: 0, 2, 1)):
        for ask, state in ((policy.action, 0), (policy.actions, [0])):
            with pytest.raises(mk.InputError, match="needs more than M and G to act: run its trials, with begin"):
                ask(rollout=0, step=0, state=state, best=0, so_far=0)
    with pytest.raises(mk.InputError, match="the policy's action must be an integer, not 'up'"):
        mk.AdaptivePolicy(lambda *_: "up", 1, 1).actions(rollout=0, step=0, state=[0], best=0, so_far=0)
