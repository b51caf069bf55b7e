"""Lines of dedup logs for tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrapy_simhash.keys import host_of
from scrapy_simhash.report.dedup_log import LogLine, to_json

CRAWL = "news, run 1, 2027-01-15 08:00:00"

# What a stranger may write into a page or an address.
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "<!--", "]]>", "&lt;script&gt;", "\u202egnp.exe", "\x00\x1b[31m", "\ud800",
]  # fmt: skip


def line(**values: Any) -> LogLine:
    """Return a line: by default a page that was kept."""
    fields = {
        "time": 1_800_000_000.0,
        "what": "page",
        "url": "http://a.example/",
        "verdict": "unique",
        "k": 48,
        "bytes": 1000,
        "crawl": CRAWL,
    } | values
    return LogLine(**{"key": fields["url"], "host": host_of(fields["url"]), **fields})


def copy(url: str, original: str, distance: int = 0, **values: Any) -> LogLine:
    """Return the line of a page that was dropped."""
    return line(
        **{"verdict": "duplicate", "action": "drop", "url": url, "original": original,
           "distance": distance, **values}
    )  # fmt: skip


def spared(url: str, signature: str = "", time: float = 1.0) -> LogLine:
    """Return the line of a request that was not sent."""
    return line(time=time, what="spared", url=url, verdict="spared", signature=signature)


def write(path: Path, lines: Sequence[LogLine]) -> Path:
    path.write_text("".join(to_json(each) + "\n" for each in lines), "utf-8")
    return path
