"""The gallery: problems that people know, each with a page, a picture and a line. ``python docs/gallery.py`` makes it.

What a line says is held to numbers by ``tests/test_gallery_pages.py``. A new problem is a new entry.
"""

import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import maxatk as mk
import pictograms
from maxatk import attempts as at

HERE = Path(__file__).parent
FOLDER = HERE / "pictures" / "gallery"

MEAN, SINGLE, ADAPT = "var(--repeat)", "var(--alone)", "var(--adapt)"  # of the card that holds a picture
PAYS, TUNING, NOTHING = "adapting pays", "it is all in the tuning", "adapting gains nothing"
FROM_LOG = "a log of attempts"
LETTER, RIGHT = 6.5, 290  # of pictures 300 wide: the width of a letter, at most about; where the axis ends
KINDS = {PAYS: "pays", TUNING: "tuning", NOTHING: "nothing", FROM_LOG: "log"}  # in the site's style


@dataclass(frozen=True)
class Entry:
    """A problem of the gallery."""

    name: str  # of its files
    title: str
    line: str  # what it is, and what is seen in it
    kind: str  # where the gain is
    k: int
    problem: str  # an instance, or a Gymnasium id
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    abandon: bool = False  # whether a try may be given up

    def mdp(self) -> mk.MDP:
        """The problem itself."""
        return mk.find_problem(self.problem, **self.arguments)

    @property
    def code(self) -> str:
        """What makes the plan and the page in Python."""
        given = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        known = (
            f"mk.find_problem({self.problem!r}{given})"
            if given or "-" in self.problem
            else f"mk.instances.{self.problem}()"
        )
        abandon = ", abandon=True" if self.abandon else ""
        return f'plan = mk.solve({known}, k={self.k}{abandon})\nplan.page("{self.name}.html")'

    @property
    def command(self) -> str:
        """What makes the page at the command line."""
        horizon = f" --horizon {self.arguments['horizon']}" if "horizon" in self.arguments else ""
        abandon = " --abandon" if self.abandon else ""
        return f"maxatk solve {self.problem}{horizon} -k {self.k}{abandon} --page {self.name}.html"


ENTRIES = (
    Entry("qualifying_laps", "Six qualifying laps",
          "Push hard while there are laps to come; flat out after a good one; bring the last home if there is none.",
          PAYS, 6, "qualifying_laps"),
    Entry("windy_cliff", "Five walks along a windy cliff",
          "The short way runs along the edge. Gamble on it, except on the last try with no result yet.",
          PAYS, 5, "windy_cliff"),
    Entry("blackjack", "Three hands of blackjack",
          "With nothing to lose, double. On the last hand without a win, play it as the book says.",
          PAYS, 3, "blackjack"),
    Entry("javelin", "Six throws of the javelin",
          "Throw all out and late, fouls or not. Only a last throw with no valid one before it holds back.",
          PAYS, 6, "javelin"),
    Entry("speedrun", "A speedrun with resets",
          "Every segment costs something, and a run may be reset. Go for all tricks, reset when one fails, and stop "
          "at a good time.", PAYS, 20, "speedrun", abandon=True),
    Entry("gambler", "A gambler's three evenings",
          "The game loses on average, so the best mean stays at home. Of three evenings, stay at home on one, and bet "
          "all on the others.", TUNING, 3, "gambler"),
    Entry("drafts", "Drafts and revisions of a model",
          "Bold prompts for the best of four. One policy, chosen for that and repeated, has nearly all of the gain.",
          TUNING, 4, "drafts"),
    Entry("frozen_lake", "Three crossings of a frozen lake",
          "A crossing succeeds or fails, so there is nothing to look at: repeat the policy that succeeds most often.",
          NOTHING, 3, "FrozenLake-v1", {"horizon": 30}),
    Entry("taxi", "Three rides of a taxi",
          "Once a ride has begun, nothing is left to chance: the best mean is the best there is, ride by ride.",
          NOTHING, 3, "Taxi-v4", {"horizon": 20}),
)  # fmt: skip
LOG = Entry(
    "restarts", "Restarts of a search",
    "From a log: 6,000 restarts of solvers on test functions. Which to start next, until when, and does switching pay?",
    FROM_LOG, 10, "",
)  # fmt: skip
JUDGED = Entry(
    "picked", "Picked by a judge that errs",
    "From a log: 64 solutions of each of 64 questions, and a verifier. How many to sample, and does it beat a vote?",
    FROM_LOG, 16, "",
)  # fmt: skip
LOGS = (LOG, JUDGED)
LOG_CODE = {
    LOG.name: 'study = at.study(at.example_log())\nstudy.page("restarts.html")\n$ maxatk attempts --page restarts.html',
    JUDGED.name: 'study = at.study(at.example_judged_log(), judge="judge")\nstudy.page("picked.html")\n'
    "$ maxatk attempts --judge judge --page picked.html",
}


def draw(folder: Path = FOLDER, say: Callable[[str], object] = print) -> None:
    """Every page and picture of the gallery, into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in ENTRIES:
        began = time.perf_counter()
        plan = mk.solve(entry.mdp(), k=entry.k, abandon=entry.abandon)
        compared = mk.compare(plan.mdp, k=entry.k, plan=plan)
        plan.page(folder / f"{entry.name}.html", title=entry.title, comparison=compared)
        lead_home(folder / f"{entry.name}.html", entry.command)
        (folder / f"{entry.name}.svg").write_text(picture(entry, compared))
        say(f"{entry.name}: {time.perf_counter() - began:.1f} s")
    study = at.study(at.example_log())
    (folder / f"{LOG.name}.svg").write_text(restarts(study.main))
    judged = at.study(at.example_judged_log(), judge="judge")
    (folder / f"{JUDGED.name}.svg").write_text(picked(judged.reports[0]))
    for entry, one in ((LOG, study), (JUDGED, judged)):
        one.page(folder / f"{entry.name}.html", title=entry.title)
        lead_home(folder / f"{entry.name}.html", LOG_CODE[entry.name].partition("$ ")[2])


def lead_home(page: Path, command: str) -> None:
    """Let the footer of a page link to the gallery, and say the command that makes it."""
    made = f'Made with <a href="../../gallery.html">maxatk</a>: <code>{escape(command)}</code></footer>'
    page.write_text(re.sub(r"Made with .*</footer>", lambda _: made, page.read_text(), count=1))


def picture(entry: Entry, compared: mk.Comparison) -> str:
    """Dots on an axis that begins at one try: repeating the best mean, the best single policy repeated, adapting."""
    plan = compared.plan
    alone = compared.rows[-2 if entry.abandon else 1]  # with costs, until its threshold is reached
    once = sum(plan.curve(plan.k - 1, -math.inf)) / 2
    return dots(
        [
            ("repeat the mean", compared.rows[0].lower, MEAN),
            ("one policy" if entry.abandon else f"one policy × {entry.k}", alone.lower, SINGLE),
            ("adapt", plan.lower, ADAPT),
        ],
        once,
    )


def restarts(advised: Any) -> str:
    """Score less cost on held-out tasks: what is advised, and the alternative."""
    price = advised.plan.price
    mine, other = (
        score.value - price * cost.value
        for score, cost in ((advised.score, advised.cost), (advised.other_score, advised.other_cost))
    )
    names = ("one arm", "a sequence") if advised.plan.method == "single" else ("a sequence", "one arm")
    return dots([(names[1], other, SINGLE), (f"{names[0]}, advised", mine, ADAPT)])


def picked(report: Any) -> str:
    """The true score of the pick from 16 solutions: by a vote, by the judge, and by a judge that never errs."""
    perfect, judge, vote = (next(p.value for p in curve if p.k == JUDGED.k) for curve in report.curves)
    return dots([("a vote", vote, MEAN), ("the judge", judge, SINGLE), ("a perfect judge", perfect, ADAPT)])


def dots(rows: list[tuple[str, float, str]], once: float = math.nan) -> str:
    """A name, a number and a colour for each dot, on one labelled axis that begins at ``once``, if that is a number."""
    values = [value for _, value, _ in rows]
    low, high = min([*values, *([once] if once == once else [])]), max(values)
    wide = max(high - low, 0.02 * abs(high), 1e-9)
    low, high = low - 0.06 * wide, low + 1.06 * wide
    left = max(112.0, LETTER * max(len(name) for name, _, _ in rows) + 10)  # where the axis begins, beside the names

    def at(x: float) -> float:
        return left + (RIGHT - left) * (x - low) / (high - low)

    bottom = 18 * len(rows) + 6
    parts = [f'<svg viewBox="0 0 300 {bottom + 30}" font-size="11.5" role="img" aria-label="{_told(rows)}">',
             f'<path d="M{left:g} {bottom}H{RIGHT}" stroke="var(--draw)"/>']  # fmt: skip
    parts += [
        f'<path d="M{at(x):.1f} {bottom}v4" stroke="var(--draw)"/><text x="{at(x):.1f}" y="{bottom + 15}" '
        f'text-anchor="middle" font-size="10">{_number(x)}</text>'
        for x in ticks(low, high)
    ]
    if once == once:
        parts.append(f'<path d="M{at(once):.1f} 4V{bottom}" stroke="var(--draw)" stroke-dasharray="2 3"/>'
                     f'<text x="{at(once):.1f}" y="{bottom + 27}" font-size="10">one try</text>')  # fmt: skip
    for n, (name, value, colour) in enumerate(rows):
        y, before = 14 + 18 * n, at(value) > (left + RIGHT) / 2
        beside, anchor = (at(value) - 9, "end") if before else (at(value) + 9, "start")  # where there is more room
        parts.append(
            f'<text x="0" y="{y + 4}">{name}</text><circle cx="{at(value):.1f}" cy="{y}" r="5" fill="{colour}"/>'
            f'<text x="{beside:.1f}" y="{y + 4}" text-anchor="{anchor}" font-weight="600">{_number(value)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def ticks(low: float, high: float) -> list[float]:
    """Two to five round numbers between two."""
    unit = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = next(n * unit for n in (1, 2, 5, 10) if (high - low) / (n * unit) <= 4)
    return [float(f"{n * step:.12g}") for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _number(x: float) -> str:
    return f"{x:.4g}".replace("-", "−")


def _told(rows: list[tuple[str, float, str]]) -> str:
    return "; ".join(f"{name}: {_number(value)}" for name, value, _ in rows)


def markdown() -> str:
    """The entries as cards, for the page of the site."""
    cards = ['<div class="gallery" markdown="0">']
    for entry in (*ENTRIES, *LOGS):
        sketch: str = getattr(pictograms, entry.name)()
        size = f"0 0 {pictograms.WIDTH} {pictograms.HEIGHT}"
        drawn = FOLDER / f"{entry.name}.svg"
        numbers = drawn.read_text() if drawn.exists() else ""
        code = f"{entry.code}\n$ {entry.command}" if entry.problem else LOG_CODE[entry.name]
        cards.append(
            f'<a class="gallery-card" href="pictures/gallery/{entry.name}.html">'
            f'<svg viewBox="{size}" role="img" aria-label="{entry.title}">{sketch}</svg><b>{entry.title}</b>'
            f'<i class="{KINDS[entry.kind]}">{entry.kind}</i>'
            f"<span>{entry.line}</span>{numbers}<code>{escape(code, quote=False)}</code></a>"
        )
    return re.sub(r"\n+(?=<)", "", "\n".join([*cards, "</div>"]))  # one block of HTML: a blank line would end it


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
