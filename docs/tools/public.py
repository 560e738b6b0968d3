"""What is public, and whether it is documented: for the test of the reference, and for the build, which draws on it.

Fields of classes are documented as this project does it, by a comment on their line, or else by a docstring or an entry
under ``Args:`` of their class.
"""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import maxatk as mk

REFERENCE = Path(__file__).parents[1] / "reference"
DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)  # mkdocstrings': document this object here


def names() -> list[str]:
    """The public names that the reference must have: those of maxatk, and of the modules that it offers."""
    modules = [thing for thing in map(_of, ["gym", *mk.__all__]) if inspect.ismodule(thing)]
    return [
        *(f"maxatk.{name}" for name in [*mk.__all__, "BestOfK"] if not inspect.ismodule(_of(name))),
        *(f"{module.__name__}.{name}" for module in modules for name in _own(module)),
    ]


def referenced() -> list[str]:
    """What the pages of the reference document, in order; a module stands for all that is public in it."""
    found: list[str] = []
    for page in sorted(REFERENCE.glob("*.md")):
        for name in DIRECTIVE.findall(page.read_text()):
            thing = resolve(name)
            found += [f"{name}.{own}" for own in _own(thing)] if inspect.ismodule(thing) else [name]
    return found


def resolve(path: str) -> Any:
    """The object of a dotted path."""
    thing: Any = mk
    for name in path.split(".")[1:]:
        thing = getattr(thing, name)
    return thing


def faults(path: str) -> Iterator[str]:
    """What is missing in the documentation of a function, or of a class and all that is public in it."""
    thing = resolve(path)
    if inspect.isclass(thing):
        yield from _class_faults(path, thing)
    else:
        yield from _function_faults(path, thing, inspect.getdoc(thing) or "")


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class defines itself, as functions."""
    for name, value in vars(thing).items():
        inner = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(inner):
            yield name, inner


def missing(pages: str) -> list[str]:
    """What the built pages of the reference, in HTML, lack of all that they should document."""
    heading = r'id="([\w.]+)" class="doc doc-heading">\s*<code class="doc-symbol doc-symbol-heading doc-symbol-(\w+)"'
    shown = set(re.findall(heading, pages))
    return [path for path, kind in _places() if (path, kind) not in shown]


def _places() -> Iterator[tuple[str, str]]:
    """The places that the reference must have, and what is there: a class, a function, a method or an attribute."""
    for path in referenced():
        thing = resolve(path)
        yield path, "class" if inspect.isclass(thing) else "function"
        if inspect.isclass(thing):
            for name, _ in members(thing):
                yield f"{path}.{name}", _kind(vars(thing)[name])
            yield from ((f"{path}.{name}", "attribute") for name, documented in _fields(thing).items() if documented)


def _kind(value: Any) -> str:
    return "method" if inspect.isfunction(value) or isinstance(value, classmethod | staticmethod) else "attribute"


def comment(line: str) -> str | None:
    """The comment at the end of a line of code."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return token.string.lstrip("# ")
    except tokenize.TokenError:  # the line is part of a longer statement
        return None
    return None


def described(doc: str) -> set[str]:
    """The arguments that a docstring describes: in a section of their own, or by name in the text."""
    return {*_entries(doc), *re.findall(r"``(\w+)\b[^`]*``", doc)}


def _entries(doc: str) -> list[str]:
    """The names that have an entry under ``Args:``."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)*)", f"{doc}\n", re.MULTILINE)
    return re.findall(r"^    (\w+):", section[1], re.MULTILINE) if section else []


def _of(name: str) -> Any:
    return getattr(mk, name)


def _own(module: ModuleType) -> list[str]:
    """The public functions and classes that a module defines, or that a package offers."""
    if hasattr(module, "__path__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__ and callable(thing)
    ]


def _function_faults(path: str, function: Any, doc: str, known: frozenset[str] = frozenset()) -> Iterator[str]:
    """What is missing for a function; ``known`` are arguments that are described elsewhere."""
    if not doc:
        yield f"{path} has no docstring"
    taken = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
    if len(taken) > 1:
        yield from (f"{path} does not describe {p}" for p in taken if p not in described(doc) | known)


def _class_faults(path: str, thing: type) -> Iterator[str]:
    doc = inspect.getdoc(thing) or ""
    if not thing.__doc__:
        yield f"{path} has no docstring"
    ours = [base for base in thing.__mro__ if base is thing or base.__module__.startswith("maxatk")]
    texts = [inspect.cleandoc(base.__doc__ or "") for base in ours]
    entries = {name for text in texts for name in described(text)}
    if inspect.isfunction(vars(thing).get("__init__")) and not (
        is_dataclass(thing) or getattr(thing, "_is_protocol", False)
    ):
        yield from _function_faults(path, thing.__init__, doc, frozenset(entries))
    for name, function in members(thing):
        above = {a for base in ours if name in vars(base) for a in described(inspect.getdoc(getattr(base, name)) or "")}
        yield from _function_faults(f"{path}.{name}", function, function.__doc__ or "", frozenset(above))
    above = {name for base in ours for name, documented in _fields(base).items() if documented}
    foreign = {name for base in thing.__mro__ if base not in ours for name in [*vars(base), *_annotations(base)]}
    told = above | foreign | {name for text in texts for name in _entries(text)}
    if path.endswith("Model") and thing is not mk.Model:  # they have what mk.Model says
        told |= described(inspect.getdoc(mk.Model) or "") | set(_fields(mk.Model))
    yield from (f"{path}.{name} has no comment" for name in _fields(thing) if name not in told)


def _annotations(thing: type) -> list[str]:
    return list(vars(thing).get("__annotations__", {}))


def _fields(thing: type) -> dict[str, bool]:
    """The public fields of a class, its own and those that its constructor sets, and whether each has a comment."""
    source = inspect.getsource(thing)
    lines, (body,) = source.splitlines(), ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, bool] = {}
    inits = [node for node in body.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    for owner in [body, *inits]:
        for node, after in zip(owner.body, [*owner.body[1:], None], strict=True):
            for name in _assigned(node, "self" if owner in inits else None):
                text = comment(lines[(node.end_lineno or node.lineno) - 1])
                found.setdefault(name, bool(text) or _is_docstring(after))
    return found


def _assigned(node: ast.stmt, owner: str | None) -> Iterator[str]:
    """The public names that a statement assigns, or annotates: plain ones, or attributes of ``owner``."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            name = None
            if owner is None and isinstance(part, ast.Name):
                name = part.id
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == owner:
                name = part.attr
            if name and not name.startswith("_"):
                yield name


def _is_docstring(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
