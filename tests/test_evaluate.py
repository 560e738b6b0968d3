"""What policies earn, held to brute force, closed forms, the rational oracle and each other."""

import importlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import golden
import maxatk as mk
import oracles
from maxatk.base.tuning import tuned
from maxatk.laws.bins import InBins
from maxatk.laws.bounds import in_bins
from maxatk.laws.exact_forward import evaluate_exactly
from maxatk.laws.law import Law, best_of, exact_best_of, in_floats, mixture_of
from maxatk.laws.pruning import AtomPruner
from maxatk.laws.units import Units
from policies import KINDS, policies, scrambled
from problems import decision, problem, specs

module = importlib.import_module("maxatk.evaluation.evaluate")  # the package's name for it is the function


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(spec=specs(), k=st.integers(1, 3), seed=st.integers(0, 99), incumbent=st.sampled_from([-math.inf, -0.5, 1]))
def test_every_class_is_evaluated_exactly(kind, spec, k, seed, incumbent):
    mdp = problem(spec)
    policy = policies(mdp, k, seed, incumbent)[kind]
    truth = oracles.policy_value(mdp, policy, k, incumbent)
    with tuned(few_outcomes=100_000):  # also where floats leave something out
        evaluation = mk.evaluate(mdp, policy)
    assert evaluation.exact == truth
    assert evaluation.lower == evaluation.upper == evaluation.value == float(truth)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(
    spec=specs(),
    k=st.integers(1, 3),
    seed=st.integers(0, 99),
    incumbent=st.sampled_from([-math.inf, 0.25]),
    real=st.booleans(),
    max_atoms=st.sampled_from([1, 3, 10, 1000]),
    bins=st.sampled_from([1, 3, 4096]),
    few=st.sampled_from([0, 4, 4096]),
)
def test_floats_bound_the_truth(kind, spec, k, seed, incumbent, real, max_atoms, bins, few):
    """Fractions forbidden, and few atoms: an interval all the same, or a refusal; in bins where memory allows."""
    mdp = problem(spec, seed if real else None)
    policy = policies(mdp, k, seed, incumbent)[kind]
    truth = oracles.policy_value(mdp, policy, k, incumbent)
    with tuned(few_outcomes=-1, most_outcomes=-1, few_atoms=few, most_bins=bins, least_bins=bins):
        try:
            evaluation = mk.evaluate(mdp, policy, max_atoms=max_atoms)
        except mk.TooLargeError:
            assert max_atoms < 1000
            return
    assert (evaluation.exact is None) == (incumbent < mdp.return_range[1])  # else nothing can be improved
    assert Fraction(evaluation.lower) <= truth <= Fraction(evaluation.upper)
    if max_atoms == 1000:
        least, most = mdp.return_range
        assert evaluation.upper - evaluation.lower <= 2e-9 * (most - least) + 1e-12


@settings(max_examples=60)
@given(spec=specs(max_states=2, max_horizon=2), k=st.integers(1, 2), seed=st.integers(0, 99))
def test_histories_are_followed(spec, k, seed):
    """A policy that looks at everything, against the tree of histories."""
    mdp = problem(spec)

    def choose(history):
        past = tuple((step.state, step.action, step.reward) for rollout in history.past for step in rollout)
        present = tuple((step.state, step.action, step.reward) for step in history.present)
        offered = mdp.actions(history.step, history.state)
        return offered[hash((seed, past, present, history.state)) % len(offered)]

    def same(history: oracles.History):
        past = tuple(step for rollout in history.past for step in rollout)
        offered = mdp.actions(history.step, history.state)
        return offered[hash((seed, past, history.present, history.state)) % len(offered)]

    evaluation = mk.evaluate(mdp, mk.HistoryPolicy(choose, k, mdp.horizon))
    assert evaluation.exact == oracles.history_policy_value(mdp, same, k)


def test_history_policies_know_best_and_return():
    """The optimal policy, asked through histories, is worth the optimum."""
    mdp = mk.instances.proposition3()
    plan = mk.solve(mdp, 2, solver=mk.Exact())

    def choose(seen):
        return plan.policy.action(
            rollout=seen.rollout, step=seen.step, state=seen.state, best=seen.best, so_far=seen.so_far
        )

    assert mk.evaluate(mdp, mk.HistoryPolicy(choose, 2, mdp.horizon)).exact == plan.exact == Fraction(21, 16)


@pytest.mark.slow
def test_a_history_policy_on_a_large_problem_is_refused():
    mdp = mk.instances.windy_cliff()
    with pytest.raises(mk.TooLargeError, match="a policy that remembers everything"):
        mk.evaluate(mdp, mk.HistoryPolicy(lambda seen: 1, 2, mdp.horizon))


@pytest.mark.parametrize("name", golden.OPTIMA)
def test_optimal_policies_earn_the_optimum(name):
    make, optima = golden.OPTIMA[name]
    for k, value in enumerate(optima[:4], start=1):
        mdp = make()
        assert mk.evaluate(mdp, mk.solve(mdp, k, solver=mk.Exact()).policy).exact == value
        assert mk.evaluate(mdp, mk.solve(mdp, k).policy).exact == value


@pytest.mark.slow
def test_the_windy_cliff():
    mdp = mk.instances.windy_cliff()
    repeated = mk.evaluate(mdp, mk.MarkovPolicy(mdp.mean_optimal_actions, k=5))
    assert round(repeated.value, 4) == golden.WINDY_CLIFF_REPEATED
    assert repeated.upper - repeated.lower < 1e-9
    for k, optimum in enumerate(golden.WINDY_CLIFF, start=1):
        plan = mk.solve(mdp, k, solver=mk.Certified(tol=1e-6))
        evaluation = mk.evaluate(mdp, plan.policy)
        assert plan.lower <= evaluation.lower <= evaluation.upper <= plan.upper
        assert round(evaluation.value, 3) == optimum
        assert evaluation.law.mean == pytest.approx(evaluation.value, abs=1e-5)


@pytest.mark.parametrize("k", [1, 2, 7, 1000])
def test_one_action_is_a_closed_form(k):
    """E max of k independent returns; beyond fractions' reach in floats."""
    mdp = mk.instances.random_sparse(3, 1, 3, successors=2, rewards=range(4), rng=k)
    evaluation = mk.evaluate(mdp, mk.MarkovPolicy(np.zeros((3, 3), int), k=k))
    truth = oracles.best_of_independent_returns(mdp, k)
    assert evaluation.lower - 1e-15 <= truth <= evaluation.upper + 1e-15
    assert evaluation.upper - evaluation.lower < 1e-10


@pytest.mark.parametrize("k", [1, 3, 50])
def test_binary_rewards_are_a_closed_form(k):
    p = Fraction(1, 10)
    mdp = mk.MDP.from_table({0: {0: [(p, 0, 1, True), (1 - p, 0, 0, True)]}}, horizon=1)
    evaluation = mk.evaluate(mdp, mk.MarkovPolicy([[0]], k=k))
    assert evaluation.exact == 1 - (1 - p) ** k
    assert evaluation.law.cdf(0) == pytest.approx(float((1 - p) ** k), rel=1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(spec=specs(), k=st.integers(1, 3), seed=st.integers(0, 99), max_atoms=st.sampled_from([2, 5, 1000]))
def test_laws_bound_the_truth(spec, k, seed, max_atoms):
    """Distribution functions, not only means; in bins, too."""
    mdp = problem(spec, seed)
    for policy in policies(mdp, k, seed).values():
        truth = evaluate_exactly(decision(mdp, policy.k, policy.best_so_far), policy, 100_000).law
        with tuned(few_outcomes=-1, most_outcomes=-1):
            try:
                evaluation = mk.evaluate(mdp, policy, max_atoms=max_atoms)
            except mk.TooLargeError:
                continue
        for x in [float(v) for v in truth]:
            for at in (x, math.nextafter(x, 9e9), math.nextafter(x, -9e9), x + 1e-9, x - 1e-9):
                below = sum((p for v, p in truth.items() if v <= at), Fraction(0))
                lower, upper = evaluation.cdf(at)
                assert Fraction(lower) <= below <= Fraction(upper)


@pytest.mark.slow
@settings(max_examples=30)
@given(spec=specs(), seed=st.integers(0, 99), k=st.integers(1, 3), weight=st.integers(0, 4))
def test_mixed_policies(spec, seed, k, weight):
    """The mean over all draws, each of which is a policy whose value is known."""
    mdp = problem(spec)
    parts = [policies(mdp, 1, seed)["no best"], policies(mdp, 1, seed + 1)["markov"]]
    w = Fraction(weight, 4)
    total = Fraction(0)
    for drawn in range(2**k):
        bits = [drawn >> i & 1 for i in range(k)]

        def choose(i, h, s, best, so_far, bits=bits):
            return parts[bits[i]].action(rollout=0, step=h, state=s, best=best, so_far=so_far)

        chance = math.prod((w if b else 1 - w for b in bits), start=Fraction(1))
        total += chance * oracles.policy_value(mdp, mk.AdaptivePolicy(choose, k, mdp.horizon), k)
    assert mk.evaluate(mdp, mk.MixedPolicy(parts, [1 - w, w], k)).exact == total
    with tuned(few_outcomes=-1, most_outcomes=-1):
        evaluation = mk.evaluate(mdp, mk.MixedPolicy(parts, [1 - w, w], k))
    assert evaluation.lower <= total <= evaluation.upper


def test_a_policy_of_its_own_for_every_rollout():
    mdp = mk.instances.figure1(gamma=Fraction(1, 4))
    safe, risky = mk.MarkovPolicy([[0]], k=1), mk.MarkovPolicy([[1]], k=1)
    assert mk.evaluate(mdp, mk.MixedPolicy([safe, risky], [[1, 0], [0, 1]], 2)).exact == Fraction(17, 32)


@pytest.mark.parametrize("few", [-1, 10**6])
@pytest.mark.parametrize("in_hand", [-5, 0.25, 7])
def test_a_part_of_a_mixture_is_asked_with_what_it_has_in_hand(few, in_hand, tune):
    """As it is when it acts. Evaluation used to ask it as if nothing were in hand."""
    tune(most_outcomes=few)
    tune(few_outcomes=few)
    mdp = mk.instances.figure1(gamma=0.25)
    part = mk.AdaptivePolicy(lambda i, h, s, best, so_far: int(best == in_hand), 1, 1, best_so_far=in_hand)
    earned = mk.evaluate(mdp, mk.MixedPolicy([part], [1], 2))
    assert earned.lower <= 7 / 16 <= earned.upper
    assert (earned.exact is None) == (few < 0)
    assert mk.simulate(mdp, mk.MixedPolicy([part], [1], 2), trials=2000, rng=0).returns.max() == 1


@pytest.mark.slow
@settings(max_examples=25)
@given(spec=specs(), k=st.integers(1, 3), seed=st.integers(0, 99), n=st.sampled_from([1, 2, 3, 10]))
def test_policies_that_round(spec, k, seed, n):
    """The paper's policy remembers rounded rewards and is paid true ones: exactly, and in bins of two atoms."""
    mdp = problem(spec)
    mdp = mdp.with_rewards(np.random.default_rng(seed).random(len(mdp.reward)))
    plan = mk.solve(mdp, k, solver=mk.Midpoint(Fraction(1, n)))
    whole = mk.evaluate(mdp, plan.policy)
    assume(whole.exact is not None)
    optimum = mk.solve(mdp, k, solver=mk.Exact()).exact
    assert whole.exact >= optimum - Fraction(mdp.horizon, n)  # Theorem 1, with kappa H
    with tuned(few_outcomes=-1, most_outcomes=-1):
        evaluation = mk.evaluate(mdp, plan.policy, max_atoms=2)
    assert evaluation.lower <= whole.exact <= evaluation.upper


@settings(max_examples=60)
@given(
    spec=specs(),
    k=st.integers(1, 3),
    seed=st.integers(0, 99),
    bins=st.sampled_from([1, 2, 5, 4096]),
    cells=st.sampled_from([0, 10**9]),  # sorted, or in tables
    kind=st.sampled_from(["markov", "midpoint"]),
)
def test_bins_alone(spec, k, seed, bins, kind, cells):
    """Nothing dropped, only binned: merged means bound the value from below, split atoms from above."""
    mdp = problem(spec)
    mdp = mdp.with_rewards(np.random.default_rng(seed).random(len(mdp.reward)))
    if kind == "markov":
        policy = policies(mdp, k, seed)["repeated"]
    else:
        policy = mk.solve(mdp, k, solver=mk.Midpoint(Fraction(1, 2))).policy
    truth = mk.evaluate(mdp, policy).exact
    assume(truth is not None)
    with tuned(few_atoms=0, table_cells=cells, most_bins=bins, least_bins=bins):
        rollout = 0 if kind == "markov" else None
        units = Units.of(mdp, policy)
        walks = [InBins(mdp, units, AtomPruner(mdp, 0.0, 10**6), splits) for splits in (False, True)]
        laws = in_bins(policy, rollout, walks)
    low, high = (law if kind == "midpoint" else best_of([(law, k)]) for law in laws.laws)
    assert low.mean <= truth + 1e-9
    assert truth <= high.mean + 1e-9
    largest = float(np.abs(mdp.reward).max()) * mdp.horizon
    assert laws.shift <= (mdp.horizon + 1) * k * 2 * max(np.ptp(mdp.return_range), 1e-9 * largest) / bins


@pytest.mark.slow
def test_bins_are_of_second_order():
    """Real rewards, far too many histories: the interval of a Markov policy is narrow, and simulation agrees."""
    mdp = mk.instances.random_sparse(20, 2, 12, successors=3, rng=0)
    mdp = mdp.with_rewards(np.random.default_rng(0).random(len(mdp.reward)))
    policy = mk.MarkovPolicy(np.random.default_rng(1).integers(0, 2, (3, 12, 20)))
    evaluation = mk.evaluate(mdp, policy)
    assert evaluation.exact is None
    assert evaluation.upper - evaluation.lower < 1e-4
    low, high = mk.simulate(mdp, policy, trials=50_000, rng=0).interval(0.999)
    assert low <= evaluation.upper
    assert evaluation.lower <= high


@pytest.mark.slow
def test_a_plan_is_cut_down_to_its_certificate():
    mdp = mk.instances.random_sparse(20, 2, 10, successors=3, rng=0)
    mdp = mdp.with_rewards(np.random.default_rng(0).random(len(mdp.reward)))
    plan = mk.solve(mdp, 3)
    evaluation = mk.evaluate(mdp, plan.policy, max_atoms=1000)
    assert (evaluation.lower, evaluation.upper) == (plan.lower, plan.upper)
    other = mdp.with_rewards(mdp.reward / 2)
    assert mk.evaluate(other, plan.policy, max_atoms=300).upper < plan.lower  # no certificate for another problem


@pytest.mark.slow
def test_returns_beyond_64_bits():
    """Few histories: in fractions. Many: in bins if the policy does not see them, else by certificate or not at all."""
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, 1e-300, True), (0.5, 0, 1e300, True)]}}, horizon=1)
    assert mk.evaluate(mdp, mk.MarkovPolicy([[0]], k=1)).exact == (Fraction(1e-300) + Fraction(1e300)) / 2
    mdp = mk.instances.random_sparse(20, 2, 12, successors=3, rng=0)
    mdp = mdp.with_rewards(np.random.default_rng(0).normal(size=len(mdp.reward)))
    plan = mk.solve(mdp, 2)
    for policy in (mk.MarkovPolicy(mdp.mean_optimal_actions, k=2), plan.policy):
        evaluation = mk.evaluate(mdp, policy)
        low, high = mk.simulate(mdp, policy, trials=10_000, rng=0).interval(0.999)
        assert evaluation.lower <= high
        assert low <= evaluation.upper
    assert (evaluation.lower, evaluation.upper) == (plan.lower, plan.upper)
    assert evaluation.cdf(0.0) == (0, 1)  # nothing is certain of the law
    with pytest.raises(mk.TooLargeError, match="more digits than 64 bits hold"):
        mk.evaluate(mdp, mk.AdaptivePolicy(scrambled(mdp, 3, 0), 3, 12), max_atoms=1000)


def test_nothing_to_say_is_said():
    mdp = mk.instances.random_sparse(30, 3, 20, successors=3, rng=0)
    mdp = mdp.with_rewards(np.rint(np.random.default_rng(0).normal(size=len(mdp.reward)) * 2**30))
    policy = mk.AdaptivePolicy(scrambled(mdp, 3, 0), 3, 20)
    with pytest.raises(mk.TooLargeError, match=r"2 histories .* say nothing of this policy's value"):
        mk.evaluate(mdp, policy, max_atoms=2)


def test_laws():
    law = Law(np.array([-1.0, 0.0, 2.0]), np.array([0.25, 0.5, 0.25]))
    assert law.mean == 0.25
    assert [law.quantile(q) for q in (0, 0.25, 0.5, 0.75, 0.76, 1)] == [-1, -1, 0, 0, 2, 2]
    assert [law.cdf(x) for x in (-2, -1, 1, 2)] == [0, 0.25, 0.75, 1]
    two = best_of([(law, 2)])
    assert two.probs.tolist() == [1 / 16, 8 / 16, 7 / 16]
    assert best_of([(law, 1), (Law(np.array([1.0]), np.ones(1)), 1)]).values.tolist() == [1, 2]
    assert mixture_of([law, two], [0.5, 0.5]).probs.tolist() == [5 / 32, 16 / 32, 11 / 32]
    exact = {Fraction(-1): Fraction(1, 4), Fraction(0): Fraction(1, 2), Fraction(2): Fraction(1, 4)}
    for rounded in in_floats(exact_best_of([(exact, 2)])):
        assert rounded.probs.tolist() == two.probs.tolist()
    down, up = in_floats({Fraction(1, 3): Fraction(1)})
    assert (up.values - down.values).tolist() == [math.ulp(1 / 3)]
    with pytest.raises(mk.InputError, match="q must be between 0 and 1, not 2"):
        law.quantile(2)


def evaluates(*args, **options):
    return lambda mdp: mk.evaluate(mdp, *args, **options)


MARKOV, ALONE = mk.MarkovPolicy([[0]], k=2), mk.MarkovPolicy([[0]], k=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (evaluates(print), "policy must be a maxatk.Policy such as plan.policy, not <built-in"),
        (lambda _: mk.evaluate("x", MARKOV), "mdp must be a maxatk.MDP, not 'x'"),
        (evaluates(mk.MarkovPolicy([[0], [0]], k=2)), "the policy is for rollouts of 2 steps, not 1"),
        (evaluates(mk.MarkovPolicy([[5]], k=2)), r"\(rollout 0, step 0, state 0\) is 5: expected one of \[0, 1\]"),
        (evaluates(mk.AdaptivePolicy(lambda *_: "up", 2, 1)), "the policy's action must be an integer, not 'up'"),
        (evaluates(mk.HistoryPolicy(lambda _: 7, 2, 1)), r"the policy's action at \(rollout 0, step 0, state 0\) is 7"),
        (evaluates(MARKOV, tol=-1), "tol must not be negative, not -1"),
        (evaluates(MARKOV, tol=math.nan), "tol must be finite"),
        (evaluates(MARKOV, max_atoms=0), "max_atoms must be at least 1"),
        (lambda _: mk.MarkovPolicy([[0]]), "k is missing"),
        (lambda _: mk.MarkovPolicy([[[0]]], k=2), "k is 2, but actions are for 1 rollouts"),
        (lambda _: mk.MarkovPolicy([[0.5]], k=2), r"actions must be integers \[H, S\]"),
        (lambda _: mk.MarkovPolicy([[0], [0, 1]], k=2), r"actions must be an array \[H, S\] or \[K, H, S\]"),
        (lambda _: mk.MarkovPolicy([[-1]], k=2), r"actions\[0, 0\] is negative: -1"),
        (lambda _: mk.MixedPolicy([], [], 2), "must be policies of one rollout, one at least"),
        (lambda _: mk.MixedPolicy([MARKOV], [1], 2), "must be policies of one rollout"),
        (lambda _: mk.MixedPolicy([ALONE], [1, 2], 2), r"weights must be \[1\] or \[2, 1\], not \[2\]"),
        (lambda _: mk.MixedPolicy([ALONE], [-1], 2), "weights must not be negative"),
        (lambda _: mk.MixedPolicy([ALONE], [math.nan], 2), "weight must be finite"),
        (lambda _: mk.AdaptivePolicy(3, 2, 1), "a policy needs a function that chooses, not 3"),
        (lambda _: mk.AdaptivePolicy(lambda *_: 0, 0, 1), "k must be at least 1, not 0"),
        (lambda _: mk.HistoryPolicy(lambda _: 0, 1, 0), "horizon must be between 1 and 10000000, not 0"),
    ],
)  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(mk.InputError, match=message):
        make(mk.instances.figure1())


# Found by a stranger: each of these gave a wrong interval or an error.


def test_digits_beyond_64_bits_are_not_called_certain():
    """The policy's choice hangs on a return of 2^-80 beside one of 5: rounding would miss it."""
    table = [[{0: [(1, 0, 2.0**-80, False)]}], [{0: [(1, 0, 3.0, False)], 1: [(1, 0, 5.0, False)]}]]
    mdp = mk.MDP.from_table(table, horizon=2)
    policy = mk.AdaptivePolicy(lambda i, h, s, best, so_far: int(h == 1 and so_far > 0), 3, 2)
    assert mk.evaluate(mdp, policy).exact == 5 + Fraction(2) ** -80
    message = "more digits than 64 bits hold"
    with tuned(most_outcomes=-1, few_outcomes=-1), pytest.raises(mk.TooLargeError, match=message):
        mk.evaluate(mdp, policy)


@pytest.mark.parametrize("rewards", [[2.0**53, 1.0, -(2.0**53)], [1e300] * 3, [0.7, 0.7, 1e-9], [0.1, 0.1, 0.1]])
@pytest.mark.parametrize("kind", ["markov", "no best"])
def test_cancelling_and_constant_returns(rewards, kind):
    """One action and many states: no return differs from another, whatever rounding says of sums."""
    S = 1500
    mdp = mk.MDP.from_table(
        [[{0: [(1.0, s, r, False)]} for s in range(S)] for r in rewards], horizon=3, start=[Fraction(1, S)] * S
    )
    policy = {"markov": mk.MarkovPolicy([[0] * S] * 3, k=2), "no best": mk.NoBestPolicy(lambda *_: 0, 2, 3)}[kind]
    truth = sum(map(Fraction, rewards))
    with tuned(most_outcomes=-1, few_outcomes=-1):
        for max_atoms in (100, 100_000):
            if kind == "no best" and rewards[0] in (1e300, 0.7):  # it sees returns of more than 64 bits
                with pytest.raises(mk.TooLargeError, match="more digits than 64 bits hold"):
                    mk.evaluate(mdp, policy, max_atoms=max_atoms)
                continue
            evaluation = mk.evaluate(mdp, policy, max_atoms=max_atoms)
            assert Fraction(evaluation.lower) <= truth <= Fraction(evaluation.upper)


def test_long_fractions_are_not_printed():
    mdp = mk.instances.random_sparse(2, 1, 2, successors=2, rng=0)
    assert len(repr(mk.evaluate(mdp, mk.MarkovPolicy([[0, 0]] * 2, k=200)))) < 200


@pytest.mark.parametrize("answer", [0.7, "1", [1], None, 2**70, -2, True])
def test_junk_answers_of_a_policy(answer):
    mdp = mk.instances.figure1()
    policy = mk.AdaptivePolicy(lambda *_: answer, 2, 1)
    for ask in (mk.evaluate, lambda *args: mk.simulate(*args, trials=10)):
        with pytest.raises(mk.InputError, match="the policy's action must be"):
            ask(mdp, policy)


def test_values_that_are_rounded_are_told_from_their_neighbours(tune):
    """A sum of two rewards lies between two floats: the distribution function there counts it on either side."""
    tune(few_outcomes=0, most_outcomes=0)
    up, down = 4.698739739376232, -39044.41397542067
    table = {0: {1: [(1.0, 0, up, False)], 3: [(1.0, 0, down, True)]}}
    mdp = mk.MDP.from_table(table, horizon=2)
    earned = mk.evaluate(mdp, mk.MarkovPolicy([[1], [3]], k=2))
    at = up + down
    low, high = earned.cdf(at)
    assert earned.exact is None
    assert low <= float(Fraction(up) + Fraction(down) <= Fraction(at)) <= high
