"""The words in which two texts differ, in one short line or a few."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

# A word, a Han character, or a mark, each with the spaces after it.
_TOKEN = re.compile(r"(?:[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*")
_CONTEXT = 14  # columns before and after a change
_LONGEST = 54  # columns of one side of a change
# Fewer equal columns than this between two changes are part of one change.
_ISLAND = 4

REMOVED, ADDED = "31;9", "32"


def width(text: str) -> int:
    """Return how many columns a terminal needs for the text: two for a Han character."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, columns: int) -> str:
    """Return the text with spaces up to that many columns."""
    return text + " " * (columns - width(text))


def paint(text: str, code: str, colour: bool) -> str:
    """Return the text in a terminal colour, or as it is."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def difference(before: str, after: str, columns: int, lines: int, colour: bool) -> list[str]:
    """Return the changes between two texts, each with a little of what stands around it.

    Args:
        before: the original's text.
        after: the repetition's text.
        columns: the width of a line.
        lines: how many lines there may be.
        colour: whether to mark changes by terminal colours; else by ``[-removed-]{+added+}``.
    """
    changes = _changes(_tokens(before), _tokens(after))
    made, used = [""], 0
    for number, change in enumerate(changes):
        columns_needed = width(change.show(colour=False)) + (3 if used else 0)
        # On the last line there must be room for saying how many more there are.
        if used and used + columns_needed > columns - (14 if len(made) == lines else 0):
            if len(made) == lines:
                made[-1] += f" (and {len(changes) - number} more)"
                break
            made.append("")
            used, columns_needed = 0, columns_needed - 3
        made[-1] += " | " * bool(used) + change.show(colour)
        used += columns_needed
    return made


@dataclass(frozen=True)
class _Change:
    head: str
    removed: str
    added: str
    tail: str

    def show(self, colour: bool) -> str:
        removed, added = _shorten(self.removed.strip()), _shorten(self.added.strip())
        if not colour:
            removed, added = removed and f"[-{removed}-]", added and f"{{+{added}+}}"
        gap = " " if (self.added or self.removed).endswith(" ") and self.tail else ""
        return (
            self.head
            + paint(removed, REMOVED, colour)
            + paint(added, ADDED, colour)
            + gap
            + self.tail
        )


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(" ".join(text.split()))


def _changes(before: list[str], after: list[str]) -> list[_Change]:
    blocks: list[list[int]] = []
    match = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in match.get_opcodes():
        if tag == "equal":
            continue
        if blocks and width("".join(before[blocks[-1][1] : i1])) < _ISLAND:
            blocks[-1][1::2] = i2, j2
        else:
            blocks.append([i1, i2, j1, j2])
    for block in blocks:
        _align(block, before, after)
    starts = [0, *(i2 for _, i2, _, _ in blocks)]
    ends = [*(i1 for i1, _, _, _ in blocks[1:]), len(before)]
    return [
        _Change(
            head="".join(_take(reversed(before[start:i1]), _CONTEXT)[::-1]),
            removed="".join(before[i1:i2]),
            added="".join(after[j1:j2]),
            tail="".join(_take(iter(before[i2:end]), _CONTEXT)).rstrip(),
        )
        for start, end, (i1, i2, j1, j2) in zip(starts, ends, blocks, strict=False)
    ]


def _align(block: list[int], before: list[str], after: list[str]) -> None:
    """Move an insertion or a removal on by a token where that says the same.

    So it begins after the end of a sentence, and not with the end of the one before.
    """
    i1, i2, j1, j2 = block
    if i2 == len(before) or j2 == len(after) or (i1 < i2 and j1 < j2):
        return
    first = before[i1] if i1 < i2 else after[j1]
    if first.strip() == before[i2].strip() == after[j2].strip():
        block[:] = i1 + 1, i2 + 1, j1 + 1, j2 + 1


def _take(tokens: Iterator[str], columns: int) -> list[str]:
    taken: list[str] = []
    for token in tokens:
        columns -= width(token)
        if columns < 0:
            break
        taken.append(token)
    return taken


def _shorten(text: str) -> str:
    """Return the text, or its two ends when it is long."""
    if width(text) <= _LONGEST:
        return text
    tokens = _TOKEN.findall(text)
    head = "".join(_take(iter(tokens), _LONGEST * 2 // 3)).rstrip()
    tail = "".join(_take(reversed(tokens), _LONGEST // 3)[::-1])
    return f"{head} … {tail}"
