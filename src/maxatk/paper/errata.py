"""Errors of the paper, and remarks on what it prints, each shown by a computed line.

The lines are in ``errata_planning.py`` (Figure 1 to Theorem 2) and ``errata_learning.py`` (Theorems 3 and 4).
"""

from maxatk.paper import drawing, errata_learning, errata_planning, lemmas
from maxatk.paper.claim import Claim, Effort, Picture


def run(effort: Effort) -> Claim:
    """Every correction and every remark, computed."""
    effort.tell("the variance lemma, over all policies of random problems")
    variance = lemmas.variance_ratio(effort.pick(30, 400))
    effort.tell("the error decomposition")
    split = lemmas.decomposition_ratio(effort.pick(40, 400))
    effort.tell("the lines, one by one")
    checks = [line() for line in (*errata_planning.LINES, *errata_learning.LINES)]
    checks += errata_learning.lemma_constants(variance, split)
    return Claim(
        "errata",
        checks,
        pictures=[_picture(variance, split)],
        numbers={
            "lines": [{"where": c.what, "paper": c.paper, "ours": c.ours} for c in checks],
            "variance_in_H2": variance,
            "loss_in_C": split,
        },
        seeds={"random problems": lemmas.SEED},
    )


def _picture(variance: float, split: float) -> Picture:
    figure, (ax,) = drawing.figure(1, 5.6, 2.2)
    rows = [("loss / κH (Theorem 1)", 2, 1, 1.0), ("variances / H²", 3, 1, variance), ("loss / (C + C)", 4, 2, split)]
    for y, (_, printed, proved, seen) in enumerate(rows):
        ax.plot([seen, printed], [y, y], color="#cccccc", linewidth=1.2, zorder=0)
        ax.plot(printed, y, "s", color=drawing.RED, label="printed" if y == 0 else None, markersize=7)
        ax.plot(proved, y, "o", color=drawing.BLUE, label="proved" if y == 0 else None, markersize=7)
        ax.plot(seen, y, "|", color="black", label="largest seen" if y == 0 else None, markersize=13)
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set(xlim=(0, 4.2), ylim=(-0.6, 2.6), xlabel="constant")
    ax.legend(loc="lower right")
    return Picture("errata", figure, "Constants: as printed, as proved, and the largest ratio computed.")
