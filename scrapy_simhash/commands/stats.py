"""`scrapy simhash stats`: what an index holds, and what it takes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.stores import (
    add_index_option,
    add_json_option,
    check_json,
    in_bytes,
    needed_index_url,
    opened,
    recipe_of,
    show,
    when,
)

if TYPE_CHECKING:
    from scrapy_simhash.index import Census, Entry, StoredIndex

SUMMARY = "Show what an index holds, and how large it is"

DESCRIPTION = """\
    scrapy simhash stats --index redis://localhost/0
    scrapy simhash stats --index /var/lib/crawl/pages.sqlite --json -

Counts are exact. Sizes in Redis come from a sample of its keys, so that no call to it is
a large one; skew, oldest and newest from a sample of the pages.

skew: how many more candidates a claim meets in the buckets of a block than if pages were
spread evenly; 1 is best, 50 makes claims slow. crowded: entries that found their bucket
full, so that a near-duplicate of theirs may be missed. in progress: pages whose callback
has not finished, with those that wait on them.

exit status: 0, shown; 2, there is no index, or it cannot be used.
"""

_SAMPLE = 10_000
_TIMES = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_index_option(parser)
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Look, and print."""
    from scrapy_simhash.offline.sizing import skew

    check_json(options)
    with opened(needed_index_url(options, settings)) as index:
        census, sample = index.census(), index.sample(_SAMPLE)
        recipe = recipe_of(index.recipe, settings)
        found = {
            "pages": census.pages,
            "in_progress": census.provisional,
            "waiting": census.waiting,
            "bodies": census.bodies,
            "oldest": min((entry.time for entry in sample), default=None),
            "newest": max((entry.time for entry in sample), default=None),
            "recipe": recipe.name if recipe else None,
            "identity": index.recipe,
            "distance": index.distance,
            "layout": str(index.layout),
            "guaranteed_distance": index.layout.guaranteed_distance,
            "options": index.options,
            "bytes": census.sizes,
            "bytes_in_all": sum(census.sizes.values()),
            "mean_key": sum(len(e.key) for e in sample) / len(sample) if sample else None,
            "crowded": census.crowded,
            "bucket_fill": census.pages / (1 << index.layout.width),
            "skew": skew([e.fingerprint for e in sample], index.layout),
            "ten_times": _ten_times(index, census, sample),
        }
    show(options, _lines(found), found)


def _ten_times(index: StoredIndex, census: Census, sample: list[Entry]) -> int | None:
    """Return the bytes that ten times as many pages would take: as the model says it grows."""
    from scrapy_simhash.offline.sizing import redis_bytes, sqlite_bytes

    size = sum(census.sizes.values())
    if not sample or not size:
        return None
    key = sum(len(entry.key.encode("utf-8", "replace")) for entry in sample) / len(sample)
    buckets = index.options.get("buckets")
    now, then = (
        redis_bytes(index.layout, pages, key, buckets=buckets == "redis")
        if buckets
        else sqlite_bytes(index.layout.bits, pages, key)
        for pages in (census.pages, _TIMES * census.pages)
    )
    return round(size * then / now)


def _lines(found: dict[str, Any]) -> list[str]:
    pages = found["pages"]
    rows = [
        ("pages", f"{pages:,}"),
        ("in progress", f"{found['in_progress']:,}, and {found['waiting']:,} waiting on them"),
    ]
    rows.append(("bodies", f"{found['bodies']:,} remembered"))
    if found["oldest"] is not None:
        rows += [("oldest", when(found["oldest"])), ("newest", when(found["newest"]))]
    rows.append(("recipe", f"{found['recipe'] or 'one of your own'}: {found['identity']}"))
    rows.append(("distance", f"{found['distance']} bits"))
    rows.append(("layout", f"{found['layout']}"))
    rows.append(("", f"within {found['guaranteed_distance']} bits every pair is found"))
    if found["options"]:
        rows.append(("kept as", ", ".join(f"{k}={v}" for k, v in found["options"].items())))
    rows.append(("buckets", f"{found['bucket_fill']:.2f} pages in each on average"))
    if found["skew"] is not None:
        rows.append(("skew", f"{found['skew']:.2f}"))
    if found["crowded"] is not None:
        rows.append(("crowded", f"{found['crowded']:,} entries"))
    size = found["bytes_in_all"]
    if found["bytes"]:
        each = f", {size / pages:,.0f} a page" if pages else ""
        rows.append(("size", in_bytes(size) + each))
        rows += [("", f"{in_bytes(part)} {name}") for name, part in found["bytes"].items()]
    else:
        rows.append(("size", "the server does not tell"))
    if found["ten_times"] is not None:
        rows.append(("at 10 times", f"{in_bytes(found['ten_times'])} for {_TIMES * pages:,} pages"))
    return [f"{name:<12} {value}" for name, value in rows]
