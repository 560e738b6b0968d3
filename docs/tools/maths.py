r"""Formulas as MathML, which browsers show by themselves: no script, nothing to fetch.

The Markdown extension arithmatex marks ``$...$`` and ``$$...$$``; what it marks is converted when the site is built.
"""

import html
import re
import xml.etree.ElementTree as ET

from latex2mathml.commands import CONVERSION_MAP
from latex2mathml.converter import convert

MARKED = re.compile(
    r'<span class="arithmatex">\\\((.*?)\\\)</span>|<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL
)
MATHML = "http://www.w3.org/1998/Math/MathML"
LIMITS = {"max", "min", "sup", "inf"}
ET.register_namespace("", MATHML)
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


class FormulaError(ValueError):
    """A formula that cannot be read."""


def with_mathml(page: str) -> str:
    """A page of HTML with its formulas converted."""

    def convert_one(match: re.Match[str]) -> str:
        block = match[1] is None
        formula = mathml(html.unescape(match[2] if block else match[1]).strip(), block)
        return f'<div class="formula">{formula}</div>' if block else formula

    done = MARKED.sub(convert_one, page)
    if 'class="arithmatex"' in done:
        raise FormulaError("a formula was marked but not converted")
    return done


def mathml(latex: str, block: bool = False) -> str:
    """A formula as MathML. The converter passes over what it does not know; here that is an error."""
    latex = latex.replace("{aligned}", "{split}")  # which is the one of the two that the converter knows
    try:
        made = convert(latex, display="block" if block else "inline")
        parsed = ET.fromstring(made)
    except Exception as error:  # it raises many kinds
        raise FormulaError(f"{latex}: {type(error).__name__}: {error}") from error
    for node in parsed.iter():
        tag = node.tag.rpartition("}")[2]
        if "\\" in (node.text or "") and tag != "mtext":
            raise FormulaError(f"{latex}: there is no {node.text}")
        if tag in CHILDREN and len(node) != CHILDREN[tag]:
            raise FormulaError(f"{latex}: something is missing in a {tag[1:]}")
    for name in re.findall(r"\\begin\{([^}]*)\}", latex):
        if f"\\{name}" not in CONVERSION_MAP:
            raise FormulaError(f"{latex}: there is no environment {name}")
    plain = re.sub(r"\\[{}]", "", latex)
    if plain.count("{") != plain.count("}"):
        raise FormulaError(f"{latex}: braces do not match")
    return _with_limits(parsed) if block else made


def _with_limits(formula: ET.Element) -> str:
    """A formula of its own line, with what belongs under max, min, sup and inf under them."""
    for node in formula.iter(f"{{{MATHML}}}msub"):
        if node[0].text in LIMITS:
            node.tag = f"{{{MATHML}}}munder"
    return ET.tostring(formula, encoding="unicode")
