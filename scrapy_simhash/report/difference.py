"""The words in which two texts differ: lines for a terminal, pieces for a page."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, takewhile
from typing import NamedTuple

# A word, a Han character, or a mark, each with the spaces after it.
_TOKEN = re.compile(r"(?:[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*")
# Fewer equal columns than this between two changes are part of one change.
_ISLAND = 4
# Columns around a change on a terminal.
_CONTEXT = 14
# Columns on a page: around a change, and of one side of a change.
_PAGE_CONTEXT, _PAGE_LONGEST = 70, 600

REMOVED, ADDED = "31;9", "32"


class Piece(NamedTuple):
    """A stretch of one of the texts, and whether only this text has it."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A part of both texts; parts that are equal and parts that differ take turns."""

    before: str
    after: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """Two texts cut into what is equal and what differs; see :func:`differences`."""

    stretches: tuple[_Stretch, ...]

    def lines(self, columns: int, lines: int, colour: bool) -> list[str]:
        """Return the changes, one a line, each with a little of what stands around it.

        Args:
            columns: the width of a line.
            lines: how many lines there may be; the last one says how many changes there are more.
            colour: whether to mark changes by terminal colours; else by ``[-removed-]{+added+}``.
        """
        most = max(10, (columns - 2 * _CONTEXT - 24) // 2)
        stretches = (_Stretch("", "", False), *self.stretches, _Stretch("", "", False))
        made = []
        for place, change in enumerate(stretches):
            if not change.changed:
                continue
            removed, added = (
                _cut(side.strip(), most * 2 // 3, most // 3)
                for side in (change.before, change.after)
            )
            if not colour:
                removed, added = removed and f"[-{removed}-]", added and f"{{+{added}+}}"
            marked = paint(removed, REMOVED, colour) + paint(added, ADDED, colour)
            gap = " " * (change.after or change.before).endswith(" ")
            before = _cut(stretches[place - 1].before, 0, _CONTEXT)
            after = _cut(stretches[place + 1].before, _CONTEXT, 0)
            made.append((before + marked + gap + after).strip())
        more = len(made) - lines
        return [*made[: lines - 1], f"{made[lines - 1]} (and {more} more)"] if more > 0 else made

    def sides(self) -> tuple[list[Piece], list[Piece]]:
        """Return the pieces of each text; of what is equal, what stands around a change is left."""
        last = len(self.stretches) - 1
        sides: tuple[list[Piece], list[Piece]] = ([], [])
        for place, stretch in enumerate(self.stretches):
            for side, text in zip(sides, (stretch.before, stretch.after), strict=True):
                if stretch.changed:
                    words = text.rstrip()
                    cut = _cut(words, _PAGE_LONGEST * 2 // 3, _PAGE_LONGEST // 3)
                    side += [Piece(cut, True)] if words else []
                    # The space after the last word is not part of the difference.
                    side += [Piece(" ", False)] if words and words != text else []
                else:
                    around = (_PAGE_CONTEXT * (place > 0), _PAGE_CONTEXT * (place < last))
                    side.append(Piece(_cut(text, *around), False))
        return sides


def differences(before: str, after: str) -> Differences:
    """Compare two texts word by word; runs of white space count as one space."""
    a, b = (_tokens(" ".join(text.split())) for text in (before, after))
    made: list[_Stretch] = []
    begun = (0, 0)
    for i1, i2, j1, j2 in _changed_blocks(a, b):
        if i1 > begun[0]:
            made.append(_Stretch("".join(a[begun[0] : i1]), "".join(b[begun[1] : j1]), False))
        made.append(_Stretch("".join(a[i1:i2]), "".join(b[j1:j2]), True))
        begun = (i2, j2)
    if begun[0] < len(a):
        made.append(_Stretch("".join(a[begun[0] :]), "".join(b[begun[1] :]), False))
    return Differences(tuple(made))


def width(text: str) -> int:
    """Return how many columns a terminal needs for the text: two for a Han character."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, columns: int) -> str:
    """Return the text with spaces up to that many columns."""
    return text + " " * (columns - width(text))


def paint(text: str, code: str, colour: bool) -> str:
    """Return the text in a terminal colour, or as it is."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _changed_blocks(before: list[str], after: list[str]) -> list[list[int]]:
    blocks: list[list[int]] = []
    match = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in match.get_opcodes():
        if tag == "equal":
            continue
        if blocks and width("".join(before[blocks[-1][1] : i1])) < _ISLAND:
            blocks[-1][1::2] = i2, j2
        else:
            blocks.append([i1, i2, j1, j2])
    return blocks


def _cut(text: str, head: int, tail: int) -> str:
    """Return the two ends of a text, in columns, or all of it if little would be left out."""
    if width(text) <= head + tail + 3:
        return text
    first, last = _fitting(text, head), _fitting(text[::-1], tail)[::-1]
    return f"{first.rstrip()} … {last.lstrip()}".strip()


def _fitting(text: str, columns: int) -> str:
    widths = accumulate(map(width, text))
    return text[: sum(1 for _ in takewhile(lambda total: total <= columns, widths))]
