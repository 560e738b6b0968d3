"""The playground of the site: its planner in JavaScript against the library, and its page in a real browser."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import maxatk as mk
from maxatk.problem.mdp import MDP
from tools.playground import SCRIPTS

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
    scripts = "".join(f"<script>{(FOLDER / name).read_text()}</script>" for name in SCRIPTS)
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><html lang=en><title>playground</title><meta name=viewport content='width=device-width'>"
        f"<style>{(FOLDER / 'playground.css').read_text()}</style>"
        f"<main>{(FOLDER / 'playground.html').read_text()}</main>{scripts}"
    )
    faults, contexts = [], []

    def asked(request):
        if request.url.partition("#")[0] != path.as_uri() and not request.url.startswith("blob:"):  # the worker
            faults.append(request.url)

    def opened(address="", **options):
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", asked)
        page.goto(path.as_uri() + address)
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
    assert "If there is no result by the last try, it walks another way." in page.inner_text("#pg-verdict")
    assert re.search(r"That is \d+\.\d steps better\.", page.inner_text("#pg-verdict"))
    assert "score, in steps" in page.eval_on_selector("#pg-dots svg", "svg => svg.textContent")
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
        page.click(f'#pg-watch [data-cell="{cell}"]')
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
    page.fill("#pg-best", "0")
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


def lasting(page):
    """The longest that the page could not answer, in milliseconds, while everything that was asked for was planned."""
    return page.evaluate(
        """async () => {
            let [last, longest] = [performance.now(), 0];
            const playground = document.getElementById("playground");
            while (playground.dataset.ready !== "yes") {
                const { port1, port2 } = new MessageChannel();
                await new Promise((done) => { port1.onmessage = done; port2.postMessage(0); });
                longest = Math.max(longest, performance.now() - last);
                last = performance.now();
            }
            return longest;
        }"""
    )


def test_the_page_answers_while_it_plans(playground):
    page = playground()
    planned = page.evaluate(
        """() => { const began = performance.now();
            for (const wind of [0.25, 0.3]) Planner.plan(Planner.cliff(PlaygroundState.begin().cells, wind, 40), 10);
            return performance.now() - began; }"""
    )
    page.fill("#pg-k", "10")
    page.fill("#pg-wind", "25")
    assert page.get_attribute("#playground", "data-ready") == "no"  # filling came back before planning did
    assert lasting(page) < planned  # on a thread that plans nothing; in milliseconds it depends on the machine


def test_what_is_planned_is_kept(script):
    """Another best so far, or fewer tries, take a tenth of the work, counted in lists of values that are filled."""
    fresh, again = script.evaluate(
        """cells => {
            let made = 0;
            const fill = Float64Array.prototype.fill;
            Float64Array.prototype.fill = function (...given) { made += 1; return fill.apply(this, given); };
            const asked = { cells, slip: 0.2, horizon: 40, cost: 0, k: 10, behind: 3 };
            const counted = (...all) => { made = 0; all.forEach(Planner.shown); return made; };
            const counts = [counted(asked), counted({ ...asked, behind: 7 }, { ...asked, k: 7 })];
            Float64Array.prototype.fill = fill;
            return counts;
        }""",
        CLIFF,
    )
    assert again < fresh / 10


@pytest.mark.parametrize(("k", "cost"), [(5, 0), (3, 1.5)])
def test_the_walker_plays_the_plan(script, k, cost):
    """The mean of the best of many sessions, less the costs of their tries, is the plan's value."""
    found, value = script.evaluate(
        """([cells, k, cost]) => { const asked = { cells, slip: 0.2, horizon: 12, cost, k, behind: 0 };
            const all = Array.from({ length: 4000 }, (_, n) => Planner.session({ ...asked, seed: 7919 * n }));
            return [all.map(({ best, tries }) => best - cost * tries.length), Planner.shown(asked).value]; }""",
        [MAPS["short"], k, cost],
    )
    assert np.mean(found) == pytest.approx(value, abs=5 * np.std(found) / np.sqrt(len(found)))


def test_a_session_is_a_walk_on_the_board(script):
    session = script.evaluate(
        """cells => Planner.session({ cells, slip: 0.3, horizon: 40, cost: 0, k: 6, behind: 0, seed: 5 })""", CLIFF
    )
    assert len(session["tries"]) == 6
    best = -np.inf
    for one in session["tries"]:
        here = 36
        for s, a, after, reward in one["steps"]:
            assert (s, after) == (here, here if after == here else after)
            assert reward in (-1, -100)
            assert 0 <= a < 4
            here = after
        assert one["total"] == sum(reward for *_, reward in one["steps"])
        if one["lost"] < 0:
            assert here == -1 or len(one["steps"]) == 40
            best = max(best, one["total"])
        else:
            assert best - one["total"] > -41  # it can no longer be better
        assert one["best"] == best
    assert session["best"] == best


def test_the_walker_walks(playground):
    page = playground(reduced_motion="no-preference")
    assert page.inner_text("#pg-play") == "Pause"
    for _ in range(2):  # as soon as it moves, however slow the machine is
        here = page.get_attribute(".pg-walker", "cx")
        page.wait_for_function("x => document.querySelector('.pg-walker').getAttribute('cx') !== x", arg=here)
    page.click("#pg-play")
    assert page.inner_text("#pg-play") == "Play"
    still = page.get_attribute(".pg-walker", "cx")
    page.wait_for_timeout(400)
    assert page.get_attribute(".pg-walker", "cx") == still


def test_where_motion_is_not_wanted_there_is_none(playground):
    page = playground()
    assert page.inner_text("#pg-play") == "Play"
    assert page.locator("#pg-chips li").count() == 5
    page.wait_for_function("document.getElementById('pg-line').textContent.includes('Best of all')")


def test_the_waiting_move_is_shown(playground):
    page = playground()
    text = page.inner_text("#pg-grids figure:nth-child(2)")
    assert "At S it steps left, against the edge" in text
    plan = mk.solve(mk.instances.windy_cliff(), 5)
    assert plan.policy.action(rollout=4, step=0, state=36, best=-np.inf, so_far=0) == 3


def test_a_goal_behind_the_cliff_cannot_be_reached(playground):
    page = playground("#map=....x......._....x......._....x......._SxxxxxxxxxxG")
    assert page.inner_text("#pg-verdict").startswith("The goal cannot be reached")
    assert page.locator("#pg-grids figure").count() == 0
    page.click('#pg-watch [data-cell="4"]')
    ready(page)
    assert len(numbers(page)) == 2


@pytest.mark.parametrize(("cells", "steps"), [(CLIFF, 13), (MAPS["wall"], 4), (["S#G"], None), (["SG"], 1)])
def test_the_shortest_way(script, cells, steps):
    assert script.evaluate("cells => Planner.shortest(cells)", cells) == (float("inf") if steps is None else steps)


def test_the_cliff_is_painted_by_keyboard(playground):
    page = playground()
    page.focus("#pg-watch [tabindex='0']")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    ready(page)
    cells = [*CLIFF[:3], "S.#########G"]
    plan = mk.solve(walks(cells, 0.2, 40), 5, solver=mk.Certified(tol=1e-6))
    assert numbers(page)[1] == round(plan.lower, 2)
    assert page.evaluate("document.activeElement.dataset.cell") == "37"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "row 4, column 2: ground"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")  # the start cannot be painted
    assert page.evaluate("document.activeElement.dataset.cell") == "36"
    assert numbers(page)[1] == round(plan.lower, 2)


def test_a_finger_scrolls_over_the_boards_and_taps_paint(playground):
    page = playground(viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True)
    assert page.evaluate("getComputedStyle(document.querySelector('#pg-watch svg')).touchAction") == "pan-y"
    board = page.locator("#pg-watch svg").bounding_box()
    client = page.context.new_cdp_session(page)
    x, y = board["x"] + board["width"] * 0.4, board["y"] + board["height"] * 0.9

    def drag(across, down):
        client.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for n in range(1, 16):
            point = {"x": x + across * n, "y": y + down * n}
            client.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
            page.wait_for_timeout(16)
        client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(500)

    drag(0, -15)
    assert page.evaluate("scrollY") > 100
    assert "map" not in page.url
    page.evaluate("scrollTo(0, 0)")
    drag(6, 0)
    painted = page.evaluate("location.hash").rpartition("_")[2]
    assert painted.count(".") >= 3
    page.tap('#pg-watch [data-cell="37"]')
    ready(page)
    page.wait_for_function("location.hash.includes('_S.')")


def test_an_address_holds_what_is_set(playground):
    page = playground()
    page.fill("#pg-k", "3")
    page.fill("#pg-wind", "30")
    page.click('#pg-watch [data-cell="38"]')
    ready(page)
    page.wait_for_function("location.hash.includes('map')")
    address = page.evaluate("location.hash")
    assert "k=3" in address
    other = playground(address)
    assert numbers(other) == numbers(page)
    assert other.inner_text("#pg-verdict") == page.inner_text("#pg-verdict")
    page.click("#pg-reset")
    page.wait_for_function("location.hash === ''")
    attempts = playground("#tab=attempts&n=2&arms=0,1|sure~0,100~0.25|%3Cb%3E~50,50~0")
    assert attempts.inner_text("#pg-choices").count("sure") >= 1
    assert attempts.locator("#pg-choices b").count() == 0  # names are text
    assert numbers(attempts, "pg-attempts-verdict") == [0.75, 0.88]  # the free one first, then the sure one


@pytest.mark.parametrize(
    "address", ["#k=99&wind=x&cost=-3&map=S", "#arms=|~~|", "#tab=none&arms=1,2|a~1~0", "#%%%", "#map=" + "G" * 51]
)
def test_an_address_that_cannot_be_read_changes_nothing(playground, address):
    page = playground(address)
    assert page.input_value("#pg-wind") == "20"
    assert page.locator("#pg-arms tbody tr").count() == 3
    if "k=99" not in address:
        assert numbers(page) == [-20.67, -15.96]


def test_the_link_is_copied(playground):
    page = playground(permissions=["clipboard-read", "clipboard-write"])
    page.fill("#pg-k", "4")
    page.click("#pg-cliff .pg-copy")
    page.wait_for_function("document.querySelector('#pg-cliff .pg-copy').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()").endswith("#k=4")


@pytest.mark.parametrize(("wind", "k"), [("20", "5"), ("20", "1"), ("0", "3")])
def test_dots_lie_where_their_numbers_are(playground, wind, k):
    page = playground()
    page.fill("#pg-wind", wind)
    page.fill("#pg-k", k)
    ready(page)
    label = page.get_attribute("#pg-dots svg", "aria-label")
    low, repeat, adapt, high = (float(x.replace("−", "-")) for x in re.findall(r"−?\d+\.\d\d", label))
    [first, last, one, other] = page.evaluate(
        "[...document.querySelectorAll('#pg-dots circle')].map(c => +c.getAttribute('cx'))"
    )
    if high > low:
        assert one == pytest.approx(first + (last - first) * (repeat - low) / (high - low), abs=1)
        assert other == pytest.approx(first + (last - first) * (adapt - low) / (high - low), abs=1)
    else:
        assert one == other
    assert low <= repeat <= adapt <= high


def test_what_does_not_add_up_is_said(playground):
    page = playground("#tab=attempts")
    assert page.inner_text("#pg-sums") == ""
    page.fill('[aria-label="chance of score 1, way 1"]', "90")
    page.keyboard.press("Tab")
    assert page.inner_text("#pg-sums") == "plain prompt adds up to 170 %, rescaled."
