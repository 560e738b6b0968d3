"""Theorem 1: rounding rewards to midpoints costs at most kappa H, in time O(K S² A H³ / kappa²)."""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

import maxatk as mk
from maxatk.paper import drawing
from maxatk.paper.claim import Claim, Effort, Picture, Table, check, exponent, seconds

SEED = 1
PRINTED = {"K": 1, "S": 2, "A": 1, "H": 3, "1/κ": 2}  # the exponents of the theorem


def multiply_adds(S: int, A: int, H: int, K: int, n: int) -> int:
    """What :func:`table_sweep` does: ``K S² A |B| sum_h |C_h|``, with ``|C_h| = h (n - 1) + 1`` after ``h`` steps."""
    return K * S * S * A * (H * (n - 1) + 1) * sum(h * (n - 1) + 1 for h in range(1, H + 1))


def table_sweep(mdp: mk.MDP, k: int, n: int) -> float:
    """The paper's algorithm as it is stated: backward induction over the whole table of (s, M, G) on the grid.

    Takes a homogeneous problem with all actions everywhere and no early ends. Returns the value of the rounded
    problem. After ``h`` steps a return is ``(j + h/2)/n`` for an integer ``j``: the tables are
    indexed by ``j``.
    """
    S, A, H = mdp.n_states, mdp.n_actions, mdp.horizon
    P = np.zeros((S, A, S))
    jump = np.zeros((S, A), int)  # the cell of each reward
    for s in range(S):
        for a in range(A):
            for p, t, r in mdp.outcomes(0, s, a):
                P[s, a, t] += p
                jump[s, a] = min(int(Fraction(r) * n), n - 1)
    rows: Any = sparse.csr_array(P.reshape(S * A, S))  # a plain loop on one core, where a dense product takes several
    top = H * (n - 1)  # the largest j
    j = np.arange(top + 1)
    after = j / n + H / (2 * n)  # U_K(M) = M
    for _ in range(k):
        table: Any = np.broadcast_to(after[np.maximum(j[:, None], j)], (S, top + 1, top + 1))  # [S, M, G]
        for h in range(H - 1, -1, -1):
            size = h * (n - 1) + 1
            Q = (rows @ table.reshape(S, -1)).reshape(S, A, top + 1, -1)
            table = np.stack(
                [np.max([Q[s, a, :, x : x + size] for a, x in enumerate(jump[s])], axis=0) for s in range(S)]
            )
        after = table[mdp.start_state[0], :, 0]
    return float(after[0])


def random_problem(S: int, A: int, H: int, seed: int) -> mk.MDP:
    """Random rows over all states; rewards are multiples of 1/997, which no grid of midpoints holds."""
    return mk.instances.random_dense(S, A, H, rewards=[j / 997 for j in range(998)], rng=seed)


def errors(effort: Effort) -> list[dict[str, Any]]:
    """The loss of the midpoint planner's policy, and the error of its value, over kappa, H and K."""
    rows: list[dict[str, Any]] = []
    for H in effort.pick((2, 4, 6), (2, 4, 8)):
        for seed in range(SEED, SEED + effort.pick(1, 8)):
            mdp = random_problem(4, 3, H, seed)
            for K in (1, 2, 4):
                effort.tell(f"errors at H = {H}, K = {K}, problem {seed}")
                true = mk.solve(mdp, K, solver=mk.Certified(tol=1e-6))
                for n in (2, 4, 8, 16, 32):
                    plan = mk.solve(mdp, K, solver=mk.Midpoint(kappa=Fraction(1, n)))
                    earned = mk.evaluate(mdp, plan.policy)
                    rows.append(
                        {
                            "H": H, "K": K, "n": n, "seed": seed,
                            "loss": max(0.0, true.upper - earned.lower) * n / H,  # in units of kappa H
                            "value_error": max(abs(true.lower - plan.value), abs(true.upper - plan.value)) * n / H,
                        }
                    )  # fmt: skip
    return rows


def worst_case(n: int, H: int, K: int) -> tuple[Fraction, Fraction]:
    """A problem where the loss is just ``kappa H``: both actions, worth 1 - kappa and 1, round to one midpoint.

    And one where the value is off by just ``kappa H/2``: a reward of 1 rounds to ``1 - kappa/2``.
    """
    rows = [[[(1, 0, 1 - Fraction(1, n), False)], [(1, 0, 1, False)]]]
    mdp = mk.MDP.from_table(rows, horizon=H)
    plan = mk.solve(mdp, K, solver=mk.Midpoint(kappa=Fraction(1, n)))
    earned = mk.evaluate(mdp, plan.policy).exact
    optimum = mk.solve(mdp, K, solver=mk.Exact()).exact
    assert earned is not None
    return optimum - earned, abs(optimum - Fraction(plan.value).limit_denominator(10**6))


def times(effort: Effort) -> dict[str, list[tuple[float, float, int]]]:
    """Seconds and multiply-adds of the table sweep as one size after the other grows."""
    S, A, H, K, n = effort.pick((16, 4, 8, 4, 8), (32, 4, 12, 4, 12))
    grids = {
        "K": [(S, A, H, x, n) for x in (2, 4, 8, 16)],
        "S": [(x, A, H, K, n) for x in (S // 2, S, 2 * S, 4 * S)],
        "A": [(S, x, H, K, n) for x in (2, 4, 8, 16)],
        "H": [(S, A, x, K, n) for x in (H // 2, H, 3 * H // 2, 2 * H)],
        "1/κ": [(S, A, H, K, x) for x in (n // 2, n, 2 * n, 3 * n)],
    }
    position = {"S": 0, "A": 1, "H": 2, "K": 3, "1/κ": 4}
    found: dict[str, list[tuple[float, float, int]]] = {}
    for name, sizes in grids.items():
        effort.tell(f"running time against {name}")
        found[name] = []
        for size in sizes:
            mdp = random_problem(*size[:3], SEED)
            took = seconds(lambda mdp=mdp, size=size: table_sweep(mdp, *size[3:]), effort.pick(2, 3))
            found[name].append((size[position[name]], took, multiply_adds(*size)))
    return found


def equal_guarantee(effort: Effort) -> list[dict[str, float]]:
    """Seconds of the table sweep and of the certified planner that prove the same loss, ``kappa H``."""
    S, A, H, K = effort.pick((16, 4, 8, 4), (40, 4, 10, 4))
    mdp = random_problem(S, A, H, SEED)
    rows: list[dict[str, float]] = []
    for n in effort.pick((4, 8, 16, 32), (4, 8, 16, 32, 48)):
        effort.tell(f"equal guarantees at κ = 1/{n}")
        value = table_sweep(mdp, K, n)
        tol = H / n
        mk.solve(mdp, K, solver=mk.Certified(tol=tol))
        rows.append(
            {
                "n": n,
                "proved": tol,
                "table": seconds(lambda n=n: table_sweep(mdp, K, n), 1),
                "certified": seconds(lambda tol=tol: mk.solve(mdp, K, solver=mk.Certified(tol=tol)), 3),
                "width": mk.solve(mdp, K, solver=mk.Certified(tol=tol)).gap,
                "same_value": abs(value - mk.solve(mdp, K, solver=mk.Midpoint(kappa=Fraction(1, n))).value),
            }
        )
    return rows


def footnote(effort: Effort) -> list[dict[str, float]]:
    """The footnote's problem: different returns before each step, the exact planner's histories, and times."""
    rows: list[dict[str, float]] = []
    for H in range(2, effort.pick(12, 16) + 1):
        mdp = mk.instances.footnote(horizon=H)
        returns = {Fraction(0)}
        before_last = 0
        for h in range(H):
            before_last = len(returns)
            returns = {g + o.reward for g in returns for a in (0, 1) for o in mdp.exact_outcomes(h, 0, a)}
        solvers: dict[str, Any] = {"exact": mk.Exact(), "certified": mk.Certified(tol=1e-3, threads=1)}
        exact, certified = (mk.solve(mdp, 1, solver=solver) for solver in solvers.values())
        rows.append(
            {
                "H": H,
                "before_last": before_last,
                "finished": len(returns),
                "histories": int(exact.stats["histories"]),
                "right": exact.exact == 1 - Fraction(1, 2**H) and certified.lower <= exact.exact <= certified.upper,
                **{name: seconds(lambda s=s, m=mdp: mk.solve(m, 1, solver=s), 3) for name, s in solvers.items()},
            }
        )
    return rows


def run(effort: Effort) -> Claim:
    """Recompute Theorem 1."""
    mk.solve(random_problem(3, 2, 2, 0), 2, solver=mk.Certified(tol=0.5))  # compile and start threads first
    found = errors(effort)
    loss, off = max(r["loss"] for r in found), max(r["value_error"] for r in found)
    attained = {(n, H, K): worst_case(n, H, K) for n in (2, 5, 10) for H in (1, 3) for K in (1, 2)}
    exactly = all(w == (Fraction(H, n), Fraction(H, 2 * n)) for (n, H, _), w in attained.items())
    measured = times(effort)
    slopes = {name: exponent(*([r[i] for r in rows] for i in (0, 1))) for name, rows in measured.items()}
    counted = {name: exponent(*([r[i] for r in rows] for i in (0, 2))) for name, rows in measured.items()}
    fair = equal_guarantee(effort)
    steps = footnote(effort)
    claim = Claim(
        name="theorem1",
        title="Theorem 1: planning with rounded rewards",
        paper="Round every reward to the nearest midpoint of a grid of step κ and plan the rounded problem by backward "
        "induction over (s, M, G): the policy loses at most 2κH, and the time is O(K S² A H³/κ²). Without rounding, a "
        "footnote says, there can be 2^H different returns.",
        method="Losses of the midpoint planner's policy on random problems with rewards that no grid holds, against "
        "the optimum to within 1e-6; a problem where the loss is as large as it can be; running times of the paper's "
        "algorithm, written as stated in theorem1.py (table_sweep), with exponents fitted to seconds and to "
        "multiply-adds; the certified planner asked for the same guarantee; the footnote's problem.",
        letters=[
            ("κ", "kappa of mk.Midpoint, 1/n"),
            ("the policy of M_κ", "mk.solve(mdp, k, solver=mk.Midpoint(kappa)).policy"),
            ("V*", "mk.solve(mdp, k, solver=mk.Certified(tol))"),
            ("|B|, |C_h|", "different best returns, and returns before step h"),
        ],
        seeds={"random problems": SEED},
    )
    claim.checks = [
        check(
            f"largest loss in {len(found)} runs over κ, H, K",
            paper="at most 2κH",
            ours=f"{loss:.3f} κH; κH is proved",
            holds=loss <= 1 + 1e-4,
            as_printed=loss <= 2,
        ),
        check(
            "the largest loss there can be",
            paper="2κH",
            ours="κH, attained" if exactly else "not κH",
            holds=exactly,
            as_printed=all(w[0] <= Fraction(2 * H, n) for (n, H, _), w in attained.items()),
            tight=any(w[0] == Fraction(2 * H, n) for (n, H, _), w in attained.items()),
        ),
        check(
            f"error of the value in {len(found)} runs", ours=f"{off:.3f} κH; κH/2 is proved, and attained",
            holds=off <= 0.5 + 1e-4 and exactly,
        ),
        check(
            "multiply-adds: exponents in K, S, A, H, 1/κ",
            paper="1, 2, 1, 3, 2",
            ours=", ".join(f"{counted[name]:.2f}" for name in PRINTED),
            holds=all(abs(counted[name] - PRINTED[name]) < 0.35 for name in PRINTED),
        ),
        check(
            "processor time: exponents in K, S, A, H, 1/κ (caches and small sizes: up to 0.6 more)",
            paper="at most 1, 2, 1, 3, 2",
            ours=", ".join(f"{slopes[name]:.2f}" for name in PRINTED),
            holds=all(slopes[name] <= PRINTED[name] + 0.6 for name in PRINTED),
        ),
        check(
            "the sweep and mk.Midpoint find the same value", paper="the value of M_κ",
            ours=f"within {max(r['same_value'] for r in fair):.1e}",
            holds=max(r["same_value"] for r in fair) < 1e-9,
        ),
        check(
            "certified planner at the same guarantee",
            ours=f"{fair[-1]['table'] / fair[-1]['certified']:.0f} times faster at κ = 1/{fair[-1]['n']}",
            holds=all(r["width"] <= r["proved"] for r in fair) and fair[-1]["certified"] < fair[-1]["table"],
        ),
        check(
            "the footnote: different returns before step h, and finished ones",
            paper="2^h, 2^H",
            ours="2^(h−1), 2^H",
            holds=all(r["before_last"] == 2 ** (r["H"] - 1) and r["finished"] == 2 ** r["H"] for r in steps),
            as_printed=all(r["before_last"] == 2 ** r["H"] for r in steps),
        ),
        check(
            f"the footnote: optimum 1 − 2^−H for H = 2..{steps[-1]['H']}, exactly and inside the certified interval",
            ours="yes" if all(r["right"] for r in steps) else "no",
            holds=all(bool(r["right"]) for r in steps),
        ),
    ]  # fmt: skip
    claim.tables = [
        Table(
            "Largest loss over problems and K, in units of κH (1 is proved, 2 printed).",
            ("H", *(f"κ = 1/{n}" for n in (2, 4, 8, 16, 32))),
            [
                (H, *(f"{max(r['loss'] for r in found if (r['H'], r['n']) == (H, n)):.3f}" for n in (2, 4, 8, 16, 32)))
                for H in sorted({r["H"] for r in found})
            ],
        ),
        Table(
            "Running time as one size grows.",
            ("size", "values", "seconds", "exponent: seconds", "exponent: multiply-adds", "printed"),
            [
                (
                    *(name, ", ".join(f"{r[0]}" for r in rows), ", ".join(f"{r[1]:.2g}" for r in rows)),
                    *(f"{slopes[name]:.2f}", f"{counted[name]:.2f}", PRINTED[name]),
                )
                for name, rows in measured.items()
            ],
        ),
        Table(
            "The same proved loss: the paper's table against the certified planner.",
            ("κ", "proved loss κH", "table, seconds", "certified, seconds", "certified width"),
            [
                (f"1/{r['n']}", f"{r['proved']:g}", f"{r['table']:.3g}", f"{r['certified']:.3g}", f"{r['width']:.2g}")
                for r in fair
            ],
        ),
    ]
    claim.pictures = [
        Picture("theorem1_error", _errors_picture(found), "Loss of the policy (left) and error of the value (right), "
                "in units of κH, over all problems: dots for each K, and what is proved and printed."),
        Picture("theorem1_time", _times_picture(measured, slopes, fair, steps), "Left: seconds of the table sweep as "
                "one size grows by a factor. Middle: the same proved loss. Right: the footnote's problem."),
    ]  # fmt: skip
    claim.numbers = {
        "largest_loss_in_kappa_H": loss,
        "largest_value_error_in_kappa_H": off,
        "errors": found,
        "attained": [{"n": n, "H": H, "K": K, "loss": w[0], "value": w[1]} for (n, H, K), w in attained.items()],
        "work_exponents": counted,
        "footnote": [{key: r[key] for key in ("H", "before_last", "finished", "histories")} for r in steps],
    }
    claim.measured = {
        "seconds": {name: [[r[0], r[1]] for r in rows] for name, rows in measured.items()},
        "seconds_exponents": slopes,
        "equal_guarantee": fair,
        "footnote_seconds": [{key: r[key] for key in ("H", "exact", "certified")} for r in steps],
    }
    return claim


def _errors_picture(found: list[dict[str, Any]]) -> Any:
    picture, axes = drawing.figure(2)
    marks = {1: ("o", drawing.SKY), 2: ("s", drawing.ORANGE), 4: ("^", drawing.BLUE)}
    for ax, key, lines in (
        (axes[0], "loss", ((2, "printed: 2κH", drawing.RED), (1, "proved: κH", "black"))),
        (axes[1], "value_error", ((0.5, "proved: κH/2", "black"),)),
    ):
        for K, (mark, colour) in marks.items():
            rows = [r for r in found if r["K"] == K]
            shift = {1: 0.9, 2: 1.0, 4: 1.11}[K]
            ax.plot(
                [shift / r["n"] for r in rows], [max(r[key], 1e-5) for r in rows],
                mark, color=colour, label=f"K = {K}", markersize=4, markeredgewidth=0,
            )  # fmt: skip
        for level, name, colour in lines:
            ax.axhline(level, color=colour, linestyle="--" if colour != "black" else "-", linewidth=1, label=name)
        ax.set_xscale("log")
        drawing.doubling_ticks(ax, [1 / n for n in (2, 4, 8, 16, 32)])
        ax.set_xlabel("κ")
        ax.set_ylim(0, 1.5 * lines[0][0])
        ax.legend(loc="upper left", ncols=2, columnspacing=1)
    axes[0].set_ylabel("loss of the policy / κH")
    axes[1].set_ylabel("error of the value / κH")
    return picture


def _times_picture(measured: Any, slopes: dict[str, float], fair: list[dict[str, float]], steps: Any) -> Any:
    picture, (left, middle, right) = drawing.figure(3, 2.9, 2.7)
    styles = zip(
        measured, (drawing.GREY, drawing.BLUE, drawing.GREEN, drawing.RED, drawing.ORANGE), "osv^D", strict=True
    )
    for name, colour, mark in styles:
        first = measured[name][0]
        left.plot(
            [r[0] / first[0] for r in measured[name]], [r[1] / first[1] for r in measured[name]],
            marker=mark, color=colour, label=f"{name}: {slopes[name]:.1f} (at most {PRINTED[name]})",
        )  # fmt: skip
    left.set_xscale("log")
    left.set_yscale("log")
    drawing.doubling_ticks(left, (1, 2, 4, 8))
    left.set_xlabel("size, relative to the smallest")
    left.set_ylabel("seconds, relative")
    left.set_ylim(0.7, 2e3)
    left.legend(title="exponent", title_fontsize=8, loc="upper left", handlelength=1.2, fontsize=7.5)
    x = [r["proved"] for r in fair]
    middle.plot(x, [r["table"] for r in fair], "s-", color=drawing.ORANGE, label="the paper's table")
    middle.plot(x, [r["certified"] for r in fair], "o-", color=drawing.BLUE, label="certified planner")
    middle.set_xscale("log")
    middle.set_yscale("log")
    drawing.doubling_ticks(middle, x)
    middle.set_xlabel("proved loss κH")
    middle.set_ylabel("seconds")
    middle.legend()
    H = [r["H"] for r in steps]
    right.plot(H, [r["exact"] for r in steps], "s-", color=drawing.RED, label="exact planner")
    right.plot(H, [r["certified"] for r in steps], "o-", color=drawing.BLUE, label="certified, 1e-3")
    last = steps[-1]
    right.plot(H, [last["exact"] * 2.0 ** (h - H[-1]) for h in H], ":", color="black", linewidth=0.9, label="2^H")
    right.set_yscale("log")
    right.set_xticks(H[::2])
    right.set_xlabel("horizon H")
    right.set_ylabel("seconds")
    right.legend()
    return picture
