"""The named instances are what the paper, with its corrections, describes."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import golden
import maxatk as mk
from oracles import History, history_policy_value, lattice_values


@pytest.mark.slow
def test_names_are_functions_and_can_be_made():
    for name in mk.instances.names():
        assert mk.instances.make(name) == getattr(mk.instances, name)()
    with pytest.raises(
        mk.InputError, match=r"instance 'cliff': did you mean windy_cliff\? the instances are windy_cliff, "
    ):
        mk.instances.make("cliff")


@pytest.mark.parametrize(("given", "meant"), [("slipp", "slip"), ("colums", "columns"), ("horizn", "horizon")])
def test_misspelt_arguments_are_asked_about_before_the_list(given, meant):
    message = f"windy_cliff takes no {given}: did you mean {meant}? its arguments are horizon, slip, columns"
    for make in (mk.instances.make, mk.find_problem):
        with pytest.raises(mk.InputError) as error:
            make("windy_cliff", **{given: 9})
        assert str(error.value) == message


def test_windy_cliff_is_gymnasiums_map():
    """With no wind, the table must be the one of Gymnasium's CliffWalking, ends included."""
    still = mk.instances.windy_cliff(slip=0.0)
    gymnasiums = mk.MDP.from_gymnasium("CliffWalking-v1", horizon=40)
    played = [s for s in range(48) if not 37 <= s <= 47]  # cliff cells and the goal are never acted in
    for s, a in itertools.product(played, range(4)):
        assert still.outcomes(0, s, a) == gymnasiums.outcomes(0, s, a)
    assert still.start_state.tolist() == gymnasiums.start_state.tolist() == [36]


def test_windy_cliff_slips_to_both_sides():
    mdp = mk.instances.windy_cliff()
    assert (mdp.n_states, mdp.n_actions, mdp.horizon) == (48, 4, 40)
    assert mdp.return_range == (-4000, -13)
    up, right, down, _left = range(4)
    assert {(o.next_state, o.reward): round(o.prob, 12) for o in mdp.outcomes(0, 36, right)} == {
        (24, -1.0): 0.1,
        (36, -100.0): 0.8,
        (36, -1.0): 0.1,
    }
    assert {(o.next_state, o.reward): round(o.prob, 12) for o in mdp.outcomes(5, 35, down)} == {
        (None, -1.0): 0.8,
        (34, -1.0): 0.1,
        (35, -1.0): 0.1,
    }
    assert {(o.next_state, o.reward): round(o.prob, 12) for o in mdp.outcomes(0, 0, up)} == {
        (0, -1.0): 0.9,
        (1, -1.0): 0.1,
    }


@pytest.mark.slow
def test_windy_cliff_is_worth_what_it_should():
    values = lattice_values(mk.instances.windy_cliff(), 5)
    assert [round(v, 3) for v in values] == golden.WINDY_CLIFF


def test_windy_cliff_repeating_the_mean_optimal_policy():
    mdp = mk.instances.windy_cliff()
    value = np.zeros((mdp.horizon + 1, 49))
    law = [{0: 1.0} for _ in range(49)]  # by state: distribution of the return still to come, under the policy
    for h in range(mdp.horizon - 1, -1, -1):
        new = [{0: 1.0} for _ in range(49)]
        for s in range(48):
            rows = [mdp.outcomes(h, s, a) for a in mdp.actions(h, s)]
            means = [sum(p * (r + value[h + 1, 48 if t is None else t]) for p, t, r in row) for row in rows]
            value[h, s] = max(means)
            new[s] = {}
            for p, t, r in rows[int(np.argmax(means))]:
                for g, q in law[48 if t is None else t].items():
                    new[s][g + r] = new[s].get(g + r, 0) + p * q
        law = new
    below = total = 0.0
    for g in sorted(law[36]):
        above = below + law[36][g]
        total += g * (above**5 - below**5)
        below = above
    assert round(value[0, 36], 3) == golden.WINDY_CLIFF[0]
    assert round(total, 4) == golden.WINDY_CLIFF_REPEATED


def test_figure1_is_two_lotteries():
    mdp = mk.instances.figure1(Fraction(1, 10))
    assert mdp.exact_outcomes(0, 0, 0) == [(Fraction(1, 10), None, 0), (Fraction(9, 10), None, Fraction(1, 2))]
    assert mdp.exact_outcomes(0, 0, 1) == [(Fraction(3, 4), None, 0), (Fraction(1, 4), None, 1)]
    assert mk.instances.figure1(0).exact_outcomes(0, 0, 0) == [(1, None, Fraction(1, 2))]


@pytest.mark.parametrize(("k", "ratio"), [(10, 1.2557), (50, 1.2796)])
def test_adapting_gains_most_in_the_gap_family(k, ratio):
    compared = mk.compare(mk.instances.adaptivity_gap(k, jackpot=10**5), k, solver=mk.Certified(tol=1e-7))
    without = compared["without M"]
    assert without.exact is not None
    assert compared["adaptive"].lower / float(without.exact) == pytest.approx(ratio, abs=5e-5)
    with pytest.raises(mk.InputError, match="jackpot must be at least 1"):
        mk.instances.adaptivity_gap(jackpot=0.5)


def test_proposition1_is_two_lotteries():
    mdp = mk.instances.proposition1(4, mu=Fraction(2, 5))
    assert mdp.exact_outcomes(0, 0, 0) == [(Fraction(3, 4), None, 0), (Fraction(1, 4), None, Fraction(1, 4))]
    assert mdp.exact_outcomes(0, 0, 1) == [(Fraction(15, 16), None, 0), (Fraction(1, 16), None, Fraction(2, 5))]


def test_proposition3_behaviours():
    """The four behaviours (action at G = 0, at G = 1) in the first rollout and the best continuation."""
    mdp = mk.instances.proposition3()
    expected = {(0, 0): Fraction(42, 32), (1, 1): Fraction(5, 4), (0, 1): Fraction(5, 4), (1, 0): Fraction(42, 32)}
    plan = mk.solve(mdp, 2, solver=mk.Exact())

    def value(low: int, high: int) -> Fraction:
        def choose(history: History) -> int:
            if history.rollout == 0:
                return (low, high)[int(history.so_far)] if history.step == 2 else 0
            return plan.policy.action(
                rollout=1, step=history.step, state=history.state, best=history.best(), so_far=history.so_far
            )

        return history_policy_value(mdp, choose, 2)

    assert {behaviour: value(*behaviour) for behaviour in expected} == expected


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_footnote_has_a_return_for_every_subset(horizon):
    mdp = mk.instances.footnote(horizon)
    returns = {
        sum(mdp.exact_outcomes(h, 0, a)[0].reward for h, a in enumerate(choice))
        for choice in itertools.product((0, 1), repeat=horizon)
    }
    assert len(returns) == 2**horizon
    assert max(returns) == 1 - Fraction(1, 2**horizon)


def subset_sums(weights) -> set[int]:
    sums = {0}
    for w in weights:
        sums |= {x + w for x in sums}
    return sums


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(3, 5, 7), (1,), (2, 4, 6, 8), (5, 5, 9)])
def test_subset_sum_is_decided_by_the_second_rollout(weights):
    """Theorem 2 with its gaps: at least beta for yes, at most -beta for no, beta = 2**-n / (16 C)."""
    n = len(weights)
    for target in range(sum(weights) + 2):
        C = target + 5 + sum(weights)
        beta = Fraction(1, 2**n * 16 * C)
        mdp = mk.instances.subset_sum(weights, target)
        policy = mk.solve(mdp, 2, solver=mk.Exact()).policy
        values = policy.action_values(rollout=1, step=0, state=0, best=Fraction(1 + target, C), so_far=0)
        _safe, plus, minus = values.values()
        if target in subset_sums(weights):
            assert minus - plus >= 2 * beta
        else:
            assert minus - plus <= -beta


def test_lower_bound_family():
    mdp = mk.instances.lower_bound(
        n_states=4, n_actions=3, horizon=8, k=5, epsilon=Fraction(1, 10**6), alternative=(1, 2)
    )
    p, delta = Fraction(1, 96 * 5 * 8), Fraction(8192, 10**6 * 5 * 64)
    assert delta <= p / 2
    for s, a in itertools.product(range(3), range(3)):
        q = p + delta if (s, a) == (1, 2) else p
        assert mdp.exact_outcomes(0, s, a) == [(1 - q, s, 0), (q, 3, 0)]
    assert mdp.exact_outcomes(7, 3, 0) == [(1, 3, 1)]
    base = mk.instances.lower_bound(n_states=4, n_actions=3, horizon=8, k=5, epsilon=Fraction(1, 10**6))
    assert base.exact_outcomes(0, 1, 2) == base.exact_outcomes(0, 1, 0)
    assert mk.instances.lower_bound(start=1).start_state.tolist() == [1]
    # In an alternative the better action is worth more, and only from its state.
    better = mk.instances.lower_bound(alternative=(0, 1))
    assert mk.solve(better, 2, solver=mk.Exact()).policy.action(rollout=0, step=0, state=0, best=0, so_far=0) == 1
    assert (
        mk.solve(better, 2, solver=mk.Exact()).exact > mk.solve(mk.instances.lower_bound(), 2, solver=mk.Exact()).exact
    )
    # The edge of the range: Delta = p/2 exactly.
    edge = mk.instances.lower_bound(epsilon=Fraction(4, 192 * 8192), alternative=(0, 0))
    assert edge.exact_outcomes(0, 0, 0)[1].prob == Fraction(3, 2) * edge.exact_outcomes(0, 0, 1)[1].prob


def test_lower_bound_family_at_a_usable_epsilon():
    epsilon = Fraction(1, 100)
    mdp = mk.instances.lower_bound(k=5, horizon=8, epsilon=epsilon, alternative=(1, 0), constants="tight")
    p, delta = Fraction(1, 9 * 5 * 8), 17 * epsilon / (5 * 64)
    assert mdp.exact_outcomes(0, 1, 0) == [(1 - p - delta, 1, 0), (p + delta, 2, 0)]
    assert mdp.exact_outcomes(0, 1, 1) == [(1 - p, 1, 0), (p, 2, 0)]
    assert mk.instances.make("lower_bound", epsilon=0.01, constants="tight").n_states == 3
    arguments = next(d for d in mk.instances.described() if d["name"] == "lower_bound")["arguments"]
    assert arguments["constants"] == "paper"


def test_random_instances_are_reproducible_and_seeded():
    for make in (mk.instances.random_sparse, mk.instances.random_dense):
        assert make(rng=1) == make(rng=1)
        assert make(rng=1) == make(rng=np.random.default_rng(1))
        assert make(rng=1) != make(rng=2)
        assert set(make(rewards=range(11), rng=3).reward.tolist()) <= set(range(11))
    sparse = mk.instances.random_sparse(50, 4, 7, successors=3)
    assert (sparse.n_states, sparse.n_actions, sparse.horizon) == (50, 4, 7)
    assert np.diff(sparse.outcome_start).max() == 3
    assert len(mk.instances.random_dense(6, 2).prob) == 6 * 2 * 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mk.instances.figure1(gamma=1.5), "gamma must be between 0 and 1, not 1.5"),
        (lambda: mk.instances.figure1(gamma="x"), "gamma must be a real number, not 'x'"),
        (lambda: mk.instances.windy_cliff(slip=-0.1), "slip must be between 0 and 1, not -0.1"),
        (lambda: mk.instances.proposition1(0), "k must be at least 1, not 0"),
        (lambda: mk.instances.footnote(0), "horizon must be between 1 and 10000000, not 0"),
        (lambda: mk.instances.subset_sum([1, 0], 1), "weights[1] must be at least 1, not 0"),
        (lambda: mk.instances.subset_sum([1], -1), "target must be at least 0, not -1"),
        (lambda: mk.instances.lower_bound(horizon=6), "horizon must be a multiple of 4, not 6"),
        (
            lambda: mk.instances.lower_bound(epsilon=1),
            "epsilon must be above 0 and at most H/1572864 = 2.54e-06, not 1",
        ),
        (
            lambda: mk.instances.lower_bound(epsilon=0.014, constants="tight"),
            "epsilon must be above 0 and at most H/306 = 0.0131, not 0.014",
        ),
        (lambda: mk.instances.lower_bound(constants="printed"), "constants must be one of paper, tight, not 'printed'"),
        (
            lambda: mk.instances.lower_bound(alternative=(2, 0)),
            "alternative state must be between 0 and 1, not 2",
        ),
        (lambda: mk.instances.make("figure1", foo=1), "figure1 takes no foo: its arguments are gamma"),
        (lambda: mk.instances.subset_sum(5), "weights must be a list of integers, not 5"),
        (
            lambda: mk.instances.lower_bound(alternative=(0,)),
            "alternative must be a pair (state, action), not (0,)",
        ),
        (lambda: mk.instances.random_dense(rewards=[]), "rewards must not be empty"),
        (lambda: mk.instances.random_sparse(0), "n_states must be at least 1, not 0"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(mk.InputError) as error:
        make()
    assert str(error.value) == message
