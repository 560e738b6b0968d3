"""Which arm next, and when to stop: sequences against what one would use instead, in one run.

    python benchmarks/attempts.py               # some minutes; needs the extra bench

Every way is tried on held-out tasks of three logs: the recorded restarts of solvers, and two synthetic worlds with a
hidden difficulty (tests/attempt_worlds.py). A sequence, the best capped arm and a portfolio are chosen on the other
four fifths of the tasks, at several prices, and replayed exactly. Thompson sampling (on passes per cost, with the
training tasks' rates as prior), TreeQuest's AB-MCTS-A and optuna's TPE choose an arm after each attempt, stop at the
top score, and are run on the logged attempts in random orders, for 1 to 10 attempts. Each way is a curve of score
against cost. They are compared with the best capped arm where that is at three prices: score at its cost, and cost at
its score, with 95 % intervals over tasks.

The second table: sequences from few tasks, against the best capped arm from the same tasks.
"""

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common import report
from maxatk import attempts as at
from maxatk.attempts.sequences import walk
from maxatk.attempts.sequences.builder import PlanBuilder, Settings
from maxatk.attempts.sequences.follow import follow
from maxatk.attempts.sequences.goal import Goal
from maxatk.attempts.tuning import TUNING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import attempt_worlds

PRICES = np.geomspace(4.0, 0.003, 16)  # of an average attempt, in units of the range of scores
SHOWN = (0.2, 0.05, 0.0125)  # those at which the ways are compared
MOST, ORDERS, RESAMPLES = 10, 4, 999
METHODS = {"sequence": "greedy", "best capped arm": "single", "portfolio": "portfolio"}


def logs() -> dict[str, at.Log]:
    """The logs by name."""
    return {
        "solver restarts": at.example_log(),
        "ladder": attempt_worlds.ladder(120, MOST, 1),
        "specialists": attempt_worlds.specialists(120, MOST, 1),
    }


Curve = tuple[Any, Any]  # scores and costs [points, tasks]


def planned(log: at.Log) -> dict[str, Curve]:
    """The curves of what is chosen on other tasks, one point for each price."""
    tasks, usual = len(log.tasks), float(log.cost.mean())
    place = {task: number for number, task in enumerate(log.tasks)}
    found = {name: (np.zeros((len(PRICES), tasks)), np.zeros((len(PRICES), tasks))) for name in METHODS}
    for rest, held in log.folds(5, 0):
        rows = [place[task] for task in held.tasks]
        for number, price in enumerate(PRICES / usual):
            builder = PlanBuilder(rest, Settings(Goal(price=price), default_score=0.0))
            for name, method in METHODS.items():
                plan = builder.plan(method)
                out = follow(held, plan.arms, walk.Scoring(plan.stop_at, 0.0, 1.0))
                found[name][0][number, rows], found[name][1][number, rows] = out.score, out.cost
    return found


class Player:
    """A task's logged attempts in a random order."""

    def __init__(self, cells: list[list[tuple[float, float]]], rng: Any) -> None:
        self._cells = [[cell[i] for i in rng.permutation(len(cell))] for cell in cells]
        self.best, self.cost, self.made = 0.0, 0.0, 0
        self.scores, self.costs = [], []

    def attempt(self, arm: int) -> float:
        """The next attempt of an arm."""
        score, cost = self._cells[arm].pop()
        self.best, self.cost, self.made = max(self.best, score), self.cost + cost, self.made + 1
        self.scores.append(self.best)
        self.costs.append(self.cost)
        return score

    def curve(self) -> tuple[list[float], list[float]]:
        """Score and cost after 1 to MOST attempts; nothing changes once it has stopped."""
        more = MOST - self.made
        return self.scores + self.scores[-1:] * more, self.costs + self.costs[-1:] * more


def thompson(player: Player, log: at.Log, rest: at.Log, rng: Any, top: float) -> None:
    """Sampled chance to pass per cost; Beta priors worth two attempts with the training tasks' rates and costs."""
    rate = np.array([(rest.score[rest.arm == a] >= top).mean() for a in range(len(rest.arms))])
    cost = np.array([rest.cost[rest.arm == a].mean() for a in range(len(rest.arms))])
    passed, failed = 2 * rate + 0.05, 2 * (1 - rate) + 0.05
    while player.made < MOST and player.best < top:
        arm = int((rng.beta(passed, failed) / cost).argmax())
        if player.attempt(arm) >= top:
            return
        failed[arm] += 1


def treequest(player: Player, log: at.Log, rest: at.Log, rng: Any, top: float) -> None:
    """AB-MCTS-A: wider or deeper, and which model, by Thompson sampling; deeper is one more attempt here."""
    import treequest as tq

    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002 (the library draws from the global generator)
    algorithm = tq.ABMCTSA()
    tree = algorithm.init_tree()

    def generate(arm: int) -> Callable[[Any], tuple[Any, float]]:
        return lambda parent: (arm, min(max(player.attempt(arm) / top, 0.0), 1.0))

    choices = {name: generate(arm) for arm, name in enumerate(log.arms)}
    while player.made < MOST and player.best < top:
        tree = algorithm.step(tree, choices)


def optuna(player: Player, log: at.Log, rest: at.Log, rng: Any, top: float) -> None:
    """TPE over the arm as a category."""
    import optuna as library

    library.logging.set_verbosity(library.logging.ERROR)
    study = library.create_study(
        direction="maximize", sampler=library.samplers.TPESampler(seed=int(rng.integers(2**31)))
    )
    while player.made < MOST and player.best < top:
        trial = study.ask()
        arm = trial.suggest_categorical("arm", list(range(len(log.arms))))
        study.tell(trial, player.attempt(arm))


def played(log: at.Log, choose: Callable[..., None]) -> Curve:
    """The curve of a way that chooses after each attempt, one point for each number of attempts."""
    tasks = len(log.tasks)
    scores, costs = np.zeros((MOST, tasks)), np.zeros((MOST, tasks))
    place = {task: number for number, task in enumerate(log.tasks)}
    for rest, held in log.folds(5, 0):
        for t, task in enumerate(held.tasks):
            cells = [
                [(held.score[i], held.cost[i]) for i in np.flatnonzero((held.task == t) & (held.arm == a))]
                for a in range(len(held.arms))
            ]
            for order in range(ORDERS):
                rng = np.random.default_rng([place[task], order])
                player = Player(cells, rng)
                choose(player, held, rest, rng, log.top)
                score, cost = player.curve()
                scores[:, place[task]] += np.array(score) / ORDERS
                costs[:, place[task]] += np.array(cost) / ORDERS
    return scores, costs


def score_at(scores: Any, costs: Any, cost: float) -> float:
    """What a curve scores for so much, along the straight lines of its points; from nothing on."""
    order = np.argsort(costs, kind="stable")
    x, y = np.append(0.0, costs[order]), np.append(0.0, np.maximum.accumulate(scores[order]))
    return float(np.interp(cost, x, y))


def cost_at(scores: Any, costs: Any, score: float) -> float:
    """What a curve costs where it reaches a score, read along straight lines; NaN where it does not."""
    order = np.argsort(costs, kind="stable")
    x, y = np.append(0.0, costs[order]), np.append(0.0, np.maximum.accumulate(scores[order]))
    if y[-1] < score:
        return math.nan
    j = int(np.argmax(y >= score))
    if j == 0:
        return float(x[0])
    return float(x[j - 1] + (score - y[j - 1]) / (y[j] - y[j - 1]) * (x[j] - x[j - 1]))


def compared(name: str, log: at.Log) -> Iterator[dict[str, Any]]:
    """All ways on a log, at three prices."""
    curves = {**planned(log), **{way.__name__: played(log, way) for way in (thompson, treequest, optuna)}}
    tasks, usual = len(log.tasks), float(log.cost.mean())
    weights = np.random.default_rng(0).multinomial(tasks, np.full(tasks, 1 / tasks), RESAMPLES) / tasks
    drawn = {way: (weights @ s.T, weights @ c.T) for way, (s, c) in curves.items()}
    for shown in SHOWN:
        point = int(np.abs(np.log(PRICES / shown)).argmin())
        s, c = (x[point].mean() for x in curves["best capped arm"])
        for way, (scores, costs) in curves.items():
            if way == "best capped arm":
                continue
            means = scores.mean(axis=1), costs.mean(axis=1)
            gain, ratio = score_at(*means, c) - s, cost_at(*means, s) / c
            single = drawn["best capped arm"]
            gains = [score_at(a, b, c0) - s0 for a, b, s0, c0 in _rows(drawn[way], single, point)]
            ratios = [cost_at(a, b, s0) / c0 for a, b, s0, c0 in _rows(drawn[way], single, point)]
            low, high = np.quantile(gains, [0.025, 0.975])
            known = np.isfinite(ratios).mean() >= 0.95
            least, most = np.nanquantile(ratios, [0.025, 0.975]) if known else (math.nan, math.nan)
            yield {
                "log": name,
                "way": way,
                "best capped arm": f"{s:.3f} for {c / usual:.2f}",
                "score at its cost": f"{100 * gain:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
                "cost at its score": f"{ratio:.2f} [{least:.2f}, {most:.2f}]" if known else "does not get there",
                "worse": bool(high < 0),
            }


def _rows(mine: Any, single: Any, point: int) -> Iterator[tuple[Any, Any, float, float]]:
    yield from zip(mine[0], mine[1], single[0][:, point], single[1][:, point], strict=True)


def few(logs_: dict[str, at.Log]) -> Iterator[dict[str, Any]]:
    """Sequences from few tasks: net gain over the best capped arm from the same tasks, in points, on others."""
    worlds = {"ladder": attempt_worlds.ladder, "specialists": attempt_worlds.specialists, "twins": attempt_worlds.twins}
    prices = np.geomspace(1.0, 0.01, 7)
    for name in ("solver restarts", *worlds):
        for tasks in (8, 16, 30, 60, 90):
            gains: dict[str, list[float]] = {"greedy": [], "portfolio": [], "auto": []}
            reference = None if name not in worlds else worlds[name](1500, MOST, 999)
            for repeat in range(40):
                if reference is None:
                    log = logs_[name]
                    order = np.random.default_rng(repeat).permutation(len(log.tasks))
                    train = log.select(tasks=[log.tasks[i] for i in order[:tasks]])
                    test = log.select(tasks=[log.tasks[i] for i in order[tasks:]])
                else:
                    train, test = worlds[name](tasks, MOST, [repeat, tasks]), reference
                for method, found in gains.items():
                    found.append(_gain(train, test, method, prices))
            row: dict[str, Any] = {"log": name, "tasks": tasks}
            for method, found in gains.items():
                mean, error = float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found)))
                row[f"{method}, points"] = f"{100 * mean:+.2f} ± {200 * error:.2f}"
            yield row


def _gain(train: at.Log, test: at.Log, method: str, prices: Any) -> float:
    """The mean over prices of what a method earns more than the best capped arm, score less cost."""
    found, usual = [], float(test.cost.mean())
    for price in prices / usual:
        settings = Settings(Goal(price=price), default_score=0.0)
        if method == "auto":
            plan = at.sequence(train, price=price, default_score=0.0)
        else:
            plan = PlanBuilder(train, settings).plan(method)
        nets = []
        for arms, stop_at in ((plan.arms, plan.stop_at), (plan.single.arms, plan.single.stop_at)):
            out = follow(test, arms, walk.Scoring(stop_at, 0.0, 1.0))
            nets.append(float((out.score - price * out.cost).mean()))
        found.append(nets[0] - nets[1])
    return float(np.mean(found))


def main() -> None:
    """Measure, print and keep."""
    warnings.simplefilter("ignore")
    found = logs()
    rows = []
    for name, log in found.items():
        for row in compared(name, log):
            print(row, flush=True)
            rows.append(row)
    report("attempts", "Which arm next, and when to stop, beside the best capped arm", rows)
    more = []
    for row in few(found):
        print(row, flush=True)
        more.append(row)
    report("attempts_few", "Sequences from few tasks, beside the best capped arm from the same", more)
    assert TUNING.fewest_reaching == 2.0


if __name__ == "__main__":
    main()
