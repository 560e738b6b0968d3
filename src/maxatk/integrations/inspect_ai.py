"""Inspect (extra ``inspect``): reducers and metrics for the best of k, and a solver that follows a plan.

Tested with inspect-ai 0.3.285.

A reducer turns the scores of a sample's epochs into one: ``Task(..., epochs=Epochs(8, max_at(4)))``. Inspect's own
``max`` takes the best of *all* epochs, which grows with their number.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from maxatk.attempts.judges.picks import selected_of
from maxatk.attempts.sequences.plan import SequencePlan
from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.integrations.extras import member, required

_scorer: Any = required("inspect_ai.scorer", "inspect-ai", "inspect")
_solver: Any = required("inspect_ai.solver", "inspect-ai", "inspect")
_score: Any = member(_scorer, "Score", "inspect-ai")
_reducer: Any = member(_scorer, "score_reducer", "inspect-ai")
_metric: Any = member(_scorer, "metric", "inspect-ai")
_to_float: Any = member(_scorer, "value_to_float", "inspect-ai")


@_reducer(name="max_at")
def max_at(k: int) -> Any:
    """A reducer: the expected best score of ``k`` epochs of a sample, unbiased from all of its epochs.

    A sample with fewer than ``k`` scored epochs is unscored (NaN), as for Inspect's ``pass_at``.

    Args:
        k: the number of tries in use, at most that of epochs.
    """
    checks.integer(k, "k", least=1)

    def reduce(scores: list[Any]) -> Any:
        return _reduced(scores, lambda values: (values, values), k)

    return reduce


@_reducer(name="selected_at")
def selected_at(k: int, judge: str) -> Any:
    """A reducer: the expected score of the epoch that a judge likes best among ``k``, unbiased from all epochs.

    Args:
        k: the number of tries in use, at most that of epochs.
        judge: where a score has the judge's number: a key of its value, if that is a dictionary, or of its metadata.
    """
    checks.integer(k, "k", least=1)

    def reduce(scores: list[Any]) -> Any:
        likes = np.array([_judged(score, judge) for score in scores])
        return _reduced(scores, lambda values: (values, likes), k)

    return reduce


def _judged(score: Any, judge: str) -> float:
    """What a judge says of an epoch; NaN for an epoch without a score."""
    for entries in (score.value, score.metadata):
        if checks.is_dict(entries) and judge in entries:
            return float(_to_float()(entries[judge]))
    if not checks.is_dict(score.value) and math.isnan(float(_to_float()(score.value))):
        return math.nan
    raise InputError(f"a score has no {checks.shown(judge)} for the judge, neither in its value nor in its metadata")


def _reduced(scores: Sequence[Any], judged: Callable[[Any], tuple[Any, Any]], k: int) -> Any:
    """The scores of a sample's epochs as one score, whose value is a number, or a dictionary as theirs."""
    first = scores[0]
    if not checks.is_dict(first.value):
        value: Any = _picked([score.value for score in scores], judged, k)
    else:
        value = {name: _picked([score.value[name] for score in scores], judged, k) for name in first.value}
    return _score(value=value, answer=first.answer, explanation=first.explanation, metadata=first.metadata)


def _picked(values: Sequence[Any], judged: Callable[[Any], tuple[Any, Any]], k: int) -> float:
    """The expected value of the epoch that is liked best among ``k``."""
    truth, likes = judged(np.array([float(_to_float()(value)) for value in values]))
    scored = ~(np.isnan(truth) | np.isnan(likes))
    if scored.sum() < k:
        return math.nan
    return float(selected_of(truth[scored][None], likes[scored][None], [k])[0, 0])


@_metric(scores="unreduced")
def mean_max_at(k: int) -> Any:
    """A metric: the mean over samples of the expected best score of ``k`` epochs, whatever the reducer.

    Args:
        k: the number of tries in use, at most that of epochs.
    """
    return _mean_of(max_at(k))


@_metric(scores="unreduced")
def mean_selected_at(k: int, judge: str) -> Any:
    """A metric: the mean over samples of the expected score of the epoch that a judge likes best among ``k``.

    Args:
        k: the number of tries in use, at most that of epochs.
        judge: a key of the metadata of scores, which has the judge's number.
    """
    return _mean_of(selected_at(k, judge))


def _mean_of(reduce: Any) -> Any:
    def metric(scores: list[Any]) -> float:
        epochs: dict[Any, list[Any]] = {}
        for one in scores:
            epochs.setdefault(one.sample_id, []).append(one.score)
        values = [float(reduce(some).value) for some in epochs.values()]
        scored = [value for value in values if not math.isnan(value)]
        return sum(scored) / len(scored) if scored else math.nan

    return metric


@_solver.solver
def follow(plan: SequencePlan, arms: Mapping[str, Any], scorer: Any) -> Any:
    """A solver that follows a plan: arm after arm until an attempt scores ``plan.stop_at``, and hands in the best.

    Every attempt starts from the state that the solver was given. The metadata of the result has, as ``attempts``, the
    arm and the score of each.

    Args:
        plan: what :func:`maxatk.attempts.sequence` returns.
        arms: the solver of each arm of the plan.
        scorer: scores an attempt at run time, such as a verifier: ``scorer(state, target)``, as scorers of Inspect.
    """
    if missing := next((arm for arm in dict.fromkeys(plan.arms) if arm not in arms), None):
        raise InputError(f"arms has no solver for {checks.shown(missing)}, which the plan tries")

    async def solve(state: Any, generate: Any) -> Any:
        best, best_score, attempts = state, -math.inf, list[dict[str, Any]]()
        for arm in plan.arms:
            tried: Any = await arms[arm](deepcopy(state), generate)
            score = float(_to_float()((await scorer(tried, tried.target)).value))
            attempts.append({"arm": arm, "score": score})
            if score > best_score:
                best, best_score = tried, score
            if score >= plan.stop_at:
                break
        best.metadata["attempts"] = attempts
        return best

    return solve
