"""Learning from episodes alone: play, plan on what was seen, and stop when a policy is proved to be within epsilon.

An optimistic plan explores: in every cell the row is taken whose bound from above is the greatest. Its value bounds the
optimum; what trials return bounds what is played. To have one policy that is proved, and not only the mixture of all
that were played, the plan that seems best is fixed now and then and tested, in trials that count as samples like any
others. docs/theory/online.md has the theorem.
"""

import math
from dataclasses import dataclass
from os import PathLike
from typing import Any, Unpack, get_args

from maxatk.base import checks, stopping
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.base.types import Number, Seed
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.learned import Bounds, Evidence, Learned, loss_between
from maxatk.learning.online import certificate
from maxatk.learning.online.ledger import EpisodeLedger
from maxatk.learning.online.run import Explore, OnlineRun, OnlineTrial
from maxatk.learning.sample_size import probability
from maxatk.learning.spec import EpisodeSpec, Known
from maxatk.planning import CertifiedPlan

EARLY = 2.0  # times epsilon: how near the bound must be to what is planned before that is tested
LEAST_TRIALS = 32  # before that
LAST_SHARE = 0.4  # of a budget: what is left for testing, at least
CHECKS = 0.1  # of the trials, after which bounds are looked at anew


@dataclass(frozen=True)
class Online:
    """Learn from episodes, whose states cannot be set.

    Args:
        explore: ``"optimism"``, whose regret is bounded by a theorem, or ``"posterior"``, which plans for a problem
            drawn from the posterior and often learns faster. Bounds and certificates are equally reliable with both.

    >>> import maxatk as mk
    >>> episodes = mk.TabularEpisodes(mk.instances.figure1(gamma=0.25))
    >>> out = mk.learn(episodes, k=2, epsilon=0.2, delta=0.1, learner=mk.Online(), rng=0)
    >>> out.epsilon <= 0.2, out.policy.action(rollout=1, step=0, state=0, best=0.5, so_far=0)
    (True, 1)
    """

    explore: Explore = "optimism"

    def __post_init__(self) -> None:
        if self.explore not in get_args(Explore):
            raise InputError(f"explore must be one of {', '.join(get_args(Explore))}, not {shown(self.explore)}")

    def settings(self) -> dict[str, Any]:
        """What a checkpoint of this learner belongs to."""
        return {"name": "online", "explore": self.explore}

    def begin(
        self,
        k: int,
        n_states: int,
        n_actions: int,
        horizon: int,
        *,
        delta: Number = 0.05,
        rng: Seed = None,
        checkpoint: str | PathLike[str] | None = None,
        **known: Unpack[Known],
    ) -> OnlineRun:
        """Begin a run whose episodes you play: ask it for trials, and tell them what happens.

        Args:
            k: the number of rollouts of a trial.
            n_states: the number of states.
            n_actions: the number of actions.
            horizon: the number of steps of a rollout.
            delta: the probability with which bounds may fail.
            rng: a seed, a NumPy Generator, or None for a fresh one.
            checkpoint: a file that the run is saved to as it goes on; if it exists, its run is continued.
            known: what else is known of episodes, as in :class:`maxatk.EpisodeSpec`: ``reward_range``,
                ``return_range``, ``best_so_far``, ``homogeneous``, ``start``, ``can_terminate``, ``max_outcomes``.
        """
        risk = float(probability(delta, "delta"))
        episodes = CheckedEpisodes(EpisodeSpec(n_states, n_actions, horizon, **known))
        settings = {"delta": risk, "learner": self.settings()}
        arguments: dict[str, Any] = {"delta": risk, "checkpoint": checkpoint, "settings": settings}
        return OnlineRun(EpisodeLedger(episodes, checks.rollouts(k), rng, **arguments), self.explore)

    # The closed loop of :func:`maxatk.learn`.

    def ledger(self, source: Any, k: int, rng: Seed, **arguments: Any) -> EpisodeLedger:
        """The ledger of ``source``'s episodes, for ``k`` rollouts, from ``rng``; ``arguments`` are the ledger's."""
        return EpisodeLedger(CheckedEpisodes.of(source), k, rng, source=source, **arguments)

    def learn(self, ledger: EpisodeLedger, k: int, epsilon: float, delta: float) -> Learned:
        """Learn by ``ledger``, for ``k``, ``epsilon`` and ``delta`` that :func:`maxatk.learn` has checked."""
        longest = k * ledger.known.horizon
        if ledger.budget is not None and ledger.budget < 2 * longest:
            raise InputError(f"budget {ledger.budget} is less than two trials of up to {longest} steps")
        if ledger.next_check > ledger.trials + _until_check(ledger.trials):
            ledger.refuse(f"it has {ledger.trials} trials, and looks at its bounds after {ledger.next_check} of them")
        search = _Search(ledger, OnlineRun(ledger, self.explore), epsilon)
        while True:
            stopping.check()
            ledger.about_to_draw(0)  # from here to the end of the trial nothing is saved
            if ledger.trials >= ledger.next_check and search.proved():
                break
            if ledger.left is not None and ledger.left < longest:
                search.proved(last=True)
                break
            play(ledger, search.next_trial())
        learned = search.learned(delta)
        ledger.settle()
        return learned


class _Search:
    """Decides what the next trials are for: to explore, or to test the plan that seems best."""

    def __init__(self, ledger: EpisodeLedger, run: OnlineRun, epsilon: float) -> None:
        self._ledger, self._run, self._epsilon = ledger, run, epsilon

    def next_trial(self) -> OnlineTrial:
        """The next trial."""
        return self._run.test() if self._ledger.testing else self._run.trial()

    def proved(self, last: bool = False) -> bool:
        """Whether the bounds are within epsilon. If not, decide what to do until they are looked at again."""
        ledger, run, epsilon = self._ledger, self._run, self._epsilon
        _, upper = run.bounds
        lower = certificate.tested(ledger)
        ledger.report(lower, upper)
        if loss_between(lower, upper) <= epsilon or last:
            return True
        ledger.decide(next_check=ledger.trials + _until_check(ledger.trials))
        plan = run.plan
        if ledger.tests:
            returns = certificate.test_returns(ledger)
            n = len(returns)
            hope = float(returns.mean()) + 2 * math.sqrt(float(returns.var()) / n) if n > 1 else run.tested_plan.upper
            if plan.lower > hope + epsilon / 4:  # something better was learned since
                run.begin_test()
                hope, lower = plan.upper, ledger.known.least
            # The wider side is narrowed first; tests narrow both, if they go where the bound rests.
            ledger.decide(testing=hope - lower >= (upper - hope) / 2)
        elif upper - plan.upper <= EARLY * epsilon and ledger.trials >= LEAST_TRIALS:
            run.begin_test()
            ledger.decide(testing=True)
        if ledger.left is not None and ledger.budget is not None and ledger.left <= LAST_SHARE * ledger.budget:
            if not ledger.tests:
                run.begin_test()
            ledger.decide(testing=True)
        return False

    def learned(self, delta: float) -> Learned:
        """The plan that was tested, with what is proved of it."""
        ledger, run = self._ledger, self._run
        plan: CertifiedPlan = run.tested_plan if ledger.tests else run.plan
        played, upper = run.bounds
        lower = certificate.tested(ledger)
        tests = len(certificate.test_returns(ledger)) if ledger.tests else 0
        stats = {
            "played": played,
            "regret": run.regret,
            "trials": ledger.trials,
            "tests": tests,
            "plans": ledger.plans,
            "seconds": ledger.seconds,
        }
        return Learned(
            plan.policy,
            Bounds.between(lower, upper, ledger.known, delta, self._epsilon),
            Evidence(
                samples=ledger.steps,
                counts=ledger.data.counts.copy(),
                basis=f"{ledger.steps} steps in {ledger.trials} trials, {tests} of them of the policy",
                stats=stats,
            ),
            plan,
        )


def _until_check(trials: int) -> int:
    """How many trials are played after so many, before bounds are looked at anew."""
    return max(1, math.ceil(CHECKS * trials))


def play(ledger: EpisodeLedger, trial: OnlineTrial) -> None:
    """Play a trial in the ledger's source."""
    known, source = ledger.known, ledger.source
    while not trial.finished:
        i, state = trial.rollout, source.reset(ledger.rng)
        while trial.rollout == i:
            stopping.check()
            outcome: Any = source.step(trial.act(state))
            if not checks.is_list(outcome) or len(outcome) != 3:
                raise InputError(f"step must return (next state, reward, done), not {shown(outcome)}")
            state, reward, done = outcome
            trial.observe(reward, done, known.n_states if done else state)
