"""Lines of dedup logs for tests."""

from __future__ import annotations

from typing import Any

from scrapy_simhash.report.dedup_log import LogLine, host_of


def line(**values: Any) -> LogLine:
    """Return a line: by default a page that was kept."""
    given = {
        "time": 1_800_000_000.0,
        "what": "page",
        "url": "http://a.example/",
        "verdict": "unique",
        "reason": None,
        "action": None,
        "original": None,
        "near": None,
        "distance": None,
        "k": 48,
        "bytes": 1000,
        "seconds": 0.5,
        "text": "",
        "pattern": None,
    } | values
    return LogLine(**{"key": given["url"], "host": host_of(given["url"]), **given})


def copy(url: str, original: str, distance: int = 0, **values: Any) -> LogLine:
    """Return the line of a page that was dropped."""
    return line(
        **{"verdict": "duplicate", "action": "drop", "url": url, "original": original,
           "distance": distance, **values}
    )  # fmt: skip
