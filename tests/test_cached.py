"""Plans kept in a folder: read where everything is the same, made anew where anything differs."""

import shutil
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk.planning.certified.solver import Certified

SETTINGS = [
    {"k": 3},
    {"k": 3, "best_so_far": -20},
    {"k": 3, "best_so_far": Fraction(-61, 3)},
    {"k": 3, "cost": 0.5},
    {"k": 3, "cost": 0.5, "abandon": True},
    {"k": 3, "tol": 0.25},
]


def solved(folder, mdp, k, tol=0.5, **objective):
    return mk.solve(mdp, k, solver=mk.cached(folder, mk.Certified(tol=tol)), **objective)


def test_what_was_planned_is_read_and_all_else_is_planned(tmp_path, monkeypatch):
    mdp = mk.instances.windy_cliff(columns=5)
    made = [solved(tmp_path, mdp, **settings) for settings in SETTINGS]
    assert len(list(tmp_path.iterdir())) == len(SETTINGS)
    other = mdp.with_rewards(mdp.reward * 2)
    monkeypatch.setattr(Certified, "solve", lambda *_: pytest.fail("planned again"))
    for plan, settings in zip(made, SETTINGS, strict=True):
        again = solved(tmp_path, mdp, **settings)
        assert (again.lower, again.upper, again.objective) == (plan.lower, plan.upper, plan.objective)
        at = {"rollout": 1, "step": 2, "state": 10, "best": -15, "so_far": -2}
        assert again.policy.action(**at) == plan.policy.action(**at)
    with pytest.raises(pytest.fail.Exception, match="planned again"):
        solved(tmp_path, other, 3)
    with pytest.raises(pytest.fail.Exception, match="planned again"):
        solved(tmp_path, mdp, 4)
    monkeypatch.setattr("maxatk.planning.keeping.versions", lambda: "maxatk 9")
    with pytest.raises(pytest.fail.Exception, match="planned again"):
        solved(tmp_path, mdp, 3)


def test_what_was_cut_short_is_not_kept(tmp_path):
    mdp = mk.instances.random_sparse(60, 3, 12, rng=np.random.default_rng(1))
    plan = mk.solve(mdp, 4, solver=mk.cached(tmp_path, mk.Certified(tol=1e-9, time_limit=0)))
    assert plan.status == mk.Status.TIME_LIMIT
    assert list(tmp_path.iterdir()) == []


def test_bad_input(tmp_path):
    mdp = mk.instances.figure1()
    with pytest.raises(mk.InputError, match=r"solver must be mk\.Certified"):
        mk.cached(tmp_path, mk.Exact())
    with pytest.raises(mk.InputError, match="folder must be a path, not 3"):
        mk.cached(3)
    (tmp_path / "file").write_text("")
    with pytest.raises(mk.InputError, match="cannot be a folder of plans"):
        mk.cached(tmp_path / "file")
    solved(tmp_path / "plans", mdp, 2)
    solved(tmp_path / "others", mdp, 3)
    (path,) = (tmp_path / "plans").iterdir()
    (other,) = (tmp_path / "others").iterdir()
    shutil.copy(other, path)
    with pytest.raises(mk.InputError, match="not the plan that belongs there"):
        solved(tmp_path / "plans", mdp, 2)
    path.write_bytes(b"junk")
    with pytest.raises(mk.InputError, match="not a readable maxatk plan"):
        solved(tmp_path / "plans", mdp, 2)


def test_rounds_and_utilities_have_plans_of_their_own(tmp_path):
    mdp = mk.instances.figure1()
    asked = [
        {},
        {"width": 2},
        {"rounds": (1, 3)},
        {"utility": [(0, 0), (0.5, 0), (1, 1)]},
        {"utility": [(0, 0), (1, 2)]},
    ]
    for objective in asked:
        new, again = (mk.solve(mdp, 4, solver=mk.cached(tmp_path), **objective) for _ in range(2))
        direct = mk.solve(mdp, 4, **objective)
        assert (again.lower, again.upper, again.objective) == (new.lower, new.upper, new.objective)
        assert (new.lower, new.upper, new.objective) == (direct.lower, direct.upper, direct.objective)
        assert type(again) is type(direct)
    assert len(list(tmp_path.iterdir())) == len(asked)


@pytest.mark.parametrize("k", [2, range(1, 4)])
def test_compare_plans_with_it(tmp_path, k):
    mdp, tol = mk.instances.figure1(gamma=0.25), 1e-9
    plain = mk.compare(mdp, k, solver=mk.Certified(tol=tol))
    for _ in range(2):  # planned, then read
        assert mk.compare(mdp, k, solver=mk.cached(tmp_path, mk.Certified(tol=tol))).columns() == plain.columns()
    assert len(list(tmp_path.iterdir())) == (1 if k == 2 else 3)
    with pytest.raises(mk.InputError, match=r"solver must be mk.Certified\(...\) or mk.cached\(...\), not 'exact'"):
        mk.compare(mdp, k, solver="exact")
