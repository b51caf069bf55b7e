"""List address patterns whose pages are copies.

A pattern is a host, a path and parameters, with stars for values that differ.
SIMHASH_SPARE says what a crawl does with requests that fit one, and SIMHASH_SPARE_NEVER
which addresses it always requests.

    scrapy simhash patterns --all

columns: copies and distinct, pages; at least, the lower end of the 95% interval of the
share of copies, if that makes a pattern.
"""

from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from scrapy_simhash.commands.output import aligned, say
from scrapy_simhash.commands.selection import chosen_index, shared_options
from scrapy_simhash.report.words import count, size
from scrapy_simhash.url_patterns.learner import Learner
from scrapy_simhash.url_patterns.rows import Row, SharedRows
from scrapy_simhash.url_patterns.table import PatternTable


class _Listed(NamedTuple):
    """A signature with its host, its counts, and the lower bound of its share of copies."""

    name: str
    row: Row
    bound: float


OPTIONS = {
    "--all": {"action": "store_true", "help": "signatures that are no patterns too"},
    **shared_options("index"),
}


def run(options: Namespace) -> int:
    shared = SharedRows()
    with chosen_index(options) as index:
        shared.read(index)
    signatures = _signatures(shared)
    listed = [each for each in signatures if each.bound or options.all]
    if listed:
        say(*_listed_lines(listed))
    else:
        learned = count(len(signatures), "signature")
        say(f"no pattern among {learned}{'; --all lists them' if signatures else ''}")
    return 0 if listed else 1


def _signatures(shared: SharedRows) -> list[_Listed]:
    """Return all signatures, those first whose copies have the most bytes."""
    learner = Learner(PatternTable(shared.rows))
    signatures = [
        _Listed(host + signature, row, learner.bound(host + signature, row))
        for host in shared
        for signature, row in learner.table.of(host).rows().items()
    ]
    return sorted(signatures, key=lambda each: -each.row.bytes)


def _listed_lines(listed: list[_Listed]) -> Iterator[str]:
    rows = [("copies", "distinct", "at least", "in bytes", "signature")]
    for name, row, bound in listed:
        share = f"{bound:.0%}" if bound else "-"
        rows.append(
            (f"{row.copies:,}", f"{row.distinct:,}", share, size(row.bytes), name)
        )
    head, *lines = aligned(rows)
    yield head
    for line, each in zip(lines, listed, strict=True):
        yield line
        if each.row.example:
            yield f"    such as {each.row.example.replace(' ', ', a copy of ')}"
