"""The playground of the site: its planner in JavaScript against the library, and its page in a real browser."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from maxatk.problem.mdp import MDP

pytestmark = pytest.mark.slow  # a browser, or whole pages
FOLDER = Path(__file__).parents[1] / "docs" / "playground"
CLIFF = ["............", "............", "............", "S##########G"]
MAPS = {
    "cliff": CLIFF,
    "short": [".....", ".....", "S###G"],
    "pits": ["......", "..#...", "S.#..G", "......"],
    "wall": ["....", "###.", "S...", "###G"],
    "still": ["S..", "..G"],
}
CASES = [
    *(("cliff", slip, 40, k) for slip, k in ((0.2, 1), (0.2, 2), (0.2, 5), (0.05, 5), (0.5, 3), (0.1, 3), (0.2, 10))),
    *(("short", slip, 12, k) for slip, k in ((0.2, 2), (0.4, 4), (0.6, 6))),
    *(("pits", slip, 15, k) for slip, k in ((0.1, 3), (0.3, 5))),
    *(("wall", slip, 14, k) for slip, k in ((0.2, 3), (0.35, 4))),
    ("still", 0.3, 8, 3),
]
ARMS = [
    ([[(0.2, 0), (0.7, 5), (0.1, 10)], [(0.7, 0), (0.3, 10)]], 4),
    ([[(0.25, 0), (0.75, 0.5)], [(0.75, 0), (0.25, 1)]], 2),
    ([[(1.0, 0.3)], [(0.5, 0.1), (0.5, 0.4)], [(0.9, -1), (0.1, 0.7)]], 5),
    ([[(0.5, -3), (0.5, 2)]], 3),
    ([[(1 / 3, 1), (1 / 3, 2), (1 / 3, 3)], [(0.5, 0), (0.5, 3.1)]], 7),
]
BOTH = """([arms, cost, k]) => [
    Planner.plan(Planner.attempts(arms), k, cost).value,
    Planner.choices(arms, arms.map(() => cost), k).value,
]"""


@pytest.fixture(scope="module")
def script(browser):
    page = browser.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=(FOLDER / "planner.js").read_text())
    yield page
    page.close()


def walks(cells, slip, horizon):
    """The playground's grid as a problem of the library, written down once more."""
    rows, columns, flat = len(cells), len(cells[0]), "".join(cells)
    start, moves = flat.index("S"), ((-1, 0), (0, 1), (1, 0), (0, -1))

    def arrive(s, way):
        row = min(max(s // columns + moves[way % 4][0], 0), rows - 1)
        column = min(max(s % columns + moves[way % 4][1], 0), columns - 1)
        to = flat[row * columns + column]
        return (start, -100, False) if to == "#" else (row * columns + column, -1, to == "G")

    table = [
        [[(p, *arrive(s, a + turn)) for turn, p in ((0, 1 - slip), (1, slip / 2), (3, slip / 2))] for a in range(4)]
        for s in range(rows * columns)
    ]
    return MDP.from_table(table, horizon=horizon, start=start)


def test_twenty_problems_are_planned():
    assert len(CASES) + len(ARMS) == 20
    assert walks(CLIFF, 0.2, 40) == mk.instances.windy_cliff()


@pytest.mark.parametrize(("name", "slip", "horizon", "k"), CASES)
def test_walks_are_worth_what_the_library_says(script, name, slip, horizon, k):
    mdp = walks(MAPS[name], slip, horizon)
    plan = mk.solve(mdp, k, solver=mk.Certified(tol=0))  # as narrow as floats allow
    value, repeated, mean = script.evaluate(
        """([cells, slip, horizon, k]) => {
            const problem = Planner.cliff(cells, slip, horizon);
            const repeated = Planner.repeated(problem, k);
            return [Planner.plan(problem, k).value, repeated.value, repeated.mean];
        }""",
        [MAPS[name], slip, horizon, k],
    )
    assert plan.lower <= value <= plan.upper
    assert value == pytest.approx((plan.lower + plan.upper) / 2, abs=1e-9)
    once = mk.solve(mdp, 1, solver=mk.Certified(tol=0))
    assert mean == pytest.approx((once.lower + once.upper) / 2, abs=1e-9)
    assert repeated <= plan.upper
    if name == "cliff" and (slip, k) == (0.2, 5):
        assert round(value, 9) == -15.957041225
        assert round(repeated, 4) == -20.6737


def test_without_wind_the_way_is_known(script):
    assert script.evaluate("cells => Planner.plan(Planner.cliff(cells, 0, 40), 3).value", CLIFF) == -13


@pytest.mark.parametrize(("arms", "k"), ARMS)
def test_attempts_are_worth_what_the_library_says(script, arms, k):
    table = {0: {a: [(p, 0, x, True) for p, x in arm] for a, arm in enumerate(arms)}}
    plan = mk.solve(MDP.from_table(table, horizon=1), k, solver=mk.Certified(tol=0))
    planned, chosen = script.evaluate(
        BOTH,
        [arms, 0, k],
    )
    for value in (planned, chosen):
        assert value == pytest.approx((plan.lower + plan.upper) / 2, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_attempts_that_cost_by_plain_recursion(script, seed):
    random = np.random.default_rng(seed)
    scores = sorted(random.choice(20, 4, replace=False).tolist())
    arms = [[[p, x] for p, x in zip(random.dirichlet(np.ones(4)).tolist(), scores, strict=True)] for _ in range(3)]
    costs, k = random.uniform(0, 3, 3).tolist(), 4

    @cache
    def worth(left, m):  # m: None for nothing
        go = [
            sum(p * worth(left - 1, x if m is None else max(m, x)) for p, x in arm) - cost
            for arm, cost in zip(arms, costs, strict=True)
            if left
        ]
        return max(go) if m is None else max([m, *go])

    value = script.evaluate("([arms, costs, k]) => Planner.choices(arms, costs, k).value", [arms, costs, k])
    assert value == pytest.approx(worth(k, None), abs=1e-12)
    same = script.evaluate(BOTH, [arms, costs[0], k])
    assert same[0] == pytest.approx(same[1], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "horizon", "k", "cost"), [("cliff", 40, 5, 0.5), ("cliff", 40, 10, 2), ("pits", 15, 4, 1)]
)
def test_walks_that_cost_are_worth_what_the_library_says(script, name, horizon, k, cost):
    plan = mk.solve(walks(MAPS[name], 0.2, horizon), k, solver=mk.Certified(tol=0), cost=cost)
    value = script.evaluate(
        "([cells, horizon, k, cost]) => Planner.plan(Planner.cliff(cells, 0.2, horizon), k, cost).value",
        [MAPS[name], horizon, k, cost],
    )
    assert value == pytest.approx((plan.lower + plan.upper) / 2, abs=1e-9)


@pytest.mark.parametrize(("k", "cost"), [(2, 0.5), (4, 2.0)])
def test_walks_that_cost_by_plain_recursion(script, k, cost):
    cells, slip, horizon = MAPS["short"], 0.3, 7
    mdp = walks(cells, slip, horizon)
    start = "".join(cells).index("S")

    @cache
    def before(i, m):
        go = within(i, 0, start, m, 0) - cost if i < k else m
        return go if m is None else max(m, go)

    @cache
    def within(i, h, s, m, g):
        if h == horizon or s is None:
            return before(i + 1, g if m is None else max(m, g))
        return max(
            sum(p * within(i, h + 1, after, m, g + r) for p, after, r in mdp.outcomes(h, s, a)) for a in range(4)
        )

    found = script.evaluate(
        "([cells, slip, horizon, k, cost]) => Planner.plan(Planner.cliff(cells, slip, horizon), k, cost).value",
        [cells, slip, horizon, k, cost],
    )
    assert found == pytest.approx(before(0, None), abs=1e-9)


# What the page shows and does.


@pytest.fixture
def playground(browser, tmp_path):
    """The playground on a page of its own; fails if the browser complains or asks for anything."""
    read = {name: (FOLDER / f"playground.{name}").read_text() for name in ("html", "css", "js")}
    path = tmp_path / "page.html"
    path.write_text(
        f"<!doctype html><meta name=viewport content='width=device-width'><style>{read['css']}</style>{read['html']}"
        f"<script>{(FOLDER / 'planner.js').read_text()}</script><script>{read['js']}</script>"
    )
    faults, contexts = [], []

    def opened(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        ready(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def ready(page):
    page.wait_for_selector("#playground[data-ready=yes]", state="attached")


def numbers(page, of="pg-verdict"):
    """What repeating and adapting are worth, as the verdict says."""
    found = re.findall(r"−?\d+\.\d\d", page.inner_text(f"#{of}"))
    return [float(x.replace("−", "-")) for x in found[:2]]


def test_what_the_playground_says(playground):
    page = playground()
    assert numbers(page) == [-20.67, -15.96]
    assert "the last try walks another way if there is no result yet" in page.inner_text("#pg-verdict")
    assert page.locator("#pg-grids figure").count() == 3
    page.fill("#pg-k", "2")
    ready(page)
    assert numbers(page)[1] == round(mk.solve(mk.instances.windy_cliff(), 2, solver=mk.Certified(tol=1e-6)).lower, 2)
    page.fill("#pg-k", "1")
    ready(page)
    assert page.locator("#pg-grids figure").count() == 1
    assert len(set(numbers(page))) == 1


def test_the_cliff_is_painted(playground):
    page = playground()
    for cell in range(37, 47):
        page.click(f'#pg-grids figure:nth-child(1) [data-cell="{cell}"]')
        ready(page)
    still = ["............", "............", "............", "S..........G"]
    plan = mk.solve(walks(still, 0.2, 40), 5, solver=mk.Certified(tol=1e-6))
    assert numbers(page)[1] == round(plan.lower, 2)
    page.click("#pg-reset")
    ready(page)
    assert numbers(page) == [-20.67, -15.96]


def test_with_a_cost_one_stops(playground):
    page = playground()
    page.fill("#pg-cost", "2")
    page.fill("#pg-hand", "0")
    ready(page)
    assert "stop" in page.inner_text("#pg-grids figure:nth-child(3)")


def test_attempts_can_be_edited(playground):
    page = playground()
    page.click("#pg-tab-attempts")
    before = numbers(page, "pg-attempts-verdict")
    assert before[1] > before[0]
    for label in ("cost of way 1", "cost of way 2", "cost of way 3"):
        page.fill(f'[aria-label="{label}"]', "0")
        page.keyboard.press("Tab")
    arms = [[(0.2, 0), (0.7, 5), (0.1, 10)], [(0.7, 0), (0.3, 10)], [(0.25, 0), (0.4, 5), (0.35, 10)]]
    table = {0: {a: [(p, 0, x, True) for p, x in arm] for a, arm in enumerate(arms)}}
    assert numbers(page, "pg-attempts-verdict")[1] == round(mk.solve(MDP.from_table(table, horizon=1), 4).lower, 2)
    page.fill('[aria-label="chance of score 1, way 1"]', "-3")
    page.keyboard.press("Tab")
    assert page.locator(".pg-wrong").count() == 1
    page.click("#pg-add-arm")
    page.click("#pg-add-score")
    assert page.locator("#pg-arms tbody tr").count() == 4
    page.click('[aria-label="remove way 4"]')
    assert page.locator("#pg-arms tbody tr").count() == 3


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_wider_than_the_screen(playground, width):
    page = playground(viewport={"width": width, "height": 800})
    for tab in ("cliff", "attempts"):
        page.click(f"#pg-tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
