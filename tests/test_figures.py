"""Figures show the numbers they claim to show."""

import sys

import numpy as np
import pytest
from matplotlib.text import Text

import maxatk as mk


@pytest.fixture(scope="module")
def plan():
    return mk.solve(mk.instances.windy_cliff(), k=5)


def test_curves(plan, tmp_path):
    figure = mk.figures.curves(plan)
    lines = figure.axes[0].get_lines()
    assert len(lines) == 6
    m, value = lines[1].get_data()
    for x, y in zip(m[::50], value[::50], strict=True):
        lower, upper = plan.curve(1, x)
        assert lower - 1e-9 <= y <= upper + 1e-9
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_action_maps(plan):
    figure = mk.figures.action_map(plan, rollout=4, step=5, state=28)
    (mesh,) = figure.axes[0].collections
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["up", "right", "M cannot be beaten"]
    edges = mesh.get_coordinates()[0, :, 0]
    bests = (edges[1:] + edges[:-1]) / 2
    for m, shown in zip(bests, np.asarray(mesh.get_array()).reshape(-1), strict=True):
        taken = plan.policy.action(rollout=4, step=5, state=28, best=float(m), so_far=-5)
        assert shown == (4 if m >= -13 else taken)  # eight more steps to the goal, at least
    with pytest.raises(mk.InputError, match="no try comes to state 40 at step 0"):
        mk.figures.action_map(plan, rollout=0, step=0, state=40)
    with pytest.raises(mk.InputError, match="rollout must be between 0 and 4, not 5"):
        mk.figures.action_map(plan, rollout=5, step=0, state=36)


@pytest.mark.slow
def test_paths_gamble_first_and_insure_last(plan):
    axes = mk.figures.paths(plan).axes[:3]
    assert [ax.get_title(loc="left") for ax in axes] == [
        "the first try",
        "the last, no result yet",
        "the last, best so far -16",
    ]

    def arrows(ax):  # by cell: which way, across and down
        drawn = [(note.xy, note.get_position()) for note in ax.texts if not note.get_text()]
        return {
            (round((y0 + y1) / 2), round((x0 + x1) / 2)): (np.sign(round(x1 - x0, 6)), np.sign(round(y1 - y0, 6)))
            for (x1, y1), (x0, y0) in drawn
        }

    first, last, with_some = map(arrows, axes)
    for column in range(1, 11):
        assert first[2, column] == with_some[2, column] == (1, 0)  # along the edge
        assert last[2, column] == (0, -1)  # away from it
    shade = axes[0].get_images()[0].get_array()
    assert shade.shape == (4, 12)
    assert shade[3, 0] >= 1  # every rollout starts there
    with pytest.raises(mk.InputError, match="the names of the states do not describe a grid"):
        mk.figures.paths(mk.solve(mk.instances.figure1(), 2))
    with pytest.raises(mk.InputError, match="2 rows and 2 columns does not have 48 states"):
        mk.figures.paths(plan, shape=(2, 2))


def labels(axes):
    """Of the rows, which are wrapped."""
    return [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]


def test_comparisons():
    compared = mk.compare(mk.instances.proposition3(), 2)
    axes = compared.figure().axes[0]
    assert labels(axes) == [row.name for row in compared.rows]
    steps = mk.figures.best_returns(compared).axes[0].get_lines()
    assert len(steps) == 6
    x, y = steps[0].get_data()  # the chance of at least each best return
    law = compared.rows[0].evaluation.law
    assert x.tolist() == [*law.values, law.values[-1]]
    assert y[:-1] == pytest.approx([1 - law.cdf(v) + p for v, p in zip(law.values, law.probs, strict=True)])


def test_all_rows_of_a_long_comparison_are_drawn():
    """There are eight colours, and may be more rows: the plan's own is the last."""
    mdp = mk.instances.proposition3()
    compared = mk.compare(mdp, 2, policies={f"number {n}": mk.solve(mdp, 2).policy for n in range(5)})
    assert len(compared.rows) > 8
    names = [row.name for row in compared.rows]
    axes = compared.figure().axes[0]
    assert labels(axes) == names
    assert [line.get_label() for line in mk.figures.best_returns(compared).axes[0].get_lines()] == names


def test_without_matplotlib(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mk.MissingExtraError, match=r"pip install 'maxatk\[plot\]'"):
        mk.figures.curves(plan)


def test_every_figure_has_a_caption_and_goes_into_a_paper(plan, tmp_path):
    compared = mk.compare(mk.instances.figure1(), 4, widths=(2,))
    told = []
    mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.3, delta=0.1, rng=0, progress=told.append)
    figures = [
        mk.figures.curves(plan, points=5),
        mk.figures.action_map(plan, rollout=4, step=5, state=28, points=5),
        mk.figures.best_returns(compared),
        mk.figures.comparison(compared),
        mk.figures.rounds(compared),
        mk.figures.by_tries(mk.compare(mk.instances.figure1(), [1, 2])),
        mk.figures.learning(told),
    ]
    captions = [figure.caption for figure in figures]
    assert len(set(captions)) == len(captions)
    assert all(caption.endswith(".") for caption in captions)
    texts = [text.get_text() for figure in figures[:2] for text in figure.findobj(Text)]
    assert not [text for text in (*captions, *texts) if "rollout" in text]
    written = figures[0].to_latex(tmp_path / "x.pdf", caption="50 % of it")
    assert (tmp_path / "x.pdf").read_bytes()[:4] == b"%PDF"
    assert r"\caption{50 \% of it}" in written
    assert written.startswith("\\begin{figure}\n")


@pytest.mark.slow
def test_latex_is_as_wide_as_a_column(tmp_path):
    compared = mk.compare(mk.instances.figure1(gamma=0.25), 2)
    for figure in (mk.figures.comparison(compared), mk.figures.action_map(compared.plan, rollout=1, step=0, state=0)):
        assert figure.get_figwidth() == 3.5
        assert r"\begin{figure}" in figure.to_latex(tmp_path / "x.pdf")
        assert r"\includegraphics[width=\columnwidth]{" in figure.to_latex(tmp_path / "x.pdf")
        figure.draw_without_rendering()
        window = figure.get_tightbbox()
        assert window.width <= 3.5 + 0.05  # nothing sticks out
    wide = mk.figures.paths(mk.solve("FrozenLake-v1", k=2))
    assert r"\includegraphics[width=\textwidth]{" in wide.to_latex(tmp_path / "x.pdf")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nonexistent/x.pdf", "/nonexistent/x.pdf: cannot be written: No such file or directory"),
        ("x.foo", "x.foo: cannot be written: Format 'foo' is not supported"),
        (3, "path must be a path, not 3"),
    ],
)
def test_figures_that_cannot_be_written(path, message):
    figure = mk.figures.curves(mk.solve(mk.instances.figure1(), k=2))
    with pytest.raises(mk.InputError, match=message):
        figure.to_latex(path)
    with pytest.raises(mk.InputError, match="caption must be text, not 3"):
        figure.to_latex("x.pdf", caption=3)
