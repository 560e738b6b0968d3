"""The progress of a scheduler, for the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.attempts.scheduler.attempt import SchedulerProgress
from maxatk.base.text import count_of, short


def progress(known: SchedulerProgress) -> RenderableType:
    """Tasks, spending, and the attempts of each arm: told, in flight, given up."""
    budget = "" if known.total_budget is None else f" of {short(known.total_budget)}"
    first = Text.assemble(
        (f"{known.over} of {count_of(known.tasks, 'task')} are over", "bold"),
        f", {known.solved} of them solved; {short(known.spent)}{budget} spent{_rounds(known)}.",
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("arm", overflow="fold")
    for heading in ("told", "in flight", "gave up", "mean score", "cost"):
        table.add_column(heading, justify="right", no_wrap=True)
    for arm in known.arms:
        mean = "" if arm.mean_score is None else short(arm.mean_score)
        table.add_row(Text(arm.arm), str(arm.told), str(arm.in_flight), str(arm.failed), mean, short(arm.spent))
    notes = [Text("Mean scores are those of attempts that were made, which are more where scores are low.", "dim")]
    if any(arm.in_flight for arm in known.arms):
        notes.append(Text("Attempts in flight are counted as if they fell short.", "dim"))
    return Group(first, table, *notes) if known.arms else first


def _rounds(known: SchedulerProgress) -> str:
    """The rounds begun, if attempts are made in rounds; otherwise every attempt is one."""
    return f", in {count_of(known.rounds, 'round')} of at most {known.width}" if known.width > 1 else ""
