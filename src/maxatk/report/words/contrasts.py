"""The first try of a policy and its last, in words."""

import math

from maxatk.base.text import about
from maxatk.comparison.contrast import Contrast, Difference, Try
from maxatk.problem.grid import action_name, places
from maxatk.problem.mdp import MDP

MUCH = 0.01  # the chance of courses that were not followed, from which on it is told
NOTHING = 1e-15  # of the range of returns: what rounding amounts to


def sentences(found: Contrast, most: int = 3) -> list[str]:
    """The contrast in words; at most so many changes are named for each try, and so many places for each."""
    told = [_returns(found, found.first)]
    for other in found.last:
        told.append(_returns(found, other))
        if not other.stops:
            told.append(f"  {_acts(found, other, most)}")
    return told


def text(found: Contrast) -> str:
    """The same, a line for each."""
    return "\n".join(sentences(found))


def changes(found: Contrast, other: Try, most: int = 3, main: bool = False) -> str:
    """What ``other`` does in place of what the first try does, and where; empty where it does the same.

    What counts in most visits comes first.

    Args:
        found: the contrast.
        other: the try.
        most: how many changes are told, and places of each.
        main: whether only the first of them is told.
    """
    by_action: dict[tuple[int, int], list[Difference]] = {}
    for difference in found.first.differences(other):
        by_action.setdefault((difference.first, difference.then), []).append(difference)
    groups = sorted(by_action.items(), key=lambda item: -sum(one.visits for one in item[1]))
    groups = groups[:1] if main else groups
    told = [
        f"{_action(found.mdp, then)} in place of {_action(found.mdp, first)} in "
        f"{places(found.mdp, [one.state for one in alike], most)}"
        for (first, then), alike in groups[:most]
    ]
    return "; ".join([*told, *([f"and {len(groups) - most} more"] if len(groups) > most else [])])


def _acts(found: Contrast, other: Try, most: int) -> str:
    """How a try acts, compared with the first."""
    number = len(found.first.differences(other))
    if number:
        where = "1 state" if number == 1 else f"{number} states"
        return f"It acts differently from the first try in {where}: {changes(found, other, most)}."
    states = "states in which both often have something left to win"
    told = (
        f"In {states}, it acts mostly as the first try does."
        if found.shares_states(other)
        else f"There are no {states}."
    )
    if not found.returns_differ(other):
        return told
    return f"{told} Its returns differ: it acts differently at some steps, at some returns so far, or elsewhere."


def _returns(found: Contrast, one: Try) -> str:
    """What a try returns itself, whatever the best return before it."""
    least, most = found.mdp.return_range

    def told(name: str) -> str:
        ends: list[float] = [getattr(side, name) for side in (one.least, one.most)]
        lower, upper = (x if abs(x) > NOTHING * (most - least) else 0.0 for x in ends)
        return about(lower, upper, 4)

    hand = "nothing" if one.best == -math.inf else f"{one.best:.6g}"
    which = f"try {one.rollout + 1} of {found.k} with {hand} in hand"
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


def _action(mdp: MDP, action: int) -> str:
    return "giving up" if action == mdp.n_actions else action_name(mdp, action)
