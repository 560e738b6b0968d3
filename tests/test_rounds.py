"""Rounds: planner, exact solver, evaluation, simulation and trials, held to enumeration in fractions."""

import functools
import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.findings import Kept
from maxatk.base.stopping import Reason, StoppedError
from maxatk.base.tuning import tuned
from maxatk.cli import main
from maxatk.comparison.classes import Workshop
from maxatk.comparison.in_rounds import round_classes
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.rounds.different import DifferentTries
from maxatk.planning.rounds.plan import acting, correlation_gap, plan_in_rounds
from maxatk.report.words import plans as words
from problems import one_line, problem, specs

FIGURE1 = mk.instances.figure1(gamma=Fraction(1, 4))


def arms(*laws):
    """A one-step problem of arms, each a law ``{return: probability}``."""
    table = {0: {a: [(p, 0, x, True) for x, p in law.items()] for a, law in enumerate(laws)}}
    return mk.MDP.from_table(table, horizon=1)


def thousandths(*shares):
    return [Fraction(share, 1000) for share in shares]


def drawn(returns, weights):
    return {int(x): Fraction(int(p), int(weights.sum())) for x, p in zip(returns, weights, strict=True)}


def by_hand(laws, rounds, m=None, u=lambda x: x):
    """The optimum of arms in rounds: all tuples of arms, all outcomes, in fractions."""
    if not rounds:
        return u(m)
    best = None
    for chosen in itertools.combinations_with_replacement(laws, rounds[0]):
        value = Fraction(0)
        for outcome in itertools.product(*(law.items() for law in chosen)):
            p = math.prod(q for _, q in outcome)
            top = max(x for x, _ in outcome)
            value += p * by_hand(laws, rounds[1:], top if m is None else max(m, top), u)
        best = value if best is None else max(best, value)
    return best


SAFE_AND_RISKY = (
    {Fraction(1, 2): Fraction(3, 4), Fraction(0): Fraction(1, 4)},
    {Fraction(1): Fraction(1, 4), Fraction(0): Fraction(3, 4)},
)
THREE = (
    {0: Fraction(1, 8), 1: Fraction(7, 8)},
    {0: Fraction(1, 2), 2: Fraction(1, 2)},
    {-1: Fraction(3, 4), 5: Fraction(1, 4)},
)


@pytest.mark.parametrize("laws", [SAFE_AND_RISKY, THREE])
@pytest.mark.parametrize("rounds", [(2,), (3,), (1, 2), (2, 1), (2, 2), (1, 1, 2)])
def test_arms_by_hand(laws, rounds):
    mdp, k, expected = arms(*laws), sum(rounds), by_hand(laws, rounds)
    exact = mk.solve(mdp, k, rounds=rounds, solver=mk.Exact())
    plan = mk.solve(mdp, k, rounds=rounds)
    assert exact.exact == expected == mk.evaluate(mdp, exact.policy).exact
    assert plan.lower <= expected <= plan.upper
    assert plan.lower == pytest.approx(float(expected), abs=1e-12)  # with arms the search misses nothing here
    assert mk.evaluate(mdp, plan.policy).exact == expected
    sequential = mk.solve(mdp, k, solver=mk.Exact()).exact
    assert expected <= sequential <= plan.upper


def test_rounds_with_a_utility():
    knots = [(0, 0), (1, 0), (2, 3)]
    u = lambda x: max(Fraction(0), 3 * (Fraction(x) - 1))  # noqa: E731
    mdp = arms(*THREE)
    expected = by_hand(THREE, (2, 1), u=u)
    exact = mk.solve(mdp, 3, rounds=(2, 1), utility=knots, solver=mk.Exact())
    plan = mk.solve(mdp, 3, rounds=(2, 1), utility=knots)
    assert exact.exact == expected == mk.evaluate(mdp, plan.policy).exact
    assert plan.lower <= expected <= plan.upper


def test_tries_of_a_round_differ():
    mdp = mk.instances.figure1(gamma=0)
    plan = mk.solve(mdp, 2, width=2)
    assert mk.evaluate(mdp, plan.policy).exact == Fraction(5, 8)
    acts = [plan.policy.action(rollout=i, step=0, state=0, best=-math.inf, so_far=0) for i in (0, 1)]
    assert sorted(acts) == [0, 1]


@settings(max_examples=40, deadline=None)
@given(specs(max_states=2, max_horizon=2), st.sampled_from([(2,), (1, 2), (2, 1), (2, 2)]), st.data())
def test_small_problems_of_several_steps(spec, rounds, data):
    mdp, k = problem(spec), sum(rounds)
    best = data.draw(st.sampled_from([-math.inf, -math.inf, 0, Fraction(1, 3), 9]))
    try:
        exact = mk.solve(mdp, k, rounds=rounds, best_so_far=best, solver=mk.Exact(max_histories=3000))
    except mk.TooLargeError:
        return
    plan = mk.solve(mdp, k, rounds=rounds, best_so_far=best)
    sequential = mk.solve(mdp, k, best_so_far=best, solver=mk.Exact()).exact
    earned = mk.evaluate(mdp, plan.policy).exact
    assert plan.lower <= earned <= exact.exact <= sequential <= plan.upper
    assert mk.evaluate(mdp, exact.policy).exact == exact.exact
    low, high = plan.curve(rounds[0], 0)
    assert low <= exact.table.value(1, Fraction(0)) <= high
    # Theorem A, from what is in hand or the least return: no less than the correlation gap of the sequential gain.
    base = max(Fraction(mdp.return_range[0]), Fraction(best)) if best > -math.inf else Fraction(mdp.return_range[0])
    if len(rounds) == 1:
        w = rounds[0]
        gap = 1 - (1 - Fraction(1, w)) ** w
        assert exact.exact - base >= gap * (sequential - base)


def test_greedy_replies_alone_fall_short_somewhere():
    """Of random arms some need more than greedy replies; ascents and derandomised mixtures close most of the gap."""
    rng, short = np.random.default_rng(0), 0.0
    for _ in range(40):
        laws = []
        for _ in range(3):
            p = rng.integers(1, 9, 3)
            laws.append(drawn(rng.choice(9, 3, replace=False), p))
        mdp = arms(*laws)
        exact = by_hand(laws, (3,))
        earned = mk.evaluate(mdp, mk.solve(mdp, 3, width=3).policy).exact
        assert earned <= exact
        short = max(short, float((exact - earned) / exact))
    assert short < 0.002


def test_refinement_is_ordered_and_nothing_else_is():
    rng = np.random.default_rng(1)
    for _ in range(10):
        laws = []
        for _ in range(2):
            p = rng.integers(1, 9, 2)
            laws.append(drawn(rng.choice(9, 2, replace=False), p))
        value = {rounds: by_hand(laws, rounds) for rounds in [(4,), (2, 2), (1, 3), (3, 1), (1, 1, 2), (1, 1, 1, 1)]}
        assert value[4,] <= value[2, 2] <= value[1, 1, 2] <= value[1, 1, 1, 1]
        assert value[4,] <= min(value[1, 3], value[3, 1])
        assert value[1, 3] <= value[1, 1, 2]
    # Three rounds of two may be worse than two of three.
    returns = [Fraction(0), Fraction(1336, 1000), Fraction(2971, 1000)]
    laws = [dict(zip(returns, thousandths(*p), strict=True)) for p in ((160, 822, 18), (297, 684, 19))]
    mdp = arms(*laws)
    three, two = (mk.solve(mdp, 6, width=w, solver=mk.Exact()).exact for w in (3, 2))
    assert three > two
    assert (float(three), float(two)) == (pytest.approx(1.513490, abs=1e-6), pytest.approx(1.513467, abs=1e-6))
    # Nor are increasing schedules best, nor decreasing ones.
    sure = [{1: Fraction(1)}, {628: Fraction(6, 10_000), 1: Fraction(3862, 10_000), 0: Fraction(6132, 10_000)}]
    other = [dict(zip((17, 80, 0), thousandths(*p), strict=True)) for p in ((3, 30, 967), (663, 4, 333))]
    value = {(i, r): by_hand(laws, r) for i, laws in enumerate((sure, other)) for r in ((2, 1), (1, 2))}
    assert value[0, (2, 1)] > value[0, (1, 2)]
    assert value[1, (2, 1)] < value[1, (1, 2)]


def test_rounds_of_one_are_the_sequential_plan():
    mdp = mk.instances.windy_cliff()
    plain = mk.solve(mdp, 3)
    for asked in ({"width": 1}, {"rounds": (1, 1, 1)}):
        plan = mk.solve(mdp, 3, **asked)
        assert type(plan) is type(plain)
        assert (plan.lower, plan.upper) == (plain.lower, plain.upper)


def test_a_width_that_does_not_divide_k():
    assert mk.solve(FIGURE1, 5, width=2).rounds == (2, 2, 1)
    assert mk.solve(FIGURE1, 2, width=7).rounds == (2,)
    one = mk.solve(FIGURE1, 1, width=7)
    assert one.lower == mk.solve(FIGURE1, 1).lower


@pytest.mark.slow
def test_larger_problem_in_floats():
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 6, width=3)
    assert plan.status == mk.Status.IN_ROUNDS
    assert -15.61 < plan.lower < -15.59  # theorems: about -15.60
    earned = mk.evaluate(mdp, plan.policy)
    assert plan.lower <= earned.upper
    low, high = mk.simulate(mdp, plan.policy, trials=20_000, rng=0).interval(0.999)
    assert low <= earned.upper
    assert earned.lower <= high
    assert 0.9 < plan.kept.lower <= 1
    assert plan.guarantee == pytest.approx(1 - (2 / 3) ** 3)


def test_rewards_without_a_common_step():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(3), (3, 2))
    R = np.round(rng.normal(size=(3, 2)), 6)
    mdp = mk.MDP.from_arrays(P, R, horizon=3)
    plan = mk.solve(mdp, 4, width=2, solver=mk.Certified(tol=1e-2))
    low, high = mk.simulate(mdp, plan.policy, trials=20_000, rng=0).interval(0.999)
    assert low <= plan.upper
    assert plan.lower <= high
    assert plan.gap < 0.2


def test_trials_and_rounds_by_hand():
    policy = mk.solve(FIGURE1, 4, width=2).policy
    trial = policy.begin()
    acts = []
    for reward in (0.0, 1.0, 0.0, 0.5):
        acts.append(trial.act(0))
        trial.observe(reward, done=True)
    assert trial.finished
    assert trial.best == 1.0
    first = [attempt.act(0) for attempt in policy.begin_round(round=0, best=-math.inf)]
    tries = policy.begin_round(round=1, best=1.0)
    assert acts == first + [attempt.act(0) for attempt in tries]
    assert not tries[0].finished
    tries[0].observe(0.5, done=True)
    assert tries[0].finished
    assert tries[0].total == Fraction(1, 2)
    with pytest.raises(mk.InputError, match="this rollout is over"):
        tries[0].act(0)
    with pytest.raises(mk.InputError, match="was not observed yet"):
        tries[1].act(0)
    with pytest.raises(mk.InputError, match="round must be between 0 and 1"):
        policy.begin_round(round=2, best=0)


def test_trials_one_by_one_agree_with_evaluation():
    """Trials see the best return at the start of their round: the mean of many is what evaluation says."""
    policy = mk.solve(FIGURE1, 4, width=2).policy
    rng, total = np.random.default_rng(5), 0.0
    n = 4000
    for _ in range(n):
        trial = policy.begin()
        while not trial.finished:
            safe = trial.act(0) == 0
            win = rng.random() < (0.75 if safe else 0.25)
            trial.observe((0.5 if safe else 1.0) if win else 0.0, done=True)
        total += trial.best
    assert abs(total / n - float(mk.evaluate(FIGURE1, policy).exact)) < 5 * 0.3 / math.sqrt(n)


@pytest.mark.slow
def test_files(tmp_path):
    mdp = mk.instances.windy_cliff(horizon=20)
    plan = mk.solve(mdp, 4, width=2)
    plan.save(tmp_path / "x.plan", with_problem=True)
    read = mk.load_plan(tmp_path / "x.plan")
    assert (read.lower, read.upper, read.status, read.objective) == (
        plan.lower,
        plan.upper,
        plan.status,
        plan.objective,
    )
    state = np.arange(mdp.n_states)
    for rollout, step, best, so_far in itertools.product(
        range(4), (0, 5, 19), (-math.inf, -30.0, -15.0), (-3.0, -20.0)
    ):
        asked = {"rollout": rollout, "step": step, "state": state, "best": best, "so_far": so_far}
        assert (read.policy.actions(**asked) == plan.policy.actions(**asked)).all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"width": 0}, "width must be at least 1"),
        ({"width": 1.5}, "width must be an integer"),
        ({"rounds": ()}, "rounds must be a list of widths, one at least"),
        ({"rounds": 4}, "rounds must be a list of widths"),
        ({"rounds": (4, 0)}, "rounds[1] must be at least 1"),
        ({"rounds": (2, 1)}, "rounds: their widths must add up to k, 4, but they add up to 3"),
        ({"width": 2, "rounds": (2, 2)}, "width and rounds: give one of them, not both"),
        ({"width": 2, "solver": mk.Midpoint(0.5)}, "rounds: Midpoint plans without it"),
        ({"width": 2, "cost": 0.1, "abandon": True}, "abandon: in rounds rollouts cannot be given up"),
        ({"width": 2, "cost": 0.1, "abandon": True, "solver": mk.Exact()}, "abandon: in rounds rollouts cannot"),
    ],
)
def test_what_is_refused(asked, said):
    with pytest.raises(mk.InputError, match=re.escape(said)) as error:
        mk.solve(FIGURE1, 4, **asked)
    one_line(error.value)


def test_too_large_to_try_all():
    with pytest.raises(mk.TooLargeError) as error:
        mk.solve(mk.instances.windy_cliff(), 4, width=2, solver=mk.Exact())
    one_line(error.value)


def test_correlation_gap():
    assert [correlation_gap(w) for w in (1, 2)] == [1.0, 0.75]
    assert correlation_gap(10**6) == pytest.approx(1 - math.exp(-1), abs=1e-6)


def test_rounds_at_the_command_line(capsys):
    assert main(["solve", "figure1", "-k", "4", "--width", "2"]) == 0
    told = capsys.readouterr().out
    plan = mk.solve(mk.instances.figure1(), 4, width=2)
    share = math.floor(1000 * plan.kept.lower) / 10
    kept = f"2 rounds of 2 keep at least {share:g} % of what 4 tries, one after another, add to a single one, "
    assert f"{kept}in half the rounds." in told.replace("\n", " ")
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--json"]) == 0
    assert '"kind": "kept"' in capsys.readouterr().out
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--exact"]) == 0
    told = capsys.readouterr().out
    assert "no policy in 2 rounds of 2 earns more than 0.753907" in told
    assert "Planning for the best of 4 in 2 rounds of 2: at least 0.7539" in told
    assert main(["solve", "figure1", "-k", "4", "--width", "0"]) == 2
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--compare"]) == 2
    assert "--compare is for tries one after another, not for --width" in capsys.readouterr().err


@pytest.mark.parametrize("best", [-math.inf, Fraction(1, 7), 1.0, 9])
@pytest.mark.parametrize("reward", [0, 0.7, Fraction(7, 10), Fraction(-1, 3)])
@pytest.mark.parametrize("utility", [None, [(-2, -1), (1, 0), (2, 3)]])
def test_returns_that_are_sure(reward, best, utility):
    """Where only one return is possible every plan earns it, or the best so far, and is within its tolerance."""
    mdp = mk.MDP.from_table([[[(1, 0, reward, False)]]], horizon=2)
    for rounds in ((2, 1), (1, 2)):
        plan = mk.solve(mdp, 3, rounds=rounds, best_so_far=best, utility=utility)
        earned = mk.solve(mdp, 3, rounds=rounds, best_so_far=best, utility=utility, solver=mk.Exact()).exact
        assert plan.lower <= earned <= plan.upper
        assert plan.gap <= 1e-12
        assert plan.status == mk.Status.WITHIN_TOL or plan.stats["tol"] == 0


def uncertified(plan):
    """The policy of a plan without its certificate, so that evaluation stands alone."""
    return acting([table.acting() for table in plan.tables], plan.problem)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "asked"),
    [
        ("windy_cliff", 4, {"width": 2}),
        ("blackjack", 3, {"rounds": (1, 2)}),
        ("figure1", 6, {"width": 3, "best_so_far": Fraction(1, 2)}),
        ("windy_cliff", 4, {"width": 2, "utility": [(-20, 0), (-14, 0), (-13, 1)]}),
    ],
)
def test_lower_ends_are_earned(name, k, asked):
    """Lower ends come from laws that the search carried: an evaluation of the policy, action by action, agrees."""
    plan = mk.solve(name, k, **asked)
    earned = mk.evaluate(plan.mdp, uncertified(plan), tol=1e-10)
    assert plan.lower <= earned.ends[1]
    assert earned.ends[0] - plan.lower <= plan.stats["tol"] / 50
    # Each law is that of its own policy at all returns that it tells apart.
    search = DifferentTries(evidence_of(plan.sequential).method, plan.floor)
    different = {id(one): one for table in plan.tables for members in table.tuples for one in members}
    for one in different.values():
        law = mk.evaluate(plan.mdp, one.policy).law
        for j in np.flatnonzero(search.points > search.task_of(one.payoff).ms[0]):
            chance = law.cdf(search.points[j]) - law.cdf(search.points[j - 1])
            assert one.law[j] == pytest.approx(chance, abs=1e-9)


def alike_by_hand(laws, rounds, m=None, points=400):
    """The best of rounds alike for two arms, on a fine grid of mixtures: from below, and nearly attained."""
    if not rounds:
        return float(m)
    best = -math.inf
    for share in np.linspace(0, 1, points + 1):
        law = {x: float(share * laws[0].get(x, 0) + (1 - share) * laws[1].get(x, 0)) for x in {*laws[0], *laws[1]}}
        value, below = 0.0, 0.0
        for x in sorted(law):
            chance = (below + law[x]) ** rounds[0] - below ** rounds[0]
            below += law[x]
            value += chance * _after(laws, rounds[1:], x if m is None else max(m, x), points)
        best = max(best, value)
    return best


@functools.cache
def _cached_after(key, rounds, m, points):
    return alike_by_hand([dict(law) for law in key], rounds, m, points)


def _after(laws, rounds, m, points):
    return _cached_after(tuple(tuple(sorted(law.items())) for law in laws), rounds, m, points)


@pytest.mark.parametrize("rounds", [(2,), (2, 2), (3, 3)])
def test_rounds_alike_by_hand(rounds):
    """Frank and Wolfe's bounds enclose the best mixture of two arms, and what its policy earns is evaluated."""
    laws = SAFE_AND_RISKY
    mdp, k = arms(*laws), sum(rounds)
    row = mk.compare(mdp, k, widths=[rounds[0]])[f"{rounds[0]} at a time, alike"]
    expected = alike_by_hand(laws, rounds)
    assert row.lower - 1e-9 <= expected + 1e-4
    assert expected <= row.upper + 1e-12
    assert row.upper - row.lower < 1e-3
    assert row.lower <= mk.evaluate(mdp, row.policy).exact <= row.upper
    low, high = mk.simulate(mdp, row.policy, trials=20_000, rng=0).interval(0.999)
    assert low <= row.upper
    assert row.lower <= high


def test_trials_of_rounds_alike():
    """Trials draw by themselves, and see the best return at the start of their round."""
    row = mk.compare(FIGURE1, 4, widths=[2])["2 at a time, alike"]
    rng, total, n = np.random.default_rng(7), 0.0, 3000
    for _ in range(n):
        trial = row.policy.begin(rng)
        while not trial.finished:
            safe = trial.act(0) == 0
            win = rng.random() < (0.75 if safe else 0.25)
            trial.observe((0.5 if safe else 1.0) if win else 0.0, done=True)
        total += trial.best
    assert abs(total / n - float(mk.evaluate(FIGURE1, row.policy).exact)) < 5 * 0.3 / math.sqrt(n)
    assert len(row.policy.begin_round(round=1, best=0.5)) == 2


def test_compare_by_width():
    table = mk.compare(mk.instances.figure1(gamma=0), 4, widths=[1, 2, 4, 4])
    names = [row.name for row in table if row.in_rounds is not None]
    assert names == ["4 at a time, alike", "4 at a time", "2 at a time, alike", "2 at a time"]
    value = {row.name: row.lower for row in table}
    assert value["4 at a time, alike"] <= value["4 at a time"] <= value["2 at a time"] <= value["adaptive"] + 1e-9
    assert table["2 at a time"].in_rounds.guarantee == 0.75
    assert "≥ 75.0 %" in str(table)
    assert "correlation gap" in str(table)
    assert "correlation gap" not in str(mk.compare(table.mdp, 4))
    exact = mk.solve(table.mdp, 4, width=2, solver=mk.Exact()).exact
    assert table["2 at a time"].lower <= exact <= table["2 at a time"].upper


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"widths": 2}, "widths must be a list of numbers of rollouts"),
        ({"widths": [2, 0]}, "widths[1] must be at least 1"),
        ({"widths": [2.5], "cost": 0.1}, "widths[0] must be an integer"),
    ],
)
def test_widths_that_are_refused(asked, said):
    with pytest.raises(mk.InputError, match=re.escape(said)) as error:
        mk.compare(FIGURE1, 4, **asked)
    one_line(error.value)


def test_value_against_rounds(tmp_path, capsys):
    plan = mk.solve(FIGURE1, 4)
    table = mk.compare(FIGURE1, 4, plan=plan, widths=[2, 4])
    lines = mk.figures.rounds(table).axes[0].get_lines()
    assert list(lines[2].get_xdata()) == [1, 2, 4]
    assert list(lines[2].get_ydata()) == [table[name].lower for name in ("4 at a time", "2 at a time", "adaptive")]
    with pytest.raises(mk.InputError, match="this comparison has none"):
        mk.figures.rounds(mk.compare(FIGURE1, 4, plan=plan))
    plan.page(tmp_path / "x.html", comparison=table)
    assert "by the number of rounds" in (tmp_path / "x.html").read_text()
    assert main(["compare", "figure1", "-k", "4", "--width", "2"]) == 0
    assert "2 at a time, alike" in capsys.readouterr().out
    assert main(["compare", "figure1", "-k", "4", "--width", "0"]) == 2


def fractional(unit, values, seed, kind):
    """A problem of up to three steps whose rewards are multiples of a number that floats do not hold."""
    rng = np.random.default_rng(seed)
    states, horizon = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    rows = []
    for _ in range(states):
        row = []
        for _ in range(2):
            weights = rng.integers(1, 6, 3)
            outcomes = []
            for w in weights:
                reward, ended = kind(unit * int(rng.integers(-values, values))), bool(rng.random() < 0.3)
                outcomes.append((Fraction(int(w), int(weights.sum())), int(rng.integers(states)), reward, ended))
            row.append(outcomes)
        rows.append(row)
    return mk.MDP.from_table(rows, horizon=horizon, start=0)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [Fraction(1, 3), Fraction(1, 7), Fraction(1, 10)])
@pytest.mark.parametrize("kind", [Fraction, float])
def test_lower_ends_are_earned_where_floats_do_not_hold_returns(unit, kind):
    """Which tuple counts at a best return is decided alike by the plan and by its policy."""
    for seed in range(12):
        mdp = fractional(unit, 8, seed, kind)
        plan = mk.solve(mdp, 4, width=2)
        earned = mk.evaluate(mdp, uncertified(plan))
        assert plan.lower <= earned.ends[1]
        assert earned.ends[0] - plan.lower <= 1e-6 * max(1.0, abs(plan.lower))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [Fraction(1, 3), Fraction(1, 7)])
def test_rounds_alike_are_earned_there_too(unit):
    for seed in range(6):
        mdp = fractional(unit, 8, seed, Fraction)
        table = mk.compare(mdp, 4, widths=[2])
        row = table["2 at a time, alike"]
        assert row.lower <= mk.evaluate(mdp, row.policy).ends[1]


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_rounded_returns_bound_what_is_earned(horizon):
    """Off a lattice a plan is bounded by the laws of rounded returns: never above what it earns, and not far below."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        mdp = mk.MDP.from_arrays(rng.dirichlet(np.ones(2), (2, 2)), rng.normal(size=(2, 2)), horizon=horizon)
        plan = mk.solve(mdp, 4, width=2, solver=mk.Certified(tol=0.05))
        evidence = evidence_of(plan.sequential)
        search = DifferentTries(evidence.method, plan.floor, evidence.tol / 2)
        tables = search.plan((2, 2), evidence.curves)
        bound = search.earned(tables)
        earned = mk.evaluate(mdp, uncertified(plan))
        assert bound <= earned.ends[1]
        assert plan.lower <= earned.ends[1]
        assert earned.ends[0] - bound <= sum(search.left_out(tables)) + 1e-9


@pytest.mark.slow
def test_real_rewards_of_some_size_are_planned_in_rounds():
    """Their returns have too many digits to be followed one by one."""
    rng = np.random.default_rng(1)
    mdp = mk.MDP.from_arrays(rng.dirichlet(np.ones(6) * 0.6, (6, 3)), rng.normal(size=(6, 3)), horizon=5)
    plan = mk.solve(mdp, 6, width=2, solver=mk.Certified(tol=0.02))
    assert plan.upper - plan.lower < 0.05
    trials = mk.simulate(mdp, plan.policy, trials=20_000, rng=0)
    assert plan.lower <= trials.interval(0.9999)[1]


@pytest.mark.parametrize("limit", [0, 0.02])
def test_time_limits(limit):
    """What there was no time to plan is one policy repeated, evaluated; a limit is told in the status."""
    mdp = mk.instances.windy_cliff()
    plan = mk.solve(mdp, 12, width=4, solver=mk.Certified(time_limit=limit))
    assert plan.status == mk.Status.TIME_LIMIT
    assert -18.7 < plan.lower <= mk.evaluate(mdp, uncertified(plan)).ends[1]
    assert plan.rounds == (4, 4, 4)


def test_rounds_of_a_search_that_was_stopped():
    """The last rounds as far as they were planned, and before them one policy repeated: evaluated as they are."""
    sequential = mk.solve(FIGURE1, 6)

    class Stopped(DifferentTries):
        def _at(self, m, width, after, known):
            if len(self.planned) == 2:
                raise StoppedError(Reason.TIME_LIMIT)
            return super()._at(m, width, after, known)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maxatk.planning.rounds.plan.DifferentTries", Stopped)
        plan = plan_in_rounds(sequential, (2, 2, 2))
    assert plan.status == mk.Status.TIME_LIMIT
    assert len(plan.tables[1].tuples) > 1
    earned = mk.evaluate(FIGURE1, uncertified(plan)).exact
    assert earned - Fraction(1, 10**9) <= plan.lower <= earned < mk.solve(FIGURE1, 6, width=2).lower


def test_time_limits_at_the_command_line(capsys):
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--time-limit", "0"]) == 0
    told = capsys.readouterr()
    assert "time limit)." in told.out
    assert not told.err


def test_sentences_about_rounds():
    assert words.rounds((4, 4, 4)) == "3 rounds of 4"
    assert words.rounds((7,)) == "1 round of 7"
    assert words.rounds((5, 7)) == "2 rounds of 5, 7"
    assert words.rounds((4,) * 9 + (1,)) == "10 rounds of 1 to 4"
    told = {n: words.kept(Kept(lower=0.9987, upper=1.0, k=12, rounds=(12 // n,) * n)).split(", in ")[1] for n in (2, 3)}
    assert told == {2: "a sixth of the rounds.", 3: "a quarter of the rounds."}
    odd = words.kept(Kept(lower=0.5, upper=1.0, k=7, rounds=(3, 3, 1)))
    assert odd.startswith("3 rounds of 3, 3, 1 keep at least 50 % of what 7 tries")
    assert odd.endswith("in 43 % of the rounds.")


@pytest.mark.parametrize("rounds", [(2, 2), (1, 3), (3, 1), (2, 1, 2)])
def test_exact_plans_know_every_number_of_tries(rounds):
    """The rest of a round is a shorter round; and what rounds keep is a fraction."""
    mdp, k = arms(*THREE), sum(rounds)
    plan = mk.solve(mdp, k, rounds=rounds, solver=mk.Exact())
    for n in range(1, k + 1):
        rest, left = [], n
        for width in reversed(rounds):
            rest, left = [min(width, left), *rest], left - min(width, left)
        true = by_hand(THREE, tuple(w for w in rest if w))
        assert plan.value_of_tries(n) == (pytest.approx(float(true)),) * 2
    assert len(plan.values_by_tries()) == len(plan.columns()["tries"]) == k
    assert plan.to_csv().startswith("tries,lower,upper")
    assert "at least" in plan._repr_html_()
    first, sequential = by_hand(THREE, (1,)), by_hand(THREE, (1,) * k)
    share = (by_hand(THREE, rounds) - first) / (sequential - first)
    assert plan.kept.lower <= share <= plan.kept.upper <= plan.kept.lower + 1e-15
    assert plan.kept in plan.findings
    assert mk.solve(arms(THREE[0]), 2, width=2, solver=mk.Exact(), best_so_far=9).kept is None


def test_many_rounds_exactly():
    plan = mk.solve(FIGURE1, 2000, width=2, solver=mk.Exact())
    assert plan.exact < 1
    assert plan.lower > 0.999999


def test_run_at_the_command_line(tmp_path, capsys):
    """A plan in rounds runs in the problem that was saved with it."""
    path = str(tmp_path / "x.plan")
    assert main(["solve", "figure1", "-k", "4", "--width", "2", "--save", path]) == 0
    capsys.readouterr()
    assert main(["run", path, "--trials", "500"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("best of 4 in 2 rounds of 2 in 500 trials: 0.7")
    assert "The trials agree" in told


def test_seeds_of_rounds_that_draw():
    """A seed serves wherever a policy draws, and says what is drawn."""
    alike = mk.compare(FIGURE1, 4, widths=(2,))["2 at a time, alike"].policy
    for seed in (3, np.random.default_rng(3)):
        tries = alike.begin_round(round=0, best=-math.inf, rng=seed)
        assert len(tries) == 2
    again = [[one.act(0) for one in alike.begin_round(round=0, best=-math.inf, rng=7)] for _ in range(2)]
    assert again[0] == again[1]
    assert alike.begin(3).act(0) == alike.begin(3).act(0)
    assert mk.solve(FIGURE1, 2).cvar(0.5).policy.begin(3).act(0) in (0, 1)
    assert mk.MixedPolicy([mk.MarkovPolicy([[0]], k=1)], [1], k=2).begin(3).act(0) == 0
    for call in (lambda: alike.begin("x"), lambda: alike.begin_round(round=0, best=0, rng=-1)):
        with pytest.raises(mk.InputError, match="rng must be a seed or a NumPy Generator") as error:
            call()
        one_line(error.value)


def test_tries_show_where_they_stand():
    one = mk.solve(FIGURE1, 4, width=2).policy.begin_round(round=1, best=0.5)[1]
    assert repr(one) == "RoundTry(try 4 of 4, step 0, return 0)"
    one.act(0)
    one.observe(0.5, done=True)
    assert repr(one) == "RoundTry(try 4 of 4, over, return 0.5)"


def test_widths_in_an_array():
    assert mk.solve(FIGURE1, 4, rounds=np.array([2, 2])).rounds == (2, 2)
    for widths in (np.array([2.0, 2.0]), np.array([[2, 2]]), np.array(4), np.array([])):
        with pytest.raises(mk.InputError, match="rounds") as error:
            mk.solve(FIGURE1, 4, rounds=widths)
        one_line(error.value)


@pytest.mark.parametrize("option", ["--tol", "--time-limit", "--save"])
@pytest.mark.parametrize("width", [(), ("--width", "2")])
def test_what_is_not_for_exact_plans(option, width, capsys):
    assert main(["solve", "figure1", "-k", "4", *width, "--exact", option, "1"]) == 2
    assert f"{option} is for the certified planner, not for --exact" in capsys.readouterr().err


@pytest.mark.slow
def test_tries_alike_are_known_to_within_the_tolerance():
    """Knots are added where what is proved is widest, not only where more may be earned."""
    shop = Workshop(mk.solve(mk.instances.windy_cliff(), 12))
    for each in round_classes(12, (2, 3, 4, 6), costly=False)[::2]:
        found = each.find(shop)
        assert each.in_rounds.alike
        assert found.upper - found.lower <= shop.plan.stats["tol"]
        assert found.upper < shop.plan.upper  # by a bound of its own


def test_one_return_between_lattice_points():
    """Found by the hunt: of one return no lattice is fine, and the search for one did not end."""
    for reward in (0.1234567890123, -7.00000000001, 1 / 3):
        mdp = mk.MDP.from_arrays(np.ones((1, 2, 1)), np.array([[reward, reward]]), horizon=3)
        with tuned(exact_points=1):
            plan = mk.solve(mdp, 3, width=2)
        assert plan.lower <= 3 * Fraction(reward) <= plan.upper
        assert plan.gap <= 1e-9


def test_huge_returns_that_differ_by_little():
    """Found by the hunt: floats did not tell the points of a finer lattice apart."""
    rewards = [307259238692021.25, 307259238692022.5, 307259238692023.0]
    laws = [{rewards[0]: 0.25, rewards[2]: 0.75}, {rewards[1]: 1.0}, {rewards[0]: 0.9, rewards[2]: 0.1}]
    mdp = arms(*laws)
    for points in (1, 50_000):
        with tuned(exact_points=points):
            plan = mk.solve(mdp, 4, rounds=(3, 1))
        exact = mk.solve(mdp, 4, rounds=(3, 1), solver=mk.Exact()).exact
        assert plan.lower <= exact <= plan.upper
