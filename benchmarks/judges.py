"""How often intervals cover what judges and votes truly hand in: 400 synthetic logs per row, against known truths.

Worlds differ in the judge: weak, strong, misleading (it prefers wrong attempts), drifting (right on easy tasks and
wrong on hard ones, with an offset by task). Truths are means over a hundred thousand fresh tasks.

    python benchmarks/judges.py
"""

import sys
from dataclasses import dataclass

import numpy as np

from common import report
from maxatk import attempts as at
from maxatk.attempts.estimates import intervals
from maxatk.attempts.judges.choosers import AnyAttempt, ByJudge, ByVote, Oracle, per_task
from maxatk.attempts.judges.report import CaughtShare
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.follow import follow

LOGS, TASKS, ATTEMPTS, K, STOP = 400, 60, 6, 4, 1.0
FRESH = 100_000
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


def truths(world, rng):
    """What fresh tasks score: (selected, majority, stopped, selected of all in a gain share, oracle, one)."""
    truth, judge, answer = drawn(world, FRESH, K, rng)
    rows = np.arange(FRESH)
    noise = rng.random(judge.shape) * 1e-6
    selected = truth[rows, (judge + noise).argmax(axis=1)]
    votes = np.stack([(answer == a).sum(axis=1) for a in range(5)], axis=1) + rng.random((FRESH, 5)) * 1e-6
    winner = votes.argmax(axis=1)
    majority = np.where((answer >= 0).any(axis=1), (winner == 0).astype(float), 0.0)
    hit = judge >= STOP
    first = np.where(hit.any(axis=1), hit.argmax(axis=1), (judge + noise).argmax(axis=1))
    gain, possible = selected.mean() - truth.mean(), truth.max(axis=1).mean() - truth.mean()
    return {
        "selected@4": selected.mean(),
        "majority@4": majority.mean(),
        "selected less majority": (selected - majority).mean(),
        "stopped by the judge, at most 4": truth[rows, first].mean(),
        "share of a perfect judge's gain": gain / possible,
    }


def a_log(truth, judge, answer):
    """The arrays as a log."""
    records = [
        {"task": t, "score": s, "rm": j, "answer": None if a < 0 else int(a)}
        for t, row in enumerate(zip(truth, judge, answer, strict=True))
        for s, j, a in zip(*row, strict=True)
    ]
    return at.Log.from_records(records, judge="rm", answer="answer", score_range=(0, 1))


def estimates(log):
    """All intervals of a log, by (what, kind of interval); each way to choose is computed once."""
    ways = ByJudge("rm"), ByVote(), Oracle(), AnyAttempt()
    selected, majority, best, one = (per_task(log, 0, [K], way)[:, 0] for way in ways)
    out = follow(log, ["attempt"] * K, walk.Scoring(STOP, 0.0, 1.0, "rm"))
    values = {
        "selected@4": (selected, (0.0, 1.0)), "majority@4": (majority, (0.0, 1.0)),
        "selected less majority": (selected - majority, (-1.0, 1.0)),
        "stopped by the judge, at most 4": (out.score, (0.0, 1.0)),
    }  # fmt: skip
    for kind in ("usual", "proved"):
        for what, (x, span) in values.items():
            yield (what, kind), intervals.mean(x, span, 0.95, use_betting=kind == "proved")
    lower, upper = intervals.ratio(selected - one, best - one, 0.95)
    share = float((selected - one).mean() / (best - one).mean())
    yield ("share of a perfect judge's gain", "usual"), CaughtShare(K, share, lower, upper, 0.95)


@dataclass
class Tally:
    """How often an interval covers."""

    truth: float
    covered: int = 0
    width: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, estimate):
        """One more interval."""
        self.covered += estimate.lower <= self.truth <= estimate.upper
        self.width += estimate.upper - estimate.lower
        self.total += estimate.value
        self.squares += estimate.value**2


def rows():
    """One row per world, estimate and kind of interval."""
    for number, world in enumerate(SLOPES):
        rng = np.random.default_rng(number)
        known, tallies = truths(world, rng), {}
        for _ in range(LOGS):
            for (what, kind), estimate in estimates(a_log(*drawn(world, TASKS, ATTEMPTS, rng))):
                tallies.setdefault((what, kind), Tally(known[what])).add(estimate)
        for (what, kind), tally in tallies.items():
            mean = tally.total / LOGS
            error = np.sqrt(max(tally.squares / LOGS - mean**2, 0) / LOGS + 0.25 / FRESH)
            yield {
                "judge": world, "what": what, "interval": kind, "truth": round(float(tally.truth), 3),
                "bias, in standard errors": round(float((mean - tally.truth) / error), 1),
                "coverage": float(tally.covered / LOGS), "width": round(float(tally.width / LOGS), 3),
            }  # fmt: skip


def main():
    """Measure, print and keep."""
    measured = []
    for row in rows():
        measured.append(row)
        print(row, file=sys.stderr, flush=True)
    report("judges_coverage", "How often intervals cover what judges and votes truly hand in", measured)


if __name__ == "__main__":
    main()
