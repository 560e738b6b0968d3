"""Good policies of the smaller classes on larger problems: found on a lattice of returns, one rollout at a time.

How the best policy of one rollout is found beside others is told in ``planning/rounds/tries.py``. Only
:meth:`Search.single` makes a claim of its own, an upper bound.
"""

import os
from collections.abc import Callable
from functools import partial

import numpy as np

from maxatk import kernels
from maxatk.base import checks, stopping
from maxatk.base.types import Floats, Ints
from maxatk.base.workers import Workers
from maxatk.comparison.tuning import TUNING
from maxatk.laws.law import expected_payoffs
from maxatk.planning.certified.curves import Curve
from maxatk.planning.certified.on_lattice import ValueJob
from maxatk.planning.certified.plan import CertifiedPlan, evidence_of
from maxatk.planning.rounds.alike import Mixture, Sampling
from maxatk.planning.rounds.tries import Candidate, TrySearch
from maxatk.policies import ByBestPolicy, CompressedPolicy, MarkovPolicy, MixedPolicy

BYTES_A_CELL = 128  # what a search takes, generously
MOST_GROUPS = 16  # of rollouts that are bettered one by one; beyond, several together
ROUNDS = 20  # over all rollouts
KNOTS = np.linspace(0.05, 0.95, 7)  # quantiles of the best return for which policies without G are looked for


class Search(TrySearch):
    """A search for policies of smaller classes.

    Args:
        plan: the plan whose problem and lattice are searched.
        floor: a return that good policies almost surely beat: nothing below it is told apart.

    Raises:
        TooLargeError: where a sweep would take too long for a search.
    """

    def __init__(self, plan: CertifiedPlan, floor: float) -> None:
        super().__init__(evidence_of(plan).method, floor, TUNING.search_cells)
        self._plan, self.k = plan, plan.k

    # One rollout.

    def _best_markov(self, swept: ValueJob, start: Ints) -> Candidate:
        """A good Markov policy for the payment at the end of a slice: the best that ascents from some rows lead to."""
        starts = [start, self._usual_rows(swept, start)]
        ascents = Workers(2).map(partial(self._ascent, swept), starts)
        return self.markov_candidate(max(ascents, key=lambda ascent: ascent[0])[1])

    def _ascent(self, swept: ValueJob, start: Ints) -> tuple[float, Ints]:
        """What a Markov policy is paid that no change of one row betters, from these rows [H, S] on; and its rows."""
        rows, value, choice = start.copy(), swept.value[:, 0].copy(), np.zeros(len(swept.value), np.int64)
        idle = float(swept.idle_value[0])
        for _ in range(ROUNDS):
            kernels.choose_by_state(swept.layout, rows, choice)
            mass = self._mass(swept, choice)
            gained = stopping.run(kernels.improve_rows, swept.cells.tables, swept.layout, idle, mass, value, rows)
            if gained <= 1e-12 * (abs(idle) + self._lattice.kappa):
                break
        earned = 0.0
        for p, s in zip(self._mdp.reset_prob, self._mdp.start_state.tolist(), strict=True):
            cell = swept.cell(0, s, 0)
            earned += float(p) * (idle if cell is None else float(value[cell]))
        return earned, rows

    def _usual_rows(self, swept: ValueJob, default: Ints) -> Ints:
        """What the best policy that sees its return does most often at each step and state."""
        choice = np.zeros(len(swept.value), np.int64)
        stopping.run(kernels.choose_greedily, swept.cells.tables, swept.layout, swept.value[:, 0], choice)
        mass = self._mass(swept, choice)
        rows = default.copy()
        stopping.run(kernels.usual_rows, swept.cells.tables, swept.layout, choice, mass, rows)
        return rows

    def markov_candidate(self, rows: Ints) -> Candidate:
        """The Markov policy that takes these rows [H, S], with its law."""
        choice = np.zeros(len(self._base.value), np.int64)
        kernels.choose_by_state(self._base.layout, rows, choice)
        policy = MarkovPolicy(self._mdp.action[rows], k=1)
        return Candidate(self._law(self._base.cells.final, self._mass(self._base, choice)), policy, rows)

    def rows_of(self, actions: Ints) -> Ints:
        """The rows that a Markov policy's actions [H, S] take."""
        states = np.arange(self._mdp.n_states)
        return np.stack(
            [
                kernels.rows_of_actions(self._mdp.step(h).first_row, self._mdp.action, states, a)
                for h, a in enumerate(actions)
            ]
        )

    # Classes of policies.

    def single(self, first: Candidate, tol: float) -> tuple[MixedPolicy, float]:
        """The best randomised policy sampled ``k`` times, one round of rollouts alike; and what none exceeds."""
        sampling = Sampling(self, np.ones(len(self.points)), self.final, self.k)
        best, upper = sampling.best(Mixture.of([first], np.ones(1)), tol / self._unit)
        parts = [part.policy for part in best.parts]
        return MixedPolicy(parts, best.weights.tolist(), self.k, self._plan.best_so_far), self._unit * upper

    def markov(self, first: Candidate) -> list[Candidate]:
        """A good Markov policy for every rollout."""

        def better(payoff: Floats, present: Candidate) -> Candidate:
            assert present.rows is not None
            return self._best_markov(self._slice(self._curve(payoff)), present.rows)

        return self._ascend([first] * self.k, better)

    def without_best(self, first: list[Candidate]) -> list[Candidate]:
        """A good policy that sees its return for every rollout."""
        return self._ascend(first, lambda payoff, _: self.best_seeing_return(payoff)[0])

    def _ascend(self, chosen: list[Candidate], better: Callable[[Floats, Candidate], Candidate]) -> list[Candidate]:
        """Better one rollout after the other while that raises the value; beyond some number, several together."""
        groups = [list(range(i, self.k, MOST_GROUPS)) for i in range(min(self.k, MOST_GROUPS))]
        chosen = list(chosen)
        value = self.value(np.prod([candidate.below for candidate in chosen], axis=0))
        for _ in range(ROUNDS):
            before = value
            for group in groups:
                others = np.prod([chosen[j].below for j in range(self.k) if j != group[0]], axis=0)
                new = better(self.payoff(others if self.k > 1 else np.ones(len(self.points))), chosen[group[0]])
                changed = [new if j in group else candidate for j, candidate in enumerate(chosen)]
                changed_value = self.value(np.prod([candidate.below for candidate in changed], axis=0))
                if changed_value > value:
                    chosen, value = changed, changed_value
            if value - before <= 1e-9 * abs(value - self._unit * self.points[0]):
                break
        return chosen

    def without_return(self, markov: list[Candidate]) -> CompressedPolicy:
        """A good policy that sees the best return but not its own: Markov, for every rollout and best return.

        By backward induction over rollouts, as the best return is all that rollouts share. For some best returns Markov
        policies are looked for; for each best return, the best of all that were found is taken.
        """
        library = list({id(candidate): candidate for candidate in markov}.values())
        payoff = self.final.copy()
        picks: list[Ints] = []
        searched = set(np.linspace(0, self.k - 1, min(self.k, MOST_GROUPS)).round().astype(int).tolist())
        for i in range(self.k - 1, -1, -1):
            if i in searched:
                before = np.prod([candidate.below for candidate in markov[:i]], axis=0) if i else np.ones(1)
                after, payoffs = self._curve(payoff), self._expected_payoffs(library, payoff)
                at = sorted(set(np.searchsorted(before, KNOTS).tolist()))
                best = [library[int(np.argmax(payoffs[:, j]))] for j in at]
                candidates = Workers(self._at_once).map(partial(self._markov_at, after), at, best)
                for j, new in zip(at, candidates, strict=True):
                    known = self._expected_payoffs(library, payoff)[:, j].max()
                    if self._expected_payoffs([new], payoff)[0, j] > known:
                        library.append(new)
            payoffs = self._expected_payoffs(library, payoff)
            picks.insert(0, np.argmax(payoffs, axis=0))
            payoff = payoffs.max(axis=0)
        tables = np.array([self._mdp.action[candidate.rows] for candidate in library]).astype(np.int64)
        policy = ByBestPolicy(self.points, np.array(picks), tables, self._plan.best_so_far, self._unit)
        return self._remembering(policy)

    @property
    def _at_once(self) -> int:
        """Slices that may be searched at a time: one for each core, if there is memory for them."""
        return max(min(os.cpu_count() or 1, int(checks.memory() // (BYTES_A_CELL * len(self._base.value)))), 1)

    def _markov_at(self, after: Curve, j: int, start: Candidate) -> Candidate:
        """A good Markov policy for the best return of point ``j``."""
        assert start.rows is not None
        return self._best_markov(self._slice(after, float(self.points[j])), start.rows)

    def _expected_payoffs(self, library: list[Candidate], payoff: Floats) -> Floats:
        """What each candidate earns at each best return: [candidates, n]."""
        return expected_payoffs(np.array([candidate.law for candidate in library]), payoff)

    def separate(self, chosen: list[Candidate]) -> MixedPolicy:
        """A policy that follows one candidate in each rollout."""
        parts = list({id(candidate): candidate for candidate in chosen}.values())
        weights = [[int(part is candidate) for part in parts] for candidate in chosen]
        return MixedPolicy([part.policy for part in parts], weights, self.k, self._plan.best_so_far)

    def table(self, chosen: list[Candidate]) -> MarkovPolicy:
        """Markov candidates, one for each rollout, as one policy."""
        return MarkovPolicy(
            np.array([self._mdp.action[candidate.rows] for candidate in chosen]), best_so_far=self._plan.best_so_far
        )
