"""`scrapy simhash explain`: what became of a page, and why."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned
from scrapy_simhash.commands.selection import keys_of
from scrapy_simhash.commands.stores import (
    add_shared_options,
    index_url,
    log_lines,
    log_paths,
    opened,
    show,
    watched,
)
from scrapy_simhash.report.words import count, moment

if TYPE_CHECKING:
    from scrapy_simhash.index import Entry, Index
    from scrapy_simhash.report.dedup_log import LogLine

SUMMARY = "Say what became of a page, and which sentence of the rule decided"

DESCRIPTION = """\
The index holds the pages that were kept; the dedup log, which a crawl writes with
SIMHASH_LOG, names the pages that were dropped, and why.

    scrapy simhash explain http://www.example.com/a --log dedup.jsonl
    scrapy simhash explain http://www.example.com/a --index redis://localhost/0

For a page that was kept, the command lists the pages of the index that are near it,
with what the rule says of each. "scrapy simhash compare" shows what differs.

exit status: 0, the page is known; 1, it is neither in the index nor in the log; 2,
something given cannot be used.
"""

_SHOWN = 10
_LOGGED = ("time", "verdict", "reason", "action", "original", "near", "distance", "k")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("page", metavar="URL", help="the address of a page, or its key")
    add_shared_options(parser, "index", "log", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Look the page up, and show what is known."""
    url, logs = index_url(options, settings), log_paths(options, settings)
    if url is None and not logs:
        raise UsageError("name the index with --index URL, or a dedup log with --log FILE")
    names = set(keys_of(options.page))
    last, repeating = _read(logs, names, options.page)
    lines, found = [options.page], {"page": options.page}
    in_index = False
    if url is not None:
        with opened(url) as index:
            in_index = _add_index(index, names, last, lines, found)
    if last is not None:
        found["log"] = {name: getattr(last, name) for name in _LOGGED}
        lines += _logged(last)
    elif logs:
        lines.append("  not in the log")
    if logs:
        nearest = sorted(repeating.values(), key=lambda line: (line.distance, line.key))
        found["repeated_by"] = [{"key": e.key, "distance": e.distance} for e in nearest]
        if nearest or in_index or (last and last.verdict == "unique"):
            verb = "repeats" if len(nearest) == 1 else "repeat"
            lines.append(f"  {count(len(nearest), 'page')} {verb} it" + ":" * bool(nearest))
        lines += [f"    {line.distance:3} bits  {line.key}" for line in nearest[:_SHOWN]]
        lines += [f"    and {len(nearest) - _SHOWN:,} more"] * (len(nearest) > _SHOWN)
    show(options, lines, found)
    return 0 if in_index or last is not None or repeating else 1


def _read(
    logs: Sequence[str], names: set[str], url: str
) -> tuple[LogLine | None, dict[str, LogLine]]:
    """Return the last line about the page, and the last about each page that repeats it."""
    last: LogLine | None = None
    repeating: dict[str, LogLine] = {}
    for line in log_lines(logs):
        if line.key in names or line.url == url:
            last = line
        if line.original in names:
            repeating[line.key] = line
        elif line.key in repeating:
            # The page has changed since, and repeats this one no more.
            del repeating[line.key]
    return last, repeating


def _add_index(
    index: Index,
    names: set[str],
    last: LogLine | None,
    lines: list[str],
    found: dict[str, Any],
) -> bool:
    """Add what the index knows of the page and of its original; return whether it has the page."""
    original = last.original if last and last.verdict == "duplicate" else None
    wanted = {index.stored_key(name) for name in names}
    entries = _find(index, {*wanted, index.stored_key(original or "")})
    # One and the same key may have come in twice, with different contents.
    own = [entry for entry in entries if entry.key in wanted]
    found["in_index"] = [_plain(entry) for entry in own]
    lines += [_in_index(entry) for entry in own] or ["  not in the index"]
    for entry in own:
        near, described = _near(index, entry)
        found["near"] = found.get("near", []) + near
        lines += described
    if original is not None:
        of_original = [entry for entry in entries if entry.key not in wanted]
        found["original_in_index"] = [_plain(entry) for entry in of_original]
        known = [f"  its original: {_in_index(entry).strip()}" for entry in of_original]
        lines += known or ["  its original is not in the index any more"]
    return bool(own)


def _find(index: Index, keys: Iterable[str]) -> list[Entry]:
    """Return the entries of some keys; an index finds pages by blocks, not by key."""
    wanted = set(keys)
    return [entry for entry in watched(index, "looking") if entry.key in wanted]


def _near(index: Index, entry: Entry) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the pages near an entry, with what the rule says of each: as JSON and as lines."""
    from scrapy_simhash.fingerprint.rule import REASONS, Rule

    rule = Rule(index.spec.distance)
    near, lines = [], []
    for other in index.query(entry.fingerprint, scope=entry.scope):
        if other.key == entry.key:
            continue
        ruling = rule(entry.key, entry.facts, other.key, other.facts, other.distance)
        near.append(
            {"key": other.key, "distance": other.distance, "is_copy": ruling.is_copy}
            | {"reason": ruling.reason, "facts": _facts(other.facts)}
        )
        if len(near) <= _SHOWN:
            judged = "a copy" if ruling.is_copy else "another page"
            lines.append(f"    {other.distance:3} bits  {other.key}")
            lines.append(f"              {judged}: {REASONS[ruling.reason]}")
            lines += [f"              {row}" for row in _side_by_side(entry.facts, other.facts)]
    if not near:
        return near, ["  no other page of the index is near it"]
    verb = "is" if len(near) == 1 else "are"
    more = [f"    and {len(near) - _SHOWN:,} more"] * (len(near) > _SHOWN)
    return near, [f"  {count(len(near), 'page')} of the index {verb} near it:", *lines, *more]


def _side_by_side(own: bytes, other: bytes) -> list[str]:
    """Return the facts of two pages as a table; nothing if those of one are not known."""
    one, two = _facts(own), _facts(other)
    if one is None or two is None:
        return []
    rows = [(name.replace("_", " "), str(one[name]), str(two[name])) for name in one]
    return aligned([("", "this page", "that page"), *rows])


def _facts(data: bytes) -> dict[str, Any] | None:
    """Return the facts by name: hashes in hexadecimal, lengths in bytes."""
    from scrapy_simhash.fingerprint.facts import Facts

    if not data:
        return None
    facts = Facts.from_bytes(data)
    shown = {name: value for name, value in asdict(facts).items() if not name.endswith("_steps")}
    hashes = {name: f"{value:x}" for name, value in shown.items() if not isinstance(value, bool)}
    sizes = {"text_bytes": round(facts.text_bytes), "page_bytes": round(facts.page_bytes)}
    return shown | hashes | sizes


def _in_index(entry: Entry) -> str:
    state = "in progress" if entry.provisional else "original"
    scope = f", among the pages of {entry.scope}" if entry.scope else ""
    return f"  {state}, in the index since {moment(entry.time)} UTC{scope}"


def _logged(line: LogLine) -> list[str]:
    from scrapy_simhash.fingerprint.rule import REASONS

    because = REASONS.get(line.reason or "", line.reason or "")
    at = f"{moment(line.time)} UTC"
    if line.verdict == "duplicate":
        done = {"drop": "dropped", "follow": "followed, its items dropped", "flag": "flagged"}
        lines = [
            f"  {done.get(line.action or '', 'seen')} at {at}, because it repeats",
            f"    {line.original}",
            f"    {line.distance} bits apart; pages within {line.k} are near",
        ]
        return [*lines, f"    {because} ({line.reason})"] if because else lines
    if line.verdict == "skipped":
        return [f"  let through unchecked at {at} ({line.reason})"]
    known = "let in again, because it is its own original" if line.verdict == "revisit" else (
        "let in as an original"
    )  # fmt: skip
    lines = [f"  {known} at {at}"]
    if line.near is not None:
        lines += [
            f"    it is {line.distance} bits from {line.near}",
            f"    and another page, because {because} ({line.reason})",
        ]
    return lines


def _plain(entry: Entry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "fingerprint": str(entry.fingerprint),
        "scope": entry.scope,
        "time": entry.time,
        "in_progress": entry.provisional,
        "facts": _facts(entry.facts),
    }
