"""The words in which two texts differ, for a terminal and for a page."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, groupby, starmap, takewhile, zip_longest
from typing import NamedTuple

from scrapy_simhash.extraction.excerpt import CUT

# A word, a Han character, or a mark, each with the spaces after it.
_TOKEN = re.compile(r"(?:[^\W\u3400-\u9fff]+(?:[-',.:][^\W\u3400-\u9fff]+)*|\S)\s*")
# Fewer equal columns than this between two changes are part of one change.
_ISLAND = 4
# Columns around a change.
_CONTEXT = 14
# Lines of a page that are compared, and columns of one that is shown; columns of a field's name or
# value, which stand in two lines of a table.
_LINES, _LINE, _FIELD = 400, 50, 20
# Characters at the beginning of a line that stay where its middle is left out.
_HEAD = 10


class Shown(NamedTuple):
    """A page as people see it: its text, or an excerpt, and the lines that tell it from others."""

    text: str
    details: Sequence[str] = ()


NOTHING = Shown("")


class Stretch(NamedTuple):
    """A part of both texts; parts that are equal and parts that differ take turns."""

    before: str
    after: str
    changed: bool


class Difference(NamedTuple):
    """A part that only one of two pages has, with the words of both before and after it."""

    removed: str
    added: str
    head: str = ""
    tail: str = ""


_EDGE = Stretch("", "", False)


def stretches(before: str, after: str) -> list[Stretch]:
    """Compare two texts word by word; runs of white space count as one space."""
    a, b = (_TOKEN.findall(" ".join(text.split())) for text in (before, after))
    blocks = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        mine, theirs = "".join(a[i1:i2]), "".join(b[j1:j2])
        is_island = i1 and i2 < len(a) and width(mine) < _ISLAND
        blocks.append((tag != "equal" or bool(is_island), mine, theirs))
    parts = []
    for changed, group in groupby(blocks, key=lambda block: block[0]):
        _, owns, afters = zip(*group, strict=True)
        parts.append(Stretch("".join(owns), "".join(afters), changed))
    return parts


def changes(before: str, after: str, columns: int) -> Iterator[Difference]:
    """Yield the changes of a text, each with the words around it, in so many columns."""
    most = max(10, (columns - 2 * _CONTEXT - 24) // 2)
    parts = [_EDGE, *_of_excerpts(before, after), _EDGE]
    for left, change, right in zip(parts, parts[1:], parts[2:], strict=False):
        if change.changed:
            removed, added = (_cut(side.strip(), most * 2 // 3, most // 3) for side in change[:2])
            gap = " " * (change.after or change.before).endswith(" ")
            head, tail = _cut(left.before, 0, _CONTEXT), _cut(right.before, _CONTEXT, 0)
            yield Difference(removed, added, head.lstrip(), gap + tail.rstrip())


def differences(before: Shown, after: Shown, columns: int) -> list[Difference]:
    """Return the :func:`own_lines` of two pages, and then the changes of their texts."""
    lines = list(starmap(Difference, own_lines(before.details, after.details)))
    return lines + list(changes(before.text, after.text, columns))


def change_lines(before: str, after: str, columns: int, lines: int, colour: bool) -> list[str]:
    """Return the changes, one a line of so many columns, with a little of the text around them.

    Changes are marked by colours, or else by ``[-removed-]{+added+}``. Of more changes than
    ``lines``, the last line says how many there are.
    """
    lines_of_changes = []
    for removed, added, head, tail in changes(before, after, columns):
        if colour:
            marked = paint(removed, "31;9", colour) + paint(added, "32", colour)
        else:
            marked = f"[-{removed}-]" * bool(removed) + f"{{+{added}+}}" * bool(added)
        lines_of_changes.append((head + marked + tail).strip())
    more = len(lines_of_changes) - lines
    return (
        [*lines_of_changes[: lines - 1], f"{lines_of_changes[lines - 1]} (and {more} more)"]
        if more > 0
        else lines_of_changes
    )


def difference_lines(
    before: Shown, after: Shown, columns: int, lines: int, colour: bool
) -> list[str]:
    """Return what differs between two pages: their :func:`own_lines`, and then the changes.

    There are up to ``lines`` of each kind.
    """
    head = [f"{a} | {b}" for a, b in own_lines(before.details, after.details, lines)]
    return head + change_lines(before.text, after.text, columns, lines, colour)


def own_lines(before: Sequence[str], after: Sequence[str], most: int = 10) -> list[tuple[str, str]]:
    """Return the first lines that only one of two pages has, side by side.

    A value stands with the name of its field, and of a long line the part that differs. The first
    400 lines of each page are compared; where a list is cut, what the other has beyond the cut does
    not count. A line without a digit that stands at another place of the other page is no
    difference. Where a side has no line, it is empty.
    """
    mark = CUT.strip()
    is_cut = mark in (*before[-1:], *after[-1:]) or max(len(before), len(after)) > _LINES
    a, b = ([line for line in side[:_LINES] if line != mark] for side in (before, after))
    both = {line for line in {*a} & {*b} if not any(map(str.isdigit, line))}
    pairs: list[tuple[str, str]] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b).get_opcodes():
        at_cut = is_cut and i2 == len(a) and j2 == len(b)
        if tag != "equal" and not at_cut:
            sides = _named(a, i1, i2, both), _named(b, j1, j2, both)
            pairs += starmap(_apart, zip_longest(*sides, fillvalue=""))
    return pairs[:most]


def _apart(left: str, right: str) -> tuple[str, str]:
    """Return two lines in 50 columns each, the part that differs among them."""
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )
    first = same - _LINE // 3
    if first > _HEAD and max(width(left), width(right)) > _LINE:
        left, right = (f"{line[:_HEAD].rstrip()} … {line[first:]}" for line in (left, right))
    return _cut(left, _LINE, 0), _cut(right, _LINE, 0)


def _named(lines: list[str], first: int, end: int, both: set[str]) -> list[str]:
    """Return lines but those of both pages, the first with its field's name."""
    result = [line for line in lines[first:end] if line not in both]
    if result and first and result[0] == lines[first] and ":" not in result[0]:
        name = lines[first - 1]
        if ": " not in name and max(width(name), width(result[0])) <= _FIELD:
            result[0] = f"{name.rstrip(':')}: {result[0]}"
    return result


def _of_excerpts(before: str, after: str) -> list[Stretch]:
    """Compare two excerpts: words beside a cut differ because the cuts are at other places."""
    (head, cut, tail), (other_head, other_cut, other_tail) = (
        text.partition(CUT) for text in (before, after)
    )
    if not (cut or other_cut):
        return stretches(before, after)
    if not cut:
        head, tail = _cut_as(before, other_head, other_tail)
    elif not other_cut:
        other_head, other_tail = _cut_as(after, head, tail)
    heads, tails = stretches(head, other_head), stretches(tail, other_tail)
    if len(heads) > 1 and heads[-1].changed:
        del heads[-1]
    if len(tails) > 1 and tails[0].changed:
        del tails[0]
    return [*heads, Stretch(CUT, CUT, changed=False), *tails]


def _cut_as(text: str, head: str, tail: str) -> tuple[str, str]:
    """Return the two ends of a whole text that are as long as those of another one."""
    return text[: len(head)], text[max(len(head), len(text) - len(tail)) :]


def width(text: str) -> int:
    """Return how many columns a terminal needs for the text: two for a Han character."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def _cut(text: str, head: int, tail: int) -> str:
    """Return the two ends of a text, in columns, or all of it if little would be left out."""
    if width(text) <= head + tail + 3:
        return text
    first, last = _fitting(text, head), _fitting(text[::-1], tail)[::-1]
    return (f"{first.rstrip()} " if head else "") + "…" + (f" {last.lstrip()}" if tail else "")


def _fitting(text: str, columns: int) -> str:
    widths = accumulate(map(width, text))
    return text[: sum(1 for _ in takewhile(lambda total: total <= columns, widths))]
