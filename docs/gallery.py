"""The gallery: problems that people know, each with a page, a picture and a line. ``python docs/gallery.py`` makes it.

What a line says is held to numbers by ``tests/test_gallery_pages.py``. A new problem is a new entry.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import maxatk as mk
from maxatk import attempts as at

HERE = Path(__file__).parent
FOLDER = HERE / "pictures" / "gallery"

MEAN, SINGLE, ADAPT = "#0072B2", "#999999", "#D55E00"
PAYS, TUNING, NOTHING = "adapting pays", "it is all in the tuning", "adapting gains nothing"
FROM_LOG = "a log of attempts"
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
    def command(self) -> str:
        """What makes the page at the command line."""
        horizon = f" --horizon {self.arguments['horizon']}" if "horizon" in self.arguments else ""
        abandon = " --abandon" if self.abandon else ""
        return f"maxatk solve {self.problem}{horizon} -k {self.k}{abandon} --page {self.name}.html"


ENTRIES = (
    Entry("windy_cliff", "Five walks along a windy cliff",
          "The short way runs along the edge. Gamble on it, except on the last try with no result yet.",
          PAYS, 5, "windy_cliff"),
    Entry("qualifying_laps", "Six qualifying laps",
          "Push hard while there are laps to come; flat out after a good one; bring the last home if there is none.",
          PAYS, 6, "qualifying_laps"),
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


def draw(folder: Path = FOLDER, say: Callable[[str], object] = print) -> None:
    """Every page and picture of the gallery, into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in ENTRIES:
        began = time.perf_counter()
        plan = mk.solve(entry.mdp(), k=entry.k, abandon=entry.abandon)
        compared = mk.compare(plan.mdp, k=entry.k, plan=plan)
        plan.page(folder / f"{entry.name}.html", title=entry.title, comparison=compared)
        (folder / f"{entry.name}.svg").write_text(picture(entry, compared))
        say(f"{entry.name}: {time.perf_counter() - began:.1f} s")
    study = at.study(at.example_log())
    study.page(folder / f"{LOG.name}.html", title=LOG.title)
    (folder / f"{LOG.name}.svg").write_text(restarts(study.main))


def picture(entry: Entry, compared: mk.Comparison) -> str:
    """Three bars: repeating the best mean, the best single policy repeated, adapting."""
    alone = compared.rows[-2 if entry.abandon else 1]  # with costs, until its threshold is reached
    return bars(
        ("repeat the mean", compared.rows[0].lower, MEAN),
        ("one policy" if entry.abandon else f"one policy × {entry.k}", alone.lower, SINGLE),
        ("adapt", compared.plan.lower, ADAPT),
    )


def restarts(advised: Any) -> str:
    """Score less cost on held-out tasks: what is advised, and the alternative."""
    price = advised.plan.price
    mine, other = (
        score.value - price * cost.value
        for score, cost in ((advised.score, advised.cost), (advised.other_score, advised.other_cost))
    )
    names = ("one arm, capped", "a sequence") if advised.plan.method == "single" else ("a sequence", "one arm, capped")
    return bars((f"{names[0]}: advised", mine, ADAPT), (names[1], other, SINGLE))


def bars(*rows: tuple[str, float, str]) -> str:
    """A name, a number and a colour for each bar; they begin below the least, at no particular number."""
    values = [value for _, value, _ in rows]
    low = min(values) - 0.5 * max(max(values) - min(values), 0.25 * abs(max(values)))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 96" font-family="system-ui, sans-serif" '
        'font-size="13">',
        '<rect width="300" height="96" rx="6" fill="#ffffff"/>',
    ]
    for n, (name, value, colour) in enumerate(rows):
        width = 110 * (value - low) / (max(values) - low)
        parts += [
            f'<text x="8" y="{27 + 26 * n}" fill="#1f2328">{name}</text>',
            f'<rect x="122" y="{15 + 26 * n}" width="{width:.1f}" height="16" rx="3" fill="{colour}"/>',
            f'<text x="{128 + width:.1f}" y="{27 + 26 * n}" fill="#1f2328">{f"{value:.4g}".replace("-", "−")}</text>',
        ]
    return "\n".join([*parts, "</svg>\n"])


def markdown() -> str:
    """The entries as cards, for the page of the site."""
    cards = ['<div class="gallery" markdown="0">']
    for entry in (*ENTRIES, LOG):
        shown = f'<img src="pictures/gallery/{entry.name}.svg" alt="{entry.title}" loading="lazy">'
        how = entry.command if entry.problem else f"maxatk attempts --page {entry.name}.html"
        cards.append(
            f'<a class="gallery-card" href="pictures/gallery/{entry.name}.html">{shown}<b>{entry.title}</b>'
            f'<i class="{KINDS[entry.kind]}">{entry.kind}</i>'
            f"<span>{entry.line}</span><code>{how}</code></a>"
        )
    return "\n".join([*cards, "</div>"])


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
