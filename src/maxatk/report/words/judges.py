"""What judges of attempts are good for, in words."""

import math

from maxatk.attempts.judges.power import Power
from maxatk.attempts.judges.report import CaughtShare, JudgeReport, Turn
from maxatk.attempts.judges.vote_stops import VoteStop
from maxatk.attempts.sequences.plan import JudgedPlan
from maxatk.base.findings import Outcome
from maxatk.base.text import count_of, ends, percent, short, threshold
from maxatk.report.words.attempts import difference, when


def report(result: JudgeReport) -> str:
    """What a judge catches of a perfect one's gain, and what its pick can be told apart from."""
    return " ".join(sentences(result))


def sentences(result: JudgeReport) -> list[str]:
    """The same, sentence by sentence."""
    said = [share(result), *(f"{_capital(apart(result, place), result)}." for place in range(len(result.against)))]
    return [*said, order(result), turn(result.turn), hurt(result)]


def share(result: JudgeReport) -> str:
    """The share of a perfect judge's gain."""
    caught = result.share
    if result.oracle.points[-1].k == 1:
        return f"With one attempt there is nothing to choose, whatever {result.judge} says."
    if caught is None:
        return f"On the tasks of the log a perfect judge would gain nothing over one attempt, so {result.judge} cannot."
    k = count_of(caught.k, "attempt")
    value = round(100 * caught.value)
    catches = f"catches {value} % of what a perfect judge would gain"
    if caught.value < 0:
        catches = f"loses {-value} % of what a perfect judge would gain"
    return f"Among {k}, {result.judge} {catches} over one of them ({_interval(caught)})."


def _interval(caught: CaughtShare) -> str:
    if caught.level is None:
        return "on the tasks of the log, which are too few for an interval"
    if math.isinf(caught.lower):
        return "no interval: a perfect judge's gain is not shown to be positive"
    low, high = math.floor(100 * caught.lower), math.ceil(100 * caught.upper)
    return f"{low} to {high} %, {percent(caught.level)} nominal"


def apart(result: JudgeReport, place: int) -> str:
    """Whether a judge's pick can be told from another way to choose, and how many tasks that would take."""
    measured, power = result.against[place], result.power[place] if result.power else None
    other = "a majority vote" if measured.second == "majority" else measured.second
    if measured.finding.outcome is not Outcome.UNKNOWN:
        return difference(measured.finding)
    low, _, high = ends(measured.lower, measured.value, measured.upper)
    told = f"at {count_of(measured.tasks, 'task')} its pick cannot be told from {other} ({low} to {high})"
    if measured.level is None:
        told = difference(measured.finding)
    return told if power is None or not power.deviation else f"{told}; {needed(power)}"


def needed(power: Power) -> str:
    """How many tasks would show some differences."""
    (small, many), (large, few) = power.needed[0], power.needed[-1]
    return (
        f"a difference of {short(large)} takes about {count_of(few, 'task')} to show, and one of {short(small)} about "
        f"{many}"
    )


def power(result: Power) -> str:
    """How many tasks tell two ways to choose apart."""
    rows = ", ".join(f"{short(size)}: {count_of(tasks, 'task')}" for size, tasks in result.needed)
    return (
        f"{result.first} against {result.second}, the pick among {result.k}: {count_of(result.tasks, 'task')} would "
        f"show a difference of {short(result.detectable)} with a chance of {percent(result.power)}; to show {rows}"
    )


def sequence(plan: JudgedPlan) -> str:
    """What to try, in which order, when to stop and what to hand in, if a judge decides."""
    if not plan.steps and plan.goal.target_score is None:
        pays = f"at {short(plan.price)} per unit of cost no attempt pays"
        return f"Try nothing: {pays} on the {count_of(plan.built_from.tasks, 'task')} that this was built from."
    if len(plan.steps) < 2:
        return f"{plan.spelled}, once." if plan.steps else "Try nothing: the default score reaches the target."
    stop = f"{when(plan)} {plan.judge} gives one at least {threshold(plan.stop_at)}"
    return f"{plan.spelled}; {stop}, and hand in the one that {plan.judge} likes best."


def vote(result: VoteStop) -> str:
    """What a vote that stops early scores, and what it saves."""
    rule = "cannot be overtaken" if result.lead is None else f"leads by {count_of(result.lead, 'vote')}"
    made, score = (ends(x.lower, x.value, x.upper) for x in (result.attempts, result.score))
    said = (
        f"Stop the vote of at most {result.k} as soon as an answer {rule}: {made[1]} attempts ({made[0]} to {made[2]}) "
        f"instead of {result.k}, true score {score[1]} ({score[0]} to {score[2]})"
    )
    if result.leads == (None,):
        return f"{said}, that of all {result.k}."
    chosen = "; for each task the lead was chosen on the tasks of other folds" if len(result.leads) > 1 else ""
    gain, more = result.gain, "more"
    low, value, high = ends(gain.lower, gain.value, gain.upper)
    if gain.value < 0:
        more, (low, value, high) = "less", ends(-gain.upper, -gain.value, -gain.lower)
    return f"{said}, which is {value} ({low} to {high}) {more} than that of all {result.k}{chosen}."


def order(result: JudgeReport) -> str:
    """How a judge orders attempts, within tasks and pooled."""
    ranking = result.ranking
    if ranking.within is None or ranking.pooled is None:
        return "At no task do attempts differ in truth, so there is no order to judge."
    low, value, high = ends(ranking.within.lower, ranking.within.value, ranking.within.upper)
    return (
        f"It prefers the better one of two attempts at one task with a chance of {value} ({low} to {high}), and is "
        f"below one half at {ranking.below_half} of the {count_of(ranking.mixed, 'task')} where attempts differ; "
        f"pooled over tasks the chance is {short(ranking.pooled)}, which is of no use to a pick."
    )


def turn(result: Turn) -> str:
    """Where the curve of its pick turns."""
    peak = f"Its pick is best among {result.peak} on the tasks of the log"
    if result.smallest < result.peak:
        peak += f", and among {result.smallest} it is not shown to be worse"
    if result.fall is None:
        return f"{peak}; no fall with more attempts is shown."
    low, _, high = ends(result.fall.lower, result.fall.value, result.fall.upper)
    fall = f"from {result.fall.first} to {result.fall.second} it falls by {low} to {high}"
    return f"{peak}; {fall} ({percent(result.level)} for all pairs together)."


def hurt(result: JudgeReport) -> str:
    """At how many tasks picking hurts."""
    tasks = count_of(result.hurt.among, "task")
    return f"At {result.hurt.tasks} of {tasks} its pick among all attempts is worse than a random one."


def _capital(sentence: str, result: JudgeReport) -> str:
    """A sentence with a capital letter, unless it begins with the name of the judge, which is as it was given."""
    begins_with_name = sentence.startswith(f"{result.judge} ")
    return sentence if begins_with_name else f"{sentence[0].upper()}{sentence[1:]}"
