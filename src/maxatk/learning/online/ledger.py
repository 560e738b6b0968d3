"""The ledger of episodes: counts of outcomes and starts, best returns of trials, and what the present plan rests on."""

from typing import Any

import numpy as np

from maxatk.base import checks
from maxatk.base.archive import Archive
from maxatk.base.errors import InputError
from maxatk.base.types import Ints, Seed
from maxatk.learning.data import Data
from maxatk.learning.episodes import CheckedEpisodes
from maxatk.learning.ledger import Ledger
from maxatk.learning.online.points import Points, points_for
from maxatk.learning.online.swept import Belief

EXPLORED = 0  # what a trial was for; the trials of the n-th policy that is tested have its number

WHOLE = ("steps", "planned_at", "lasted", "plans", "tests", "next_check", "in_hand_of")  # fields that are whole numbers


class EpisodeLedger(Ledger):
    """What was told of trials; the arguments are those of :class:`Ledger`.

    Every step that is told is counted at once. A trial counts when it is over, or when it is given up: then at what it
    had in hand, which is no more than it would have come to.
    """

    def __init__(self, setting: CheckedEpisodes, k: int, rng: Seed, **arguments: Any) -> None:
        super().__init__({**setting.signature(), "k": k}, rng, **arguments)
        self.setting, self.k = setting, k
        self.data = Data(setting)
        self.starts: Ints = np.zeros(setting.n_states, np.int64)  # [S] how often rollouts started where
        self.steps = 0  # told so far, counted as outcomes or not
        self.returns: list[float] = []  # best returns of trials
        self.purposes: list[int] = []  # what each was for: exploring, or which test
        self.rewards: set[float] = set()  # that were seen
        self.rounds = False  # whether rewards are rounded
        self.upper = setting.most  # the least upper bound that was proved
        # The present plan: what it rests on, when it was made, and how long the one before it lasted.
        self.belief: Belief | None = None
        self.kappa = 0.0  # the lattice step of the belief
        self.seen: Ints = np.zeros(setting.n_rows, np.int64)  # [N] how often rows had been seen then
        self.planned_at, self.lasted, self.plans = 0, 0, 0
        # Test trials: the data that the tested policy was planned on, and how many policies were tested.
        self.tests, self.tested = 0, Data(setting)
        self.tested_starts = self.starts.copy()
        self.testing = False  # whether the next trials are tests
        self.next_check = 1
        self.source: Any = None  # what is played in, where the run plays itself
        self.in_hand: float | None = None  # of a trial that is not over
        self.in_hand_of = EXPLORED  # what that trial is for
        self.open()

    @property
    def samples(self) -> int:
        """All steps told so far."""
        return self.steps

    @property
    def trials(self) -> int:
        """The trials that count."""
        return len(self.returns)

    def points(self) -> Points:
        """The lattice for all rewards that were seen; they are rounded from the moment when there is none."""
        points = points_for(self.setting, self.rewards, self.rounds)
        if points.rounds and not self.rounds:
            self.rounds = True
            self._round(points)
        return points

    def _round(self, points: Points) -> None:
        """Round every reward that was counted, at random."""
        rounded = Data(self.setting)
        for x, t, r, times in zip(*(column.tolist() for column in self.data.columns()), strict=True):
            for jump, n in points.jumps(r, times, self.rng):
                rounded.count(x, t, points.kappa * jump, n)
        self.data, self.rewards = rounded, set()

    def count(self, row: int, next_state: int, reward: float) -> None:
        """Count one outcome, or refuse it if what was said of rows is not true."""
        setting = self.setting
        if setting.max_outcomes is not None and not self.rounds:
            different = self.data.different(row, next_state, reward)
            if different > setting.max_outcomes:
                raise InputError(
                    f"{setting.name(row)} has {different} different outcomes (next state and reward), but "
                    f"max_outcomes is {setting.max_outcomes}"
                )
        self.data.count(row, next_state, reward)

    def finish(self, best: float, purpose: int) -> None:
        """A trial is over, or given up, with this best return."""
        self.returns.append(best)
        self.purposes.append(purpose)
        self.in_hand = None
        self.settle()

    def members(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """All fields."""
        numbers = {name: getattr(self, name) for name in (*WHOLE, "rounds", "testing", "upper", "kappa", "in_hand")}
        arrays: dict[str, Any] = {
            **self.data.arrays("data"),
            **self.tested.arrays("tested"),
            "starts": self.starts,
            "tested_starts": self.tested_starts,
            "returns": np.array(self.returns, np.float64),
            "purposes": np.array(self.purposes, np.int64),
            "rewards": np.array(sorted(self.rewards), np.float64),
            "seen": self.seen,
        }
        numbers["planned"] = self.belief is not None
        if self.belief is not None:
            arrays |= {f"belief_{name}": column for name, column in self.belief._asdict().items()}
        return numbers, arrays

    def take_up(self, file: Archive) -> None:
        """Read what :meth:`members` wrote, or raise :class:`InputError`."""
        header, setting = file.header, self.setting
        if "steps" not in header:
            raise InputError("it is not one of episodes")
        for name in WHOLE:
            setattr(self, name, checks.integer(header.get(name), name, most=2**53))
        rounds, testing, in_hand = header.get("rounds"), header.get("testing"), header.get("in_hand")
        if in_hand is not None:
            in_hand = float(checks.exact_number(in_hand, "in_hand"))
        if not isinstance(rounds, bool) or not isinstance(testing, bool):
            raise InputError("it does not say whether rewards are rounded")
        self.rounds, self.testing = rounds, testing
        self.upper, self.kappa = (float(checks.exact_number(header.get(name), name)) for name in ("upper", "kappa"))
        slack = self.kappa if rounds else 0.0
        self.data = Data.read(file, "data", setting, slack)
        self.tested = Data.read(file, "tested", setting, slack)
        self.starts, self.tested_starts, self.seen = (
            file.array(name, "<i8").copy() for name in ("starts", "tested_starts", "seen")
        )
        self.returns, purposes = file.array("returns", "<f8").tolist(), file.array("purposes", "<i8")
        self.purposes, self.rewards = purposes.tolist(), set(file.array("rewards", "<f8").tolist())
        sizes = {len(self.starts), len(self.tested_starts)} == {setting.n_states}, len(self.seen) == setting.n_rows
        values = np.array([*self.returns, self.upper, *self.rewards])
        if not all(sizes) or len(self.returns) != len(self.purposes) or not np.isfinite(values).all():
            raise InputError("its arrays make no sense")
        counts = np.concatenate([self.starts, self.tested_starts, self.seen])
        purposes = np.append(purposes, self.in_hand_of)
        if counts.min() < 0 or counts.max() > 2**53 or not ((purposes >= 0) & (purposes <= self.tests)).all():
            raise InputError("its counts make no sense")
        known = np.array([*self.returns, self.upper] + ([] if in_hand is None else [in_hand]))
        slack = setting.rounding_of_returns
        if not ((known >= setting.least - slack) & (known <= setting.most + slack)).all():
            raise InputError("its returns are out of range")
        paid = np.array([*self.rewards])
        largest = max(abs(setting.least_reward), abs(setting.most_reward), setting.most - setting.least)
        if not ((paid >= setting.least_reward) & (paid <= setting.most_reward)).all() or self.kappa > largest:
            raise InputError("its rewards are out of range")
        self._check_counts()
        if header.get("planned") is True:
            self.belief = self._read_belief(file)
        if in_hand is not None:  # a trial that nobody will finish: it would have come to no less
            self.finish(in_hand, self.in_hand_of)

    def _check_counts(self) -> None:
        """Refuse numbers that were never counted together: a plan that is never old would be played for ever."""
        begun = self.steps + self.trials + 1  # at most, with those of which no step was told
        if self.data.samples > self.steps or self.starts.sum(dtype=np.float64) > begun:
            raise InputError(f"it counts more outcomes or starts than {self.steps} steps have")
        if (self.seen > self.data.counts).any() or (self.tested.counts > self.data.counts).any():
            raise InputError("its plan rests on more than was counted")
        if (self.tested_starts > self.starts).any() or max(self.planned_at, self.lasted) > self.trials:
            raise InputError("its plan is from a later trial than the last")

    def _read_belief(self, file: Archive) -> Belief:
        kinds = {"prob": "<f8", "start_prob": "<f8", "risk": "<f8"}
        belief = Belief(*(file.array(f"belief_{name}", kinds.get(name, "<i8")) for name in Belief._fields))
        setting, ends = self.setting, (belief.row, belief.next_state, belief.start_state)
        sizes = {len(belief.row), len(belief.next_state), len(belief.jump), len(belief.prob)}
        if len(sizes) != 1 or len(belief.start_state) != len(belief.start_prob) or self.kappa <= 0:
            raise InputError("its columns differ in length")
        most = (setting.n_rows - 1, setting.n_states, setting.n_states - 1)
        if any(len(x) and (x.min() < 0 or x.max() > limit) for x, limit in zip(ends, most, strict=True)):
            raise InputError("its plan is for rows or states that do not exist")
        if (np.diff(belief.row) < 0).any() or len(belief.risk) != setting.n_rows + 1 or np.isnan(belief.risk).any():
            raise InputError("its plan makes no sense")
        span = np.abs(belief.jump).max(initial=0) * self.kappa
        largest = max(abs(setting.least_reward), abs(setting.most_reward))
        if not np.isfinite(belief.prob).all() or span > 2 * largest + 2 * self.kappa:
            raise InputError("its plan makes no sense")
        return belief
