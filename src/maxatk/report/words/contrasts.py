"""Sentences that compare the first try of a policy with its last."""

import math

from maxatk.base.text import about
from maxatk.comparison.contrast import Contrast, Difference, Try
from maxatk.problem.grid import action_name, places
from maxatk.problem.mdp import MDP

MUCH = 0.01  # the least probability of unfollowed courses that is mentioned
NOTHING = 1e-15  # of the range of returns: smaller numbers are rounding errors


def sentences(contrast: Contrast, most: int = 3) -> list[str]:
    """The contrast in sentences, with at most ``most`` changes for each try, and ``most`` places for each change."""
    told = [_returns(contrast, contrast.first)]
    for other in contrast.last:
        told.append(_returns(contrast, other))
        if not other.stops:
            told.append(f"  {_acts(contrast, other, most)}")
    return told


def text(contrast: Contrast) -> str:
    """The contrast in lines, one for each sentence."""
    return "\n".join(sentences(contrast))


def changes(contrast: Contrast, other: Try, most: int = 3, main: bool = False) -> str:
    """The actions of ``other`` in place of those of the first try, with places; empty if there are no differences.

    Differences with the most visits come first.

    Args:
        contrast: the contrast.
        other: the try.
        most: the maximal number of changes, and of places of each.
        main: whether only the first change is listed.
    """
    by_action: dict[tuple[int, int], list[Difference]] = {}
    for difference in contrast.first.differences(other):
        by_action.setdefault((difference.first, difference.then), []).append(difference)
    groups = sorted(by_action.items(), key=lambda item: -sum(one.visits for one in item[1]))
    groups = groups[:1] if main else groups
    told = [
        f"{_action(contrast.mdp, then)} in place of {_action(contrast.mdp, first)} in "
        f"{places(contrast.mdp, [one.state for one in alike], most)}"
        for (first, then), alike in groups[:most]
    ]
    return "; ".join([*told, *([f"and {len(groups) - most} more"] if len(groups) > most else [])])


def _acts(contrast: Contrast, other: Try, most: int) -> str:
    """A sentence that compares the actions of a try with those of the first."""
    number = len(contrast.first.differences(other))
    if number:
        where = "1 state" if number == 1 else f"{number} states"
        return f"It acts differently from the first try in {where}: {changes(contrast, other, most)}."
    states = "states in which both often have something left to win"
    told = (
        f"In {states}, it acts mostly as the first try does."
        if contrast.shares_states(other)
        else f"There are no {states}."
    )
    if not contrast.returns_differ(other):
        return told
    return f"{told} Its returns differ: it acts differently at some steps, at some returns so far, or elsewhere."


def _returns(contrast: Contrast, one: Try) -> str:
    """A sentence on the return of a try itself, not on the best so far."""
    least, most = contrast.mdp.return_range

    def told(name: str) -> str:
        ends: list[float] = [getattr(side, name) for side in (one.least, one.most)]
        lower, upper = (x if abs(x) > NOTHING * (most - least) else 0.0 for x in ends)
        return about(lower, upper, 4)

    which = f"try {one.rollout + 1} of {contrast.k} {with_best(one.best)}"
    if one.stops:
        return f"Before {which}, the policy stops."
    if one.given_up == 1:
        return f"On {which}, the policy gives up in all cases."
    parts = [f"On {which}, the policy "]
    if one.best > -math.inf:
        parts.append(f"beats that in {about(100 * one.least.beats, 100 * one.most.beats, 3)} % of all cases; it ")
    if one.given_up > 0:
        parts.append(f"gives up in {100 * one.given_up:.3g} % of all cases; else it ")
    parts.append(f"returns {told('mean')} on average (10 % quantile {told('low')}, 90 % quantile {told('high')}).")
    if one.left_out > MUCH:
        parts.append(f" {100 * one.left_out:.2g} % of all cases were not followed.")
    return "".join(parts)


def with_best(best: float) -> str:
    """The best return before a try, in words."""
    return "with no result yet" if best == -math.inf else f"with a best so far of {best:.6g}"


def _action(mdp: MDP, action: int) -> str:
    return "giving up" if action == mdp.n_actions else action_name(mdp, action)
