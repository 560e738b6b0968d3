"""Findings about plans as sentences."""

import math
from collections.abc import Sequence
from fractions import Fraction

from maxatk.base.findings import Agreement, Gain, Kept, Loss, Outcome, Share, Stop
from maxatk.base.text import as_given, at_least, at_most, count_of, decimals_of, known, probability, small, span
from maxatk.base.types import Number

TINY, ORDINARY = 0.0001, 0.1  # a gain that is not told in digits, of returns at least so large
MOST_WIDTHS = 6  # of different rounds that are listed
PARTS = {2: "half", 3: "a third of", 4: "a quarter of", 5: "a fifth of", 6: "a sixth of", 8: "an eighth of"}
MEAN, ONE_MEAN = "a policy with the best mean", "one of the policies with the best mean"


def kept(finding: Kept) -> str:
    """A sentence on how much tries in rounds keep of what tries one at a time add."""
    share = math.floor(1000 * finding.lower) / 10  # rounded down: it is a lower bound
    keep = "keeps" if len(finding.rounds) == 1 else "keep"
    kept = f"{rounds(finding.rounds)} {keep} at least {share:g} % of what"
    if finding.costly:
        return f"{kept} up to {finding.k} tries, one after another, add to a single one."
    part = _part_of_rounds(Fraction(len(finding.rounds), finding.k))
    return f"{kept} {finding.k} tries, one after another, add to a single one, in {part}."


def rounds(widths: Sequence[int]) -> str:
    """Rounds in words, such as "3 rounds of 4"."""
    each = [widths[0]] if len(set(widths)) == 1 else widths
    of = ", ".join(map(str, each)) if len(each) <= MOST_WIDTHS else f"{min(each)} to {max(each)}"
    return f"{count_of(len(widths), 'round')} of {of}"


def _part_of_rounds(part: Fraction) -> str:
    """A part of the rounds that tries take one after another."""
    if part.numerator == 1 and part.denominator in PARTS:
        return f"{PARTS[part.denominator]} the rounds"
    return f"{as_given(100 * float(part), 0)} % of the rounds"


def round_stops(stops_at: Sequence[Number]) -> str:
    """When a plan in rounds stops: thresholds are rounded up, since from a higher one on it stops, too."""
    if stops_at[0] < math.inf:
        return "It makes no try: the best so far is enough."
    finite = {b + 1: float(m) for b, m in enumerate(stops_at) if m < math.inf}
    if not finite:
        return "It makes all rounds."
    decimals = max(decimals_of(*finite.values()), 1)
    told = {b: at_most(m, decimals).rstrip("0").rstrip(".") for b, m in finite.items()}
    if len(told) == len(stops_at) - 1 and len(set(told.values())) == 1:
        return f"After a round it stops if the best so far is at least {told[2]}."
    return f"It stops if the best so far is at least {', '.join(f'{m} before round {b}' for b, m in told.items())}."


def gain(finding: Gain, value: float, best: float, why: str = "", remedy: str = "Ask for a smaller tol.") -> list[str]:
    """Sentences on the gain from adapting and on the plan's value.

    Args:
        finding: the finding.
        value: a lower bound on the value of the plan's policy.
        best: a lower bound on the value of some policy: the plan's, or a better one of a comparison.
        why: the reason why nothing is gained, if it follows from the problem.
        remedy: advice on how to settle an open question.
    """
    adapting = f"Adapting in {rounds(finding.rounds)}" if finding.rounds else "Adapting"
    if finding.outcome is Outcome.DISPROVED:
        because = f" ({why})" if why else ""
        rival = at_least(finding.rival_lower, _decimals(finding.rival_lower, 0.0))
        return [
            f"{adapting} gains nothing here{because}."
            if finding.upper == 0
            else f"{adapting} gains next to nothing here{because}: {_tiny(finding)}{_of_added(finding)}.",
            f"{_rival(finding, 'Repeat ', 'Take ', 'Make ')}: at least {rival}.",
        ]
    rival = known(finding.rival_lower, finding.rival_upper, _decimals(finding.rival_lower, finding.upper))
    unit = f" {finding.unit}" if finding.unit else ""
    if finding.outcome is Outcome.PROVED:
        return [
            f"{_rival(finding, 'Repeating ', '', 'Making ')}: {rival}.",
            f"{_planning(finding)}: at least {at_least(best, _decimals(best, finding.upper))}, "
            f"a gain of {span(finding.lower, finding.upper)}{unit}.",
            *([f"This plan earns at least {at_least(value, _decimals(value, 0.0))} of that."] if value < best else []),
        ]
    most = f": between 0 and {small(finding.upper)}" if math.isfinite(finding.upper) else ""
    return [
        f"It is not known whether {adapting.lower()} gains anything here{most}. {remedy}".rstrip(),
        f"{_rival(finding, 'Repeating ', '', 'Making ')}: {rival}.",
        f"{_planning(finding)}: at least {at_least(best, _decimals(best, finding.upper))}.",
    ]


def _tiny(finding: Gain) -> str:
    """A small gain in words; without an exponent where returns have an ordinary size."""
    unit = f" {finding.unit}" if finding.unit else ""
    ordinary = max(abs(finding.rival_lower), abs(finding.rival_upper)) >= ORDINARY
    return f"less than {TINY}{unit}" if ordinary and finding.upper < TINY else f"at most {small(finding.upper)}{unit}"


def _of_added(finding: Gain) -> str:
    """A small gain as a share of what further tries add, unless that is below 0.001 %."""
    percent = 100 * finding.upper / finding.added if finding.added > 0 else 0.0
    return f", {small(percent)} % of what further tries add" if percent >= 1e-3 else ""


def _rival(finding: Gain, repeat: str, take: str, make: str) -> str:
    """The policy that does not adapt, in words."""
    n, mean = finding.rival_tries, ONE_MEAN if finding.tied else MEAN
    if not finding.costly:
        said = f"{take if finding.k == 1 else repeat}{mean}"
    elif n == 0:
        said = f"{make}no try at all"
    else:
        number = "the best number of tries" if n is None else "1 try" if n == 1 else f"{n} tries"
        said = f"{take}{mean}, {number} fixed beforehand, less costs"
    return said[0].upper() + said[1:]


def _planning(finding: Gain) -> str:
    if finding.costly:
        return "Planning, and stopping in time"
    best = "best so far" if finding.k == 1 else f"best of {finding.k}"
    of = f"utility of the {best}" if finding.utility else best
    return f"Planning for the {of}{f' in {rounds(finding.rounds)}' if finding.rounds else ''}"


def agreement(finding: Agreement) -> str:
    """A clause on whether trials agree with the proved interval."""
    if finding.outcome is Outcome.DISPROVED:
        return f"The trials contradict that: they come to {'less' if finding.upper < finding.proved_lower else 'more'}"
    if finding.outcome is Outcome.PROVED:
        return "The trials agree with that"
    return "The trials neither confirm nor contradict that: what is rare may be missing among them"


def share(finding: Share, policy: str) -> str:
    """A sentence on the share of the gain that a simpler policy has."""
    percent = f"{_percent(finding)} of the gain"
    if finding.outcome is Outcome.PROVED:
        return f"It is all in the tuning: {policy} has {percent}."
    return f"{policy[0].upper()}{policy[1:]} has {percent}."


def _percent(finding: Share) -> str:
    """A share in per cent; only a lower bound if the class may hold better policies."""
    low, high = math.floor(100 * finding.lower), math.ceil(100 * finding.upper)
    if high == 100:
        return f"at least {low} %"
    return f"{low} %" if low == high else f"{low} to {high} %"


def stop(finding: Stop) -> str:
    """A sentence on when a plan stops, its mean number of tries, and the number of useful ones."""
    sure = finding.outcome is Outcome.PROVED
    if finding.now:
        return (
            "Make no try: none is worth its cost." if sure else "This plan makes no try; whether one would pay is open."
        )
    if finding.at == math.inf:
        words = ["This plan makes all its tries, whatever they return"]
    else:
        words = [f"{'Stop' if sure else 'This plan stops'} {_when(finding)}"]
    if not sure:
        words.append("the best threshold is not known")
    tries = _tries(finding)
    if tries:
        words.append(f"{tries} on average")
    if finding.useful_tries is not None:
        n = finding.useful_tries
        words.append(f"all tries beyond {'the first' if n == 1 else n} together add at most {finding.tol:g}")
    return f"{'; '.join(words)}."


def _when(finding: Stop) -> str:
    """The condition for stopping; the threshold in full if it is a short number, else rounded up."""
    if finding.at == -math.inf:
        return "after the first try, whatever it returns"
    exact = f"{finding.at:.12g}"
    if not finding.on_step or len(exact.lstrip("-")) > 10:
        exact = f"about {at_most(finding.at, decimals_of(finding.at))}"
    return f"as soon as your best is {exact} or more"


def _tries(finding: Stop) -> str:
    """The mean number of tries, if it is known to about two digits."""
    low, high = finding.tries_lower, finding.tries_upper
    if high - low > KNOWN_TRIES * high:
        return ""
    number = known(low, high, decimals_of(high, digits=2))
    return f"{number} {'try' if number in ('1', '1.0') else 'tries'}"


KNOWN_TRIES = 0.05  # relative error up to which the mean number of tries is mentioned


def loss(finding: Loss) -> str:
    """A sentence on whether a learned policy meets its target."""
    most, asked, sure = (
        _within(finding),
        f"{finding.target!r}",
        f"with probability at least {probability(finding.delta)}",
    )
    if finding.outcome is Outcome.PROVED:
        return f"The policy is within {most} of the optimum, {sure} ({asked} was asked for)."
    return f"The target was missed: the policy is within {most} of the optimum, {sure}, and {asked} was asked for."


def _within(finding: Loss) -> str:
    """The bound on the loss, to four digits, or to as many as show that it meets the target."""
    for digits in range(4, 17):
        most = as_given(finding.upper, decimals_of(finding.upper, digits=digits))
        if finding.outcome is not Outcome.PROVED or Fraction(most) <= finding.target:
            return most
    return f"{finding.upper!r}"


def _decimals(x: float, gain: float) -> int:
    """The number of decimals that shows a number to four digits, and a gain to three."""
    fine = 2 - math.floor(math.log10(gain)) if 0 < gain < math.inf else 0
    return min(max(decimals_of(x, digits=4), min(fine, decimals_of(x, digits=15))), 12)
