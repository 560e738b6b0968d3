"""The one entry to learning: a generative model or episodes + a learner -> a policy, with its guarantee."""

from dataclasses import replace
from os import PathLike
from typing import Any, Protocol

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError, TooLargeError
from maxatk.base.progress import reporter
from maxatk.base.stopping import StoppedError
from maxatk.base.types import Number, Seed
from maxatk.kernels.compiled import at_work
from maxatk.learning.episodes import EpisodeSource
from maxatk.learning.learned import Learned
from maxatk.learning.ledger import LearningProgress, LearningReporter
from maxatk.learning.models import Model
from maxatk.learning.sample_size import probability

MOST_ROLLOUTS = 10_000


class Learner(Protocol):
    """A way of learning: frozen configuration with two methods."""

    def settings(self) -> dict[str, Any]:
        """What a checkpoint of this learner belongs to."""
        ...

    def ledger(self, source: Any, k: int, rng: Seed, **arguments: Any) -> Any:
        """The ledger for ``source``, which is checked, and ``k`` rollouts from ``rng``; ``arguments`` are its."""
        ...

    def learn(self, ledger: Any, k: int, epsilon: float, delta: float) -> Learned:
        """Learn by ``ledger``, for ``k``, ``epsilon`` and ``delta`` that :func:`maxatk.learn` has checked."""
        ...


def learn(
    model: Model | EpisodeSource,
    k: int,
    *,
    epsilon: Number,
    delta: Number,
    learner: Learner | None = None,
    budget: int | None = None,
    rng: Seed = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool | LearningReporter = False,
) -> Learned:
    """Learn a policy for the best of ``k`` rollouts that is within ``epsilon`` of the optimum, with ``1 - delta``.

    The start distribution is the model's and is known: resets cost no samples. The policy is for resets that are
    drawn from it; one that is to be right for each start state of a list takes a run for each, with ``delta`` divided
    by their number.

    Args:
        model: what to sample from: a :class:`maxatk.TabularModel`, or anything alike (:class:`maxatk.Model`); or what
            to play in: a :class:`maxatk.TabularEpisodes`, or anything alike (:class:`maxatk.EpisodeSource`).
        k: the number of rollouts, at least 1.
        epsilon: the loss allowed, in units of the return.
        delta: the probability of failure allowed.
        learner: how to learn; from a model, :class:`maxatk.Adaptive` by default, or :class:`maxatk.Uniform`; from
            episodes, :class:`maxatk.Online`.
        budget: how many samples may be drawn at most: steps, where they are steps.
        rng: a seed, a NumPy Generator, which is passed on to the model, or None for a fresh one.
        checkpoint: a file that the run is saved to as it goes on, about every second; if it exists, the run that it
            holds is continued, and ends just as if it had not been interrupted.
        progress: a function that is told where the run stands, or True for lines on standard error.

    >>> import maxatk as mk
    >>> model = mk.TabularModel(mk.instances.figure1(gamma=0.25))
    >>> out = mk.learn(model, k=2, epsilon=0.1, delta=0.05, rng=0)
    >>> out.epsilon <= 0.1, out.policy.action(rollout=1, step=0, state=0, best=0.5, so_far=0)
    (True, 1)
    >>> out.lower < 0.5625 < out.upper                          # the optimum
    True
    """
    if checks.rollouts(k) > MOST_ROLLOUTS:
        raise TooLargeError(f"learn takes at most {MOST_ROLLOUTS} rollouts, not {k}: each is bounded by itself")
    k = checks.rollouts(k)
    error = float(checks.exact_number(epsilon, "epsilon"))
    if error <= 0:
        raise InputError(f"epsilon must be above 0, not {shown(epsilon)}")
    risk = float(probability(delta, "delta"))
    if risk == 0:
        raise InputError(f"delta is too small: {shown(delta)}")
    if budget is not None:
        budget = checks.integer(budget, "budget", least=1)
    learner = _usual_learner(model) if learner is None else learner
    if isinstance(learner, type) or not hasattr(learner, "learn"):
        raise InputError(f"learner must be a learner such as mk.Uniform(), not {shown(learner)}")
    settings = {"k": k, "epsilon": error, "delta": risk, "learner": learner.settings()}

    with stopping.scope(), reporter(progress, at_work("learning"), LearningProgress.__str__) as report:
        ledger = learner.ledger(
            *(model, k, rng), delta=risk, budget=budget, checkpoint=checkpoint, settings=settings, reporter=report
        )
        try:
            learned = learner.learn(ledger, k, error, risk)
        except (KeyboardInterrupt, StoppedError):
            ledger.save()
            raise
        ledger.save()
        fingerprint = getattr(model, "fingerprint", None)
        if not isinstance(fingerprint, str):
            return learned
        return replace(learned, evidence=replace(learned.evidence, source=fingerprint))


def _usual_learner(model: Any) -> Learner:
    """The learner for a source: by playing, where it runs forward and cannot be asked about any state."""
    from maxatk.learning.adaptive import Adaptive
    from maxatk.learning.online import Online

    forward = not hasattr(model, "sample") and hasattr(model, "reset") and hasattr(model, "step")
    return Online() if forward else Adaptive()
