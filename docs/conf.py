"""Sphinx configuration of the documentation."""

from importlib.metadata import version as installed_version

project = "scrapy-simhash"
author = "The scrapy-simhash developers"
copyright = "the scrapy-simhash developers"  # noqa: A001 - Sphinx's own name
release = installed_version("scrapy-simhash")
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"scrapy-simhash {release}"
