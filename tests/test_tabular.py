"""Results as data frames, LaTeX and CSV: what is written is what the objects say, and bounds hold as printed."""

import csv
import io
import re
import sys
from fractions import Fraction

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at
from maxatk.base.tabular import Tabular


@pytest.fixture(scope="module")
def compared():
    return mk.compare(mk.instances.proposition3(), 2)


def tables(compared):
    policy = compared.plan.policy
    earned = mk.evaluate(compared.mdp, policy)
    log = at.example_log().select(arms=["L-BFGS-B", "DE"])
    runs = mk.simulate(compared.mdp, policy, trials=5, rng=0)
    learned = mk.learn(mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.3, delta=0.1, rng=0)
    replay = at.cross_replay(log, price=0.1, folds=2)
    return [
        *(compared, earned, earned.law, runs, log.max_at_k([1, 2]), at.frontier(log, max_per_arm=2)),
        *(at.difference(log, "DE", "L-BFGS-B", k=1), replay, learned, mk.contrast(compared.plan)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_have_all_rows_and_columns(compared, library):
    pytest.importorskip(library)
    for table in tables(compared):
        columns, frame = table.columns(), table.to_frame(library)
        assert list(frame.columns) == list(columns)
        assert {len(column) for column in columns.values()} == {len(frame)}
        for name, column in columns.items():
            if all(isinstance(x, float) for x in column):
                assert list(frame[name]) == column


def test_csv_reads_back_to_the_same_numbers(compared, tmp_path):
    path = tmp_path / "rows.csv"
    text = compared.to_csv(path)
    assert path.read_text() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    for read, row in zip(rows, compared.rows, strict=True):
        assert read["policy"] == row.name
        assert (float(read["lower"]), float(read["upper"])) == (row.lower, row.upper)
        assert (Fraction(read["exact"]) if read["exact"] else None) == row.exact


@pytest.mark.parametrize("decimals", [0, 2, 4])
def test_bounds_hold_as_printed_in_latex(compared, decimals):
    lines = compared.to_latex(decimals=decimals).splitlines()
    body = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r"\\")][1:]
    assert len(body) == len(compared.rows)
    for cells, row in zip(body, compared.rows, strict=True):
        assert Fraction(cells[1]) <= Fraction(row.lower)
        assert Fraction(cells[2]) >= Fraction(row.upper)
        assert cells[3] == "--" if row.exact is None else True
        if cells[4] != "--":
            assert Fraction(cells[4]) <= Fraction(compared.share(row))


class Awkward(Tabular):
    def columns(self):
        wide = Fraction(10**5000 + 1, 3 * 10**5000)
        return {"a_b": ["50 % & $x^2$", "{\\}"], "upper": [-np.inf, np.nan], "lower": [-0.125, 1.0], "x": [wide, None]}


def test_signs_of_latex_are_escaped_and_huge_fractions_are_written():
    text = Awkward().to_latex(decimals=2, caption="#1_x")
    assert r"\caption{\#1\_x}" in text
    assert r"50 \% \& \$x\textasciicircum{}2\$ & $-\infty$ & $-0.13$ & 0.33 \\" in text
    assert r"\{\textbackslash{}\} & -- & 1.00 & -- \\" in text
    assert re.search(r"\\begin\{tabular\}\{lrrr\}", text)
    assert Awkward().to_csv().splitlines()[1].endswith(",-inf,-0.125,0.3333333333333333")


def test_bad_input(compared, monkeypatch, tmp_path):
    with pytest.raises(mk.InputError, match="library must be one of pandas, polars"):
        compared.to_frame("excel")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(mk.MissingExtraError, match="needs pandas, which is not installed"):
        compared.to_frame()
    with pytest.raises(mk.InputError, match="decimals must be"):
        compared.to_latex(decimals=-1)
    with pytest.raises(mk.InputError, match="cannot be written"):
        compared.to_csv(tmp_path / "no" / "rows.csv")


@pytest.mark.slow
def test_plans_studies_differences_sequences_and_reports_are_tables():
    plan = mk.solve("figure1", 3)
    assert plan.to_frame()[["lower", "upper"]].values.tolist() == [list(ends) for ends in plan.values_by_tries()]
    log = at.example_log()
    pairs = at.differences(log)
    assert pairs.to_csv().splitlines()[0] == "first,second,of,k,value,lower,upper,tasks_needed"
    assert pairs.to_frame()["value"].tolist() == [pair.value for pair in pairs]
    sequence = at.sequence(log, price=0.1)
    assert sequence.to_frame()["arm"].tolist() == sequence.arms
    rows = [{"task": t, "score": t % 3 % 2, "judge": (t + i) % 4 / 4} for t in range(12) for i in range(4)]
    report = at.Log.from_records(rows).judge_report()
    frame = report.to_frame()
    assert frame["estimate"].tolist() == [curve.name for curve in report.curves for _ in curve]
    assert frame["value"].tolist() == [point.value for curve in report.curves for point in curve]
    study = at.study(log, k=[1, 2])
    assert study.to_frame("polars")["value"].to_list() == [point.value for curve in study.curves for point in curve]


def test_what_a_replay_and_a_contrast_say(compared):
    log = at.example_log().select(arms=["L-BFGS-B", "DE"])
    replay = at.cross_replay(log, price=0.1, folds=2)
    columns = replay.columns()
    rows = dict(zip(zip(columns["policy"], columns["mean of"], strict=True), columns["lower"], strict=True))
    assert rows["the sequence", "net"] == replay.net.lower
    assert rows["the gain", "net"] == replay.gain.lower
    assert rows[replay.single.name, "cost"] == replay.single.cost.lower
    contrast = mk.contrast(compared.plan)
    columns = contrast.columns()
    assert columns["try"] == [1, 2, 2]
    assert columns["mean lower"] == [one.least.mean for one in (contrast.first, *contrast.last)]


def test_bad_arguments_have_one_line(compared):
    with pytest.raises(mk.InputError, match="path must be a path, not 3"):
        compared.to_csv(3)
    with pytest.raises(mk.InputError, match="caption must be text, not 3"):
        compared.to_latex(caption=3)
