"""Pages from Jinja templates; all text is escaped unless it is marked as HTML."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any


class Html(str):
    """Text that is not escaped in a page."""

    def __html__(self) -> str:
        return self


def minus(text: str) -> str:
    """Text with minus signs in front of numbers, as charts write them."""
    return re.sub(r"(?<![\w-])-(?=\d)", "−", text)


def in_script(data: Any) -> Html:
    """Data as JSON for a script; no name can end the script that contains it."""
    return Html(json.dumps(data, allow_nan=False).replace("<", "\\u003c"))


def part(package: str, name: str) -> str:
    """The text of a file beside the code of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def render(template: str, filters: dict[str, Callable[..., Any]] | None = None, **values: Any) -> str:
    """The template rendered with the values; ``filters`` are functions that it may call."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= filters or {}
    return environment.from_string(template).render(**values)
