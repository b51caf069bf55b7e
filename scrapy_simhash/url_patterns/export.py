"""Patterns as rules of other programs."""

import re
from collections.abc import Iterable
from typing import Any

from scrapy_simhash.url_patterns.address import STARS, read_address, read_signature
from scrapy_simhash.url_patterns.mirrors import is_mirror
from scrapy_simhash.url_patterns.store import Tally


def discarder_rules(rows: Iterable[Tally]) -> tuple[list[dict[str, Any]], list[Tally]]:
    """Return rules of duplicate-url-discarder, and the rows that its rules cannot express.

    A rule takes parameters away, whatever their values. So it can stand for a signature only if
    copies differ from their originals in nothing but starred parameters.
    """
    rules, rest = [], []
    for row in rows:
        names = _removable(row)
        if not names:
            rest.append(row)
            continue
        path = row.signature.partition("?")[0].partition("*")[0].partition("{")[0]
        rules.append(
            {
                "args": sorted(names),
                "order": 100,
                "processor": "queryRemoval",
                "urlPattern": {"include": [row.host + path]},
            }
        )
    return rules, rest


def robots_line(row: Tally) -> str:
    """Return a pattern as a line like those of robots.txt."""
    path = row.signature.split(" = ")[0] + "*" if is_mirror(row.signature) else row.signature
    for star in STARS.values():
        path = path.replace(star, "*")
    return f"Disallow: {path.replace('[', '').replace(']', '')}"


def deny_expression(signature: str) -> str:
    """Return a regular expression for the addresses of a signature, which is without the host."""
    path, _, query = signature.partition("?")
    expression = re.escape(path)
    for star in STARS.values():
        expression = expression.replace(re.escape(star), "[^/?]+")
    varied = [pair.partition("=")[0] for pair in query.split("&") if pair.endswith(("}", "=*"))]
    return expression + (rf"\?(.*[&;])?{re.escape(varied[0])}=" if varied else "")


def _removable(row: Tally) -> set[str]:
    """Return the parameters in which alone the example differs from its original; none if more."""
    copy, _, original = row.example.partition(" ")
    page, source = read_address(copy), read_address(original)
    if is_mirror(row.signature) or page is None or source is None:
        return set()
    stars = dict(read_signature(row.signature).parameters)
    if page[:2] != source[:2] or not set(source.parameters) < set(page.parameters):
        return set()
    removed = {name for name, _ in set(page.parameters) - set(source.parameters)}
    whole = set(STARS.values())
    return removed if all(set(stars.get(name, ("",))) <= whole for name in removed) else set()
