"""Counts of the house, by reading its source: ``python tests/house.py`` prints them, ``test_house.py`` holds them."""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "maxatk"
MAP = SOURCE.parents[1] / "MAP.md"
WORDS = {
    "costs": {"cost", "price", "abandon", "stop_at", "objective"},
    "engine": {"device", "sweeper", "workers", "executor", "engine", "threads", "crew", "pool", "run"},
    "lattice": {"lattice"},
}
CARRIERS = 10  # fields of an object that carries others, at most


def module_name(file: Path) -> str:
    """The dotted name of a module, without the package's own."""
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def tree_of(file: Path) -> ast.Module:
    """A module, parsed once."""
    return ast.parse(file.read_text())


def trees() -> Iterator[tuple[str, ast.Module]]:
    """All modules, as (name, tree)."""
    for file in sorted(SOURCE.rglob("*.py")):
        yield module_name(file), tree_of(file)


def signatures(words: set[str]) -> list[str]:
    """Functions that take an argument of one of these names."""
    found: list[str] = []
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                if given & words:
                    found.append(f"{name}.{node.name}")
    return found


def carriers() -> dict[str, int]:
    """Classes that are nothing but fields, dataclasses and named tuples, with how many they have."""
    return {
        f"{name}.{node.name}": sum(isinstance(x, ast.AnnAssign) and "ClassVar" not in ast.dump(x) for x in node.body)
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and (
            "dataclass" in "".join(map(ast.dump, node.decorator_list))
            or "NamedTuple" in "".join(map(ast.dump, node.bases))
        )
    }


def lines_of_code(file: Path) -> int:
    """Lines that hold code: no docstrings, comments or blanks."""
    tree = tree_of(file)
    prose: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node):
            prose.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    with file.open("rb") as opened:
        skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
        held = {
            line
            for token in tokenize.tokenize(opened.readline)
            if token.type not in (*skipped, tokenize.ENDMARKER)
            for line in range(token.start[0], token.end[0] + 1)
        }
    return len(held - prose)


def matching(pattern: str) -> list[str]:
    """Lines of source that match, as ``module: line``."""
    return [
        f"{module_name(file)}: {line.strip()}"
        for file in sorted(SOURCE.rglob("*.py"))
        for line in file.read_text().splitlines()
        if re.search(pattern, line)
    ]


def folders() -> dict[str, list[Path]]:
    """The modules of each folder, by its dotted name."""
    found: dict[str, list[Path]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        found.setdefault(".".join(file.relative_to(SOURCE).parent.parts), []).append(file)
    return found


def first_line(file: Path) -> str:
    """What a module says of itself."""
    return (ast.get_docstring(tree_of(file)) or "").partition("\n")[0]


def the_map() -> str:
    """Every module in its room, with the first line of its docstring: what ``MAP.md`` holds."""
    lines = [
        "# Every module, in its room",
        "",
        "Made by `python tests/house.py --map` from the first line of each module.",
    ]
    for name, files in folders().items():
        lines += ["", f"## {name.replace('.', '/') or 'maxatk'}/", ""]
        for file in files:
            if file.name == "__init__.py":
                lines += [first_line(file), ""]
        lines += [f"- `{file.name}`: {first_line(file)}" for file in files if file.name != "__init__.py"]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def main() -> None:
    """Print all counts; with ``--map``, write ``MAP.md``."""
    if "--map" in sys.argv:
        MAP.write_text(the_map())
        return
    for kind, words in WORDS.items():
        print(f"signatures that name {kind}: {len(signatures(words))}")
    large = {name: n for name, n in carriers().items() if n > CARRIERS}
    print(f"objects of more than {CARRIERS} fields: {large}")
    kinds = matching(r"\.(whole|dense)\b")
    print(f"lines with .whole or .dense: {len(kinds)}")
    files = sorted(SOURCE.rglob("*.py"))
    print(f"{len(files)} files, {sum(len(f.read_text().splitlines()) for f in files)} lines, of code", end=" ")
    print(sum(map(lines_of_code, files)))
    print("above 450 lines:", [module_name(f) for f in files if len(f.read_text().splitlines()) > 450])


if __name__ == "__main__":
    main()
