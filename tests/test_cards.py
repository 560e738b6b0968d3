"""Cards of notebooks and one-line reprs: what they say, that names are escaped, their size, their time, no sweeps."""

import html.parser
import math
import re
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at
from maxatk.base import stopping
from maxatk.base.display import Displayed
from maxatk.report import palette
from maxatk.report.cards import parts

HOSTILE = "<script>alert('x')</script>&\"\n"
VOID = {"meta", "rect", "path", "circle"}


class Checked(html.parser.HTMLParser):
    """Every tag is closed in order, and no script is among them."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.said = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.said.append(data)


def shown(thing):
    """The text of a card, after all that holds for every card was checked."""
    card = thing._repr_html_()
    reader = Checked()
    reader.feed(card)
    assert reader.open == []
    assert "script" not in reader.tags
    assert len(card.encode()) <= 100_000
    assert "http" not in card
    assert not re.search(r"<th[^>]*></th>|<thead><tr>(<td></td>)*</tr>", card)
    assert card.count('role="img"') == card.count('role="img" aria-label="')
    return " ".join(reader.said)


@pytest.fixture(scope="module")
def cliff():
    return mk.solve(mk.instances.windy_cliff(horizon=20), k=3)


@pytest.fixture(scope="module")
def results(cliff):
    mdp, log, judged = cliff.mdp, at.example_log(), at.example_judged_log()
    train, held_out = log.split(0.5)
    sequence = at.sequence(train, price=0.1)
    plan = mk.solve(mk.instances.figure1(), k=2)
    return {
        "mdp": mdp,
        "plan": cliff,
        "exact plan": mk.solve(mk.instances.figure1(), k=2, solver=mk.Exact()),
        "with costs": mk.solve(mdp, k=3, cost=0.5),
        "contrast": mk.contrast(cliff),
        "contrast without a grid": mk.contrast(plan),
        "comparison": mk.compare(mk.instances.figure1(), k=2),
        "evaluation": mk.evaluate(mdp, cliff.policy),
        "simulation": mk.simulate(mdp, cliff.policy, trials=50, rng=0),
        "learned": mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.2, delta=0.1),
        "log": log,
        "curve": log.max_at_k([1, 2]),
        "differences": at.differences(log, 2),
        "difference": at.difference(log, "DE", "annealing"),
        "frontier": at.frontier(log),
        "study": at.study(log),
        "sequence": sequence,
        "replay": sequence.replay(held_out),
        "judge report": judged.judge_report("judge"),
        "judged plan": at.sequence(judged, price=1e-4, judge="judge"),
        "judged study": at.study(judged, judge="judge"),
        "vote": at.stop_vote(judged, 16),
        "power": at.pick_power(judged, "judge", "majority", 64),
        "range": at.PassRange(k=16, attempts=8, lower=0.5625, upper=0.75, tasks=300, level=0.95),
    }


def test_every_result_has_a_card_and_one_line(results):
    for name, one in results.items():
        assert isinstance(one, Displayed), name
        assert shown(one).strip(), name
        assert one._repr_html_() == one._repr_html_(), name
        assert "\n" not in repr(one), name
        assert len(repr(one)) <= 300, name


def test_cards_are_quick(results):
    for name, one in results.items():
        one._repr_html_()  # renderers are imported
        began = time.perf_counter()
        one._repr_html_()
        assert time.perf_counter() - began < 0.2, name


def test_cards_start_no_sweep(results, monkeypatch):
    plan = mk.solve(mk.instances.windy_cliff(horizon=20), k=3)

    def refuse(*_args, **_options):
        raise AssertionError("a sweep")

    monkeypatch.setattr("maxatk.engines.cores.Cores.run", refuse)
    for one in (plan, *results.values()):
        one._repr_html_()
    with pytest.raises(AssertionError, match="a sweep"):  # as acting does
        mk.contrast(plan)


def test_a_plan_that_would_take_long_to_compare_shows_its_interval_alone(tune):
    plan = mk.solve(mk.instances.windy_cliff(horizon=20), k=3)
    tune(card_work=0)
    said = shown(plan)
    assert "gain" not in vars(plan), "the card computed the gain"
    assert "plan.gain computes what adapting gains" in said
    assert parts.text(f"{plan.lower:.3f}"[:5]) in said
    plan.gain  # noqa: B018 (computed now)
    assert "Repeating a policy with the best mean" in shown(plan)


def test_cards_say_what_is_proved(cliff, results):
    said = shown(cliff)
    low, high = cliff.lower, cliff.upper
    numbers = [float(x.replace("−", "-")) for x in re.findall(r"−\d+\.\d+", said)]
    assert any(x <= low and low - x < 1e-5 for x in numbers), "the lower bound is rounded down"
    assert any(x >= high and x - high < 1e-5 for x in numbers), "the upper bound is rounded up"
    assert "steps" in said, "the unit of the gain"
    assert "the first try" in shown(results["contrast"])
    assert "<svg" in results["contrast"]._repr_html_()
    assert "<svg" not in results["contrast without a grid"]._repr_html_()
    assert "annealing" in shown(results["study"])


def test_cards_of_judges_are_tables(results):
    report = results["judge report"]
    said = shown(report)
    assert report._repr_html_().count("<table") == 2
    assert "<pre" not in report._repr_html_()
    assert "Among 64 attempts, judge catches 12 % of what a perfect judge would gain" in said
    assert "picked by judge" in said
    assert "gap" in said
    assert "judge gives" in said
    assert "Among 64 attempts, judge catches 12 %" in shown(results["judged study"])
    assert "judge likes best" in shown(results["judged plan"])
    assert "88" in shown(results["power"])
    assert "Stop the vote" in shown(results["vote"])
    assert repr(results["judged study"]).startswith("JudgedStudy(Log(64 tasks")
    assert "of judge)" in repr(results["judged plan"])


@pytest.mark.filterwarnings("ignore::maxatk.attempts.AttemptsWarning")
def test_names_are_escaped_and_cut():
    long = HOSTILE + "x" * 50_000
    table = [{0: [(0.5, 0, 1, True), (0.5, 0, 0, True)], 1: [(0.25, 0, 2, True), (0.75, 0, 0, True)]}]
    mdp = mk.MDP.from_table(table, horizon=1, state_names=[long], action_names=[long, HOSTILE])
    plan = mk.solve(mdp, k=2)
    for one in (mdp, plan, mk.contrast(plan), mk.compare(mdp, k=2)):
        shown(one)
    rows = [
        {"task": f"{HOSTILE}{t}", "arm": f"{arm}{HOSTILE}", "score": float((t + i) % 3 == 0), "cost": 1.0 + arm}
        for t in range(12)
        for arm in range(40)
        for i in range(2)
    ]
    log = at.Log.from_records(rows)
    for one in (log, log.max_at_k([1, 2]), at.sequence(log, price=0.1)):
        shown(one)
        assert "\n" not in repr(one)


def test_large_results_have_small_cards():
    mdp = mk.instances.random_sparse(3000, 4, 5)
    assert "3000 states" in shown(mdp)
    grid = mk.instances.windy_cliff(columns=60, horizon=5)
    assert "<svg" not in mk.contrast(mk.solve(grid, k=2))._repr_html_()


def test_histograms_show_all_but_the_least():
    values, weights = np.array([-1e9, 0.0, 1.0]), np.array([0.001, 0.5, 0.499])
    assert "0 to 1" in parts.histogram(values, weights, "best")
    assert parts.histogram(np.array([2.0, 2.0]), None, "best") == ""
    assert parts.histogram(np.array([-math.inf]), None, "best") == ""


@pytest.mark.parametrize(
    "policy",
    [
        mk.MarkovPolicy([[0]], k=2),
        mk.AdaptivePolicy(lambda *_: 0, 2, 1),
        mk.NoBestPolicy(lambda *_: 0, 2, 1),
        mk.NoReturnPolicy(lambda *_: 0, 2, 1),
        mk.HistoryPolicy(lambda _: 0, 2, 1),
        mk.MixedPolicy([mk.MarkovPolicy([[0]], k=1)], [1], 2),
    ],
)
def test_policies_and_trials_have_one_line(policy):
    assert repr(policy) == f"{type(policy).__name__}(best of 2, horizon 1)"
    assert "try 1 of 2, step 0" in repr(policy.begin())


def test_policies_without_a_number_have_one_line():
    class Mine(mk.CompressedPolicy):
        def __init__(self):
            pass  # forgets what every policy has

        def action(self, **_):
            return 0

    assert repr(Mine()) == "Mine()"


def test_a_log_has_a_card_without_the_planner():
    code = "from maxatk import attempts as at; at.example_log()._repr_html_(); import sys; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"maxatk.planning", "maxatk.kernels", "numba"} & set(modules)


def luminance(colour):
    parts_of = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts_of]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_has_contrast(mode):
    for ink in (palette.INK, palette.SOFT, palette.MEAN, palette.ADAPTIVE):
        for paper in (palette.PAPER, palette.PANEL):
            assert contrast(getattr(ink, mode), getattr(paper, mode)) >= 4.5
    assert contrast("#ffffff", getattr(palette.GOAL, mode)) >= 4.5


def test_directions_have_one_colour_each():
    cliff, lake, taxi = ["up", "right", "down", "left"], ["left", "down", "right", "up"], ["south", "north", "Up", "x"]
    colours = dict(zip(cliff, palette.action_colours(cliff), strict=True))
    assert dict(zip(lake, palette.action_colours(lake), strict=True)) == colours
    mixed = palette.action_colours(taxi)
    assert mixed[:3] == [colours["down"], colours["up"], colours["up"]]
    assert mixed[3] not in mixed[:3]
    assert len(palette.action_colours([f"a{i}" for i in range(30)])) == 30


def test_units_are_kept(tmp_path):
    mdp = mk.instances.figure1(gamma=Fraction(1, 4)).with_unit("points")
    assert mdp == mk.instances.figure1(gamma=Fraction(1, 4)), "a unit is a name, and no part of the problem"
    assert mdp.with_action_costs(0.5).unit == "points"
    mdp.save(tmp_path / "x.npz")
    assert mk.load_mdp(tmp_path / "x.npz").unit == "points"
    mk.instances.figure1().save(tmp_path / "y.npz")
    assert mk.load_mdp(tmp_path / "y.npz").unit == ""
    assert "points" in str(mk.solve(mdp, k=2))
    for bad in (3, "a\nb", " x", "y" * 41, None):
        with pytest.raises(mk.InputError, match="unit must be a short name"):
            mdp.with_unit(bad)


def test_cards_leave_time_limits_alone(cliff):
    with stopping.scope(60):
        assert shown(cliff)
