"""Findings in words: the only place where sentences about what was proved are made.

Numbers are rounded so that a sentence stays true: lower bounds down, upper bounds up, and a plain number only where
both bounds round to it.
"""

import math
from fractions import Fraction

from maxatk.base.findings import (
    Advice,
    Agreement,
    Difference,
    Gain,
    Loss,
    Measured,
    NoAdvice,
    Outcome,
    Reason,
    Share,
    Stop,
)
from maxatk.base.text import at_least, at_most, decimals_of, ends, known, probability, short, small, span
from maxatk.learning.learned import Learned

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
PER = {"net": " a task, score less cost at its price", "cost": " an attempt", "seconds": " an attempt"}
IN = {"cost": " in cost", "seconds": " in time"}
ELSEWHERE = "other tasks may differ"


def difference(found: Difference) -> str:
    """Which of two is better, and by how much."""
    more = found.outcome is Outcome.PROVED or (found.outcome is Outcome.UNKNOWN and found.value > 0)
    up, down = BETTER[found.of]
    of = "" if found.of != "score" else " in one attempt" if found.k == 1 else f" in the best of {found.k}"
    is_so = f"{found.first} {up if more else down} than {found.second}{of}"
    times = "" if found.ratio is None else f" ({span(*found.ratio)} times as much)"
    per = PER.get(found.of, "")
    low, value, high = ends(found.lower, found.value, found.upper)
    if found.outcome is Outcome.PROVED:
        return f"{is_so}: by {low} to {high}{per}{times}"
    if found.outcome is Outcome.DISPROVED:
        low, _, high = ends(-found.upper, -found.value, -found.lower)
        return f"{is_so}: by {low} to {high}{per}{times}"
    if always := _always(found):
        if found.value == 0:
            return f"{found.first} and {found.second} are equal{IN.get(found.of, '')}{of} {always}; {ELSEWHERE}"
        return f"{is_so} {always}: by {short(abs(found.value))}{per}; {ELSEWHERE}"
    neither = f"no difference{IN.get(found.of, '')} between {found.first} and {found.second}{of} can be established"
    if found.level is None:
        return f"{neither}: {_unsure(found)}"
    needed = found.tasks_needed
    power = "" if needed is None else f"; a difference of {value} would take about {tasks_in_words(needed)}"
    return f"{neither}: {low} to {high}{per}{times}{power}"


def told(found: Difference) -> str:
    """The same in a word or two, beside its numbers."""
    if always := _always(found):
        return f"{'equal' if found.value == 0 else 'by the same amount'} {always}"
    if found.level is None:
        return "not established: too few or too skewed tasks"
    return {Outcome.PROVED: "better", Outcome.DISPROVED: "worse"}.get(found.outcome, "not established")


def _always(found: Difference | Advice) -> str:
    """Where a difference was the same at every task, which is no evidence on other tasks if no range is known."""
    if found.level is not None or found.lower != found.upper:
        return ""
    return f"at all {found.tasks} tasks of the log" if found.tasks > 1 else "at the one task of the log"


def _unsure(found: Difference | Advice) -> str:
    """The reason why an interval has no level, and what would give it one."""
    without = f" without {' and '.join(f'a {name}' for name in found.needs)}" if found.needs else ""
    is_few = "is too few" if found.tasks == 1 else "are too few or too skewed"
    return f"{tasks_in_words(found.tasks)} {is_few} for an interval{without}"


def tasks_in_words(n: int) -> str:
    """A number of tasks."""
    return "1 task" if n == 1 else f"{n} tasks"


def percent(level: float) -> str:
    """A level in per cent, which is never 100."""
    said = (f"{100 * level:.{digits}g}" for digits in (12, 15, 17))
    return f"{next((text for text in said if text != '100'), 'nearly 100')} %"


def threshold(x: float) -> str:
    """A score at which to stop: to three digits if that is exact, else in full."""
    return short(x) if float(short(x)) == x else repr(x)


def measured(found: Measured) -> tuple[str, str]:
    """A mean over tasks, and its interval, as every such number is shown."""
    low, value, high = ends(found.lower, found.value, found.upper)
    return value, f"{low} to {high}" + ("" if found.level is not None else ", no level")


FEW_TASKS = 30  # held out: with fewer the advice says that they are few


def advice(found: Advice | NoAdvice) -> tuple[str, str]:
    """What to try, with its score and cost on tasks that it was not chosen on; or why there is no advice."""
    if isinstance(found, NoAdvice):
        return _no_advice(found)
    few = "" if found.tasks >= FEW_TASKS else f"; {tasks_in_words(found.tasks)} {'is' if found.tasks == 1 else 'are'} "
    few = few and f"{few}too few to be sure of much"
    if found.attempts == 0:
        return _try_nothing(found, few)
    if found.same is not None:
        return _try_cheapest(found, few)
    stop = f", and stop as soon as one scores at least {threshold(found.stop_at)}"
    first = f"Try {found.plan}{' once' if found.attempts == 1 else stop} ({aim(found)})."
    earned = f"scores {_with_level(found.score)} for {_with_level(found.cost)} a task"
    second = f"Chosen on {tasks_in_words(found.built)}, it {earned} on the other {found.tasks}{_missed(found)}"
    if found.alternative is None:
        return first, f"{second}{few}."
    return first, f"{second}; {_beside(found, found.alternative)}{few if found.level is not None else ''}."


def aim(found: Advice) -> str:
    """The goal of a plan."""
    if found.budget is not None:
        return f"for a budget of {found.budget:g} a task"
    if found.target_score is not None:
        return f"to reach a score of {found.target_score:g}"
    return f"at {short(found.price)} per unit of cost"


def _missed(found: Advice) -> str:
    """Whether a goal that was met on some tasks was missed on the others."""
    if found.budget is not None and found.cost.value > found.budget:
        return ", more than the budget"
    if found.target_score is not None and found.score.value < found.target_score:
        return ", less than the target"
    return ""


def _try_nothing(found: Advice, few: str) -> tuple[str, str]:
    counts = f"a task without an attempt scores {short(found.default_score)}"
    if found.alternative is None:
        return f"Try nothing ({aim(found)}).", f"{counts[0].upper()}{counts[1:]}, which reaches the target."
    built, tasks = tasks_in_words(found.built), tasks_in_words(found.tasks)
    first = f"Try nothing ({aim(found)}): on the {built} that plans are chosen on, no attempt earns its cost."
    low, _, high = ends(-found.upper, -(found.lower + found.upper) / 2, -found.lower)
    level = "no level" if found.level is None else percent(found.level)
    adds = f"adds {low} to {high} ({level}) to the score, less its cost,"
    return first, f"The best single attempt there, {found.alternative}, {adds} on the other {tasks}; {counts}{few}."


def _try_cheapest(found: Advice, few: str) -> tuple[str, str]:
    first = f"Try {found.plan} once: all attempts of the log score {short(found.same or 0.0)}"
    costs = f"Chosen on {tasks_in_words(found.built)}, it costs {_with_level(found.cost)} a task on the other"
    if found.alternative is None:
        return f"{first}.", f"{costs} {found.tasks}{few}."
    said = _beside(found, found.alternative)
    return f"{first}, and it costs least.", f"{costs} {found.tasks}; {said}{few if found.level is not None else ''}."


def _beside(found: Advice, other: str) -> str:
    """Whether what is advised is better than the alternative."""
    low, _, high = ends(found.lower, (found.lower + found.upper) / 2, found.upper)
    net = "score less cost"
    if found.same is not None:
        net = "in cost"
    elif found.budget is not None or found.target_score is not None:
        net = f"score less cost at {short(found.price)} per unit" if found.price > 0 else "in score"
    if found.outcome is Outcome.PROVED:
        return f"that is better than {other}, by {low} to {high}, {net}"
    if found.outcome is Outcome.DISPROVED:
        low, _, high = ends(-found.upper, -(found.lower + found.upper) / 2, -found.lower)
        return f"there {other} was better, by {low} to {high}, {net}"
    if always := _always(found).removesuffix(" of the log"):
        if found.lower == 0:
            return f"{other} was equal {always}, {net}; {ELSEWHERE}"
        which = f"that was better than {other}" if found.lower > 0 else f"there {other} was better"
        return f"{which}, by {short(abs(found.lower))}, {net}, {always}; {ELSEWHERE}"
    if found.level is None:
        return f"whether it is better than {other} is not known: {_unsure(found)}"
    return f"whether it is better than {other} is not known: by {low} to {high}, {net}"


def _with_level(found: Measured) -> str:
    value, interval = measured(found)
    sure = "" if found.level is None else f", {percent(found.level)}{'' if found.proved else ' nominal'}"
    return f"{value} ({interval}{sure})"


def _no_advice(found: NoAdvice) -> tuple[str, str]:
    """Why a log does not say what to try, and what would help."""
    tasks, (asked, best) = tasks_in_words(found.tasks), _told_apart(found.asked or 0.0, found.best or 0.0)
    goal = f"On the {tasks} that plans are chosen on,"
    return {
        Reason.COSTS_UNKNOWN: (
            "Too few costs are known to weigh scores against them, so there is no advice.",
            "Log what every attempt costs.",
        ),
        Reason.NOT_SHARED: (
            "Fewer than two tasks were tried by all arms, so there is no advice.",
            "Let all arms try the same tasks.",
        ),
        Reason.FREE: (
            "All attempts cost 0, so there are no costs to weigh scores against.",
            "Log costs, or leave them out: then every attempt counts as 1.",
        ),
        Reason.ALIKE: (
            "All attempts score the same and cost the same, so there is no advice.",
            "Log tasks at which they differ.",
        ),
        Reason.FEW_TASKS: (
            f"{tasks} {'is' if found.tasks == 1 else 'are'} too few to choose a plan on some and test it on others.",
            "Log at least four tasks; thirty in each half give useful intervals.",
        ),
        Reason.TOO_DEAR: (
            f"{goal} a budget of {asked} a task does not cover one attempt: the cheapest costs {best} on average.",
            "Allow a larger budget.",
        ),
        Reason.OUT_OF_REACH: (
            f"{goal} no sequence was found that scores {asked}: the best has {best}.",
            "Ask for a lower score, or log more attempts.",
        ),
    }[found.reason]


def _told_apart(asked: float, best: float) -> tuple[str, str]:
    """Two different numbers: the first in full, the second with as many digits as show which is larger."""
    said = (f"{best:.{digits}g}" for digits in range(3, 18))
    return f"{asked:g}" if float(f"{asked:g}") == asked else repr(asked), next(
        (text for text in said if (float(text) < asked) == (best < asked) and float(text) != asked), repr(best)
    )


def _decimals(x: float, gain: float) -> int:
    """As many as give a number four digits, and a gain three."""
    fine = 2 - math.floor(math.log10(gain)) if 0 < gain < math.inf else 0
    return min(max(decimals_of(x, digits=4), min(fine, decimals_of(x, digits=15))), 12)
