"""Plans, trials of their policies and learned policies, for the terminal."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maxatk.base.checks import name_of
from maxatk.base.findings import Loss, Outcome
from maxatk.base.text import agreed, at_least, at_most, count_of, decimals_of, known, small, span
from maxatk.base.types import Number
from maxatk.evaluation.simulate import Simulation
from maxatk.learning.learned import Learned
from maxatk.planning import CertifiedPlan, ExactPlan, Plan
from maxatk.planning.exact import Decision
from maxatk.planning.plan import Status
from maxatk.policies import ABANDON
from maxatk.report.data.plans import agreement
from maxatk.report.tables.fitting import FittingTable
from maxatk.report.words import plans as words
from maxatk.report.words import verdict as verdicts

NEXT_TO_NOTHING = 1e-9  # of a value


def interval(plan: Plan) -> tuple[str, str]:
    """The bounds of a plan in print."""
    lower, upper = (plan.exact, plan.exact) if isinstance(plan, ExactPlan) else (plan.lower, plan.upper)
    return at_least(lower, decimals(plan)), at_most(upper, decimals(plan))


def decimals(plan: Plan) -> int:
    """The number of decimals that distinguishes the bounds, for at most ten digits."""
    size = decimals_of(plan.lower, plan.upper, digits=10)
    narrow = 2 - math.floor(math.log10(plan.gap)) if 0 < plan.gap < math.inf and not isinstance(plan, ExactPlan) else 6
    tiny = decimals_of(plan.lower, plan.upper)  # for bounds below 1e-6
    return min(max(6, narrow, tiny), size)


def tries(plan: Plan) -> Iterator[tuple[int, float, float]]:
    """Numbers of rollouts, 1 to 10 and k, with bounds on their value."""
    shown = sorted({*range(1, min(plan.k, 10) + 1), plan.k})
    for n, (lower, upper) in zip(shown, plan.values_by_tries(shown), strict=True):
        yield n, lower, upper


def by_tries(plan: Plan) -> Table:
    """The values of 1, 2, ... tries, and what each further one adds."""
    table = FittingTable(box=None, padding=(0, 2, 0, 0))
    for heading in ("tries", "at least", "at most", "gain from one more try"):
        table.add_column(heading, justify="right", overflow="fold")
    before = None
    for left, lower, upper in tries(plan):
        gain = "" if before is None or before[0] != left - 1 else _added(before[1:], (lower, upper))
        table.add_row(str(left), at_least(lower, decimals(plan)), at_most(upper, decimals(plan)), gain)
        before = (left, lower, upper)
    return table


def first_screen(plan: Plan, title: str, verdict: Sequence[str], shown: RenderableType | None) -> RenderableType:
    """What a command shows of a plan at first: two numbers and the gain, maps of its tries, values by tries."""
    lowest, highest = interval(plan)
    sizes = f"{count_of(plan.mdp.n_states, 'state')}, {count_of(plan.mdp.n_actions, 'action')}"
    steps = count_of(plan.mdp.horizon, "step")
    return Group(
        Text.assemble((title, "bold"), f"   {verdicts.goal(plan)}   {sizes}, {steps}\n"),
        *_gained(plan, verdict),
        Text.assemble(
            f"{verdicts.goal(plan)}: between ", (lowest, "bold green"), " and ", (highest, "bold green"),
            f" ({plan.status}{_asked(plan)})",
        ),
        *([Text(f"\n{verdicts.stopping(plan)}", style="bold")] if plan.stop_at < math.inf else []),
        *(["", shown] if shown is not None else []),
        *(["", _across(plan)] if plan.k > 1 else []),
    )  # fmt: skip


def _asked(plan: Plan) -> str:
    """How far the interval is from what was asked for, where the search ended before."""
    if plan.status in (Status.WITHIN_TOL, Status.EXACT) or "tol" not in plan.stats:
        return ""
    return f": width {plan.gap:.2g}, asked for {plan.stats['tol']:.2g}"


def _gained(plan: Plan, verdict: Sequence[str]) -> Iterator[RenderableType]:
    """The two numbers and the gain if it is proved, and the sentences of the verdict if not."""
    gain = plan.gain if verdict else None
    if gain is None or gain.outcome is not Outcome.PROVED or plan.k == 1:
        yield from ([Text(f"{' '.join(verdict)}\n", style="bold")] if verdict else [])
        return
    decimals = max(decimals_of(gain.rival_lower, plan.lower, digits=4), decimals_of(gain.lower, digits=2))
    unit = f" {gain.unit}" if gain.unit else ""
    rival = "the best mean, its best number of tries" if plan.costly else "repeat the best mean"
    width = max(len(rival), len("this plan"))
    numbers = known(gain.rival_lower, gain.rival_upper, decimals), at_least(plan.lower, decimals)
    wide = max(map(len, numbers))
    more = at_least(gain.lower, decimals)  # in the decimals of the two numbers, whose difference readers take
    yield Text.assemble(f"  {rival:<{width}}   ", (f"{numbers[0]:>{wide}}", "blue"))
    yield Text.assemble(
        f"  {'this plan':<{width}}   ", (f"{numbers[1]:>{wide}}", "bold green"),
        (f"   +{more}{unit}", "bold"), f"   proved: nothing beats {at_most(plan.upper, decimals)}\n",
    )  # fmt: skip


def _across(plan: Plan) -> Table:
    """The values of 1, 2, ... tries in a row of at most nine: the first ones, and the last."""
    told = list(tries(plan))
    told = told if len(told) <= MOST_ACROSS else [*told[: MOST_ACROSS - 1], told[-1]]
    decimals = decimals_of(*(lower for _, lower, _ in told), digits=4)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(len(told) + 1):
        table.add_column(justify="right", no_wrap=True)
    table.add_row("tries", *(str(n) for n, _, _ in told))
    table.add_row("value at least", *(at_least(lower, decimals) for _, lower, _ in told))
    return table


MOST_ACROSS = 7  # numbers of tries side by side: they fit 80 columns


def hints(title: str, page: bool = True) -> str:
    """What else the command can show."""
    name = title.replace("\\", "/").split("/")[-1]
    on_page = f", --page {name}.html --open" if page and name.isprintable() else ""
    return f"More: --compare, --explain, --verbose{on_page}"


def details(plan: CertifiedPlan) -> RenderableType:
    """Bounds by number of tries, and the work that the search took."""
    stats = plan.stats
    return Group(
        by_tries(plan),
        f"\n{count_of(int(stats['slices']), 'slice')}, {count_of(int(stats['knots']), 'knot')}, "
        f"lattice step {stats['lattice_step']:g}{' (exact)' if stats['exact_lattice'] else ''}, "
        f"{stats['seconds']:.2f} s; width {plan.gap:.2g}, asked for {stats['tol']:.2g}. "
        "The plan's policy earns at least the lower number; no policy earns more than the upper.",
    )


def _added(fewer: tuple[float, float], more: tuple[float, float]) -> str:
    """What one more try adds, from the bounds of both values: a number, or an upper bound."""
    low, high = max(more[0] - fewer[1], 0.0), max(more[1] - fewer[0], 0.0)
    if high <= NEXT_TO_NOTHING * max(map(abs, (*fewer, *more))):
        return "0" if high == 0 else f"at most {small(high)}"
    return agreed(low, high, digits=4) or span(low, high, digits=2)


def exact_plan(plan: ExactPlan, title: str, most_rows: int = 30) -> RenderableType:
    """The value of an exact plan, and its choices that matter."""
    lower, upper = plan.curve(plan.k - 1, plan.best_so_far)
    alone = f"{(lower + upper) / 2:.6g}"
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("try", "step", "state", "best", "so far", "action", "chance", "value"):
        table.add_column(heading, justify="left" if heading in ("state", "action") else "right", no_wrap=True)
    decisions = _choices(plan)
    for d in itertools.islice(decisions, most_rows):
        table.add_row(
            *(str(d.rollout), str(d.step), name_of(plan.mdp.state_names, d.state), _number(d.best), _number(d.so_far)),
            "give up" if d.action == ABANDON else name_of(plan.mdp.action_names, d.action),
            *(f"{float(d.prob):.3g}", _number(d.value)),
        )
    hidden = sum(1 for _ in decisions)
    return Group(
        Text.assemble((title, "bold"), f": {plan.mdp!r}"),
        Text.assemble(
            f"{verdicts.goal(plan)}: ",
            (f"{float(plan.exact):.8g}", "bold green"),
            f" (exactly {_fraction(plan.exact)}); one try alone: {alone}\n",
            *([(verdicts.stopping(plan), "bold"), "\n"] if plan.stop_at < math.inf else []),
        ),
        "What the optimal policy does, wherever its choice matters:\n"
        if table.rows
        else f"No choice of an action matters here{'' if plan.stop_at == math.inf else ', only when to stop'}.",
        *([table] if table.rows else []),
        *([f"... and {hidden} more choices."] if hidden else []),
        *([_legend(plan)] if table.rows else []),
    )


def _legend(plan: ExactPlan) -> str:
    return (
        "\nbest: the best return of earlier tries; so far: the return of this one; chance: that of coming to "
        f"this choice; value: the expected final best from there"
        f"{', less costs to come' if plan.stop_at < math.inf else ''}. Tries and steps count from 0."
    )


def _choices(plan: ExactPlan) -> Iterator[Decision]:
    """The decisions with an action of less value than another."""
    for d in plan.decisions():
        if min(d.values.values()) < d.value:
            yield d


def _number(value: Number) -> str:
    """A number as a fraction if that is short, else as a decimal."""
    if value == -math.inf:
        return "none"
    fraction = Fraction(value)
    return str(fraction) if fraction.denominator < 10_000 else f"{float(fraction):.8g}"


def _fraction(value: Fraction) -> str:
    """A fraction in full if it fits a line, otherwise its size."""
    bits = value.denominator.bit_length()
    return str(value) if bits <= 64 else f"a fraction whose denominator has {bits} bits"


def simulation(plan: Plan | Learned, runs: Simulation, level: float = 0.95) -> RenderableType:
    """The results of a policy in trials, with its certified interval."""
    low, high = runs.interval(level)
    learned = isinstance(plan, Learned)
    what = f"best of {plan.k}" if learned else verdicts.goal(plan)
    agrees = words.agreement(agreement(plan, runs, level))
    sure = plan.certificate if learned else f"certified for this policy: {' to '.join(interval(plan))}"
    return Group(
        Text.assemble(
            f"{what} in {count_of(len(runs.best), 'trial')}: ",
            (f"{runs.mean:.6g}", "bold green"),
            f" on average{f', {100 * level:g} % interval by t {low:.6g} to {high:.6g}' if len(runs.best) > 1 else ''}",
        ),
        *([_costs(runs)] if not learned and plan.costly else []),
        sure,
        f"{agrees}; {count_of(runs.steps, 'step')} in {runs.seconds:.1f} s",
    )


def _costs(runs: Simulation) -> str:
    best, cost, tries = (float(x.mean()) for x in (runs.best, runs.cost, runs.tries))
    return f"best return {best:.6g} for {cost:.6g}, in {tries:.3g} tries on average"


def learned(result: Learned, title: str) -> RenderableType:
    """A learned policy: whether it meets its target, and its bounds."""
    met = [words.loss(one) for one in result.findings if isinstance(one, Loss)]
    return Group(
        Text.assemble((title, "bold"), f": best of {result.k}, from {count_of(result.samples, 'sample')}. ", *met),
        result.certificate,
    )
