"""Theorem 4: uniform sampling is (epsilon, delta)-correct, with samples in proportion to K for small epsilon."""

from fractions import Fraction
from typing import Any

import numpy as np

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, chance, check, exponent

SEED = 4
DELTA = 0.1
LEARNERS = {
    "uniform, midpoint planner": mk.Uniform(constants="tight", planner="midpoint"),
    "uniform, certified planner": mk.Uniform(constants="tight", planner="certified"),
    "adaptive stopping": mk.Adaptive(),
}


def loss(mdp: mk.MDP, k: int, policy: mk.Policy) -> float:
    """What a policy loses to the optimum, in fractions, and then to the nearest float."""
    earned = mk.evaluate(mdp, policy).exact
    assert earned is not None
    return float(mk.solve(mdp, k, solver=mk.Exact()).exact - earned)


def repeated(effort: Effort) -> list[dict[str, Any]]:
    """Learners run again and again: losses in the true problem, failures and samples."""
    rows: list[dict[str, Any]] = []
    for problem, mdp, k, epsilon in (
        ("Figure 1, γ = 1/4", mk.instances.figure1(), 2, 0.1),
        ("Proposition 3", mk.instances.proposition3(), 2, 0.5),
    ):
        # The theorem's own number: rewards lie in [0, 1] in both; an outcome is a next state or an end, and a reward.
        printed = mk.sample_size(
            n_states=mdp.n_states, n_actions=mdp.n_actions, horizon=mdp.horizon, k=k, epsilon=epsilon, delta=DELTA
        )
        for name, learner in LEARNERS.items():
            runs = effort.pick(10, 100)
            samples: list[int] = []
            losses: list[float] = []
            for seed in range(SEED, SEED + runs):
                effort.tell(f"{problem}, {name}: run {seed - SEED + 1} of {runs}")
                out = mk.learn(mk.TabularModel(mdp), k, epsilon=epsilon, delta=DELTA, learner=learner, rng=seed)
                samples.append(out.samples)
                losses.append(loss(mdp, k, out.plan.policy))
            failures = sum(x > epsilon for x in losses)
            rows.append(
                {
                    "problem": problem, "learner": name, "epsilon": epsilon, "runs": runs, "failures": failures,
                    "worst": max(losses), "samples": float(np.mean(samples)), "printed": printed.total,
                    "at_most": chance(failures, runs),
                }
            )  # fmt: skip
    return rows


def coins(k: int) -> mk.MDP:
    """Two actions that succeed with chances 1/K and 5/(4K)."""
    chances = (Fraction(1, k), Fraction(5, 4 * k))
    return mk.MDP.from_table([[[(x, 0, 1, True), (1 - x, 0, 0, True)] for x in chances]], horizon=1)


def too_few(effort: Effort) -> list[dict[str, float]]:
    """Uniform sampling with any ``m``, far below the theorem's too: how often the policy is worse than epsilon."""
    rows: list[dict[str, float]] = []
    epsilon, runs = 0.03, effort.pick(200, 1000)
    for k in (4, 16):
        mdp = coins(k)
        model = mk.TabularModel(mdp)
        wrong = loss(mdp, k, mk.MarkovPolicy([[0]], k=k))
        assert wrong > epsilon
        for m in (1, 4, 16, 64, 256, 1024):
            effort.tell(f"too few samples: K = {k}, m = {m}")
            rng = np.random.default_rng(SEED)
            failures = 0
            for _ in range(runs):
                seen = [model.sample(0, 0, action, m * k, rng)[1] for action in (0, 1)]
                hits = [int(np.sum(rewards)) for rewards in seen]
                found = mk.MDP.from_table(
                    [[[(Fraction(x, m * k), 0, 1, True), (1 - Fraction(x, m * k), 0, 0, True)] for x in hits]],
                    horizon=1,
                )
                action = mk.solve(found, k, solver=mk.Exact()).policy.action(
                    rollout=0, step=0, state=0, best=0, so_far=0
                )
                failures += action == 0
            rows.append({"K": k, "m": m * k, "failed": failures / runs})
    return rows


def growth(effort: Effort) -> list[dict[str, float]]:
    """Samples against K: the theorem's two constants, and adaptive stopping."""
    rows: list[dict[str, float]] = []
    for k in effort.pick((4, 8, 16), (4, 8, 16, 32, 64, 128)):
        drawn: list[float] = []
        for seed in range(SEED, SEED + effort.pick(1, 3)):
            effort.tell(f"adaptive stopping at K = {k}")
            out = mk.learn(mk.TabularModel(coins(k)), k, epsilon=0.05, delta=DELTA, rng=seed)
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
    rows = repeated(effort)
    few = too_few(effort)
    by_k = growth(effort)
    ks, hs, eps = [1, 2, 4, 8, 16, 32, 64], [4, 8, 16, 32, 64], [0.1, 0.03, 0.01, 0.003, 0.001]
    totals = {
        "K, small ε": formula("k", ks, epsilon=1e-4),
        "K, large ε": formula("k", ks, epsilon=10.0),
        "H, homogeneous": formula("horizon", hs, epsilon=1e-4),
        "H, per step": formula("horizon", hs, epsilon=1e-4, homogeneous=False),
    }
    slopes = {name: exponent(ks if name.startswith("K") else hs, y) for name, y in totals.items()}
    slopes["ε"] = exponent(eps, formula("epsilon", eps))
    tail = by_k[-4:]
    adaptive = exponent([r["K"] for r in tail], [r["adaptive"] for r in tail])
    failures, runs = sum(r["failures"] for r in rows), sum(r["runs"] for r in rows)
    saved = [r["printed"] / r["samples"] for r in rows if r["learner"] == "adaptive stopping"]
    collapse = max(
        abs(a["failed"] - b["failed"])
        for a in few for b in few if a["K"] == 4 and b["K"] == 16 and a["m"] * 4 == b["m"]
    )  # fmt: skip
    claim = Claim(
        name="theorem4",
        title="Theorem 4: learning with as few samples, up to logarithms",
        paper="Sample every state and action m times, round rewards to a grid of step κ, plan on what was seen: with "
        "m = Õ(S K²H² + K H³/ε²) ln(1/δ) the policy loses more than ε with probability at most δ. For small ε that is "
        "Õ(K S A H³/ε²) samples in all, and H times that where steps differ.",
        method="Learners run again and again on problems whose optimum is known in fractions; the loss of every "
        "learned policy is exact. The theorem's formula with its constants, exponents fitted. Adaptive stopping, which "
        "proves the same from the data. And the same harness with far too few samples, to see that it can fail.",
        letters=[
            ("ε, δ", "epsilon, delta of mk.learn"),
            ("m, κ", "per_pair, kappa of mk.sample_size(...)"),
            ("the algorithm", 'mk.Uniform(planner="midpoint")'),
            ("τ_δ", "Learned.samples"),
            ("π̂", "Learned.plan.policy"),
        ],
        seeds={"runs": f"{SEED}, {SEED + 1}, ...", "too few samples": SEED},
    )
    claim.checks = [
        check(
            f"failures in {runs} runs at δ = {DELTA}",
            paper=f"at most {DELTA:.0%} of runs",
            ours=f"{failures}; worst loss {max(r['worst'] / r['epsilon'] for r in rows):.3f} ε",
            holds=all(r["failures"] <= DELTA * r["runs"] for r in rows),
        ),
        check(
            f"with far too few samples the same harness fails (m = {few[0]['m']}, K = 4)",
            ours=f"{few[0]['failed']:.0%} of runs fail",
            holds=few[0]["failed"] > 0.3 and few[-1]["failed"] < 0.02,
        ),
        check(
            "failures depend on m/K alone (K = 4 and 16)",
            paper="linear in K",
            ours=f"curves differ by at most {collapse:.2f}",
            holds=collapse < 0.2,
        ),
        check(
            "formula: exponent in K, small ε and large ε",
            paper="1 and 2",
            ours=f"{slopes['K, small ε']:.2f} and {slopes['K, large ε']:.2f}",
            holds=abs(slopes["K, small ε"] - 1) < 0.1 and 1.8 < slopes["K, large ε"] < 2.3,
        ),
        check(
            "formula: exponent in H, homogeneous and per step",
            paper="3 and 4",
            ours=f"{slopes['H, homogeneous']:.2f} and {slopes['H, per step']:.2f}",
            holds=abs(slopes["H, homogeneous"] - 3) < 0.2 and abs(slopes["H, per step"] - 4) < 0.2,
        ),
        check("formula: exponent in ε", paper=-2, ours=f"{slopes['ε']:.2f}", holds=abs(slopes["ε"] + 2) < 0.15),
        check(
            "adaptive stopping: exponent in K",
            paper="1, up to logarithms",
            ours=f"{adaptive:.2f} (K = {tail[0]['K']}..{tail[-1]['K']})",
            holds=0.6 < adaptive < 1.5,
        ),
        check(
            "adaptive stopping against the theorem's number",
            ours=f"{min(saved):.0f} to {max(saved):.0f} times fewer samples",
            holds=min(saved) > 1,
        ),
    ]
    claim.tables = [
        Table(
            f"Repeated runs, δ = {DELTA}. The last column: with 95 % confidence the true probability of failure is at "
            "most that.",
            ("problem", "learner", "ε", "runs", "failures", "worst loss", "samples, mean", "the theorem's", "at most"),
            [
                (
                    *(r["problem"], r["learner"], r["epsilon"], r["runs"], r["failures"], f"{r['worst']:.4f}"),
                    *(round(r["samples"]), r["printed"], f"{r['at_most']:.3f}"),
                )
                for r in rows
            ],
        ),
        Table(
            "Two actions that succeed with 1/K and 5/(4K), ε = 0.05: samples of each action.",
            ("K", "the theorem's", "tight constants", "adaptive stopping"),
            [(r["K"], r["paper"], r["tight"], round(r["adaptive"])) for r in by_k],
        ),
    ]
    picture, (left, middle, right) = drawing.figure(3, 2.9, 2.7)
    for k, colour, mark in ((4, drawing.ORANGE, "s"), (16, drawing.BLUE, "o")):
        shown = [r for r in few if r["K"] == k]
        left.plot(
            [r["m"] / k for r in shown], [r["failed"] for r in shown],
            marker=mark, color=colour, linestyle="--" if k == 4 else "-", label=f"K = {k}",
        )  # fmt: skip
    left.axhline(DELTA, color="black", linewidth=0.9, linestyle=":", label=f"δ = {DELTA}")
    left.set_xscale("log")
    left.set_xlabel("samples of each action / K")
    left.set_ylabel("share of runs that lose more than ε")
    left.legend()
    x = [r["K"] for r in by_k]
    middle.plot(x, [r["paper"] for r in by_k], "s-", color=drawing.ORANGE, label="the theorem's m")
    middle.plot(x, [r["tight"] for r in by_k], "v-", color=drawing.GREEN, label="tight constants")
    middle.plot(x, [r["adaptive"] for r in by_k], "o-", color=drawing.BLUE, label="adaptive stopping")
    drawing.power_line(middle, x, by_k[-1]["adaptive"], 1, "slope 1")
    middle.set_xscale("log")
    middle.set_yscale("log")
    drawing.doubling_ticks(middle, x)
    middle.set_xlabel("rollouts K")
    middle.set_ylabel("samples of each action")
    middle.set_ylim(top=1e4 * by_k[-1]["tight"])
    middle.legend(loc="upper left", ncols=1)
    right.plot(hs, totals["H, homogeneous"], "o-", color=drawing.BLUE,
               label=f"homogeneous: {slopes['H, homogeneous']:.2f}")  # fmt: skip
    right.plot(hs, totals["H, per step"], "s-", color=drawing.RED, label=f"per step: {slopes['H, per step']:.2f}")
    right.set_xscale("log")
    right.set_yscale("log")
    drawing.doubling_ticks(right, hs)
    right.set_xlabel("horizon H")
    right.set_ylabel("samples in all (formula)")
    right.legend(title="exponent", title_fontsize=8)
    claim.pictures = [
        Picture("theorem4", picture, "Left: how often too few samples fail; the curves meet because what counts is "
                "m/K. Middle: samples against K. Right: the formula against H.")
    ]  # fmt: skip
    claim.numbers = {
        "failures": failures,
        "runs": runs,
        "formula": {name: [str(y) for y in found] for name, found in totals.items()},
        "exponents": slopes,
        "per_pair": [{"K": r["K"], "paper": r["paper"], "tight": r["tight"]} for r in by_k],
    }
    claim.measured = {"runs": rows, "too_few": few, "adaptive": by_k, "adaptive_exponent": adaptive}
    return claim
