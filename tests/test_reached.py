"""Huge lattices of which rollouts come to few points: only those are swept, with the same certificate."""

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxatk as mk
from maxatk.planning.certified.lattice import common_step_of
from maxatk.planning.certified.on_reached import OnReached, few_reached
from maxatk.planning.certified.plan import evidence_of
from maxatk.planning.certified.reached import Reached, Start

JACKPOTS = (10**6, 10**9, 3 * 10**12)


def problem(seed: int, jackpot: int, horizon: int, shift: int = 0) -> mk.MDP:
    """A random problem with rewards of 0 to 2 and a jackpot, and with ends in the middle."""
    rng = np.random.default_rng(seed)
    table: dict[int, dict[int, list[tuple[Fraction, int, int, bool]]]] = {}
    for s in range(2):
        table[s] = {}
        for a in range(2):
            weights = rng.integers(1, 5, 3).tolist()
            rewards = [int(r) + shift for r in rng.choice([0, 1, 2, jackpot], 3)]
            table[s][a] = [
                (Fraction(w, sum(weights)), int(rng.integers(2)), r, bool(rng.random() < 0.2))
                for w, r in zip(weights, rewards, strict=True)
            ]
    return mk.MDP.from_table(table, horizon=horizon)


def optimum(mdp: mk.MDP, k: int, **objective: Any) -> Fraction:
    """By the rational solver."""
    plan: Any = mk.solve(mdp, k, solver=mk.Exact(), **objective)
    return plan.exact


def is_reached(plan: Any) -> bool:
    """Whether a plan was made by sweeping what rollouts come to."""
    return isinstance(evidence_of(plan).method, OnReached)


@given(
    seed=st.integers(0, 10**6), jackpot=st.sampled_from(JACKPOTS), k=st.integers(1, 3), horizon=st.integers(1, 3),
    shift=st.sampled_from([0, -7, 10**7]), best=st.sampled_from([None, 1, 2.5, 10**6 + 1]),
)  # fmt: skip
def test_the_interval_holds_the_optimum(
    seed: int, jackpot: int, k: int, horizon: int, shift: int, best: float | None
) -> None:
    mdp = problem(seed, jackpot, horizon, shift)
    incumbent = -np.inf if best is None else best
    plan = mk.solve(mdp, k, best_so_far=incumbent, solver=mk.Certified(tol=0.0))
    exact = optimum(mdp, k, best_so_far=incumbent)
    assert Fraction(plan.lower) <= exact <= Fraction(plan.upper)
    assert plan.upper - plan.lower <= 4 * plan.stats["rounding"]
    if is_reached(plan):
        earned = mk.evaluate(mdp, plan.policy)
        assert earned.upper >= plan.lower - 2 * plan.stats["rounding"]


@pytest.mark.parametrize("jackpot", JACKPOTS[:2])
def test_few_returns_are_swept_alone(jackpot: int) -> None:
    mdp = mk.instances.adaptivity_gap(10, jackpot)
    plan = mk.solve(mdp, 10)
    assert is_reached(plan)
    assert plan.status == "within tol"
    exact = optimum(mdp, 10)
    assert Fraction(plan.lower) <= exact <= Fraction(plan.upper)


def test_nodes_are_the_states_with_their_returns() -> None:
    mdp = problem(3, 10**6, 3)
    rows, jump = mdp.analysis.rows, np.rint(mdp.reward).astype(np.int64)
    reached = Reached.within(rows, mdp.n_states, jump, Start(0, mdp.start_state.astype(np.int64), 0), 10**6)
    assert reached is not None
    come_to, ends = [{(int(s), 0) for s in mdp.start_state}], set[int]()
    for h in range(3):
        come_to.append(set())
        for s, g in come_to[h]:
            for row in range(rows.pair_start[s], rows.pair_start[s + 1]):
                for o in range(rows.outcome_start[row], rows.outcome_start[row + 1]):
                    to, total = int(rows.next_state[o]), g + int(jump[o])
                    if to == mdp.n_states or h == 2:
                        ends.add(total)
                    else:
                        come_to[h + 1].add((to, total))
    for step, nodes in zip(reached.steps, come_to, strict=False):
        assert set(zip(step.layer.state.tolist(), step.layer.so_far.tolist(), strict=True)) == nodes
    assert reached.returns.tolist() == sorted(ends)
    assert Reached.within(rows, mdp.n_states, jump, Start(0, mdp.start_state.astype(np.int64), 0), 3) is None


@pytest.mark.parametrize("costs", [{"cost": 0.25}, {"cost": 0.25, "abandon": True}])
def test_costs(costs: dict[str, Any]) -> None:
    mdp = problem(5, 10**6, 2)
    plan = mk.solve(mdp, 3, solver=mk.Certified(tol=0.0), **costs)
    exact = optimum(mdp, 3, **costs)
    assert is_reached(plan)
    assert Fraction(plan.lower) <= exact <= Fraction(plan.upper)


@pytest.mark.parametrize("best", [-np.inf, 0, 1.5, 10**6])
@pytest.mark.parametrize("so_far", [0, 1, 0.5, 10**6, -3])
def test_values_at_any_moment(best: float, so_far: float) -> None:
    """Also of returns that no rollout comes to."""
    mdp = problem(7, 10**6, 3)
    plan, exact = (mk.solve(mdp, 2, solver=solver) for solver in (mk.Certified(tol=0.0), mk.Exact()))
    assert is_reached(plan)
    at: dict[str, Any] = {"rollout": 0, "step": 1, "state": 1, "best": best, "so_far": so_far}
    (lower, upper), (least, most) = plan.value(**at), exact.value(**at)
    assert lower <= most
    assert least <= upper
    values = plan.action_values(**at)
    action = plan.policy.action(**at)
    assert values[action][1] >= max(low for low, _ in values.values()) - 4 * plan.stats["rounding"]


def test_saved_and_copied(tmp_path: Path) -> None:
    mdp = problem(7, 10**6, 3)
    plan = mk.solve(mdp, 3)
    assert is_reached(plan)
    plan.save(tmp_path / "plan.npz")
    again = mk.load_plan(tmp_path / "plan.npz", mdp)
    assert is_reached(again)
    for policy in (again.policy, pickle.loads(pickle.dumps(plan.policy))):
        assert mk.evaluate(mdp, policy).upper >= plan.lower - plan.stats["rounding"]
    low, high = mk.simulate(mdp, plan.policy, trials=2000, rng=0).interval(0.9999)
    assert low <= plan.upper
    assert plan.lower <= high


def test_where_rollouts_come_to_many_points_all_are_swept(tune: Any) -> None:
    mdp = problem(3, 10**6, 3)
    assert is_reached(mk.solve(mdp, 2))
    tune(most_nodes=5)
    assert not is_reached(mk.solve(mdp, 2))
    assert not is_reached(mk.solve(mk.instances.windy_cliff(), 2))


def test_the_common_step_of_huge_lattices() -> None:
    mdp = problem(3, 3 * 10**12, 2)
    assert common_step_of(mdp) == 1
    method = evidence_of(mk.solve(mdp, 2)).method
    assert few_reached(method.engine, 1.0) is not None
