"""Results as people read them: tables for the terminal."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.checks import Number
from maxatk.evaluation.compare import Comparison
from maxatk.planning import CertifiedPlan, ExactPlan
from maxatk.planning.exact import Decision


def certified_plan(plan: CertifiedPlan, title: str) -> RenderableType:
    """The interval of a certified plan, and what each further rollout adds."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("rollouts", "at least", "at most", "worth more than one fewer by"):
        table.add_column(heading, justify="right", no_wrap=heading != "worth more than one fewer by")
    before = None
    for left in sorted({*range(1, min(plan.k, 10) + 1), plan.k}):
        lower, upper = plan.curve(plan.k - left, plan.best_so_far) if left < plan.k else (plan.lower, plan.upper)
        middle = (lower + upper) / 2
        gain = "" if before is None or before[0] != left - 1 else f"{middle - before[1]:.4g}"
        table.add_row(str(left), f"{lower:.6f}", f"{upper:.6f}", gain)
        before = (left, middle)
    stats = plan.stats
    return Group(
        Text.assemble((title, "bold"), f": {plan.mdp!r}"),
        Text.assemble(
            f"best of {plan.k}: between ",
            (f"{plan.lower:.6f}", "bold green"),
            " and ",
            (f"{plan.upper:.6f}", "bold green"),
            f" ({plan.status}: width {plan.gap:.2g}, asked for {stats['tol']:.2g})\n",
        ),
        table,
        f"\n{int(stats['slices'])} slices, {int(stats['knots'])} knots, lattice step {stats['lattice_step']:g}"
        f"{' (exact)' if stats['exact_lattice'] else ''}, {stats['seconds']:.2f} s. "
        "The plan's policy earns at least the lower number; no policy earns more than the upper.",
    )


def exact_plan(plan: ExactPlan, title: str, most_rows: int = 30) -> RenderableType:
    """What an exact plan is worth, and what its policy does where its choice matters."""
    lower, upper = plan.curve(plan.k - 1, plan.best_so_far)
    alone = f"{(lower + upper) / 2:.6g}"
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("rollout", "step", "state", "best", "so far", "action", "chance", "worth"):
        table.add_column(heading, justify="left" if heading in ("state", "action") else "right", no_wrap=True)
    decisions = _choices(plan)
    for d in itertools.islice(decisions, most_rows):
        table.add_row(
            *(str(d.rollout), str(d.step), _name(plan.mdp.state_names, d.state), _number(d.best), _number(d.so_far)),
            *(_name(plan.mdp.action_names, d.action), f"{float(d.prob):.3g}", _number(d.value)),
        )
    hidden = sum(1 for _ in decisions)
    return Group(
        Text.assemble((title, "bold"), f": {plan.mdp!r}"),
        Text.assemble(
            f"best of {plan.k}: ",
            (f"{float(plan.exact):.8g}", "bold green"),
            f" (exactly {_fraction(plan.exact)}); one rollout alone: {alone}\n",
        ),
        "What the optimal policy does, wherever its choice matters:\n" if table.rows else "No choice matters here.",
        *([table] if table.rows else []),
        *([f"... and {hidden} more choices."] if hidden else []),
        "\nbest: the best return of earlier rollouts; so far: the return of this one; chance: that of coming to "
        "this choice; worth: the expected final best from there. Rollouts and steps count from 0.",
    )


def _choices(plan: ExactPlan) -> Iterator[Decision]:
    """The decisions in which some action is worse than another."""
    for d in plan.decisions():
        if min(d.values.values()) < d.value:
            yield d


def _number(value: Number) -> str:
    """A fraction where it is short, else a decimal."""
    if value == -math.inf:
        return "none"
    exact = Fraction(value)
    return str(exact) if exact.denominator < 10_000 else f"{float(exact):.8g}"


def _fraction(value: Fraction) -> str:
    """A fraction in full where a line can hold it."""
    bits = value.denominator.bit_length()
    return str(value) if bits <= 64 else f"a fraction whose denominator has {bits} bits"


def _name(names: tuple[str, ...] | None, number: int) -> str:
    return names[number] if names else str(number)


def comparison(found: Comparison) -> RenderableType:
    """Classes of policies side by side."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("policy", "earns", "at most", "of the gain", "obtained by"):
        table.add_column(heading, justify="left" if heading in ("policy", "obtained by") else "right")
    spread = max(found.plan.upper - found.rows[0].lower, 1e-9 * abs(found.plan.upper), 1e-300)
    decimals = min(max(3 - math.floor(math.log10(spread)), 0), 12)
    for row in found.rows:
        share = found.share(row)
        table.add_row(
            row.name,
            f"{row.lower:.{decimals}f}",
            f"{row.upper:.{decimals}f}",
            "" if share is None else f"{100 * share:.1f} %",
            row.how if row.exact is None else f"{row.how}: {_number(row.exact)}",
        )
    return Group(
        Text.assemble((f"best of {found.plan.k}", "bold"), f": {found.mdp!r}\n"),
        table,
        "\nA policy of the class earns the first number; no policy of the class earns more than the second.",
    )
