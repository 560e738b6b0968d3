"""Every block of code in the README and in the documentation is run, and its output compared.

One test per file, in a folder of its own:

- ``python``: a doctest session, shared by all blocks of the file.
- ``console``: lines ``$ command`` with what they print, blank space and ``...`` aside. ``maxatk`` runs in this process.
- ``sh``: the set-up commands listed here, and nothing else.
- ``text``, ``bibtex``: no code.

Anything else fails, so that no code goes untested: another language, a fence without one, an indented block, raw HTML.
"""

import contextlib
import doctest
import importlib.util
import io
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from maxatk import cli

ROOT = Path(__file__).parents[1]
FILES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SET_UP = {  # commands that a test cannot run, and why
    "README.md": "test_readme.py holds them to .ci/run, which runs them",
}
EXTRAS = ("altair", "gymnasium", "matplotlib", "stable_baselines3", "vl_convert")
WIDTH = "100"  # of the terminal

FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
CONTAINER = re.compile(r"(?:!!!|\?\?\?\+?|===|:::|\[\^\w+\]:)(?:\s|$)")  # what is indented below is its content
ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")


class Block(NamedTuple):
    """What a fence holds, free of its indentation, and the number of its first line."""

    language: str
    text: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The blocks of code of a Markdown file, at whatever depth; what could hide code is an error."""
    lines = [line.expandtabs(4) for line in re.sub(r"<!--.*?-->", _blank, text, flags=re.DOTALL).splitlines()]
    depth = [0]  # where the text of what is open begins: lists, admonitions, tabs
    after_blank, number = True, 0
    while number < len(lines):
        line = lines[number]
        number += 1
        words = line.strip()
        if not words:
            after_blank = True
            continue
        indent = len(line) - len(line.lstrip())
        while indent < depth[-1]:
            depth.pop()
        fence = FENCE.match(words)
        if after_blank and not fence and indent >= depth[-1] + 4:
            pytest.fail(f"line {number}: an indented block of code; fence it and say what it is")
        if re.search(r"<(?:pre|code|script)\b", re.sub(r"`[^`]*`", "", words)):
            pytest.fail(f"line {number}: code in HTML; fence it and say what it is")
        if not fence and FENCE.match(re.sub(r"^(?:>|[-*+]|\d+[.)]|\s)+", "", words)):
            pytest.fail(f"line {number}: a fence in a quotation or in the line of an item; give it a line of its own")
        after_blank = False
        item = ITEM.match(words)
        if fence:
            inside, first = [], number + 1
            while number < len(lines) and not _closes(lines[number], fence[1]):
                inside.append(lines[number][indent:] if not lines[number][:indent].strip() else lines[number])
                number += 1
            if number == len(lines):
                pytest.fail(f"line {first - 1}: a fence that is not closed")
            number += 1
            yield Block(fence[2].strip(), "\n".join(inside) + "\n", first)
        elif CONTAINER.match(words):
            depth.append(indent + 4)
        elif item:
            depth.append(indent + item.end())


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _closes(line: str, fence: str) -> bool:
    words = line.strip()
    return len(words) >= len(fence) and set(words) == {fence[0]}


class Session(doctest.DocTestRunner):
    """Runs blocks of Python one after the other. What needs an extra that is missing is skipped."""

    def __init__(self, file: str) -> None:
        super().__init__(optionflags=doctest.ELLIPSIS)
        self._file, self._globals = file, {"__name__": "__main__"}

    def follow(self, block: Block) -> None:
        """Run a block."""
        if not block.text.lstrip().startswith(">>> "):
            pytest.fail(f"line {block.line}: python is a session here, whose lines begin with >>>")
        examples = doctest.DocTestParser().get_examples(block.text)
        test = doctest.DocTest(examples, self._globals, self._file, self._file, block.line - 1, None)
        said = io.StringIO()
        if self.run(test, out=said.write, clear_globs=False).failed:
            pytest.fail(said.getvalue(), pytrace=False)
        self._globals = test.globs

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """Skip what an extra is missing for."""
        if isinstance(exc_info[1], ImportError):
            skip_without(str(exc_info[1]))
        super().report_unexpected_exception(out, test, example, exc_info)


def follow(block: Block) -> None:
    """Run the commands of a block, and compare what they print."""
    if not block.text.startswith("$ "):
        pytest.fail(f"line {block.line}: a console begins with $ and a command")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for match in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        command, expected = match[1].replace("\\\n", " "), match[2]
        printed = run(command)
        if "pip install" in printed:
            skip_without(printed)
        checker, example = doctest.OutputChecker(), doctest.Example(command, expected.strip() and expected)
        if not checker.check_output(example.want, printed, flags):
            line = block.line + block.text[: match.start()].count("\n")
            pytest.fail(
                f"line {line}: $ {command}\n{checker.output_difference(example, printed, flags)}", pytrace=False
            )


def run(command: str) -> str:
    """What a command prints, standard error included."""
    words = shlex.split(command, comments=True)
    if words[0] != "maxatk" or re.search(r"[|<>&;$*]", command):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
        cli.main(words[1:])
    return printed.getvalue()


def skip_without(message: str) -> None:
    """Skip the rest of a file if it is an extra that is missing, and not something else."""
    missing = [name for name in EXTRAS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{message.strip()} (not installed: {', '.join(missing)})")


def check(text: str, name: str = "example.md") -> None:
    """Run all blocks of a file in the present folder."""
    session = Session(name)
    for block in blocks(text):
        language = block.language.split(" ")[0]  # a title may follow
        if language == "python":
            session.follow(block)
        elif language == "console":
            follow(block)
        elif language not in ("text", "bibtex") and not (language == "sh" and name in SET_UP):
            pytest.fail(f"line {block.line}: {language or 'a block without a language'} is not tested")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Any) -> None:
    tune(progress_every=math.inf)  # how long a command takes is not what it prints
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.parent == ROOT else pytest.mark.slow) for path in FILES],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_code_of(path: Path):
    check(path.read_text(), str(path.relative_to(ROOT)))


GOOD = """
# All that is allowed

```python
>>> x = 1
```

1. An item, and in it

    ```python
    >>> print(f"{x}\\n\\n2 ... 3")
    1
    <BLANKLINE>
    2 ... 3
    ```

!!! note "A note"

    Text in it, and a list:

    - with a block

      ~~~console
      $ maxatk solve figure1 -k 2 --exact --json   # cheap
      {... "exact": "9/16", ...}
      $ maxatk solve \\
          nothing
      maxatk: there is no instance 'nothing': the instances are ...
      $ echo one | tr o O
      One
      ~~~

````text
```python
not code
```
````
"""


def test_what_is_allowed():
    check(GOOD)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\n>>> 1 + 1\n3\n```", "Expected:\n    3"),
        ("```python\n>>> x = 1\n```\n\n```python\n>>> x\n2\n```", "Expected:\n    2"),
        ("!!! note\n\n    ```python\n    >>> 1 + 1\n    3\n    ```", "Expected:\n    3"),
        ('=== "Tab"\n\n    ~~~python\n    >>> 1 + 1\n    3\n    ~~~', "Expected:\n    3"),
        ("> ```python\n> >>> 1 + 1\n> 3\n> ```", "in a quotation"),
        ("- item\n\n  ```python\n  >>> 1 + 1\n  3\n  ```", "Expected:\n    3"),
        ("```python\n>>> undefined\n```", "NameError"),
        ("```python\nprint(1)\n```", "a session here"),
        ("```console\n$ maxatk solve figure1 -k 2 --exact --json\n{... 9/17 ...}\n```", "Expected:"),
        ("```console\n$ maxatk --version\n```", "Expected nothing"),
        ("```console\n$ echo one\ntwo\n```", "Expected:\n    two"),
        ("```console\nmaxatk solve\n```", "begins with"),
        ("```sh\nmaxatk solve\n```", "sh is not tested"),
        ("```py\n1\n```", "py is not tested"),
        ("```\n1\n```", "without a language"),
        ("```{.python}\n>>> 1\n2\n```", "is not tested"),
        ("Text\n\n    indented = 1\n", "an indented block"),
        ("- item\n\n        indented = 1\n", "an indented block"),
        ("!!! note\n\n        indented = 1\n", "an indented block"),
        ("- ```python\n  >>> 1\n  2\n  ```", "in the line of an item"),
        ("<pre>1</pre>", "code in HTML"),
        ("```python\n>>> 1\n1\n", "not closed"),
    ],
)
def test_what_fails(text: str, message: str):
    with pytest.raises(pytest.fail.Exception) as caught:
        check(text)
    assert message in str(caught.value)
