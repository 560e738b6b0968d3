"""The ledger of episodes: counts of outcomes and starts, best returns of trials, and what the present plan rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.base.types import Ints, Seed
from maxatk.learning.belief import Belief
from maxatk.learning.data import Data
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.fields import Column, Counts, Field, Plain, flag, number, number_or_none, whole
from maxatk.learning.grid import ReturnGrid, grid_for_episodes
from maxatk.learning.ledger import Ledger
from maxatk.learning.uncertain import UncertainPlan

EXPLORED = 0  # what a trial was for; the trials of the n-th policy that is tested have its number
BELIEF_TYPES = {"part": "<f8", "prob": "<f8", "start_prob": "<f8", "risk": "<f8"}  # of columns that are not counts


@dataclass(frozen=True)
class Believed(Field):
    """A belief, by its columns; or None."""

    def write(self, ledger: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Whether there is one, and its columns."""
        belief = getattr(ledger, self.name)
        numbers[self.name] = belief is not None
        if belief is not None:
            arrays |= {f"{self.name}_{column}": values for column, values in belief._asdict().items()}

    def read(self, ledger: Any, file: Archive) -> Belief | None:
        """As it was; the ledger checks it."""
        if not flag(file.header.get(self.name), self.name):
            return None
        return Belief(
            *(file.array(f"{self.name}_{column}", BELIEF_TYPES.get(column, "<i8")) for column in Belief._fields)
        )


class EpisodeLedger(Ledger):
    """What was told of trials; ``source`` is what is played in, where the run plays itself.

    The other arguments are those of :class:`Ledger`. Every step that is told is counted at once. A trial counts when it
    is over, or when it is given up: then with its best return by then, which is no more than it would have come to.
    """

    FIELDS = (
        *(Plain(name, whole) for name in ("steps", "planned_at", "lasted", "plans", "tests", "next_check")),
        *(Plain("rounds", flag), Plain("testing", flag), Plain("upper", number), Plain("kappa", number)),
        *(Plain("open_best", number_or_none), Plain("open_purpose", whole)),
        *(Counts("data"), Counts("tested")),
        *(Column("starts", "<i8", "n_states"), Column("tested_starts", "<i8", "n_states")),
        *(Column("seen", "<i8", "n_rows"), Column("rewards", "<f8", kind=set)),
        *(Column("returns", "<f8", kind=list), Column("purposes", "<i8", kind=list)),
        Believed("belief"),
    )
    known: CheckedEpisodes

    def __init__(self, known: CheckedEpisodes, k: int, rng: Seed, *, source: Any = None, **arguments: Any) -> None:
        super().__init__(known, {**known.signature(), "k": k}, rng, **arguments)
        self.k, self.source = k, source
        self.data = Data(known)
        self.starts: Ints = np.zeros(known.n_states, np.int64)  # [S] how often rollouts started where
        self.steps = 0  # told so far, counted as outcomes or not
        self.returns: list[float] = []  # best returns of trials
        self.purposes: list[int] = []  # what each was for: exploring, or which test
        self.rewards: set[float] = set()  # that were seen
        self.rounds = False  # whether rewards are rounded
        self._grid: tuple[tuple[int, bool], ReturnGrid] | None = None  # for how many rewards, rounded or not
        self.upper = known.most  # the least upper bound that was proved
        # The present plan: what it rests on, when it was made, and how long the one before it lasted.
        self.belief: Belief | None = None
        self.kappa = 0.0  # the grid's step of the belief
        self.seen: Ints = np.zeros(known.n_rows, np.int64)  # [N] how often rows had been seen then
        self.planned_at, self.lasted, self.plans = 0, 0, 0
        # Test trials: the data that the tested policy was planned on, and how many policies were tested.
        self.tests, self.tested = 0, Data(known)
        self.tested_starts = self.starts.copy()
        self.testing = False  # whether the next trials are tests
        self.next_check = 1
        self.open_best: float | None = None  # the best return of a trial that is not over
        self.open_purpose = EXPLORED  # what that trial is for
        self.open()

    @property
    def samples(self) -> int:
        """All steps told so far."""
        return self.steps

    @property
    def trials(self) -> int:
        """The trials that count."""
        return len(self.returns)

    @property
    def slack(self) -> float:
        """A step of the grid where rewards are rounded."""
        return self.kappa if self.rounds else 0.0

    def grid(self) -> ReturnGrid:
        """The grid for all rewards that were seen; from the moment when none holds them they are rounded."""
        grid = self.present_grid
        if grid.rounds and not self.rounds:
            self.round_to(grid)
        return grid

    def round_to(self, grid: ReturnGrid) -> None:
        """Round all rewards that were counted at random to the points of a grid, and from now on all others."""
        rounded = Data(self.known)
        for x, t, r, times in zip(*(column.tolist() for column in self.data.columns()), strict=True):
            for jump, n in grid.rounded(r, times, self.rng):
                rounded.count(x, t, grid.kappa * jump, n)
        self.rounds, self.data, self.rewards = True, rounded, set()

    @property
    def present_grid(self) -> ReturnGrid:
        """The grid for all rewards that were seen, whether or not they are rounded to it yet."""
        present = len(self.rewards), self.rounds  # rewards are only added, until they are rounded
        if self._grid is None or self._grid[0] != present:
            self._grid = present, grid_for_episodes(self.known, self.rewards, self.rounds)
        return self._grid[1]

    # What is told of trials.

    def begin(self, purpose: int) -> None:
        """A trial begins."""
        self.open_best, self.open_purpose = float(self.known.least), purpose

    def tell_start(self, state: int) -> None:
        """A rollout starts in a state."""
        self.starts[state] += 1

    def tell_reward(self, reward: float) -> float:
        """A step was made, and brought this reward: the reward as it is counted, rounded where rewards are."""
        self.about_to_draw(1)
        self.steps += 1
        if self.rounds:
            grid = self.present_grid
            return grid.kappa * grid.rounded(reward, 1, self.rng)[0][0]
        self.rewards.add(reward + 0.0)
        return reward + 0.0

    def tell(self, row: int, next_state: int, reward: float) -> None:
        """Count the outcome of a step, or refuse it if what was said of rows is not true."""
        known = self.known
        if known.max_outcomes is not None and not self.rounds:
            different = self.data.different(row, next_state, reward)
            if different > known.max_outcomes:
                raise InputError(
                    f"{known.name(row)} has {different} different outcomes (next state and reward), but "
                    f"max_outcomes is {known.max_outcomes}"
                )
        self.data.count(row, next_state, reward)

    def tell_rollout(self, start: int, steps: Sequence[tuple[int, int, float]]) -> None:
        """A whole rollout: its first state, and rows, next states and rewards of its steps."""
        self.tell_start(start)
        for row, next_state, reward in steps:
            self.tell(row, next_state, self.tell_reward(reward))

    def tell_best(self, best: float) -> None:
        """A rollout is over: the best return of its trial by now."""
        self.open_best = best

    def finish(self, best: float, purpose: int) -> None:
        """A trial is over, or given up, with this best return."""
        self.returns.append(best)
        self.purposes.append(purpose)
        self.open_best = None
        self.settle()

    # What the learner decides.

    def bound_optimum(self, upper: float) -> None:
        """An upper bound on the optimum was proved: the least of all is kept."""
        self.upper = min(self.upper, upper)

    def begin_plan(self, plan: UncertainPlan) -> None:
        """Another plan is played from now on."""
        self.belief, self.kappa, self.seen = plan.belief, plan.grid.kappa, self.data.counts.copy()
        self.lasted = self.trials - self.planned_at
        self.planned_at, self.plans = self.trials, self.plans + 1

    def drop_plan(self) -> None:
        """The plan that was played is played no longer."""
        self.belief = None

    def begin_test(self) -> None:
        """The policy that is planned on what was counted by now is tested."""
        self.tests += 1
        self.tested, self.tested_starts = self.data.copy(), self.starts.copy()

    def decide(self, *, next_check: int | None = None, testing: bool | None = None) -> None:
        """After how many trials bounds are computed again, and whether the trials until then are tests."""
        self.next_check = self.next_check if next_check is None else next_check
        self.testing = self.testing if testing is None else testing

    # Checkpoints.

    def take_up(self, file: Archive) -> None:
        """Read all fields. A trial that is not over will not be finished: it would have come to no less."""
        super().take_up(file)
        if self.open_best is not None:
            self.finish(self.open_best, self.open_purpose)

    def check(self) -> None:
        """Refuse numbers that were never counted together: a plan that is never old would be played for ever."""
        known, slack = self.known, self.known.rounding_of_returns
        purposes = [*self.purposes, self.open_purpose]
        if len(self.returns) != len(self.purposes) or max(purposes) > self.tests:
            raise InputError("its trials make no sense")
        returns = np.array([*self.returns, self.upper] + ([] if self.open_best is None else [self.open_best]))
        if not ((returns >= known.least - slack) & (returns <= known.most + slack)).all():
            raise InputError("its returns are out of range")
        rewards = np.array([*self.rewards])
        largest = max(abs(known.least_reward), abs(known.most_reward), known.most - known.least)
        inside = (rewards >= known.least_reward) & (rewards <= known.most_reward)
        if not inside.all() or not 0 <= self.kappa <= largest:
            raise InputError("its rewards are out of range")
        begun = self.steps + self.trials + 1  # at most, with those of which no step was told
        if self.data.samples > self.steps or self.starts.sum(dtype=np.float64) > begun:
            raise InputError(f"it counts more outcomes or starts than {self.steps} steps have")
        if (self.seen > self.data.counts).any() or (self.tested.counts > self.data.counts).any():
            raise InputError("its plan rests on more than was counted")
        if (self.tested_starts > self.starts).any() or max(self.planned_at, self.lasted) > self.trials:
            raise InputError("its plan is from a later trial than the last")
        if self.belief is not None:
            self._check_belief(self.belief)

    def _check_belief(self, belief: Belief) -> None:
        """Refuse a belief about rows or states that do not exist, or that no counts lead to."""
        known = self.known
        sizes = {len(column) for column in belief[:5]}
        if len(sizes) != 1 or len(belief.start_state) != len(belief.start_prob) or self.kappa == 0:
            raise InputError("its columns differ in length")
        numbers = (belief.row, belief.next_state, belief.start_state)
        most = (known.n_rows - 1, known.n_states, known.n_states - 1)
        if any(len(x) and (x.min() < 0 or x.max() > limit) for x, limit in zip(numbers, most, strict=True)):
            raise InputError("its plan is for rows or states that do not exist")
        span = np.abs(belief.jump).max(initial=0) * self.kappa
        largest = max(abs(known.least_reward), abs(known.most_reward))
        rising = (np.diff(belief.row) >= 0).all() and len(belief.risk) == known.n_rows + 1
        finite = np.isfinite(belief.prob).all() and not np.isnan(belief.risk).any() and not belief.part.any()
        if not rising or not finite or span > 2 * largest + 2 * self.kappa:
            raise InputError("its plan makes no sense")
