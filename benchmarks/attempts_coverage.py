"""How often intervals over tasks cover what they should: 400 synthetic logs per row, against known truths.

    python benchmarks/attempts_coverage.py              # all rows: about half an hour on one core
    python benchmarks/attempts_coverage.py curves       # only some of the parts

Laws of the task's pass rate are those of docs/theory/attempts.md, and rarer, heavier ones. ``proved`` intervals must
cover at least 95 % everywhere, the usual ones 92 % from 50 tasks on.
"""

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, special, stats

from common import report
from maxatk import attempts as at
from maxatk.attempts.logs.data import CostLimits
from maxatk.attempts.sequences import strategies, walk
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.sequences.goal import Goal

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import attempt_worlds

LOGS = 400
LEVEL = 0.95
REFERENCE = 6000  # tasks that a world's truths are computed from


class Rates(NamedTuple):
    """A law of the chance to pass."""

    name: str
    draw: Callable[[Any, int], Any]
    passing: Callable[[int], float]  # pass@k


def beta(a: float, b: float, zero: float = 0.0) -> Rates:
    """A Beta law, and a share of tasks that nobody passes."""
    name = f"Beta({a:g}, {b:g})" + (f", {100 * zero:g} % unsolvable" if zero else "")

    def draw(rng, n):
        return np.where(rng.random(n) < zero, 0.0, rng.beta(a, b, n))

    return Rates(name, draw, lambda k: (1 - zero) * -math.expm1(special.betaln(a, b + k) - special.betaln(a, b)))


def points(rates: list[float], shares: list[float]) -> Rates:
    """Some rates only."""

    def passing(k):
        return float(np.dot(shares, 1 - (1 - np.array(rates)) ** k))

    return Rates(f"{len(rates)} rates", lambda rng, n: rng.choice(rates, p=shares, size=n), passing)


BETA, UNSOLVABLE = beta(0.4, 1.6), beta(1.0, 3.0, 0.3)
FOUR = points([0.0, 0.02, 0.5, 0.9], [0.2, 0.3, 0.3, 0.2])
RARE, RARER = beta(0.1, 0.9), beta(0.05, 1.5)


class Heavy(NamedTuple):
    """A law of positive numbers without a limit: a level by task, and attempts around it."""

    name: str
    draw: Callable[[Any, int, int], Any]  # [tasks, attempts]
    best: Callable[[int], float]  # the expected best of k


def _best_of(quantile: Callable[[Any], Any], k: int) -> float:
    """The expected greatest of k independent draws."""
    return integrate.quad(lambda u: quantile(u) * k * u ** (k - 1), 0, 1, limit=500, epsabs=1e-10)[0]


def lognormal(sigma: float) -> Heavy:
    """Tasks and attempts both scatter."""
    half = sigma / math.sqrt(2)

    def draw(rng, tasks, n):
        return rng.lognormal(0, half, (tasks, 1)) * rng.lognormal(0, half, (tasks, n))

    return Heavy(
        f"lognormal, sigma {sigma:g}", draw, lambda k: math.exp(half**2 / 2) * _best_of(stats.lognorm(half).ppf, k)
    )


def pareto(alpha: float) -> Heavy:
    """Tasks scatter like a power law, attempts evenly around them."""

    def draw(rng, tasks, n):
        return rng.pareto(alpha, (tasks, 1)) * rng.uniform(0.5, 1.5, (tasks, n))

    return Heavy(f"Pareto, alpha {alpha:g}", draw, lambda k: (0.5 + k / (k + 1)) / (alpha - 1))


def log_of(arms: dict[str, Any], costs: dict[str, Any] | None = None, **options: Any) -> at.Log:
    """A log from scores [tasks, attempts] by arm."""
    rows = [
        {"task": t, "arm": arm, "score": float(x), "cost": 1.0 if costs is None else float(costs[arm][t, i])}
        for arm, table in arms.items()
        for t, scores in enumerate(table)
        for i, x in enumerate(scores)
    ]
    return at.Log.from_records(rows, **options)


class Row:
    """One row of the table: intervals beside the truth."""

    def __init__(self, what: str, law: str, tasks: int, interval: str) -> None:
        self.key = {"what": what, "law": law, "tasks": tasks, "interval": interval}
        self.covered, self.width = 0, 0.0
        self.count, self.skipped = 0, 0

    def add(self, lower: float, upper: float, truth: float) -> None:
        """One interval."""
        self.count += 1
        self.covered += bool(lower <= truth <= upper)
        self.width += upper - lower

    def data(self) -> dict[str, Any]:
        """The row."""
        return {
            **self.key,
            "coverage": self.covered / self.count,
            "mean width": self.width / self.count,
            "logs": self.count,
        }


def plain_t(value: float, passed: Any, k: int) -> tuple[float, float]:
    """What one would do by hand: Student's t over tasks, whatever the values look like."""
    values = [at.pass_at_k(one, k) for one in passed]
    reach = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    return value - reach, value + reach


def pooled_attempts(passed: Any, k: int) -> tuple[float, float]:
    """What ignoring tasks comes to: a binomial interval for the rate of all attempts, put through 1 - (1 - p)^k."""
    rate = passed.mean()
    reach = 1.96 * math.sqrt(rate * (1 - rate) / passed.size)
    return tuple(1 - (1 - min(max(p, 0.0), 1.0)) ** k for p in (rate - reach, rate + reach))


def curves() -> Iterator[Row]:
    """pass@k and max@k of one arm."""
    settings = [(BETA, 10, 5), (BETA, 10, 1), (UNSOLVABLE, 10, 10), (FOUR, 16, 8), (RARE, 10, 1), (RARER, 10, 1)]
    for law, n, k in settings:
        for tasks in (20, 50, 100, 200):
            rng = np.random.default_rng([1, tasks, n, k, len(law.name)])
            usual, proved, plain, pooled = (
                Row(f"pass@{k}", law.name, tasks, kind)
                for kind in ("usual", "proved", "(plain t)", "(pooled attempts)")
            )
            for _ in range(LOGS):
                passed = rng.random((tasks, n)) < law.draw(rng, tasks)[:, None]
                log = log_of({"a": passed})
                for row in (usual, proved):
                    found = log.pass_at_k(k, pass_threshold=1.0, interval="proved" if row is proved else "usual")
                    row.add(found.lower, found.upper, law.passing(k))
                plain.add(*plain_t(at.Log.pass_at_k(log, k, pass_threshold=1.0).value, passed, k), law.passing(k))
                pooled.add(*pooled_attempts(passed, k), law.passing(k))
            yield from (usual, proved, plain, pooled)
    for heavy in (lognormal(1.0), lognormal(1.5), pareto(2.5)):
        for tasks in (50, 200):
            rng = np.random.default_rng([2, tasks, len(heavy.name)])
            row = Row("max@4", heavy.name, tasks, "usual")
            for _ in range(LOGS):
                found = log_of({"a": heavy.draw(rng, tasks, 8)}).max_at_k(4)
                row.add(found.lower, found.upper, heavy.best(4))
            yield row


def differences() -> Iterator[Row]:
    """Paired differences: of two arms, of six pairs at once, and of costs with a heavy tail."""
    for tasks in (20, 50, 200):
        for law in (BETA, RARE):
            rng = np.random.default_rng([3, tasks, len(law.name)])
            rows = [Row("difference of pass@4", law.name, tasks, kind) for kind in ("usual", "proved")]
            share, n = 0.8, 6
            reference = law.draw(np.random.default_rng(0), 2_000_000)
            truth = law.passing(4) - float((1 - (1 - share * reference) ** 4).mean())
            for _ in range(LOGS):
                rates = law.draw(rng, tasks)[:, None]
                arms = {"a": rng.random((tasks, n)) < rates, "b": rng.random((tasks, n)) < share * rates}
                log = log_of(arms, score_range=(0, 1))
                for row, interval in zip(rows, ("usual", "proved"), strict=True):
                    found = at.difference(log, "a", "b", k=4, interval=interval)
                    row.add(found.lower, found.upper, truth)
            yield from rows
    shares = (1.0, 0.9, 0.8, 0.6)
    for tasks in (50, 200):
        rng = np.random.default_rng([4, tasks])
        row = Row("6 differences at once, pass@1", BETA.name, tasks, "usual")
        for _ in range(LOGS):
            rates = BETA.draw(rng, tasks)[:, None]
            log = log_of({f"arm {s}": rng.random((tasks, 5)) < s * rates for s in shares})
            found = at.differences(log)
            mean = BETA.passing(1)
            apart = [(float(d.first[4:]) - float(d.second[4:])) * mean for d in found]
            right = all(d.lower <= x <= d.upper for d, x in zip(found, apart, strict=True))
            row.add(0.0, float(np.mean([d.upper - d.lower for d in found])), 0.0 if right else -1.0)
        yield row
    for tasks in (50, 200):
        rng = np.random.default_rng([5, tasks])
        rows = [Row(f"{what} of two costs", "lognormal, sigma 1", tasks, "usual") for what in ("difference", "ratio")]
        for _ in range(LOGS):
            level = rng.lognormal(0, 1, (tasks, 1))
            costs = {arm: s * level * rng.lognormal(0, 0.5, (tasks, 4)) for arm, s in (("a", 1.0), ("b", 0.7))}
            log = log_of({arm: np.ones((tasks, 4)) for arm in costs}, costs)
            found = at.difference(log, "a", "b", of="cost")
            mean = math.exp(0.5) * math.exp(0.125)
            rows[0].add(found.lower, found.upper, 0.3 * mean)
            rows[1].add(*found.ratio, 1 / 0.7)
        yield from rows


def ranges() -> Iterator[Row]:
    """pass@k beyond the attempts that were made."""
    for law in (BETA, UNSOLVABLE, FOUR, RARER):
        for tasks, n, k in ((50, 8, 16), (300, 8, 16), (300, 8, 32)):
            rng = np.random.default_rng([6, tasks, k, len(law.name)])
            row = Row(f"pass@{k} from {n} attempts", law.name, tasks, "proved")
            for _ in range(LOGS):
                log = log_of({"a": rng.random((tasks, n)) < law.draw(rng, tasks)[:, None]})
                found = log.pass_range(k, pass_threshold=1.0)
                row.add(found.lower, found.upper, law.passing(k))
            yield row


def heavy_ladder(tasks: int, attempts: int, rng: Any, first: int = 0) -> at.Log:
    """The ladder with costs that scatter like a lognormal law of sigma 1.2, by task and by attempt."""
    rng = np.random.default_rng(rng)
    log = attempt_worlds.ladder(tasks, attempts, rng, first)
    level = rng.lognormal(-0.36, 0.85, tasks)
    cost = log.cost * level[log.task] * rng.lognormal(-0.36, 0.85, len(log.cost))
    return replace(log, cost=cost)


WORLDS = {
    "ladder": attempt_worlds.ladder,
    "specialists": attempt_worlds.specialists,
    "ladder, heavy costs": heavy_ladder,
}
PRICES = {"ladder": 0.02, "specialists": 0.02, "ladder, heavy costs": 0.02}
# What attempts of these worlds' arms cost at most, but for one in a million.
MOST = {"ladder": (15.0, 60.0, 225.0), "specialists": (10.0, 20.0, 60.0)}


@cache
def reference(world: str) -> at.Log:
    """Many tasks of a world, for its truths."""
    return WORLDS[world](REFERENCE, 6, 12345)


@cache
def truth(world: str, arms: tuple[str, ...], stop_at: float, price: float) -> tuple[float, float, float]:
    """What a sequence earns and costs in a world, and its cost over solved tasks."""
    log = reference(world)
    out = follow(log, arms, walk.Scoring(stop_at, 0.0, 1.0))
    score, cost = float(out.score.mean()), float(out.cost.mean())
    return score, cost, score - price * cost


def replays() -> Iterator[Row]:
    """Replays of one plan on held-out logs, and cross-validated ones."""
    for world, make in WORLDS.items():
        price = PRICES[world]
        plan = at.sequence(make(60, 6, 777), price=price, method="greedy")
        score, cost, net = truth(world, tuple(plan.arms), plan.stop_at, price)
        gain = net - truth(world, tuple(plan.single.arms), plan.single.stop_at, price)[2]
        truths = {"score": score, "cost": cost, "net": net, "gain": gain}
        for tasks in (20, 50, 100, 200):
            rows = {
                (name, kind): Row(f"replay, {name}", world, tasks, kind)
                for name in truths
                for kind in ("usual", "proved")
            }
            for number in range(LOGS):
                log = make(tasks, 6, [7, tasks, number])
                usual = plan.replay(log, interval="usual")
                for name, true in truths.items():
                    found = getattr(usual, name)
                    rows[name, "usual"].add(found.lower, found.upper, true)
                if world in MOST:
                    limited = replace(log, cost_limits=CostLimits(MOST[world], known=True))
                    proved = plan.replay(limited)
                    for name, true in truths.items():
                        found = getattr(proved, name)
                        assert found.proved
                        rows[name, "proved"].add(found.lower, found.upper, true)
            yield from (row for row in rows.values() if row.count)


def crossed() -> Iterator[Row]:
    """Cross-validated replays: what the folds' own plans truly earn must be covered."""
    for world, make in WORLDS.items():
        price = PRICES[world]
        for tasks in (50, 100):
            kinds = ("usual", "proved") if world in MOST else ("usual",)
            rows = {
                (name, kind): Row(f"cross_replay, {name}", world, tasks, kind)
                for name in ("net", "gain")
                for kind in kinds
            }
            for number in range(LOGS):
                log = make(tasks, 6, [8, tasks, number])
                nets, gains = [], []
                for rest, held in log.folds(5, 0):
                    plan = at.sequence(rest, price=price, method="greedy")
                    net = truth(world, tuple(plan.arms), plan.stop_at, price)[2]
                    nets += [net] * len(held.tasks)
                    other = truth(world, tuple(plan.single.arms), plan.single.stop_at, price)[2]
                    gains += [net - other] * len(held.tasks)
                truths = {"net": float(np.mean(nets)), "gain": float(np.mean(gains))}
                for kind in kinds:
                    if kind == "proved":
                        log = replace(log, cost_limits=CostLimits(MOST[world], known=True))
                    replayed = at.cross_replay(log, price=price, method="greedy", interval=kind)
                    for name, true in truths.items():
                        estimate = getattr(replayed, name)
                        assert estimate.proved or kind == "usual"
                        rows[name, kind].add(estimate.lower, estimate.upper, true)
            yield from rows.values()


def frontiers() -> Iterator[Row]:
    """Strategies of a frontier, and its gain over the prices."""
    for world, make in WORLDS.items():
        for tasks in (50, 100):
            names = ("strategy, score", "strategy, cost", "cost per solved", "frontier, gain")
            rows = {name: Row(name, world, tasks, "usual") for name in names}
            for number in range(LOGS):
                log = make(tasks, 6, [9, tasks, number])
                found = at.frontier(log)
                strategy = next(s for s in found.strategies if s.name == f"{log.arms[1]} × 3")
                score, cost, _ = truth(world, (log.arms[1],) * 3, log.top, 0.0)
                out = follow(reference(world), [log.arms[1]] * 3, walk.Scoring(log.top, 0.0, log.top))
                rows["strategy, score"].add(strategy.score.lower, strategy.score.upper, score)
                rows["strategy, cost"].add(strategy.cost.lower, strategy.cost.upper, cost)
                solved = float(out.cost.mean() / out.solved.mean())
                _, low, high = strategy.cost_per_solved
                rows["cost per solved"].add(low, min(high, 10 * solved), solved)
                rows["frontier, gain"].add(found.gain.lower, found.gain.upper, frontier_truth(world, log, found))
            yield from rows.values()


def frontier_truth(world: str, log: at.Log, found: at.Frontier) -> float:
    """The gain of a frontier, with the folds' own choices and a world's true scores and costs."""
    limit, scoring = walk.caps(log), walk.Scoring(log.top, 0.0)
    parts = [(strategies.families(rest, scoring, limit), len(held.tasks)) for rest, held in log.folds(5, 0)]
    whole = strategies.families(log, scoring, limit)
    points: dict[str, Any] = {}
    for family in (strategies.SEQUENCE, strategies.SINGLE):
        scores, costs = [], []
        for price in found.prices:
            pairs = []
            for families, n in parts:
                path, length = Goal(price=price).best(families[family])
                arms = tuple(log.arms[a] for a in path.arms[:length])
                pairs.append((*truth(world, arms, path.stop_at, 0.0)[:2], n))
            weight = sum(n for *_, n in pairs)
            scores.append(sum(s * n for s, _, n in pairs) / weight)
            costs.append(sum(c * n for _, c, n in pairs) / weight)
        points[family] = np.array(scores), np.array(costs)
    fair = [not Goal(price=p).cut(*Goal(price=p).best(whole[strategies.SINGLE]), limit) for p in found.prices]
    pick = np.flatnonzero(fair) if any(fair) else np.arange(len(fair))
    (s, c), (s1, c1), prices = points[strategies.SEQUENCE], points[strategies.SINGLE], np.array(found.prices)
    return float(((s - prices * c) - (s1 - prices * c1))[pick].mean())


PARTS = {part.__name__: part for part in (curves, differences, ranges, replays, crossed, frontiers)}


TITLES = {
    "curves": "pass@k and max@k",
    "differences": "differences, one and several",
    "ranges": "ranges of pass@k beyond the attempts made",
    "replays": "replays on held-out tasks",
    "crossed": "cross-validated replays",
    "frontiers": "strategies and gains of a frontier",
}


def main() -> None:
    """Measure, print and keep each part by itself."""
    warnings.simplefilter("ignore", at.AttemptsWarning)
    for name in sys.argv[1:] or PARTS:
        found = []
        for row in PARTS[name]():
            found.append(row.data())
            print(found[-1], file=sys.stderr, flush=True)
        report(f"attempts_coverage_{name}", f"How often intervals cover what they should: {TITLES[name]}", found)
        usual = [r["coverage"] for r in found if r["interval"] == "usual" and r["tasks"] >= 50]
        proved = [r["coverage"] for r in found if r["interval"] == "proved"]
        print(
            f"least coverage: usual from 50 tasks on {min(usual, default=1):.3f}, proved {min(proved, default=1):.3f}"
        )


if __name__ == "__main__":
    main()
