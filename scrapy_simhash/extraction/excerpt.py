"""A short piece of a page, by which a reader knows it again."""

from collections.abc import Iterable

#: Stands where the middle of a text is left out.
CUT = " […] "
_LINE = 100


def excerpt(text: str, length: int) -> str:
    """Return the text on one line; of a long one, its beginning and its end.

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
    """Return the first lines, of 100 characters at most, that take so many bytes together.

    A line without a digit, such as that of a button, stands once. If some do not fit, the last line
    is the mark of a cut.
    """
    made: dict[tuple[str, int], str] = {}
    for number, line in enumerate(lines):
        short = " ".join(line[: 2 * _LINE].split())[:_LINE]
        name = short, number * any(map(str.isdigit, short))
        if name not in made:
            size -= len(short.encode("utf-8", "surrogatepass")) + 1
            if size < 0:
                return [*made.values(), CUT.strip()]
            made[name] = short
    return [*made.values()]
