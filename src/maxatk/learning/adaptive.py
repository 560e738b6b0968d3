"""Learning that stops as soon as it can prove that it may: upper bound on the optimum, lower bound on the policy.

Round by round: sample rows; plan on the empirical problem; bound the optimum from above; and, once that is promising,
bound what the planned policy earns from below, by trying it out in the model as it would be run. If the two bounds are
within ``epsilon``, stop. Both hold for all rounds at once with probability ``1 - delta``, so it is safe to stop when
they say so. docs/theory/learning.md, 2 to 4.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxatk.base.betting import STAKES, mean_from_below
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.types import Bools, Ints, Seed
from maxatk.learning.belief import counted
from maxatk.learning.data import Data
from maxatk.learning.grid import NEAR, Kind, chord_cost, grid_for_rows
from maxatk.learning.learned import Bounds, Evidence, Learned, loss_between
from maxatk.learning.models import CheckedModel
from maxatk.learning.risk import Claim, Risk
from maxatk.learning.rows import RowLedger
from maxatk.learning.trials import TryOut
from maxatk.learning.uncertain import ABOVE, UncertainPlan
from maxatk.planning import Certified, CertifiedPlan
from maxatk.planning.certified.plan import evidence_of

FIRST = 64  # samples of each row before the first plan
GROWTH = 3  # times the samples of a row, at most, from one round to the next
MODEL_SHARE = 0.8  # of a budget; what is left then is for trying the policy out
BATCH = 64  # trials before the first look at them


@dataclass(frozen=True)
class Adaptive:
    """Sample in growing rounds, and stop when the policy is proved to be within ``epsilon`` of the optimum.

    With probability at least ``1 - delta`` it is, whatever the problem, the number of rounds and the budget: where that
    runs out first, what is proved by then is ``Learned.epsilon``.
    """

    def settings(self) -> dict[str, Any]:
        """What a checkpoint of this learner belongs to."""
        return {"name": "adaptive"}

    def ledger(self, source: Any, k: int, rng: Seed, **arguments: Any) -> RowLedger:
        """Rows of a generative model, ``source``, from ``rng``, whatever ``k``; ``arguments`` are the ledger's."""
        return RowLedger(CheckedModel(source), rng, **arguments)

    def learn(self, ledger: RowLedger, k: int, epsilon: float, delta: float) -> Learned:
        """Learn by ``ledger``, for ``k``, ``epsilon`` and ``delta`` that :func:`maxatk.learn` has checked."""
        model = ledger.model
        above, below = ledger.risk.half(Claim.OPTIMUM), ledger.risk.half(Claim.POLICIES)
        if ledger.budget is not None and ledger.budget < model.n_rows:
            raise InputError(f"budget {ledger.budget} is less than one sample for each of {model.n_rows} rows")
        self._check(ledger)
        if ledger.round == 0:
            room = math.inf if ledger.budget is None else ledger.budget * MODEL_SHARE / model.n_rows
            first = max(int(min(FIRST, room)), 1)
            ledger.next_round(np.full(model.n_rows, first))
        while True:
            ledger.fill()
            plan = ledger.plan(Certified(tol=epsilon / 20), k)
            upper, matter, blur = upper_bound(ledger.data, plan, epsilon, above)
            if blur > epsilon / 2 and ledger.budget is None:
                raise TooLargeError(
                    f"epsilon {epsilon:g} may be out of reach of any number of samples: lattice and rounding blur the "
                    f"bounds by up to {blur:.2g}; with a budget, what can be proved is returned"
                )
            ledger.report(model.return_range[0], upper)
            more = self._more(ledger, (upper - plan.lower) / epsilon, matter)
            lower = self._try_out(ledger, plan, upper, epsilon, below.nth(ledger.round), more)
            ledger.report(lower, upper)
            if loss_between(lower, upper) <= epsilon or more is None:
                return self._learned(ledger, plan, lower, upper, epsilon, delta)
            ledger.next_round(ledger.data.counts + more)

    def _check(self, ledger: RowLedger) -> None:
        """Refuse a checkpoint that no run of this learner can have left: it might have to go on for ever."""
        most = GROWTH * max(int(ledger.data.counts.max()), FIRST)  # of a row, in the round at hand
        ledger.check_target(most)
        if ledger.trials.samples > most * ledger.model.n_rows and ledger.budget is None:
            ledger.refuse("its trials took more samples than another round would have")

    def _more(self, ledger: RowLedger, ratio: float, matter: Bools) -> Ints | None:
        """How many samples of each row [N] another round would draw; None where the budget has no room for one.

        Widths shrink like ``1/n`` at best, so a gap ``ratio`` times too wide takes at least as many times the samples.
        But first the rows that the bound rests on catch up with each other: they may take turns in that.
        """
        if not matter.any():  # the bound rests on none: what is missing is a better policy
            matter = ~matter
        counts = ledger.data.counts
        level = int(counts[matter].max())
        if GROWTH * counts[matter].min() >= level:
            level = math.ceil(level * min(max(ratio, 1.3), GROWTH))
        more = np.where(matter, level - counts, 0)
        if ledger.budget is None:
            return more
        share = (ledger.budget * MODEL_SHARE - ledger.samples) / max(int(more.sum()), 1)
        if share < 1 / 4:
            return None
        more = more if share >= 1 else np.floor(more * share).astype(np.int64)
        return more if more.any() else None

    def _try_out(
        self, ledger: RowLedger, plan: CertifiedPlan, upper: float, epsilon: float, risk: Risk, more: Ints | None
    ) -> float:
        """A lower bound on what the plan's policy earns, from trials.

        They are as long as what is to be proved seems within reach, at no more samples than another round would take;
        if there is none, all that is left is spent on them.
        """
        model, k = ledger.model, plan.k
        longest = k * model.horizon  # samples of a trial, at most
        least, most = model.return_range
        if more is not None and upper - plan.upper > epsilon:
            return least
        log = risk.log(len(STAKES))
        limit = math.inf if more is None else int(more.sum())
        policy = TryOut(ledger, plan.policy)
        while True:
            lower = mean_from_below(ledger.returns, least, most, log)
            room = limit - ledger.trials.samples
            room = (room if ledger.left is None else min(room, ledger.left)) / longest
            if loss_between(lower, upper) <= epsilon or room < 1:
                return lower
            n = len(ledger.returns)
            if n and more is not None:
                mean, variance = float(ledger.returns.mean()), float(ledger.returns.var())
                hope = min(mean + 2 * math.sqrt(variance / n), plan.upper)  # few trials say little about the mean
                slack = epsilon - (upper - hope)
                if slack <= 0 or log * (2 * variance / slack / slack + (hope - least) / slack) - n > room:
                    return lower
            more_returns = policy.best_returns(int(min(max(BATCH, n // 2), room)))
            ledger.finish(more_returns)

    def _learned(
        self, ledger: RowLedger, plan: CertifiedPlan, lower: float, upper: float, epsilon: float, delta: float
    ) -> Learned:
        trials, n = len(ledger.returns), ledger.model.n_rows
        rows = "1 row" if n == 1 else f"{n} rows"
        return Learned(
            plan.policy,
            Bounds.between(lower, upper, ledger.model, delta, epsilon),
            Evidence(
                samples=ledger.samples,
                counts=ledger.data.counts + ledger.trials.counts,
                basis=f"{ledger.samples} samples of {rows}, {trials} trials of the policy among them",
                stats={"rounds": ledger.round, "trials": trials, "seconds": ledger.seconds},
            ),
            plan,
        )


class Bound(NamedTuple):
    """An upper bound on the optimum."""

    value: float
    matter: Bools  # [N] the rows that it rests on: more samples of others would not lower it
    blur: float  # what the grid and rounding may have added to it, which no samples lower


def upper_bound(data: Data, plan: CertifiedPlan, epsilon: float, risk: Risk) -> Bound:
    """At least the optimum of ``plan.k`` rollouts, but for the ``risk``, for all samples, grids and plans at once.

    Backward induction as the certified planner does it, but with each row's mean bounded by bets on the sample. For the
    *true* optimal values such a bound is right for all rows, steps, rollouts, points of the grid and sample sizes at
    once with probability ``1 - delta``, and it is monotone: put upper bounds on the true values in, and upper bounds
    come out. docs/theory/learning.md, 3.

    ``plan`` is one for the empirical problem; only its knots are used, and they may be any. The grid is chosen so that
    little of ``epsilon`` is lost to it, if it can be.
    """
    known, k = data.known, plan.k
    rewards = data.columns()[2]
    grid = grid_for_rows(known, np.unique(rewards).tolist(), k, epsilon)
    curves = evidence_of(plan).curves

    def knots(i: int) -> Ints:
        points = np.floor(np.array(curves[i].point) / grid.kappa + NEAR)
        return np.unique(np.clip(points, grid.first, grid.top - 1)).astype(np.int64)

    belief = counted(data, np.zeros(0, np.int64), grid, grid.log(risk, k))
    bounded = UncertainPlan(grid, k, belief, ABOVE, knots=knots)
    rounding = grid.rounding(k, data.most_outcomes()[1], rewards)
    chords = chord_cost(k, known.horizon) * grid.kappa if grid.kind is Kind.CHORDS else 0.0
    return Bound(min(bounded.value + rounding, known.most), _rows_that_matter(data, bounded), rounding + chords)


def _rows_that_matter(data: Data, bounded: UncertainPlan) -> Bools:
    """Rows that some cell's bound is that of, in states that can be reached by such rows, as far as was seen."""
    known, belief = data.known, bounded.belief
    states = np.arange(known.n_states + 1)  # the end among them
    matter = np.zeros(known.n_rows, np.bool_)
    reached = np.isin(states, belief.start_state)
    for used in bounded.used:
        used = used & reached[known.state]
        matter |= used
        reached = np.isin(states, belief.next_state[used[belief.row]])
    return matter
