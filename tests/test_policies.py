"""A trial keeps its own books, exactly, and does not let a caller lose count."""

import math
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk


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
