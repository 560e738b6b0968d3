"""Folders import only folders below them: what is left of the old edges is listed, and the list only shrinks."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import house
import maxatk as mk

ONE = mk.MarkovPolicy([[0]], k=1)
ROOT = Path(__file__).parents[1] / "src" / "maxatk"
# From the floor to the roof. A folder imports those before it, and ``attempts`` nothing but ``base``.
ORDER = (
    *("base", "attempts", "kernels", "engines", "problem", "policies", "laws", "evaluation", "planning", "comparison"),
    *("learning", "gym", "integrations", "report", "paper", "cli"),
)
# Edges that are still to go, by (importing module, imported folder). Late imports count: they hide an edge, and do not
# remove it.
LEFT: set[tuple[str, str]] = set()
# The same within ``attempts``: its folders and the files beside them. ``training`` needs none of the others.
ATTEMPTS = ("tuning", "warnings", "training", "logs", "estimates", "judges", "log", "sequences", "scheduler", "study")
FACTORY = ("attempts.sequences.plan", "scheduler")  # the one edge upwards: ``SequencePlan.scheduler`` makes one
# The one file that may import ``report`` from below it.
DOOR = "base.display"
HEAVY = ("numba", "scipy", "rich")


def imports():
    """(importing module, imported module or name), for all imports within the package."""
    for file in sorted(ROOT.rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(house.tree_of(file)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if name.startswith("maxatk."):
                    yield module, name.removeprefix("maxatk.")


def forbidden():
    for module, name in imports():
        here, there = module.split(".")[0], name.split(".")[0]
        if module == DOOR and there == "report":
            continue
        if here not in ORDER or there not in ORDER or here == there:
            continue
        upwards = ORDER.index(there) > ORDER.index(here)
        beside = there == "attempts" and here not in ("integrations", "report", "cli", "paper")
        if upwards or beside or (here == "attempts" and there != "base"):
            yield module, there


def test_no_folder_imports_one_above_it():
    found = set(forbidden())
    assert found - LEFT == set(), "new edges upwards"
    assert LEFT - found == set(), "gone: take them off the list"


def test_attempts_is_built_from_logs_to_the_study():
    """No folder within ``attempts`` imports one above it."""
    found = set()
    for module, name in imports():
        here, there = ([*dotted.split("."), ""][:2] for dotted in (module, name))
        if here[0] == there[0] == "attempts" and here[1] in ATTEMPTS and there[1] in ATTEMPTS and here != there:
            upwards = ATTEMPTS.index(there[1]) > ATTEMPTS.index(here[1])
            if upwards or there[1] == "training" or (here[1] == "training" and there[1] != "tuning"):
                found.add((module, there[1]))
    assert found == {FACTORY}


def test_every_file_of_attempts_has_its_place():
    names = {path.stem for path in (ROOT / "attempts").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    assert names - {"__init__"} == set(ATTEMPTS)


def loaded(code):
    """The modules that are loaded after some code ran in a fresh interpreter."""
    told = f"import sys\n{code}\nprint(*sys.modules)"
    return subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("code", "folders"),
    [
        ("import maxatk as mk; mk.MDP", {"base", "problem"}),
        ("from maxatk import attempts as at; at.Log, at.read_log, at.sequence", {"base", "attempts"}),
        ("from maxatk import attempts as at; at.study, at.load_scheduler, at.weights", {"base", "attempts"}),
    ],
)
def test_what_is_asked_for_is_loaded_and_no_more(code, folders):
    modules = loaded(code)
    assert {name.split(".")[1] for name in modules if name.startswith("maxatk.")} == folders
    assert [name for name in HEAVY if name in modules] == []


def test_a_log_is_shown_without_the_planner():
    code = "from maxatk import attempts as at; str(at.example_log().max_at_k(1)); str(at.PassRange(9, 3, 0, 1, 9, 0.9))"
    assert not {"maxatk.planning", "maxatk.kernels", "numba"} & set(loaded(code))


def test_no_test_patches_a_threshold():
    """A patch of a constant that has moved does nothing, and its test passes on the wrong branch: ``tune`` refuses."""
    patched = re.compile(r'setattr\((?:"maxatk[\w.]*\.|[\w.]+, ")[A-Z][A-Z_]+"')
    own = ("adaptivity", "benchmarks", "public", "gallery")  # scripts of the documentation
    for file in Path(__file__).parent.glob("test_*.py"):
        found = [line.strip() for line in file.read_text().splitlines() if patched.search(line)]
        assert [line for line in found if not any(f"setattr({name}," in line for name in own)] == [], file.name


POLICY = {"action", "actions", "begin", "best_so_far", "cost", "horizon", "k", "stop_at", "stops", "utility"}


def test_a_policy_is_small():
    """What the library asks of policies beside that is private: ``policies/hooks.py`` is its one door to it."""

    def public(thing):
        return {name for name in dir(thing) if not name.startswith("_")}

    mdp = mk.instances.figure1()
    assert (
        public(mk.Policy) == public(mk.CompressedPolicy) == {"action", "actions", "begin", "cost", "stops", "utility"}
    )
    assert public(mk.AdaptivePolicy(lambda *_: 0, 2, 1)) == public(mk.MixedPolicy([ONE], [1], 2)) == POLICY
    assert public(mk.solve(mdp, 2).policy) == POLICY | {"mdp"}
    assert public(mk.solve(mdp, 2, solver=mk.Exact()).policy) == POLICY | {"action_values"}
    assert public(mk.solve(mdp, 2, solver=mk.Midpoint(0.5)).policy) == POLICY
    assert public(ONE) == POLICY | {"table"}
    assert public(mk.HistoryPolicy(lambda _: 0, 2, 1)) == POLICY | {"choose"}


def test_names_are_technical():
    """These words are paraphrases, each of several things."""
    banned = re.compile(r"(?:^|_)(?:worth|enough|paid|found)(?:_|$)|in_hand")
    for file in ROOT.rglob("*.py"):
        tree = house.tree_of(file)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert {name for name in names if banned.search(name)} == set(), file.name


def test_the_map_shows_every_module():
    """``python tests/house.py --map`` writes it anew."""
    assert house.MAP.read_text() == house.the_map()
    assert [file for files in house.folders().values() for file in files if not house.first_line(file)] == []


def test_every_folder_has_its_place():
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders == set(ORDER)
