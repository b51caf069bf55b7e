"""The words in which two pages differ, for a terminal and for a page."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from scrapy_simhash.printable import CUT
from scrapy_simhash.report.words import clipped, ends, width

_CUT = CUT.strip()
# The mark of a cut, a word, a Han character, or another sign, each with the spaces after it.
_TOKEN = re.compile(
    rf"(?:{re.escape(_CUT)}|[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*"
)
_NUMERAL = re.compile(r"\d")


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
    pairs = own_lines(before.details, after.details)
    of_lines = [each for left, right in pairs for each in _of_texts(left, right, columns)]
    return [*of_lines, *_of_texts(before.text, after.text, columns, may_be_cut=True)]


def difference_lines(
    before: Shown,
    after: Shown,
    columns: int,
    most: int,
) -> list[str]:
    """Return the differences of two pages as lines, with ``[-removed-]{+added+}``.

    Of more than ``most``, the last line says how many there are.
    """
    lines = [str(difference) for difference in differences(before, after, columns)]
    more = len(lines) - most
    return [*lines[:most], f"and {more} more"] if more > 0 else lines


def stretches(before: str, after: str) -> list[Stretch]:
    """Compare two texts word by word; runs of white space count as one space."""
    old = _tokens(before)
    new = _tokens(after)
    joined: list[Stretch] = []
    for part in _aligned(old, new):
        removed = "".join(old[part.old])
        added = "".join(new[part.new])
        is_between = 0 < part.old.start < part.old.stop < len(old)
        # A narrow part between two changes, such as a Han character, joins them.
        changed = not part.is_equal or (is_between and width(removed) < 4)
        if joined and joined[-1].changed == changed:
            last = joined.pop()
            removed = last.before + removed
            added = last.after + added
        joined.append(Stretch(removed, added, changed))
    return joined


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(" ".join(text.split()) + " ")


class _Part(NamedTuple):
    """A part of two lists that is the same in both, or differs."""

    is_equal: bool
    old: slice
    new: slice


def _aligned(old: list[str], new: list[str]) -> Iterator[_Part]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        yield _Part(tag == "equal", slice(start, end), slice(new_start, new_end))


def own_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines that only one of two pages has, side by side.

    A value has the name of its field before it. Where a list is cut, what the other has beyond the
    cut does not count. A line without a digit that the other page has at another place is no
    difference. A side without a line is empty.
    """
    old = [line for line in before if line != _CUT]
    new = [line for line in after if line != _CUT]
    both = {line for line in {*old}.intersection(new) if not _NUMERAL.search(line)}
    parts = [*_aligned(old, new)]
    if _CUT in (*before[-1:], *after[-1:]):
        del parts[-1:]
    pairs: list[tuple[str, str]] = []
    for part in parts:
        if not part.is_equal:
            removed = _differing(old, part.old, both)
            added = _differing(new, part.new, both)
            pairs += zip_longest(removed, added, fillvalue="")
    return pairs


def _differing(lines: list[str], part: slice, both: set[str]) -> list[str]:
    """Return the lines of a part that ``both`` pages do not share, the first with its field."""
    differing = [line for line in lines[part] if line not in both]
    if part.start and differing and differing[0] == lines[part.start]:
        field = lines[part.start - 1]
        is_value = ":" not in differing[0] and ": " not in field
        if is_value:
            differing[0] = f"{field.rstrip(':')}: {differing[0]}"
    return differing


def _of_texts(
    before: str,
    after: str,
    columns: int,
    *,
    may_be_cut: bool = False,
) -> Iterator[Difference]:
    """Yield the changes of two texts, each with the words around it.

    Words beside the cut of an excerpt differ because the other one is cut at another place. A page
    may have the mark of a cut in a line that is whole.
    """
    parts = stretches(before, after)
    for number, part in enumerate(parts):
        head = parts[number - 1].before if number else ""
        tail = parts[number + 1].before if number + 1 < len(parts) else ""
        is_cut = _CUT in part.before + part.after
        is_beside_cut = head.rstrip().endswith(_CUT) or tail.startswith(_CUT)
        is_by_cut = may_be_cut and head and tail and (is_cut or is_beside_cut)
        if part.changed and not is_by_cut:
            yield _in_columns(part, head, tail, columns)


def _in_columns(
    part: Stretch,
    head: str,
    tail: str,
    columns: int,
) -> Difference:
    around = columns // 6
    room = columns - 2 * around - len("[--]{++}")
    if part.before and part.after:
        room //= 2
    space = " " if (part.after or part.before).endswith(" ") else ""
    return Difference(
        removed=clipped(part.before.strip(), room),
        added=clipped(part.after.strip(), room),
        head=ends(head, 0, around - 1).lstrip(),
        tail=space + ends(tail, around - 1, 0).rstrip(),
    )
