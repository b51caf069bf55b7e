"""List address patterns whose pages are copies; forbid or forget them.

A pattern is a host, a path and parameters, with stars for values that differ. SIMHASH_SPARE
says what a crawl does with requests that fit one.

    scrapy simhash patterns --all
    scrapy simhash patterns --forbid 'www.example.com/item/*?view=print'

A forbidden signature is never a pattern. --forget deletes a signature and its counts.
Running crawls learn of that within seconds.

columns: copies and distinct, pages; at least, the lower end of the 95% interval of the
share of copies, if that makes a pattern.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, say
from scrapy_simhash.commands.selection import add_shared_options, chosen_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.report.words import count, size
from scrapy_simhash.url_patterns.address import read_signature
from scrapy_simhash.url_patterns.learner import Learner
from scrapy_simhash.url_patterns.rows import Row, SharedRows
from scrapy_simhash.url_patterns.table import PatternTable, Places

_Parts = tuple[str, str]  # host and signature


class _Listed(NamedTuple):
    """A signature with its host, its counts, and the lower bound of its share of copies."""

    name: str
    row: Row
    bound: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="signatures that are no patterns too")
    for name, says in (("forbid", "never make it a pattern"), ("forget", "delete its counts")):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="SIGNATURE",
            help=f"{says} (may be repeated)",
        )
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    forbidden = [*map(_parted, options.forbid)]
    forgotten = [*map(_parted, options.forget)]
    shared = SharedRows()
    with chosen_index(options, settings) as index:
        shared.read(index)
        changed = _change(shared, index, forbidden, forgotten)
    if forbidden or forgotten:
        say([f"{count(changed, 'signature')} changed"])
        return 0 if changed else 1
    signatures = _signatures(shared)
    listed = [each for each in signatures if each.bound or options.all]
    if listed:
        say(_listed_lines(listed))
    else:
        learned = count(len(signatures), "signature")
        say([f"no pattern among {learned}{'; --all lists them' if signatures else ''}"])
    return 0 if listed else 1


def _change(
    shared: SharedRows, index: Index, forbidden: list[_Parts], forgotten: list[_Parts]
) -> int:
    """Forbid and forget signatures; return how many have changed."""
    for host, signature in forbidden:
        shared.add(index, host, {signature: Row(mark="forbidden")})
    present = [(host, name) for host, name in forgotten if name in shared.rows(host)]
    for host, signature in present:
        shared.add(index, host, {}, forget=[signature])
    return len(forbidden) + len(present)


def _parted(text: str) -> _Parts:
    host, slash, rest = text.partition("/")
    if not host or not slash or rest.startswith("/") or "://" in host:
        raise UsageError(f"{text!r} is no signature: it must be like www.example.com/item/*?view=*")
    # Its parameters may have any order, and the values any escapes.
    return host, Places().signature(read_signature(text))[0]


def _signatures(shared: SharedRows) -> list[_Listed]:
    """Return all signatures, those first whose copies have the most bytes."""
    learner = Learner(PatternTable(shared.rows))
    signatures = []
    for host in shared:
        for signature, row in learner.table.of(host).rows().items():
            name = host + signature
            signatures.append(_Listed(name, row, learner.bound(name, row)))
    return sorted(signatures, key=lambda each: -each.row.bytes)


def _listed_lines(listed: list[_Listed]) -> Iterator[str]:
    rows = [("copies", "distinct", "at least", "in bytes", "signature")]
    examples = [""]
    for name, row, bound in listed:
        share = f"{bound:.0%}" if bound else "-"
        name += f" ({row.mark})" if row.mark else ""
        rows.append((f"{row.copies:,}", f"{row.distinct:,}", share, size(row.bytes), name))
        examples.append(row.example)
    for line, example in zip(aligned(rows), examples, strict=True):
        yield line
        if example:
            yield f"    such as {example.replace(' ', ', a copy of ')}"
