"""Cross-validation: what is chosen on the tasks of all folds but one is replayed on the tasks of that one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxatk.attempts.log import Log
from maxatk.attempts.sequences.follow import Outcome
from maxatk.base.types import Ints


class Fold(NamedTuple):
    """A fold of the tasks of a log."""

    rest: Log  # the tasks of all other folds
    held_out: Log  # the tasks of this one
    rows: Ints  # their numbers in the log


def folds_of(log: Log, n: int, rng: Any) -> list[Fold]:
    """The folds of a log; ``rng`` is a seed or a ``Generator``."""
    number_of = {task: number for number, task in enumerate(log.tasks)}
    pairs = log.folds(n, rng)
    return [Fold(rest, held, np.array([number_of[task] for task in held.tasks])) for rest, held in pairs]


def in_order(folds: Sequence[Fold], parts: Sequence[Any]) -> Any:
    """Arrays with an entry per task of each fold, as one array [T] with the tasks in the order of the log."""
    return np.concatenate(parts)[np.argsort(np.concatenate([fold.rows for fold in folds]))]


def fold_numbers(folds: Sequence[Fold]) -> Ints:
    """The number of the fold [T] in which each task is held out."""
    return in_order(folds, [np.full(len(fold.rows), number) for number, fold in enumerate(folds)])


def gathered(folds: Sequence[Fold], outcomes: Sequence[Outcome]) -> Outcome:
    """The outcomes on the tasks of each fold as one outcome on all tasks."""
    columns: dict[str, Any] = {name: [getattr(one, name) for one in outcomes] for name in vars(outcomes[0])}
    for name, parts in columns.items():
        known = all(part is not None for part in parts)  # the seconds of some tasks may be missing
        columns[name] = in_order(folds, parts) if known else None
    return Outcome(**columns)
