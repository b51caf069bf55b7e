"""Two texts with what differs marked, as HTML."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape

# A word, a Han character, or a mark, each with the spaces after it.
_TOKEN = re.compile(r"(?:[^\W\u3400-\u9fff]+|\S)\s*")
_COMPARED = 6000  # characters of a text
_AROUND = 70  # characters of what is equal, before and after a difference
_LONGEST = 600  # characters of a difference


def marked(before: str, after: str) -> tuple[str, str]:
    """Return two texts as HTML: what only one of them has in ``<del>`` and ``<ins>``.

    Of what is equal, only what stands around a difference is left.
    """
    a, b = _TOKEN.findall(before[:_COMPARED]), _TOKEN.findall(after[:_COMPARED])
    opcodes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    left, right = [], []
    for number, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        removed, added = "".join(a[i1:i2]), "".join(b[j1:j2])
        if tag == "equal":
            first, last = number == 0, number == len(opcodes) - 1
            left.append(_shortened(removed, first, last))
            right.append(_shortened(added, first, last))
        else:
            left.append(_tagged("del", removed))
            right.append(_tagged("ins", added))
    return "".join(left), "".join(right)


def _tagged(tag: str, text: str) -> str:
    # The space after the last word is not part of the difference.
    words = text.rstrip()
    if not words:
        return ""
    space = " " if words != text else ""
    return f"<{tag}>{escape(_cut(words, _LONGEST * 2 // 3, _LONGEST // 3))}</{tag}>{space}"


def _shortened(text: str, first: bool, last: bool) -> str:
    return escape(_cut(text, 0 if first else _AROUND, 0 if last else _AROUND))


def _cut(text: str, head: int, tail: int) -> str:
    """Return the two ends of a text, or all of it if little would be left out."""
    if len(text) <= head + tail + 30:
        return text
    return f"{text[:head].rstrip()} … {text[len(text) - tail :].lstrip() if tail else ''}".lstrip()
