"""What adaptivity is worth: the best that each class of policies can do, side by side."""

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from rich.console import Console

from maxatk import checks
from maxatk.checks import Number, shown
from maxatk.errors import InputError, TooLargeError
from maxatk.evaluation.enumeration import Option, best_by_best, best_selection, options
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.evaluation.search import Candidate, Search, mean_optimal
from maxatk.mdp import MDP
from maxatk.planning.certified import Certified
from maxatk.planning.certified_plan import CertifiedPlan
from maxatk.planning.solve import solve
from maxatk.policies import MarkovPolicy, NoBestPolicy, NoReturnPolicy, Policy
from maxatk.progress import reporter

MEAN, SINGLE, MARKOV, NO_BEST, NO_RETURN, ADAPTIVE = (
    "mean-optimal, repeated",
    "one policy, sampled k times",
    "Markov, per rollout",
    "without M",
    "without G",
    "adaptive",
)
ASCENT = "best found by coordinate ascent"
DEPTH = 16  # how far below the mean returns are told apart, in distances from the mean to the largest return


@dataclass(frozen=True, eq=False)
class Row:
    """A class of policies: ``lower <= the best that it can do <= upper``, and a policy of it that earns ``lower``."""

    name: str  # of the class
    lower: float  # what the policy earns at least
    upper: float  # what no policy of the class exceeds
    exact: Fraction | None = field(repr=False)  # the best that the class can do, where it is known exactly
    how: str  # how it was obtained
    policy: Policy = field(repr=False)  # of the class; it earns ``lower``
    evaluation: Evaluation | None = field(repr=False)  # of the policy; None where that says nothing


@dataclass(frozen=True, eq=False)
class Comparison:
    """Classes of policies side by side, from the smallest to the largest; ``str()`` of it is a table."""

    mdp: MDP  # the problem
    plan: CertifiedPlan = field(repr=False)  # the adaptive optimum
    rows: tuple[Row, ...]  # one per class

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(f"there is no row {shown(name)}, but {', '.join(row.name for row in self.rows)}")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def share(self, row: Row) -> float | None:
        """How much of the gain of adaptive policies over the mean-optimal one repeated this class is sure to get.

        None where there is no gain to speak of.
        """
        base = self[MEAN].upper
        if self.plan.lower - base <= self.plan.gap + self[MEAN].upper - self[MEAN].lower:
            return None
        return 1.0 if row.name == ADAPTIVE else min(max((row.lower - base) / (self.plan.upper - base), 0.0), 1.0)

    def __str__(self) -> str:
        from maxatk import report

        out = Console(file=io.StringIO(), width=100, highlight=False, markup=False)
        out.print(report.comparison(self))
        assert isinstance(out.file, io.StringIO)
        return "\n".join(line.rstrip() for line in out.file.getvalue().splitlines()).rstrip()

    def figure(self) -> Any:
        """The table as a Matplotlib figure (extra ``plot``)."""
        from maxatk import figures

        return figures.comparison(self)


def compare(
    mdp: MDP,
    k: int,
    *,
    solver: Certified | None = None,
    best_so_far: Number = -math.inf,
    plan: CertifiedPlan | None = None,
    progress: bool | Callable[[Row], None] = False,
) -> Comparison:
    """What the best policy of each class earns in ``k`` rollouts, and so what adapting to M and G is worth.

    The classes: the policy that maximises the mean of one rollout, repeated; the best single policy, sampled ``k``
    times; the best Markov policy for each rollout; the best without M; the best without G; the adaptive optimum.

    On small problems classes are enumerated, in fractions. On larger ones the third to fifth rows are the best policies
    that coordinate ascent found, and say so; their upper bounds hold all the same, as do all lower ones.

    Args:
        mdp: the problem.
        k: the number of rollouts.
        solver: how the adaptive optimum is planned; ``Certified()`` by default. Its tolerance counts for the second
            row, too.
        best_so_far: a return that is already in hand.
        plan: the adaptive optimum, if it is planned already, in place of the two before.
        progress: a function that is given each row as it comes, or True for lines on standard error.

    >>> import maxatk as mk
    >>> table = mk.compare(mk.instances.proposition3(), k=2)
    >>> for row in table.rows:
    ...     print(f"{row.name}: {row.exact or round(row.lower, 4)}")
    mean-optimal, repeated: 5/4
    one policy, sampled k times: 1.2625
    Markov, per rollout: 5/4
    without M: 41/32
    without G: 41/32
    adaptive: 1.3125
    """
    if solver is not None and not isinstance(solver, Certified):
        raise InputError(f"solver must be mk.Certified(...), not {shown(solver)}")
    if plan is not None:
        if solver is not None or best_so_far != -math.inf:
            raise InputError("compare: a plan has its own solver and best_so_far, so neither can be given with it")
        if plan.mdp != mdp or plan.k != checks.integer(k, "k", least=1):
            raise InputError(f"compare: the plan is for another problem or another k, {plan.k}")
    rows: list[Row] = []
    with reporter(progress, "planning", lambda row: f"{row.name}: {row.lower:.6g}") as report:
        if plan is None:
            plan = solve(mdp, k, solver=solver or Certified(), best_so_far=best_so_far)
        for row in _Classes(plan).rows():
            rows.append(row)
            if report:
                report(row)
    return Comparison(mdp, plan, tuple(rows))


class _Classes:
    """The classes of policies, one after the other; what is found for one is where the next begins."""

    def __init__(self, plan: CertifiedPlan) -> None:
        self._plan, self._mdp, self._k, self._best_so_far = plan, plan.mdp, plan.k, plan.best_so_far

    @cached_property
    def _markov_options(self) -> list[Option] | None:
        return options(self._mdp, sees_return=False)

    def rows(self) -> Iterator[Row]:
        """All rows, from the smallest class to the largest."""
        mdp, plan = self._mdp, self._plan
        actions = mean_optimal(mdp)
        base = self._row(
            MEAN, MarkovPolicy(actions, k=self._k, best_so_far=self._best_so_far), "backward induction", fixed=True
        )
        yield base
        search, first, refused = None, None, ""
        try:
            least, most = mdp.return_range
            mean = evaluate(mdp, MarkovPolicy(actions, k=1)).value
            search = Search(plan, max(least, mean - DEPTH * (most - mean)))
            first = search.markov_candidate(search.rows_of(actions))
        except TooLargeError as error:
            refused = f"found without a search: {error}"
        single = base if search is None or first is None else self._single(search, first, base)
        yield replace(single, name=SINGLE, upper=single.upper if search else plan.upper, how=refused or single.how)
        markov, chosen = self._markov(search, first, base, refused)
        yield markov
        yield self._without_best(search, chosen, [single, markov], refused)
        yield self._without_return(search, chosen, markov, refused)
        yield self._row(ADAPTIVE, plan.policy, "certified planner")

    def _row(
        self, name: str, policy: Policy, how: str, *better: Row, fixed: bool = False, upper: float = math.inf
    ) -> Row:
        """A row whose policy is this one, or that of a row of a smaller class if it is surer to earn more.

        ``fixed``: the class is this policy alone. ``upper``: what is known of the class beside that it is no better
        than adaptive policies are.
        """
        try:
            found = evaluate(self._mdp, policy)
        except TooLargeError:
            found = None
        plan = self._plan
        lower = max(plan.lower if name == ADAPTIVE else -math.inf, found.lower if found else -math.inf)
        if fixed and found:
            return Row(name, found.lower, found.upper, found.exact, how, policy, found)
        for row in better:
            if row.lower > lower:
                lower, policy, found = row.lower, row.policy, row.evaluation
        return Row(name, lower, min(upper, plan.upper), None, how, policy, found)

    def _exactly(self, name: str, value: Fraction, policy: Policy) -> Row:
        """A row of a class that was enumerated."""
        return Row(name, float(value), float(value), value, "enumeration", policy, evaluate(self._mdp, policy))

    def _single(self, search: Search, first: Candidate, base: Row) -> Row:
        parts, weights, upper = search.single(first, self._plan.stats["tol"])
        return self._row(SINGLE, search.mixed(parts, weights), "Frank-Wolfe", base, upper=upper)

    def _markov(
        self, search: Search | None, first: Candidate | None, base: Row, refused: str
    ) -> tuple[Row, list[Candidate]]:
        """The row, and the candidates that a search found."""
        chosen = search.markov(first) if search and first else []
        found = self._markov_options
        selected = best_selection(found, self._k, self._best_so_far) if found else None
        if selected is not None:
            value, picked = selected
            tables = [_table(self._mdp, option) for option in picked]
            return self._exactly(MARKOV, value, MarkovPolicy(tables, best_so_far=self._best_so_far)), chosen
        if search is None or not chosen:
            return replace(base, name=MARKOV, upper=self._plan.upper, exact=None, how=refused), chosen
        return self._row(MARKOV, search.table(chosen), ASCENT, base), chosen

    def _without_best(self, search: Search | None, markov: list[Candidate], smaller: list[Row], refused: str) -> Row:
        # Markov policies are among those that see the return: where they are too many, so are these.
        found = None if self._markov_options is None else options(self._mdp, sees_return=True)
        selected = best_selection(found, self._k, self._best_so_far) if found else None
        if selected is not None:
            value, picked = selected

            def choose(rollout: int, step: int, state: int, so_far: Number) -> int:
                return picked[rollout].decisions.get((step, state, so_far), self._mdp.actions(step, state)[0])

            policy = NoBestPolicy(choose, self._k, self._mdp.horizon, self._best_so_far)
            return self._exactly(NO_BEST, value, policy)
        if search is None or not markov:
            return replace(smaller[-1], name=NO_BEST, upper=self._plan.upper, exact=None, how=refused)
        return self._row(NO_BEST, search.separate(search.without_best(markov)), ASCENT, *smaller)

    def _without_return(self, search: Search | None, chosen: list[Candidate], markov: Row, refused: str) -> Row:
        found = self._markov_options
        chosen_by_best = best_by_best(found, self._k, self._best_so_far) if found else None
        if chosen_by_best is not None:
            value, picked = chosen_by_best

            def choose(rollout: int, step: int, state: int, best: Number) -> int:
                decisions = picked[rollout][best].decisions if best in picked[rollout] else {}
                return decisions.get((step, state), self._mdp.actions(step, state)[0])

            policy = NoReturnPolicy(choose, self._k, self._mdp.horizon, self._best_so_far)
            return self._exactly(NO_RETURN, value, policy)
        if search is None or not chosen:
            return replace(markov, name=NO_RETURN, upper=self._plan.upper, exact=None, how=refused)
        return self._row(NO_RETURN, search.without_return(chosen), ASCENT, markov)


def _table(mdp: MDP, option: Option) -> list[list[int]]:
    """The decisions of a Markov option as a table [H, S]; any action where it cannot come."""
    return [
        [option.decisions.get((h, s), mdp.actions(h, s)[0]) for s in range(mdp.n_states)] for h in range(mdp.horizon)
    ]
