"""The words in which two texts differ: lines for a terminal, pieces for a page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

# A word, a Han character, or a mark, each with the spaces after it.
_TOKEN = re.compile(r"(?:[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*")
# Fewer equal columns than this between two changes are part of one change.
_ISLAND = 4
# Columns on a terminal: around a change, and of one side of a change.
_CONTEXT, _LONGEST = 14, 54
# Characters on a page: around a change, and of one side of a change.
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
        """Return the changes, each with a little of what stands around it.

        Args:
            columns: the width of a line.
            lines: how many lines there may be.
            colour: whether to mark changes by terminal colours; else by ``[-removed-]{+added+}``.
        """
        longest = max(10, min(_LONGEST, (columns - 2 * _CONTEXT - 9) // 2))
        plain, shown = self._changes(longest, colour=False), self._changes(longest, colour)
        made, used = [""] * bool(plain), 0
        for number, (text, change) in enumerate(zip(plain, shown, strict=True)):
            needed = width(text) + 3 * bool(used)
            # On the last line there must be room for saying how many more there are.
            if used and used + needed > columns - (14 if len(made) == lines else 0):
                if len(made) == lines:
                    made[-1] += f" (and {len(plain) - number} more)"
                    break
                made.append("")
                used, needed = 0, width(text)
            made[-1] += " | " * bool(used) + change
            used += needed
        return made

    def _changes(self, longest: int, colour: bool) -> list[str]:
        stretches = (_Stretch("", "", False), *self.stretches, _Stretch("", "", False))
        made = []
        for place, change in enumerate(stretches):
            if not change.changed:
                continue
            removed, added = (
                _middle_out(side.strip(), longest) for side in (change.before, change.after)
            )
            if not colour:
                removed, added = removed and f"[-{removed}-]", added and f"{{+{added}+}}"
            head = _clipped(reversed(_tokens(stretches[place - 1].before)), _CONTEXT)[::-1]
            tail = _clipped(_tokens(stretches[place + 1].before), _CONTEXT)
            gap = " " * bool((change.after or change.before).endswith(" ") and tail)
            marked = paint(removed, REMOVED, colour) + paint(added, ADDED, colour)
            made.append("".join(head) + marked + gap + "".join(tail).rstrip())
        return made

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


def _clipped(tokens: Iterable[str], columns: int) -> list[str]:
    """Return the first tokens that fit into so many columns."""
    fitting: list[str] = []
    for token in tokens:
        columns -= width(token)
        if columns < 0:
            break
        fitting.append(token)
    return fitting


def _middle_out(text: str, longest: int) -> str:
    """Return the text, or its two ends when it is longer than so many columns."""
    if width(text) <= longest:
        return text
    tokens = _tokens(text)
    head = "".join(_clipped(tokens, longest * 2 // 3 - 2)).rstrip()
    tail = "".join(_clipped(reversed(tokens), longest // 3 - 1)[::-1])
    return f"{head} … {tail}"


def _cut(text: str, head: int, tail: int) -> str:
    """Return the two ends of a text, or all of it if little would be left out."""
    if len(text) <= head + tail + 30:
        return text
    return f"{text[:head].rstrip()} … {text[len(text) - tail :].lstrip() if tail else ''}".lstrip()
