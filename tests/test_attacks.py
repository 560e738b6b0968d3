"""What an attacker found who had an oracle of his own, and the siblings of it."""

import json
import math
import random
import signal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxatk as mk
from maxatk.base import checks, stopping
from maxatk.cli import main
from maxatk.learning import uncertain
from maxatk.planning.certified.lattice import common_step


@pytest.mark.slow
def test_returns_that_floats_hold_but_not_chords_beyond_them():
    table = {0: {0: [(0.5, 0, 1.0, False), (0.5, 0, -1.0, False)], 1: [(1, 0, 1 / 3, False)]}}
    with pytest.raises(mk.InputError, match="too large for floats"):
        mk.MDP.from_table(table, horizon=3).with_rewards([-1e307, 1e307, 3e306])
    mdp = mk.MDP.from_table(table, horizon=3).with_rewards([-5e304, 5e304, 1.7e304])
    plan = mk.solve(mdp, 3)
    assert Fraction(plan.lower) <= mk.solve(mdp, 3, solver=mk.Exact()).exact <= Fraction(plan.upper)
    assert abs(mk.simulate(mdp, plan.policy, trials=1000, rng=0).interval(0.9999)[0]) < math.inf


@pytest.mark.parametrize("size", [0.2, 0.7, 1 / 3])
def test_simulations_ask_at_the_very_returns(size):
    """In 61 bits beside a million, 0.2 is no longer itself."""
    table = {0: {0: [(1, 0, size, True)], 1: [(1, 0, 5.0, True)], 2: [(1, 0, -1e6, True)]}}
    mdp = mk.MDP.from_table(table, horizon=1)
    policy = mk.AdaptivePolicy(lambda i, h, s, best, g: int(best >= size), k=2, horizon=1)
    runs = mk.simulate(mdp, policy, trials=3, rng=0)
    assert runs.returns.tolist() == [[size, 5.0]] * 3
    assert mk.evaluate(mdp, policy).value == 5
    never = mk.simulate(mdp, mk.MarkovPolicy([[0]], k=1), trials=3, rng=0)  # that remember nothing, in bulk
    assert never.returns.tolist() == [[size]] * 3


def test_simulated_means_of_numbers_near_the_largest():
    best = 1e308
    runs = mk.simulate(mk.instances.figure1(), mk.MarkovPolicy([[1]], k=1, best_so_far=best), trials=50, rng=0)
    assert runs.mean == best
    assert runs.stderr == 0


def test_bins_shift_by_what_the_farther_of_both_sides_does():
    probs = [0.7567750429467162, 0.23226735769777188, 0.010957599355511815]
    rewards = [-5.422826160541421, 3.22117314075175e-4, 6.432947830729934]
    mdp = mk.MDP.from_table({0: {0: [(p, 0, r, False) for p, r in zip(probs, rewards, strict=True)]}}, horizon=13)
    lower, upper = mk.evaluate(mdp, mk.MarkovPolicy([[0]] * 13, k=2), max_atoms=200).cdf(12.493677851861015)
    assert lower <= 0.9999999607248242 <= upper


def test_fractions_of_any_length_leave_time_limits_alone(monkeypatch):
    """A common denominator of these would have a million digits."""
    draw = random.Random(0).getrandbits
    row = [(Fraction(1, 60), 0, Fraction(draw(17_000), draw(17_000) | 1 | 1 << 16_999), True) for _ in range(60)]
    mdp = mk.MDP.from_table({0: {0: row, 1: [(1, 0, 1, True)]}}, horizon=1)
    calls, lcm = [], math.lcm
    monkeypatch.setattr(math, "lcm", lambda *some: calls.append(some) or lcm(*some))
    assert common_step(mdp) is None
    assert len(calls) <= 2  # and not a common multiple of all


@pytest.mark.slow
def test_fractions_too_long_to_print(capsys):
    assert main(["compare", "FrozenLake-v1", "-k", "6", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["comparison"]
    assert rows[0]["exact"] is None
    assert rows[0]["lower"] <= rows[0]["upper"]


def test_learning_writes_over_nothing_that_it_needs(tmp_path, capsys):
    path = tmp_path / "mine.npz"
    mk.instances.figure1().save(path)
    before = path.read_bytes()
    for given in (["--save", str(path)], ["--checkpoint", str(path)], ["--save", "x", "--checkpoint", "x"]):
        assert main(["learn", str(path), "--epsilon", "1", *given]) == 2
        assert "would overwrite" in capsys.readouterr().err
    assert path.read_bytes() == before
    for given in ("", "."):
        assert main(["learn", "figure1", "--epsilon", "1", "--save", given]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["solve", ""]) == 2  # no name is no default


@pytest.mark.slow
def test_optimism_comes_to_rest(monkeypatch):
    """Rollouts beyond those that change anything are not swept one by one."""
    model = mk.TabularModel(mk.instances.figure1())
    sweeps, curve = [], uncertain.UncertainPlan._curve
    monkeypatch.setattr(uncertain.UncertainPlan, "_curve", lambda *given: sweeps.append(1) or curve(*given))
    learned = mk.learn(model, 9_000, epsilon=0.5, delta=0.1, budget=300, rng=0)
    assert learned.epsilon <= 1.01
    assert len(sweeps) < 9_000
    with pytest.raises(mk.TooLargeError, match="at most 10000 rollouts"):
        mk.learn(model, 10**6, epsilon=0.5, delta=0.1)


def test_upper_bounds_never_exceed_the_greatest_return():
    mdp = mk.instances.figure1()
    part = mk.MarkovPolicy([[1]], k=1)
    assert mk.evaluate(mdp, mk.MixedPolicy([part, part], [0.5, 0.5], 10**6)).upper <= 1
    assert mk.solve(mdp, 50, solver=mk.Midpoint(1 / 50)).upper <= 1


def test_midpoints_of_numbers_of_any_size():
    mdp = mk.instances.figure1(gamma=0.25)
    for kappa in (Fraction(1, 10**310), 1e-320):
        with pytest.raises(mk.InputError, match=r"kappa must be at least 2\^-50"):
            mk.Midpoint(kappa)
    with pytest.raises(mk.InputError, match="too large for a grid"):
        mk.solve(mdp, 2, solver=mk.Midpoint(1 / 50), best_so_far=1e308)
    plan = mk.solve(mdp, 2, solver=mk.Midpoint(1 / 50))
    assert plan.curve(0, 1e308) == (1e308, 1e308)
    assert plan.policy.action(rollout=0, step=0, state=0, best=1e308, so_far=0) in (0, 1)
    assert mk.compare(mdp, 3, best_so_far=1e308)["adaptive"].lower == 1e308


def test_a_table_of_visits_that_does_not_fit(monkeypatch):
    table = {0: {0: [(0.5, 0, 1, False), (0.5, 0, 0, False)], 2**31 - 2: [(0.25, 0, 2, False), (0.75, 0, 0, False)]}}
    plan = mk.solve(mk.MDP.from_table(table, horizon=2), 2)
    monkeypatch.setattr(checks, "memory", lambda: 2.0**32)
    with pytest.raises(mk.TooLargeError, match="GiB"):
        mk.contrast(plan)


class _Raises:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("of\ntwo lines")

    def __repr__(self):
        raise RuntimeError("again")


JUNK = {
    "contrast": lambda mdp, plan, some: mk.contrast("x"),
    "compare": lambda mdp, plan, some: mk.compare(mdp, 2, plan=[1, 2]),
    "load_plan": lambda mdp, plan, some: mk.load_plan(np.zeros((3, 3))),
    "parts": lambda mdp, plan, some: mk.MixedPolicy(math.nan, [1], 2),
    "part arrays": lambda mdp, plan, some: mk.MixedPolicy(np.array([1.0, 2.0]), [1], 2),
    "rng": lambda mdp, plan, some: mk.MixedPolicy([mk.MarkovPolicy([[0]], k=1)], [1], 2, rng="a"),
    "with_rewards": lambda mdp, plan, some: mdp.with_rewards("\0"),
    "cdf": lambda mdp, plan, some: some.law.cdf(int),
    "find_problem": lambda mdp, plan, some: mk.find_problem(b"x"),
    "rewards": lambda mdp, plan, some: mk.instances.random_dense(3, 2, horizon=2, rewards=sparse.eye(3)),
    "constants": lambda mdp, plan, some: mk.Uniform(constants=np.zeros(3)),
    "progress": lambda mdp, plan, some: mk.solve(mdp, 2, progress=np.zeros(3)),
    "with_problem": lambda mdp, plan, some: plan.save("x", with_problem=np.zeros(3)),
    "raises": lambda mdp, plan, some: mk.MDP.from_arrays(_Raises(), _Raises(), horizon=2),
    "actions": lambda mdp, plan, some: mk.MarkovPolicy(_Raises()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", JUNK)
def test_more_junk(name):
    mdp = mk.instances.figure1()
    plan = mk.solve(mdp, 2)
    with pytest.raises(mk.InputError) as caught:
        JUNK[name](mdp, plan, mk.evaluate(mdp, plan.policy))
    assert "\n" not in str(caught.value)


def test_levels_may_be_fractions():
    mdp = mk.instances.figure1()
    runs = mk.simulate(mdp, mk.MarkovPolicy([[1]], k=1), trials=50, rng=0)
    assert runs.interval(Fraction(1, 2)) == runs.interval(0.5)


def test_ctrl_c_is_heard_though_nobody_asks_before_the_end():
    """Where nothing can be given back yet, an interrupt that came after the last look is not lost."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background ignore
    with pytest.raises(KeyboardInterrupt), stopping.scope(patient=True):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stopping.scope(), stopping.scope(patient=True):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [5e-324, 1e-300])
def test_forged_lattices(tmp_path, kappa, monkeypatch):
    plan = mk.solve(mk.instances.windy_cliff(), 2)
    numbers = type(plan).numbers
    monkeypatch.setattr(type(plan), "numbers", lambda self: {**numbers(self), "kappa": kappa})
    plan.save(tmp_path / "x.plan")
    with pytest.raises(mk.InputError, match="make no sense"):
        mk.load_plan(tmp_path / "x.plan", plan.mdp)
