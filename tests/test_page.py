"""Pages: what they hold, and, in a real browser, what they show and do."""

import json
import math
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.text import at_least, at_most, decimals_of
from maxatk.comparison.contrast import return_to_exceed
from maxatk.problem.grid import cell_names, find_grid, places
from maxatk.report import views
from maxatk.report.page import graph
from maxatk.report.page.moments import ANY, Count, ask, frame, passed_over, sample_trials, story
from maxatk.report.page.sheets import find_sheets
from maxatk.report.palette import SELDOM, action_colours
from maxatk.report.reach import Reach
from maxatk.report.tables import plans as tables
from problems import REPRESENTATIONS, specs

pytest.importorskip("altair", reason="pages need the extra page")

MOMENT = r"Try (\d) of 3, (?:best so far (.*)|no result yet), this try (.*) at step (\d+) in (.*): takes (\w*)(.*)\."
READY = "html[data-ready=yes]"  # when all is drawn


# What a page holds.


@settings(max_examples=25)
@given(specs(max_states=4, max_horizon=4), st.integers(1, 3), st.booleans())
def test_moments_are_what_the_policy_says(spec, k, exactly):
    mdp = REPRESENTATIONS["table"](spec)
    plan = mk.solve(mdp, k, solver=mk.Exact() if exactly else None)
    trials = sample_trials(plan)
    asked = ask(plan, Count(plan), trials, mdp.return_range[0])
    assert asked.all_places
    for h, s, returns, actions in zip(asked.step, asked.state, asked.returns, asked.actions, strict=True):
        for (n, g, m), action in np.ndenumerate(actions):
            G, M = float(returns[g]), float(asked.bests[m])
            beaten = G + mdp.analysis.most[h, s] <= M
            assert (action == ANY) == beaten
            if not beaten:
                assert action == plan.policy.action(rollout=asked.rollouts[n], step=h, state=s, best=M, so_far=G)
    known = {(h, s): set(returns) for h, s, returns in zip(asked.step, asked.state, asked.returns, strict=True)}
    for taken in (taken for trial in trials for taken in trial):
        assert float(taken.so_far) in known[taken.step, taken.state]
        assert float(taken.best) in asked.bests


@given(specs(max_states=3, max_horizon=3))
def test_returns_that_can_be_reached(spec):
    mdp = REPRESENTATIONS["table"](spec)
    quarters = np.rint(4 * mdp.reward).astype(np.int64)
    reached = {(0, s): {0} for s in mdp.start_state.tolist()}
    totals = set()
    for h in range(mdp.horizon):
        for s in range(mdp.n_states):
            for g in reached.get((h, s), ()):
                for a in mdp.actions(h, s):
                    for _, after, r in mdp.outcomes(h, s, a):
                        if after is None or h + 1 == mdp.horizon:
                            totals.add(g + round(4 * r))
                        else:
                            reached.setdefault((h + 1, after), set()).add(g + round(4 * r))
    sets, ranges = Reach(mdp, quarters), Reach(mdp, quarters)
    ranges.__dict__["_sets"] = None  # as where there are too many returns to list
    assert sets.totals(-1000, 1000, 10_000).tolist() == sorted(totals)
    assert set(sets.totals(-1, 1, 10_000)) == {g for g in totals if -1 <= g <= 1}
    for h in range(mdp.horizon):
        here = [s for s in range(mdp.n_states) if (h, s) in reached]
        assert sets.states(h) == ranges.states(h) == here
        for s in range(mdp.n_states):
            returns = sets.returns(h, s, 10_000).tolist()
            assert returns == sorted(reached.get((h, s), ()))
            between = ranges.returns(h, s, 10_000).tolist()
            assert set(returns) <= set(between)
            assert between[:1] + between[-1:] == returns[:1] + returns[-1:]
            if returns:
                for reach in (sets, ranges):
                    assert reach.returns(h, s, 10_000, above=returns[0]).tolist()[0] == returns[0]
                    assert reach.returns(h, s, 10_000, above=returns[-1]).tolist() == returns[-1:]
            few = sets.returns(h, s, 2).tolist()
            assert few == (returns if len(returns) <= 2 else [returns[0], returns[-1]])


def test_which_way_actions_go_on_a_grid():
    cliff = mk.instances.windy_cliff(horizon=5)
    grid = find_grid(cliff)
    assert (grid.rows, grid.columns) == (4, 12)
    assert np.sign(grid.towards).tolist() == [[-1, 0], [0, 1], [1, 0], [0, -1]]
    pytest.importorskip("gymnasium")
    lake = mk.MDP.from_gymnasium("FrozenLake-v1", is_slippery=True)
    assert lake.state_names[6] == "row 1, column 2"
    assert [find_grid(lake).action_name(lake, a) for a in range(4)] == ["left", "down", "right", "up"]
    taxi = mk.MDP.from_gymnasium("Taxi-v4")
    with pytest.raises(mk.InputError, match="shape is missing"):
        find_grid(taxi)


def test_what_is_printed_is_true():
    """Bounds are rounded away from each other, fractions exactly."""
    assert (at_least(-15.9570524, 6), at_most(-15.9424996, 6)) == ("-15.957053", "-15.942499")
    assert (at_least(0.1, 2), at_most(0.1, 2)) == ("0.10", "0.11")  # the float is above a tenth
    assert at_least(mk.solve(mk.instances.figure1(Fraction(1, 10)), 2, solver=mk.Exact()).exact, 4) == "0.6075"
    assert (at_least(-0.5, 0), at_most(-0.5, 0)) == ("-1", "0")
    assert at_least(-math.inf, 3) == "-inf"
    assert [decimals_of(x) for x in (0.0, 0.00123, -15.9, 1e9, math.inf)] == [0, 8, 4, 0, 0]
    plan = SimpleNamespace(lower=1.23456789e-8, upper=1.2345999e-8, gap=1.2345999e-8 - 1.23456789e-8)
    assert tables.interval(plan) == ("1.2345678e-08", "1.2345999e-08")


@pytest.fixture(scope="module")
def cliff():
    return mk.solve(mk.instances.windy_cliff(horizon=20), 3)


@pytest.fixture(scope="module")
def cliff_page(cliff, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "cliff.html"
    cliff.page(path, title="A windy cliff", comparison=False)
    return path


def test_a_page_is_one_file(tmp_path):
    plan = mk.solve(mk.instances.proposition3(), 2)
    comparison = mk.compare(plan.mdp, 2, plan=plan)
    plan.page(tmp_path / "x.html", comparison=comparison)
    text = (tmp_path / "x.html").read_text()
    assert len(text) < 3e6
    assert "default-src 'none'" in text
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "http" not in shown.replace("http-equiv", "")
    assert not re.search(r"<(link|img|iframe)|@import|url\(", shown)
    for row in comparison.rows:
        earns = row.lower if row.exact is None else row.exact
        assert f"{row.name}<td>{at_least(earns, tables.decimals(plan))}<td>" in shown
    for bound in tables.interval(plan):
        assert f">{bound}<" in shown


def test_a_page_opens_with_a_verdict_and_three_tries(cliff, cliff_page):
    text = cliff_page.read_text()
    assert 'Repeating a policy with the best mean: <b class="mean">−' in text
    assert 'Planning for the best of 3: at least <b class="plan">−' in text
    assert text.index('class="verdict"') < text.index('class="boards"') < text.index('id="says"')
    titles = re.findall(r"<figcaption>(The .*?)</figcaption>", text)
    assert titles[:2] == ["The first try", "The last, no result yet"]
    maps = re.findall(r'<svg viewBox="0 0 120 40".*?</svg>', text)
    assert len(maps) == 3
    for drawn in maps:
        assert drawn.count('class="hazard"') == 10
        assert drawn.count('class="goal"') == 1


def test_where_nothing_is_gained_no_chart_says_otherwise(tmp_path):
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, 1, True), (0.5, 0, 0, True)], 1: [(1.0, 0, 0, True)]}}, horizon=1)
    mk.solve(mdp, 3).page(tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert (
        "Adapting gains next to nothing here (a try succeeds or fails: its return is 0 or 1): less than 0.0001" in text
    )
    assert 'id="comparison"' not in text
    assert 'id="classes"' in text


@pytest.mark.parametrize(("colour", "ink"), [("#0072B2", "#fff"), ("#F0E442", "#000"), ("#000000", "#fff")])
def test_ink_can_be_read(colour, ink):
    from maxatk.report.page import charts

    assert charts.inks([colour]) == [ink]


def shades(page):
    """The colours of the actions of a page, by name."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL)
    data = json.loads(found[1])
    return dict(zip(data["problem"]["actions"], data["colours"], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["windy_cliff", "FrozenLake-v1", "Taxi-v4"])
def test_a_direction_has_one_colour_on_pages_and_cards(problem, cliff_page, tmp_path):
    if "-" in problem:
        pytest.importorskip("gymnasium")
    plan = mk.solve(mk.find_problem(problem, horizon=8), k=2)
    plan.page(tmp_path / "x.html", comparison=False)
    mine = shades(tmp_path / "x.html")
    known = shades(cliff_page)
    same = {"north": "up", "south": "down", "east": "right", "west": "left"}
    ways = {name: colour for name, colour in mine.items() if same.get(name, name) in known}
    assert len(ways) == 4
    assert all(colour == known[same.get(name, name)] for name, colour in ways.items())
    assert len(set(mine.values())) == len(mine)
    drawn = re.findall(r'<path d="M-3[^>]* fill="(#\w+)"', mk.contrast(plan)._repr_html_())
    assert set(drawn) <= set(ways.values())
    assert bool(drawn) == (problem != "Taxi-v4")  # which has no map on its card


def test_colours_of_more_actions_than_there_are_colours():
    names, often = ["up", *"abcdefgh", "right", "give up"], [0, *range(8), 0, 100]
    shown = dict(zip(names, action_colours(names, often), strict=True))
    assert [shown["up"], shown["right"]] == action_colours(["up", "right"])
    assert [name for name in names if shown[name] == SELDOM] == list("abcd")
    assert len(set(shown.values())) == len(names) - 3
    few = ["up", "right", "down", "left", "give up"]
    assert action_colours(few, [0, 0, 0, 0, 9]) == action_colours(few)


def test_sheets_are_told_by_names():
    taxi = mk.find_problem("Taxi-v4", horizon=5)
    sheets = find_sheets(taxi)
    assert sheets is not None
    assert (sheets.rows, sheets.columns, len(sheets.titles)) == (5, 5, 20)
    assert len({(sheets.sheet[s], sheets.cell[s]) for s in range(500)}) == 500
    down, right = np.sign(sheets.towards).T.astype(int).tolist()
    assert dict(zip(taxi.action_names, zip(down, right, strict=True), strict=True)) == {
        "down": (1, 0), "up": (-1, 0), "right": (0, 1), "left": (0, -1), "pick up": (0, 0), "drop off": (0, 0),
    }  # fmt: skip
    assert find_sheets(mk.instances.windy_cliff()) is None
    assert find_sheets(mk.instances.blackjack()) is None


def test_a_page_says_what_made_it(tmp_path, monkeypatch):
    plan = mk.solve(mk.instances.figure1(), 2, cost=0.125)
    plan.page(tmp_path / "one.html", comparison=False)
    assert "mk.solve(problem, k=2, cost=0.125).page(&#34;page.html&#34;)" in (tmp_path / "one.html").read_text()
    monkeypatch.setattr(sys, "argv", ["/usr/bin/maxatk", "solve", "a <b>", "-k", "2"])
    plan.page(tmp_path / "two.html", comparison=False)
    assert "maxatk solve &#39;a &lt;b&gt;&#39; -k 2" in (tmp_path / "two.html").read_text()


def test_curves_are_drawn_where_best_returns_can_be():
    """And they never contradict the plan's interval."""
    lake = mk.MDP.from_table({0: {0: [(0.5, 0, 1, True), (0.5, 0, 0, True)], 1: [(1.0, 0, 0, True)]}}, horizon=1)
    assert views.curves(mk.solve(lake, 3), 61).best.tolist() == [0, 1]
    plan = mk.solve(mk.instances.windy_cliff(), 5, solver=mk.Certified(tol=1.0))
    view = views.curves(plan, 61)
    assert set(view.best) <= {float(x) for x in range(-60, -12)}
    first = view.curves[0]
    assert (first.lower >= plan.lower).all()
    fine = mk.solve(plan.mdp, 5)
    for curve in view.curves:
        for m, lower, upper in zip(view.best.tolist(), curve.lower, curve.upper, strict=True):
            exact = fine.curve(5 - curve.to_come, m)
            assert lower <= exact[1] + 1e-9
            assert exact[0] - 1e-9 <= upper


def test_curves_that_are_left_out_are_told(tmp_path):
    plan = mk.solve(mk.instances.qualifying_laps(), k=6)
    plan.page(tmp_path / "x.html", comparison=False)
    assert "6 of 7 curves are drawn; the other one lies between them." in (tmp_path / "x.html").read_text()
    assert mk.figures.curves(plan, points=3).caption.endswith("the other one lies between them.")
    assert views.curves(mk.solve(plan.mdp, k=9), 3).note == "6 of 10 curves are drawn; the other 4 lie between them."
    assert views.curves(mk.solve(plan.mdp, k=5), 3).note == ""


def test_one_more_place_is_named():
    laps, cliff = mk.instances.qualifying_laps(), mk.instances.windy_cliff()
    assert places(laps, range(4), 3) == ", ".join(laps.state_names[:3]) + f" and {laps.state_names[3]}"
    assert places(laps, range(5), 3) == ", ".join(laps.state_names[:3]) + " and 2 more"
    assert places(cliff, [0, 12, 24], 2) == "row 0, column 0; row 1, column 0 and row 2, column 0"
    assert places(cliff, [0, 12, 24], 1) == "row 0, column 0 and 2 more rows"


def test_states_may_be_called_otherwise(tmp_path):
    plan = mk.solve(mk.instances.javelin(), 2)
    plan.page(tmp_path / "x.html", comparison=False, names=lambda s: f"stage {s}")
    assert "stage 3" in (tmp_path / "x.html").read_text()
    assert "full run-up" not in (tmp_path / "x.html").read_text()
    assert plan.mdp.state_names[3] == "full run-up"
    for names in (["a"], "abcde", [1, 2, 3, 4, 5], lambda s: s):
        with pytest.raises(mk.InputError, match="names must be 5 strings, one for each state, or a function that"):
            plan.page(tmp_path / "x.html", names=names)


@pytest.mark.slow
def test_a_taxi_says_where_it_is():
    pytest.importorskip("gymnasium")
    taxi = mk.MDP.from_gymnasium("Taxi-v4")
    assert taxi.state_names[53] == "taxi in row 0, column 2, passenger at blue, bound for green"
    assert taxi.action_names[4] == "pick up"
    (after,) = taxi.outcomes(0, 53, 0)  # down
    assert taxi.state_names[after.next_state].startswith("taxi in row 1, column 2, ")


def test_trials_pass_over_what_cannot_win(cliff):
    trials = sample_trials(cliff)
    idle = [x for trial in trials for x in passed_over(cliff.mdp, trial, lambda i, m: return_to_exceed(cliff, i, m))]
    steps = [t for trial in trials for t in trial]
    assert 0.2 < np.mean(idle) < 0.95
    for t, passed in zip(steps, idle, strict=True):
        most = float(t.so_far) + cliff.mdp.analysis.most[t.step, t.state]
        if most <= t.best:
            assert passed
        if passed:  # the best it could come to is worth next to nothing
            top = cliff.mdp.return_range[1]
            base = sum(cliff.curve(t.rollout + 1, max(float(t.best), cliff.mdp.return_range[0]))) / 2
            gain = sum(cliff.curve(t.rollout + 1, max(most, float(t.best)))) / 2 - base
            assert gain <= 0.0101 * (sum(cliff.curve(t.rollout + 1, top)) / 2 - base) + 1e-9
    best = [max(float(t.so_far) + t.reward for t in trial if t.over) for trial in trials]
    improved = [sum(t.over and float(t.so_far) + t.reward > t.best for t in trial) for trial in trials]
    assert improved[story(trials)] == min(max(improved), 3) or max(improved) > 3
    assert len(best) == len(trials)


def test_a_try_that_gains_little_from_the_first_is_shown_whole():
    mdp = mk.instances.figure1()
    worth = {0: 5.0, 1: 5.0, 2: -math.inf}  # of which the first two are above all that can be had
    step = SimpleNamespace(step=0, state=0, so_far=0)
    trial = [
        SimpleNamespace(**vars(step) | {"rollout": 0, "best": -math.inf}),
        SimpleNamespace(**vars(step) | {"rollout": 1, "best": 1.0}),  # cannot be improved on
        SimpleNamespace(**vars(step) | {"rollout": 2, "best": 0.0}),
    ]
    assert passed_over(mdp, trial, lambda i, m: worth[i]) == [False, True, False]


def test_falls_and_goals_are_stepped_into():
    grid = find_grid(mk.instances.windy_cliff())
    down, right = 2, 1
    assert grid.stepped_into(28, right, 29) is None  # a move
    assert grid.stepped_into(28, down, 36) == 40  # over the edge, and back at the start
    assert grid.stepped_into(28, right, 36) == 40  # blown over it
    assert grid.stepped_into(35, down, None) == 47  # the goal
    assert grid.stepped_into(5, right, None) is None  # the time is over


def test_pages_of_all_kinds_of_plans(tmp_path):
    mdp = mk.instances.figure1()
    for number, solver in enumerate((mk.Exact(), mk.Midpoint(kappa=1 / 8), mk.Certified())):
        told = []
        mk.solve(mdp, 2, solver=solver, best_so_far=0).page(tmp_path / f"{number}.html", progress=told.append)
        text = (tmp_path / f"{number}.html").read_text()
        assert "with\n  a best so far of 0;" in text
        assert "risky" in text
        assert "the curves" in told
        assert "simpler policies, adaptive done" in told


def test_what_is_too_large_is_said(tmp_path, monkeypatch):
    plan = mk.solve(mk.instances.figure1(), 2)

    def refuse(*arguments, **more):
        raise mk.TooLargeError("it would take a year")

    for name in ("compare", "contrast"):
        monkeypatch.setattr(f"maxatk.report.page.plan.{name}", refuse)
    monkeypatch.setattr("maxatk.report.page.plan.ask", refuse)
    plan.page(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text().count(": it would take a year") == 3


def test_long_trials_are_not_shown(tune):
    tune(longest_trial=99)
    plan = mk.solve(mk.instances.figure1(), 100)
    assert sample_trials(plan) == []
    asked = ask(plan, Count(plan), [], 0.0, cells=32)
    assert asked.rollouts[0] == 0
    assert asked.rollouts[-1] == 99
    assert len(asked.rollouts) == 8


def test_a_budget_of_questions_goes_to_the_trials_first():
    plan = mk.solve(mk.instances.windy_cliff(horizon=20), 3)
    trials = sample_trials(plan)
    asked = ask(plan, Count(plan), trials, views.range_of_interest(plan)[0], cells=20_000)
    assert not asked.all_places
    assert sum(actions.size for actions in asked.actions) <= 20_000
    first = list(dict.fromkeys((t.step, t.state) for trial in trials for t in trial))
    assert list(zip(asked.step, asked.state, strict=True))[: len(first)] == first[: len(asked.step)]


def test_a_page_that_cannot_be_made(tmp_path, monkeypatch):
    plan = mk.solve(mk.instances.figure1(), 2)
    other = mk.compare(mk.instances.figure1(0.1), 2)
    with pytest.raises(mk.InputError, match="the comparison is of another problem"):
        plan.page(tmp_path / "x.html", comparison=other)
    with pytest.raises(mk.InputError, match="cannot be written: No such file or directory"):
        plan.page(tmp_path / "no" / "x.html")
    with pytest.raises(mk.InputError, match=r"comparison must be one of mk\.compare, or true or false, not 7"):
        plan.page(tmp_path / "x.html", comparison=7)
    with pytest.raises(mk.InputError, match="/dev/null: cannot be written: it is not a file"):
        plan.page("/dev/null")
    for path, reason in (("a\0b", "null"), ("a" * 5000, "too long"), (b"a", "path must be a path, not b'a'")):
        with pytest.raises(mk.InputError, match=reason):
            plan.page(path)
    for name in ("altair", "vl_convert", "jinja2"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, name, None)
            with pytest.raises(mk.MissingExtraError, match=rf"need {name}, .* pip install 'maxatk\[page\]'"):
                plan.page(tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


def test_states_that_are_no_cells_form_a_graph():
    mdp = mk.instances.drafts()
    first = {0: 0, 1: 1, 2: 1, 3: 1}
    names = {s: f"<{name}>" for s, name in enumerate(mdp.state_names)}
    drawn = graph.graph(mdp, first, names)
    lines = set(re.findall(r'data-from="(\d)" data-actions="([\d ]+)"', drawn))
    assert lines == {("0", "0"), ("0", "0 1"), *((str(s), "3") for s in (1, 2, 3))}  # prompts, and revisions
    assert drawn.count("<path") == 3 + 2 + 2 + 1  # a strong draft that is revised becomes weak, or stays strong
    assert re.findall(r"<title>(.*?)</title>", drawn)[0] == "&lt;no draft yet&gt;"
    assert "<no" not in drawn
    boxes = re.findall(r'<rect x="(.*?)" y="(.*?)" width="(.*?)" height="36"', drawn)
    assert len(set(boxes)) == 4
    assert graph.graph(mdp, {0: 0}, names) is None
    assert graph.graph(mdp, dict.fromkeys(range(25), 0), {}) is None


def test_a_chain_of_states_goes_from_the_top_down():
    mdp = mk.instances.qualifying_laps()
    drawn = graph.graph(mdp, {s: s for s in range(8)}, {s: f"sector {s}" for s in range(8)})
    x, y = zip(*re.findall(r'<rect x="(.*?)" y="(.*?)"', drawn), strict=True)
    assert len(set(x)) == 1
    assert [float(at) for at in y] == sorted(map(float, set(y)))
    assert drawn.count("<path") == 7


def test_links_are_followed_and_odd_names_written(tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "true.html")
    plan = mk.solve(mk.instances.figure1(), 2)
    plan.page(tmp_path / "link.html", title="\udcff", comparison=False)
    assert (tmp_path / "link.html").is_symlink()
    assert "<h1>?</h1>" in (tmp_path / "true.html").read_text()


def test_tenths_are_tenths():
    """Returns are those that rewards mean, and equal ones are equal: not 0.30000000000000004."""
    mdp = mk.MDP.from_table({0: {0: [(0.4, 0, 0.1, False), (0.3, 0, 0.2, False), (0.3, 0, 0.3, False)]}}, horizon=6)
    plan = mk.solve(mdp, 12)
    count, trials = Count(plan), sample_trials(plan)
    asked = ask(plan, count, trials, 0.0)
    assert {x for returns in asked.returns for x in returns} <= {n / 10 for n in range(19)}
    assert set(asked.bests[1:]) <= {n / 10 for n in range(19)}
    for taken in (taken for trial in trials for taken in trial if taken.over):
        *_, total, better = frame(plan, count, taken)
        assert total == round(total, 1)
        assert better == (total > round(float(taken.best), 1) if taken.best > -math.inf else True)


@pytest.mark.parametrize("in_hand", [0.3, Fraction(3, 10), 0.35])
def test_what_is_in_hand_counts_in_tenths_too(in_hand):
    table = {0: {0: [(0.5, 0, 0.1, False), (0.5, 0, 0.2, False)], 1: [(0.3, 0, 0.3, False), (0.7, 0, 0, False)]}}
    plan = mk.solve(mk.MDP.from_table(table, horizon=2), 3, best_so_far=in_hand)
    count, trials = Count(plan), sample_trials(plan)
    asked = ask(plan, count, trials, 0.0)
    assert set(asked.bests) <= {float(in_hand), *(n / 10 for n in range(7))}
    for taken in (taken for trial in trials for taken in trial if taken.over):
        *_, best, _, lost, total, better = frame(plan, count, taken)
        assert best == round(float(taken.best), 2)
        assert total == round(total, 1)
        assert better == (total > best)
        assert not (lost and better)


def test_policies_that_round_are_asked_what_they_remember():
    rewards = [0, 0.33, 0.5, 0.97, 0.12, 0.71]
    mdp = mk.instances.random_sparse(6, 3, 4, rewards=rewards, rng=0)
    plan = mk.solve(mdp, 3, solver=mk.Midpoint(kappa=1 / 10))
    count = Count(plan)
    assert count.rounds
    differ = 0
    for taken in (taken for trial in sample_trials(plan) for taken in trial):
        state, action, best, so_far, known_best, known_so_far, *_ = frame(plan, count, taken)
        assert (best, so_far) == (None if taken.best == -math.inf else float(taken.best), float(taken.so_far))
        best = -math.inf if known_best is None else known_best
        asked = {"rollout": taken.rollout, "step": taken.step, "state": state}
        assert plan.policy.action(**asked, best=best, so_far=known_so_far) == action
        differ += so_far != known_so_far
    assert differ > 10


# What a page shows and does, in a browser.


@pytest.fixture
def open_page(browser):
    """Opens a file as a person would, and fails if the browser complains or asks for anything else."""
    faults, contexts = [], []

    def opened(path, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_selector(READY, state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


class Shown:
    """What a page shows."""

    def __init__(self, page, plan):
        self.page, self.plan = page, plan

    def slider(self, name, value):
        """Move a slider with the mouse."""
        if self.page.is_enabled(f"#{name}"):  # else there is nothing to choose
            self.page.fill(f"#{name}", str(value))
        self.page.wait_for_selector(READY, state="attached")

    def press(self, name, value):
        """Move a slider with the keyboard: to its beginning, and then on."""
        self.page.focus(f"#{name}")
        self.page.keyboard.press("Home")
        for _ in range(value):
            self.page.keyboard.press("ArrowRight")
        self.page.wait_for_selector(READY, state="attached")

    def map(self):
        """The cells of the action map that are drawn: {(M, G): action}, and their colours."""
        drawn = self.page.eval_on_selector_all(
            "#map svg path[aria-label]", "all => all.map(e => [e.ariaLabel, e.getAttribute('fill')])"
        )
        cells, colours = {}, {}
        for says, colour in drawn:
            M, G, action = re.fullmatch(r"M (.*), G (.*): (.*)", says).groups()
            cells[number(M), number(G)] = action
            colours.setdefault(action, set()).add(colour)
        return cells, colours

    def boxes(self, selector):
        """Left, top, width and height of what is drawn."""
        return self.page.eval_on_selector_all(
            selector, "all => all.map(e => e.getBBox()).map(b => [b.x, b.y, b.width, b.height])"
        )

    def text(self, selector):
        return self.page.inner_text(selector)


def number(text):
    return -math.inf if text == "none" else float(text.replace("−", "-"))


@pytest.mark.slow
class TestInBrowser:
    def test_sliders_show_what_the_policy_does(self, cliff, cliff_page, open_page):
        plan = cliff
        shown = Shown(open_page(cliff_page), plan)
        names = plan.mdp.action_names
        seen = set()
        for rollout, step, state in ((0, 5, 28), (2, 5, 28), (2, 10, 20), (1, 12, 36), (2, 0, 36)):
            shown.slider("rollout", rollout)
            shown.slider("step", step)
            where = [s for s in range(48) if s not in range(37, 48)].index(
                state
            )  # the cliff and the goal are no states
            shown.slider("state", where)
            assert shown.text("#state-value") == plan.mdp.state_names[state]
            cells, colours = shown.map()
            assert len(cells) > 5
            # Returns rise from below and from the left.
            placed = {}
            for (M, G), (x, y, *_) in zip(cells, shown.boxes("#map svg path[aria-label]"), strict=True):
                placed.setdefault("M", {})[M], placed.setdefault("G", {})[G] = x, -y
            for axis in placed.values():
                assert sorted(axis) == sorted(axis, key=axis.get)
            for (M, G), action in cells.items():
                if G + plan.mdp.analysis.most[step, state] <= M:
                    assert action == "M cannot be beaten"
                else:
                    taken = plan.policy.action(rollout=rollout, step=step, state=state, best=M, so_far=G)
                    assert action == names[taken]
                    seen.add(action)
            assert all(len(some) == 1 for some in colours.values())
            assert len({colour for some in colours.values() for colour in some}) == len(colours)
        assert len(seen) > 1
        # The framed cell is the one that the words are about, and the call in them can be made.
        shown.press("rollout", 2)
        shown.press("step", 5)
        shown.slider("state", 28)
        shown.press("best", 0)
        assert shown.text("#says") == ("Try 3 of 3, no result yet, this try −5 at step 5 in row 2, column 4: takes up.")
        (framed,) = shown.boxes("#map svg .mark-rect path[stroke]")
        (cell,) = shown.boxes("#map svg path[aria-label='M none, G −5: up']")
        assert [round(x) for x in framed[:2]] == [round(x) for x in cell[:2]]
        call, _, action = shown.text("#call").partition(" == ")
        assert eval(call, {"policy": plan.policy, "math": math}) == int(action)
        # A place where no try can be.
        shown.slider("step", 0)
        assert shown.text("#says").endswith("no try can be in row 2, column 4 at step 0.")
        assert not shown.page.is_visible("#map")

    def test_the_grid_points_where_the_policy_goes(self, cliff, cliff_page, open_page):
        plan = cliff
        shown = Shown(open_page(cliff_page), plan)
        for rollout, now in ((0, 0), (2, 0), (2, 6)):
            shown.slider("rollout", rollout)
            shown.slider("best", 0)
            shown.slider("step", now)
            shown.slider("so_far", len(Reach(plan.mdp, plan.mdp.reward.astype(int)).returns(now, 36, 99)) - 1)
            arrows = shown.page.eval_on_selector_all(
                "#grid svg path[aria-label]", "all => all.map(e => [e.ariaLabel, e.getAttribute('transform')])"
            )
            assert len(arrows) == 37
            for says, transform in arrows:
                name, action = says.split(": ")
                row, column = (int(x) for x in re.findall(r"\d+", name))
                step = max(3 - row + column, now)
                taken = plan.policy.action(
                    rollout=rollout, step=step, state=12 * row + column, best=-math.inf, so_far=-step
                )
                assert plan.mdp.action_names[taken] == action
                turned = float(re.search(r"rotate\((.*)\)", transform)[1]) if "rotate" in transform else 0.0
                assert turned % 360 == {"up": 0, "right": 90, "down": 180, "left": 270}[action]

    def test_where_no_try_can_be_yet_the_best_return_counts(self, tmp_path, open_page):
        """In the second cell it is safe to go on with 2 so far, and useless with 0, if 2 is in hand."""
        table = {
            0: {0: [(0.5, 1, 0, False), (0.5, 1, 2, False)]},
            1: {0: [(1.0, 2, 1, True)], 1: [(0.3, 1, 3, True), (0.7, 1, 0, True)]},
            2: {0: [(1.0, 2, 0, True)]},
        }
        mdp = mk.MDP.from_table(table, horizon=2, state_names=cell_names(1, 3), action_names=["on", "gamble"])
        plan = mk.solve(mdp, 2)
        ask = {"rollout": 1, "step": 1, "state": 1, "best": 2}
        assert [plan.policy.action(**ask, so_far=g) for g in (0, 2)] == [1, 0]
        plan.page(tmp_path / "x.html", comparison=False)
        shown = Shown(open_page(tmp_path / "x.html"), plan)
        shown.slider("rollout", 1)
        shown.slider("step", 0)
        for place in range(9):
            shown.slider("best", place)
            if shown.text("#best-value") == "2":
                break
        assert "row 0, column 1: on" in shown.page.eval_on_selector_all(
            "#grid svg path[aria-label]", "all => all.map(e => e.ariaLabel)"
        )

    def test_the_player_plays_the_trial_whose_best_return_it_names(self, cliff, cliff_page, open_page):
        plan = cliff
        shown = Shown(open_page(cliff_page), plan)
        page = shown.page
        taken = sample_trials(plan)
        totals = [[float(t.so_far) + t.reward for t in trial if t.over] for trial in taken]
        tied = next(n for n, some in enumerate(totals) if some[2] == max(some[:2]))  # equal is not better
        for trial in (0, tied):
            page.select_option("#trial", str(trial))
            named = number(re.search(r"best return (\S+)", page.inner_text(f"#trial option:nth-child({trial + 1})"))[1])
            best, so_far, rollout, ends = -math.inf, 0.0, 0, []
            for _ in range(1000):
                says = shown.text("#says")
                if match := re.match(r"Try (\d) of 3 ends with (.*): (.*)\.", says):
                    ends.append(number(match[2]))
                    assert (match[3] == "the best so far") == (ends[-1] > best)
                    best, so_far, rollout = max(best, ends[-1]), 0.0, rollout + 1
                    assert int(match[1]) == rollout
                    if rollout == 3:
                        break
                else:
                    match = re.fullmatch(MOMENT, says)
                    assert (int(match[1]), number(match[2] or "none")) == (rollout + 1, best)
                    assert number(match[3]) <= so_far
                    so_far = number(match[3])
                    state = plan.mdp.state_names.index(match[5])
                    does = plan.policy.action(
                        rollout=rollout, step=int(match[4]), state=state, best=best, so_far=so_far
                    )
                    assert plan.mdp.action_names[does] == match[6]
                    lost = so_far + plan.mdp.analysis.most[int(match[4]), state] <= best
                    assert match[7] == (", but this try cannot beat that any more" if lost else "")
                    assert page.input_value("#step") == match[4]
                    assert number(shown.text("#best-value")) == best
                    assert number(shown.text("#so_far-value")) == so_far
                    if not lost and int(match[4]) % 4 == 0:
                        page.wait_for_selector(READY, state="attached")
                        assert page.query_selector(f"#grid svg path[aria-label='{match[5]}: {match[6]}']")
                    assert shown.text("#tries .now").startswith(f"try {rollout + 1}: ")
                page.evaluate("document.getElementById('forward').click()")
            assert best == named == max(ends)
            assert ends == totals[trial]
            tries = page.eval_on_selector_all("#tries li", "all => all.map(e => e.textContent)")
            assert [number(re.match(r"try \d: ([^ ]*)", one)[1]) for one in tries] == ends
            assert [one.endswith("★") for one in tries] == [end == best for end in ends]

    def test_what_looks_clickable_is(self, cliff, cliff_page, open_page):
        page = open_page(cliff_page)
        page.click(".board:nth-child(2) [data-state='28']")
        page.wait_for_selector(READY, state="attached")
        assert page.inner_text("#says").startswith("Try 3 of 3, no result yet, this try −5 at step 5 in row 2, col")
        page.click("#map svg path[aria-label^='M −17, G −5']", force=True)
        page.wait_for_selector(READY, state="attached")
        assert page.inner_text("#says").startswith("Try 3 of 3, best so far −17, this try −5 at step 5 in row 2, col")
        page.click("#grid svg path[aria-label^='row 1, column 3']", force=True)
        page.wait_for_selector(READY, state="attached")
        assert "in row 1, column 3: " in page.inner_text("#says")
        page.click("#try-1")
        page.wait_for_selector(READY, state="attached")
        assert page.inner_text("#says").startswith("Try 2 of 3")

    def test_the_graph_shows_what_the_policy_does(self, tmp_path, open_page):
        plan = mk.solve(mk.instances.drafts(), 4)
        plan.page(tmp_path / "x.html", comparison=False)
        page = open_page(tmp_path / "x.html")
        weak = page.locator("#graph [data-state='1']")
        weak.click()
        page.wait_for_selector(READY, state="attached")
        said = page.inner_text("#says")
        assert "in a weak draft: takes " in said
        assert said.endswith(weak.locator("title").text_content().split(": ")[1] + ".")
        assert page.get_attribute("#graph .here", "data-state") == "1"
        on = page.eval_on_selector_all("#graph path.on", "all => all.map(e => e.dataset.from)")
        assert set(on) >= {"0", "1"}
        colours = page.eval_on_selector_all(
            "#graph [data-state]", "all => all.map(e => e.style.getPropertyValue('--does'))"
        )
        chips = page.eval_on_selector_all(
            "#legend li", "all => all.map(e => [e.textContent, e.firstChild.style.background])"
        )
        assert len(chips) >= len(set(colours))

    def test_tries_that_cost_are_given_up_and_stopped(self, tmp_path, open_page):
        plan = mk.solve(mk.instances.speedrun(), 4, abandon=True)
        plan.page(tmp_path / "x.html", comparison=False)
        shown = Shown(open_page(tmp_path / "x.html"), plan)
        assert shown.text("#stopping").startswith("Stop as soon as your best is −5 or more;")
        said = []
        for _ in range(20):
            said.append(shown.text("#says"))
            shown.page.evaluate("document.getElementById('forward').click()")
        assert any("is given up: " in one for one in said)  # the trial that tells most has one
        shown.slider("best", len(shown.page.evaluate("page.moments.bests")) - 1)
        assert shown.text("#says") == "Try 4 of 4, best so far 0: stops, and makes no more tries."
        assert shown.page.locator("#curves svg line[stroke-dasharray='2,3']").count() == 1

    def test_within_another_page_it_is_as_high_as_it_needs_and_as_dark(self, cliff_page, browser, tmp_path):
        script = (Path(__file__).parents[1] / "docs" / "style" / "frames.js").read_text()
        outer = tmp_path / "outer.html"
        outer.write_text(
            f"<body data-md-color-scheme=slate><iframe class=plan width=1000 src={cliff_page.as_uri()}></iframe>"
            f"<script>{script}</script></body>"
        )
        page = browser.new_page(color_scheme="light")
        page.goto(outer.as_uri())
        page.wait_for_function("parseFloat(document.querySelector('iframe').style.height) > 1000")
        inside = page.frames[1]
        inside.wait_for_selector(READY, state="attached")
        ground = "getComputedStyle(document.body).backgroundColor"
        inside.wait_for_function(f"{ground} === 'rgb(23, 24, 28)'")
        assert inside.evaluate("document.documentElement.scrollHeight <= innerHeight")
        page.evaluate("document.body.setAttribute('data-md-color-scheme', 'default')")
        inside.wait_for_function(f"{ground} === 'rgb(255, 255, 255)'")
        page.close()

    def test_the_address_keeps_the_moment(self, cliff_page, open_page):
        page = open_page(cliff_page)
        page.click(".board:nth-child(2) [data-state='28']")
        page.wait_for_selector(READY, state="attached")
        said, end = page.inner_text("#says"), page.evaluate("location.hash")
        page.click("#first")
        for _ in range(3):
            page.click("#forward")
        page.wait_for_selector(READY, state="attached")
        played, moment = page.inner_text("#says"), page.evaluate("location.hash")
        for fragment, words in ((end, said), (moment, played), ("#state=9999&try=x", None), ("#trial=99&at=-1", None)):
            page.evaluate(f"location.hash = {fragment!r}")
            page.reload()
            page.wait_for_selector(READY, state="attached")
            assert page.inner_text("#says") == (words or page.inner_text("#says"))

    def test_keys_play(self, cliff_page, open_page):
        page = open_page(cliff_page)
        for key, at in (("ArrowRight", "1"), ("ArrowRight", "2"), ("ArrowLeft", "1"), ("Home", "0")):
            page.keyboard.press(key)
            assert page.input_value("#moment") == at
        page.select_option("#speed", "10")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Space")
        page.wait_for_function("document.getElementById('moment').value >= 5")
        page.keyboard.press("Space")
        assert page.inner_text("#play") == "play"
        page.keyboard.press("n")
        assert re.match(r"Try [23] of 3", page.inner_text("#says"))

    def test_a_walk_ends_at_the_goal_and_falls_are_marked(self, cliff, cliff_page, open_page):
        page = open_page(cliff_page)
        trials = sample_trials(cliff)
        fell = next(n for n, trial in enumerate(trials) if any(t.reward == -100 and not t.rollout for t in trial))
        page.select_option("#trial", str(fell))
        page.evaluate("document.getElementById('moment').value = 0")
        for _ in range(60):
            page.evaluate("document.getElementById('forward').click()")
            page.wait_for_selector(READY, state="attached")
            if "ends with" in page.inner_text("#says"):
                break
        assert page.locator("#grid svg .mark-symbol.layer_4_marks path").count() >= 1

    def test_axes_stay_in_order_and_within_the_chart(self, tmp_path, open_page):
        mdp = mk.instances.random_sparse(5, 3, 5, rewards=[0.1, 0.2, 0.3, 0.7], rng=0)
        plan = mk.solve(mdp, 3)
        plan.page(tmp_path / "x.html", comparison=False)
        page = open_page(tmp_path / "x.html", viewport={"width": 400, "height": 700})
        for _ in range(12):
            page.evaluate("document.getElementById('forward').click()")
            page.wait_for_selector(READY, state="attached")
            chart = page.eval_on_selector("#map svg", "e => e.getBoundingClientRect()")
            labels = page.eval_on_selector_all(
                "#map .role-axis-label text:not([opacity='0'])",
                "all => all.map(e => ({text: e.textContent, ...e.getBoundingClientRect().toJSON()}))",
            )
            assert all(chart["left"] <= one["left"] and one["right"] <= chart["right"] + 1 for one in labels)
            seen = [(number(one["text"]), one["x"], one["y"]) for one in labels]
            bests = [one for one in seen if one[2] == max(y for _, _, y in seen)]
            returns = [one for one in seen if one not in bests]
            assert [one[0] for one in sorted(bests, key=lambda one: one[1])] == sorted(one[0] for one in bests)
            assert [one[0] for one in sorted(returns, key=lambda one: -one[2])] == sorted(one[0] for one in returns)

    def test_a_policy_that_rounds_says_so(self, tmp_path, open_page):
        mk.solve(mk.instances.figure1(), 2, solver=mk.Midpoint(kappa=1 / 8)).page(tmp_path / "x.html", comparison=False)
        page = open_page(tmp_path / "x.html")
        assert "This policy remembers rounded rewards" in page.inner_text("#map-caption")

    def test_playing_and_pausing(self, cliff, cliff_page, open_page):
        page = open_page(cliff_page)
        last = int(page.get_attribute("#moment", "max"))
        page.focus("#play")
        page.keyboard.press("Enter")
        assert page.inner_text("#play") == "pause"
        page.wait_for_function("document.getElementById('moment').value >= 2")
        page.keyboard.press("Enter")
        at = int(page.input_value("#moment"))
        assert page.inner_text("#play") == "play"
        assert 2 <= at < last
        page.focus("#moment")
        page.keyboard.press("End")
        assert "ends with" in page.inner_text("#says")
        page.click("#first")
        assert page.input_value("#moment") == "0"
        page.click("#next")
        assert page.inner_text("#says").startswith("Try 2 of 3")
        page.click("#play")
        page.fill("#step", "3")  # whoever moves a slider wants to look at something else
        assert page.inner_text("#play") == "play"

    def test_sliders_leave_the_trial_and_lead_back(self, cliff_page, open_page):
        page = open_page(cliff_page)
        for _ in range(4):
            page.click("#forward")
        page.wait_for_selector(READY, state="attached")
        before = page.inner_text("#says")
        assert page.is_hidden("#away")
        page.fill("#rollout", "2")
        page.wait_for_selector(READY, state="attached")
        assert page.is_visible("#away")
        assert page.inner_text("#says") != before
        page.click("#back-to-trial")
        page.wait_for_selector(READY, state="attached")
        assert page.inner_text("#says") == before
        assert page.is_hidden("#away")

    def test_where_nothing_is_gained_the_page_is_short(self, tmp_path, open_page):
        path = tmp_path / "lake.html"
        mk.solve(mk.find_problem("FrozenLake-v1", horizon=12), 2).page(path)
        page = open_page(path, viewport={"width": 1400, "height": 900})
        assert page.evaluate("document.documentElement.scrollHeight") <= 1100
        assert page.is_hidden("#grid")
        page.click(".fold > summary")
        page.wait_for_function("document.querySelector('#curves svg').getBoundingClientRect().width > 300")
        assert page.locator("#grid svg").bounding_box()["width"] > 100

    def test_a_taxi_has_a_map_for_each_passenger_and_destination(self, tmp_path, open_page):
        plan = mk.solve(mk.find_problem("Taxi-v4", horizon=14), 2)
        path = tmp_path / "taxi.html"
        plan.page(path, comparison=False)
        page = open_page(path)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.locator("#sheet option").count() == 20
        for title in ("passenger at red, bound for green", "passenger aboard, bound for blue"):
            page.select_option("#sheet", label=title)
            assert page.locator("#sheet-map rect").count() == 25
            told = page.eval_on_selector_all("#sheet-map title", "all => all.map((one) => one.textContent)")
            assert told
            for line in told:
                name, _, action = line.rpartition(": ")
                assert name.endswith(title)
                s = plan.mdp.state_names.index(name)
                if action == "M cannot be beaten":
                    continue
                known = {plan.policy.action(rollout=0, step=h, state=s, best=-math.inf, so_far=-h) for h in range(6)}
                assert plan.mdp.action_names.index(action) in known

    def test_on_a_phone_and_in_the_dark(self, cliff_page, open_page):
        page = open_page(cliff_page, viewport={"width": 360, "height": 700}, color_scheme="dark")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert all(
            size >= 24
            for box in page.eval_on_selector_all(
                "button, input, select",
                "all => all.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())",
            )
            for size in (box["width"], box["height"])
        )
        assert contrast(page, "body") > 7
        assert contrast(page, ".note") > 4.5
        assert contrast(page, ".says b", behind=".says") > 4.5
        light = open_page(cliff_page)
        assert contrast(light, "body") > 7
        assert contrast(light, ".note") > 4.5
        assert contrast(light, ".says b", behind=".says") > 4.5

    def test_every_control_is_reached_by_the_keyboard(self, cliff_page, open_page):
        page = open_page(cliff_page)
        reached = []
        for _ in range(30):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
        controls = page.eval_on_selector_all(
            "button, select, input:not([disabled])", "all => all.filter(e => e.checkVisibility()).map(e => e.id)"
        )
        assert [one for one in reached if one in controls][: len(controls)] == controls
        for name in controls:  # and each has a name of its own for those who do not see it
            named = page.evaluate(
                "e => e.ariaLabel || (e.labels?.[0] ?? e).textContent.trim()",
                page.query_selector(f"#{name}"),
            )
            assert named, name

    def test_names_are_text(self, tmp_path, open_page):
        evil = "</script><script>window.harmed = 1</script><b>&amp;" + "x" * 200
        table = {0: {0: [(0.5, 0, 1, True), (0.5, 0, 0, True)], 1: [(1.0, 0, 0.6, True)]}}
        mdp = mk.MDP.from_table(table, horizon=1, state_names=[evil], action_names=[f"{evil} a", "b"])
        mk.solve(mdp, 2).page(tmp_path / "x.html", title=evil)
        page = open_page(tmp_path / "x.html")
        assert page.evaluate("window.harmed") is None
        assert page.inner_text("h1") == evil
        assert evil in page.inner_text("#says")
        page.set_viewport_size({"width": 360, "height": 700})  # a phone is turned: charts follow
        page.wait_for_function("document.documentElement.scrollWidth <= 360")


def contrast(page, selector, behind="body"):
    """The contrast of text with what is behind it, as WCAG defines it."""

    def light(colour):
        parts = [float(x) / 255 for x in re.findall(r"[\d.]+", colour)[:3]]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    ink = page.eval_on_selector(selector, "e => getComputedStyle(e).color")
    paper = page.eval_on_selector(behind, "e => getComputedStyle(e).backgroundColor")
    dark, bright = sorted((light(ink), light(paper)))
    return (bright + 0.05) / (dark + 0.05)
