"""Show the pages of an index, and its size; with --check, whether it is whole.

    scrapy simhash stats --index redis://localhost/0
    scrapy simhash stats --index /var/lib/crawl/pages.sqlite --check

Counts are exact; sizes of a large index in Redis are estimated from a sample of its keys.
Pages in progress are those whose callback has not finished; a crawler that was killed
leaves some until their leases run out. The first page is the one that came in first;
imported pages keep their times.

--check reads the whole index. It prints a line for everything that is missing or cannot be
read, and then the exit status is 1. A crawl passes over damaged entries, so that their
copies may be crawled once more; "scrapy simhash export" takes the others into a new index.
"""

import argparse

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, show
from scrapy_simhash.commands.selection import add_shared_options, chosen_index
from scrapy_simhash.report.words import moment, size


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="read all of it: is it whole?")
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    with chosen_index(options, settings) as index:
        census, spec = index.census(), index.spec
        first = next(iter(index), None)
        damages = index.check() if options.check else []
    total = sum(census.sizes.values())
    values = {
        "pages": census.pages,
        "in_progress": census.provisional,
        "first": first.time if first else None,
        "recipe": spec.recipe,
        "bits": spec.bits,
        "distance": spec.distance,
        "blocks": spec.blocks,
        "bytes": census.sizes,
        **({"damaged": damages} if options.check else {}),
    }
    each = f", {size(total / census.pages)} a page" if census.pages else ""
    rows = [
        ("pages", f"{census.pages:,}"),
        ("in progress", f"{census.provisional:,}"),
        ("first page", f"{moment(first.time)} UTC" if first else "-"),
        ("recipe", spec.recipe),
        ("distance", f"{spec.distance} of {spec.bits} bits"),
        ("found by", f"{spec.blocks} block values a page"),
        ("size", size(total) + each if total else "the server does not tell"),
        *(("", f"{size(part)} {name}") for name, part in census.sizes.items()),
        *(("damaged", text) for text in damages),
        *([("whole", "yes")] if options.check and not damages else []),
    ]
    show(options, aligned(rows), values)
    return 1 if damages else 0
