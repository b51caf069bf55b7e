"""Text that strangers wrote, made fit for messages, logs and terminals."""

import logging
import re
import textwrap
import traceback
from collections.abc import Container, Iterable

# Control characters, ends of lines, marks for the direction of writing, and lone
# surrogates. An escape sequence for colours is matched as a whole.
_STEERING = re.compile(
    "\x1b\\[[0-9;]*m"
    "|[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
#: The mark of a place at which the middle of a text is left out.
CUT = " […] "


def printable(text: object, allowed: Container[str] = ()) -> str:
    """Return a text in one line, with escapes for what steers a terminal or a reader.

    Args:
        text: anything that has a text.
        allowed: what stays unchanged, such as ends of lines, or the escape sequences of
            the caller.
    """

    def shown(match: re.Match[str]) -> str:
        return match[0] if match[0] in allowed else ascii(match[0])[1:-1]

    return _STEERING.sub(shown, str(text))


def without_userinfo(text: str) -> str:
    """Return a text without user names and passwords in its addresses."""
    return _USERINFO.sub("", text)


def indented(text: str) -> str:
    """Return a printable text, whose lines cannot be taken for messages of the log."""
    return textwrap.indent(printable(text.rstrip(), "\n"), "  ")


def logger_of(name: str) -> logging.Logger:
    """Return a logger whose arguments and tracebacks are printable, and have no passwords.

    Arguments have no ends of lines: a message of several lines takes none.
    """
    logger = logging.getLogger(name)
    logger.addFilter(_clean)
    return logger


def _clean(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(map(_clean_argument, record.args))
    if record.exc_info:
        lines = "".join(traceback.format_exception(*record.exc_info))
        record.exc_text = indented(without_userinfo(lines))
    return True


def _clean_argument(argument: object) -> object:
    if isinstance(argument, int | float):
        return argument
    return printable(without_userinfo(str(argument)))


def excerpt(text: str, length: int) -> str:
    """Return a text on one line; of a long one, its beginning and its end.

    Copies of a text differ most often there: in a dateline, a credit, a counter, an ad.

    Args:
        text: any text.
        length: characters that the excerpt may have; 0 for none.
    """
    # No more of a long text is split than can be needed, unless it is mostly spaces.
    if len(text) > 4 * length:
        text = f"{text[: 2 * length]} {text[len(text) - 2 * length :]}"
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    room = length - len(CUT)
    if room < 45:  # the mark would be most of it
        return line[:length].rstrip()
    tail = room * 2 // 5
    return line[: room - tail].rstrip() + CUT + line[-tail:].lstrip()


def first_lines(lines: Iterable[str], size: int) -> list[str]:
    """Return the first lines, of 100 characters at most, that take ``size`` bytes together.

    A line without a digit, such as the text of a button, is returned once. If some
    lines do not fit, the last line is the mark of a cut.
    """
    shown: dict[tuple[str, int], str] = {}
    for number, line in enumerate(lines):
        short = " ".join(line[:200].split())[:100]
        name = short, number * any(map(str.isdigit, short))
        if name not in shown:
            size -= len(short.encode("utf-8", "surrogatepass")) + 1
            if size < 0:
                return [*shown.values(), CUT.strip()]
            shown[name] = short
    return [*shown.values()]
