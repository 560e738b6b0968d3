"""Estimates, sequences and studies of logs, for the terminal.

Numbers have intervals, which are rounded outward, with as many decimals as their width needs.
"""

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
from maxatk.base.text import amount, count_of, percent, share, short
from maxatk.report.render import ways
from maxatk.report.tables import judges
from maxatk.report.tables.fitting import Side, as_text, plain_table
from maxatk.report.words import attempts as words

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
    table = plain_table(
        ("what", "left"), ("score", "right"), ("interval", "left"), ("cost", "right"), ("interval", "left"),
        *TIMED[: int(timed)], ("solved", "right"), ("cost per solved", "right"), ("chosen on all tasks", "left"),
    )  # fmt: skip
    for strategy in result.strategies if every else result.efficient:
        table.add_row(
            strategy.name, *shown(strategy.score), *shown(strategy.cost),
            *([short(strategy.seconds.value) if strategy.seconds else ""] if timed else []),
            share(strategy.solved), amount(strategy.cost_per_solved.value), _clipped(strategy.example),
        )  # fmt: skip
    return table


def _clipped(name: str, length: int = 60) -> str:
    return name if len(name) <= length else f"{name[: length - 4].rstrip(', ')}, ..."


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


def study(result: Study, every: bool = False) -> RenderableType:
    """All of a study; with ``every``, all strategies and pairs, not only the efficient ones and the best arm's."""
    parts: list[RenderableType] = [Text.assemble((repr(result.log), "bold"))]
    parts += [f"Note: {note}." for note in result.notes]

    def section(title: str, *what: RenderableType) -> None:
        parts.extend(["", Text(title, "bold"), *what])

    for one in result.curves:
        section(f"{one.name}, with intervals over tasks", curve(one), *_no_level(one))
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
        hidden = 0 if every else len(result.differences) - len(result.differences.of_the_best)
        sure = result.differences.sureness
        section(
            f"Differences in {of}, task by task{f' ({sure})' if sure else ''}",
            differences(result.differences, every),
            *([f"{count_of(hidden, 'more pair')}, of the other arms (--all)."] if hidden else []),
        )
    shared = sorted((d for d in result.difficulty if d.k > 1), key=lambda d: d.measured - d.pooled)
    if shared:
        section("How much attempts at one task have in common", *(f"{d}." for d in (shared if every else shared[:3])))
    if result.frontier is not None:
        hidden = len(result.frontier.strategies) - len(result.frontier.efficient)
        note = [f"Dominated strategies left out: {hidden} (--all)."] if hidden and not every else []
        section("Score against cost", frontier(result.frontier, every), *note)
    if result.plan is not None and result.plan.steps:
        plan = result.plan
        why = [f"{plan.why[0].upper()}{plan.why[1:]}."] if plan.method == "portfolio" else []
        tasks = count_of(plan.built_from.tasks, "task")
        section(f"The plan ({plan.method}), on the {tasks} that it was chosen on", sequence(plan), *why)
    if result.others:
        section(f"{result.elsewhere}, on tasks that plans were not chosen on", _at_goals(result))
    section("What to do", *result.advice)
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
