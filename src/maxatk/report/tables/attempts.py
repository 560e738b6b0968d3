"""Estimates, sequences and studies of logs, for the terminal.

Numbers have intervals, which are rounded outward, with as many decimals as their width needs.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.intervals import Estimate
from maxatk.attempts.estimates.pairing import Differences
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.sequences.replay import Replay
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.attempts.study.study import JudgedStudy, Study
from maxatk.base.text import amount, at_most, count_of, percent, share, short
from maxatk.report.render import ways
from maxatk.report.tables import judges
from maxatk.report.tables.fitting import FittingTable, Side, as_text, plain_table
from maxatk.report.tables.latency import latency
from maxatk.report.words import attempts as words
from maxatk.report.words import judges as judge_words
from maxatk.report.words import latency as latency_words

T = TypeVar("T")
TIMED: list[tuple[str, Side]] = [("seconds", "right")]


def text(result: Curve | Differences | Study) -> str:
    """What is shown as its table alone, as plain text."""
    return as_text(ways.table(result))


def shown(estimate: Estimate) -> tuple[str, str]:
    """An estimate and its interval, as every table and page shows them."""
    return words.measured(estimate.measured)


def curve(result: Curve) -> Table:
    """Estimates by number of attempts; with several arms, one line per arm."""
    if len({p.arm for p in result}) > 1:
        return _side_by_side(result)
    table = plain_table(
        ("k", "right"), (result.name, "right"), ("interval", "left"), ("tasks", "right"), ("by", "left")
    )
    for p in result:
        table.add_row(str(p.k), *shown(p), str(p.tasks), p.method)
    return table


def _side_by_side(result: Curve) -> Table:
    ks = sorted({p.k for p in result})
    by_k: list[tuple[str, Side]] = [(f"{result.name.rstrip('k')}{k}", "left") for k in ks]
    table = plain_table(("arm", "left"), *by_k, ("tasks", "right"), ("by", "left"))
    for arm in dict.fromkeys(p.arm for p in result):
        mine = {p.k: p for p in result if p.arm == arm}
        by = "; ".join(dict.fromkeys(p.method for p in mine.values()))
        table.add_row(arm, *(str(mine[k]) for k in ks), str(mine[ks[0]].tasks), by)
    return table


def differences(result: Differences, every: bool = True) -> Table:
    """All pairs of arms, or only those with the best arm."""
    table = plain_table(("arm", "left"), ("less", "left"), ("difference", "right"), ("interval", "left"), ("", "left"))
    for d in result.rows if every else result.of_the_best:
        table.add_row(d.first, d.second, *shown(d), words.told(d.finding))
    return table


def frontier(result: Frontier, every: bool = False) -> Table:
    """The strategies that no other dominates, or all of them."""
    timed = any(strategy.seconds is not None for strategy in result.strategies)
    solved: list[tuple[str, Side]] = [("solved", "right"), ("cost per solved", "right")] if result.passing else []
    in_rounds = result.width > 1  # otherwise every attempt is a round
    rounds: list[tuple[str, Side]] = [(f"rounds of {result.width}", "right")]
    table = plain_table(
        ("what", "left"), ("score", "right"), ("interval", "left"), ("cost", "right"), ("interval", "left"),
        *rounds[: int(in_rounds)], *TIMED[: int(timed)], *solved, ("chosen on all tasks", "left"),
    )  # fmt: skip
    for strategy in result.strategies if every else result.efficient:
        table.add_row(
            strategy.name, *shown(strategy.score), *shown(strategy.cost),
            *([short(strategy.rounds)] if in_rounds else []),
            *([short(strategy.seconds.value) if strategy.seconds else ""] if timed else []),
            *([share(strategy.solved), amount(strategy.cost_per_solved.value)] if result.passing else []),
            _clipped(strategy.example),
        )  # fmt: skip
    return table


def _clipped(name: str, length: int = 60) -> str:
    """The first names of several, none of them in part."""
    if len(name) <= length:
        return name
    whole, *_ = name[: length - 4].rpartition(", ")
    return f"{whole}, ..." if whole else _cut(name, length)


def frontier_text(result: Frontier) -> str:
    """The strategies that no other dominates, and whether sequences are better than one arm."""
    hidden = len(result.strategies) - len(result.efficient)
    note = f"Dominated strategies left out: {hidden}." if hidden else ""
    return as_text(frontier(result), "", note, result.verdict)


def sequence(plan: SequencePlan) -> Table:
    """The attempts of a sequence."""
    table = plain_table(
        ("attempt", "right"), ("arm", "left"), ("tasks that get here", "right"), ("adds", "right"), ("costs", "right"),
        ("gain per cost", "right"),
    )  # fmt: skip
    for number, step in enumerate(plan.steps, 1):
        table.add_row(
            str(number), step.arm, share(step.reached), short(step.gain), short(step.cost), amount(step.gain_per_cost)
        )
    return table


def sequence_text(plan: SequencePlan) -> str:
    """A sequence in words, its attempts, and what their numbers are means of."""
    about = (
        f"Built from {count_of(plan.built_from.tasks, 'task')}; {plan.why}. These are means over those tasks: "
        "plan.replay(log) estimates the score and cost on others."
    )
    return as_text(plan.words, "", sequence(plan), "", about)


def replay(result: Replay) -> Table:
    """A sequence on held-out tasks, beside the best single arm."""
    table = plain_table(
        ("", "left"), ("sequence", "right"), ("interval", "left"), (result.single.name, "right"), ("interval", "left")
    )
    rows = (("score", result.score, result.single.score), ("cost", result.cost, result.single.cost))
    for name, mine, other in rows:
        table.add_row(name, *shown(mine), *shown(other))
    table.add_row(f"score − {short(result.price)} × cost", *shown(result.net), "", "")
    table.add_row("gain over it", *shown(result.gain), "", "")
    if result.width > 1:  # otherwise every attempt is a round
        table.add_row("rounds", *shown(result.rounds), "", "")
    if result.seconds is not None:
        table.add_row("seconds", *shown(result.seconds), "", "")
    return table


def replay_text(result: Replay) -> str:
    """The same, with the verdict."""
    gain = result.gain
    level = "gain without a level" if gain.level is None else f"gain at {percent(gain.level)}"
    notes = [f"Held out: {count_of(result.tasks, 'task')}, {level} by {gain.method}: {result.verdict}."]
    if result.exhausted:
        have = "1 of them has" if result.exhausted == 1 else f"{result.exhausted} of them have"
        notes.append(f"{have} too few attempts in the log: the sequence is cut there.")
    return as_text(replay(result), "", *notes)


LATENCY = "What latency costs: attempts several at a time, on tasks that sequences were not chosen on"
MOST_REPORTS, MOST_PICKS = 3, 6  # on judges, in a summary: sentences, rows
LONGEST_JUDGE, LONGEST_JUDGED = 10, 18  # there: characters of the name of a judge, and of an arm
MOST_ARMS, MOST_RANGES, MOST_KS, LONGEST_ARM = 10, 4, 5, 22  # of a summary: rows, columns, characters of a name
SHORT_ARM = 8  # characters of names beside which the most columns fit 80


def summary(result: Study) -> RenderableType:
    """What a study says at first: the advice, the estimates of the best arms, and the advice for other goals.

    At most 40 lines of 80 columns.
    """
    first, second = result.advice
    parts: list[RenderableType] = [
        Text.assemble((repr(result.log), "bold")),
        "",
        Text(first, style="bold"),
        second,
        *(f"Note: {note}." for note in result.unused),
    ]
    if isinstance(result, JudgedStudy):
        parts += _judges(result)
    else:
        votes = [] if result.vote is None else [result.vote]
        for one in (*result.curves, *votes):
            arms = MOST_ARMS // (len(result.curves) + len(votes))
            parts += ["", Text(f"{one.name}, ± an interval over tasks", "bold"), *_best_arms(one, arms)]
        if result.ranges:
            parts += ["", "Beyond the attempts that were made, only a range is known:"]
            parts += [f"{_cut(arm)}: {known}" for arm, known in result.ranges[:MOST_RANGES]]
    if result.others:
        parts += ["", Text(f"{result.elsewhere}, on tasks that plans were not chosen on", "bold"), _in_short(result)]
    if result.latency is not None:
        parts += ["", Text(LATENCY, "bold"), latency_words.latency(result.latency)]
    judged = ["more on judges"] if isinstance(result, JudgedStudy) else []
    hidden = [*judged, "estimates with intervals", "differences", "score against cost", "the plan attempt by attempt"]
    many = count_of(len(result.notes), "note")
    parts += ["", Text(f"{many} and more with --all: {', '.join(hidden)}.", style="dim")]
    return Group(*parts)


def _judges(result: JudgedStudy) -> list[RenderableType]:
    """What is handed in with a perfect judge, by the plan's judge and by a vote; and a sentence on every judge.

    By number of attempts for one arm; for several, among as many attempts as all curves have, the best picks first.
    """
    mine = [one for one in result.reports if one.judge == result.judge]
    by_arm = sorted(mine, key=lambda one: -one.selected.points[-1].value)
    first, several = by_arm[0], len(by_arm) > 1
    among = f" among {first.selected.points[-1].k} attempts" if several else ""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    table.add_column("arm" if several else "k", justify="left" if several else "right", no_wrap=True)
    for heading in (*judges.choosers(first, _cut(first.judge, LONGEST_JUDGE)), "gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in by_arm[:MOST_PICKS] if several else []:
        _add_pick(table, _cut(one.arm, LONGEST_JUDGED), [curve.points[-1] for curve in one.curves])
    for points in _few([*zip(*first.curves, strict=True)]) if not several else []:
        _add_pick(table, str(points[0].k), points)
    more = len(by_arm) - MOST_PICKS
    parts = ["", Text(f"What is handed in{among}, by its true score, ± an interval over tasks", "bold"), table]
    parts += [f"{count_of(more, 'more arm')} (--all)."] if more > 0 else []
    told = [one for one in result.reports if one.arm == first.arm]
    of_arm = f"{_cut(first.arm)}: " if several else ""
    parts += ["", *(f"{of_arm}{judge_words.share(one)}" for one in told[:MOST_REPORTS])]
    more = len(told) - MOST_REPORTS
    return [*parts, *([f"{count_of(more, 'more judge')} (--all)."] if more > 0 else [])]


def _few(rows: list[T], most: int = MOST_KS) -> list[T]:
    """The first ones, and the last."""
    return rows if len(rows) <= most else [*rows[: most - 1], rows[-1]]


def _add_pick(table: Table, name: str, points: Sequence[Estimate]) -> None:
    gap = points[0].value - points[1].value
    table.add_row(name, *map(_give_or_take, points), f"{gap:.3f}")


def _best_arms(result: Curve, most: int) -> list[RenderableType]:
    """Estimates with the half widths of their intervals, rounded up: a line for each of the best arms."""
    ks = _few(sorted({p.k for p in result}), MOST_KS - int(max(len(p.arm) for p in result) > SHORT_ARM))
    by_arm = {arm: {p.k: p for p in result if p.arm == arm} for arm in dict.fromkeys(p.arm for p in result)}
    best = sorted(by_arm, key=lambda arm: -max((by_arm[arm][k].value for k in ks if k in by_arm[arm]), default=0.0))
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    table.add_column("arm", no_wrap=True)
    for k in ks:
        table.add_column(f"{result.name.rstrip('k')}{k}", justify="right", no_wrap=True)
    for arm in best[:most]:
        table.add_row(_cut(arm), *(_give_or_take(by_arm[arm][k]) if k in by_arm[arm] else "-" for k in ks))
    more = len(best) - most
    return [table, *([f"{count_of(more, 'more arm')} (--all)."] if more > 0 else [])]


def _give_or_take(estimate: Estimate) -> str:
    """An estimate and the half width of an interval around it that holds its own, rounded up."""
    half = max(estimate.upper - estimate.value, estimate.value - estimate.lower)
    decimals = min(max(1 - math.floor(math.log10(half)), 0), 3) if 0 < half < math.inf else 3
    return f"{estimate.value:.{decimals}f} ±{at_most(half, decimals)}"


def _cut(name: str, length: int = LONGEST_ARM) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def _in_short(result: Study) -> Table:
    """The advice for several goals, a line each."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    table.add_column(result.goal_noun, justify="right", no_wrap=True)
    table.add_column("try", no_wrap=True)
    for heading in ("score", "cost"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in result.others:
        cells = _give_or_take(one.score), _give_or_take(one.cost)
        table.add_row(short(one.goal.number), _cut(one.plan.spelled, 36), *cells)
    return table


def study(result: Study, every: bool = True) -> RenderableType:
    """All of a study; without ``every``, its summary."""
    if not every:
        return summary(result)
    parts: list[RenderableType] = [Text.assemble((repr(result.log), "bold"))]
    parts += ["", Text("What to do", "bold"), *result.advice]
    if result.main is not None and result.main.alternative is not None and result.main.finding.parts > words.MOST_PARTS:
        parts += [f"The alternative is {result.main.alternative.spelled}."]
    parts += ["", *(f"Note: {note}." for note in result.notes)] if result.notes else []

    def section(title: str, *what: RenderableType) -> None:
        parts.extend(["", Text(title, "bold"), *what])

    oracle = " of a perfect judge" if isinstance(result, JudgedStudy) else ""
    for one in result.curves:
        section(f"{one.name}{oracle}, with intervals over tasks", curve(one), *_no_level(one))
    if result.vote is not None:
        section(
            "majority@k: the answer with most votes, by its true score", curve(result.vote), *_no_level(result.vote)
        )
    for one in result.reports if isinstance(result, JudgedStudy) else ():
        arm = f", attempts of {one.arm}" if len(result.log.arms) > 1 else ""
        section(f"What {one.judge} is good for{arm}: scores are of the truth", judges.report(one))
    if result.ranges:
        section(
            "Beyond the attempts that were made, only a range is known",
            *(f"{arm}: {known}" for arm, known in result.ranges),
        )
    if result.differences is not None:
        k = result.differences.k
        of = f"the best of {k}" if k > 1 else "one attempt"
        sure = result.differences.sureness
        section(
            f"Differences in {of}, task by task{f' ({sure})' if sure else ''}",
            differences(result.differences),
        )
    shared = sorted((d for d in result.difficulty if d.k > 1), key=lambda d: d.measured - d.pooled)
    if shared:
        section("How much attempts at one task have in common", *(f"{d}." for d in shared))
    if result.frontier is not None:
        section("Score against cost", frontier(result.frontier, every=True))
    if result.latency is not None:
        section(LATENCY, latency(result.latency), latency_words.latency(result.latency))
    if result.plan is not None and result.plan.steps:
        plan = result.plan
        why = [f"{plan.why[0].upper()}{plan.why[1:]}."] if plan.method == "portfolio" else []
        tasks = count_of(plan.built_from.tasks, "task")
        section(f"The plan ({plan.method}), on the {tasks} that it was chosen on", sequence(plan), *why)
    if result.others:
        section(f"{result.elsewhere}, on tasks that plans were not chosen on", _at_goals(result))
    return Group(*parts)


def _no_level(result: Curve) -> list[str]:
    """The explanation of intervals without a level, if there are any."""
    if all(point.level is not None for point in result):
        return []
    return [
        "An interval on the range seen has no level: few or skewed tasks say nothing of scores that were not seen. "
        "With a score_range it is proved."
    ]


def _at_goals(result: Study) -> Table:
    """The advice for several goals."""
    table = plain_table(
        (result.goal_noun, "right"), ("try", "left"), ("score", "right"), ("interval", "left"),
        ("cost", "right"), ("interval", "left"),
    )  # fmt: skip
    for one in result.others:
        table.add_row(short(one.goal.number), one.plan.spelled, *shown(one.score), *shown(one.cost))
    return table
