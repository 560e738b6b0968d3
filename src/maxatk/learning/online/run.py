"""A run of learning from episodes: ask for a trial, tell it what happens, and see what is certain by now."""

import math
from fractions import Fraction
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Ints
from maxatk.learning.belief import start_of
from maxatk.learning.data import Data
from maxatk.learning.online import certificate
from maxatk.learning.online.explore import posterior
from maxatk.learning.online.ledger import EXPLORED, EpisodeLedger
from maxatk.learning.uncertain import ABOVE, MEAN, UncertainPlan, policy_of
from maxatk.planning import Certified, CertifiedPlan
from maxatk.policies import Policy, Trial
from maxatk.problem.objective import Objective

Explore: TypeAlias = Literal["optimism", "posterior"]


class OnlineRun:
    """A learner that plays trials, one after the other.

    Args:
        ledger: what was told so far.
        explore: how to explore.

    >>> import maxatk as mk
    >>> online = mk.Online(explore="posterior").begin(k=2, n_states=1, n_actions=2, horizon=1)
    >>> for _ in range(100):
    ...     trial = online.trial()
    ...     while not trial.finished:
    ...         action = trial.act(state=0)
    ...         trial.observe(reward=0.5 if action == 0 else float(online.rng.random() < 0.25), done=True)
    >>> lower, upper = online.bounds
    >>> lower < 0.625 < upper                                   # the optimum
    True
    """

    def __init__(self, ledger: EpisodeLedger, explore: Explore) -> None:
        self.ledger = ledger  # what was told so far
        self._asked: Explore = explore
        self._playing: UncertainPlan | None = None
        self._trial: OnlineTrial | None = None
        self._bounded_at = -1
        self._test: CertifiedPlan | None = None
        if ledger.belief is not None:  # a run that is continued
            grid = ledger.present_grid
            if math.isclose(grid.kappa, ledger.kappa, rel_tol=1e-12):
                self._playing = UncertainPlan(grid, ledger.k, ledger.belief, self._side)

    @property
    def rng(self) -> Any:
        """What the run draws from."""
        return self.ledger.rng

    @property
    def _explore(self) -> Explore:
        """How to explore: as was asked, until a policy is tested; then so that the bound from above falls."""
        if self.ledger.tests:
            return "optimism"
        return self._asked

    @property
    def _side(self) -> int:
        return MEAN if self._explore == "posterior" else ABOVE

    # Playing.

    def trial(self) -> "OnlineTrial":
        """A new trial; where the last one is not over, it is given up, and counts with its best return by then."""
        self._give_up()
        if self._playing is None or self._is_old():
            self._playing = self._plan_anew()
        self._trial = OnlineTrial(self, self.policy, EXPLORED)
        return self._trial

    def test(self) -> "OnlineTrial":
        """A trial of the policy that is tested."""
        self._give_up()
        self._trial = OnlineTrial(self, self.tested_plan.policy, self.ledger.tests)
        return self._trial

    def _give_up(self) -> None:
        if self._trial is not None:
            self._trial.give_up()
        self._trial = None

    def _is_old(self) -> bool:
        """Whether the plan is due: a row's visits have doubled, or, by posterior sampling, it has lasted longer."""
        ledger = self.ledger
        age = ledger.trials - ledger.planned_at
        doubled = bool((ledger.data.counts >= 2 * ledger.seen.clip(1)).any()) or self._off_grid
        if self._explore == "optimism":
            return doubled or bool(((ledger.seen == 0) & (ledger.data.counts > 0)).any())
        return doubled or age > ledger.lasted

    @property
    def _off_grid(self) -> bool:
        """Whether a reward was seen that the plan's grid does not hold."""
        return self.ledger.present_grid.kappa != self.ledger.kappa

    def _plan_anew(self) -> UncertainPlan:
        ledger = self.ledger
        plan = certificate.from_above(ledger) if self._explore == "optimism" else self._drawn_plan()
        ledger.begin_plan(plan)
        return plan

    def _drawn_plan(self) -> UncertainPlan:
        """A plan for a problem drawn from the posterior."""
        ledger, grid = self.ledger, self.ledger.grid()
        return UncertainPlan(grid, ledger.k, posterior(ledger, grid), MEAN)

    # What is known.

    @property
    def playing(self) -> UncertainPlan:
        """What is played now, to learn."""
        if self._playing is None:
            self._playing = self._plan_anew()
        return self._playing

    @property
    def policy(self) -> Policy:
        """The same as a policy."""
        return policy_of(self.playing)

    @property
    def bounds(self) -> tuple[float, float]:
        """A lower bound on what the policies played earn on average, those of a window of trials that goes up to now,
        and an upper bound on the optimum. With probability ``1 - delta`` all of them hold, whenever they are asked for.
        """
        ledger = self.ledger
        if self._bounded_at != ledger.steps:
            certificate.from_above(ledger)
            self._bounded_at = ledger.steps
        return certificate.played(ledger)[0], ledger.upper

    @property
    def regret(self) -> float:
        """What all trials so far have lost to the optimum together, at most, in expectation: as sure as bounds are."""
        _ = self.bounds
        return certificate.regret(self.ledger)

    @property
    def plan(self) -> CertifiedPlan:
        """A plan for the problem as it was counted; rows that were never seen end with the least reward."""
        ledger = self.ledger
        if not ledger.starts.any() and ledger.known.start is None:
            raise InputError("there is no plan before the first step")
        return self._planned(ledger.data, ledger.starts)

    @property
    def tested_plan(self) -> CertifiedPlan:
        """The plan whose policy is tested."""
        ledger = self.ledger
        if not ledger.tests:
            raise InputError("no policy is tested yet: begin_test() fixes the one that seems best")
        if self._test is None:
            self._test = self._planned(ledger.tested, ledger.tested_starts)
        return self._test

    @property
    def tested(self) -> float:
        """A lower bound on what the policy of :attr:`tested_plan` earns, as sure as bounds are: from its trials alone.

        >>> import maxatk as mk
        >>> online = mk.Online().begin(k=2, n_states=1, n_actions=2, horizon=1, rng=0)
        >>> def play(trial):
        ...     while not trial.finished:
        ...         action = trial.act(state=0)
        ...         trial.observe(reward=0.5 if action == 0 else float(online.rng.random() < 0.25), done=True)
        >>> for _ in range(300):
        ...     play(online.trial())
        >>> online.begin_test()                                     # this policy, and no other
        >>> for _ in range(300):
        ...     play(online.test())
        >>> 0.5 < online.tested < 0.625
        True
        """
        return certificate.tested(self.ledger)

    def _planned(self, data: Data, starts: Ints) -> CertifiedPlan:
        known = self.ledger.known
        state, prob, _ = start_of(known, starts)
        solver = Certified(tol=1e-3 * (known.most - known.least))
        return data.plan(solver, (state, prob), Objective(self.ledger.k, known.best_so_far))

    def begin_test(self) -> None:
        """Fix the policy that seems best now, to be tested from now on."""
        ledger = self.ledger
        if not ledger.steps:
            raise InputError("there is no plan before the first step")
        ledger.begin_test()
        self._test = None
        if self._asked != "optimism" and ledger.tests == 1:
            self._playing = None
            ledger.drop_plan()

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the run to ``path``, or to its checkpoint, for :meth:`maxatk.Online.begin` to continue it.

        A trial that is not over counts with its best return by then, if it is not finished before the end of the
        program: it would have come to no less.
        """
        if path is not None:
            self.ledger.keep_in(path)
        self.ledger.save(open_trial=True)


class OnlineTrial(Trial):
    """A trial of a run: the run hears of all that is observed.

    Rewards must lie in the range that was given, returns in theirs: otherwise no bound would hold, and the reward or
    return is refused by its name.

    Args:
        run: whose trial it is.
        policy: what is played.
        purpose: what the trial is for: to explore, or which test.
    """

    def __init__(self, run: OnlineRun, policy: Policy, purpose: int) -> None:
        super().__init__(policy)
        self._ledger, self._policy, self._plan = run.ledger, policy, run.playing
        self._known, self._purpose, self._grid = run.ledger.known, purpose, run.playing.grid
        self._m, self._g = self._grid.first, 0  # M and G in steps of the grid, as they are remembered
        self._row, self._pending = -1, False  # the last row, and whether its next state is not known yet
        self._counted, self._given_up = 0.0, False  # the last reward as it is counted
        self._settle_best()
        self._ledger.begin(purpose)

    def _settle_best(self) -> None:
        """What the best return decides for the next rollout."""
        best, known = self.exact_best, self._known
        self._float_best, self._float_so_far = float(best), 0.0
        self._at_the_top = best >= known.most

    def _cannot_improve(self) -> bool:
        """Whether this rollout can no longer beat the best return: floats decide, unless they are too near."""
        if self._at_the_top:
            return True
        best, so_far, most = self._float_best, self._float_so_far, self._known.most_ahead[self.step]
        if best == -math.inf or so_far + most - best > 2.0**-50 * (abs(so_far) + abs(most) + abs(best)):
            return False
        return self.exact_so_far + Fraction(most) <= self.exact_best

    def _name(self) -> str:
        return f"{self._known.name(self._row)} in trial {self._ledger.trials}"

    @property
    def _reached(self) -> float:
        """The best return by now, or the least that there can be."""
        return float(max(self.exact_best, self._known.least))

    def give_up(self) -> None:
        """Count the trial with its best return by now, if it is not over. It would have come to no less."""
        if not self.finished and not self._given_up:
            self._given_up = True
            self._ledger.finish(self._reached, self._purpose)

    def _check_open(self, name: str) -> None:
        if self._given_up:
            raise InputError(f"{name}: this trial was given up when another was begun")

    def act(self, state: Any) -> int:
        """The action to take in ``state``, which is also the next state of the last action."""
        self._check_open("act")
        s = checks.integer(state, "state", most=self._known.n_states - 1)
        if self.step == 0 and not self._known.may_start(s):  # named only where it is wrong
            self._known.check_start(s, f"rollout {self.rollout} of trial {self._ledger.trials}")
        action = super().act(s)
        if self._pending:
            self._count(s)
        elif self.step == 0:
            self._ledger.tell_start(s)
        self._row = self._known.row_at(self.step, s, action)
        return action

    def observe(self, reward: Any, done: bool = False, next_state: int | None = None) -> None:
        """Take in what the last action brought.

        Args:
            reward: the reward.
            done: whether the rollout has ended by itself.
            next_state: the state that the action led to. It need be given only at the last step of a rollout, where
                nobody acts in it; ``n_states`` for an end. Where it is not, that step is not counted as a sample.
        """
        self._check_open("observe")
        known = self._known
        if self._taken is None or not isinstance(done, bool | np.bool_):
            super().observe(reward, done)  # which says what is wrong
        exact = checks.exact_number(reward, "reward")
        amount = float(exact)
        if not known.least_reward <= amount <= known.most_reward:
            known.check_reward(amount, self._name())
        given = next_state
        if next_state is not None and not (type(next_state) is int and 0 <= next_state < known.n_states):
            given = known.next_state(next_state, self._name())
        last, total = self.step + 1 == self._horizon, self.exact_so_far + exact
        if last or done:
            known.check_return(total, f"rollout {self.rollout} of trial {self._ledger.trials}")
            if done and not last and not known.can_terminate:
                raise InputError(f"{self._name()}: the rollout ended, but can_terminate is false")
        self._counted, self._pending = self._ledger.tell_reward(amount), True
        self._g = self._g + round(self._counted / self._grid.kappa) if self._grid.rounds else self._grid.index(total)
        super().observe(reward, done)
        self._float_so_far = float(total)
        if not last and not done:
            if given is not None:
                self._count(given)
        elif done and not last:
            self._count(known.n_states)
        elif known.n_layers == known.horizon:  # what comes after the last step does not matter to its rows
            self._count(known.n_states if known.can_terminate or given is None else given)
        elif given is not None:
            self._count(given)
        self._pending = self._pending and not (last or done)
        if last or done:
            self._m, self._g = max(self._m, min(self._g, self._grid.top)), 0
            self._settle_best()
            self._ledger.tell_best(self._reached)
            if self.finished:
                self._ledger.finish(self._reached, self._purpose)

    def _count(self, next_state: int) -> None:
        self._ledger.tell(self._row, next_state, self._counted)
        self._pending = False

    def _choose(self, state: int) -> int:
        known, h = self._known, self.step
        if self._cannot_improve():
            # Nothing can be improved in this rollout: what is done costs nothing, and the least known is tried.
            node = int(known.step_layer[h]) * known.n_states + state
            first, end = int(known.pair_start[node]), int(known.pair_start[node + 1])
            return int(known.action[first + int(self._ledger.data.counts[first:end].argmin())])
        if self._purpose == EXPLORED:
            row = self._plan.row(self.rollout, h, state, self._m, self._g)
            return int(known.action[known.row_at(h, state, -1) if row < 0 else row])
        where: dict[str, Any] = {"best": self.exact_best, "so_far": self.exact_so_far}
        return self._policy.action(rollout=self.rollout, step=h, state=state, **where)

    def _remember(self, state: Any, action: int, reward: Any, over: bool) -> None:
        """Nothing beyond M and G."""
