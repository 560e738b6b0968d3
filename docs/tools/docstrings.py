"""A Griffe extension: our docstrings as Markdown, and the comments of fields as their docstrings.

Docstrings are written for people who read them in the source or with ``help``: references as ``:class:`maxatk.MDP```,
examples as plain doctests. Here the first become links, of which a strict build demands that they lead somewhere, and
the second blocks of code.
"""

import re
from typing import Any

import griffe

from tools.public import comment  # docs/hooks.py has been loaded by then

ROLE = re.compile(r":(?:class|func|meth|attr|mod):`(~?)([\w.]+)`")
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1.*\S.*)*", re.MULTILINE)  # to the next blank line


class Docstrings(griffe.Extension):
    """Rewrites every docstring, once the package is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """All objects are known now, so references can be resolved."""
        _prefer_functions(pkg)
        self._rewrite(pkg)

    def _rewrite(self, thing: griffe.Object) -> None:
        if thing.is_attribute and not thing.docstring and not thing.is_private:
            _take_comment(thing)
        if thing.is_attribute and str(thing.value).startswith("field("):
            thing.value = None  # how a dataclass treats it, and not what it is
        if thing.docstring:
            thing.docstring.value = markdown(thing.docstring.value, thing)
        for member in thing.members.values():
            if not member.is_alias:
                self._rewrite(member)


def _prefer_functions(package: griffe.Module) -> None:
    """``maxatk.learning.learn`` is a module, and a function of it that the package imports: the function is meant.

    Python has it so, too, but Griffe would document the module.
    """
    for name, member in list(package.members.items()):
        if not member.is_alias:
            continue
        path = member.target_path.split(".")
        module: Any = package
        for part in path[1:]:
            module = module.members.get(part) if module is not None and not module.is_alias else None
        if module is not None and not module.is_alias and module.is_module and name in module.members:
            package.members[name] = griffe.Alias(name, f"{member.target_path}.{name}", parent=package)


def markdown(text: str, thing: griffe.Object) -> str:
    """A docstring as Markdown: links for roles, fences around examples."""
    text = EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```\n", text)
    text = re.sub(r"^ *<BLANKLINE>$", "", text, flags=re.MULTILINE)  # which doctest needs, but no reader
    return ROLE.sub(lambda found: f"[`{found[2]}`][{_path(found[2], thing)}]", text)


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


def _take_comment(field: griffe.Object) -> None:
    """The comment on a field's last line, as its docstring. ``[H]`` at its front, a shape, is shown as code."""
    words = comment(field.lines[-1]) if field.lines else None
    if words:
        shape = re.match(r"\[[^\]]*\]", words)
        words = f"``{shape[0]}``{words[shape.end() :]}" if shape else words[0].upper() + words[1:]
        field.docstring = griffe.Docstring(words if words.endswith(".") else f"{words}.", parent=field)
