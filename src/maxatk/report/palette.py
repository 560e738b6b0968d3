"""Colours, the same in figures, on pages and in notebooks: one for each thing that is shown in several places."""

from collections.abc import Sequence
from typing import NamedTuple

# Okabe and Ito's colours: distinguishable with any kind of colour vision, and in print.
COLOURS = ("#999999", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442")


class Shade(NamedTuple):
    """A colour on light paper and on dark paper; text in either has a contrast of at least 4.5."""

    light: str
    dark: str


# What is shown in text, in figures and on maps.
PAPER, INK, SOFT = Shade("#ffffff", "#17181c"), Shade("#1c1c1e", "#e9e9ee"), Shade("#5b5b62", "#a6a6b0")
LINE, PANEL = Shade("#d9d9de", "#3b3c44"), Shade("#f6f6f8", "#202127")
MEAN, ADAPTIVE = Shade("#0072b2", "#56b4e9"), Shade("#b34700", "#ff9d5c")  # repeating the best mean; the plan
GROUND, HAZARD = Shade("#e6efe2", "#26322a"), Shade("#5b5348", "#8c7f6d")
GOAL, WALL = Shade("#007a59", "#007a59"), Shade("#c9c9d1", "#45464f")
# Of bars and lines, which need less contrast than text: the same two things.
MEAN_LINE, ADAPTIVE_LINE = "#0072B2", "#D55E00"
BETWEEN = ("#56B4E9", "#009E73", "#CC79A7", "#E69F00", "#999999")  # classes between these two
DIRECTIONS = {
    **{"up": "#E69F00", "right": "#56B4E9", "down": "#009E73", "left": "#CC79A7"},
    **{"north": "#E69F00", "east": "#56B4E9", "south": "#009E73", "west": "#CC79A7"},
}
SELDOM = "#b0895f"  # actions that are seldom taken, where there are more than colours


def palette(count: int) -> list[str]:
    """``count`` colours for lines; six are different."""
    return [COLOURS[-2 - place % 6] for place in range(count)]


def action_colours(names: Sequence[str], often: Sequence[float] | None = None) -> list[str]:
    """A colour for each action by its name: a direction has the same one everywhere.

    Given how ``often`` each is taken, what is seldom taken shares one colour where the others do not suffice.

    >>> action_colours(["left", "right"]) == action_colours(["right", "left"])[::-1]
    True
    """
    colours = [DIRECTIONS.get(name.strip().lower(), "") for name in names]
    free = [colour for colour in COLOURS[1:] if colour not in colours]
    others = [a for a, colour in enumerate(colours) if not colour]
    if often is not None and len(others) > len(free):
        others.sort(key=lambda a: -often[a])
        free += [SELDOM] * (len(others) - len(free))
    for place, a in enumerate(others):
        colours[a] = free[place % len(free)]
    return colours


def class_colours(names: Sequence[str], first: str, last: str) -> list[str]:
    """A colour for each class of policies, by name: that of the mean, that of the plan, and others between them."""
    others = iter(range(len(names)))
    own = {first: MEAN_LINE, last: ADAPTIVE_LINE}
    return [own.get(name) or BETWEEN[next(others) % len(BETWEEN)] for name in names]
