"""Takes an index from SQLite to Redis and back, through files: seconds and peak memory of each.

    python -m tests.benchmarks.transfer [--pages 1000000] [--recipe default] [--cluster]

Each step is a command of its own, as an operator would run it. The file that comes back from Redis
must be the very same as the first, and so must the one that comes from the second SQLite index.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from scrapy_simhash.detector import spec_of
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Entry
from tests.benchmarks.redis_measuring import Table, count, need_redis, pages
from tests.servers import Cluster, RedisServer, cluster, redis_server


def fill(url: str, recipe_name: str, size: int) -> None:
    recipe = named_recipe(recipe_name)
    index = open_index(url, spec_of(recipe))
    found = pages(recipe.bits, recipe.distance, size)
    index.put(
        Entry(key, own, time=1_700_000_000 + number) for number, (key, own) in enumerate(found)
    )
    index.close()


def command(table: Table, *arguments: object) -> None:
    """Run ``scrapy simhash`` and add a row with what it took."""
    begun = time.monotonic()
    words = [sys.executable, "-m", "scrapy", "simhash", *map(str, arguments)]
    child = os.posix_spawn(sys.executable, words, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(words)}: status {status}")
    seconds = time.monotonic() - begun
    about = f"{arguments[0]} {str(arguments[-1]).split(':')[0]}"
    table.row(about, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--cluster", action="store_true")
    options = parser.parse_args()
    need_redis()
    server: contextlib.AbstractContextManager[RedisServer | Cluster]
    server = cluster() if options.cluster else redis_server()
    with tempfile.TemporaryDirectory() as name, server as started:
        folder = Path(name)
        first, second = (f"sqlite:///{folder / file}" for file in ("one.sqlite", "two.sqlite"))
        # In a process of its own: a child's peak memory begins with what its parent has.
        context = multiprocessing.get_context("spawn")
        filling = context.Process(target=fill, args=(first, options.recipe, options.pages))
        filling.start()
        filling.join()
        print(f"{count(options.pages)} pages, recipe {options.recipe}\n", flush=True)
        table = Table("step", "seconds", "CPU seconds", "peak MB")
        files = [folder / f"{number}.jsonl" for number in range(3)]
        steps = zip(files, (first, f"{started.url}?name=copy", second), strict=True)
        for number, (file, url) in enumerate(steps):
            if number:
                command(table, "import", files[number - 1], "--index", url)
                # Once more, as after an interruption: nothing is added.
                command(table, "import", files[number - 1], "--index", url)
            command(table, "export", file, "--index", url)
        same = all(file.read_bytes() == files[0].read_bytes() for file in files[1:])
        print(f"\n{files[0].stat().st_size:,} bytes; identical: {'yes' if same else 'NO'}")
        sys.exit(not same)


if __name__ == "__main__":
    main()
