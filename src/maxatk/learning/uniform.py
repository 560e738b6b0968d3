"""Uniform sampling (Theorem 4): sample every row equally often, and plan on the empirical problem."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.intervals import up
from maxatk.base.types import Seed
from maxatk.learning.learned import Bounds, Evidence, Learned
from maxatk.learning.models import CheckedModel
from maxatk.learning.rows import RowLedger
from maxatk.learning.sample_size import CONSTANTS, SampleSize, error_bound, sample_size
from maxatk.planning import Certified, Midpoint, Plan

PLANNERS = ("certified", "midpoint")


FIRST = 64  # samples of each row before the rest, so that a wrong max_outcomes is noticed early


@dataclass(frozen=True)
class Uniform:
    """Sample every row as often as Theorem 4 asks for, and plan on what was counted.

    The paper's algorithm is ``Uniform(constants="paper", planner="midpoint")``. The default has the same guarantee with
    fewer samples, and another planner.

    Args:
        constants: those of :func:`maxatk.sample_size`: ``"tight"``, or the ``"paper"``'s own.
        planner: ``"certified"``, within what the guarantee leaves for planning (docs/theory/learning.md, 1), or the
            paper's own, ``"midpoint"``, which takes rewards in [0, 1].

    >>> import maxatk as mk
    >>> model = mk.TabularModel(mk.instances.figure1())
    >>> mk.learn(model, 2, epsilon=1, delta=0.1, learner=mk.Uniform(), rng=0).samples
    2124
    >>> paper = mk.Uniform(constants="paper", planner="midpoint")
    >>> mk.learn(model, 2, epsilon=1, delta=0.1, learner=paper, rng=0).samples
    44608
    """

    constants: str = "tight"
    planner: str = "certified"

    def __post_init__(self) -> None:
        for name, options in (("constants", CONSTANTS), ("planner", PLANNERS)):
            checks.one_of(getattr(self, name), options, name)

    def settings(self) -> dict[str, Any]:
        """What a checkpoint of this learner belongs to."""
        return {"name": "uniform", "constants": self.constants, "planner": self.planner}

    def ledger(self, source: Any, k: int, rng: Seed, **arguments: Any) -> RowLedger:
        """Rows of a generative model, ``source``, from ``rng``, whatever ``k``; ``arguments`` are the ledger's."""
        return RowLedger(CheckedModel(source), rng, **arguments)

    def learn(self, ledger: RowLedger, k: int, epsilon: float, delta: float) -> Learned:
        """Learn by ``ledger``, for ``k``, ``epsilon`` and ``delta`` that :func:`maxatk.learn` has checked."""
        model = ledger.model
        width = _reward_width(model)
        if self.planner == "midpoint" and (model.least_reward < 0 or model.most_reward > 1):
            raise InputError(
                f"Uniform(planner='midpoint') needs rewards in [0, 1], as the paper does, but the model's reward_range "
                f"is ({model.least_reward:g}, {model.most_reward:g})"
            )
        size = self._size(model, k, epsilon / width, delta)
        total = size.per_pair * model.n_rows
        if ledger.budget is not None and total > ledger.budget:
            raise InputError(
                f"budget {ledger.budget} is too small: {size.per_pair} samples for each of {model.n_rows} rows, "
                f"{total} in all, are needed; {self._offer(model, k, delta, ledger.budget // model.n_rows, width)}"
            )
        if total >= 2**62:
            raise InputError(f"{size.per_pair} samples for each of {model.n_rows} rows are needed: no run ends so late")
        ledger.check_target(size.per_pair)
        for i, target in enumerate((min(FIRST, size.per_pair), size.per_pair)):
            if ledger.round == i:
                ledger.next_round(np.full(model.n_rows, target))
            ledger.fill()
            row, outcomes = ledger.data.most_outcomes()
            if outcomes > model.max_outcomes:
                raise InputError(
                    f"{model.name(row)} has shown {outcomes} different outcomes, but the number of samples was "
                    f"based on the model's max_outcomes of {model.max_outcomes}: give the model a larger one"
                )
        plan, apart = self._planned(ledger, k, epsilon, delta, size)
        least, most = model.return_range
        lower, upper = max(plan.lower - apart - epsilon / 3, least), min(plan.upper + apart, most)
        basis = (
            f"Theorem 4 with {self.constants} constants: {size.per_pair} samples for each of {model.n_rows} rows, "
            f"{total} in all; {self.planner} planner"
        )
        return Learned(
            plan.policy,
            Bounds(lower, upper, epsilon=min(epsilon, up(upper - lower)), delta=delta, target=epsilon),
            Evidence(
                samples=ledger.samples,
                counts=ledger.data.counts,
                basis=basis,
                stats={"per_row": size.per_pair, "seconds": ledger.seconds},
            ),
            plan,
        )

    def _planned(self, ledger: RowLedger, k: int, epsilon: float, delta: float, size: SampleSize) -> tuple[Plan, float]:
        """A plan for the counted problem, and how far its optimum may be from the true one (learning.md, 1)."""
        model = ledger.model
        width = _reward_width(model)
        if self.planner == "midpoint":
            plan = ledger.plan(Midpoint(kappa=Fraction(1, size.cells)), k)
            return plan, epsilon / 4 + model.horizon / size.cells  # 4C is less than three quarters of epsilon
        error = self._error(model, k, delta, size.per_pair)
        plan = ledger.plan(Certified(tol=width * (epsilon / width - error) / 1.5), k)
        return plan, width * error / 3

    def _size(self, model: CheckedModel, k: int, epsilon: float, delta: float) -> SampleSize:
        """What the theorem asks for, with rewards scaled to [0, 1]; more where planning would be left too little."""
        H = model.horizon
        epsilon = min(epsilon, float(H))
        asked = sample_size(
            n_states=model.n_states,
            n_actions=model.n_actions,
            horizon=H,
            k=k,
            epsilon=epsilon,
            delta=delta,
            homogeneous=model.n_layers == 1,
            constants=self.constants,
            outcomes=model.max_outcomes,
        )
        m = asked.per_pair
        while self.planner == "certified" and m < 2**62 and self._error(model, k, delta, m) > 0.97 * epsilon:
            m = m * 51 // 50 + 1
        return SampleSize(m, m * (asked.total // asked.per_pair), asked.kappa, asked.cells)

    def _error(self, model: CheckedModel, k: int, delta: float, m: int) -> float:
        sizes = {"n_states": model.n_states, "n_actions": model.n_actions, "horizon": model.horizon}
        return error_bound(**sizes, k=k, delta=delta, m=m, outcomes=model.max_outcomes)

    def _offer(self, model: CheckedModel, k: int, delta: float, m: int, width: float) -> str:
        """The best that ``m`` samples of each row buy, in words: the lemma inverted."""

        H, surest = float(model.horizon), 1 - 1e-9

        def any_epsilon(risk: float) -> bool:
            return this_epsilon(H, risk)

        def this_epsilon(epsilon: float, risk: float) -> bool:
            return self._size(model, k, epsilon, risk).per_pair <= m

        risk = delta
        if not any_epsilon(delta):
            if not any_epsilon(surest):
                return f"{m} for each row buy no guarantee, whatever epsilon and delta"
            risk = _least(any_epsilon, delta, surest)
        epsilon = width * _least(partial(this_epsilon, risk=risk), 1e-9 * H, H)
        return f"this budget buys epsilon={epsilon:.4g} at delta={risk:.4g}"


def _reward_width(model: CheckedModel) -> float:
    """The range that scales rewards to [0, 1]. What comes after an early end pays 0, which must be in it, too."""
    least, most = model.least_reward, model.most_reward
    if model.can_terminate:
        least, most = min(least, 0.0), max(most, 0.0)
    return max(most - least, 1e-300)


def _least(good: Callable[[float], bool], bad: float, known: float) -> float:
    """The least number that is good, to four digits and rounded up, where ``known`` is and all above it are."""
    while known > bad * 1.0001:
        middle = math.sqrt(bad * known)
        bad, known = (bad, middle) if good(middle) else (middle, known)
    digits = 10.0 ** (math.floor(math.log10(known)) - 3)
    return math.ceil(known / digits) * digits
