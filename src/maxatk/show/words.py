"""Findings in words: the only place where sentences about what was proved are made.

Numbers are rounded so that a sentence stays true: lower bounds down, upper bounds up, and a plain number only where
both bounds round to it.
"""

import math
from fractions import Fraction

from maxatk.base.findings import Advice, Agreement, Difference, Gain, Loss, Measured, Outcome, Share, Stop
from maxatk.learning.learned import Learned
from maxatk.show.bounds import at_least, at_most, decimals_of, ends, known, probability, short, small, span

MEAN, ONE_MEAN = "a policy with the best mean", "one of the policies with the best mean"


def gain(found: Gain, value: float, why: str = "", remedy: str = "Ask for a smaller tol.") -> list[str]:
    """What adapting gains, beside what the plan earns at least.

    Args:
        found: the finding.
        value: what the plan's policy earns at least.
        why: why nothing is gained, where that can be seen from the problem.
        remedy: what would settle a question that is open.
    """
    if found.outcome is Outcome.DISPROVED:
        because = f" ({why})" if why else ""
        rival = at_least(found.rival_lower, _decimals(found.rival_lower, 0.0))
        return [
            f"Adapting gains nothing here{because}."
            if found.upper == 0
            else f"Adapting gains next to nothing here{because}: at most {small(found.upper)}{_of_added(found)}.",
            f"{_rival(found, 'Repeat ', 'Take ', 'Make ')}: at least {rival}.",
        ]
    rival = known(found.rival_lower, found.rival_upper, _decimals(found.rival_lower, found.upper))
    if found.outcome is Outcome.PROVED:
        return [
            f"{_rival(found, 'Repeating ', '', 'Making ')}: {rival}.",
            f"{_planning(found)}: at least {at_least(value, _decimals(value, found.upper))}, "
            f"a gain of {span(found.lower, found.upper)}.",
        ]
    most = f": between 0 and {small(found.upper)}" if math.isfinite(found.upper) else ""
    return [
        f"It is not known whether adapting gains anything here{most}. {remedy}".rstrip(),
        f"{_rival(found, 'Repeating ', '', 'Making ')}: {rival}.",
        f"{_planning(found)}: at least {at_least(value, _decimals(value, found.upper))}.",
    ]


def _of_added(found: Gain) -> str:
    """A small gain as a share of what further tries add, unless that is absurdly little."""
    percent = 100 * found.upper / found.added if found.added > 0 else 0.0
    return f", {small(percent)} % of what further tries add" if percent >= 1e-3 else ""


def _rival(found: Gain, repeat: str, take: str, make: str) -> str:
    """What does not adapt."""
    n, mean = found.rival_tries, ONE_MEAN if found.tied else MEAN
    if not found.costly:
        said = f"{take if found.k == 1 else repeat}{mean}"
    elif n == 0:
        said = f"{make}no try at all"
    else:
        number = "the best number of tries" if n is None else "1 try" if n == 1 else f"{n} tries"
        said = f"{take}{mean}, {number} fixed beforehand, less costs"
    return said[0].upper() + said[1:]


def _planning(found: Gain) -> str:
    if found.costly:
        return "Planning, and stopping in time"
    return "Planning for the best so far" if found.k == 1 else f"Planning for the best of {found.k}"


def agreement(found: Agreement) -> str:
    """Whether trials agree with what is proved."""
    if found.outcome is Outcome.DISPROVED:
        return f"The trials contradict that: they come to {'less' if found.upper < found.proved_lower else 'more'}"
    if found.outcome is Outcome.PROVED:
        return "The trials agree with that"
    return "The trials neither confirm nor contradict that: what is rare may be missing among them"


def share(found: Share, policy: str) -> str:
    """How much of the gain a simpler policy has."""
    percent = f"{_percent(found)} of the gain"
    if found.outcome is Outcome.PROVED:
        return f"It is all in the tuning: {policy} has {percent}."
    return f"{policy[0].upper()}{policy[1:]} has {percent}."


def _percent(found: Share) -> str:
    """A share in per cent, with a bound only where it is known: a class that was searched may hold better policies."""
    low, high = math.floor(100 * found.lower), math.ceil(100 * found.upper)
    if high == 100:
        return f"at least {low} %"
    return f"{low} %" if low == high else f"{low} to {high} %"


def stop(found: Stop) -> str:
    """When a plan stops, how many tries that takes, and how many are useful."""
    sure = found.outcome is Outcome.PROVED
    if found.now:
        return (
            "Make no try: none is worth its cost." if sure else "This plan makes no try; whether one would pay is open."
        )
    words = [f"{'Stop' if sure else 'This plan stops'} {_when(found)}"]
    if not sure:
        words.append("the best threshold is not known")
    tries = _tries(found)
    if tries:
        words.append(f"{tries} on average")
    if found.useful_tries is not None:
        n = found.useful_tries
        words.append(f"all tries beyond {'the first' if n == 1 else n} together add at most {found.tol:g}")
    return f"{'; '.join(words)}."


def _when(found: Stop) -> str:
    """A threshold in full where it is a short number, else to four digits."""
    if found.at == -math.inf:
        return "after the first try, whatever it returns"
    exact = f"{found.at:.12g}"
    if not found.on_step or len(exact.lstrip("-")) > 10:
        exact = f"about {at_most(found.at, decimals_of(found.at))}"
    return f"as soon as your best is {exact} or more"


def _tries(found: Stop) -> str:
    """The mean number of tries, if it is known to about two digits."""
    low, high = found.tries_lower, found.tries_upper
    if high - low > KNOWN_TRIES * high:
        return ""
    number = known(low, high, decimals_of(high, digits=2))
    return f"{number} {'try' if number in ('1', '1.0') else 'tries'}"


KNOWN_TRIES = 0.05  # of the mean number of tries: what is less certain is not said


def loss(found: Loss) -> str:
    """Whether a learned policy is as good as was asked for."""
    most, asked, sure = _within(found), f"{found.target!r}", f"with probability at least {probability(found.delta)}"
    if found.outcome is Outcome.PROVED:
        return f"The policy is within {most} of the optimum, {sure} ({asked} was asked for)."
    return f"The target was missed: the policy is within {most} of the optimum, {sure}, and {asked} was asked for."


def _within(found: Loss) -> str:
    """The loss at most, in four digits, or in as many as show that it is no more than what was asked for."""
    for digits in range(4, 17):
        most = _at_most(found.upper, decimals_of(found.upper, digits=digits))
        if found.outcome is not Outcome.PROVED or Fraction(most) <= found.target:
            return most
    return f"{found.upper!r}"


def learned(result: Learned) -> str:
    """What is certain of a learned policy, and how surely."""
    decimals = decimals_of(result.lower, result.upper)
    return (
        f"With probability at least {probability(result.delta)}, the policy earns at least "
        f"{at_least(result.lower, decimals)}, no policy earns more than {at_most(result.upper, decimals)}, and the "
        f"policy loses at most {_at_most(result.epsilon, decimals)}. ({result.basis}.)"
    )


def _at_most(x: float, decimals: int) -> str:
    """An upper bound: as it was given where it is a short number, else rounded up."""
    given = f"{x:g}"
    return given if float(given) == x else at_most(x, decimals)


BETTER = {  # how much one thing is above another, and below
    "score": ("is better", "is worse"),
    "net": ("is better", "is worse"),
    "cost": ("costs more", "costs less"),
    "seconds": ("takes longer", "takes less time"),
}
UNSURE = "are too few or too skewed for an interval where no range was given"


def difference(found: Difference) -> str:
    """Which of two is better, and by how much."""
    up, down = BETTER[found.of]
    of = {"score": " in one attempt" if found.k == 1 else f" in the best of {found.k}", "net": ""}.get(
        found.of, " an attempt"
    )
    times = "" if found.ratio is None else f" ({found.ratio[0]:.2f} to {found.ratio[1]:.2f} times as much)"
    more = " a task, score less cost at its price" if found.of == "net" else ""
    low, value, high = ends(found.lower, found.value, found.upper)
    if found.outcome is Outcome.PROVED:
        return f"{found.first} {up} than {found.second}{of}: by {low} to {high}{more}{times}"
    if found.outcome is Outcome.DISPROVED:
        low, _, high = ends(-found.upper, -found.value, -found.lower)
        return f"{found.first} {down} than {found.second}{of}: by {low} to {high}{more}{times}"
    neither = f"no difference between {found.first} and {found.second}{of} can be told"
    if found.level is None:
        return f"{neither}: {found.tasks} tasks {UNSURE}"
    needed = found.tasks_needed
    enough = "" if needed is None else f"; a difference of {value} would take about {needed} tasks"
    return f"{neither}: {low} to {high}{more}{times}{enough}"


FEW_TASKS = 30  # held out: fewer are too few to be sure of much


def advice(found: Advice) -> tuple[str, str]:
    """What to try, and what it earned on tasks that it was not chosen on."""
    price = f"at {short(found.price)} per unit of cost"
    first = f"Try {found.plan}, and stop as soon as one scores at least {short(found.stop_at)} ({price})."
    earned = f"scores {_measured(found.score)} for {_measured(found.cost)} a task"
    levels = [x.level for x in (found.score, found.cost) if x.level is not None]
    each = f" ({100 * max(levels):g} % intervals)" if levels else ""
    second = f"Chosen on {found.built} tasks, it {earned} on the other {found.tasks}{each}"
    few = "" if found.tasks >= FEW_TASKS else f"; {found.tasks} tasks are too few to be sure of much"
    beside = "" if found.alternative is None else f"; {_beside(found, found.alternative)}"
    return first, f"{second}{beside}{few}."


def _beside(found: Advice, other: str) -> str:
    """Whether what is advised is better than the alternative."""
    low, _, high = ends(found.lower, (found.lower + found.upper) / 2, found.upper)
    if found.outcome is Outcome.PROVED:
        return f"that is better than {other}, by {low} to {high}, score less cost"
    if found.outcome is Outcome.DISPROVED:
        return f"there {other} was better"
    if found.level is None:
        return f"whether it is better than {other} is not known: {found.tasks} tasks {UNSURE}"
    return f"whether it is better than {other} is not known: by {low} to {high}, score less cost"


def _measured(found: Measured) -> str:
    low, value, high = ends(found.lower, found.value, found.upper)
    return f"{value} ({low} to {high})" if found.level is not None else f"{short(found.value)} (no interval)"


def _decimals(x: float, gain: float) -> int:
    """As many as give a number four digits, and a gain three."""
    fine = 2 - math.floor(math.log10(gain)) if 0 < gain < math.inf else 0
    return min(max(decimals_of(x, digits=4), min(fine, decimals_of(x, digits=8))), 12)
