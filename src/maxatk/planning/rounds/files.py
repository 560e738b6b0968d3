"""Plans in rounds from files. Nothing in a file is trusted: what makes no sense is refused in one line."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.plan import Status
from maxatk.planning.rounds.different import DifferentTries
from maxatk.planning.rounds.plan import RoundsPlan
from maxatk.planning.rounds.search import RoundTable
from maxatk.planning.rounds.tries import Candidate


def read_rounds(file: Archive, numbers: Mapping[str, Any], sequential: CertifiedPlan) -> RoundsPlan:
    """A plan in rounds from the members of a file, beside the sequential plan that it holds."""
    if not checks.is_dict(numbers) or not checks.is_list(numbers.get("widths")) or not numbers["widths"]:
        raise InputError("it has no rounds")
    problem = sequential.problem.changed(rounds=tuple(numbers["widths"]))
    lower, upper, floor = (float(checks.exact_number(numbers.get(x), x)) for x in ("lower", "upper", "floor"))
    stats = numbers.get("stats")
    if not problem.objective.rounds or not checks.is_dict(stats):
        raise InputError("it has no rounds")
    least, most = problem.trial_range
    slack = 1e-6 * (most - least)
    if not (least - slack <= lower <= upper <= most + slack and lower <= sequential.upper):
        raise InputError("its numbers make no sense")
    if not problem.least <= floor <= problem.most:
        raise InputError("its numbers make no sense")
    search = DifferentTries(evidence_of(sequential).method, floor)
    flat, n = file.array("round_payoffs", "<f8"), len(search.points)
    if len(flat) % n or not np.isfinite(flat).all():
        raise InputError("what its tries are for makes no sense")
    tries = [Candidate(np.zeros(0), search.acting_on(payoff), payoff=payoff) for payoff in flat.reshape(-1, n)]
    tables: list[RoundTable[Candidate]] = []
    for b, width in enumerate(problem.objective.rounds):
        *ends, stop_at = file.array(f"round_ends{b}", "<f8").tolist() or [math.nan]
        numbers_of: list[int] = file.array(f"round_tuples{b}", "<i8").tolist()
        if len(numbers_of) != (len(ends) + 1) * width or not all(0 <= j < len(tries) for j in numbers_of):
            raise InputError(f"round {b} has no policy for some best returns")
        if math.isnan(stop_at) or (stop_at < math.inf and not problem.costly):
            raise InputError(f"where it stops before round {b} makes no sense")
        if not np.isfinite(ends).all() or (np.diff(ends) < 0).any():
            raise InputError(f"the best returns of round {b} do not rise")
        members = [tries[j] for j in numbers_of]
        tuples = tuple(tuple(members[i : i + width]) for i in range(0, len(members), width))
        tables.append(RoundTable(tuple(ends), tuples, stop_at))
    return RoundsPlan(
        problem=problem,
        lower=lower,
        upper=upper,
        status=Status(numbers.get("status")),
        stats={str(name): float(value) for name, value in stats.items()},
        sequential=sequential,
        tables=tuple(tables),
        floor=floor,
    )
