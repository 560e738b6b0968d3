"""Sentences that compare the first try of a policy with its last."""

import math

from maxatk.base.text import about, portion
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
        if not other.stops and not _decided(other):
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
        f"{_action(contrast.mdp, then)} instead of {_action(contrast.mdp, first)} "
        f"({places(contrast.mdp, [one.state for one in alike], most)})"
        for (first, then), alike in groups[:most]
    ]
    return "; ".join([*told, *([f"and {len(groups) - most} more"] if len(groups) > most else [])])


def _acts(contrast: Contrast, other: Try, most: int) -> str:
    """A sentence that compares the actions of a try with those of the first."""
    number = len(contrast.first.differences(other))
    if number:
        where = "1 state" if number == 1 else f"{number} states"
        return f"It acts differently from the first try in {where}: {changes(contrast, other, most)}."
    told = (
        "It mostly acts like the first try."
        if contrast.shares_states(other)
        else "It shares no state with the first try in which both often have something left to win."
    )
    if not contrast.returns_differ(other):
        return told
    return f"{told} It differs in states that one of them rarely visits, or at some steps and scores so far."


def _returns(contrast: Contrast, one: Try) -> str:
    """A sentence on the return of a try itself, not on the best so far."""
    least, most = contrast.mdp.return_range

    def told(name: str) -> str:
        ends: list[float] = [getattr(side, name) for side in (one.least, one.most)]
        lower, upper = (x if abs(x) > NOTHING * (most - least) else 0.0 for x in ends)
        return about(lower, upper, 4)

    which = f"Try {one.rollout + 1} of {contrast.k}, {known_best(one.best)}:"
    if one.stops:
        return f"{which} the policy stops before it."
    if one.given_up == 1:
        return f"{which} the policy always gives it up."
    if _decided(one):
        return f"{which} this try never beats it."
    parts: list[str] = []
    if one.best > -math.inf:
        parts.append(f"it beats that in {portion(one.least.beats, one.most.beats)} of all cases")
    if one.given_up > 0:
        parts.append(f"it is given up in {portion(one.given_up, one.given_up)} of all cases")
    unit = f" {contrast.mdp.unit}" if contrast.mdp.unit else ""
    finished = "if not, " if one.given_up > 0 else ""
    parts.append(f"{finished}the mean return is {told('mean')}{unit}")
    parts.append(f"at least 80 % of tries return {_between(told('low'), told('high'))}")
    if one.left_out > MUCH:
        parts.append(f"{portion(one.left_out, one.left_out)} of all cases were not followed")
    return f"{which} {'; '.join(parts)}."


def _decided(one: Try) -> bool:
    """Whether a try has nothing left to win: none of its returns is above the best so far."""
    return one.best > -math.inf and one.most.beats == 0 and not one.stops and one.given_up < 1


def _between(low: str, high: str) -> str:
    """Two numbers, each of which may be a range itself."""
    return low if low == high else f"between {low} and {high}"


def known_best(best: float) -> str:
    """The best return before a try, as the heading of a sentence."""
    return "no result yet" if best == -math.inf else f"best so far {best:.6g}"


def with_best(best: float) -> str:
    """The best return before a try, in words."""
    return "with no result yet" if best == -math.inf else f"with a best so far of {best:.6g}"


def _action(mdp: MDP, action: int) -> str:
    return "giving up" if action == mdp.n_actions else f'"{action_name(mdp, action)}"'
