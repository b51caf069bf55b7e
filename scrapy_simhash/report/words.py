"""Numbers, sizes, times and long texts in words for people: one spelling everywhere."""

import unicodedata
from datetime import datetime, timezone
from itertools import accumulate


def count(number: float, noun: str = "") -> str:
    """Return a whole number, with its noun if it is given: ``1 page``, ``2,000 copies``."""
    text = f"{number:,.0f}"
    if not noun or text == "1":
        return f"{text} {noun}".rstrip()
    if noun.endswith("s"):
        return f"{text} {noun}es"
    return f"{text} {noun[:-1]}ies" if noun.endswith("y") else f"{text} {noun}s"


def size(number: float) -> str:
    """Return a number of bytes in its unit; 1 kB is 1,000 bytes."""
    if number < 999.5:
        return count(number, "byte")
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 999.5:
            return f"{number:,.{0 if number >= 99.5 else 1}f} {unit}"
    return f"{number / 1000:,.1f} TB"


def moment(time: float) -> str:
    """Return the date and time in UTC of seconds since 1970."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def percent(part: float, whole: float) -> str:
    """Return a share, which is 0% only if the part is nothing, and 100% only if it is all."""
    if part in (0, whole):
        return "100%" if part else "0%"
    share = min(100 * part / whole, 99.9)
    return f"{share:.1f}%" if share >= 0.05 else "<0.1%"


def width(text: str) -> int:
    """Return how many columns a terminal needs for the text: two for a Han character."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def clipped(text: str, columns: int) -> str:
    """Return a text that fits into ``columns``, without its middle if it is longer."""
    tail = columns // 3
    return text if width(text) <= columns else ends(text, columns - tail - 1, tail)


def ends(text: str, head: int, tail: int) -> str:
    """Return ``head`` and ``tail`` columns of a text with a mark between, or all of it."""
    if width(text) <= head + tail:
        return text
    return (
        f"{_fitting(text, head).rstrip()}…{_fitting(text[::-1], tail)[::-1].lstrip()}"
    )


def _fitting(text: str, columns: int) -> str:
    widths = accumulate(map(width, text[:columns]))
    return text[: sum(1 for total in widths if total <= columns)]
