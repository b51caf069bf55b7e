"""Find the near-duplicates of a corpus, given its fingerprints.

PRINTS are the files that "scrapy simhash fingerprint" wrote, or folders of them. The
command gives the verdict that "scrapy simhash dedupe" gives on the pages in this order:
that of the files, or one of SQL expressions of --order, such as "length(url), time".

    scrapy simhash join prints --to verdicts.parquet --kept kept.parquet
    scrapy simhash import kept.parquet --index redis://localhost/0

--to has a row for each page: key, url, kept, verdict, original, distance and reason;
--kept has the prints of the pages that were kept, which an index takes. The join is done
by DuckDB (pip install "scrapy-simhash[corpus]"), which needs less memory than the corpus
has and writes to a temporary folder beside --to. The documentation shows it on Spark.
"""

import argparse
import contextlib
import tempfile
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import say, whole_file
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.offline.engines import DuckDB
from scrapy_simhash.offline.join import KEPT, VERDICTS, find_copies
from scrapy_simhash.offline.prints import print_files, spec_of_prints, write_batches
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prints", nargs="+", metavar="PRINTS", help="files of fingerprints")
    parser.add_argument("--to", required=True, metavar="FILE", help="where the verdicts go")
    parser.add_argument("--kept", metavar="FILE", help="where the prints of kept pages go")
    parser.add_argument("--order", default="", metavar="SQL", help="the order of the pages")
    parser.add_argument("--memory", metavar="SIZE", help="what DuckDB may take, such as 8GB")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    files = print_files(map(Path, options.prints))
    spec, _ = spec_of_prints(files)
    own = FilterSettings.from_settings(settings)
    if spec != spec_of(own.recipe):
        # Facts of another version would be taken for none, and pages be judged by distance alone.
        raise UsageError(
            f"{files[0]}: its fingerprints were made by another recipe, or version, than the "
            f"settings have here: {spec.recipe}, k = {spec.distance}"
        )
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(whole_file(options.to, *files))
        kept = stack.enter_context(whole_file(options.kept, *files)) if options.kept else None
        beside = Path(options.to).parent
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=".join-", dir=beside))
        engine = DuckDB(files, own.processes, Path(folder), options.memory)
        stack.callback(engine.database.close)
        copies = find_copies(engine, spec, options.order)
        engine.put("dropped", copies.table())
        pages = write_batches(to, engine.rows(VERDICTS))
        if kept:
            write_batches(kept, engine.rows(KEPT), spec)
    dropped = len(copies.dropped)
    say([f"{count(pages, 'page')}: {pages - dropped:,} to keep, {count(dropped, 'copy')}"])
