"""How often intervals cover what judges and votes truly hand in: 400 synthetic logs per row, against known truths.

Worlds differ in the judge: weak, strong, misleading (it prefers wrong attempts), drifting (right on easy tasks and
wrong on hard ones, with an offset by task). Truths are means over a hundred thousand fresh tasks. And the seconds that
the whole report on a judge takes for a million attempts, beside those that its vote takes.

    python benchmarks/judges.py
    python benchmarks/judges.py coverage     # or speed: one of the two tables
"""

import sys
import time
from dataclasses import dataclass

import numpy as np

from common import report
from maxatk import attempts as at
from maxatk.attempts.estimates import intervals
from maxatk.attempts.judges.choosers import ByJudge, ByVote, ByWeightedVote, per_task
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.follow import follow

LOGS, TASKS, ATTEMPTS, K, STOP, LEAD = 400, 60, 6, 4, 1.0, 2
FRESH = 100_000
KS = (1, 2, 4)
CALIBRATED, FALL = "the truth by level of the judge", "the largest fall of selected@k that is shown, if one is"
SLOPES = {
    "weak": lambda easy: np.full_like(easy, 0.4),
    "strong": lambda easy: np.full_like(easy, 3.0),
    "misleading": lambda easy: np.full_like(easy, -1.0),
    "drifting": lambda easy: np.where(easy > 0.5, 2.0, -1.0),
}


def drawn(world, tasks, n, rng):
    """Truth, judge's score and answer of attempts [tasks, n]; 0 is the right answer, -1 a blank one."""
    easy = rng.beta(0.8, 0.8, (tasks, 1))
    truth = (rng.random((tasks, n)) < easy).astype(float)
    offset = rng.normal(size=(tasks, 1)) if world == "drifting" else 0.0
    judge = offset + SLOPES[world](easy) * truth + rng.normal(size=(tasks, n))
    wrong = np.where(rng.random((tasks, n)) < 0.6, 1, rng.integers(2, 5, (tasks, n)))  # one mistake is common
    answer = np.where(rng.random((tasks, n)) < 0.05, -1, np.where(truth > 0, 0, wrong))
    truth = np.where(answer < 0, 0.0, truth)  # a blank answer is wrong
    return truth, judge.round(1), answer


def weight_of(judge):
    """The weight of a vote, from a judge's score."""
    return 1 / (1 + np.exp(-judge))


class Truths:
    """What fresh tasks score."""

    def __init__(self, world, rng):
        truth, judge, answer = drawn(world, FRESH, K, rng)
        rows, noise = np.arange(FRESH), rng.random(judge.shape) * 1e-6
        picked = [truth[rows, (judge + noise)[:, :k].argmax(axis=1)] for k in KS]
        self.selected = [float(x.mean()) for x in picked]
        selected, majority = picked[-1], voted(truth, answer, np.ones(judge.shape), rng)
        hit = judge >= STOP
        first = np.where(hit.any(axis=1), hit.argmax(axis=1), (judge + noise).argmax(axis=1))
        led, made = until_lead(truth, answer, rng)
        gain, possible = selected.mean() - truth.mean(), truth.max(axis=1).mean() - truth.mean()
        self.means = {
            "selected@4": selected.mean(),
            "majority@4": majority.mean(),
            "weighted majority@4": voted(truth, answer, weight_of(judge), rng).mean(),
            "selected less majority": (selected - majority).mean(),
            "stopped by the judge, at most 4": truth[rows, first].mean(),
            "vote stopped at a lead of 2": led.mean(),
            "attempts of that vote": made.mean(),
            "that vote less the vote of all": (led - majority).mean(),
            "share of a perfect judge's gain": gain / possible,
        }
        order = judge.ravel().argsort()
        self.levels, self.rising = judge.ravel()[order], np.append(0, np.cumsum(truth.ravel()[order]))

    def of_level(self, low, beyond):
        """The mean truth of attempts to which the judge gives at least one score, and less than another."""
        first, last = np.searchsorted(self.levels, [low, beyond])
        return (self.rising[last] - self.rising[first]) / (last - first)


def voted(truth, answer, weight, rng):
    """The truth of the answer with the most weight, ties at random; only the answer 0 is right, blanks are wrong."""
    votes = np.stack([((answer == a) * weight).sum(axis=1) for a in range(5)], axis=1)
    winner = (votes + rng.random(votes.shape) * 1e-6).argmax(axis=1)
    return np.where((answer >= 0).any(axis=1), (winner == 0).astype(float), 0.0)


def until_lead(truth, answer, rng):
    """The truth and the attempts of a vote that stops as soon as an answer leads by some votes."""
    votes, made = np.zeros((len(truth), 5)), np.zeros(len(truth))
    on = np.ones(len(truth), bool)
    for step in range(truth.shape[1]):
        made += on
        for a in range(5):
            votes[:, a] += on & (answer[:, step] == a)
        ahead = np.sort(votes, axis=1)[:, -2:]
        on &= ahead[:, 1] - ahead[:, 0] < LEAD
    winner = (votes + rng.random(votes.shape) * 1e-6).argmax(axis=1)
    return np.where(votes.any(axis=1), (winner == 0).astype(float), 0.0), made


def a_log(truth, judge, answer):
    """The arrays as a log."""
    records = [
        {"task": t, "score": s, "rm": j, "weight": weight_of(j), "answer": None if a < 0 else int(a)}
        for t, row in enumerate(zip(truth, judge, answer, strict=True))
        for s, j, a in zip(*row, strict=True)
    ]
    return at.Log.from_records(records, judge=["rm", "weight"], answer="answer", score_range=(0, 1))


def estimates(log, known):
    """All intervals of a log, as (what, kind of interval, interval, truth)."""
    ways = ByJudge("rm"), ByVote(), ByWeightedVote.of("weight")
    selected, majority, weighted = (per_task(log, 0, [K], way)[:, 0] for way in ways)
    out = follow(log, ["attempt"] * K, walk.Scoring(STOP, 0.0, 1.0, "rm"))
    values = {
        "selected@4": (selected, (0.0, 1.0)), "majority@4": (majority, (0.0, 1.0)),
        "weighted majority@4": (weighted, (0.0, 1.0)), "selected less majority": (selected - majority, (-1.0, 1.0)),
        "stopped by the judge, at most 4": (out.score, (0.0, 1.0)),
    }  # fmt: skip
    for kind in ("usual", "proved"):
        for what, (x, span) in values.items():
            yield what, kind, intervals.mean(x, span, 0.95, use_betting=kind == "proved"), known.means[what]
    told = log.judge_report("rm", KS)
    if told.share is not None:
        what = "share of a perfect judge's gain"
        yield what, "usual", told.share, known.means[what]
    vote = at.stop_vote(log, K, LEAD)
    for what, measured in (
        ("vote stopped at a lead of 2", vote.score), ("attempts of that vote", vote.attempts),
        ("that vote less the vote of all", vote.gain),
    ):  # fmt: skip
        yield what, "usual", measured, known.means[what]
    beyond = [*(level.low for level in told.calibration[1:]), np.inf]
    for level, end in zip(told.calibration, beyond, strict=True):
        yield (
            CALIBRATED,
            "usual",
            at.Estimate(level.truth, level.lower, level.upper, TASKS, 0.95, ""),
            known.of_level(-np.inf if level is told.calibration[0] else level.low, end),
        )
    if (fall := told.turn.fall) is None:  # nothing is claimed
        yield FALL, "all pairs together", at.Estimate(0.0, 0.0, 0.0, TASKS, 0.95, ""), 0.0
    else:
        of = dict(zip(KS, known.selected, strict=True))
        first, last = (int(name.split()[0]) for name in (fall.first, fall.second))
        yield FALL, "all pairs together", fall, of[first] - of[last]


@dataclass
class Tally:
    """How often an interval covers."""

    n: int = 0
    covered: int = 0
    truth: float = 0.0
    width: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, estimate, truth):
        """One more interval."""
        self.n += 1
        self.covered += estimate.lower <= truth <= estimate.upper
        self.truth += truth
        self.width += estimate.upper - estimate.lower
        self.total += estimate.value - truth
        self.squares += (estimate.value - truth) ** 2


def rows():
    """One row per world, estimate and kind of interval."""
    for number, world in enumerate(SLOPES):
        rng = np.random.default_rng(number)
        known, tallies = Truths(world, rng), {}
        for _ in range(LOGS):
            for what, kind, estimate, truth in estimates(a_log(*drawn(world, TASKS, ATTEMPTS, rng)), known):
                tallies.setdefault((what, kind), Tally()).add(estimate, truth)
        for (what, kind), tally in tallies.items():
            mean = tally.total / tally.n
            error = np.sqrt(max(tally.squares / tally.n - mean**2, 0) / LOGS + 0.25 / FRESH)
            numbers = {
                "truth": round(float(tally.truth / tally.n), 3),
                "bias, in standard errors": round(float(mean / error), 1),
                "coverage": float(tally.covered / tally.n), "width": round(float(tally.width / tally.n), 3),
            }  # fmt: skip
            if what == FALL:  # most logs show none: only whether what is shown is so has a meaning
                numbers = {name: x if name == "coverage" else "" for name, x in numbers.items()}
            yield {"judge": world, "what": what, "interval": kind, **numbers}


def speed():
    """The seconds that a million attempts take: the whole report on a judge, and of that the vote."""
    for tasks, n in ((15_625, 64), (1000, 1000)):
        rng = np.random.default_rng(0)
        easy = rng.random((tasks, 1))
        truth = (rng.random((tasks, n)) < easy).astype(float)
        wrong = np.minimum(rng.geometric(0.4, (tasks, n)), 7)  # eight answers, the first of them right
        answer, judge = np.where(truth > 0, 0, wrong), (truth + rng.normal(size=(tasks, n))).round(2)
        names = np.repeat(np.arange(tasks), n).tolist()
        columns = zip(names, *(x.ravel().tolist() for x in (truth, judge, answer)), strict=True)
        keys = "task", "score", "rm", "answer"
        log = at.Log.from_records((dict(zip(keys, row, strict=True)) for row in columns), judge="rm")
        yield {"tasks": tasks, "attempts each": n, **seconds_of(log)}


def seconds_of(log):
    """The seconds of the report on a judge, and of the vote alone."""
    start = time.perf_counter()
    told = log.judge_report("rm")
    between = time.perf_counter()
    log.majority_at_k(told.curves[0].k)
    return {"numbers of attempts": len(told.curves[0]), "report, s": round(between - start, 1),
            "the vote alone, s": round(time.perf_counter() - between, 1)}  # fmt: skip


def main():
    """Measure, print and keep."""
    wanted = sys.argv[1:] or ["coverage", "speed"]
    if "speed" in wanted:
        report("judges_speed", "A million attempts", list(speed()))
    if "coverage" not in wanted:
        return
    measured = []
    for row in rows():
        measured.append(row)
        print(row, file=sys.stderr, flush=True)
    report("judges_coverage", "How often intervals cover what judges and votes truly hand in", measured)


if __name__ == "__main__":
    main()
