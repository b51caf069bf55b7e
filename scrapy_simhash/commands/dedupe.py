"""Find near-duplicates among saved pages, or fill an index from them.

PAGES are JSON lines (.jsonl, .jl, .ndjson), a JSON array (.json) or Parquet, with
"html", "html_base64", "text", "raw_content" or "markdown" in each entry, and "id",
"url" or "metadata.url" if it has a name; WARC and WET files, HTML files, texts (.txt),
or folders of these; also packed (.gz, .xz, .bz2, .zst). Parquet needs an extra, pip
install "scrapy-simhash[corpus]", and so do .zst and brotli, "scrapy-simhash[warc]". The
command judges pages in their order, with the settings of this project, as a crawl does:
it keeps the first of near-duplicates. It says what it passed over.

    scrapy simhash dedupe items.jsonl --verdicts verdicts.jsonl
    scrapy simhash report verdicts.jsonl
    scrapy simhash dedupe crawl-2026-01.warc.gz

With --index it compares them with the pages of that index, and adds what it keeps, so
that a new crawl knows the pages of an earlier one.

    scrapy simhash dedupe items.jsonl --index redis://localhost/0

An interrupted run with --index is simply run again. Pages that cannot be compared (too
short, nothing to read) are kept. SIMHASH_PROCESSES says how many processes work.
"""

import argparse
import contextlib
import json
from collections import Counter
from dataclasses import asdict
from functools import partial
from pathlib import Path

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, index_url
from scrapy_simhash.commands.output import progress, say, say_passed_over, whole_file
from scrapy_simhash.core.pool import analyse_all
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_index
from scrapy_simhash.offline.saved_pages import page_files, read_pages
from scrapy_simhash.offline.verdicts import decide
from scrapy_simhash.report.dedup_log import line_of
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pages", nargs="+", metavar="PAGES", help="saved pages")
    parser.add_argument(
        "--verdicts", metavar="FILE", help='write a dedup log, with what is "kept" of the pages'
    )
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    own = FilterSettings.from_settings(settings)
    # An index of the crawl's settings is only touched when it is named here.
    url = index_url(options, settings) if options.index else "memory://"
    files = [file for path in options.pages for file in page_files(Path(path))]
    total, over = sum(file.stat().st_size for file in files), Counter[str]()
    with contextlib.ExitStack() as stack:
        path = options.verdicts
        verdicts = stack.enter_context(whole_file(path, *files)) if path else None
        spec = spec_of(own.recipe, scoped=own.scope != "global")
        index = stack.enter_context(contextlib.closing(open_index(url, spec)))
        bar = stack.enter_context(progress("reading", total, "B"))
        read = partial(read_pages, passed=bar.update, over=over, recipe=own.recipe)
        pages = (page for path in options.pages for page in read(path))
        analyses = analyse_all(
            ((page, page.body) for page in pages),
            own.recipe,
            processes=own.processes,
            timeout=own.timeout,
            excerpt_length=own.log_text if verdicts else 0,
            largest=own.max_body_size,
        )
        stack.enter_context(contextlib.closing(analyses))
        kept, copies = Counter[str](), 0
        for page, verdict, stays in decide(analyses, index, own.scope):
            kept[verdict.kind] += stays
            copies += not stays
            if verdicts:
                action = None if stays else "drop"
                line = line_of("page", page.url or page.name, verdict, action, own.recipe.distance)
                values = asdict(line) | {"kept": stays, "bytes": len(page.body.data)}
                verdicts.write(json.dumps(values).encode() + b"\n")
            bar.set_postfix(duplicates=copies, refresh=False)
    judged = count(kept.total() + copies, "page")
    say([f"{judged}: {kept.total():,} to keep, {count(copies, 'copy')}"])
    if kept["revisit"]:
        say([f"{kept['revisit']:,} of those to keep were in the index already"])
    if kept["skipped"]:
        say([f"{kept['skipped']:,} of those to keep could not be compared"])
    say_passed_over(over)
