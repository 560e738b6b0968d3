"""Classes of policies that make several tries at a time: alike, or each with a policy of its own."""

import itertools
from collections.abc import Sequence
from functools import partial

from maxatk.base import checks, stopping
from maxatk.base.errors import InputError
from maxatk.comparison.classes import MARKOV, MEAN, NO_BEST, SINGLE, Member, PolicyClass, Workshop
from maxatk.comparison.rows import InRounds
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.rounds.alike import AlikeTries
from maxatk.planning.rounds.plan import evaluated, in_units, plan_in_rounds, search_floor
from maxatk.problem.objective import rounds_of


def round_classes(k: int, widths: Sequence[int], *, costly: bool) -> tuple[PolicyClass, ...]:
    """The classes of rounds of these widths, the widest first; a width of 1 is one try after another, and has none.

    Splitting a round never hurts (docs/theory/rounds.md, 3): classes of coarser rounds lie in those of finer ones, in
    that they earn no more. With costs there are no rows of tries alike, and no other class lies in rounds, which are
    paid as a whole.
    """
    if not checks.is_list(widths):
        raise InputError(f"widths must be a list of numbers of rollouts, not {checks.shown(widths)}")
    classes: list[PolicyClass] = []
    for width in sorted({min(checks.integer(w, f"widths[{j}]", least=1), k) for j, w in enumerate(widths)})[::-1]:
        rounds = rounds_of(k, width=width)
        if not rounds:
            continue
        coarser = [each for each in classes if each.in_rounds is not None and _splits(rounds, each.in_rounds.rounds)]
        alike = [each.name for each in coarser if each.in_rounds is not None and each.in_rounds.alike]
        name = f"{width} at a time"
        if costly:
            inside = tuple(each.name for each in coarser)
            classes.append(PolicyClass(name, inside, partial(_different, rounds), InRounds(rounds, alike=False)))
            continue
        classes += [
            PolicyClass(
                f"{name}, alike", (MEAN, SINGLE, *alike), partial(_alike, rounds), InRounds(rounds, alike=True)
            ),
            PolicyClass(
                *(name, (MEAN, SINGLE, MARKOV, NO_BEST, f"{name}, alike", *(each.name for each in coarser))),
                *(partial(_different, rounds), InRounds(rounds, alike=False)),
            ),
        ]
    return tuple(classes)


def _splits(fine: Sequence[int], coarse: Sequence[int]) -> bool:
    """Whether the first rounds come from splitting the others."""
    return set(itertools.accumulate(coarse)) <= set(itertools.accumulate(fine))


def _alike(rounds: tuple[int, ...], shop: Workshop) -> Member:
    evidence = evidence_of(shop.plan)
    search = AlikeTries(evidence.method, search_floor(shop.problem), evidence.tol / len(rounds))
    tables = search.plan(rounds, evidence.curves)
    lower, upper = in_units(shop.problem, search.earned(tables), search.upper + evidence.method.rounding)
    policy = search.policy(tables)
    if not search.is_tight(tables, evidence.tol):
        lower = max(lower, evaluated(shop.problem, policy, evidence.tol / 1000))
    return Member(policy, "Frank-Wolfe", upper, lower=lower)


def _different(rounds: tuple[int, ...], shop: Workshop) -> Member:
    plan = plan_in_rounds(shop.plan, rounds)
    stopping.check()  # a plan that time cut short is no row
    return Member(plan.policy, "best found by replies", plan.upper, lower=plan.lower)
