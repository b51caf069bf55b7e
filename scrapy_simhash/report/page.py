"""The report: one HTML file that needs nothing beside it.

Whatever comes from the log is text in it, never markup: addresses and pages are what strangers
wrote. A content security policy allows nothing but the file's own script and style.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files

from scrapy_simhash.report import sections
from scrapy_simhash.report.figures import Figures


def render(figures: Figures) -> str:
    """Return the report of a log's figures as an HTML document."""
    script, style = _part("report.js"), _part("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    body = [sections.heading(figures)]
    if figures.judged:
        parts = [
            ("time", "Over time", sections.over_time(figures)),
            ("distances", "How far apart", sections.distances(figures)),
            ("hosts", "By host", sections.hosts(figures)),
            ("mirrors", "Hosts that repeat each other", sections.mirrors(figures)),
            ("walls", "Walls and soft 404s", sections.walls(figures)),
            ("clusters", "Largest clusters", sections.clusters(figures)),
            ("skipped", "Not compared", sections.skipped(figures)),
        ]
        links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in parts)
        body.append(f'<nav aria-label="Sections"><ul>{links}</ul></nav>')
        body += [
            f'<section id="{name}" aria-labelledby="{name}-title">'
            f'<h2 id="{name}-title">{title}</h2>{content}</section>'
            for name, title, content in parts
        ]
    content = "\n".join(body)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Near-duplicates</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{content}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
