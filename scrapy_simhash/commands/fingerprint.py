"""Write the fingerprints of saved pages as Parquet, for a corpus of any size.

PAGES are files and folders as "scrapy simhash dedupe" reads them. Each becomes files with
up to 65,536 pages in the folder of --to. Files that exist are not written again, so an
interrupted run is simply repeated. Many machines share the work if each has other PAGES.

    scrapy simhash fingerprint crawl/*.warc.gz --to prints
    scrapy simhash dedupe prints --verdicts verdicts.parquet

It needs pip install "scrapy-simhash[corpus]". SIMHASH_PROCESSES processes work.
"""

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import passed_over, say, whole_file
from scrapy_simhash.commands.selection import analysed, reading
from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.keys import Scope, page_scope
from scrapy_simhash.offline.prints import ROWS, Print, pyarrow, write_prints
from scrapy_simhash.offline.saved_pages import SavedPage
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pages", nargs="+", metavar="PAGES", help="saved pages")
    parser.add_argument("--to", required=True, metavar="FOLDER", help="where the files go")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    pyarrow()  # without it, nothing is made
    chosen = FilterSettings.from_settings(settings)
    paths = [*map(Path, sorted(options.pages))]
    if len({path.name for path in paths}) < len(paths):
        raise UsageError("two of PAGES have one name, and so would their files have")
    counts = Counter[str]()
    with reading(paths, chosen) as reader:
        for path in paths:
            for number, piece in enumerate(_page_pieces(reader.read(path))):
                target = Path(options.to) / f"{path.name}.{number:06}.parquet"
                if target.exists():
                    counts["old"] += sum(1 for _ in piece)
                else:
                    counts["written"] += _write(piece, target, chosen)
    say([f"{options.to}: {_written(counts)}", *passed_over(reader)])


def _written(counts: Counter[str]) -> str:
    return f"{count(counts['written'], 'page')} written, {counts['old']:,} were there"


def _page_pieces(pages: Iterator[SavedPage]) -> Iterator[Iterator[SavedPage]]:
    """Yield the pages of each file; whoever takes the next ones has read all of the last."""
    for first in pages:
        yield itertools.chain([first], itertools.islice(pages, ROWS - 1))


def _write(pages: Iterator[SavedPage], target: Path, chosen: FilterSettings) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    now = int(time.time())
    with analysed(pages, chosen) as analyses, whole_file(str(target)) as file:
        prints = (_print(page, analysis, chosen.scope, now) for page, analysis in analyses)
        return write_prints(file, spec_of(chosen.recipe), prints)


def _print(
    page: SavedPage,
    analysis: PageAnalysis,
    scope: Scope,
    now: int,
) -> Print:
    return Print(
        page.key,
        page.url,
        page_scope(page.url or "", scope),
        now,
        analysis.reason,
        analysis.fingerprint,
        analysis.facts,
    )
