"""`scrapy simhash dedupe`: the filter over pages that were saved."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, progress, whole_file, write_file
from scrapy_simhash.commands.stores import add_shared_options, index_url, show, usage_errors
from scrapy_simhash.report.words import count

if TYPE_CHECKING:
    from scrapy_simhash.index import Index
    from scrapy_simhash.offline.dedupe import Decision
    from scrapy_simhash.offline.pages import Fields, SavedPage
    from scrapy_simhash.settings import FilterSettings

SUMMARY = "Find near-duplicates among saved pages, or fill an index from them"

DESCRIPTION = """\
PAGES are .jsonl (also .jl, .ndjson) with "html", "html_base64" or "text" and "url" or
"id" in each line, WARC files (pip install "scrapy-simhash[warc]"), HTML files, or
folders of these; also packed (.gz, .xz, .bz2). The command judges them in their order,
with the settings of this project, as a crawl does: it keeps the first of near-duplicates.

    scrapy simhash dedupe items.jsonl --kept kept.txt --clusters clusters.jsonl
    scrapy simhash dedupe crawl-2026-01.warc.gz --verdicts verdicts.jsonl

With --index it compares them with the pages of that index, and adds what it keeps, so
that a new crawl knows the pages of an earlier one.

    scrapy simhash dedupe items.jsonl --index redis://localhost/0

An interrupted run with --index is simply run again. Pages that cannot be compared (too
short, nothing to read) are kept. SIMHASH_PROCESSES says how many processes work, and
SIMHASH_ITEM_HTML_FIELD and SIMHASH_ITEM_TEXT_FIELD, which fields have the page.

exit status: 0, done; 2, something given cannot be used; 130, interrupted.
"""

_SHOWN = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", nargs="+", metavar="PAGES", help="saved pages")
    parser.add_argument("--kept", metavar="FILE", help="write the key of each page to keep")
    parser.add_argument(
        "--clusters",
        metavar="FILE",
        help="write a line of JSON for each page that others repeat, the largest cluster first",
    )
    parser.add_argument(
        "--verdicts", metavar="FILE", help="write a line of JSON for each page, in their order"
    )
    parser.add_argument(
        "--index",
        metavar="URL",
        help="the index to compare with and to fill, or the path of a file (default: in memory)",
    )
    parser.add_argument(
        "--key-field", metavar="NAME", help="the field of a line that names its page (url, id)"
    )
    add_shared_options(parser, "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Judge the pages, and write what was asked for."""
    from scrapy_simhash.detector import NearDuplicateDetector
    from scrapy_simhash.offline.dedupe import Limits, analyses, decide
    from scrapy_simhash.offline.pages import page_files
    from scrapy_simhash.settings import FilterSettings

    for path in filter(None, (options.kept, options.clusters, options.verdicts)):
        check_writable(path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(usage_errors())
        own = FilterSettings.from_settings(settings)
        files = [file for path in options.pages for file in page_files(Path(path))]
        index = stack.enter_context(contextlib.closing(_index(options, settings, own)))
        verdicts, kept = (
            stack.enter_context(whole_file(path)) if path else None
            for path in (options.verdicts, options.kept)
        )
        total = sum(file.stat().st_size for file in files)
        bar = stack.enter_context(progress("reading", total, "B"))
        limits = Limits(own.processes, own.timeout, own.max_body_size)
        pages = _pages(options.pages, _fields(options.key_field, own), bar.update)
        analysed = analyses(pages, own.recipe, limits)
        stack.enter_context(contextlib.closing(analysed))
        result = _Result()
        for decision in decide(analysed, NearDuplicateDetector(own.recipe, index), own.scope):
            result.add(decision)
            if verdicts:
                verdicts.write(json.dumps(asdict(decision)).encode() + b"\n")
            if kept and decision.kept:
                kept.write(decision.key.encode("utf-8", "backslashreplace") + b"\n")
            bar.set_postfix(duplicates=result.verdicts["duplicate"], refresh=False)
        clusters = result.clusters()
        if options.clusters:
            write_file(options.clusters, _clusters(clusters))
        found = {**result.counts(), "clusters": len(clusters), "index": len(index)}
    show(options, _lines(found, clusters), found)


def _fields(key: str | None, own: FilterSettings) -> Fields:
    from scrapy_simhash.offline.pages import Fields

    default = Fields()
    html, text = own.item_html_field, own.item_text_field
    return Fields(
        key=(key,) if key else default.key,
        html=(html,) if html else () if text else default.html,
        text=(text,) if text else default.text,
    )


def _pages(
    paths: list[str], fields: Fields, passed: Callable[[int], object]
) -> Iterator[SavedPage]:
    from scrapy_simhash.offline.pages import read_pages

    for path in paths:
        yield from read_pages(path, fields, passed)


def _index(options: argparse.Namespace, settings: BaseSettings, own: FilterSettings) -> Index:
    from scrapy_simhash.index import open_index

    # An index of the crawl's settings is only touched when it is named here.
    url = index_url(options, settings) if options.index else "memory://"
    assert url is not None
    return open_index(url, own.index_spec())


class _Result:
    """The decisions so far."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.kept = 0
        self._copies: dict[str, list[tuple[int, str]]] = {}

    def add(self, decision: Decision) -> None:
        self.verdicts[decision.verdict] += 1
        self.kept += decision.kept
        if decision.original is not None:
            distance = decision.distance or 0
            self._copies.setdefault(decision.original, []).append((distance, decision.key))

    def counts(self) -> dict[str, int]:
        return {
            "pages": self.verdicts.total(),
            "kept": self.kept,
            "duplicates": self.verdicts["duplicate"],
            "revisits": self.verdicts["revisit"],
            "skipped": self.verdicts["skipped"],
        }

    def clusters(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """Return originals with their copies and distances, the largest cluster first."""
        ordered = [(original, sorted(copies)) for original, copies in self._copies.items()]
        return sorted(ordered, key=lambda cluster: (-len(cluster[1]), cluster[0]))


def _clusters(clusters: Iterable[tuple[str, list[tuple[int, str]]]]) -> bytes:
    text = ""
    for original, copies in clusters:
        listed = [{"key": key, "distance": distance} for distance, key in copies]
        cluster = {"original": original, "size": len(copies) + 1, "copies": listed}
        text += json.dumps(cluster) + "\n"
    return text.encode()


def _lines(found: dict[str, int], clusters: list[tuple[str, list[tuple[int, str]]]]) -> list[str]:
    repeat = "repeats" if found["duplicates"] == 1 else "repeat"
    lines = [
        f"{count(found['pages'], 'page')}: {found['kept']:,} to keep, {found['duplicates']:,} "
        f"{repeat} another, in {count(found['clusters'], 'cluster')}"
    ]
    if found["revisits"]:
        lines.append(f"{found['revisits']:,} of those to keep were in the index already")
    if found["skipped"]:
        lines.append(f"{found['skipped']:,} of those to keep could not be compared")
    lines += [
        f"  {count(len(copies), 'copy'):>12} of {original}"
        for original, copies in clusters[:_SHOWN]
    ]
    if len(clusters) > _SHOWN:
        lines.append(f"  and {count(len(clusters) - _SHOWN, 'more cluster')}")
    return lines
