"""Trials of a policy, recorded: many at once in a table, or one after the other in a table or an environment."""

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from maxatk.base import stopping
from maxatk.base.returns import NONE, Amounts, nearest_float
from maxatk.base.types import Floats, Ints
from maxatk.evaluation.chance import Chance, Numbers, OwnChance
from maxatk.evaluation.trials import World, trial_steps
from maxatk.laws.forward import rows_taken
from maxatk.laws.sampling import RowSampler
from maxatk.laws.units import Units, countable
from maxatk.policies import ABANDON, CompressedPolicy, Policy, hooks
from maxatk.problem.mdp import MDP


class TrialTable(NamedTuple):
    """What is recorded of trials."""

    returns: Floats  # [n, k]
    row_costs: Floats  # [n]
    tries: Ints  # [n] how many rollouts were made

    @classmethod
    def of(cls, trials: int, k: int) -> "TrialTable":
        """Nothing yet."""
        return cls(np.full((trials, k), -math.inf), np.zeros(trials), np.zeros(trials, np.int64))

    def fill(self, span: slice | Ints, other: "TrialTable") -> None:
        """Copy another into some of them."""
        for mine, theirs in zip(self, other, strict=True):
            mine[span] = theirs

    def at(self, span: slice) -> "TrialTable":
        """Some of them."""
        return TrialTable(self.returns[span], self.row_costs[span], self.tries[span])


def one_trial(world: World, policy: Policy, stream: np.random.Generator, table: TrialTable, n: int) -> int:
    """Fill in row ``n`` of a table from one trial; how many steps it took."""
    steps, returns = 0, table.returns[n]
    for step in trial_steps(world, policy, stream):
        table.tries[n] = step.rollout + 1
        table.row_costs[n] += step.cost
        steps += step.action != ABANDON
        if step.over and step.action != ABANDON:
            returns[step.rollout] = nearest_float(step.so_far + step.reward)
    return steps


class Walk:
    """Runs blocks of trials of a policy that remembers M and G at most, and records what comes of them."""

    def __init__(self, mdp: MDP, policy: Policy) -> None:
        self._mdp, self._policy, self._sampler = mdp, policy, RowSampler(mdp)
        self._units = [Units.of(mdp, one.policy) for one in hooks.mixture(policy)]

    @property
    def in_bulk(self) -> bool:
        """Whether many trials can be run at once, and the policy still be asked with what it must know."""
        return countable(self._policy, self._units)

    def block(self, stream: np.random.Generator, trials: int) -> tuple[TrialTable, int]:
        """A block of trials, and how many steps they took."""
        table = TrialTable.of(trials, self._policy.k)
        return table, self(copy.deepcopy(stream), table)  # the stream itself is as it was, should this be lost

    def __call__(self, stream: np.random.Generator, table: TrialTable, chance: Chance | None = None) -> int:
        """Fill in a block of trials; how many steps they took.

        What the policy draws comes from ``stream``, as does what the problem draws if there is no other ``chance``.
        """
        steps, n, policy = 0, len(table.tries), self._policy
        chance = OwnChance(stream) if chance is None else chance
        best, true_best = np.full(n, NONE), np.full(n, self._units[0].true.units(policy.best_so_far))
        going = np.arange(n)
        starts, widths = set(hooks.round_starts(policy)), hooks.widths(policy)
        known = true_best.copy()  # the best return at the start of a round
        for i in range(policy.k):
            if i in starts:
                known = true_best.copy()
            if hooks.may_stop(policy) and i in starts:
                going = going[~hooks.stopped(policy, i, Amounts(true_best[going], self._units[0].true))]
                if not len(going):
                    break
            for j, component, places in hooks.assign(policy, i, len(going), stream):
                these, units, part = going[places], self._units[j], component.policy
                if component.rollout == 0:  # a part begins with its own incumbent, whatever came before
                    best[these] = units.memory.units(part.best_so_far)
                made = _Rollout.of(len(these), units.rewards(self._mdp), units.remembered)
                bests = known[these] if widths else best[these]
                own = Numbers(chance, i, these)
                steps += self._run(part, units, component.rollout, bests, made, own)
                given_up = made.true == NONE
                table.returns[these, i] = np.where(given_up, -math.inf, units.floats(made.true))
                table.row_costs[these] += made.row_costs
                table.tries[these] += 1
                # Where true returns are not counted in units, those are remembered, rounded, or nobody asks for them.
                true_best[these] = np.maximum(true_best[these], units.counted(made.true, made.remembered))
                best[these] = np.maximum(best[these], made.remembered)
        return steps

    def _run(
        self,
        part: CompressedPolicy,
        units: Units,
        i: int,
        best: Ints,
        made: "_Rollout",
        numbers: "Numbers",
    ) -> int:
        """One rollout of trials whose best returns are ``best`` [n]; how many steps it took."""
        some, tag = np.unique(best, return_inverse=True)
        rule = hooks.rule(part, i, Amounts(some, units.best))
        state = self._sampler.starts(numbers.starts())
        # Trials with the same best return side by side: a rule may look them up together.
        order = np.argsort(tag, kind="stable")
        labels = np.zeros(len(order), np.int64) if rule.batch is None else rule.batch[tag[order]]
        batches = [order[labels == label] for label in np.unique(labels)]
        return sum(self._run_batch(rule.act, units, i, going, tag, state, made, numbers) for going in batches)

    def _run_batch(
        self,
        act: hooks.Act,
        units: Units,
        i: int,
        going: Ints,
        tag: Ints,
        state: Ints,
        made: "_Rollout",
        numbers: "Numbers",
    ) -> int:
        """Take the trials ``going`` through one rollout; how many steps it took."""
        mdp, steps = self._mdp, 0
        reward = units.rewards(mdp)
        for h in range(mdp.horizon):
            stopping.check()
            here = state[going]
            action = act(h, tag[going], here, Amounts(made.remembered[going], units.memory))
            given_up = action == ABANDON
            if given_up.any():
                made.true[going[given_up]] = made.remembered[going[given_up]] = NONE
                going, here, action = going[~given_up], here[~given_up], action[~given_up]
            row = rows_taken(mdp, i, h, here, action)
            if mdp.has_costs:
                made.row_costs[going] += mdp.action_cost[row]
            o = self._sampler.each(row, numbers.outcomes(h, going))
            steps += len(going)
            made.true[going] += reward[o]
            if made.remembered is not made.true:
                made.remembered[going] += units.remembered[o]
            after = mdp.next_state[o]
            state[going] = after
            going = going[after < mdp.n_states]
            if not len(going):
                break
        return steps


class _Rollout(NamedTuple):
    """One rollout of many trials, as it is being run."""

    true: Any  # [n] returns: in units where they are whole, and else floats; ``NONE`` where the rollout is given up
    remembered: Ints  # [n] the same array where the true ones are remembered
    row_costs: Floats  # [n]

    @classmethod
    def of(cls, n: int, reward: Any, remembered: Ints) -> "_Rollout":
        """None has taken a step."""
        true: Any = np.zeros(n, reward.dtype)
        return cls(true, true if reward is remembered else np.zeros(n, np.int64), np.zeros(n))
