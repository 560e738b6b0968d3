"""A small picture of each problem of the gallery, in the colours of its card: variables of style/extra.css."""

import math

WIDTH, HEIGHT = 300, 92
INK, ADAPT, REPEAT, GREEN, GOLD = "var(--draw)", "var(--adapt)", "var(--repeat)", "var(--green)", "var(--gold)"


def windy_cliff() -> str:
    """Cells above a cliff, the short way along the edge and the long one above it."""
    cells = "".join(
        f'<rect x="{42 + 18 * c}" y="{10 + 18 * r}" width="16.4" height="16.4" rx="2" '
        f'fill="var({"--rock" if r == 3 and 0 < c < 11 else "--ground"})"/>'
        for r in range(4)
        for c in range(12)
    )
    return (
        cells + _way("M50 72V54H248V72", ADAPT) + _way("M50 72V36H248V72", REPEAT, "4 3") + _letter(50, 76, "S")
        + _letter(248, 76, "G")
    )  # fmt: skip


def qualifying_laps() -> str:
    """A circuit in three sectors."""
    sectors = (
        ("M70 70H190", GREEN),
        ("M190 70C250 70 255 20 205 22L150 26", GOLD),
        ("M150 26L105 20C50 14 20 66 70 70", ADAPT),
    )
    road = "".join(
        f'<path d="{d}" fill="none" stroke="{c}" stroke-width="9" stroke-linecap="round"/>' for d, c in sectors
    )
    flag = "".join(
        f'<rect x="{118 + 5 * i}" y="{63 + 5 * j}" width="5" height="5" fill="{INK if (i + j) % 2 else "#fff"}"/>'
        for i in range(2)
        for j in range(3)
    )
    return road + flag


def blackjack() -> str:
    """Two cards."""
    return _card(105, -8, "10", REPEAT) + _card(150, 6, "A", ADAPT) + _text(205, 56, "21?", 20)


def javelin() -> str:
    """Throws of several lengths, one of them a foul."""
    ground = f'<path d="M30 78H275" stroke="{INK}" stroke-width="2"/>'
    throws = "".join(
        f'<path d="M40 76Q{(40 + x) / 2} {76 - h} {x} 76" fill="none" stroke="{c}" stroke-width="2.4" {dash}/>'
        for x, h, c, dash in ((170, 90, REPEAT, ""), (250, 128, ADAPT, ""), (265, 140, INK, 'stroke-dasharray="3 4"'))
    )
    return ground + throws + _text(265, 72, "×", 16)


def speedrun() -> str:
    """Segments of a run, and a clock."""
    boxes = "".join(
        f'<rect x="{30 + 46 * i}" y="36" width="40" height="18" rx="4" fill="{c}"/>'
        for i, c in enumerate((GREEN, GREEN, GOLD, ADAPT))
    )
    back = f'<path d="M190 62C170 86 60 86 44 62M44 62l1 10M44 62l9 4" fill="none" stroke="{INK}" stroke-width="2"/>'
    clock = (
        f'<circle cx="250" cy="45" r="22" fill="none" stroke="{INK}" stroke-width="3"/>'
        f'<path d="M250 45V30M250 45L261 50" stroke="{ADAPT}" stroke-width="3"/>'
    )
    return boxes + back + clock


def gambler() -> str:
    """An evening's capital: at home, and with everything on one number."""
    return (
        f'<path d="M40 78H270M40 78V12" stroke="{INK}" stroke-width="1.5" fill="none"/>'
        + _way("M40 50H270", REPEAT, "4 3") + _way("M40 50L85 32L130 64L175 46L220 16H262", ADAPT)
        + _way("M40 50L85 66L130 78", INK)
    )  # fmt: skip


def drafts() -> str:
    """Sheets of paper, revised."""
    sheets = "".join(
        f'<rect x="{60 + 62 * i}" y="{12 + 4 * (i % 2)}" width="46" height="64" rx="3" fill="none" stroke="{c}" '
        'stroke-width="2"/>'
        + "".join(
            f'<path d="M{68 + 62 * i} {26 + 4 * (i % 2) + 10 * j}h{30 - 7 * ((i + j) % 3)}" stroke="{c}" '
            'stroke-width="2.5"/>'
            for j in range(4)
        )
        for i, c in enumerate((INK, REPEAT, ADAPT))
    )
    return sheets + _text(218, 68, "★", 16)


def frozen_lake() -> str:
    """Ice with holes."""
    holes = {(1, 1), (1, 3), (2, 3), (3, 0)}
    cells = "".join(
        f'<rect x="{110 + 20 * c}" y="{6 + 20 * r}" width="18.4" height="18.4" rx="2" '
        f'fill="{"var(--rock)" if (r, c) in holes else "color-mix(in srgb, var(--repeat) 22%, transparent)"}"/>'
        for r in range(4)
        for c in range(4)
    )
    return cells + _letter(119, 20, "S") + _letter(179, 80, "G")


def taxi() -> str:
    """A city of five by five with four stands, and a cab."""
    corners = {(0, 0): "#d1495b", (0, 4): GREEN, (4, 0): GOLD, (4, 3): REPEAT}
    cells = "".join(
        f'<rect x="{106 + 17 * c}" y="{4 + 17 * r}" width="15.4" height="15.4" rx="2" '
        f'fill="{corners.get((r, c), "var(--ground)")}"/>'
        for r in range(5)
        for c in range(5)
    )
    cab = f'<rect x="142" y="43" width="13" height="8" rx="2" fill="{INK}"/><path d="M145 43l2-4h4l2 4" fill="{INK}"/>'
    return cells + cab + _way("M148 42V29H113V16", ADAPT)


def restarts() -> str:
    """A bumpy function, and descents into its valleys."""
    points = [(30 + x, 44 + 16 * math.sin(x / 16) + 14 * math.sin(x / 41 + 1)) for x in range(0, 245, 3)]
    curve = "M" + "L".join(f"{x} {y:.1f}" for x, y in points)
    starts = "".join(
        f'<circle cx="{x}" cy="{y}" r="5" fill="{c}"/>'
        for x, y, c in ((66, 68, REPEAT), (148, 53, INK), (210, 73, ADAPT))
    )
    return f'<path d="{curve}" fill="none" stroke="{INK}" stroke-width="2"/>' + starts


def picked() -> str:
    """Answers in a row, of which a hand picks one that is not the best."""
    rows = "".join(
        f'<rect x="{34 + 42 * n}" y="{70 - h}" width="24" height="{h}" rx="3" fill="{ADAPT if n == 3 else INK}"/>'
        for n, h in enumerate((18, 30, 38, 52, 24, 34))
    )
    return rows + _way("M130 8v14M122 14l8 9l8-9", REPEAT)


def _way(d: str, colour: str, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="3" stroke-linejoin="round"{dashes}/>'


def _text(x: float, y: float, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="middle" font-weight="700">{text}</text>'


def _letter(x: float, y: float, letter: str) -> str:
    return _text(x, y, letter, 13)


def _card(x: float, turn: float, face: str, colour: str) -> str:
    return (
        f'<g transform="translate({x} 46) rotate({turn})"><rect x="-22" y="-34" width="44" height="66" rx="5" '
        f'fill="var(--md-default-bg-color)" stroke="{INK}" stroke-width="2"/><text x="0" y="9" font-size="24" '
        f'text-anchor="middle" font-weight="700" style="fill: {colour}">{face}</text></g>'
    )
