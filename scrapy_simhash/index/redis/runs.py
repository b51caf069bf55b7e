"""Runs as they stand in Redis; see ``lua/runs.lua``."""

import struct

from scrapy_simhash.index.values import Run

_HEAD = struct.Struct(">ddB")


def read_runs(answer: dict[bytes, bytes]) -> list[Run]:
    """Return the runs, the oldest first, of the fields and values of their hash."""
    runs = []
    for name, packed in answer.items():
        if name.isdigit():
            begun, ended, finished = _HEAD.unpack_from(packed)
            spider, pages = packed[_HEAD.size :].decode(), int(answer.get(name + b":pages", 0))
            runs.append(Run(int(name), spider, begun, ended or None, bool(finished), max(pages, 0)))
    return sorted(runs)
