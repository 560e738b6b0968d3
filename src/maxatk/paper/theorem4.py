"""Theorem 4: uniform sampling is (epsilon, delta)-correct, with samples in proportion to K for small epsilon."""

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Check, Claim, Effort, Picture, Table, chance, check, column, exponent, only
from maxatk.paper.values import coins, optimum, value

SEED = 4
DELTA = 0.1
HORIZONS = [4, 8, 16, 32, 64]
PROBLEMS = (  # and the rollouts and the accuracy
    ("Figure 1, γ = 1/4", mk.instances.figure1(), 2, 0.1),
    ("Proposition 3", mk.instances.proposition3(), 2, 0.5),
)
LEARNERS = {
    "uniform, midpoint planner": mk.Uniform(constants="tight", planner="midpoint"),
    "uniform, certified planner": mk.Uniform(constants="tight", planner="certified"),
    "adaptive stopping": mk.Adaptive(),
}


def repeated(effort: Effort) -> list[dict[str, Any]]:
    """Repeated runs of learners: losses in the true problem, failures and samples."""
    rows: list[dict[str, Any]] = []
    runs = effort.pick(10, 100)
    for (problem, mdp, k, epsilon), (name, learner) in itertools.product(PROBLEMS, LEARNERS.items()):
        # The theorem's own number: rewards lie in [0, 1] in both; an outcome is a next state or an end, and a reward.
        sizes: dict[str, Any] = {"n_states": mdp.n_states, "n_actions": mdp.n_actions, "horizon": mdp.horizon}
        printed = mk.sample_size(**sizes, k=k, epsilon=epsilon, delta=DELTA)
        samples: list[int] = []
        losses: list[float] = []
        for seed in range(SEED, SEED + runs):
            effort.tell(f"{problem}, {name}: run {seed - SEED + 1} of {runs}")
            out = mk.learn(mk.TabularModel(mdp), k, epsilon=epsilon, delta=DELTA, learner=learner, rng=seed)
            samples.append(out.samples)
            losses.append(float(optimum(mdp, k) - value(mdp, out.policy)))
        failures = sum(x > epsilon for x in losses)
        rows.append(
            {
                "problem": problem, "learner": name, "epsilon": epsilon, "runs": runs, "failures": failures,
                "worst": max(losses), "samples": float(np.mean(samples)), "printed": printed.total,
                "at_most": chance(failures, runs),
            }
        )  # fmt: skip
    return rows


def rising(k: int) -> mk.MDP:
    """Two actions that succeed with chances 1/K and 5/(4K)."""
    return coins(Fraction(1, k), Fraction(5, 4 * k))


@cache
def first_action(k: int, *chances: Fraction) -> int:
    """What the plan for such coins does first; the same samples come again and again."""
    plan = mk.solve(coins(*chances), k, solver=mk.Exact())
    return plan.policy.action(rollout=0, step=0, state=0, best=0, so_far=0)


def too_few(effort: Effort) -> list[dict[str, float]]:
    """Uniform sampling with any ``m``, far below the theorem's too: the frequency of a loss above epsilon."""
    rows: list[dict[str, float]] = []
    epsilon, runs = 0.03, effort.pick(200, 1000)
    for k in (4, 16):
        model = mk.TabularModel(rising(k))
        assert optimum(rising(k), k) - value(rising(k), mk.MarkovPolicy([[0]], k=k)) > epsilon
        for m in (1, 4, 16, 64, 256, 1024):
            effort.tell(f"too few samples: K = {k}, m = {m}")
            rng = np.random.default_rng(SEED)
            failures = 0
            for _ in range(runs):
                hits = (int(np.sum(model.sample(0, 0, action, m * k, rng)[1])) for action in (0, 1))
                failures += first_action(k, *(Fraction(x, m * k) for x in hits)) == 0
            rows.append({"K": k, "m": m * k, "each": m, "failed": failures / runs})
    return rows


def growth(effort: Effort) -> list[dict[str, float]]:
    """Samples against K: the theorem's two constants, and adaptive stopping."""
    rows: list[dict[str, float]] = []
    for k in effort.pick((4, 8, 16), (4, 8, 16, 32, 64, 128)):
        drawn: list[float] = []
        for seed in range(SEED, SEED + effort.pick(1, 3)):
            effort.tell(f"adaptive stopping at K = {k}")
            out = mk.learn(mk.TabularModel(rising(k)), k, epsilon=0.05, delta=DELTA, rng=seed)
            drawn.append((out.samples - k * out.stats["trials"]) / 2)  # those that model the two actions
        sizes: dict[str, Any] = {"n_states": 1, "n_actions": 2, "horizon": 1, "epsilon": 0.05, "delta": DELTA}
        rows.append(
            {
                "K": k,
                "adaptive": float(np.median(drawn)),
                **{c: mk.sample_size(**sizes, k=k, constants=c, outcomes=2).per_pair for c in ("paper", "tight")},
            }
        )
    return rows


def formula(name: str, values: list[Any], **fixed: Any) -> list[int]:
    """The theorem's total as one size grows, the others fixed."""
    sizes: dict[str, Any] = {"n_states": 10, "n_actions": 4, "horizon": 10, "k": 4, "epsilon": 1e-3, "delta": DELTA}
    return [mk.sample_size(**{**sizes, **fixed, name: value}).total for value in values]


def run(effort: Effort) -> Claim:
    """Recompute Theorem 4."""
    rows, few, by_k = repeated(effort), too_few(effort), growth(effort)
    ks, eps = [1, 2, 4, 8, 16, 32, 64], [0.1, 0.03, 0.01, 0.003, 0.001]
    totals = {
        "K, small ε": formula("k", ks, epsilon=1e-4),
        "K, large ε": formula("k", ks, epsilon=10.0),
        "H, homogeneous": formula("horizon", HORIZONS, epsilon=1e-4),
        "H, per step": formula("horizon", HORIZONS, epsilon=1e-4, homogeneous=False),
    }
    slopes = {name: exponent(ks if name.startswith("K") else HORIZONS, y) for name, y in totals.items()}
    slopes["ε"] = exponent(eps, formula("epsilon", eps))
    adaptive = exponent(column(by_k[-4:], "K"), column(by_k[-4:], "adaptive"))
    return Claim(
        "theorem4",
        checks=[*_run_checks(rows, few), *_formula_checks(slopes), *_adaptive_checks(adaptive, by_k[-4:], rows)],
        tables=[
            Table.of(
                f"Repeated runs, δ = {DELTA}. The last column: with 95 % confidence the true probability of failure is "
                "at most that.",
                [{**r, "mean": round(r["samples"])} for r in rows],
                {"problem": "problem", "learner": "learner", "ε": "epsilon", "runs": "runs", "failures": "failures",
                 "worst loss": "{worst:.4f}", "samples, mean": "mean", "the theorem's": "printed",
                 "at most": "{at_most:.3f}"},
            ),
            Table.of(
                "Two actions that succeed with 1/K and 5/(4K), ε = 0.05: samples of each action.",
                [{**r, "median": round(r["adaptive"])} for r in by_k],
                {"K": "K", "the theorem's": "paper", "tight constants": "tight", "adaptive stopping": "median"},
            ),
        ],
        pictures=[_picture(few, by_k, totals, slopes)],
        numbers={
            "failures": sum(r["failures"] for r in rows),
            "runs": sum(r["runs"] for r in rows),
            "formula": {name: [str(y) for y in total] for name, total in totals.items()},
            "exponents": slopes,
            "per_pair": only(by_k, "K", "paper", "tight"),
        },
        measured={"runs": rows, "too_few": few, "adaptive": by_k, "adaptive_exponent": adaptive},
        seeds={"runs": f"{SEED}, {SEED + 1}, ...", "too few samples": SEED},
    )  # fmt: skip


def _run_checks(rows: list[dict[str, Any]], few: list[dict[str, float]]) -> list[Check]:
    failures, runs = sum(r["failures"] for r in rows), sum(r["runs"] for r in rows)
    apart = max(abs(a["failed"] - b["failed"]) for a in few for b in few if a["each"] == b["each"])
    return [
        check(
            f"failures in {runs} runs at δ = {DELTA}", paper=f"at most {DELTA:.0%} of runs",
            ours=f"{failures}; worst loss {max(r['worst'] / r['epsilon'] for r in rows):.3f} ε",
            holds=all(r["failures"] <= DELTA * r["runs"] for r in rows),
        ),
        check(
            f"with far too few samples the same harness fails (m = {few[0]['m']}, K = 4)",
            ours=f"{few[0]['failed']:.0%} of runs fail", holds=few[0]["failed"] > 0.3 and few[-1]["failed"] < 0.02,
        ),
        check(
            "failures depend on m/K alone (K = 4 and 16)", paper="linear in K",
            ours=f"curves differ by at most {apart:.2f}", holds=apart < 0.2,
        ),
    ]  # fmt: skip


def _formula_checks(slopes: dict[str, float]) -> list[Check]:
    small, large, alike, per_step, accuracy = slopes.values()
    return [
        check(
            "formula: exponent in K, small ε and large ε", paper="1 and 2", ours=f"{small:.2f} and {large:.2f}",
            holds=abs(small - 1) < 0.1 and 1.8 < large < 2.3,
        ),
        check(
            "formula: exponent in H, homogeneous and per step", paper="3 and 4", ours=f"{alike:.2f} and {per_step:.2f}",
            holds=abs(alike - 3) < 0.2 and abs(per_step - 4) < 0.2,
        ),
        check("formula: exponent in ε", paper=-2, ours=f"{accuracy:.2f}", holds=abs(accuracy + 2) < 0.15),
    ]  # fmt: skip


def _adaptive_checks(slope: float, tail: list[dict[str, float]], rows: list[dict[str, Any]]) -> list[Check]:
    saved = [r["printed"] / r["samples"] for r in rows if r["learner"] == "adaptive stopping"]
    return [
        check(
            "adaptive stopping: exponent in K", paper="1, up to logarithms",
            ours=f"{slope:.2f} (K = {tail[0]['K']}..{tail[-1]['K']})", holds=0.6 < slope < 1.5,
        ),
        check(
            "adaptive stopping against the theorem's number",
            ours=f"{min(saved):.0f} to {max(saved):.0f} times fewer samples", holds=min(saved) > 1,
        ),
    ]  # fmt: skip


def _picture(few: Any, by_k: Any, totals: dict[str, list[int]], slopes: dict[str, float]) -> Picture:
    figure, (left, middle, right) = drawing.figure(3, 2.9, 2.7)
    for k, colour, look in ((4, drawing.ORANGE, "s--"), (16, drawing.BLUE, "o-")):
        drawing.line(left, [r for r in few if r["K"] == k], "each", "failed", look, color=colour, label=f"K = {k}")
    left.axhline(DELTA, color="black", linewidth=0.9, linestyle=":", label=f"δ = {DELTA}")
    left.set(xscale="log", xlabel="samples of each action / K", ylabel="share of runs that lose more than ε")
    left.legend()
    drawing.line(middle, by_k, "K", "paper", "s-", color=drawing.ORANGE, label="the theorem's m")
    drawing.line(middle, by_k, "K", "tight", "v-", color=drawing.GREEN, label="tight constants")
    drawing.line(middle, by_k, "K", "adaptive", "o-", color=drawing.BLUE, label="adaptive stopping")
    drawing.power_line(middle, column(by_k, "K"), by_k[-1]["adaptive"], 1, "slope 1")
    middle.set(xscale="log", yscale="log", xlabel="rollouts K", ylabel="samples of each action")
    middle.set_ylim(top=1e4 * by_k[-1]["tight"])
    drawing.doubling_ticks(middle, column(by_k, "K"))
    middle.legend(loc="upper left", ncols=1)
    for name, look, colour in (("homogeneous", "o-", drawing.BLUE), ("per step", "s-", drawing.RED)):
        key = f"H, {name}"
        right.plot(HORIZONS, totals[key], look, color=colour, label=f"{name}: {slopes[key]:.2f}")
    right.set(xscale="log", yscale="log", xlabel="horizon H", ylabel="samples in all (formula)")
    drawing.doubling_ticks(right, HORIZONS)
    right.legend(title="exponent", title_fontsize=8)
    caption = (
        "Left: how often too few samples fail; the curves meet because what counts is m/K. Middle: samples against K. "
        "Right: the formula against H."
    )
    return Picture("theorem4", figure, caption)
