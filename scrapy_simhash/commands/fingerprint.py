"""Write the fingerprints of saved pages as Parquet, for a corpus of any size.

PAGES are files and folders as "scrapy simhash dedupe" reads them. Each becomes a file
in the folder of --to. Files that exist are not written again, so an interrupted run is
simply repeated. Many machines share the work if each has other PAGES.

    scrapy simhash fingerprint crawl/*.warc.gz --to prints
    scrapy simhash dedupe prints --verdicts verdicts.parquet

It needs pip install "scrapy-simhash[corpus]". SIMHASH_PROCESSES processes work.
"""

from argparse import Namespace
from pathlib import Path

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import passed_over, say, whole_file
from scrapy_simhash.commands.selection import analysed, chosen_settings, reading
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.offline.prints import pyarrow, write_prints
from scrapy_simhash.report.words import count

OPTIONS = {
    "pages": {"nargs": "+", "metavar": "PAGES", "help": "saved pages"},
    "--to": {"required": True, "metavar": "FOLDER", "help": "where the files go"},
}


def run(options: Namespace) -> None:
    pyarrow()  # without it, nothing is made
    chosen = chosen_settings(options)
    folder = Path(options.to)
    targets = {
        path: folder / f"{path.name}.parquet" for path in map(Path, options.pages)
    }
    if len({*targets.values()}) < len(options.pages):
        raise UsageError("two of PAGES have one name, and so would their files have")
    new = [path for path in targets if not targets[path].exists()]
    folder.mkdir(parents=True, exist_ok=True)
    pages = 0
    with reading(new, chosen) as reader:
        for path in new:
            with (
                analysed(reader.read(path), chosen) as analyses,
                whole_file(str(targets[path])) as file,
            ):
                pages += write_prints(
                    file, spec_of(chosen.recipe), analyses, chosen.scope
                )
    say(f"{folder}: {count(pages, 'page')} written")
    if len(new) < len(targets):
        say(f"not written again: {count(len(targets) - len(new), 'file')}")
    say(*passed_over(reader))
