"""Numbers, sizes, times and addresses as the report writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape
from urllib.parse import urlsplit

_LONGEST_ADDRESS = 160
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def count(number: float, noun: str = "") -> str:
    """Return a whole number, with its noun if it is given: ``1 page``, ``2,000 pages``."""
    text = f"{number:,.0f}"
    return f"{text} {noun if text == '1' else plural(noun)}" if noun else text


def plural(noun: str) -> str:
    """Return the plural of one of the report's nouns."""
    return noun[:-1] + "ies" if noun.endswith("py") else noun + "s"


def size(number: float) -> str:
    """Return a number of bytes in its unit."""
    unit = 0
    while number >= 999.5 and unit < len(_UNITS) - 1:
        number /= 1000
        unit += 1
    return (
        f"{number:.0f} {_UNITS[unit]}"
        if unit == 0 or number >= 99.5
        else f"{number:.1f} {_UNITS[unit]}"
    )


def duration(seconds: float) -> str:
    """Return a number of seconds in at most two units."""
    if seconds < 9.95 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    parts = []
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, whole = divmod(whole, length)
        if number:
            parts.append(f"{number:,} {unit}")
        if len(parts) == 2 or (parts and not number):
            break
    return " ".join(parts) or "0 s"


def moment(time: float, *, day: bool = True, seconds: bool = True) -> str:
    """Return a time, seconds since 1970, in UTC."""
    clock = "%H:%M:%S" if seconds else "%H:%M"
    try:
        return datetime.fromtimestamp(time, timezone.utc).strftime(
            f"%Y-%m-%d {clock}" if day else clock
        )
    except (ValueError, OverflowError, OSError):
        return f"{time:.0f} s"


def percent(part: float, whole: float) -> str:
    """Return a share, which is 0% only if the part is nothing, and 100% only if it is all."""
    if not whole or not part:
        return "0%"
    share = 100 * part / whole
    if part < whole:
        share = min(share, 99.9)
    return "<0.1%" if share < 0.05 else f"{share:.0f}%" if share >= 99.95 else f"{share:.1f}%"


def address(key: str) -> str:
    """Return a page's address as HTML: a link, if it leads to the web."""
    shown = escape(clipped(key, _LONGEST_ADDRESS)) or "(no address)"
    try:
        known = urlsplit(key).scheme in ("http", "https") and len(key) < 2000
    except ValueError:
        known = False
    if not known:
        return f'<span class="url">{shown}</span>'
    return f'<a class="url" rel="noreferrer noopener" href="{escape(key)}">{shown}</a>'


def host(name: str) -> str:
    """Return a host's name as HTML."""
    if not name:
        return "<i>no host</i>"
    shown = clipped(name, 40)
    title = f' title="{escape(name)}"' if shown != name else ""
    return f'<span class="host"{title}>{escape(shown)}</span>'


def clipped(text: str, length: int) -> str:
    """Return a text, without its middle when it is long."""
    if len(text) <= length:
        return text
    return f"{text[: length * 2 // 3]} … {text[-(length // 3) :]}"


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str | tuple[float, str]]],
    *,
    sortable: bool = False,
) -> str:
    """Return a table; the first cell of a row is its head.

    Args:
        caption: HTML.
        heads: HTML, one for each column; those of numbers begin with ``#``.
        rows: HTML of each cell; a number is given with its own HTML.
        sortable: whether the script may put buttons into the heads.
    """  # fmt: skip
    head = "".join(
        f'<th scope="col" class="n">{text[1:]}</th>'
        if text.startswith("#")
        else f'<th scope="col">{text}</th>'
        for text in heads
    )
    body = "\n".join(
        "<tr>"
        + "".join(_cell("th" if place == 0 else "td", cell) for place, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(_text(caption))}">'
        f"<table{kind}><caption>{caption}</caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(tag: str, cell: str | tuple[float, str]) -> str:
    scope = ' scope="row"' if tag == "th" else ""
    if isinstance(cell, str):
        return f"<{tag}{scope}>{cell}</{tag}>"
    return f'<{tag}{scope} class="n" data-v="{cell[0]:g}">{cell[1]}</{tag}>'


def _text(html: str) -> str:
    return html.split("<")[0].strip()
