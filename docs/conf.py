"""Sphinx configuration of the documentation."""

import re
from importlib.metadata import version as installed_version

from sphinx.application import Sphinx

project = "scrapy-simhash"
author = "The scrapy-simhash developers"
copyright = "the scrapy-simhash developers"  # noqa: A001 - Sphinx's own name
release = installed_version("scrapy-simhash")
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"scrapy-simhash {release}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_extra_path = ["llms.txt", "simhash.ipynb"]
exclude_patterns = ["simhash.ipynb"]


def give_rows_anchors(_: Sphinx, page: str, source: list[str]) -> None:
    """Let each setting, key, stat and command have an address of its own, by its name.

    settings.html#simhash-log leads to the row of SIMHASH_LOG.
    """
    if page in ("settings", "reference"):

        def anchored(row: "re.Match[str]") -> str:
            name = re.sub(r"\W+", "-", row[2].lower().replace("_", "-")).strip("-")
            return f'{row[1]}<a id="{name}"></a>`{row[2]}`'

        source[0] = re.sub(r"^(\| )`([\w/ ]+)`(?= \|)", anchored, source[0], flags=re.M)


def setup(app: Sphinx) -> None:
    """Connect the above, as Sphinx asks."""
    app.connect("source-read", give_rows_anchors)
