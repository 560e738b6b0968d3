"""Colours, the same in figures and on pages."""

# Okabe and Ito's colours: distinguishable with any kind of colour vision, and in print.
COLOURS = ("#999999", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442")


def palette(count: int) -> list[str]:
    """``count`` colours for lines; six are different."""
    return [COLOURS[-2 - place % 6] for place in range(count)]


def action_colours(count: int) -> list[str]:
    """A colour for each action, the same in figures and on pages; seven are different."""
    return [COLOURS[1 + a % 7] for a in range(count)]


def class_colours(count: int) -> list[str]:
    """A colour for each row of a comparison; eight are different."""
    return [COLOURS[place % len(COLOURS)] for place in range(count)]
