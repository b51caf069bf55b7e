"""Show the pages of an index, and its size.

    scrapy simhash stats --index redis://localhost/0
    scrapy simhash stats --index /var/lib/crawl/pages.sqlite --json

Counts are exact; sizes of a large index in Redis come from a sample of its keys. Pages in
progress are those whose callback has not finished; a crawler that was killed leaves some
until their leases run out. The first page is the one that came in first; pages that were
imported keep the times that they had.
"""

import argparse

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, chosen_index
from scrapy_simhash.commands.output import aligned, show
from scrapy_simhash.report.words import moment, size


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    with chosen_index(options, settings) as index:
        census, spec = index.census(), index.spec
        first = next(iter(index), None)
    total = sum(census.sizes.values())
    found = {
        "pages": census.pages,
        "in_progress": census.provisional,
        "first": first.time if first else None,
        "recipe": spec.recipe,
        "bits": spec.bits,
        "distance": spec.distance,
        "blocks": spec.blocks,
        "bytes": census.sizes,
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
    ]
    show(options, aligned(rows), found)
