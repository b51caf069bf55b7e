"""`scrapy simhash explain`: what became of a page, and why."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.selection import keys_of
from scrapy_simhash.commands.stores import (
    add_index_option,
    add_json_option,
    add_log_option,
    check_json,
    counted,
    index_url,
    log_paths,
    opened,
    show,
    when,
)

if TYPE_CHECKING:
    from scrapy_simhash.index import Entry, StoredIndex
    from scrapy_simhash.report.dedup_log import LogLine

SUMMARY = "Say of a page whether it is in the index, or what it was dropped for"

DESCRIPTION = """\
The index knows the originals; what was dropped stands in the dedup log, which a crawl
writes with SIMHASH_LOG.

    scrapy simhash explain http://www.example.com/a --log dedup.jsonl
    scrapy simhash explain http://www.example.com/a --index redis://localhost/0

What two pages have in common is told by "scrapy simhash compare".

exit status: 0, it is known; 1, it is neither in the index nor in the log; 2, something
given cannot be used.
"""

_SHOWN = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("page", metavar="URL", help="the address of a page, or its key")
    add_index_option(parser)
    add_log_option(parser)
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Look it up, and say what is known."""
    check_json(options)
    url, logs = index_url(options, settings), log_paths(options, settings)
    if url is None and not logs:
        raise UsageError("look where? Name the index with --index URL, a dedup log with --log FILE")
    if url is None:
        return _told(options, None, logs)
    with opened(url) as index:
        return _told(options, index, logs)


def _told(options: argparse.Namespace, index: StoredIndex | None, logs: Sequence[str]) -> int:
    names = set(keys_of(options.page))
    if index is not None:
        names |= {index.stored_key(name) for name in names}
    last, repeating = _read(logs, names, options.page)
    original = last.original if last and last.verdict == "duplicate" else None
    entries = index.find({*names, original or ""}) if index is not None else []
    # One and the same key may have come in twice, with different contents.
    own = [entry for entry in entries if entry.key in names]
    of_original = [entry for entry in entries if entry.key not in names]
    lines = [options.page]
    found: dict[str, Any] = {"page": options.page}
    if index is not None:
        found["in_index"] = [_plain(entry) for entry in own]
        lines += [_in_index(entry) for entry in own] or ["  not in the index"]
    if last is not None:
        found["log"] = {name: getattr(last, name) for name in _LOGGED}
        lines += _logged(last)
        if original is not None and index is not None:
            found["original_in_index"] = [_plain(entry) for entry in of_original]
            known = [f"  its original: {_in_index(e).strip()}" for e in of_original]
            lines += known or ["  its original is not in the index any more"]
    elif logs:
        lines.append("  not in the log")
    if logs:
        nearest = sorted(repeating.values(), key=lambda line: (line.distance, line.key))
        found["repeated_by"] = [{"key": e.key, "distance": e.distance} for e in nearest]
        if nearest or own or (last and last.verdict == "unique"):
            verb = "repeats" if len(nearest) == 1 else "repeat"
            lines.append(f"  {counted(len(nearest), 'page')} {verb} it" + ":" * bool(nearest))
        lines += [f"    {line.distance:3} bits  {line.key}" for line in nearest[:_SHOWN]]
        lines += [f"    and {len(nearest) - _SHOWN:,} more"] * (len(nearest) > _SHOWN)
    show(options, lines, found)
    return 0 if own or last is not None or repeating else 1


_LOGGED = ("time", "verdict", "reason", "action", "original", "distance", "k")


def _read(
    logs: Sequence[str], names: set[str], url: str
) -> tuple[LogLine | None, dict[str, LogLine]]:
    """Return the last line about the page, and the last about each that repeats it."""
    from scrapy_simhash.report.dedup_log import read_log

    last: LogLine | None = None
    repeating: dict[str, LogLine] = {}
    try:
        for line in read_log(logs):
            if line.key in names or line.url == url:
                last = line
            if line.original in names:
                repeating[line.key] = line
            elif line.key in repeating:
                # It has changed since, and repeats it no more.
                del repeating[line.key]
    except OSError as error:
        raise UsageError(f"{error.filename or logs[0]}: {error.strerror or 'not there'}") from None
    return last, repeating


def _in_index(entry: Entry) -> str:
    state = "in progress" if entry.provisional else "original"
    scope = f", among the pages of {entry.scope}" if entry.scope else ""
    return f"  {state}, in the index since {when(entry.time)}{scope}"


def _logged(line: LogLine) -> list[str]:
    if line.verdict == "duplicate":
        done = {"drop": "dropped", "follow": "followed, its items dropped", "flag": "flagged"}
        return [
            f"  {done.get(line.action or '', 'seen')} at {when(line.time)}, as it repeats",
            f"    {line.original}",
            f"    {line.distance} bits apart; pages within {line.k} count as near-duplicates",
        ]
    what = {"unique": "let in as an original", "revisit": "let in again, as it is its own original"}
    told = what.get(line.verdict, f"let through unchecked ({line.reason})")
    return [f"  {told} at {when(line.time)}"]


def _plain(entry: Entry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "fingerprint": str(entry.fingerprint),
        "scope": entry.scope,
        "time": entry.time,
        "in_progress": entry.provisional,
    }
