"""One of several policies, drawn before the first rollout and followed through the whole trial."""

from collections.abc import Sequence
from fractions import Fraction

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number, Seed
from maxatk.policies.policy import CompressedPolicy, Policy
from maxatk.policies.trial import Trial


class DrawnPolicy(Policy):
    """One of several policies for a whole trial, drawn before its first rollout: a mixture of plans.

    Args:
        parts: the policies, of as many rollouts each, with the same best return before them.
        weights: with what probability each is drawn.
        rng: a seed, a NumPy Generator, or None for a fresh one, from which trials draw.

    >>> import maxatk as mk
    >>> mdp = mk.instances.figure1(gamma=0.25)
    >>> policy = mk.solve(mdp, k=2).cvar(0.5).policy
    >>> [round(weight, 3) for weight in policy.weights]
    [0.875, 0.125]
    """

    def __init__(self, parts: Sequence[CompressedPolicy], weights: Sequence[Number], rng: Seed = None) -> None:
        if not parts or len(parts) != len(weights):
            raise InputError(f"weights must be as many as the policies, {len(parts)}, not {len(weights)}")
        exact = [checks.exact_number(w, "weight") for w in weights]
        if min(exact) < 0 or not sum(exact):
            raise InputError("weights must not be negative, nor all 0")
        if len({(one.k, one.horizon, one.best_so_far) for one in parts}) > 1:
            raise InputError("all policies must be for as many rollouts, with the same best return before them")
        super().__init__(parts[0].k, parts[0].horizon, parts[0].best_so_far)
        self._parts = [(one, w / sum(exact)) for one, w in zip(parts, exact, strict=True)]
        self._rng = checks.generator(rng)

    @property
    def parts(self) -> list[tuple[CompressedPolicy, Fraction]]:
        """The policies, each with its probability."""
        return list(self._parts)

    @property
    def weights(self) -> tuple[float, ...]:
        """With what probability each is drawn."""
        return tuple(float(w) for _, w in self._parts)

    def begin(self, rng: Seed = None) -> Trial:
        """A new trial of the policy that is drawn, from ``rng`` or by default from the policy's own generator."""
        generator = self._rng if rng is None else checks.generator(rng)
        return self._parts[int(generator.choice(len(self._parts), p=self.weights))][0].begin()
