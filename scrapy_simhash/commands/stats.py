"""`scrapy simhash stats`: the pages of an index, and its size."""

from __future__ import annotations

import argparse
from typing import Any

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned
from scrapy_simhash.commands.stores import (
    add_shared_options,
    needed_index_url,
    opened,
    recipe_of,
    show,
)
from scrapy_simhash.report.words import moment, size

SUMMARY = "Show the pages of an index, and its size"

DESCRIPTION = """\
    scrapy simhash stats --index redis://localhost/0
    scrapy simhash stats --index /var/lib/crawl/pages.sqlite --json -

Counts are exact. Sizes of a large index in Redis come from a sample of its keys, so that
no call to the server is a large one. Pages in progress are those whose callback has not
finished; a crawler that was killed leaves some until their leases run out.

exit status: 0, shown; 2, there is no index, or it cannot be used.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Count, and print."""
    with opened(needed_index_url(options, settings)) as index:
        census, spec = index.census(), index.spec
        first = next(iter(index), None)
    recipe = recipe_of(spec.recipe, settings)
    found = {
        "pages": census.pages,
        "in_progress": census.provisional,
        "oldest": first.time if first else None,
        "recipe": recipe.name if recipe else None,
        "identity": spec.recipe,
        "bits": spec.bits,
        "distance": spec.distance,
        "blocks": spec.blocks,
        "bytes": census.sizes,
        "bytes_in_all": sum(census.sizes.values()),
    }
    show(options, _lines(found), found)


def _lines(found: dict[str, Any]) -> list[str]:
    pages, total = found["pages"], found["bytes_in_all"]
    rows = [("pages", f"{pages:,}"), ("in progress", f"{found['in_progress']:,}")]
    if found["oldest"] is not None:
        rows.append(("oldest", f"{moment(found['oldest'])} UTC"))
    rows.append(("recipe", f"{found['recipe'] or 'one of your own'}: {found['identity']}"))
    rows.append(("distance", f"{found['distance']} of {found['bits']} bits"))
    rows.append(("found by", f"{found['blocks']} block values a page"))
    if total:
        each = f", {size(total / pages)} a page" if pages else ""
        rows.append(("size", size(total) + each))
        rows += [("", f"{size(part)} {name}") for name, part in found["bytes"].items()]
        if pages:
            rows.append(("at 10 times", f"about {size(10 * total)} for {10 * pages:,} pages"))
    else:
        rows.append(("size", "the server does not tell"))
    return aligned(rows)
