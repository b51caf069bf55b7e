"""The words in which two pages differ, for a terminal and for a page."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import NamedTuple

from scrapy_simhash.printable import CUT
from scrapy_simhash.report.words import clipped, ends, width

# The mark of a cut, a word, a Han character, or another sign, each with the spaces after it.
_TOKEN = re.compile(
    rf"(?:{re.escape(CUT.strip())}|[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*"
)
# An equal part between two changes that is narrower, such as a Han character, joins them.
_NARROW = 4
# Lines of a page that are compared.
_LINES = 400


class Shown(NamedTuple):
    """A page as people see it: its text, or an excerpt, and the lines that tell it from others."""

    text: str
    details: Sequence[str] = ()

    @classmethod
    def of(cls, excerpt: str) -> "Shown":
        """Take apart what an analysis shows of a page: a line of text, and the details below it."""
        text, _, details = excerpt.partition("\n")
        return cls(text, details.split("\n") if details else ())


NOTHING = Shown("")


class Stretch(NamedTuple):
    """A part of two texts; parts that are equal and parts that differ take turns."""

    before: str
    after: str
    changed: bool


class Difference(NamedTuple):
    """A part that only one of two pages has, with the words of both before and after it."""

    removed: str
    added: str
    head: str = ""
    tail: str = ""

    def __str__(self) -> str:
        removed = f"[-{self.removed}-]" if self.removed else ""
        added = f"{{+{self.added}+}}" if self.added else ""
        return f"{self.head}{removed}{added}{self.tail}".strip()


def differences(before: Shown, after: Shown, columns: int = 120) -> list[Difference]:
    """Return the differences of two pages: the lines that one of them has, then their texts.

    Each difference fits into ``columns`` columns of a terminal.
    """
    of_lines = [_of_pair(*pair, columns) for pair in own_lines(before.details, after.details)]
    return of_lines + list(_of_texts(before.text, after.text, columns))


def difference_lines(before: Shown, after: Shown, columns: int, most: int) -> list[str]:
    """Return the differences of two pages as lines, with ``[-removed-]{+added+}``.

    Of more than ``most``, the last line says how many there are.
    """
    lines = [str(difference) for difference in differences(before, after, columns)]
    more = len(lines) - most
    return [*lines[:most], f"and {more} more"] if more > 0 else lines


def stretches(before: str, after: str) -> list[Stretch]:
    """Compare two texts word by word; runs of white space count as one space."""
    parts = groupby(_stretches(_tokens(before), _tokens(after)), key=lambda part: part.changed)
    joined = []
    for changed, group in parts:
        members = [*group]
        removed = "".join(part.before for part in members)
        added = "".join(part.after for part in members)
        joined.append(Stretch(removed, added, changed))
    return joined


def _stretches(before: list[str], after: list[str]) -> Iterator[Stretch]:
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, False).get_opcodes():
        part = "".join(before[i1:i2])
        is_joint = i1 > 0 and i2 < len(before) and width(part) < _NARROW
        yield Stretch(part, "".join(after[j1:j2]), tag != "equal" or is_joint)


def own_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines that only one of two pages has, side by side.

    A value has the name of its field before it. The first 400 lines of each page are compared;
    where a list is cut, what the other has beyond the cut does not count. A line without a digit
    that the other page has at another place is no difference. A side without a line is empty.
    """
    old = _compared_lines(before)
    new = _compared_lines(after)
    both = {line for line in {*old} & {*new} if not any(map(str.isdigit, line))}
    pairs: list[tuple[str, str]] = []
    for left, right in _changed_parts(old, new, _was_cut(before) or _was_cut(after)):
        removed = _differing_lines(old, left, both)
        added = _differing_lines(new, right, both)
        pairs += zip_longest(removed, added, fillvalue="")
    return pairs


def _changed_parts(old: list[str], new: list[str], is_cut: bool) -> Iterator[tuple[slice, slice]]:
    """Yield the parts that differ, except at the end of lists of which one was cut."""
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new).get_opcodes():
        is_end = (i2, j2) == (len(old), len(new))
        if tag != "equal" and not (is_cut and is_end):
            yield slice(i1, i2), slice(j1, j2)


def _compared_lines(lines: Sequence[str]) -> list[str]:
    return [line for line in lines[:_LINES] if line != CUT.strip()]


def _was_cut(lines: Sequence[str]) -> bool:
    return len(lines) > _LINES or CUT.strip() in lines[-1:]


def _differing_lines(lines: list[str], part: slice, both: set[str]) -> list[str]:
    """Return lines of a part that ``both`` pages do not share, the first with its field's name."""
    first = part.start
    result = [line for line in lines[part] if line not in both]
    if first and result and result[0] == lines[first] and ":" not in result[0]:
        name = lines[first - 1]
        if ": " not in name:
            result[0] = f"{name.rstrip(':')}: {result[0]}"
    return result


def _of_pair(before: str, after: str, columns: int) -> Difference:
    """Return the difference of two lines: all between the words with which both begin and end."""
    parts = stretches(before, after)
    head = parts.pop(0).before if parts and not parts[0].changed else ""
    tail = parts.pop().before if parts and not parts[-1].changed else ""
    removed = "".join(part.before for part in parts)
    added = "".join(part.after for part in parts)
    return _in_columns(head, removed, added, tail, columns)


def _of_texts(before: str, after: str, columns: int) -> Iterator[Difference]:
    """Yield the changes of two texts, each with the words around it.

    Words beside the cut of an excerpt differ because the other one is cut at another place.
    """
    mark = CUT.strip()
    edge = Stretch("", "", changed=False)
    parts = [edge, *stretches(before, after), edge]
    for left, change, right in zip(parts, parts[1:], parts[2:], strict=False):
        at_cut = mark in change.before + change.after
        at_cut = at_cut or left.before.rstrip().endswith(mark) or right.before.startswith(mark)
        if change.changed and not (at_cut and left.before and right.before):
            yield _in_columns(left.before, change.before, change.after, right.before, columns)


def _in_columns(head: str, removed: str, added: str, tail: str, columns: int) -> Difference:
    around = columns // 6 - 1
    room = columns - 2 * (columns // 6) - len("[--]{++}")
    side = room // 2 if removed and added else room
    return Difference(
        clipped(removed.strip(), side),
        clipped(added.strip(), side),
        ends(head, 0, around).lstrip(),
        " " * (added or removed).endswith(" ") + ends(tail, around, 0).rstrip(),
    )


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(" ".join(text.split()) + " ")
