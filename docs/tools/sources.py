"""Code of the examples, shown as it is: no page has a copy of it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def shown(path: str, name: str) -> str:
    """The class or function of that name in a file, decorators included, as a block of code."""
    text = (ROOT / path).read_text()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            return "\n".join(["```python", *text.splitlines()[first - 1 : node.end_lineno], "```"])
    raise ValueError(f"{path} has no {name}")
