"""Find near-duplicates among saved pages, or fill an index from them.

PAGES are files, or folders of files, also packed (.gz, .xz, .bz2):
- JSON lines (.jsonl, .jl, .ndjson) or a JSON array (.json), as Scrapy's feeds; an entry
  has the field that SIMHASH_ITEM_TEXT_FIELD names, "html", "html_base64" or "text"
- HTML, plain text (.txt), and WARC and WET (pip install "scrapy-simhash[warc]")

The command judges pages in their order, with the settings of this project, as a crawl
does: it keeps the first of near-duplicates, and pages that cannot be compared. With
--index it compares them with the pages of that index, and adds what it keeps. If it is
interrupted, run it again.

    scrapy simhash dedupe items.jsonl --verdicts verdicts.jsonl
    scrapy simhash report verdicts.jsonl
    scrapy simhash dedupe items.jsonl --index redis://localhost/0

A corpus of any size takes two steps. PAGES may be the fingerprints that "scrapy simhash
fingerprint" wrote, or folders of them. DuckDB joins them, with the same verdicts, in
less memory than they need. Then --verdicts has a row for each page, and --kept the
fingerprints of the pages that were kept:

    scrapy simhash fingerprint crawl/*.warc.gz --to prints
    scrapy simhash dedupe prints --verdicts verdicts.parquet --kept kept.parquet
    scrapy simhash import kept.parquet --index redis://localhost/0
"""

import os
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import passed_over, say, whole_file
from scrapy_simhash.commands.selection import (
    analysed,
    chosen_settings,
    index_url,
    reading,
    shared_options,
)
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import IndexSpec
from scrapy_simhash.offline.join import KEPT, VERDICTS, DuckDB, find_copies
from scrapy_simhash.offline.prints import (
    are_prints,
    metadata_of,
    print_files,
    spec_of_prints,
)
from scrapy_simhash.offline.saved_pages import (
    Analysed,
    Decided,
    decide,
    page_files,
)
from scrapy_simhash.report.dedup_log import TEXT_LENGTH, line_of, to_json
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings

OPTIONS = {
    "pages": {"nargs": "+", "metavar": "PAGES", "help": "saved pages, or fingerprints"},
    "--verdicts": {
        "metavar": "FILE",
        "help": "write what became of each page; a dedup log, or Parquet",
    },
    "--kept": {
        "metavar": "FILE",
        "help": "where the fingerprints of kept pages go, if PAGES are fingerprints",
    },
    **shared_options("index"),
}


def run(options: Namespace) -> None:
    paths = [*map(Path, options.pages)]
    chosen = chosen_settings(options)
    pages = [path for path in paths if not are_prints(path)]
    if not pages:
        if options.index:
            raise UsageError(
                'fingerprints go into an index by --kept and "scrapy simhash import"'
            )
        _join(paths, options, chosen)
    elif pages != paths or options.kept:
        raise UsageError(f"{pages[0]}: it has no fingerprints (.parquet)")
    else:
        # An index of the crawl's settings is only touched when it is named here.
        url = index_url(options) if options.index else "memory://"
        _judge_in_turn(paths, options.verdicts, url, chosen)


def _judge_in_turn(
    paths: list[Path],
    target: str | None,
    url: str,
    chosen: FilterSettings,
) -> None:
    counts = Counter[str]()
    with (
        whole_file(target or os.devnull, *chain(*map(page_files, paths))) as file,
        reading(paths, chosen) as reader,
    ):
        pages = chain.from_iterable(map(reader.read, paths))
        with analysed(pages, chosen, TEXT_LENGTH if target else 0) as analyses:
            for page, verdict, is_kept in _verdicts(analyses, url, chosen):
                counts[verdict.kind if is_kept else "copies"] += 1
                line = line_of(
                    "page",
                    page.url or page.name,
                    verdict,
                    action=None if is_kept else "drop",
                    k=chosen.recipe.distance,
                    bytes=len(page.body.data),
                )
                file.write(f"{to_json(line)}\n".encode())
    say(_total(counts.total(), counts["copies"]))
    if counts["revisit"]:
        say(f"{counts['revisit']:,} of those to keep were in the index already")
    if counts["skipped"]:
        say(f"{counts['skipped']:,} of those to keep cannot be compared")
    say(*passed_over(reader))


def _verdicts(
    analyses: Iterator[Analysed],
    url: str,
    chosen: FilterSettings,
) -> Iterator[Decided]:
    """Yield pages with their verdicts, and whether they are kept."""
    # If the first page cannot be read, no index is made.
    first = [*islice(analyses, 1)]
    spec = spec_of(chosen.recipe, scoped=chosen.scope != "global")
    with closing(open_index(url, spec)) as index:
        yield from decide(chain(first, analyses), index, chosen.scope)


def _total(pages: int, copies: int) -> str:
    return (
        f"{count(pages, 'page')}: {pages - copies:,} to keep, {count(copies, 'copy')}"
    )


def _join(
    paths: list[Path],
    options: Namespace,
    chosen: FilterSettings,
) -> None:
    targets = [path for path in (options.verdicts, options.kept) if path]
    if len({Path(path).resolve() for path in targets}) < len(targets):
        raise UsageError("--verdicts and --kept name one file")
    files = print_files(paths)
    spec = spec_of(chosen.recipe)
    _refuse_others(files, spec)
    with ExitStack() as stack:
        parts = {
            path: stack.enter_context(whole_file(path, *files)).name for path in targets
        }
        engine = stack.enter_context(_engine(files, next(iter(parts), ".")))
        copies = find_copies(engine, spec)
        if options.verdicts:
            engine.write(parts[options.verdicts], VERDICTS, {})
        if options.kept:
            engine.write(parts[options.kept], KEPT, metadata_of(spec))
        [(pages,)] = engine.rows("select count(*) from prints")
    say(_total(pages, copies))


@contextmanager
def _engine(files: list[Path], beside: str) -> Iterator[DuckDB]:
    """Yield an engine, with a folder beside a file for what its memory does not hold."""
    with (
        TemporaryDirectory(prefix=".join-", dir=Path(beside).parent) as folder,
        closing(DuckDB(files, Path(folder))) as engine,
    ):
        yield engine


def _refuse_others(files: list[Path], spec: IndexSpec) -> None:
    """Raise a UsageError for fingerprints of another recipe.

    Facts of another version would count as none, and pages be judged by distance alone.
    """
    made_by = spec_of_prints(files)
    if made_by != spec:
        raise UsageError(
            f"{files[0]}: its fingerprints were made by another recipe, or version, than the "
            f"settings have here: {made_by.recipe}, k = {made_by.distance}"
        )
