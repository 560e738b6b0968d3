"""Worlds of attempts with a hidden difficulty, for tests and benchmarks: what sequences earn in them is known."""

import numpy as np

from maxatk import attempts as at

LADDER = {"small": (-0.5, 1.0), "medium": (0.5, 4.0), "big": (1.5, 15.0)}  # skill and cost of an attempt
SPECIALISTS = {"algebra": 1.0, "search": 2.0, "general": 6.0}  # cost of an attempt


def ladder(tasks, attempts, rng, first=0):
    """Pass or fail: three models of rising skill and cost, tasks of every difficulty; hard tasks cost a little more."""
    rng = np.random.default_rng(rng)
    rows = []
    for task in range(tasks):
        difficulty = rng.normal(0, 1.5)
        for arm, (skill, cost) in LADDER.items():
            chance = 1 / (1 + np.exp(-1.7 * (skill - difficulty)))
            for _ in range(attempts):
                paid = cost * rng.gamma(4, 0.25) * np.exp(0.2 * difficulty)
                rows.append({"task": first + task, "arm": arm, "score": float(rng.random() < chance), "cost": paid})
    return at.Log.from_records(rows, score_range=(0, 1))


def specialists(tasks, attempts, rng, first=0):
    """By degrees: two arms that are good at one kind of task each, and a dear one that is fair at all."""
    rng = np.random.default_rng(rng)
    rows = []
    for task in range(tasks):
        kind, hard = rng.integers(0, 3), rng.beta(2, 2)
        for number, (arm, cost) in enumerate(SPECIALISTS.items()):
            skill = 0.55 if arm == "general" else 0.75 if number == kind else 0.15
            mean = skill * (1 - 0.6 * hard)
            for _ in range(attempts):
                share = rng.beta(8 * mean + 0.2, 8 * (1 - mean) + 0.2)
                score = min(1.0, np.floor(12.5 * share) / 10)
                paid = cost * rng.lognormal(0, 0.4)
                rows.append({"task": first + task, "arm": arm, "score": float(score), "cost": paid})
    return at.Log.from_records(rows, score_range=(0, 1))


def twins(tasks, attempts, rng, first=0):
    """Two arms that are the same: nothing can be gained by switching."""
    rng = np.random.default_rng(rng)
    rows = []
    for task in range(tasks):
        chance = rng.beta(0.6, 0.9)
        for arm in ("left", "right"):
            rows += [
                {"task": first + task, "arm": arm, "score": float(rng.random() < chance), "cost": rng.gamma(4, 0.25)}
                for _ in range(attempts)
            ]
    return at.Log.from_records(rows, score_range=(0, 1))
