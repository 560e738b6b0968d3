"""Where the project lives, by one setting: ``[project.urls]`` of ``pyproject.toml``.

``Repository`` becomes the link in the header; ``Documentation`` becomes the address of the site, which cards on social
media need. Pages of plans read the same setting from the installed package. Without it there is neither link nor card.
"""

import tomllib
from html import escape

from .cache import ROOT

CARD = "pictures/card.png"


def urls() -> dict[str, str]:
    """The addresses that are set."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"].get("urls", {})


def card(site: str, title: str, description: str) -> str:
    """What a page says of itself to those who link to it; nothing as long as the site has no address."""
    if not site:
        return ""
    says = {
        "og:type": "website",
        "og:title": title,
        "og:description": description,
        "og:image": f"{site.rstrip('/')}/{CARD}",
        "twitter:card": "summary_large_image",
    }
    return "".join(f'<meta property="{name}" content="{escape(text)}">\n' for name, text in says.items())
