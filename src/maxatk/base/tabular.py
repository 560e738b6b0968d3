"""Results as tables for other programs: data frames of any library, LaTeX, CSV."""

import csv
import io
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from maxatk.base import checks
from maxatk.base.archive import atomic_write
from maxatk.base.errors import InputError, MissingExtraError
from maxatk.base.text import at_least, at_most

MOST_BITS = 14_000  # of a fraction in print: about 4,200 digits
LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")  # that narwhals makes frames of
_SPECIAL = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
}


class Tabular:
    """A result that has rows and columns.

    >>> import maxatk as mk
    >>> print(mk.compare(mk.instances.figure1(), k=2).to_csv().splitlines()[0])
    policy,lower,upper,exact,share,method
    """

    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The columns by name, all equally long: numbers, words, or None where nothing is known."""

    def to_frame(self, library: str = "pandas") -> Any:
        """The table as a data frame, with a column for each of :meth:`columns`; fractions become floats.

        Args:
            library: "pandas", "polars", "pyarrow", "modin" or "cudf", which must be installed.
        """
        if library not in LIBRARIES:
            raise InputError(f"library must be one of {', '.join(LIBRARIES)}, not {checks.shown(library)}")
        try:
            import_module(library)
        except ImportError:
            raise MissingExtraError(f"to_frame({library!r}) needs {library}, which is not installed") from None
        import narwhals.stable.v1 as nw

        columns = {name: [_plain(x) for x in values] for name, values in self.columns().items()}
        return nw.from_dict(columns, backend=library).to_native()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The table as CSV, with a line of names first; numbers are written in full.

        Args:
            path: a file to write it to as well, which is whole or not there.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = self.columns()
        writer.writerow(columns)
        writer.writerows([_written(x) for x in row] for row in zip(*columns.values(), strict=True))
        if path is not None:
            try:
                with atomic_write(Path(path)) as file:
                    file.write(text.getvalue().encode())
            except TypeError:
                raise InputError(f"path must be a path, not {checks.shown(path)}") from None
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {error.strerror}") from None
        return text.getvalue()

    def to_latex(self, *, decimals: int = 4, caption: str | None = None) -> str:
        r"""The table for LaTeX, with the rules of the package ``booktabs``.

        Lower bounds, in columns ``lower`` and ``share``, are rounded down, others, in ``upper`` and ``epsilon``, up.

        Args:
            decimals: of numbers.
            caption: if given, the table floats and has this caption, with special characters escaped.

        >>> import maxatk as mk
        >>> law = mk.evaluate(mk.instances.figure1(gamma=0.25), mk.MarkovPolicy([[1]], k=2)).law
        >>> print(law.to_latex(decimals=2))
        \begin{tabular}{rr}
        \toprule
        value & probability \\
        \midrule
        0.00 & 0.56 \\
        1.00 & 0.44 \\
        \bottomrule
        \end{tabular}
        """
        digits = checks.integer(decimals, "decimals", most=12)
        if caption is not None and not isinstance(caption, str):
            raise InputError(f"caption must be text, not {checks.shown(caption)}")
        columns = self.columns()
        kinds = "".join("r" if all(_is_number(x) for x in column) else "l" for column in columns.values())
        rows = [
            " & ".join(_cell(name, x, digits) for name, x in zip(columns, row, strict=True)) + r" \\"
            for row in zip(*columns.values(), strict=True)
        ]
        head = " & ".join(escaped(name) for name in columns) + r" \\"
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        lines.append(r"\end{tabular}")
        if caption is not None:
            lines = [r"\begin{table}", r"\centering", rf"\caption{{{escaped(caption)}}}", *lines, r"\end{table}"]
        return "\n".join(lines)


def _written(x: Any) -> str:
    """A number in full; but a fraction as a float if it has more digits than Python prints."""
    if isinstance(x, Fraction) and max(abs(x.numerator), x.denominator).bit_length() > MOST_BITS:
        return str(float(x))
    return "" if x is None else str(x)


def _plain(x: Any) -> Any:
    return float(x) if isinstance(x, Fraction) else x


def _is_number(x: Any) -> bool:
    return x is None or (isinstance(x, int | float | Fraction) and not isinstance(x, bool))


def _cell(name: str, x: Any, decimals: int) -> str:
    if x is None:
        return "--"
    if not isinstance(x, float | Fraction):
        return escaped(str(x))
    if not math.isfinite(x):
        return "--" if math.isnan(x) else r"$\infty$" if x > 0 else r"$-\infty$"
    if name.endswith(("lower", "share")):
        text = at_least(x, decimals)
    else:
        text = at_most(x, decimals) if name.endswith(("upper", "epsilon")) else f"{float(x):.{decimals}f}"
    return f"${text}$" if text.startswith("-") else text


def escaped(text: str) -> str:
    """Text as LaTeX prints it, special characters and all."""
    return "".join(_SPECIAL.get(sign, sign) for sign in text)
