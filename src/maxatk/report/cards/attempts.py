"""Cards of logs of attempts, and of what they say."""

import numpy as np

from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.pairing import Differences
from maxatk.attempts.logs.data import LogData
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.attempts.sequences.replay import Replay
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.attempts.study.study import Study
from maxatk.base.text import count_of, short
from maxatk.report.cards import parts
from maxatk.report.tables import attempts as tables


def log(shown: LogData) -> str:
    """The arms of a log: how often each was tried, its mean score and its mean cost."""
    attempts = np.bincount(shown.arm, minlength=len(shown.arms))
    scores = np.bincount(shown.arm, shown.score, len(shown.arms))
    costs = np.bincount(shown.arm, shown.cost, len(shown.arms))
    tasks = (shown.counts > 0).sum(axis=0)
    cells = [
        (arm, str(n), str(t), short(float(score) / max(n, 1)), short(float(cost) / max(n, 1)))
        for arm, n, t, score, cost in zip(
            shown.arms, attempts.tolist(), tasks.tolist(), scores.tolist(), costs.tolist(), strict=True
        )
    ]
    return parts.card(
        repr(shown),
        parts.rows(("arm", "attempts", "tasks", "mean score", "mean cost"), cells, (1, 2, 3, 4)),
        parts.note("Means over attempts, of this log. log.max_at_k([1, 2, 4]) estimates, at.study(log) advises."),
    )


def curve(shown: Curve) -> str:
    """Estimates by number of attempts."""
    return parts.card(f"{shown.name}, with intervals over tasks", parts.table(tables.curve(shown)))


def differences(shown: Differences) -> str:
    """Pairs of arms."""
    return parts.card(
        f"Differences, task by task ({shown.sureness})", parts.table(tables.differences(shown, every=True))
    )


def frontier(shown: Frontier) -> str:
    """Strategies that no other dominates, and whether sequences are better than one arm."""
    hidden = len(shown.strategies) - len(shown.efficient)
    return parts.card(
        "Score against cost",
        parts.verdict(shown.verdict),
        parts.table(tables.frontier(shown)),
        parts.note(f"Dominated strategies left out: {hidden}." if hidden else ""),
    )


def sequence(shown: SequencePlan) -> str:
    """What to try in which order, and when to stop."""
    return parts.card(
        f"Built from {count_of(shown.built_from.tasks, 'task')}",
        parts.verdict(shown.words),
        parts.table(tables.sequence(shown)),
        parts.note("Means over the tasks that it was built from: plan.replay(log) estimates score and cost on others."),
    )


def replay(shown: Replay) -> str:
    """A sequence on held-out tasks, beside the best single arm."""
    said = shown.verdict
    return parts.card(
        f"On {count_of(shown.tasks, 'held-out task')}",
        parts.verdict(f"{said[0].upper()}{said[1:]}."),
        parts.table(tables.replay(shown)),
    )


def study(shown: Study, *more: str) -> str:
    """The advice of a study, its curves, the attempts that are advised, and ``more`` parts."""
    plan = shown.plan
    return parts.card(
        repr(shown.log),
        parts.verdict(shown.advice[0]),
        parts.lines(shown.advice[1:]),
        *(parts.table(tables.curve(one)) for one in shown.curves),
        parts.table(tables.sequence(plan)) if plan is not None and plan.steps else "",
        *more,
        parts.note("print(study) shows all of it, study.page(path) with charts."),
    )
