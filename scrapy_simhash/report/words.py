"""Numbers, sizes, times and long texts in words for people: one spelling everywhere."""

from datetime import datetime, timezone


def count(number: float, noun: str = "") -> str:
    """Return a whole number, with its noun if it is given: ``1 page``, ``2,000 copies``."""
    text = f"{number:,.0f}"
    if not noun or text == "1":
        return f"{text} {noun}".rstrip()
    is_regular = not noun.endswith("y") or noun.endswith(("ay", "ey", "oy"))
    return f"{text} {noun}s" if is_regular else f"{text} {noun[:-1]}ies"


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
    """Return a time, in seconds since 1970, as it is in UTC."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def percent(part: float, whole: float) -> str:
    """Return a share, which is 0% only if the part is nothing, and 100% only if it is all."""
    if not whole or not part:
        return "0%"
    share = 100 * part / whole
    if part < whole:
        share = min(share, 99.9)
    return "<0.1%" if share < 0.05 else f"{share:.0f}%" if share >= 99.95 else f"{share:.1f}%"


def clipped(text: str, length: int) -> str:
    """Return a text, without its middle when it is long."""
    if len(text) <= length:
        return text
    return f"{text[: length * 2 // 3]} … {text[-(length // 3) :]}"
