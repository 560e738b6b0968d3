"""What logs of attempts say, in words."""

from maxatk.attempts.estimates.difficulty import Difficulty
from maxatk.attempts.estimates.extrapolation import PassRange
from maxatk.attempts.sequences.plan import Capped, SequencePlan
from maxatk.attempts.sequences.replay import Replay
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.base.findings import Advice, Compared, Difference, Measured, NoAdvice, Outcome, Reason
from maxatk.base.text import at_least, at_most, count_of, ends, percent, short, span, threshold

BETTER = {  # how much one thing is above another, and below
    "score": ("is better", "is worse"),
    "pick": ("is better", "is worse"),
    "net": ("is better", "is worse"),
    "cost": ("costs more", "costs less"),
    "seconds": ("takes longer", "takes less time"),
}
PER = {"net": " a task, score less cost at its price", "cost": " an attempt", "seconds": " an attempt"}
IN = {"cost": " in cost", "seconds": " in time"}
ELSEWHERE = "other tasks may differ"


def difference(result: Difference) -> str:
    """Which of two is better, and by how much."""
    more = result.outcome is Outcome.PROVED or (result.outcome is Outcome.UNKNOWN and result.value > 0)
    up, down = BETTER[result.of]
    of = "" if result.of != "score" else " in one attempt" if result.k == 1 else f" in the best of {result.k}"
    of = f" in the pick among {result.k}" if result.of == "pick" else of
    is_so = f"{result.first} {up if more else down} than {result.second}{of}"
    times = "" if result.ratio is None else f" ({span(*result.ratio)} times as much)"
    per = PER.get(result.of, "")
    low, _, high = ends(result.lower, result.value, result.upper)
    if result.outcome is Outcome.PROVED:
        return f"{is_so}: by {low} to {high}{per}{times}"
    if result.outcome is Outcome.DISPROVED:
        low, _, high = ends(-result.upper, -result.value, -result.lower)
        return f"{is_so}: by {low} to {high}{per}{times}"
    if always := _always(result):
        if result.value == 0:
            return f"{result.first} and {result.second} are equal{IN.get(result.of, '')}{of} {always}; {ELSEWHERE}"
        return f"{is_so} {always}: by {short(abs(result.value))}{per}; {ELSEWHERE}"
    neither = f"no difference{IN.get(result.of, '')} between {result.first} and {result.second}{of} can be established"
    if result.basis.level is None:
        return f"{neither}: {_unsure(result)}"
    needed = result.tasks_needed
    size = short(abs(result.value))  # not in the decimals of the interval: the number of tasks is for this very size
    power = "" if needed is None else f"; a difference of {size} would take about {count_of(needed, 'task')}"
    return f"{neither}: {low} to {high}{per}{times}{power}"


def told(result: Difference) -> str:
    """The same in a word or two, beside its numbers."""
    if always := _always(result):
        return f"{'equal' if result.value == 0 else 'by the same amount'} {always}"
    if result.basis.level is None:
        return "not established: too few or too skewed tasks"
    return {Outcome.PROVED: "better", Outcome.DISPROVED: "worse"}.get(result.outcome, "not established")


def _always(result: Compared) -> str:
    """Where a difference was the same at every task, which is no evidence on other tasks if no range is known."""
    tasks = result.basis.tasks
    if result.basis.level is not None or result.lower != result.upper:
        return ""
    return f"at all {tasks} tasks of the log" if tasks > 1 else "at the one task of the log"


def _unsure(result: Compared) -> str:
    """The reason why an interval has no level, and what would give it one."""
    tasks, needs = result.basis.tasks, result.basis.needs
    without = f" without {' and '.join(f'a {name}' for name in needs)}" if needs else ""
    is_few = "is too few" if tasks == 1 else "are too few or too skewed"
    return f"{count_of(tasks, 'task')} {is_few} for an interval{without}"


def pass_range(result: PassRange) -> str:
    """Bounds on pass@k for more attempts than were made."""
    return (
        f"pass@{result.k} lies between {at_least(result.lower, 3)} and {at_most(result.upper, 3)} "
        f"({percent(result.level)}, {count_of(result.tasks, 'task')} with {count_of(result.attempts, 'attempt')} each)"
    )


def difficulty(result: Difficulty) -> str:
    """How much the attempts of an arm at one task have in common."""
    return (
        f"{result.arm}: {100 * result.between:.0f} % of the variance of scores lies between tasks; the best of "
        f"{result.k} is worth {short(result.measured)}, and a table counted from the log would promise "
        f"{short(result.pooled)}"
    )


def capped(result: Capped) -> str:
    """One arm with a cap, and a warning if the log cuts it short."""
    return f"{result} (all that were logged; more might pay)" if result.cut else str(result)


def sequence(plan: SequencePlan) -> str:
    """What to try, in which order, and when to stop."""
    if not plan.steps and plan.goal.target_score is not None:
        return f"Try nothing: the default score of {short(plan.default_score)} reaches the target."
    if not plan.steps:
        pays = f"at {short(plan.price)} per unit of cost no attempt pays"
        return f"Try nothing: {pays} on the {count_of(plan.built_from.tasks, 'task')} that this was built from."
    if len(plan.steps) == 1:
        return f"{plan.spelled}, once."
    return f"{plan.spelled}; {when(plan)} one scores at least {threshold(plan.stop_at)}."


def when(plan: SequencePlan) -> str:
    """When to stop: after any attempt, or after a round of those that are made at once."""
    return "stop as soon as" if plan.width == 1 else f"{plan.width} at a time; stop after a round in which"


def replay(result: Replay) -> str:
    """Whether a sequence is better than the best single arm on held-out tasks."""
    if result.single.same:
        return f"the sequence is {result.single} itself"
    cut = "; note that the log has no more attempts of that arm, and more might pay" if result.single.cut else ""
    return difference(result.finding) + cut


def frontier(result: Frontier) -> str:
    """Whether sequences are better than one arm with a cap."""
    if result.finding is None:
        return "The log has too few attempts of each arm to say whether one arm alone would do as well."
    prices = "At one price" if result.fair == 1 else f"On average over {result.fair} prices"
    return f"{prices}, {difference(result.finding)}."


def measured(result: Measured) -> tuple[str, str]:
    """A mean over tasks, and its interval, as every such number is shown."""
    low, value, high = ends(result.lower, result.value, result.upper)
    return value, f"{low} to {high}" + ("" if result.level is not None else ", no level")


FEW_TASKS = 30  # held out: with fewer the advice says that they are few


def advice(result: Advice | NoAdvice) -> tuple[str, str]:
    """What to try, with its score and cost on tasks that it was not chosen on; or why there is no advice."""
    if isinstance(result, NoAdvice):
        return _no_advice(result)
    plan, tasks = result.chosen, result.basis.tasks
    are = "is" if tasks == 1 else "are"
    few = "" if tasks >= FEW_TASKS else f"; {count_of(tasks, 'task')} {are} too few to be sure of much"
    if plan.attempts == 0:
        return _try_nothing(result, few)
    if result.same is not None:
        first, second = f"Try {plan.plan} once: all attempts of the log score {short(result.same)}", "costs "
        first += "." if result.alternative is None else ", and it costs least."
    else:
        stop = f", and stop as soon as one scores at least {threshold(plan.stop_at)}"
        if plan.judge is not None:
            picks = f", and hand in the one that {plan.judge} likes best"
            stop = f", stop as soon as {plan.judge} gives one at least {threshold(plan.stop_at)}{picks}"
        first = f"Try {plan.plan}{' once' if plan.attempts == 1 else stop} ({aim(result)})."
        second = f"scores {_with_level(result.score)} for "
    second += f"{_with_level(result.cost)} a task on the other {tasks}{_missed(result)}"
    second = f"Chosen on {count_of(plan.built, 'task')}, it {second}"
    if result.alternative is None:
        return first, f"{second}{few}."
    few = few if result.basis.level is not None else ""
    return first, f"{second}; {_beside(result, _rival(result.alternative, result.parts))}{few}."


MOST_PARTS = 3  # of an alternative whose attempts are named in a sentence


def _rival(named: str, parts: int) -> str:
    """The alternative in a sentence: its attempts, or their number where they would hide the rest of the sentence."""
    return named if parts <= MOST_PARTS else f"the alternative (a sequence of {parts} parts)"


def aim(result: Advice) -> str:
    """The goal of a plan."""
    if result.aim.budget is not None:
        return f"for a budget of {result.aim.budget:g} a task"
    if result.aim.target_score is not None:
        return f"to reach a score of {result.aim.target_score:g}"
    return f"at {short(result.aim.price)} per unit of cost"


def _missed(result: Advice) -> str:
    """Whether a goal that was met on some tasks was missed on the others."""
    if result.same is not None:
        return ""
    if result.aim.budget is not None and result.cost.value > result.aim.budget:
        return ", more than the budget"
    if result.aim.target_score is not None and result.score.value < result.aim.target_score:
        return ", less than the target"
    return ""


def _try_nothing(result: Advice, few: str) -> tuple[str, str]:
    counts = f"a task without an attempt scores {short(result.chosen.default_score)}"
    if result.alternative is None:
        return f"Try nothing ({aim(result)}).", f"{counts[0].upper()}{counts[1:]}, which reaches the target."
    built, tasks = count_of(result.chosen.built, "task"), count_of(result.basis.tasks, "task")
    first = f"Try nothing ({aim(result)}): on the {built} that plans are chosen on, no attempt earns its cost."
    low, _, high = ends(-result.upper, -(result.lower + result.upper) / 2, -result.lower)
    level = "no level" if result.basis.level is None else percent(result.basis.level)
    adds = f"adds {low} to {high} ({level}) to the score, less its cost,"
    return first, f"The best single attempt there, {result.alternative}, {adds} on the other {tasks}; {counts}{few}."


def _beside(result: Advice, other: str) -> str:
    """Whether what is advised is better than the alternative."""
    low, _, high = ends(result.lower, (result.lower + result.upper) / 2, result.upper)
    net = "score less cost"
    if result.same is not None:
        net = "in cost"
    elif result.aim.budget is not None or result.aim.target_score is not None:
        net = f"score less cost at {short(result.aim.price)} per unit" if result.aim.price > 0 else "in score"
    if result.outcome is Outcome.PROVED:
        return f"that is better than {other}, by {low} to {high}, {net}"
    if result.outcome is Outcome.DISPROVED:
        low, _, high = ends(-result.upper, -(result.lower + result.upper) / 2, -result.lower)
        return f"there {other} was better, by {low} to {high}, {net}"
    if always := _always(result).removesuffix(" of the log"):
        if result.lower == 0:
            return f"{other} was equal {always}, {net}; {ELSEWHERE}"
        which = f"that was better than {other}" if result.lower > 0 else f"there {other} was better"
        return f"{which}, by {short(abs(result.lower))}, {net}, {always}; {ELSEWHERE}"
    if result.basis.level is None:
        return f"whether it is better than {other} is not known: {_unsure(result)}"
    return f"whether it is better than {other} is not known: by {low} to {high}, {net}"


def _with_level(result: Measured) -> str:
    value, interval = measured(result)
    sure = "" if result.level is None else f", {percent(result.level)}{'' if result.proved else ' nominal'}"
    return f"{value} ({interval}{sure})"


def _no_advice(result: NoAdvice) -> tuple[str, str]:
    """Why a log does not say what to try, and what would help."""
    tasks, (asked, best) = count_of(result.tasks, "task"), _told_apart(result.asked or 0.0, result.best or 0.0)
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
            f"{tasks} {'is' if result.tasks == 1 else 'are'} too few to choose a plan on some and test it on others.",
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
    }[result.reason]


def _told_apart(asked: float, best: float) -> tuple[str, str]:
    """Two different numbers: the first in full, the second with as many digits as show which is larger."""
    said = (f"{best:.{digits}g}" for digits in range(3, 18))
    return f"{asked:g}" if float(f"{asked:g}") == asked else repr(asked), next(
        (text for text in said if (float(text) < asked) == (best < asked) and float(text) != asked), repr(best)
    )
