"""What learning returns: a policy, and what is certain of it in the true problem."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np

from maxatk.base import archive, checks, display
from maxatk.base.archive import Archive, OtherProblemError
from maxatk.base.display import Displayed
from maxatk.base.errors import InputError
from maxatk.base.findings import Finding, Loss, Value
from maxatk.base.intervals import gap_between
from maxatk.base.tabular import Tabular
from maxatk.base.types import Ints
from maxatk.learning.models import Checked
from maxatk.planning import CertifiedPlan, Plan
from maxatk.planning.certified.files import read_plan
from maxatk.planning.certified.plan import plan_members
from maxatk.policies import Policy
from maxatk.problem.mdp import MDP

KIND, VERSION = "learned", 1


@dataclass(frozen=True)
class Bounds:
    """What is certain of a policy in the true problem, all together with probability at least ``1 - delta``."""

    lower: float  # the policy earns at least this
    upper: float  # no policy earns more than this
    epsilon: float  # the policy loses at most this; more than ``target`` where the budget ran out
    delta: float  # the probability that any of this fails
    target: float | None  # the loss that was asked for; None where none was

    @classmethod
    def between(cls, lower: float, upper: float, known: Checked, delta: float, target: float | None) -> "Bounds":
        """A lower bound on the policy and an upper one on the optimum: the loss is at most their difference.

        If they contradict each other one of them is false, and nobody knows which: then nothing is claimed but what is
        known of returns, with a warning.
        """
        if lower > upper:
            warnings.warn(
                f"the bounds contradict each other (the policy earns at least {lower:g}, no policy more than "
                f"{upper:g}), so that only the range of returns is claimed: that happens with probability {delta:g} at "
                "most, or where samples are not what they were said to be",
                RuntimeWarning,
                stacklevel=3,
            )
            lower, upper = known.least, known.most
        return cls(lower, upper, loss_between(lower, upper), delta, target)


def loss_between(lower: float, upper: float) -> float:
    """What a policy that earns ``lower`` loses at most to an optimum of ``upper`` at most, rounded up."""
    return gap_between((lower, lower), (upper, upper))[1]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What bounds rest on."""

    samples: int  # all that were drawn
    counts: Ints  # [N] by row: in order of step (where they differ), state and action
    basis: str  # in words
    stats: Mapping[str, float]  # plain numbers: rounds, seconds, ...
    source: str | None = None  # the fingerprint of the problem that was sampled, where that is a table


@dataclass(frozen=True, eq=False)
class Learned(Displayed, Tabular):
    """What was learned: with probability at least ``1 - delta`` over the samples, all of it is true together.

    ``lower <= what the policy earns <= optimum <= upper``, and the policy loses at most ``epsilon`` to the optimum. All
    of that is about the true problem, which was only sampled. ``model_plan`` is the plan of the problem as it was
    *counted*: its own bounds are about that problem, and say nothing of the true one.
    """

    policy: Policy  # the policy
    bounds: Bounds  # what is certain of it
    evidence: Evidence  # what that rests on
    model_plan: Plan | None = None  # of the problem as it was counted; None where the policy was not planned so

    def columns(self) -> dict[str, list[Any]]:
        """One row: k, lower, upper, epsilon, delta, target and samples."""
        names = ("k", "lower", "upper", "epsilon", "delta", "target", "samples")
        return {name: [getattr(self, name)] for name in names}

    @property
    def lower(self) -> float:
        """The policy earns at least this."""
        return self.bounds.lower

    @property
    def upper(self) -> float:
        """No policy earns more than this."""
        return self.bounds.upper

    @property
    def epsilon(self) -> float:
        """The policy loses at most this; more than ``target`` where the budget ran out."""
        return self.bounds.epsilon

    @property
    def delta(self) -> float:
        """The probability that any of this fails."""
        return self.bounds.delta

    @property
    def target(self) -> float | None:
        """The loss that was asked for; None where none was."""
        return self.bounds.target

    @property
    def samples(self) -> int:
        """All samples that were drawn."""
        return self.evidence.samples

    @property
    def counts(self) -> Ints:
        """[N] samples by row: in order of step (where they differ), state and action."""
        return self.evidence.counts

    @property
    def basis(self) -> str:
        """What the bounds rest on, in words."""
        return self.evidence.basis

    @property
    def stats(self) -> Mapping[str, float]:
        """Plain numbers: rounds, seconds, ..."""
        return self.evidence.stats

    @property
    def k(self) -> int:
        """The number of rollouts."""
        return self.policy.k

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is proved: bounds, and whether the policy is as good as was asked for."""
        bounds = Value(lower=self.lower, upper=self.upper, k=self.k, delta=self.delta)
        if self.target is None:
            return (bounds,)
        loss = Loss(lower=0.0, upper=self.epsilon, target=self.target, delta=self.delta, samples=self.samples)
        return bounds, loss

    @property
    def certificate(self) -> str:
        """What is certain, in words."""
        return display.words(self)

    def __repr__(self) -> str:
        return f"Learned(best of {self.k}: {self.lower!r} to {self.upper!r}, delta {self.delta:g})"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy with what is certain of it to ``path``, for :func:`maxatk.load_plan` to read.

        Policies that come from a certified plan of the counted problem can be saved, and no others.

        Args:
            path: the file, which is whole or not there.
        """
        if not isinstance(self.model_plan, CertifiedPlan):
            raise InputError("this learned policy cannot be saved: only policies of mk.Certified plans can be")
        numbers, arrays = plan_members(self.model_plan, with_problem=True)
        evidence = {name: getattr(self.evidence, name) for name in ("samples", "basis", "source")}
        header = {"plan": numbers, "learned": {**asdict(self.bounds), **evidence, "stats": dict(self.stats)}}
        archive.write(path, KIND, VERSION, header, {**arrays, "counts": self.counts})


def read_learned(file: Archive, mdp: MDP | None) -> Learned:
    """What :meth:`Learned.save` wrote; for ``mdp``, if one is given, which must have the same states and steps."""
    header, numbers = file.header.get("plan"), file.header.get("learned")
    if not checks.is_dict(header) or not checks.is_dict(numbers) or not checks.is_dict(numbers.get("stats")):
        raise InputError("it says nothing of what was learned")
    plan = read_plan(file, header, None)
    source = numbers.get("source")
    if mdp is not None:
        _check_fits(plan.mdp, mdp)
        if source is not None and source != mdp.fingerprint:
            raise OtherProblemError("it was learned in another problem")
    lower, upper, epsilon, delta = (
        float(checks.exact_number(numbers.get(name), name)) for name in ("lower", "upper", "epsilon", "delta")
    )
    target, basis = numbers.get("target"), numbers.get("basis")
    if lower > upper or epsilon < 0 or not 0 < delta < 1 or not isinstance(basis, str):
        raise InputError("its numbers make no sense")
    return Learned(
        plan.policy,
        Bounds(lower, upper, epsilon, delta, None if target is None else float(checks.exact_number(target, "target"))),
        Evidence(
            samples=checks.integer(numbers.get("samples"), "samples"),
            counts=file.array("counts", "<i8"),
            basis=" ".join(basis.split()),
            stats={str(name): float(value) for name, value in numbers["stats"].items()},
            source=None if source is None else str(source),
        ),
        plan,
    )


def _check_fits(counted: MDP, mdp: MDP) -> None:
    """Refuse a problem that the policy cannot act in: of another size, or with other actions."""
    for name in ("n_states", "horizon"):
        mine, theirs = getattr(counted, name), getattr(mdp, name)
        if mine != theirs:
            raise OtherProblemError(f"it was learned in another problem: {name} is {mine} there, and {theirs} here")
    for h in range(mdp.horizon):
        mine, theirs = counted.step(h), mdp.step(h)
        same = np.array_equal(np.diff(mine.first_row), np.diff(theirs.first_row))
        if not same or not np.array_equal(counted.action[mine.rows], mdp.action[theirs.rows]):
            raise OtherProblemError(f"it was learned in another problem: other actions are offered at step {h}")
