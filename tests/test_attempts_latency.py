"""What latency costs on held-out tasks: by width, held to cross-validated replays; its words, and the command."""

import json

import numpy as np
import pytest

from maxatk import InputError
from maxatk import attempts as at
from maxatk.cli import main


@pytest.fixture(scope="module")
def log():
    """A log in which attempts see much of each other: one arm, a threshold that half of the attempts reach."""
    rng = np.random.default_rng(0)
    rows = [{"task": t, "score": float(rng.random() < p)} for t, p in enumerate(rng.random(60)) for _ in range(8)]
    return at.Log.from_records(rows, score_range=(0, 1))


@pytest.fixture(scope="module")
def told(log):
    return at.latency(log, (4, 2), price=0.05)


def test_every_row_is_a_cross_validated_replay(log, told):
    assert [row.width for row in told.rows] == [1, 2, 4]
    for row in told.rows:
        alone = at.cross_replay(log, price=0.05, width=row.width)
        assert (row.score, row.cost, row.rounds) == (alone.score, alone.cost, alone.rounds)
    assert told.price == 0.05


def test_differences_are_paired_by_task(log, told):
    one, *others = told.rows
    assert (one.gain.value, one.gain.lower, one.gain.upper) == (0, 0, 0)
    for row in others:
        assert row.more_score.value == pytest.approx(row.score.value - one.score.value)
        assert row.more_cost.value == pytest.approx(row.cost.value - one.cost.value)
        assert row.gain.value == pytest.approx(row.more_score.value - 0.05 * row.more_cost.value)
        assert row.gain.lower <= row.gain.value <= row.gain.upper
        unpaired = row.cost.upper - row.cost.lower + one.cost.upper - one.cost.lower
        assert row.more_cost.upper - row.more_cost.lower < unpaired
    assert others[-1].rounds.upper < one.rounds.lower


def test_words_claim_what_the_interval_shows(told):
    said = told.verdict
    for row in told.rows[1:]:
        worse = f"Making {row.width} at a time is worse than making one at a time: by "
        assert (worse in said) == (row.gain.upper < 0)
        assert "better" not in said
    assert "at_width" not in said
    assert said.endswith(" rounds.") or "One at a time takes " in said
    assert [one.upper < 0 for one in told.findings] == [row.gain.upper < 0 for row in told.rows[1:]]
    frame = told.to_frame("pandas")
    assert frame["width"].tolist() == [1, 2, 4]
    assert frame["rounds value"].tolist() == [row.rounds.value for row in told.rows]
    assert "less one at a time" in str(told).replace("\n", " ")
    assert repr(told).startswith("Latency(1: score ")


def test_one_generator_serves_all_widths(log):
    some, again = (at.latency(log, 2, price=0.05, rng=np.random.default_rng(3)) for _ in range(2))
    assert some == again


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        (0, r"widths\[0\] must be at least 1, not 0"), ([2, "x"], r"widths\[1\] must be an integer"),
        ([], "widths must be a number of attempts made at once"),
    ],
)  # fmt: skip
def test_bad_widths_are_refused(log, widths, message):
    with pytest.raises(InputError, match=message):
        at.latency(log, widths, price=1.0)
    with pytest.raises(InputError, match=message):
        at.study(log, widths=widths)


def test_a_study_has_it_and_the_command_prints_it(log, tmp_path, capsys):
    path = tmp_path / "log.csv"
    scores = zip(np.array(log.tasks)[log.task].tolist(), log.score.tolist(), strict=True)
    path.write_text("\n".join(["task,score", *(f"{task},{score}" for task, score in scores)]))
    study = at.study(at.read_log(path), price=0.05, widths=2)
    assert study.latency == at.latency(at.read_log(path), 2, price=0.05, method="greedy")
    assert at.study(log, price=0.05).latency is None
    assert set(study.latency.findings) <= set(study.findings)
    assert main(["attempts", str(path), "--price", "0.05", "--width", "2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert study.latency.verdict in out
    assert main(["attempts", str(path), "--price", "0.05", "--width", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["latency"]
    assert [row["width"] for row in rows] == [1, 2]
    assert rows[1]["gain"]["value"] == study.latency.rows[1].gain.value


def test_a_frontier_shows_its_rounds(log):
    alone, rounds = at.frontier(log), at.frontier(log, width=4)
    assert (alone.width, rounds.width) == (1, 4)
    assert "rounds" not in str(alone)
    assert "rounds of 4" in " ".join(str(rounds).split())
