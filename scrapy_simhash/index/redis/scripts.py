"""The scripts that run in Redis: put together of small files, with the geometry of an index."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.pages import KEY_BYTES
from scrapy_simhash.index.redis.rows import ROWS
from scrapy_simhash.index.values import BUCKET_LIMIT

# Bytes of a segment of the log, so that it just fits a size class of the allocator.
_SEGMENT_BYTES = 2042
# Bytes of a leaf on average: smaller ones cost more memory, larger ones more time.
_LEAF_BYTES = 240
#: Leaves of a block in a new index.
LEAST_LEAVES = 256
#: Positions whose runs stand in one string.
SEEN = 1 << 20


@dataclass(frozen=True)
class Geometry:
    """How an index is laid out in Redis."""

    bits: int
    blocks: int
    in_redis: bool

    @property
    def record(self) -> int:
        return self.bits // 8 + (0 if self.in_redis else 4 * self.blocks + KEY_BYTES)

    @property
    def segment(self) -> int:
        return max(_SEGMENT_BYTES // self.record, 1)

    @property
    def entry(self) -> int:
        """Bytes of an entry of a bucket page; short fingerprints stand in it."""
        return 6 + 8 if self.bits == 64 else 6


@cache
def script(name: str, geometry: Geometry) -> tuple[str, str]:
    """Return the text of a script and its SHA-1, by which Redis knows it."""
    constants = {
        "WIDTH": geometry.bits // 8,
        "BLOCKS": geometry.blocks,
        "RECORD": geometry.record,
        "SEGMENT": geometry.segment,
        "ENTRY": geometry.entry,
        "ROWS": ROWS,
        "LEAST_LEAVES": LEAST_LEAVES,
        # A leaf stays small even if all positions of 32 bits are taken.
        "MOST_LEAVES": 1 << 28,
        "SEEN": SEEN,
        "LEAF_ENTRIES": _LEAF_BYTES // geometry.entry,
        "BUCKET_LIMIT": BUCKET_LIMIT,
        "FEW": 32,
        "RULINGS": RULINGS,
        # A call ends soon after so many comparisons, which take a millisecond or two.
        "MOST_EFFORT": 500,
    }
    finder = "buckets" if geometry.in_redis else "news"
    lines = [f"local {', '.join(constants)} = {', '.join(map(str, constants.values()))}"]
    for line in _lines(name):
        part = line.removeprefix("--# ")
        lines += [line] if part == line else _lines(finder if part == "finder" else part)
    text = "\n".join(lines)
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _lines(name: str) -> list[str]:
    return (files(__package__) / "lua" / f"{name}.lua").read_text("utf-8").splitlines()
