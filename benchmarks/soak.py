"""The hunt for broken promises: python benchmarks/soak.py --minutes N --seed S.

Random problems of many families, each solved, saved, stopped, evaluated, compared and learned, and held to an oracle
that shares no code with the package. It prints how often each promise was held to the oracle, and for every one that
was broken the smallest problem that shows it. Cases run in processes of their own, so that a crash or a hang is a
finding, too.
"""

import argparse
import itertools
import json
import math
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
from scipy import stats

from common import RESULTS, machine
from soaking.families import FAMILIES, draw, family_of
from soaking.oracle import Problem, TooLargeError
from soaking.promises import ALWAYS, SOMETIMES, BrokenError, Case, branches

HANGS = 240.0  # seconds without a word
SHRINKING = 20.0  # seconds for making a finding smaller


@dataclass
class Finding:
    """A promise that was broken, crashed or did not end."""

    promise: str
    family: str
    seed: int
    message: str
    code: str = ""


@dataclass
class Told:
    """What a worker says of one case."""

    family: str
    held: list[str]  # promises that were held to the oracle
    learned: list[bool] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)  # whether proved intervals of logs hold
    findings: list[Finding] = field(default_factory=list)


def check(promise: Callable[[Case], Any], problem: Problem, seed: int) -> Any:
    """Hold one promise to the oracle: what it returns, or whatever goes wrong as a sentence."""
    try:
        with branches(seed):
            return promise(Case(problem, seed))
    except TooLargeError:
        return "too large for the oracle"
    except BrokenError as error:
        raise error from None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise BrokenError(f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})") from None


def one_case(seed: int) -> Told:
    """All promises for one problem, some of them by turns."""
    problem = draw(seed)
    chosen = np.random.default_rng([seed, 3]).choice(len(SOMETIMES), 3, replace=False)
    told = Told(problem.family, [])
    for promise in (*ALWAYS, *(SOMETIMES[int(n)] for n in chosen)):
        try:
            found = check(promise, problem, seed)
        except BrokenError as error:
            small, message = shrunk(promise, problem, seed, str(error))
            told.findings.append(Finding(promise.__name__, problem.family, seed, message, small.code()))
            continue
        if found == "too large for the oracle":
            continue
        if isinstance(found, bool):
            told.learned.append(found)
        if isinstance(found, tuple):
            told.covered.append(found[1])
        told.held.append(promise.__name__)
    return told


def shrunk(promise: Callable[[Case], Any], problem: Problem, seed: int, message: str) -> tuple[Problem, str]:
    """The smallest problem found that still breaks the promise."""
    until = time.perf_counter() + SHRINKING
    smaller_still = True
    while smaller_still and time.perf_counter() < until:
        smaller_still = False
        for candidate in smaller(problem):
            try:
                check(promise, candidate, seed)
            except BrokenError as error:
                problem, message, smaller_still = candidate, str(error), True
                break
            if time.perf_counter() > until:
                break
    return problem, message


def smaller(problem: Problem) -> Iterator[Problem]:
    """Problems with something left out."""
    if problem.k > 1:
        yield replace(problem, k=1)
        yield replace(problem, k=problem.k // 2)
        yield replace(problem, k=problem.k - 1)
    if problem.horizon > 1:
        yield replace(problem, horizon=problem.horizon - 1, steps=problem.steps[: max(problem.horizon - 1, 1)])
    if problem.costs:
        yield replace(problem, costs={})
        for pair in problem.costs:
            yield replace(problem, costs={other: cost for other, cost in problem.costs.items() if other != pair})
    if problem.price:
        yield replace(problem, price=0)
    if problem.abandon:
        yield replace(problem, abandon=False)
    if problem.incumbent != -np.inf:
        yield replace(problem, incumbent=-np.inf)
    for n, table in enumerate(problem.steps):
        for s, actions in table.items():
            for a, row in actions.items():
                if len(actions) > 1:
                    yield _with(problem, n, s, {b: r for b, r in actions.items() if b != a})
                for o in range(len(row) if len(row) > 1 else 0):
                    rest = [outcome for j, outcome in enumerate(row) if j != o]
                    total = sum(p for p, *_ in rest)
                    if total:
                        yield _with(problem, n, s, {**actions, a: [(p / total, *other) for p, *other in rest]})


def _with(problem: Problem, n: int, s: int, actions: Any) -> Problem:
    steps = list(problem.steps)
    steps[n] = {**steps[n], s: actions}
    there = {(t, a) for table in steps for t, offered in table.items() for a in offered}
    return replace(problem, steps=steps, costs={pair: cost for pair, cost in problem.costs.items() if pair in there})


def work(pipe: Connection, first: int, only: Sequence[str] | None) -> None:
    """Cases one after the other, each announced before it is begun."""
    for seed in itertools.count(first):
        if only is not None and family_of(seed).__name__ not in only:
            continue
        pipe.send(seed)
        pipe.send(one_case(seed))


class Worker:
    """A process that works through seeds."""

    def __init__(self, first: int, only: Sequence[str] | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.seed, self.heard, self.ended = first, time.perf_counter(), False
        self.process = context.Process(target=work, args=(theirs, first, only), daemon=True)
        self.process.start()
        theirs.close()

    def lost(self) -> str | None:
        """How it was lost, if it was."""
        if self.ended:
            self.process.join()
            return f"the process ended with {self.process.exitcode}"
        if time.perf_counter() - self.heard > HANGS:
            return f"no answer in {HANGS:g} s"
        return None


def hunt(
    minutes: float, seed: int, jobs: int, only: Sequence[str] | None = None
) -> tuple[Counter[tuple[str, str]], list[bool], list[bool], list[Finding]]:
    """Run for so many minutes: what was held to the oracle by family and promise, what learning got right, and proved
    intervals of logs, and findings.

    The clock starts with the first answer, when all is compiled.
    """
    held: Counter[tuple[str, str]] = Counter()
    learned: list[bool] = []
    covered: list[bool] = []
    findings: list[Finding] = []
    workers = [Worker((seed * 1000 + n) * 10**9, only) for n in range(jobs)]
    until = math.inf
    while time.perf_counter() < until:
        for pipe in wait([worker.pipe for worker in workers], timeout=1.0):
            worker = next(worker for worker in workers if worker.pipe is pipe)
            try:
                told = worker.pipe.recv()
            except EOFError:  # a crash
                worker.ended = True
                continue
            worker.heard = time.perf_counter()
            if isinstance(told, int):
                worker.seed = told
                continue
            until = min(until, time.perf_counter() + 60 * minutes)
            held.update((told.family, promise) for promise in told.held)
            learned += told.learned
            covered += told.covered
            for finding in told.findings:
                if all((finding.promise, finding.message[:25]) != (f.promise, f.message[:25]) for f in findings):
                    show(finding)  # one of a kind is enough to begin with
                findings.append(finding)
        for n, worker in enumerate(workers):
            if (how := worker.lost()) is not None:
                problem = draw(worker.seed)
                findings.append(Finding("ends", problem.family, worker.seed, how, problem.code()))
                show(findings[-1])
                until = min(until, time.perf_counter() + 60 * minutes)
                worker.process.kill()
                workers[n] = Worker(worker.seed + 1, only)
    for worker in workers:
        worker.process.kill()
    return held, learned, covered, findings


def show(finding: Finding) -> None:
    """Print a finding, with the code that shows it."""
    print(f"BROKEN {finding.promise} ({finding.family}, seed {finding.seed}): {finding.message}")
    print(f"  {finding.code}", flush=True)


def main() -> int:
    """Hunt, print the counts, keep them; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to hunt")
    parser.add_argument("--seed", type=int, default=0, help="which problems come up")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--only", nargs="+", metavar="FAMILY", help="families to draw from; all by default")
    parser.add_argument("--keep", action="store_true", help="add the counts to benchmarks/results/soak.json")
    given = parser.parse_args()
    unknown = set(given.only or ()) - {family.__name__ for family in FAMILIES}
    if unknown:
        parser.error(f"there is no family {', '.join(sorted(unknown))}")
    held, learned, covered, findings = hunt(given.minutes, given.seed, given.jobs, given.only)
    promises = [promise.__name__ for promise in (*ALWAYS, *SOMETIMES)]
    rows = [
        {"family": family.__name__, **{name: held[family.__name__, name] for name in promises}} for family in FAMILIES
    ]
    width = max(len(row["family"]) for row in rows)
    print(" " * width, *(f"{name:>13}" for name in promises))
    for row in (row for row in rows if given.only is None or row["family"] in given.only):
        print(f"{row['family']:<{width}}", *(f"{row[name]:>13}" for name in promises))
    wrong = len(learned) - sum(learned)
    refuted = len(learned) and float(stats.binom.sf(wrong - 1, len(learned), 0.5)) < 1e-6
    missed = len(covered) - sum(covered)
    refuted = refuted or (len(covered) and float(stats.binom.sf(missed - 1, len(covered), 0.05)) < 1e-6)
    print(f"learned: {wrong} of {len(learned)} certificates at delta 0.5 were wrong")
    print(f"attempts: {missed} of {len(covered)} proved intervals at 95 % were wrong")
    print(f"{sum(held.values())} promises held to the oracle, {len(findings)} broken, seed {given.seed}")
    if given.keep:
        keep(
            rows,
            {
                "seed": given.seed,
                "minutes": given.minutes,
                "broken": len(findings),
                "learned wrong": wrong,
                "intervals wrong": missed,
            },
        )
    return 1 if findings or refuted else 0


def keep(rows: list[dict[str, Any]], run: dict[str, Any]) -> None:
    """Add the counts of a run to those that are kept; other versions or machines begin anew."""
    path = RESULTS / "soak.json"
    here = machine()
    old = json.loads(path.read_text()) if path.exists() else {}
    if old.get("machine") != here or [row["family"] for row in old["rows"]] != [row["family"] for row in rows]:
        old = {"runs": [], "rows": [dict.fromkeys(row, 0) | {"family": row["family"]} for row in rows]}
    both = zip(old["rows"], rows, strict=True)
    total = [{k: v if k == "family" else v + row[k] for k, v in so_far.items()} for so_far, row in both]
    path.write_text(json.dumps({"machine": here, "runs": [*old["runs"], run], "rows": total}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
