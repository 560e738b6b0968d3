"""Interrupted runs of learners go on as if nothing had happened; files that are none are refused."""

import itertools
import json
import os
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import maxatk as mk
from maxatk.base import archive
from maxatk.learning import ledger

ARGUMENTS = {"k": 2, "epsilon": 0.3, "delta": 0.1, "rng": 5}
LEARNERS = {"adaptive": mk.Adaptive(), "uniform": mk.Uniform()}
EPSILON = {"adaptive": 0.1, "uniform": 0.9}


class Stopping(mk.TabularModel):
    """A model that is interrupted at its ``last`` call, before or after the draw."""

    def __init__(self, last, before=True, stop=None):
        super().__init__(mk.instances.figure1())
        self.calls, self.last, self.before, self.stop = 0, last, before, stop

    def sample(self, step, state, action, n, rng):
        self.calls += 1
        if self.calls == self.last and self.before:
            raise KeyboardInterrupt
        drawn = super().sample(step, state, action, n, rng)
        if self.calls == self.last:
            raise KeyboardInterrupt
        return drawn


def same(a, b):
    return (
        a.counts.tolist() == b.counts.tolist()
        and (a.samples, a.epsilon, a.certificate) == (b.samples, b.epsilon, b.certificate)
        and (a.model_plan.lower, a.model_plan.upper, a.model_plan.mdp)
        == (b.model_plan.lower, b.model_plan.upper, b.model_plan.mdp)
    )


@pytest.fixture
def eager(tune):
    tune(save_every=0.0)
    tune(sample_chunk=500)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("before", [True, False])
def test_an_interrupted_run_goes_on(tmp_path, eager, name, before):
    arguments = {**ARGUMENTS, "epsilon": EPSILON[name], "learner": LEARNERS[name]}
    whole_model = Stopping(0)
    whole = mk.learn(whole_model, **arguments)
    for last in sorted({1, 2, 3, whole_model.calls // 2, whole_model.calls - 1, whole_model.calls}):
        path = tmp_path / f"{last}.ckpt"
        with pytest.raises(KeyboardInterrupt):
            mk.learn(Stopping(last, before), **arguments, checkpoint=path)
        again = mk.learn(Stopping(0), **arguments, checkpoint=path)
        assert same(again, whole)
        done = Stopping(1)  # a finished run asks for nothing more
        assert same(mk.learn(done, **arguments, checkpoint=path), whole)
        assert done.calls == 0


def test_a_run_interrupted_at_every_turn(tmp_path, eager):
    """Interrupted again and again, it draws what an uninterrupted one draws, and loses nothing that was saved."""
    path, whole = tmp_path / "x.ckpt", mk.learn(Stopping(0), **ARGUMENTS)
    saved = 0
    for _ in range(10_000):
        try:
            out = mk.learn(Stopping(40), **ARGUMENTS, checkpoint=path)
        except KeyboardInterrupt:
            with np.load(path) as file:
                count = int(file["data_count"].sum() + file["trials_count"].sum())
            assert count >= saved
            saved = count
            continue
        assert same(out, whole)
        return
    pytest.fail("it never ended")


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path, tune):
    code = f"""
import os, signal
import maxatk as mk
from maxatk.base.tuning import tuned

class Killed(mk.TabularModel):
    calls = 0
    def sample(self, *row):
        self.calls += 1
        if self.calls == 12:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().sample(*row)

model = Killed(mk.instances.figure1())
with tuned(save_every=0.0, sample_chunk=50):
    mk.learn(model, **{ARGUMENTS!r}, checkpoint={os.fspath(tmp_path / "x.ckpt")!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    assert [file.name for file in tmp_path.iterdir()] == ["x.ckpt"]
    tune(sample_chunk=50)
    model = Stopping(0)
    again = mk.learn(model, **ARGUMENTS, checkpoint=tmp_path / "x.ckpt")
    full = Stopping(0)
    assert same(again, mk.learn(full, **ARGUMENTS))
    assert 0 < model.calls < full.calls


def test_checkpoints_are_also_written_as_time_goes_by(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(ledger.time, "perf_counter", lambda: now[0])
    written = []
    monkeypatch.setattr(ledger.archive, "write", lambda *_: written.append(now[0]))

    class Slow(mk.TabularModel):
        def sample(self, *row):
            now[0] += 0.3
            return super().sample(*row)

    mk.learn(Slow(mk.instances.figure1()), 1, epsilon=0.2, delta=0.1, checkpoint=tmp_path / "x.ckpt")
    assert len(written) >= 2
    assert all(1.0 <= b - a <= 2.0 for a, b in itertools.pairwise(written[:-1]))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "x.ckpt"
    mk.learn(Stopping(0), **ARGUMENTS, checkpoint=path)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 3}, "another k:"),
        ({"epsilon": 0.2}, "another epsilon"),
        ({"delta": 0.2}, "another delta"),
        ({"rng": 6}, "another rng"),
        ({"learner": mk.Uniform()}, "another learner"),
        ({"model": mk.TabularModel(mk.instances.proposition3())}, "another model"),
        ({"budget": 100}, "more than the budget of 100"),
    ],
)
def test_other_arguments_are_refused(saved, change, message):
    arguments = {"model": Stopping(0), **ARGUMENTS, **change}
    with pytest.raises(mk.InputError, match=message):
        mk.learn(**arguments, checkpoint=saved)


def rewrite(path, **changes):
    """The file with other members; ``header`` changes are merged."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "checksum"}
    header = json.loads(arrays.pop("header").tobytes().decode())
    header.update(changes.pop("header", {}))
    kind, version = header.pop("format").removeprefix("maxatk "), header.pop("version")
    archive.write(path, changes.pop("kind", kind), changes.pop("version", version), header, {**arrays, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "plan"}, "its header is not that of a maxatk checkpoint"),
        ({"version": 99}, "it has format version 99"),
        ({"header": {"settings": None}}, "it has no settings"),
        ({"header": {"round": -1}}, "round must be between 0 and"),
        ({"header": {"generator": {"bit_generator": "MT19937"}}}, "no such state"),
        ({"header": {"generator": None}}, "no such state"),
        ({"data_row": np.array([0, 9])}, "differ in length"),
        ({"data_row": np.array([0, 0, 1, 9])}, "rows or states that do not exist"),
        ({"data_row": np.array([0, 0, 0, 1])}, "counts an outcome twice"),
        ({"data_next": np.array([1, 1, 1, 7])}, "rows or states that do not exist"),
        ({"data_count": np.array([1, 1, 1, 0])}, "make no sense"),
        ({"data_reward": np.array([0, 0.5, 0, np.nan])}, "make no sense"),
        ({"target": np.zeros(5, np.int64)}, "its arrays make no sense"),
        ({"returns": np.array([np.inf])}, "its arrays make no sense"),
        ({"returns": np.array([1])}, "returns holds <i8"),
        # With these it went on for ever.
        ({"target": np.full(2, 2**50)}, "its target for .* is 1125899906842624 samples, and this learner takes"),
        ({"header": {"round": 10**12}}, "it has .* samples, and is in round 1000000000000"),
        ({"data_count": np.array([1, 1, 1, 2**50])}, "its target does not go with what was counted"),
        ({"trials_count": np.array([1, 1, 1, 2**50])}, "its trials took more samples than another round would have"),
        # With these it claimed what it had not seen.
        ({"target": np.array([-1, 64])}, "its counts make no sense: target"),
        ({"returns": np.array([1.5])}, "its returns are out of range"),
        ({"returns": np.zeros(10**4)}, "it has 10000 trials, and .* samples of them"),
        ({"returns": np.zeros(0)}, "it has 0 trials, and .* samples of them"),
    ],
)
def test_hostile_files_are_refused(saved, changes, message):
    rewrite(saved, **changes)
    with pytest.raises(mk.InputError, match=message) as error:
        mk.learn(Stopping(0), **ARGUMENTS, checkpoint=saved)
    assert "\n" not in str(error.value)


def test_a_forged_target_of_the_papers_learner_is_refused(tmp_path, eager):
    path, arguments = tmp_path / "x.ckpt", {**ARGUMENTS, "epsilon": 0.9, "learner": mk.Uniform()}
    with pytest.raises(KeyboardInterrupt):
        mk.learn(Stopping(3), **arguments, checkpoint=path)
    rewrite(path, target=np.full(2, 2**50))
    with pytest.raises(mk.InputError, match=r"its target for .* is 1125899906842624 samples") as error:
        mk.learn(Stopping(0), **arguments, checkpoint=path)
    assert str(error.value).startswith(f"{path}: not a readable maxatk checkpoint: ")


def test_a_round_that_the_budget_does_not_pay_for_is_refused(tmp_path, eager):
    path = tmp_path / "x.ckpt"
    with pytest.raises(KeyboardInterrupt):
        mk.learn(Stopping(2), **ARGUMENTS, checkpoint=path)
    with pytest.raises(mk.InputError, match=r"it is to draw 64 samples next, and the budget leaves 3$"):
        mk.learn(Stopping(0), **ARGUMENTS, checkpoint=path, budget=67)


def test_damaged_files_are_refused(saved):
    whole = saved.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:size])
        with pytest.raises(mk.InputError, match="not a readable maxatk checkpoint"):
            mk.learn(Stopping(0), **ARGUMENTS, checkpoint=saved)
    saved.write_text("something else")
    with pytest.raises(mk.InputError, match="not a readable maxatk checkpoint"):
        mk.learn(Stopping(0), **ARGUMENTS, checkpoint=saved)
    with zipfile.ZipFile(saved, "w") as file:
        file.writestr("header.npy", b"junk")
    with pytest.raises(mk.InputError, match="not a readable maxatk checkpoint"):
        mk.learn(Stopping(0), **ARGUMENTS, checkpoint=saved)


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(mk.InputError, match="cannot be written"):
        mk.learn(Stopping(0), **ARGUMENTS, checkpoint=tmp_path / "nowhere" / "x.ckpt")


def test_an_interrupt_between_rounds(tmp_path, monkeypatch):
    """While trials are being added to the data nothing may be saved: they would count twice."""
    from maxatk.learning.data import Data

    def run(checkpoint=None):
        return mk.learn(
            mk.TabularModel(mk.instances.figure1()), 2, epsilon=0.1, delta=0.1, rng=0, checkpoint=checkpoint
        )

    straight = run()
    merge, calls = Data.merge, []

    def interrupted(self, other):
        merge(self, other)
        calls.append(other.samples)
        if sum(map(bool, calls)) == 1 and calls[-1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Data, "merge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "x.ckpt")
    monkeypatch.undo()
    again = run(tmp_path / "x.ckpt")
    assert (again.samples, again.epsilon) == (straight.samples, straight.epsilon)
    assert (again.counts == straight.counts).all()
