"""A short piece of a text, by which a reader knows it again."""

#: Stands where the middle of a text is left out.
CUT = " […] "
_TOO_SHORT_TO_CUT = 50


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
    if length < _TOO_SHORT_TO_CUT:
        return line[:length].rstrip()
    room = length - len(CUT)
    tail = room * 2 // 5
    return line[: room - tail].rstrip() + CUT + line[-tail:].lstrip()
