"""What adaptivity is worth: the best that each class of policies can do, side by side."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from maxatk.base import checks, display, stopping
from maxatk.base.checks import shown
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.findings import Finding, Gain, Share
from maxatk.base.progress import reporter
from maxatk.base.returns import floats_around
from maxatk.base.stopping import Reason, StoppedError
from maxatk.base.types import Number
from maxatk.comparison import findings
from maxatk.comparison.enumeration import Best, Option, best_by_best, best_selection, options
from maxatk.comparison.priced import PRICED_CLASSES, PRICED_SMALLER, PricedClasses
from maxatk.comparison.rows import ADAPTIVE, MEAN, Row, nested
from maxatk.comparison.search import Candidate, Search
from maxatk.evaluation.evaluate import Evaluation, evaluate
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.certified.solver import Certified
from maxatk.planning.solve import solve
from maxatk.policies import MarkovPolicy, NoBestPolicy, NoReturnPolicy, Policy
from maxatk.problem.mdp import MDP

SINGLE, MARKOV, NO_BEST, NO_RETURN = "one policy, sampled k times", "Markov, per rollout", "without M", "without G"
CLASSES = MEAN, SINGLE, MARKOV, NO_BEST, NO_RETURN  # all but that of all policies
SMALLER = {  # the classes that lie in each
    MEAN: (),
    SINGLE: (MEAN,),
    MARKOV: (MEAN,),
    NO_BEST: (MEAN, SINGLE, MARKOV),
    NO_RETURN: (MEAN, MARKOV),
}
ASCENT = "best found by coordinate ascent"
MOST_ROLLOUTS = 10_000
DEPTH = 16  # how far below the mean returns are told apart, in distances from the mean to the largest return


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """Classes of policies side by side, from the smallest to the largest; ``str()`` of it is a table.

    No class earns more than one that contains it. The last row is that of all policies, the adaptive ones.
    """

    mdp: MDP  # the problem
    plan: CertifiedPlan = field(repr=False)  # the adaptive optimum
    rows: tuple[Row, ...]  # one per class
    stopped: Reason | None = None  # what ended the search early, if anything did; the rows are true all the same

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(f"there is no row {shown(name)}, but {', '.join(row.name for row in self.rows)}")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def inside(self, row: Row) -> list[Row]:
        """The rows of classes that lie in this one: it earns no less than any of them."""
        names = (
            [other.name for other in self.rows] if row.name == ADAPTIVE else (SMALLER | PRICED_SMALLER).get(row.name)
        )
        return [other for other in self.rows if other.name in (names or ()) and other is not row]

    @cached_property
    def gain(self) -> Gain:
        """What the optimum gains over the first row: as :attr:`maxatk.Plan.gain`, by all that the rows know."""
        return findings.compared_gain(self)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All that the rows prove: the gain, and the share of it that each class has where that is known."""
        return findings.findings(self)

    def share(self, row: Row) -> float | None:
        """How much of the gain of adaptive policies over the first row this class is sure to have.

        None where that is not known: the class was not searched, there is no gain that is sure, or the optimum is not
        known to within a tenth of the gain.
        """
        if row.name == self.rows[0].name or row.name == ADAPTIVE:
            known = self.gain.lower > 0
            return float(row.name == ADAPTIVE) if known else None
        return next((one.lower for one in self.findings if isinstance(one, Share) and one.name == row.name), None)

    def figure(self) -> Any:
        """The table as a Matplotlib figure (extra ``plot``)."""
        return display.figure(self)


def compare(
    mdp: MDP,
    k: int,
    *,
    solver: Certified | None = None,
    best_so_far: Number = -math.inf,
    cost: Number = 0,
    abandon: bool = False,
    plan: CertifiedPlan | None = None,
    time_limit: float | None = None,
    policies: Mapping[str, Policy] | None = None,
    progress: bool | Callable[[Row], None] = False,
) -> Comparison:
    """What the best policy of each class earns in ``k`` rollouts, and so what adapting to M and G is worth.

    The classes: the policy that maximises the mean of one rollout, repeated; the best single policy, sampled ``k``
    times; the best Markov policy for each rollout; the best without M; the best without G; the adaptive optimum.

    Where rollouts cost something the classes are others: the policy that maximises the mean less costs, made a number
    of times fixed beforehand; any one policy, made a fixed number of times; one policy, repeated until enough is in
    hand; and the adaptive optimum. All but the last are the best that were found among the policies of the last rollout
    for some best returns; ``row.evaluation`` says what they earn, cost, and how many tries they make.

    On small problems classes are enumerated, in fractions. On larger ones the third to fifth rows are the best policies
    that coordinate ascent found, and say so; their upper bounds hold all the same, as do all lower ones.

    Args:
        mdp: the problem.
        k: the number of rollouts.
        solver: how the adaptive optimum is planned; ``Certified()`` by default. Its tolerance counts for the second
            row, too; its time limit, where ``time_limit`` is not given, for the whole comparison.
        best_so_far: a return that is already in hand.
        cost: what each rollout costs beside its rows.
        abandon: whether a rollout may be given up at any step.
        plan: the adaptive optimum, if it is planned already, in place of the four before.
        time_limit: seconds for the whole comparison, of which planning takes half at most; rows that are not searched
            by then say so.
        policies: policies of your own by name, such as a network's: each has a row, before the last.
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
        if not isinstance(plan, CertifiedPlan):
            raise InputError(f"plan must be a plan of mk.Certified, not {shown(plan)}")
        if solver is not None or best_so_far != -math.inf or cost != 0 or abandon:
            raise InputError("compare: a plan has its own solver, best_so_far and costs, so none can be given with it")
        if plan.mdp != mdp or plan.k != checks.integer(k, "k", least=1):
            raise InputError(f"compare: the plan is for another problem or another k, {plan.k}")
    if checks.rollouts(k) > MOST_ROLLOUTS:
        raise TooLargeError(f"compare takes at most {MOST_ROLLOUTS} rollouts: policies of their own for {k} do not fit")
    rows: list[Row] = []
    limit = solver.time_limit if time_limit is None and solver is not None else time_limit
    if limit is not None and checks.exact_number(limit, "time_limit") < 0:
        raise InputError(f"time_limit must not be negative, but is {shown(limit)}")
    with (
        stopping.scope(limit) as scope,
        reporter(progress, "planning", lambda row: f"{row.name}: {row.lower:.6g}") as report,
    ):
        if plan is None:
            with stopping.half():
                solver = solver or Certified()
                plan = solve(mdp, k, solver=solver, best_so_far=best_so_far, cost=cost, abandon=abandon)
        classes = PricedClasses(plan) if plan.costly else _Classes(plan)
        own = _own_rows(plan, policies or {})
        for row in itertools.chain(classes.rows(), own):
            rows.append(row)
            if report:
                report(row)
        rows.append(_adaptive(plan, rows))
        if report:
            report(rows[-1])
        return Comparison(mdp, plan, tuple(nested(rows, SMALLER | PRICED_SMALLER)), scope.reason)


def _adaptive(plan: CertifiedPlan, others: Sequence[Row]) -> Row:
    """The row of all policies: the plan's, or the best of the others if that is surer to earn more."""
    try:
        earned: Evaluation | None = evaluate(plan.mdp, plan.policy)
    except (TooLargeError, StoppedError):
        earned = None
    lower = plan.lower if earned is None else max(earned.ends[0], plan.lower)
    best = max(others, key=lambda row: row.lower)
    if best.lower > lower:
        return replace(best, name=ADAPTIVE, upper=plan.upper, exact=None, method=f"certified planner; {best.name}")
    return Row(ADAPTIVE, lower, plan.upper, None, "certified planner", plan.policy, earned)


class _Classes:
    """The classes of policies, one after the other; what is known of one is where the next begins."""

    def __init__(self, plan: CertifiedPlan) -> None:
        self._plan, self._mdp, self._k, self._best_so_far = plan, plan.mdp, plan.k, plan.best_so_far
        self._rows: dict[str, Row] = {}
        self._chosen: list[Candidate] = []  # Markov ones, one for each rollout, once they were searched for

    def rows(self) -> Iterator[Row]:
        """All rows, from the smallest class to the largest. Where the search is stopped the rest is what is known."""
        for name in CLASSES:
            try:
                row = self._planned(name) or self._enumerated(name) or self._searched(name)
            except StoppedError as stop:
                row = self._known(name, f"not searched: {stop.reason}")
            self._rows[name] = row
            yield row

    # Ways to the best policy of a class, in the order in which they are tried.

    def _planned(self, name: str) -> Row | None:
        """The smallest class is one policy."""
        if name != MEAN:
            return None
        policy = MarkovPolicy(self._mdp.mean_optimal_actions, k=self._k, best_so_far=self._best_so_far)
        earned = self._evaluation(policy)
        if earned is None:
            return self._known(MEAN, "backward induction")
        return Row(MEAN, *earned.ends, earned.exact, "backward induction", policy, earned)

    def _enumerated(self, name: str) -> Row | None:
        """On small problems all policies of a class are tried, in fractions; None where they are too many."""
        # Markov policies are among those that see the return: where they are too many, so are these.
        if name == SINGLE or not self._markov_options:
            return None
        if name == NO_RETURN:
            return self._by_best(self._markov_options)
        options_of = self._markov_options if name == MARKOV else options(self._mdp, sees_return=True)
        selected = best_selection(options_of, self._k, self._best_so_far) if options_of else None
        if selected is None:
            return None
        picked = selected.chosen
        if name == MARKOV:
            tables = [_table(self._mdp, option) for option in picked]
            return self._tried(name, selected, MarkovPolicy(tables, best_so_far=self._best_so_far))

        def choose(rollout: int, step: int, state: int, so_far: Number) -> int:
            return picked[rollout].decisions.get((step, state, so_far), self._mdp.actions(step, state)[0])

        return self._tried(name, selected, NoBestPolicy(choose, self._k, self._mdp.horizon, self._best_so_far))

    def _searched(self, name: str) -> Row:
        """On larger problems good policies of a class are searched for, unless they are too large for that, too."""
        if isinstance(self._search, TooLargeError):
            return self._known(name, f"found without a search: {self._search}")
        search, first = self._search
        smaller = [self._rows[other] for other in SMALLER[name]]
        if name == SINGLE:
            parts, weights, upper = search.single(first, evidence_of(self._plan).tol)
            return self._row(name, search.mixed(parts, weights), "Frank-Wolfe", *smaller, upper=upper)
        if name == MARKOV:
            return self._row(name, search.table(self._markov(search, first)), ASCENT, *smaller)
        if name == NO_BEST:
            chosen = search.without_best(self._markov(search, first))
            return self._row(name, search.separate(chosen), ASCENT, *smaller)
        return self._row(name, search.without_return(self._markov(search, first)), ASCENT, *smaller)

    def _known(self, name: str, method: str) -> Row:
        """What is known of a class without a search: its best member so far, and that no class beats the adaptive."""
        plan = self._plan
        smaller = [self._rows[other] for other in SMALLER[name] if other in self._rows]
        if not smaller:  # repeated, the policy that maximises the mean earns the mean at least
            rows, mean = self._mdp.analysis.mean_optimal
            policy = MarkovPolicy(self._mdp.action[rows], k=self._k, best_so_far=self._best_so_far)
            lower = max(mean - evidence_of(plan).rounding, floats_around(self._best_so_far)[0])
            return Row(name, lower, plan.upper, None, method, policy, None, searched=False)
        best = max(smaller, key=lambda row: row.lower)
        return replace(best, name=name, upper=plan.upper, exact=None, method=method, searched=False)

    # What several classes use.

    @cached_property
    def _markov_options(self) -> list[Option] | None:
        return options(self._mdp, sees_return=False)

    @cached_property
    def _search(self) -> tuple[Search, Candidate] | TooLargeError:
        """A search, and the mean-optimal policy as its first candidate; or why the problem is too large for one."""
        mdp, actions = self._mdp, self._mdp.mean_optimal_actions
        try:
            least, most = mdp.return_range
            mean = evaluate(mdp, MarkovPolicy(actions, k=1)).value
            search = Search(self._plan, max(least, mean - DEPTH * (most - mean)))
            return search, search.markov_candidate(search.rows_of(actions))
        except TooLargeError as error:
            return error

    def _markov(self, search: Search, first: Candidate) -> list[Candidate]:
        """Markov policies, one for each rollout, that several classes begin with."""
        if not self._chosen:
            self._chosen = search.markov(first)
        return self._chosen

    def _by_best(self, markov_options: list[Option]) -> Row:
        """The best policy without G: a Markov policy for each rollout and best return."""
        best = best_by_best(markov_options, self._k, self._best_so_far)
        picked = best.chosen

        def choose(rollout: int, step: int, state: int, best: Number) -> int:
            decisions = picked[rollout][best].decisions if best in picked[rollout] else {}
            return decisions.get((step, state), self._mdp.actions(step, state)[0])

        return self._tried(NO_RETURN, best, NoReturnPolicy(choose, self._k, self._mdp.horizon, self._best_so_far))

    # Rows.

    def _row(self, name: str, policy: Policy, method: str, *smaller: Row, upper: float = math.inf) -> Row:
        """A row whose policy is this one, or that of a row of a smaller class if it is surer to earn more.

        ``upper``: what is known of the class beside that it is no better than adaptive policies are.
        """
        earned = self._evaluation(policy)
        row = Row(
            *(name, -math.inf if earned is None else earned.ends[0], min(upper, self._plan.upper), None, method),
            *(policy, earned),
        )
        best = max(smaller, key=lambda other: other.lower, default=row)
        if best.lower <= row.lower:
            return row
        return replace(row, lower=best.lower, policy=best.policy, evaluation=best.evaluation)

    def _tried(self, name: str, best: Best[Any], policy: Policy) -> Row:
        """A row of a class whose policies were all tried."""
        earned = self._evaluation(policy)
        if isinstance(best.upper, Fraction):
            return Row(name, *floats_around(best.upper), best.upper, "enumeration", policy, earned)
        lower = -math.inf if earned is None else earned.ends[0]
        return Row(name, lower, float(best.upper), None, "enumeration, in floats", policy, earned)

    def _evaluation(self, policy: Policy) -> Evaluation | None:
        """What a policy earns; None where that cannot be said."""
        try:
            return evaluate(self._mdp, policy)
        except TooLargeError:
            return None


def _own_rows(plan: CertifiedPlan, policies: Mapping[str, Policy]) -> Iterator[Row]:
    """Rows of a caller's policies: what each earns, and nothing about a class."""
    for name, policy in policies.items():
        if name in (*CLASSES, *PRICED_CLASSES, ADAPTIVE):
            raise InputError(f"policies: the name {name} is that of a class")
        earned = evaluate(plan.mdp, policy, cost=plan.objective.cost)
        if policy.k != plan.k:
            raise InputError(f"policies: {name} is for {policy.k} rollouts, not {plan.k}")
        if policy.best_so_far != plan.best_so_far:
            raise InputError(f"policies: {name} starts from another best_so_far than the plan")
        yield Row(name, *earned.ends, earned.exact, "your own", policy, earned)


def _table(mdp: MDP, option: Option) -> list[list[int]]:
    """The decisions of a Markov option as a table [H, S]; any action where it cannot come."""
    return [
        [option.decisions.get((h, s), mdp.actions(h, s)[0]) for s in range(mdp.n_states)] for h in range(mdp.horizon)
    ]
