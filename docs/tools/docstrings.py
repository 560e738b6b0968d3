"""A Griffe extension: our docstrings as Markdown, and the comments of fields as their docstrings.

Docstrings are written for people who read them in the source or with ``help``: references as ``:class:`maxatk.MDP```,
examples as plain doctests. Here the first become links, of which a strict build demands that they lead somewhere, and
the second blocks of code.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|attr|mod):`(~?)([\w.]+)`")
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1.*\S.*)*", re.MULTILINE)  # to the next blank line


class Docstrings(griffe.Extension):
    """Rewrites every docstring, once the package is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """All objects are known now, so references can be resolved."""
        things = list(_all_in(pkg))
        _prefer_functions(pkg)
        for thing in things:
            _rewrite(thing)


def _all_in(thing: griffe.Object) -> Iterator[griffe.Object]:
    yield thing
    for member in thing.members.values():
        if not isinstance(member, griffe.Alias):
            yield from _all_in(member)


def _rewrite(thing: griffe.Object) -> None:
    if thing.is_attribute and not thing.docstring and not thing.is_private:
        _take_comment(thing)
    if isinstance(thing, griffe.Attribute) and str(thing.value).startswith("field("):
        thing.value = None  # how a dataclass treats it, and not what it is
    if thing.docstring:
        thing.docstring.value = markdown(thing.docstring.value, thing)


def _prefer_functions(package: griffe.Module) -> None:
    """``maxatk.learning.learn`` is a module, and a function of it that the package imports: the function is meant.

    Python has it so, too, but Griffe would document the module. All is looked up before anything is put in its place,
    for the way to a function may lead through a module of its name.
    """
    offered: list[tuple[griffe.Module, str, griffe.Object]] = []
    for module in _packages(package):
        for name, path in module.imports.items():
            target = _find(package, path)
            if target is not None and target is not module.members.get(name):
                offered.append((module, name, target))
    for module, name, target in offered:
        module.members[name] = griffe.Alias(name, target, parent=module)


def _packages(module: griffe.Module) -> Iterator[griffe.Module]:
    if module.is_init_module:
        yield module
        for inner in module.modules.values():
            if not inner.is_alias:
                yield from _packages(inner)


def _find(package: griffe.Module, path: str) -> griffe.Object | None:
    """What an import brings, by its path; None where that is no part of the package."""
    thing: Any = package
    first, *rest = path.split(".")
    if first != package.name:
        return None
    for place, name in enumerate(rest):
        thing = thing.members.get(name)
        if thing is None:
            return None
        if thing.is_alias:
            return _find(package, ".".join([thing.target_path, *rest[place + 1 :]]))
    own = thing.members.get(path.rpartition(".")[2]) if thing.is_module else None
    return own if own is not None and own.is_function else thing


def markdown(text: str, thing: griffe.Object) -> str:
    """A docstring as Markdown: links for roles, fences around examples."""
    text = EXAMPLE.sub(lambda lines: f"{lines[1]}```pycon\n{lines[0].rstrip()}\n{lines[1]}```\n", text)
    text = re.sub(r"^ *<BLANKLINE>$", "", text, flags=re.MULTILINE)  # which doctest needs, but no reader
    return ROLE.sub(lambda role: f"[`{role[2]}`][{_path(role[2], thing)}]", text)


def _path(name: str, thing: griffe.Object) -> str:
    """The full path of a name, as the docstring of ``thing`` may use it: of its class, its module, or maxatk."""
    if name.startswith("maxatk."):
        return name
    scope: Any = thing
    while scope is not None:
        first, *rest = name.split(".")
        if first in scope.members:
            return ".".join([scope.members[first].canonical_path, *rest])
        scope = scope.parent
    return name


def comment(line: str) -> str | None:
    """The comment at the end of a line of code."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return token.string.lstrip("# ")
    except tokenize.TokenError:  # the line is part of a longer statement
        return None
    return None


def _take_comment(field: griffe.Object) -> None:
    """The comment on a field's last line, as its docstring. ``[H]`` at its front, a shape, is shown as code."""
    words = comment(field.lines[-1]) if field.lines else None
    if words:
        shape = re.match(r"\[[^\]]*\]", words)
        words = f"``{shape[0]}``{words[shape.end() :]}" if shape else words[0].upper() + words[1:]
        field.docstring = griffe.Docstring(words if words.endswith(".") else f"{words}.", parent=field)
