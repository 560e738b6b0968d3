"""Planning with costs: held to the truth on random problems, and timed.

    python benchmarks/costs.py exact        # fractions against brute force over all histories
    python benchmarks/costs.py certified    # intervals and policies against an oracle, on and off lattices
    python benchmarks/costs.py speed        # what planning takes as a try costs more

``--cases N --seed S`` say how many problems of each kind, and which. Problems are those of soaking/families.py: row
costs, try costs or both, of any size, with the right to give up or not, with something in hand or not. Every problem
that is drawn counts but those that are too large for brute force, whose number is printed.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import maxatk as mk
from common import report
from soaking.families import costs, costs_of_real
from soaking.oracle import Problem, TooLargeError
from soaking.promises import Case

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cost_oracles import earned, net_optimum

MOST_HISTORIES = 30_000  # of a trial, that brute force goes through


def drawn(families: tuple[Callable[[np.random.Generator], Problem], ...], seed: int) -> Iterator[tuple[int, Problem]]:
    """Problems that cost something, from families by turns."""
    for n in range(seed * 10**6, sys.maxsize):
        problem = families[n % len(families)](np.random.default_rng([n, 15]))
        if problem.priced:
            yield n, problem


def histories(problem: Problem) -> int:
    """An upper bound on how many histories a trial can have."""
    row = max(len(row) for table in problem.steps for actions in table.values() for row in actions.values())
    actions = max(len(actions) for table in problem.steps for actions in table.values())
    starts = len(problem.resets)
    one = starts * sum((row * actions) ** h for h in range(problem.horizon + 1)) * (2 if problem.abandon else 1)
    return one**problem.k


def exact(cases: int, seed: int) -> None:
    """The exact solver equals brute force over all histories, and so does what its policy earns."""
    kinds: Counter[str] = Counter()
    left_out = 0
    for n, problem in drawn((costs, costs_of_real), seed):
        if histories(problem) > MOST_HISTORIES:
            left_out += 1
            continue
        case = Case(problem, n)
        arguments = {"cost": problem.price, "abandon": problem.abandon}
        plan = mk.solve(case.mdp, problem.k, solver=mk.Exact(), best_so_far=problem.incumbent, **arguments)
        best = net_optimum(case.mdp, problem.k, in_hand=problem.incumbent, **arguments)
        paid = earned(case.mdp, plan.policy, problem.k, cost=problem.price, in_hand=problem.incumbent)
        assert plan.exact == best == paid.net, problem.code()
        for i in range(problem.k):
            z = Fraction(plan.stop_at)
            for m in (z - Fraction(1, 10**30), z, z + Fraction(1, 10**30)):
                assert plan.policy.stops(rollout=i, best=m) == (m >= z), problem.code()
        kinds.update([*kinds_of(problem), f"K={problem.k}", f"H={problem.horizon}"])
        if kinds["all"] == cases:
            break
    print(f"exact = brute force = what the policy earns on {cases} problems: {dict(kinds)}; {left_out} too large")


def certified(cases: int, seed: int) -> None:
    """Certified intervals contain the optimum, policies earn ``lower``, and stop at ``stop_at`` before every try."""
    kinds: Counter[str] = Counter()
    open_ones = left_out = 0
    for n, problem in drawn((costs, costs_of_real), seed + 500):
        problem = replace(problem, k=int(np.random.default_rng([n, 16]).integers(1, 6)))
        case = Case(problem, n)
        try:
            low, high = case.truth.value(0, problem.incumbent)
            plan = case.plan
            found = case.truth.earned(plan.policy.action, 0, problem.incumbent)
        except TooLargeError:
            left_out += 1
            continue
        assert Fraction(plan.lower) <= high, problem.code()
        assert Fraction(plan.upper) >= low, problem.code()
        assert found >= Fraction(plan.lower), problem.code()
        z = plan.stop_at
        for i in range(problem.k):
            below = np.nextafter(z, -np.inf)
            assert [plan.policy.stops(rollout=i, best=float(m)) for m in (below, z)] == [False, True], problem.code()
        open_ones += plan.gap > 1e-9
        lattice = "on a lattice" if plan.stats["exact_lattice"] else "off lattices"
        kinds.update([*kinds_of(problem), lattice, f"K={problem.k}"])
        if kinds["all"] == cases:
            break
    print(f"certified holds on {cases} problems: {dict(kinds)}; {open_ones} intervals are open; {left_out} too large")


def kinds_of(problem: Problem) -> list[str]:
    """What a problem has."""
    named = {
        "row costs": any(problem.costs.values()),
        "try costs": problem.price > 0,
        "may give up": problem.abandon,
        "something in hand": problem.incumbent != -np.inf,
    }
    return ["all", *(name for name, has in named.items() if has)]


def speed(repeats: int = 5) -> None:
    """What planning takes as a try costs more, of processor time on one thread; the least of some runs."""
    cliff = mk.instances.windy_cliff()
    sparse = mk.instances.random_sparse(200, 4, 20, rewards=range(11), rng=0)
    real = mk.instances.random_sparse(50, 3, 8, rng=0)
    rows = []
    for name, mdp, k, tol, prices in (
        ("windy cliff, K=5, tol 1e-6", cliff, 5, 1e-6, (0, 0.1, 0.5, 2, 8)),
        ("sparse S=200 H=20 K=4, rewards 0..10, tol 1e-6", sparse, 4, 1e-6, (0, 0.1, 1, 5)),
        ("sparse S=50 H=8 K=4, real rewards, tol 0.02", real, 4, 0.02, (0, 0.01, 0.1, 0.5)),
    ):
        for c in prices:
            for how, priced, cost in (("per try", mdp, c), ("per row", mdp.with_action_costs(c / mdp.horizon), 0)):
                if c == 0 and how == "per row":
                    continue
                solver = mk.Certified(tol=tol, threads=1)
                spent = []
                for _ in range(repeats + 1):  # the first compiles
                    began = time.process_time()
                    plan = mk.solve(priced, k, solver=solver, cost=cost)
                    spent.append(time.process_time() - began)
                rows.append(
                    {
                        "problem": name,
                        "cost of a try": float(c),
                        "paid": "nothing" if c == 0 else how,
                        "slices": int(plan.stats["slices"]),
                        "processor ms": round(1000 * min(spent[1:]), 1),
                        "stop at": "never" if plan.stop_at == math.inf else f"{plan.stop_at:.6g}",
                    }
                )
    report("costs", "What planning takes where a try costs something, one thread", rows)


def main() -> None:
    """The one that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["exact", "certified", "speed"])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.what == "speed":
        speed()
    else:
        {"exact": exact, "certified": certified}[given.what](given.cases, given.seed)


if __name__ == "__main__":
    main()
