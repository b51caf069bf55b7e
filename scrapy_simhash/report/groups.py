"""The drops of a crawl in groups: the copies of a page, or pairs whose addresses have one form."""

from collections.abc import Sequence
from typing import NamedTuple

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.difference import Difference, differences
from scrapy_simhash.report.log_table import Drop
from scrapy_simhash.report.signatures import Signature, signature_of


class AlikeCopies(NamedTuple):
    """The copies of a page that differ from it in the same way."""

    original: str
    lines: list[LogLine]
    differs: list[Difference]


class Group(NamedTuple):
    """Copies that people look at together.

    Attributes:
        original: the page that all of them repeat; empty for pairs of one signature.
        signature: the signature of an address that was dropped.
        pages: copies in the log, of which some may not be shown.
        hides_many: people should look at it first, because the original hides many
            addresses.
        copies: by original and by what differs.
    """

    original: str
    signature: Signature
    pages: int
    hides_many: bool
    copies: list[AlikeCopies]

    @property
    def lines(self) -> list[LogLine]:
        return [line for copies in self.copies for line in copies.lines]

    @property
    def doubtful(self) -> bool:
        return any(line.doubtful for line in self.lines)

    @property
    def needs_a_look(self) -> bool:
        return self.hides_many or self.doubtful


def groups_of(drops: Sequence[Drop], many: float) -> list[Group]:
    """Return drops in groups: first the pages that hide ``many`` addresses, then doubtful ones."""
    by_name: dict[tuple[str, str, bool], list[Drop]] = {}
    for drop in drops:
        line = drop.line
        name = ("", signature_of(line.url).text, line.doubtful)
        if drop.copies > 1:
            name = (line.original or "", "", False)
        by_name.setdefault(name, []).append(drop)
    groups = [
        _group(original, alike, many) for (original, _, _), alike in by_name.items()
    ]
    # False comes before true.
    return sorted(
        groups,
        key=lambda group: (not group.hides_many, not group.doubtful, -group.pages),
    )


def _group(
    original: str,
    drops: Sequence[Drop],
    many: float,
) -> Group:
    pages = drops[0].copies if original else len(drops)
    signature = signature_of(drops[-1].line.url)
    hides_many = bool(original) and pages >= many
    return Group(original, signature, pages, hides_many, _by_difference(drops))


def _by_difference(drops: Sequence[Drop]) -> list[AlikeCopies]:
    """Return drops by their differences, so that each is shown once."""
    alike: dict[tuple[str, tuple[Difference, ...]], AlikeCopies] = {}
    for line, original, _ in drops:
        key = line.original or ""
        differs = differences(original.shown, line.shown)[:8] if original else []
        copies = alike.setdefault((key, (*differs,)), AlikeCopies(key, [], differs))
        copies.lines.append(line)
    return [*alike.values()]
