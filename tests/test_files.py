"""Problems as files: whole or absent, without pickle, and nothing in them trusted."""

import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxatk as mk
from maxatk.base.archive import atomic_write, checksum
from problems import one_line, specs, table_of


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("files") / "good.npz"
    mk.instances.subset_sum().save(path)  # fractions, names, state-dependent actions, outcomes that end
    return path.read_bytes()


def members(data: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: array for name, array in archive.items() if name != "checksum"}


def written(path: Path, arrays: dict[str, np.ndarray], save=np.savez) -> Path:
    """A forged file: whatever it holds, its checksum is right, if these arrays can have one."""
    with contextlib.suppress(TypeError, ValueError, BufferError):
        arrays = {**arrays, "checksum": np.frombuffer(checksum(arrays).encode(), np.uint8)}
    with path.open("wb") as file:
        save(file, **arrays)
    return path


def header(data: bytes, **changes) -> np.ndarray:
    old = json.loads(members(data)["header"].tobytes())
    return np.frombuffer(json.dumps({**old, **changes}).encode(), np.uint8)


def refusal(path: Path) -> str:
    with pytest.raises(mk.InputError) as error:
        mk.load_mdp(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


@pytest.mark.parametrize("name", mk.instances.names())
def test_every_instance_survives(name, tmp_path):
    mdp = mk.instances.make(name)
    mdp.save(tmp_path / "x.npz")
    loaded = mk.load_mdp(str(tmp_path / "x.npz"))
    assert loaded == mdp
    assert (loaded.state_names, loaded.action_names) == (mdp.state_names, mdp.action_names)
    assert (loaded.n_actions, loaded.exact_prob, loaded.exact_reward) == (
        mdp.n_actions,
        mdp.exact_prob,
        mdp.exact_reward,
    )


@settings(max_examples=30)
@given(spec=specs(), part=st.sampled_from([3, 7, 10**25 + 1]))
def test_fractions_survive(spec, part, tmp_path_factory):
    table = table_of(spec, lambda x: Fraction(x) if x else x)
    start = [Fraction(1, part), *[Fraction(0)] * (spec.S - 1)]
    start[-1] += 1 - start[0] if spec.S > 1 else 1 - Fraction(1, part)
    mdp = mk.MDP.from_table(table, horizon=spec.H, start=start)
    path = tmp_path_factory.mktemp("fractions") / "x.npz"
    mdp.save(path)
    loaded = mk.load_mdp(path)
    assert loaded.fingerprint == mdp.fingerprint
    assert loaded.exact_start() == mdp.exact_start()


def test_numbers_longer_than_python_prints_survive(tmp_path):
    tiny = Fraction(1, 3**20_000)
    mdp = mk.MDP.from_table({0: {0: [(0.5, 0, tiny, True), (0.5, 0, 1, True)]}}, horizon=1)
    mdp.save(tmp_path / "x.npz")
    assert mk.load_mdp(tmp_path / "x.npz").exact_reward == (tiny, 1)


def test_no_member_needs_pickle(good):
    assert {array.dtype.kind for array in members(good).values()} == {"i", "u", "f"}


def test_truncated_anywhere(good, tmp_path):
    path = tmp_path / "cut.npz"
    for length in [*range(0, len(good), 97), len(good) - 1]:
        path.write_bytes(good[:length])
        refusal(path)


@settings(max_examples=150)
@given(data=st.data())
def test_flipped_bytes_are_noticed_or_harmless(good, tmp_path_factory, data):
    """The checksum covers all that a file holds; what it does not cover cannot change the problem."""
    places = data.draw(st.lists(st.integers(0, len(good) - 1), min_size=1, max_size=4, unique=True))
    changed = bytearray(good)
    for place in places:
        changed[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flipped") / "x.npz"
    path.write_bytes(bytes(changed))
    try:
        assert mk.load_mdp(path) == mk.instances.subset_sum()
    except mk.MaxAtKError as error:
        one_line(error)


@settings(max_examples=150)
@given(data=st.data())
def test_junk_members_give_a_problem_or_an_error(good, tmp_path_factory, data):
    """Members replaced by random arrays, with the archive's checksums right."""
    arrays = members(good)
    kinds = [np.int64, np.int32, np.float64, np.uint8, np.bool_, np.complex128]
    for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=3, unique=True)):
        like = arrays[name]
        if data.draw(st.booleans()):  # entries of the right type, a few of them wrong
            junk = like.copy()
            for _ in range(data.draw(st.integers(1, 3))):
                junk[data.draw(st.integers(0, len(junk) - 1))] = data.draw(
                    st.integers(0, 255) if junk.dtype == np.uint8 else st.integers(-(2**31), 2**31 - 1)
                )
        else:
            shape = data.draw(st.sampled_from([(0,), (1,), like.shape, (*like.shape, 1), ()]))
            junk = np.full(shape, data.draw(st.integers(0, 9)), data.draw(st.sampled_from(kinds)))
        arrays[name] = junk
    path = written(tmp_path_factory.mktemp("junk") / "x.npz", arrays)
    try:
        assert isinstance(mk.load_mdp(path), mk.MDP)
    except mk.MaxAtKError as error:
        one_line(error)


@given(data=st.binary(max_size=300))
def test_random_bytes(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("bytes") / "x.npz"
    path.write_bytes(data)
    refusal(path)


def test_a_newer_version_says_so(good, tmp_path):
    path = written(tmp_path / "x.npz", {"header": header(good, version=5)})
    assert refusal(path) == "not a readable maxatk problem: it has format version 5, and this maxatk reads 2 and 4"


def test_a_foreign_archive_says_so(tmp_path):
    path = written(tmp_path / "x.npz", {"weights": np.zeros(3)})
    assert refusal(path) == "not a readable maxatk problem: it has no header"
    path = written(tmp_path / "y.npz", {"header": np.frombuffer(b"[1]", np.uint8)})
    assert refusal(path) == "not a readable maxatk problem: its header is not that of a maxatk problem"


def test_a_missing_member_is_named(good, tmp_path):
    arrays = members(good)
    del arrays["reward"]
    assert refusal(written(tmp_path / "x.npz", arrays)) == "not a readable maxatk problem: it has no reward"


class Bomb:
    def __reduce__(self):
        return os._exit, (3,)


def test_object_arrays_are_not_unpickled(good, tmp_path):
    arrays = {**members(good), "reward": np.array([Bomb()], dtype=object)}
    assert pickle.dumps(Bomb())  # it would go off if loaded
    path = written(tmp_path / "x.npz", arrays)
    assert (
        refusal(path)
        == "not a readable maxatk problem: reward holds |O of shape (1,): expected one dimension of numbers"
    )


def with_header_of_prob(good: bytes, path: Path, text: str) -> Path:
    """The good file, its checksums right, but the array ``prob`` nothing but this header."""
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            changed = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
            new.writestr(info.filename, changed if info.filename == "prob.npy" else old.read(info))
    return path


@pytest.mark.parametrize("claim", [10**6, 10**12, 10**30])
def test_absurd_sizes_take_no_memory(good, tmp_path, claim):
    """A header that promises more entries than the file has bytes."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({claim},), }}"
    path = with_header_of_prob(good, tmp_path / "x.npz", text)
    assert refusal(path) == f"not a readable maxatk problem: prob claims {claim} entries, but holds 0 bytes"


@pytest.mark.parametrize("text", ["(", "'" * 3, "{\n  1\n 2}", "-" * 9000 + "1", "[]", "{'descr': 'O'}"])
def test_malformed_array_headers(good, tmp_path, text):
    path = with_header_of_prob(good, tmp_path / "x.npz", text)
    assert refusal(path).startswith("not a readable maxatk problem: ")


@pytest.mark.parametrize("states", [3 * 10**8, 10**12])
def test_a_small_file_cannot_ask_for_many_states(good, tmp_path, states):
    arrays = {**members(good), "header": header(good, n_states=states), "pair_start": np.zeros(1, np.int64)}
    assert refusal(written(tmp_path / "x.npz", arrays)).endswith("pair_start does not list the rows of every state")
    arrays["step_layer"] = np.arange(10**4, dtype=np.int32)
    assert refusal(written(tmp_path / "x.npz", arrays)).endswith("pair_start does not list the rows of every state")


def test_endless_fractions_are_refused(good, tmp_path):
    arrays = {**members(good), "exact_reward": np.frombuffer(b"f" * 10**6 + b"/1", np.uint8)}
    assert refusal(written(tmp_path / "x.npz", arrays)).endswith("a fraction has more than 65536 digits")


def test_many_writers_leave_a_whole_file(tmp_path):
    problems = [mk.instances.proposition1(k) for k in range(2, 10)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda mdp: mdp.save(tmp_path / "x.npz"), problems * 10))
    assert mk.load_mdp(tmp_path / "x.npz") in problems
    assert len(list(tmp_path.iterdir())) == 1


def test_compressed_members_are_not_expanded(good, tmp_path):
    """A megabyte of zeros compresses to a kilobyte; a file must not grow a thousandfold when read."""
    path = written(tmp_path / "x.npz", {**members(good), "prob": np.zeros(10**6)}, save=np.savez_compressed)
    assert refusal(path) == "not a readable maxatk problem: its members are compressed"


def test_members_cannot_overlap_into_more_than_the_file(good, tmp_path):
    """Many directory entries that all point at one member."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", bytes(10_000))
        first = archive.infolist()[0]
        for i in range(200):
            copy = zipfile.ZipInfo(f"copy{i}.npy")
            for field in ("header_offset", "file_size", "compress_size", "CRC", "compress_type"):
                setattr(copy, field, getattr(first, field))
            archive.filelist.append(copy)
    assert refusal(path) == "not a readable maxatk problem: its members claim more bytes than the file has"


def test_missing_files_and_folders(tmp_path):
    assert refusal(tmp_path / "none.npz") == "cannot be read: No such file or directory"
    assert refusal(tmp_path) == "cannot be read: it is not a file"
    assert refusal(Path("/dev/zero")) == "cannot be read: it is not a file"
    with pytest.raises(mk.InputError, match=r"none/x\.npz: cannot be written: No such file or directory"):
        mk.instances.figure1().save(tmp_path / "none" / "x.npz")
    for name in ("", "a\0b"):
        with pytest.raises(mk.InputError, match="cannot be written"):
            mk.instances.figure1().save(name)


@pytest.mark.parametrize("name", ["reward", "header"])
def test_one_changed_entry_is_noticed(good, tmp_path, name):
    """The archive's own checksums made right again: ours tells."""
    arrays = {**members(good), "checksum": np.frombuffer(checksum(members(good)).encode(), np.uint8)}
    arrays[name] = header(good, n_actions=9) if name == "header" else arrays[name] + 1
    with (tmp_path / "x.npz").open("wb") as file:
        np.savez(file, **arrays)
    assert refusal(tmp_path / "x.npz").endswith("its checksum does not fit what it holds: it was damaged or changed")


def test_drafts_of_killed_writers_are_removed(tmp_path):
    """What kill -9 leaves behind goes with the next writing; what is being written stays."""
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from maxatk.base.archive import atomic_write\n"
        "with atomic_write(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "x.npz")], check=False)
    assert [path.suffix for path in tmp_path.iterdir()] == [".draft"]
    with atomic_write(tmp_path / "x.npz") as file:
        file.write(b"first")
        assert len(list(tmp_path.iterdir())) == 1  # the orphan is gone, our own draft is there
        mk.instances.figure1().save(tmp_path / "x.npz")
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    assert (tmp_path / "x.npz").read_bytes() == b"first"


def test_a_file_is_whole_or_as_it_was(tmp_path):
    target = tmp_path / "x.npz"
    target.write_bytes(b"old")
    with contextlib.suppress(KeyboardInterrupt), atomic_write(target) as file:
        file.write(b"half of the ne")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_saving_twice_replaces(tmp_path):
    mk.instances.figure1().save(tmp_path / "x.npz")
    mk.instances.proposition3().save(tmp_path / "x.npz")
    assert mk.load_mdp(tmp_path / "x.npz") == mk.instances.proposition3()
    assert len(list(tmp_path.iterdir())) == 1


# Plans whose checksum is right.


@pytest.fixture(scope="module")
def cliff(tmp_path_factory) -> tuple[mk.MDP, bytes]:
    """A problem whose best of 3 is between -17.561 and -17.560, no return more than -13, and its plan."""
    mdp, path = mk.instances.windy_cliff(), tmp_path_factory.mktemp("plan") / "x.plan"
    mk.solve(mdp, 3).save(path)
    return mdp, path.read_bytes()


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (100.0, 200.0, "its bounds are 100 and 200, and no policy earns more than -13"),
        (-10.0, -5.0, "its bounds are -10 and -5, and no policy earns more than -13"),
        (-20.0, 1e9, r"its bounds are -20 and 1e\+09, and no policy earns more than -13"),
        (-500.0, -400.0, "its upper bound is -400, and some policy earns at least -19.67"),
        (-16.0, -17.0, "its numbers make no sense"),
    ],
)
def test_forged_bounds_of_a_plan(cliff, lower, upper, message, tmp_path):
    """They used to be believed, and evaluation to answer with a lower bound above its upper one."""
    mdp, data = cliff
    forged = {**members(data), "header": header(data, lower=lower, upper=upper)}
    with pytest.raises(mk.InputError, match=f"not a readable maxatk plan: {message}") as caught:
        mk.load_plan(written(tmp_path / "x.plan", forged), mdp)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("line_height0", 5.0, "its bounds contradict each other: at .* a curve is at least .*, and at most"),
        ("point_value0", -5.0, "its bounds contradict each other"),
        ("point_value1", -100.0, "its bounds contradict each other"),
    ],
)
def test_forged_curves_of_a_plan(cliff, name, change, message, tmp_path):
    mdp, data = cliff
    arrays = members(data)
    arrays[name] = arrays[name] + change
    with pytest.raises(mk.InputError, match=message) as caught:
        mk.load_plan(written(tmp_path / "x.plan", arrays), mdp)
    assert "\n" not in str(caught.value)


def test_curves_beyond_all_returns(cliff, tmp_path):
    mdp, data = cliff
    arrays = members(data)
    for name in ("line_height0", "point_value0"):
        arrays[name] = arrays[name] + 50.0
    with pytest.raises(mk.InputError, match="a curve is at least 37, and no return is more than -13"):
        mk.load_plan(written(tmp_path / "x.plan", arrays), mdp)


@pytest.mark.parametrize(
    ("mdp", "k", "lower", "upper"),
    [
        (mk.instances.windy_cliff(), 3, -14.0, -13.5),  # evaluated in floats
        (mk.instances.windy_cliff(), 3, -19.0, -18.0),
        (mk.instances.figure1(gamma=0.25), 2, 0.7, 0.8),  # and in fractions
    ],
)
def test_a_certificate_that_evaluation_contradicts_is_named(mdp, k, lower, upper, tmp_path):
    """Nothing but an evaluation can tell; it used to answer with the empty interval between the two."""
    mk.solve(mdp, k).save(tmp_path / "x.plan")
    data = (tmp_path / "x.plan").read_bytes()
    forged = {**members(data), "header": header(data, lower=lower, upper=upper)}
    plan = mk.load_plan(written(tmp_path / "y.plan", forged), mdp)
    said = f"the policy's certificate says that it earns between {lower:g} and {upper:g}, but it earns between"
    with pytest.raises(mk.InputError, match=said) as caught:
        mk.evaluate(mdp, plan.policy)
    assert "\n" not in str(caught.value)
