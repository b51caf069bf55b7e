"""What 20 look-ups and 20 inserts of a page cost Redis in other layouts of the bucket pages.

    python -m tests.benchmarks.redis_layouts [--pages 100000]

Each script is called with 32 pages, as claims are. Nothing is split, and no fingerprint is
compared: the times are those of the buckets alone, the bytes those of the buckets of a page.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from tests.benchmarks.redis_measuring import BANDS, Table, batches, cpu_seconds, need_redis
from tests.servers import RedisServer, redis_server

PER_CALL, CALLS, ROUNDS = 32, 60, 5
# Bytes of an entry, and of a bucket of a fixed table, which has room for eight.
ENTRY, BUCKET = 6, 48

# Each argument is a page: a number of 4 bytes and a tag of 3 for each block.
_HEAD = """
local call, find, suffix = redis.call, string.find, 'xyz'
local NAMES, TAGS = ('c4xxx'):rep(20), ('xxxxc3'):rep(20)
local PLACES = '>' .. ('I4xxx'):rep(20)
local hits = 0
"""
_APPEND = """
local written = {}
for j = 1, 20 do written[2 * j - 1], written[2 * j] = names[j], found[j] .. tags[j] .. suffix end
call('HSET', KEYS[1], unpack(written))
"""
_SEEK = "for j = 1, 20 do if find(found[j], tags[j], 1, true) then hits = hits + 1 end end"
_READ = """
local names, tags = {struct.unpack(NAMES, ARGV[i])}, {struct.unpack(TAGS, ARGV[i])}
local found = call('HMGET', KEYS[1], unpack(names, 1, 20))
"""
HASH = f"for i = 1, #ARGV do {_READ} {_SEEK} {_APPEND} end"
HASH_APPENDS = f"for i = 1, #ARGV do {_READ} {_APPEND} end"
HASH_OF_A_CALL = """
local all, tags, written = {}, {}, {}
for i = 1, #ARGV do
  local names, own = {struct.unpack(NAMES, ARGV[i])}, {struct.unpack(TAGS, ARGV[i])}
  for j = 1, 20 do all[#all + 1], tags[#tags + 1] = names[j], own[j] end
end
for k, content in ipairs(call('HMGET', KEYS[1], unpack(all))) do
  if find(content, tags[k], 1, true) then hits = hits + 1 end
  written[2 * k - 1], written[2 * k] = all[k], content .. tags[k] .. suffix
end
call('HSET', KEYS[1], unpack(written))
"""
STRINGS = f"""
for i = 1, #ARGV do
  local names, tags = {{struct.unpack(NAMES, ARGV[i])}}, {{struct.unpack(TAGS, ARGV[i])}}
  local found = call('MGET', unpack(names, 1, 20))
  {_SEEK}
  for j = 1, 20 do call('APPEND', names[j], tags[j] .. suffix) end
end
"""
RANGES = """
for i = 1, #ARGV do
  local at, tags = {struct.unpack(PLACES, ARGV[i])}, {struct.unpack(TAGS, ARGV[i])}
  for j = 1, 20 do
    if find(call('GETRANGE', KEYS[j], at[j], at[j] + 47), tags[j], 1, true) then hits = 1 end
  end
  for j = 1, 20 do call('SETRANGE', KEYS[j], at[j], tags[j] .. suffix) end
end
"""


@dataclass(frozen=True)
class Layout:
    """A layout: its script, and the entries of a bucket page, 0 for a fixed table."""

    script: str
    entries: int = 40
    in_strings: bool = False
    read_by_client: bool = False

    def fill(self, server: RedisServer, numbers: int) -> None:
        """Make the bucket pages of a block, or the buckets of its table, for all blocks."""
        with server.client() as client:
            for block in range(BANDS):
                names = [(block << 24 | numbers + n).to_bytes(4, "big") for n in range(numbers)]
                if not self.entries:
                    client.set(str(block), bytes(BUCKET * numbers))
                for some in batches(names if self.entries else [], 500):
                    pipeline = client.pipeline(transaction=False)
                    for name in some:
                        if not self.in_strings:
                            pipeline.hset("0", name, bytes(ENTRY * self.entries))
                        for _ in range(self.entries * self.in_strings):
                            pipeline.append(name, bytes(ENTRY))
                    pipeline.execute()

    def call(self, numbers: int, chance: np.random.Generator) -> list[bytes]:
        """Return the arguments of a call."""
        drawn = chance.integers(numbers, size=(PER_CALL, BANDS))
        if self.entries:
            drawn += numbers + (np.arange(BANDS) << 24)
        else:
            drawn *= BUCKET
        parts = np.empty((PER_CALL, BANDS, 7), np.uint8)
        parts[..., :4] = drawn.astype(">u4")[..., None].view(np.uint8)
        parts[..., 4:] = chance.integers(256, size=(PER_CALL, BANDS, 3))
        return [page.tobytes() for page in parts]


LAYOUTS = {
    "hash, 40 entries a field": Layout(HASH),
    "hash, 20 entries a field": Layout(HASH, 20),
    "hash, one HMGET and one HSET a call": Layout(HASH_OF_A_CALL),
    "hash, the client reads it, a script appends": Layout(HASH_APPENDS, read_by_client=True),
    "a string for each bucket page, MGET and APPEND": Layout(STRINGS, in_strings=True),
    "a fixed table for each block, GETRANGE and SETRANGE": Layout(RANGES, 0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000, help="pages in the index")
    options = parser.parse_args()
    need_redis()
    table = Table("", "pages", "server us a page", "bytes a page")
    for name, layout in LAYOUTS.items():
        with redis_server() as server, server.client() as client:
            empty, chance = server.used_memory, np.random.default_rng(1)
            # A fixed table is filled by three quarters.
            numbers = options.pages // (layout.entries or 6)
            layout.fill(server, numbers)
            room = (server.used_memory - empty) / options.pages
            digest = client.script_load(_HEAD + layout.script)
            times = []
            for _ in range(ROUNDS):
                calls = [layout.call(numbers, chance) for _ in range(CALLS)]
                before = cpu_seconds(server)
                for call in calls:
                    if layout.read_by_client:
                        names = [page[at : at + 4] for page in call for at in range(0, 140, 7)]
                        client.hmget("0", names)
                    client.evalsha(digest, BANDS, *map(str, range(BANDS)), *call)
                times.append((cpu_seconds(server) - before) / (CALLS * PER_CALL) * 1e6)
            table.row(name, options.pages, min(times), room)


if __name__ == "__main__":
    main()
