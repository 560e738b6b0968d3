"""What is public, and whether it is documented, as Griffe reads the source: for the test of the reference, and for the
build of the site, which draws on it.

Fields of classes are documented as this project does it, by a comment on their line, or else by a docstring or an entry
under ``Args:`` of their class.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import griffe

import maxatk as mk

from .docstrings import Docstrings

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)  # mkdocstrings': document this object here


@cache
def package() -> griffe.Module:
    """All of maxatk, with comments of fields as their docstrings."""
    extensions = griffe.load_extensions(Docstrings)
    loaded = griffe.load("maxatk", search_paths=[ROOT / "src"], extensions=extensions, resolve_aliases=True)
    assert isinstance(loaded, griffe.Module)
    return loaded


def names() -> list[str]:
    """The public names that the reference must have: those of maxatk, and of the modules that it offers."""
    return [path for name in dict.fromkeys([*mk.__all__, "gym", "BestOfK"]) for path in _all_of(f"maxatk.{name}")]


def referenced() -> list[str]:
    """What the pages of the reference document, in order; a module stands for all that is public in it."""
    pages = [page.read_text() for page in sorted(REFERENCE.glob("*.md"))]
    return [path for text in pages for name in DIRECTIVE.findall(text) for path in _all_of(name)]


def _all_of(path: str) -> list[str]:
    """A name, or the functions and classes that a module defines, or that a package offers."""
    module = resolve(path)
    if not module.is_module:
        return [path]
    offered = getattr(import_module(module.path), "__all__", None) or [
        name
        for name, member in module.members.items()
        if not member.is_alias and (member.is_function or member.is_class) and not name.startswith("_")
    ]
    return [f"{path}.{name}" for name in offered]


def resolve(path: str) -> griffe.Object:
    """The object of a dotted path."""
    thing = package()[path.removeprefix("maxatk.")]
    return thing.final_target if isinstance(thing, griffe.Alias) else thing


def missing(pages: str) -> list[str]:
    """What the built pages of the reference, in HTML, lack of all that they should document."""
    heading = r'id="([\w.]+)" class="doc doc-heading">\s*<code class="doc-symbol doc-symbol-heading doc-symbol-(\w+)"'
    shown = set(re.findall(heading, pages))
    return [path for path, kind in _places() if (path, kind) not in shown]


def _places() -> Iterator[tuple[str, str]]:
    """The places that the reference must have, and what is there: a class, a function, a method or an attribute."""
    for path in referenced():
        thing = resolve(path)
        yield path, thing.kind.value
        if isinstance(thing, griffe.Class):
            for name, member in _own(thing).items():
                if member.docstring:
                    yield f"{path}.{name}", "method" if member.is_function else "attribute"


def faults(path: str, thing: griffe.Object) -> Iterator[str]:
    """What is missing in the documentation of a function, or of a class and all that is public in it."""
    if isinstance(thing, griffe.Class):
        yield from _class_faults(path, thing)
    elif isinstance(thing, griffe.Function):
        yield from _function_faults(path, thing, _words(thing), described(thing))


def described(thing: griffe.Object) -> set[str]:
    """The arguments that a docstring describes: in a section of their own, or by name in the text."""
    return {*_entries(thing), *re.findall(r"``(\w+)\b[^`]*``", _words(thing))}


def _entries(thing: griffe.Object) -> set[str]:
    """The names that have an entry under ``Args:``."""
    sections = thing.docstring.parse("google", warnings=False) if thing.docstring else []
    return {
        entry.name.lstrip("*")
        for section in sections
        if isinstance(section, griffe.DocstringSectionParameters)
        for entry in section.value
    }


def _words(thing: griffe.Object) -> str:
    return thing.docstring.value if thing.docstring else ""


def _own(thing: griffe.Class) -> dict[str, griffe.Object]:
    """The public members that a class defines itself."""
    return {
        name: member
        for name, member in thing.members.items()
        if not name.startswith("_") and not isinstance(member, griffe.Alias) and not member.is_class
    }


def _function_faults(path: str, function: griffe.Function, words: str, known: set[str]) -> Iterator[str]:
    """What is missing for a function; ``known`` are the arguments that are described."""
    if not words:
        yield f"{path} has no docstring"
    taken = [parameter.name.lstrip("*") for parameter in function.parameters]
    taken = [name for name in taken if name not in ("self", "cls")]
    if len(taken) > 1:
        yield from (f"{path} does not describe {name}" for name in taken if name not in known)


def _class_faults(path: str, thing: griffe.Class) -> Iterator[str]:
    if not thing.docstring:
        yield f"{path} has no docstring"
    family = [thing, *thing.mro()]  # those of other packages are not known here
    init = thing.members.get("__init__")
    if isinstance(init, griffe.Function) and "dataclass" not in thing.labels and not _is_protocol(thing):
        known = {name for base in family for name in described(base)}
        yield from _function_faults(path, init, "as the class says", known)
    told = {name for base in family for name in _entries(base)}
    told |= {name for base in family for name, member in _own(base).items() if member.docstring}
    if path.endswith("Model"):  # they have what mk.Model says
        told |= described(resolve("maxatk.Model")) | set(_own(resolve("maxatk.Model")))
    for name, member in _own(thing).items():
        above = [base.members[name] for base in family if name in base.members]
        if isinstance(member, griffe.Function):
            known = {argument for method in above for argument in described(method)}
            yield from _function_faults(f"{path}.{name}", member, _words(member), known)
        elif "property" in member.labels and not member.docstring:
            yield f"{path}.{name} has no docstring"
        elif name not in told:
            yield f"{path}.{name} has no comment"


def _is_protocol(thing: griffe.Class) -> bool:
    return any(str(base).split("[")[0].endswith("Protocol") for base in thing.bases)
