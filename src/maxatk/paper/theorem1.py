"""Theorem 1: rounding rewards to midpoints costs at most kappa H, in time O(K S² A H³ / kappa²)."""

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

import maxatk as mk
from maxatk.paper import drawing, theorem1_histories
from maxatk.paper.claim import Check, Claim, Effort, Picture, Row, Table, check, column, exponent, only, seconds
from maxatk.paper.values import optimum, value

SEED = 1
PRINTED = {"K": 1, "S": 2, "A": 1, "H": 3, "1/κ": 2}  # the exponents of the theorem
CELLS = (2, 4, 8, 16, 32)  # 1/kappa


def multiply_adds(S: int, A: int, H: int, K: int, n: int) -> int:
    """The work of :func:`table_sweep`: ``K S² A |B| sum_h |C_h|``, with ``|C_h| = h (n - 1) + 1`` after ``h`` steps."""
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
    """The loss of the midpoint planner's policy, and the error of its value, over kappa, H and K, in kappa H."""
    rows: list[dict[str, Any]] = []
    seeds = range(SEED, SEED + effort.pick(1, 8))
    for H, seed, K in itertools.product(effort.pick((2, 4, 6), (2, 4, 8)), seeds, (1, 2, 4)):
        effort.tell(f"errors at H = {H}, K = {K}, problem {seed}")
        mdp = random_problem(4, 3, H, seed)
        true = mk.solve(mdp, K, solver=mk.Certified(tol=1e-6))
        for n in CELLS:
            plan = mk.solve(mdp, K, solver=mk.Midpoint(kappa=Fraction(1, n)))
            loss = max(0.0, true.upper - mk.evaluate(mdp, plan.policy).lower) * n / H
            off = max(abs(true.lower - plan.rounded_value), abs(true.upper - plan.rounded_value)) * n / H
            rows.append({"H": H, "K": K, "n": n, "seed": seed, "loss": loss, "value_error": off})
    return rows


def worst_case(n: int, H: int, K: int) -> tuple[Fraction, Fraction]:
    """A problem where the loss is just ``kappa H``: both actions, worth 1 - kappa and 1, round to one midpoint.

    And one where the value is off by just ``kappa H/2``: a reward of 1 rounds to ``1 - kappa/2``.
    """
    mdp = mk.MDP.from_table([[[(1, 0, 1 - Fraction(1, n), False)], [(1, 0, 1, False)]]], horizon=H)
    plan = mk.solve(mdp, K, solver=mk.Midpoint(kappa=Fraction(1, n)))
    best = optimum(mdp, K)
    return best - value(mdp, plan.policy), abs(best - Fraction(plan.rounded_value).limit_denominator(10**6))


def times(effort: Effort) -> dict[str, list[dict[str, float]]]:
    """Seconds and multiply-adds of the table sweep as one size after the other grows."""
    S, A, H, K, n = effort.pick((16, 4, 8, 4, 8), (32, 4, 12, 4, 12))
    grown = {
        "K": (2, 4, 8, 16),
        "S": (S // 2, S, 2 * S, 4 * S),
        "A": (2, 4, 8, 16),
        "H": (H // 2, H, 3 * H // 2, 2 * H),
        "1/κ": (n // 2, n, 2 * n, 3 * n),
    }
    rows: dict[str, list[dict[str, float]]] = {}
    for name, values in grown.items():
        effort.tell(f"running time against {name}")
        rows[name] = []
        for x in values:
            size = {"S": S, "A": A, "H": H, "K": K, "1/κ": n, name: x}
            mdp = random_problem(size["S"], size["A"], size["H"], SEED)
            run = partial(table_sweep, mdp, size["K"], size["1/κ"])
            took = seconds(run, effort.pick(2, 3))
            rows[name].append({"size": x, "seconds": took, "work": multiply_adds(*size.values())})
    return rows


def equal_guarantee(effort: Effort) -> list[dict[str, float]]:
    """Seconds of the table sweep and of the certified planner that prove the same loss, ``kappa H``."""
    S, A, H, K = effort.pick((16, 4, 8, 4), (40, 4, 10, 4))
    mdp = random_problem(S, A, H, SEED)
    rows: list[dict[str, float]] = []
    for n in effort.pick((4, 8, 16, 32), (4, 8, 16, 32, 48)):
        effort.tell(f"equal guarantees at κ = 1/{n}")
        certify = partial(mk.solve, mdp, K, solver=mk.Certified(tol=H / n))
        sweep = partial(table_sweep, mdp, K, n)
        midpoint = mk.solve(mdp, K, solver=mk.Midpoint(kappa=Fraction(1, n)))
        row = {"n": n, "proved": H / n, "width": certify().gap, "same_value": abs(sweep() - midpoint.rounded_value)}
        rows.append({**row, "table": seconds(sweep, 1), "certified": seconds(certify, effort.pick(1, 3))})
    return rows


def footnote(effort: Effort) -> list[dict[str, float]]:
    """The footnote's problem: different returns before each step, the exact planner's histories, and times."""
    rows: list[dict[str, float]] = []
    for H in range(2, effort.pick(12, 16) + 1):
        mdp = mk.instances.footnote(horizon=H)
        returns = [{Fraction(0)}]
        for h in range(H):
            returns.append({g + o.reward for g in returns[-1] for a in (0, 1) for o in mdp.exact_outcomes(h, 0, a)})
        exactly = partial(mk.solve, mdp, 1, solver=mk.Exact())
        certify = partial(mk.solve, mdp, 1, solver=mk.Certified(tol=1e-3, threads=1))
        plan, certified = exactly(), certify()
        rows.append(
            {
                "H": H,
                "before_last": len(returns[-2]),
                "finished": len(returns[-1]),
                "histories": int(plan.stats["histories"]),
                "right": plan.exact == 1 - Fraction(1, 2**H) and certified.lower <= plan.exact <= certified.upper,
                "exact": seconds(exactly, 3),
                "certified": seconds(certify, 3),
            }
        )
    return rows


def run(effort: Effort) -> Claim:
    """Recompute Theorem 1."""
    mk.solve(random_problem(3, 2, 2, 0), 2, solver=mk.Certified(tol=0.5))  # compile and start threads first
    lost = errors(effort)
    attained: list[dict[str, Any]] = [
        dict(zip(("n", "H", "K", "loss", "value"), (*size, *worst_case(*size)), strict=True))
        for size in itertools.product((2, 5, 10), (1, 3), (1, 2))
    ]
    everywhere = theorem1_histories.on_small_problems(effort)
    timed = times(effort)
    slopes, counted = (
        {name: exponent(column(rows, "size"), column(rows, what)) for name, rows in timed.items()}
        for what in ("seconds", "work")
    )
    fair, steps = equal_guarantee(effort), footnote(effort)
    return Claim(
        "theorem1",
        checks=[
            *_loss_checks(lost, attained),
            *theorem1_histories.checks(everywhere),
            *_time_checks(slopes, counted, fair),
            *_footnote_checks(steps),
        ],
        tables=_tables(lost, timed, slopes, counted, fair),
        pictures=[_errors_picture(lost), _times_picture(timed, slopes, fair, steps)],
        numbers={
            "largest_loss_in_kappa_H": max(column(lost, "loss")),
            "largest_value_error_in_kappa_H": max(column(lost, "value_error")),
            "errors": lost,
            "attained": attained,
            "every_history": everywhere,
            "work_exponents": counted,
            "footnote": only(steps, "H", "before_last", "finished", "histories"),
        },
        measured={
            "seconds": {name: [[r["size"], r["seconds"]] for r in rows] for name, rows in timed.items()},
            "seconds_exponents": slopes,
            "equal_guarantee": fair,
            "footnote_seconds": only(steps, "H", "exact", "certified"),
        },
        seeds={"random problems": SEED, "every history": theorem1_histories.SEED},
    )


def _loss_checks(lost: list[dict[str, Any]], attained: list[dict[str, Any]]) -> list[Check]:
    loss, off = max(column(lost, "loss")), max(column(lost, "value_error"))
    proved = all((w["loss"], w["value"]) == (Fraction(w["H"], w["n"]), Fraction(w["H"], 2 * w["n"])) for w in attained)
    return [
        check(
            f"largest loss in {len(lost)} runs over κ, H, K", paper="at most 2κH", ours=f"{loss:.3f} κH; κH is proved",
            holds=loss <= 1 + 1e-4, as_printed=loss <= 2,
        ),
        check(
            "the largest loss there can be", paper="2κH", ours="κH, attained" if proved else "not κH", holds=proved,
            as_printed=all(w["loss"] <= Fraction(2 * w["H"], w["n"]) for w in attained),
            tight=any(w["loss"] == Fraction(2 * w["H"], w["n"]) for w in attained),
        ),
        check(
            f"error of the value in {len(lost)} runs", ours=f"{off:.3f} κH; κH/2 is proved, and attained",
            holds=off <= 0.5 + 1e-4 and proved,
        ),
    ]  # fmt: skip


def _time_checks(slopes: dict[str, float], counted: dict[str, float], fair: list[dict[str, float]]) -> list[Check]:
    last, apart = fair[-1], max(column(fair, "same_value"))
    return [
        check(
            "multiply-adds: exponents in K, S, A, H, 1/κ", paper="1, 2, 1, 3, 2",
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
            "the sweep and mk.Midpoint find the same value", paper="the value of M_κ", ours=f"within {apart:.1e}",
            holds=apart < 1e-9,
        ),
        check(
            "certified planner at the same guarantee",
            ours=f"{last['table'] / last['certified']:.0f} times faster at κ = 1/{last['n']}",
            holds=all(r["width"] <= r["proved"] for r in fair) and last["certified"] < last["table"],
        ),
    ]  # fmt: skip


def _footnote_checks(steps: list[dict[str, float]]) -> list[Check]:
    right = all(bool(r["right"]) for r in steps)
    return [
        check(
            "the footnote: different returns before step h, and finished ones", paper="2^h, 2^H", ours="2^(h−1), 2^H",
            holds=all(r["before_last"] == 2 ** (r["H"] - 1) and r["finished"] == 2 ** r["H"] for r in steps),
            as_printed=all(r["before_last"] == 2 ** r["H"] for r in steps),
        ),
        check(
            f"the footnote: optimum 1 − 2^−H for H = 2..{steps[-1]['H']}, exactly and inside the certified interval",
            ours="yes" if right else "no", holds=right,
        ),
    ]  # fmt: skip


def _tables(
    lost: list[dict[str, Any]], timed: Any, slopes: Row, counted: Row, fair: list[dict[str, float]]
) -> list[Table]:
    return [
        Table(
            "Largest loss over problems and K, in units of κH (1 is proved, 2 printed).",
            ("H", *(f"κ = 1/{n}" for n in CELLS)),
            [
                (H, *(f"{max(r['loss'] for r in lost if (r['H'], r['n']) == (H, n)):.3f}" for n in CELLS))
                for H in sorted({r["H"] for r in lost})
            ],
        ),
        Table(
            "Running time as one size grows.",
            ("size", "values", "seconds", "exponent: seconds", "exponent: multiply-adds", "printed"),
            [
                (
                    *(name, ", ".join(f"{r['size']}" for r in rows), ", ".join(f"{r['seconds']:.2g}" for r in rows)),
                    *(f"{slopes[name]:.2f}", f"{counted[name]:.2f}", PRINTED[name]),
                )
                for name, rows in timed.items()
            ],
        ),
        Table.of(
            "The same proved loss: the paper's table against the certified planner.",
            fair,
            {"κ": "1/{n}", "proved loss κH": "{proved:g}", "table, seconds": "{table:.3g}",
             "certified, seconds": "{certified:.3g}", "certified width": "{width:.2g}"},
        ),
    ]  # fmt: skip


def _errors_picture(lost: list[dict[str, Any]]) -> Picture:
    figure, axes = drawing.figure(2)
    marks = {1: ("o", drawing.SKY, 0.9), 2: ("s", drawing.ORANGE, 1.0), 4: ("^", drawing.BLUE, 1.11)}
    for ax, what, label, lines in (
        (axes[0], "loss", "loss of the policy / κH", ((2, "printed: 2κH", drawing.RED), (1, "proved: κH", "black"))),
        (axes[1], "value_error", "error of the value / κH", ((0.5, "proved: κH/2", "black"),)),
    ):
        for K, (mark, colour, shift) in marks.items():
            at = [(shift / r["n"], max(r[what], 1e-5)) for r in lost if r["K"] == K]
            ax.plot(*zip(*at, strict=True), mark, color=colour, label=f"K = {K}", markersize=4, markeredgewidth=0)
        for level, name, colour in lines:
            ax.axhline(level, color=colour, linestyle="--" if colour != "black" else "-", linewidth=1, label=name)
        ax.set(xscale="log", xlabel="κ", ylabel=label, ylim=(0, 1.5 * lines[0][0]))
        drawing.doubling_ticks(ax, [1 / n for n in CELLS])
        ax.legend(loc="upper left", ncols=2, columnspacing=1)
    caption = (
        "Loss of the policy (left) and error of the value (right), in units of κH, over all problems: dots for each K, "
        "and what is proved and printed."
    )
    return Picture("theorem1_error", figure, caption)


def _times_picture(timed: Any, slopes: dict[str, float], fair: list[dict[str, float]], steps: Any) -> Picture:
    figure, (left, middle, right) = drawing.figure(3, 2.9, 2.7)
    colours = (drawing.GREY, drawing.BLUE, drawing.GREEN, drawing.RED, drawing.ORANGE)
    for (name, rows), colour, mark in zip(timed.items(), colours, "osv^D", strict=True):
        x, y = ([v / values[0] for v in values] for values in (column(rows, "size"), column(rows, "seconds")))
        left.plot(x, y, marker=mark, color=colour, label=f"{name}: {slopes[name]:.1f} (at most {PRINTED[name]})")
    left.set(xscale="log", yscale="log", ylim=(0.7, 2e3))
    left.set(xlabel="size, relative to the smallest", ylabel="seconds, relative")
    drawing.doubling_ticks(left, (1, 2, 4, 8))
    left.legend(title="exponent", title_fontsize=8, loc="upper left", handlelength=1.2, fontsize=7.5)
    drawing.line(middle, fair, "proved", "table", "s-", color=drawing.ORANGE, label="the paper's table")
    drawing.line(middle, fair, "proved", "certified", "o-", color=drawing.BLUE, label="certified planner")
    middle.set(xscale="log", yscale="log", xlabel="proved loss κH", ylabel="seconds")
    drawing.doubling_ticks(middle, column(fair, "proved"))
    middle.legend()
    drawing.line(right, steps, "H", "exact", "s-", color=drawing.RED, label="exact planner")
    drawing.line(right, steps, "H", "certified", "o-", color=drawing.BLUE, label="certified, 1e-3")
    drawing.doubling_line(right, steps, "H", "exact", label="2^H")
    right.set(yscale="log", xticks=column(steps, "H")[::2], xlabel="horizon H", ylabel="seconds")
    right.legend()
    caption = (
        "Left: seconds of the table sweep as one size grows by a factor. Middle: the same proved loss. Right: the "
        "footnote's problem."
    )
    return Picture("theorem1_time", figure, caption)
