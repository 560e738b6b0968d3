"""Numbers and names in print; bounds are rounded outward, so that they still hold as printed."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from maxatk.base.types import Number

MOST_DECIMALS = 12  # of a number without an exponent
LARGEST = 10**16  # without an exponent
DIGITS, MOST_DIGITS = 7, 16  # of numbers with an exponent: of large ones, and of small ones after the point


def at_least(x: Number, decimals: int = 6) -> str:
    """A lower bound to ``decimals`` decimals, rounded down: it holds as printed."""
    return _rounded(x, decimals, math.floor)


def at_most(x: Number, decimals: int = 6) -> str:
    """An upper bound to ``decimals`` decimals, rounded up."""
    return _rounded(x, decimals, math.ceil)


def as_given(x: float, decimals: int) -> str:
    """An upper bound: as given if it is a short number, else rounded up."""
    given = f"{x:g}"
    return given if float(given) == x else at_most(x, decimals)


def _rounded(x: Number, decimals: int, towards: Callable[[Fraction], int]) -> str:
    """A number in decimals; with an exponent if it would have very many digits before or after the point."""
    if math.isinf(x):
        return f"{x:f}"
    exact = Fraction(x)
    if decimals > MOST_DECIMALS or abs(exact) >= LARGEST:
        return _with_exponent(exact, decimals, towards) if exact else "0"
    return _in_decimals(towards(exact * 10**decimals), decimals)


def _with_exponent(exact: Fraction, decimals: int, towards: Callable[[Fraction], int]) -> str:
    size = math.floor(math.log10(abs(exact)))
    place = size - min(max(decimals + size, 2), MOST_DIGITS) if size < 0 else size - DIGITS + 1
    digits = towards(exact / Fraction(10) ** place)
    sign, text = "-" if digits < 0 else "", str(abs(digits))
    part = text[1:].rstrip("0")
    return f"{sign}{text[0]}{f'.{part}' if part else ''}e{place + len(text) - 1:+03d}"


def probability(delta: float) -> str:
    """The probability of all but a risk ``delta``, rounded down."""
    if delta < 10.0**-MOST_DECIMALS:
        return f"1 - {small(delta)}"
    text = at_least(1 - Fraction(repr(delta)), MOST_DECIMALS).rstrip("0")
    return text.rstrip(".") or "0"


def _in_decimals(count: int, decimals: int) -> str:
    whole, part = divmod(abs(count), 10**decimals)
    return f"{'-' if count < 0 else ''}{whole}{f'.{part:0{decimals}d}' if decimals else ''}"


def decimals_of(*sizes: float, digits: int = 6) -> int:
    """The number of decimals, 0 to 300, that shows the largest of some numbers to ``digits`` digits."""
    largest = max((abs(x) for x in sizes if math.isfinite(x)), default=0.0)
    return min(max(digits - 1 - math.floor(math.log10(largest)), 0), 300) if largest else 0


def small(x: float) -> str:
    """An upper bound to two digits, rounded up; with an exponent if it is far from 1."""
    if x <= 0 or not math.isfinite(x):
        return f"{x:g}"
    place = math.floor(math.log10(x)) - 1
    digits = math.ceil(Fraction(x) / Fraction(10) ** place)
    rounded = digits * Fraction(10) ** place
    return f"{float(rounded):.2g}" if 1e-4 <= x < 1e4 else f"{float(rounded):.1e}"


def known(lower: float, upper: float, decimals: int) -> str:
    """A number between two bounds: in decimals if both bounds round to the same ones, else the two bounds."""
    low, high = f"{lower:.{decimals}f}", f"{upper:.{decimals}f}"
    return low if low == high else f"between {at_least(lower, decimals)} and {at_most(upper, decimals)}"


def agreed(lower: float, upper: float, digits: int) -> str:
    """A number to as many digits, at most ``digits``, as both of its bounds share; empty for fewer than two."""
    for some in range(digits, 1, -1):
        low, high = (f"{x:.{some}g}" for x in (lower, upper))
        if low == high:
            return low
    return ""


def about(lower: float, upper: float, digits: int) -> str:
    """A number to as many digits, two to ``digits``, as both of its bounds share; otherwise the two bounds."""
    return agreed(lower, upper, digits) or f"{lower:.{digits}g} to {upper:.{digits}g}"


def span(lower: float, upper: float, digits: int = 3) -> str:
    """Two bounds, rounded outward to ``digits`` digits of the upper one."""
    decimals = decimals_of(upper, digits=digits)
    low, high = at_least(lower, decimals), at_most(upper, decimals)
    return low if low == high else f"{low} to {high}"


def digits(lower: float, value: float, upper: float) -> int:
    """The number of decimals that shows the gap between two bounds to two digits."""
    gap = upper - lower
    size = gap if math.isfinite(gap) and gap > 0 else abs(value)
    return min(max(1 - math.floor(math.log10(size)), 0), 12) if size > 0 and math.isfinite(size) else 2


def ends(lower: float, value: float, upper: float) -> tuple[str, str, str]:
    """The lower bound, the value and the upper bound in decimals; the bounds are rounded outward."""
    places = digits(lower, value, upper)
    return at_least(lower, places), f"{value:z.{places}f}", at_most(upper, places)


def short(x: float) -> str:
    """A number to three digits, with an exponent only if it needs one."""
    if not math.isfinite(x) or x == 0:
        return f"{x:g}" if x else "0"
    places = max(2 - math.floor(math.log10(abs(x))), 0)
    return f"{x:.3g}" if places > 6 else f"{x:.{places}f}"


def amount(x: float) -> str:
    """A number to three digits; a dash for an infinite one."""
    return short(x) if math.isfinite(x) else "-"


def threshold(x: float) -> str:
    """A score at which to stop: to three digits if that is exact, else in full."""
    return short(x) if float(short(x)) == x else repr(x)


def percent(level: float) -> str:
    """A level in per cent, which is never 100."""
    said = (f"{100 * level:.{digits}g}" for digits in (12, 15, 17))
    return f"{next((text for text in said if text != '100'), 'nearly 100')} %"


def share(x: float) -> str:
    """A share in per cent, with as many decimals as distinguish it from 0 and from 100."""
    rest = min(x, 1 - x)
    if not 0 < rest < 0.01:
        return f"{100 * x:.0f} %"
    return f"{100 * x:.{1 - math.floor(math.log10(100 * rest))}f} %"


def portion(lower: float, upper: float) -> str:
    """A share between two bounds in per cent, to three digits; 0 % means none of it, and 100 % all of it."""
    low, high = (_three_digits(x) for x in (lower, upper))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def _three_digits(x: float) -> str:
    said = f"{100 * x:.3g}"
    if said in ("0", "100") or "e" in said:
        said = share(x).removesuffix(" %")
    return f"{said.rstrip('0').rstrip('.') if '.' in said else said} %"


def count_of(n: int, noun: str) -> str:
    """A number of things: "1 task", "2 tasks"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def spelled(names: Sequence[str], then: str = ", ") -> str:
    """Names in order, runs of the same name with their lengths."""
    return then.join(name if n == 1 else f"{name} × {n}" for name, n in runs(names)) or "nothing"


def runs(names: Sequence[str]) -> list[tuple[str, int]]:
    """Names in order with how often each is repeated."""
    return [(name, len(list(same))) for name, same in itertools.groupby(names)]


def clipped(line: str, longest: int = 160) -> str:
    """A line of bounded length, for ``repr``; control characters are escaped."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line[: 2 * longest])
    return shown if len(shown) <= longest else f"{shown[: longest - 4]}...)"


def finite(x: float) -> float | None:
    """A number for JSON, which has no infinities: they become None."""
    return x if math.isfinite(x) else None
