"""The words in which two pages differ, for a terminal and for a page."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain, starmap, zip_longest
from typing import NamedTuple

from scrapy_simhash.printable import CUT
from scrapy_simhash.report.words import clipped, ends, width

#: Columns of a terminal that a difference takes at most.
COLUMNS = 100
_CUT = CUT.strip()
# The mark of a cut, a word, a Han character, or another sign, each with the spaces
# after it.
_TOKEN = re.compile(
    rf"(?:{re.escape(_CUT)}|[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*"
)
_NUMERAL = re.compile(r"\d")


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


def differences(before: Sequence[str], after: Sequence[str]) -> list[Difference]:
    """Return the differences of two pages: the lines that one of them has, then their texts.

    Of several differences in the same words, the first is returned. Each fits into
    ``COLUMNS`` columns of a terminal.

    Args:
        before: the text of a page, or an excerpt, and the lines that tell it from
            others.
        after: the same of the other page.
    """
    of_lines = starmap(_of_texts, own_lines(before[1:], after[1:]))
    of_texts = _of_texts(before[0], after[0], may_be_cut=True)
    by_words: dict[tuple[str, str], Difference] = {}
    for difference in chain(*of_lines, of_texts):
        by_words.setdefault((difference.removed, difference.added), difference)
    return [*by_words.values()]


def difference_lines(differing: Sequence[Difference], most: int) -> list[str]:
    """Return differences as lines, with ``[-removed-]{+added+}``.

    Of more than ``most``, the last line says how many there are.
    """
    lines = [*map(str, differing[:most])]
    more = len(differing) - most
    return [*lines, f"and {more} more"] if more > 0 else lines


class _Part(NamedTuple):
    """A part of two lists that is the same in both, or differs."""

    is_equal: bool
    old: list[str]
    new: list[str]


def _aligned(old: list[str], new: list[str]) -> list[_Part]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        _Part(tag == "equal", old[start:end], new[new_start:new_end])
        for tag, start, end, new_start, new_end in matcher.get_opcodes()
    ]


def stretches(before: str, after: str) -> list[Stretch]:
    """Compare two texts word by word; runs of white space count as one space."""
    parts = _aligned(_tokens(before), _tokens(after))
    joined: list[Stretch] = []
    for number, part in enumerate(parts):
        removed = "".join(part.old)
        added = "".join(part.new)
        # A narrow part between two changes, such as a Han character, joins them.
        is_between = 0 < number < len(parts) - 1
        changed = not part.is_equal or (is_between and width(removed) < 4)
        if joined and joined[-1].changed == changed:
            last = joined.pop()
            removed = last.before + removed
            added = last.after + added
        joined.append(Stretch(removed, added, changed))
    return joined


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(" ".join(text.split()) + " ")


def own_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines that only one of two pages has, side by side.

    A value has the name of its field before it. Where a list is cut, what the other has
    beyond the cut does not count. A line without a digit that the other page has at
    another place is no difference. A side without a line is empty.
    """
    old = [line for line in before if line not in ("", _CUT)]
    new = [line for line in after if line not in ("", _CUT)]
    both = {line for line in {*old}.intersection(new) if not _NUMERAL.search(line)}
    parts = _aligned(old, new)
    if _CUT in (*before[-1:], *after[-1:]):
        del parts[-1:]
    pairs: list[tuple[str, str]] = []
    field = ""
    for part in parts:
        if part.is_equal:
            field = part.old[-1]
        else:
            pairs += zip_longest(
                _differing(part.old, field, both),
                _differing(part.new, field, both),
                fillvalue="",
            )
    return pairs


def _differing(
    lines: list[str],
    field: str,
    both: set[str],
) -> list[str]:
    """Return the lines that ``both`` pages do not share, the first with the field before it."""
    differing = [line for line in lines if line not in both]
    if field and differing and differing[0] == lines[0]:
        is_value = ":" not in differing[0] and ": " not in field
        if is_value:
            differing[0] = f"{field.rstrip(':')}: {differing[0]}"
    return differing


def _of_texts(
    before: str,
    after: str,
    *,
    may_be_cut: bool = False,
) -> Iterator[Difference]:
    """Yield the changes of two texts, each with the words around it.

    Words beside the cut of an excerpt differ because the other one is cut at another
    place. A page may have the mark of a cut in a line that is whole.
    """
    parts = stretches(before, after)
    for number, part in enumerate(parts):
        head = parts[number - 1].before if number else ""
        tail = parts[number + 1].before if number + 1 < len(parts) else ""
        is_cut = _CUT in part.before + part.after
        is_beside_cut = head.rstrip().endswith(_CUT) or tail.startswith(_CUT)
        is_by_cut = may_be_cut and head and tail and (is_cut or is_beside_cut)
        if part.changed and not is_by_cut:
            yield _in_columns(part, head, tail)


def _in_columns(part: Stretch, head: str, tail: str) -> Difference:
    around = COLUMNS // 6
    room = COLUMNS - 2 * around - len("[--]{++}")
    if part.before and part.after:
        room //= 2
    space = " " if (part.after or part.before).endswith(" ") else ""
    return Difference(
        removed=clipped(part.before.strip(), room),
        added=clipped(part.after.strip(), room),
        head=ends(head, 0, around - 1).lstrip(),
        tail=space + ends(tail, around - 1, 0).rstrip(),
    )
