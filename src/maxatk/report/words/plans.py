"""What is proved of plans, in words."""

import math
from fractions import Fraction

from maxatk.base.findings import Agreement, Gain, Loss, Outcome, Share, Stop
from maxatk.base.text import as_given, at_least, at_most, decimals_of, known, probability, small, span

MEAN, ONE_MEAN = "a policy with the best mean", "one of the policies with the best mean"


def gain(found: Gain, value: float, best: float, why: str = "", remedy: str = "Ask for a smaller tol.") -> list[str]:
    """What adapting gains, beside what the plan earns at least.

    Args:
        found: the finding.
        value: what the plan's policy earns at least.
        best: what some policy earns at least, by a comparison: the plan's, or another one.
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
            f"{_planning(found)}: at least {at_least(best, _decimals(best, found.upper))}, "
            f"a gain of {span(found.lower, found.upper)}.",
            *([f"This plan earns at least {at_least(value, _decimals(value, 0.0))} of that."] if value < best else []),
        ]
    most = f": between 0 and {small(found.upper)}" if math.isfinite(found.upper) else ""
    return [
        f"It is not known whether adapting gains anything here{most}. {remedy}".rstrip(),
        f"{_rival(found, 'Repeating ', '', 'Making ')}: {rival}.",
        f"{_planning(found)}: at least {at_least(best, _decimals(best, found.upper))}.",
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
    if found.at == math.inf:
        words = ["This plan makes all its tries, whatever they return"]
    else:
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
        most = as_given(found.upper, decimals_of(found.upper, digits=digits))
        if found.outcome is not Outcome.PROVED or Fraction(most) <= found.target:
            return most
    return f"{found.upper!r}"


def _decimals(x: float, gain: float) -> int:
    """As many as give a number four digits, and a gain three."""
    fine = 2 - math.floor(math.log10(gain)) if 0 < gain < math.inf else 0
    return min(max(decimals_of(x, digits=4), min(fine, decimals_of(x, digits=15))), 12)
