"""Learning from episodes alone: regret, trials until a policy stays good, certificates, growth with K.

    python benchmarks/online.py [--quick] [--resume] [regret] [certified] [coverage] [growth] [gaps] [published]
                                [speed] [slopes]

Tables, each in a file of its own; with ``--resume`` the rows that a run left behind are kept. ``regret``: what is lost
to the optimum while learning, by optimism (proved), posterior sampling, greedy plans with a share
0.1/sqrt(t) of random steps, and posterior sampling for the mean of one rollout, repeated. ``certified``: steps until a
policy is proved to be within epsilon. ``coverage``: bounds at every plan of repeated runs. ``growth``: the same two
coins for K = 1 to 64. ``gaps``: the worst of several gaps, by number of trials.
``published``: for K = 1, beside UCBVI of rlberry-scool, if it is installed. ``speed``: steps per second, by their
number. ``slopes``: how the steps until a policy is proved grow with 1/epsilon.
"""

import argparse
import json
import math
import time
from typing import Any

import numpy as np

import maxatk as mk
from common import RESULTS, report
from maxatk.learning.belief import counted
from maxatk.learning.online import certificate
from maxatk.learning.online.online import play
from maxatk.learning.online.run import OnlineRun, OnlineTrial
from maxatk.learning.uncertain import MEAN, UncertainPlan

SEEDS = 10
RESUME = False  # whether rows of the last run are kept


def kept(name: str, **key: Any) -> list[dict[str, Any]]:
    """The row of the last run that has these entries, if it is to be kept."""
    path = RESULTS / f"{name}.json"
    if not RESUME or not path.exists():
        return []
    return [row for row in json.loads(path.read_text())["rows"] if all(row.get(x) == y for x, y in key.items())][:1]


def problems() -> dict[str, tuple[mk.MDP, int, float, tuple[float, float] | None, int]]:
    """Problem, K, what is in hand, the range of returns that is known, trials."""
    sparse = mk.instances.random_sparse(20, 4, 5, rewards=[0, 0, 0, 1, 3], successors=3, rng=5)
    lake = mk.MDP.from_gymnasium("FrozenLake-v1", horizon=30)
    return {
        "figure1": (mk.instances.figure1(), 2, -math.inf, None, 2000),
        "proposition1": (mk.instances.proposition1(), 3, -math.inf, None, 2000),
        "proposition3": (mk.instances.proposition3(), 2, -math.inf, None, 2000),
        "FrozenLake, H = 30": (lake, 3, -math.inf, None, 1000),
        "random, S = 20": (sparse, 4, -math.inf, None, 1000),
        "windy cliff, -40 in hand": (mk.instances.windy_cliff(), 5, -40.0, (-4000.0, -1.0), 200),
    }


class Greedy(OnlineRun):
    """The best plan for what was counted; now and then a step at random."""

    def _is_old(self) -> bool:
        """After a twentieth more trials."""
        ledger = self.ledger
        return ledger.trials - ledger.planned_at >= max(0.05 * ledger.planned_at, 1) or self._off_grid

    def _plan_anew(self) -> UncertainPlan:
        ledger, grid = self.ledger, self.ledger.grid()
        plan = UncertainPlan(grid, ledger.k, counted(ledger.data, ledger.starts, grid, 1.0), MEAN)
        ledger.begin_plan(plan)
        return plan

    def trial(self) -> OnlineTrial:
        """A trial some of whose steps are random."""
        trial = super().trial()
        usual = trial._choose

        def choose(state: int) -> int:
            if self.rng.random() < 0.1 / math.sqrt(self.ledger.trials + 1):
                return int(self.rng.integers(self.ledger.known.n_actions))
            return usual(state)

        trial._choose = choose  # type: ignore[method-assign]
        return trial


def begun(mdp: mk.MDP, k: int, floor: float, returns: Any, explore: str, seed: int, delta: float = 0.05) -> OnlineRun:
    """A run that plays in a table."""
    source = mk.TabularEpisodes(mdp, return_range=returns, best_so_far=floor)
    ledger = mk.Online().ledger(source, k, np.random.default_rng(seed), delta=delta)
    return Greedy(ledger, "posterior") if explore == "greedy" else OnlineRun(ledger, explore)  # type: ignore[arg-type]


def curve(mdp: mk.MDP, k: int, floor: float, returns: Any, trials: int, kind: str, seed: int, optimum: float) -> Any:
    """Losses at some trials, the trials, what the realised returns lost, and milliseconds per trial."""
    repeats = k if kind == "mean" else 1
    run = begun(mdp, k // repeats, floor, returns, "posterior" if kind == "mean" else kind, seed)
    marks = set(np.unique(np.geomspace(1, trials, 25).round().astype(int)).tolist())
    if mdp.horizon >= 30:  # policies of long problems take long to judge
        marks = {t for t in (10, 25, 50, 75, 100, 125, 150, 200, 300, 500, 700, 1000) if t <= trials} | {trials}
    losses, spent, bests = [], 0.0, []
    for t in range(1, trials + 1):
        began = time.process_time()  # of this process alone, whatever else the machine does
        for _ in range(repeats):
            play(run.ledger, run.trial())
        spent += time.process_time() - began
        bests.append(max(run.ledger.returns[-repeats:]))
        if t in marks:
            policy: Any = run.policy
            if kind == "mean":
                policy = mk.MixedPolicy([policy], [1], k, best_so_far=floor)
            losses.append(optimum - mk.evaluate(mdp, policy, max_atoms=20_000).value)
    return sorted(marks), np.maximum(losses, 0.0), optimum * trials - sum(bests), 1e3 * spent / trials


def regret_of(marks: list[int], losses: Any) -> Any:
    """What was lost up to each mark, each loss counting from the mark before."""
    return np.cumsum(np.diff(marks, prepend=0) * losses)


def regret(quick: bool) -> None:
    """What learners lose while they learn."""
    rows = []
    for name, (mdp, k, floor, returns, trials) in problems().items():
        trials = trials // 10 if quick else trials
        optimum = mk.solve(mdp, k, best_so_far=floor).upper
        actions = [[mdp.actions(h, s) for s in range(mdp.n_states)] for h in range(mdp.horizon)]
        rng = np.random.default_rng(0)
        chance = np.mean(
            [
                mk.simulate(
                    mdp,
                    mk.MarkovPolicy([[[rng.choice(a) for a in layer] for layer in actions]] * k, best_so_far=floor),
                    trials=100,
                    rng=i,
                ).mean
                for i in range(30)
            ]
        )
        for kind in ("optimism", "posterior", "greedy", "mean"):
            seeds = 2 if quick else SEEDS if mdp.horizon <= 30 else max(SEEDS // 5, 1)  # long problems are slow
            if old := kept("online", problem=name, learner=kind, seeds=seeds, trials=trials):
                rows += old
                continue
            runs = [curve(mdp, k, floor, returns, trials, kind, seed, optimum) for seed in range(seeds)]
            marks = runs[0][0]
            near = [_stays(marks, losses, 0.05 * (optimum - chance)) for _, losses, _, _ in runs]
            totals = np.array([regret_of(marks, losses) for _, losses, _, _ in runs]).mean(axis=0)
            tenth = float(np.interp(trials / 10, marks, totals))
            rows.append(
                {
                    "problem": name,
                    "K": k,
                    "learner": kind,
                    "seeds": seeds,
                    "trials": trials,
                    "within 5 % from trial": _trial(float(np.median(near))),
                    "regret": float(totals[-1]),
                    "realised": float(np.mean([lost for _, _, lost, _ in runs])),
                    "slope": round(float(np.log10(max(totals[-1], 1e-9) / max(tenth, 1e-9))), 6),
                    "last loss": float(np.mean([losses[-1] for _, losses, _, _ in runs])),
                    "ms/trial": float(np.mean([ms for _, _, _, ms in runs])),
                }
            )
            report("online", "Learning while playing", rows)


def _trial(t: float) -> float | str:
    return "never" if math.isinf(t) else t


def _stays(marks: list[int], losses: Any, near: float) -> float:
    """From which mark on the loss stays small; infinite where it does not."""
    far = np.flatnonzero(losses > near)
    return float(marks[0]) if not len(far) else math.inf if far[-1] == len(marks) - 1 else float(marks[far[-1] + 1])


def certified(quick: bool) -> None:
    """Steps until a policy is proved good enough."""
    rows = []
    for name, mdp, k, epsilon in (
        ("figure1", mk.instances.figure1(), 2, 0.05),
        ("proposition1", mk.instances.proposition1(), 3, 0.03),
        ("proposition3", mk.instances.proposition3(), 2, 0.1),
    ):
        value = mk.solve(mdp, k).upper
        outs = [
            mk.learn(mk.TabularEpisodes(mdp), k, epsilon=epsilon, delta=0.1, learner=mk.Online(), rng=seed)
            for seed in range(2 if quick else SEEDS)
        ]
        adaptive = [
            mk.learn(mk.TabularModel(mdp), k, epsilon=epsilon, delta=0.1, rng=seed).samples
            for seed in range(1 if quick else 3)
        ]
        losses = [value - mk.evaluate(mdp, out.policy).lower for out in outs]
        rows.append(
            {
                "problem": name,
                "K": k,
                "epsilon": epsilon,
                "steps, mean": float(np.mean([out.samples for out in outs])),
                "steps, most": max(out.samples for out in outs),
                "Adaptive's samples": float(np.mean(adaptive)),
                "worst loss": float(max(losses)),
                "seconds": float(np.mean([out.stats["seconds"] for out in outs])),
            }
        )
        report("online_certified", "Steps until a policy is proved good enough (delta 0.1)", rows)


def coverage(quick: bool) -> None:
    """How often bounds fail."""
    rows = []
    small = mk.instances.random_sparse(5, 2, 3, successors=2, rewards=[0, 0.5, 1], rng=1)
    for name, mdp, k in (
        ("figure1", mk.instances.figure1(), 2),
        ("proposition1", mk.instances.proposition1(), 3),
        ("proposition3", mk.instances.proposition3(), 2),
        ("random, S = 5", small, 3),
    ):
        optimum = mk.solve(mdp, k).lower
        for explore in ("optimism", "posterior"):
            above = below = 0
            widths, plans = [], 0
            runs, trials = 20 if quick else 200, 60 if quick else 150
            for seed in range(runs):
                run = begun(mdp, k, -math.inf, None, explore, seed, delta=0.1)
                values, wrong = [], [False, False]
                plan, value = -1, 0.0
                for _ in range(trials):
                    trial = run.trial()
                    if run.ledger.plans != plan:
                        plan, value = run.ledger.plans, mk.evaluate(mdp, run.policy).value
                        wrong[0] |= run.bounds[1] < optimum
                        lower, first = certificate.played(run.ledger)
                        wrong[1] |= bool(values) and lower > np.mean(values[first:]) + 1e-9
                    play(run.ledger, trial)
                    values.append(value)
                above, below = above + int(wrong[0]), below + int(wrong[1])
                plans += run.ledger.plans
                widths.append(run.bounds[1] - run.bounds[0])
            rows.append(
                {
                    "problem": name,
                    "K": k,
                    "explore": explore,
                    "runs": runs,
                    "plans": plans,
                    "upper < optimum": above,
                    "lower > what was played": below,
                    "width at the end": float(np.mean(widths)),
                }
            )
            report("online_coverage", "Bounds at every plan (delta 0.1)", rows)


def coins(k: int, gap: float = 0.25) -> mk.MDP:
    """Two actions that succeed with 1/K and (1 + gap)/K, or 1/2 for K = 1."""
    p = 1 / k if k > 1 else 0.5
    return mk.MDP.from_table([[[(x, 0, 1.0, True), (1 - x, 0, 0.0, True)] for x in (p, p * (1 + gap))]], horizon=1)


def lost(mdp: mk.MDP, k: int, explore: str, seed: int, marks: list[int]) -> list[float]:
    """The regret of one run up to some trials: each plan is evaluated."""
    optimum = mk.solve(mdp, k).upper
    run = begun(mdp, k, -math.inf, None, explore, seed)
    total, plan, value, found = 0.0, -1, 0.0, []
    for t in range(1, marks[-1] + 1):
        trial = run.trial()
        if run.ledger.plans != plan:
            plan, value = run.ledger.plans, mk.evaluate(mdp, run.policy).value
        play(run.ledger, trial)
        total += optimum - value
        if t in marks:
            found.append(total)
    return found


def growth(quick: bool) -> None:
    """Regret by the number of rollouts."""
    rows, trials, seeds = [], 300 if quick else 1000, 2 if quick else SEEDS
    for k in (1, 2, 4, 8, 16, 32, 64):
        if old := kept("online_growth", K=k, trials=trials, seeds=seeds):
            rows += old
            continue
        means = {
            f"regret, {e}": float(np.mean([lost(coins(k), k, e, seed, [trials])[0] for seed in range(seeds)]))
            for e in ("optimism", "posterior")
        }
        rows.append({"K": k, "trials": trials, "seeds": seeds, **means})
        report("online_growth", "Two coins, 1/K and 1.25/K", rows)


def gaps(quick: bool) -> None:
    """Regret by the number of trials, where it is hardest."""
    rows = []
    for k, marks in ((1, [250, 1000, 4000]), (8, [250, 1000, 4000])):
        marks = marks[:2] if quick else marks
        seeds = 2 if quick else SEEDS // 2
        for explore in ("optimism", "posterior"):
            if old := kept("online_gaps", K=k, explore=explore, seeds=seeds):
                rows += old
                continue
            worst = np.max(
                [
                    np.mean(
                        [lost(coins(k, gap), k, explore, seed, marks) for seed in range(seeds)],
                        axis=0,
                    )
                    for gap in (0.06, 0.12, 0.25, 0.5)
                ],
                axis=0,
            )
            slope = float(np.polyfit(np.log(marks), np.log(worst), 1)[0])
            by_trials = ", ".join(f"{t}: {x:.3g}" for t, x in zip(marks, worst, strict=True))
            rows.append({"K": k, "explore": explore, "seeds": seeds, "regret by trials": by_trials, "slope": slope})
            report("online_gaps", "The worst of four gaps", rows)


def _drawn(base: Any, mdp: mk.MDP, scale: float) -> Any:
    """The same problem for rlberry, with rewards that are drawn, and in [0, 1]."""

    class Drawn(base):
        def sample(self, state: Any, action: Any) -> Any:
            if state == self.S - 1:
                return state, 0.0, True, False, {}
            outcomes = mdp.outcomes(0, int(state), int(action))
            _, after, reward = outcomes[int(self.rng.choice(len(outcomes), p=[o[0] for o in outcomes]))]
            return self.S - 1 if after is None else after, reward / scale, False, False, {}

    return Drawn


def published(quick: bool) -> None:
    """UCBVI as published in rlberry-scool, which wants a Gymnasium of its own: it is run where it is installed."""
    try:
        from rlberry_scool.agents.ucbvi import UCBVIAgent  # pyright: ignore
    except ImportError:
        print("rlberry-scool is not installed: pip install rlberry-scool in an environment of its own")
        return
    from rlberry.envs.finite_mdp import FiniteMDP  # pyright: ignore

    rows, seeds = [], 2 if quick else SEEDS
    for name, mdp, trials in (("coins", coins(1), 2000), ("random, S = 20", problems()["random, S = 20"][0], 1000)):
        optimum, trials = mk.solve(mdp, 1).upper, trials // (10 if quick else 1)
        S, A, scale = mdp.n_states + 1, mdp.n_actions, float(mdp.reward.max())  # the end is a state of its own
        P, R = np.zeros((S, A, S)), np.zeros((S, A))
        P[-1, :, -1] = 1.0
        for s, a in np.ndindex(S - 1, A):
            for prob, after, reward in mdp.outcomes(0, s, a):
                P[s, a, S - 1 if after is None else after] += prob
                R[s, a] += prob * reward / scale
        theirs = []
        for seed in range(seeds):
            env = _drawn(FiniteMDP, mdp, scale)(R, P, initial_state_distribution=int(mdp.start_state[0]))
            env.reseed(seed)
            env.reward_range = (0.0, 1.0)
            agent = UCBVIAgent(env, gamma=1.0, horizon=mdp.horizon, seeder=seed)
            agent.fit(budget=trials)
            data = agent.writer.data
            theirs.append(trials * optimum - scale * float(np.sum(data[data.tag == "episode_rewards"].value)))
        ours = {"optimism": [], "posterior": []}
        for explore, seed in ((e, seed) for e in ours for seed in range(seeds)):
            run = begun(mdp, 1, -math.inf, None, explore, seed)
            for _ in range(trials):
                play(run.ledger, run.trial())
            ours[explore].append(trials * optimum - sum(run.ledger.returns))
        means = {f"regret, {e}": float(np.mean(x)) for e, x in {**ours, "UCBVI": theirs}.items()}
        rows.append({"problem": name, "trials": trials, "seeds": seeds, **means})
        report("online_published", "K = 1, beside UCBVI of rlberry-scool", rows)


def speed(quick: bool) -> None:
    """Steps per second of processor time, plans included, by the number of steps."""
    rows = []
    sparse = problems()["random, S = 20"][0]
    off = [[(0.5, 0, 0.1234567, True), (0.5, 0, 0.7654321, True)], [(1.0, 0, 0.3333333, True)]]
    real = mk.MDP.from_table([off], horizon=1)
    for name, mdp, k, trials in (
        ("figure1", mk.instances.figure1(), 2, 2000),
        ("two actions, rounded rewards", real, 2, 2000),
        ("coins", coins(64), 64, 100),
        ("random, S = 20", sparse, 4, 400),
    ):
        for explore in ("optimism", "posterior"):
            rates = {}
            for times in (0, 1, 4) if quick else (0, 1, 4, 16):
                run = begun(mdp, k, -math.inf, None, explore, 0)
                began = time.process_time()
                for _ in range(trials * times or 5):  # the first few compile
                    play(run.ledger, run.trial())
                rates[times] = run.ledger.steps, run.ledger.plans, time.process_time() - began
            (n, _, first), (most, plans, last) = rates[1], rates[max(rates)]
            rows.append(
                {
                    "problem": name,
                    "K": k,
                    "explore": explore,
                    "steps": f"{n}, {most}",
                    "steps/s": f"{n / first:,.0f}, {most / last:,.0f}",
                    "plans": plans,
                    "exponent of time": round(math.log(last / first) / math.log(most / n), 3),
                }
            )
            report("online_speed", "Steps per second", rows)


def slopes(quick: bool) -> None:
    """How the steps until a policy is proved to be within epsilon grow with 1/epsilon."""
    rows = []
    epsilons = (0.1, 0.05, 0.025) if quick else (0.1, 0.05, 0.025, 0.0125)
    seeds = 1 if quick else SEEDS // 2
    for name, mdp, k in (("figure1", mk.instances.figure1(), 2), ("proposition1", mk.instances.proposition1(), 3)):
        means = [
            float(
                np.mean(
                    [
                        mk.learn(
                            *(mk.TabularEpisodes(mdp), k),
                            **{"epsilon": epsilon, "delta": 0.1, "learner": mk.Online(), "rng": seed},
                        ).samples
                        for seed in range(seeds)
                    ]
                )
            )
            for epsilon in epsilons
        ]
        local = np.diff(np.log(means)) / -np.diff(np.log(epsilons))
        rows.append(
            {
                "problem": name,
                "K": k,
                "seeds": seeds,
                "steps by epsilon": ", ".join(f"{e}: {n:,.0f}" for e, n in zip(epsilons, means, strict=True)),
                "slopes": ", ".join(f"{x:.2f}" for x in local),
            }
        )
        report("online_slopes", "Steps until a policy is proved, by epsilon (delta 0.1)", rows)


if __name__ == "__main__":
    tables = {f.__name__: f for f in (certified, coverage, growth, gaps, regret, published, speed, slopes)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(tables))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--resume", action="store_true", help="keep the rows that a run with these settings left")
    arguments = parser.parse_args()
    SEEDS, RESUME = arguments.seeds, arguments.resume
    for table in arguments.tables:
        tables[table](arguments.quick)
