"""Two pages side by side, and the sentence of the rule that decides between them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from scrapy_simhash.commands.output import aligned
from scrapy_simhash.fingerprint.facts import Facts
from scrapy_simhash.fingerprint.rule import REASONS


def about(facts: bytes) -> dict[str, str]:
    """Return the facts of a page by name, headings as hashes; nothing for a text without a page."""
    if not facts:
        return {}
    known = Facts.from_bytes(facts)
    return {
        "main text": f"about {known.text_bytes:,.0f} of {known.page_bytes:,.0f} bytes",
        "main text stands out": "no" if known.thin else "yes",
        "title": f"{known.title:08x}" if known.title else "-",
        "h1": f"{known.heading:08x}" if known.heading else "-",
        "title and h1": f"{known.headings:08x}",
        "name of the site": f"{known.site:02x}" if known.site else "-",
        "around the main text": f"{known.around:016x}",
    }


def side_by_side(
    heads: tuple[str, str], one: Mapping[str, str], other: Mapping[str, str]
) -> list[str]:
    """Return a table of what is known of two pages, by name; a value may have several lines."""
    rows = [("", *heads)]
    for name in dict.fromkeys((*one, *other)):
        values = (known.get(name, "-").split("\n") for known in (one, other))
        for line, (left, right) in enumerate(zip_longest(*values, fillvalue="")):
            rows.append(("" if line else name, left, right))
    return aligned(rows)


def sentence(reason: str) -> str:
    """Return the sentence of the rule that a reason stands for, and the reason."""
    return f"{REASONS.get(reason, reason)} ({reason})"
