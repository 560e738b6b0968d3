"""Are two versions of the library equal to the bit? python benchmarks/bits.py REVISION (a commit, a branch, a tag).

With ``--save FILE`` the numbers of this version are kept; FILE then does for a revision, without compiling it again.
Both versions plan, act, evaluate, compare, simulate and learn on the same problems, each in a process of its own. Every
number that differs is listed. An interval that grew is marked as wider, and makes the exit status 1.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]


def problems() -> Iterator[tuple[str, Any, int, dict[str, Any]]]:
    """Problems by name, each with its number of rollouts and what else is asked."""
    import maxatk as mk

    cliff = mk.instances.windy_cliff(horizon=20)
    yield "windy cliff", cliff, 4, {}
    yield "windy cliff, incumbent", cliff, 3, {"best_so_far": -16.5}
    yield "windy cliff, costs", cliff, 6, {"cost": 0.5}
    yield "windy cliff, abandon", cliff, 4, {"cost": 0.5, "abandon": True}
    yield "figure1", mk.instances.figure1(), 3, {}
    yield "proposition1", mk.instances.proposition1(), 5, {}
    yield "proposition3", mk.instances.proposition3(), 2, {}
    yield "blackjack", mk.instances.blackjack(), 3, {}
    for number, kind in enumerate(("whole", "real", "dense", "per step", "early ends")):
        rng = np.random.default_rng(number)
        S, A, H = (40, 3, 6) if kind == "dense" else (6, 3, 5)
        shape = (H, S, A) if kind == "per step" else (S, A)
        P = rng.dirichlet(np.full(S, 1.0 if kind == "dense" else 0.3), shape)
        R = rng.integers(-3, 4, shape) if kind in ("whole", "early ends") else rng.normal(size=shape)
        mdp = mk.MDP.from_arrays(P, R, horizon=H)
        if kind == "early ends":
            mdp = mk.MDP.from_table(_ending(P, R, rng), horizon=H)
        with_costs = getattr(mdp, "with_action_costs", None) or mdp.with_costs
        yield kind, mdp, 3, {}
        yield f"{kind}, costs", with_costs(rng.integers(0, 3, shape) / 8), 3, {"cost": 0.1}


def _ending(P: Any, R: Any, rng: Any) -> Any:
    """The same rows as a table, in which some outcomes end a rollout."""
    return {
        s: {a: [(float(p), t, int(R[s, a]), bool(rng.random() < 0.3)) for t, p in enumerate(P[s, a])] for a in range(3)}
        for s in range(len(P))
    }


def numbers() -> dict[str, list[str]]:
    """All numbers of this version, as exact text."""
    import maxatk as mk

    told: dict[str, list[str]] = {}

    def tell(name: str, values: Any) -> None:
        told[name] = [float(x).hex() for x in np.ravel(values).tolist()]

    for name, mdp, k, asked in problems():
        for tol in (None, 1e-2):
            plan = mk.solve(mdp, k, solver=mk.Certified(tol=tol), **asked)
            tell(f"{name}, tol {tol}: interval", [plan.lower, plan.upper])
        least, most = mdp.return_range
        bests = [-math.inf, *np.linspace(least, most, 7)]
        for rollout in range(k + 1):
            for best in bests[rollout == k :]:
                tell(f"{name}: interval of curve({rollout}, {best:.4g})", plan.curve(rollout, best))
        actions = [
            plan.policy.action(rollout=rollout, step=step, state=state, best=best, so_far=0)
            for rollout in range(k)
            for step in range(min(mdp.horizon, 3))
            for state in range(min(mdp.n_states, 6))
            for best in bests[::3]
            if step == 0 or mdp.actions(step, state)
        ]
        tell(f"{name}: actions", actions)
        earned = mk.evaluate(mdp, plan.policy)
        tell(f"{name}: interval of evaluate", [earned.lower, earned.upper])
        drawn = mk.simulate(mdp, plan.policy, trials=200, rng=7)
        tell(f"{name}: simulate", drawn.best)
        for row in mk.compare(mdp, k, solver=mk.Certified(tol=1e-2), **asked):
            tell(f"{name}: interval of the row {row.name}", [row.lower, row.upper])
    model = mk.TabularModel(mk.instances.figure1())
    for learner in (mk.Adaptive(), mk.Uniform()):
        out = mk.learn(model, 2, epsilon=0.2, delta=0.1, rng=0, learner=learner)
        tell(f"{type(learner).__name__}: interval, samples", [out.lower, out.upper, out.samples])
    return told


def numbers_of(tree: Path) -> dict[str, list[str]]:
    """All numbers of the version in a folder, computed by this very file."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, __file__, "--tell"]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def before(revision: str) -> dict[str, list[str]]:
    """All numbers of a revision, or those that were kept in a file."""
    if Path(revision).is_file():
        return json.loads(Path(revision).read_text())
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", tree, revision], check=True)
        try:
            return numbers_of(tree)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)


def _width(values: list[str]) -> float:
    lower, upper = (float.fromhex(x) for x in values[:2])
    return upper - lower if math.isfinite(lower) or math.isfinite(upper) else math.inf


def main() -> int:
    """Compare the working tree with a revision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--save", type=Path, help="keep the numbers of this version in a file")
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tell:
        print(json.dumps(numbers()))
        return 0
    if given.save:
        given.save.write_text(json.dumps(numbers_of(ROOT)))
        return 0
    old, new = before(given.revision), numbers_of(ROOT)
    wider = 0
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        if name not in old or name not in new:
            print(f"{name}: {'new' if name in new else 'gone'}")
            continue
        places = [n for n, (a, b) in enumerate(zip(old[name], new[name], strict=False)) if a != b]
        grew = "interval" in name and _width(new[name]) > _width(old[name])
        wider += grew
        shown = [f"{float.fromhex(old[name][n])!r} -> {float.fromhex(new[name][n])!r}" for n in places[:3]]
        print(f"{name}: {len(places)} of {len(old[name])} differ{' (WIDER)' if grew else ''}: {'; '.join(shown)}")
    same = sum(old[name] == new.get(name) for name in old)
    print(f"{same} of {len(old)} entries are equal to the bit, {wider} intervals are wider")
    return 1 if wider else 0


if __name__ == "__main__":
    sys.exit(main())
