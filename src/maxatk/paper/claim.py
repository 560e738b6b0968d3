"""A claim of the paper, recomputed: checks with verdicts, tables, figures and numbers."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from scipy import stats

T = TypeVar("T")
Row: TypeAlias = Mapping[str, Any]  # what was computed for one case, by name


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"  # as the paper prints it
    TIGHTENED = "tightened"  # as printed, and more is true
    ADDED = "added"  # the paper leaves it open; our number holds
    CORRECTED = "corrected"  # not as printed; our correction holds
    REMARK = "remark"  # no number contradicts what is printed; there is something to know about it
    FAILS = "fails"  # neither


@dataclass(frozen=True)
class Check:
    """One line of the table that opens the report."""

    what: str
    paper: str  # the paper's number
    ours: str
    verdict: Verdict


def check(
    what: str,
    *,
    paper: object = None,
    ours: object,
    holds: bool,
    as_printed: bool = True,
    tight: bool = True,
    remark: bool = False,
) -> Check:
    """A check whose verdict follows from facts.

    Args:
        what: what was checked.
        paper: the paper's number, or None if it gives none.
        ours: our number.
        holds: whether our statement holds.
        as_printed: whether the printed one does.
        tight: whether the printed one is as strong as ours.
        remark: whether ours is a remark that neither corrects nor tightens the printed one.
    """
    if not holds:
        verdict = Verdict.FAILS
    elif remark:
        verdict = Verdict.REMARK
    elif paper is None:
        verdict = Verdict.ADDED
    elif not as_printed:
        verdict = Verdict.CORRECTED
    else:
        verdict = Verdict.HOLDS if tight else Verdict.TIGHTENED
    return Check(what, "not given" if paper is None else text(paper), text(ours), verdict)


def equal(what: str, *, paper: object = None, ours: object, right: object = None) -> Check:
    """A check of one number: ours against the printed one or, if that is missing or wrong, the ``right`` one."""
    holds = ours == (paper if right is None else right)
    return check(what, paper=paper, ours=ours, holds=holds, as_printed=ours == paper)


@dataclass(frozen=True)
class Table:
    """Rows for the reader of the report."""

    caption: str
    head: tuple[str, ...]
    rows: list[tuple[object, ...]]

    @classmethod
    def of(cls, caption: str, rows: Iterable[Row], columns: Mapping[str, str]) -> Self:
        """A table with these columns: each is an entry of the rows, or a text with such entries, as in ``1/{n}``."""
        return cls(
            caption,
            tuple(columns),
            [tuple(row[what] if what in row else what.format_map(row) for what in columns.values()) for row in rows],
        )


@dataclass(frozen=True)
class Picture:
    """A Matplotlib figure with its caption."""

    name: str
    figure: Any
    caption: str


@dataclass
class Claim:
    """A claim of the paper, recomputed. ``texts.toml`` describes it and the computation."""

    name: str
    checks: list[Check]
    tables: list[Table] = field(default_factory=list[Table])
    pictures: list[Picture] = field(default_factory=list[Picture])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])  # the values of braces in its text
    numbers: dict[str, Any] = field(default_factory=dict[str, Any])  # the same on every machine
    measured: dict[str, Any] = field(default_factory=dict[str, Any])  # seconds, and what depends on random streams
    seeds: dict[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0  # how long it took


@dataclass(frozen=True)
class Effort:
    """The amount of computation, and a function to report progress to."""

    quick: bool
    tell: Callable[[str], None] = lambda _: None

    def pick(self, quick: T, full: T) -> T:
        """The smaller setting or the larger one."""
        return quick if self.quick else full


def tally(checks: Iterable[Check]) -> str:
    """How many checks have each verdict, in words."""
    return counted(c.verdict for c in checks)


def counted(verdicts: Iterable[Verdict]) -> str:
    """How often each verdict occurs, in words."""
    counts = Counter(verdicts)
    several = {v: "remarks" if v is Verdict.REMARK and counts[v] > 1 else v for v in counts}
    return ", ".join(f"{counts[v]} {several[v]}" for v in Verdict if counts[v])


def text(value: object) -> str:
    """A number as text: fractions as they are if they are short."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator < 10**9 else f"{float(value):.8g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}".replace(",", " ")
    return str(value)


def column(rows: Iterable[Row], name: str) -> list[float]:
    """One number of every row, as floats."""
    return [float(row[name]) for row in rows]


def only(rows: Iterable[Row], *names: str) -> list[dict[str, Any]]:
    """These numbers of every row."""
    return [{name: row[name] for name in names} for row in rows]


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of log y over log x: the exponent of a power law through the points."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Processor time, of all cores: the shortest of some runs."""
    times: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def chance(failures: int, runs: int, confidence: float = 0.95) -> float:
    """An upper confidence bound on a probability of failure (Clopper and Pearson)."""
    return float(stats.beta.ppf(confidence, failures + 1, runs - failures)) if failures < runs else 1.0
