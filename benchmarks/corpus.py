"""The join of a corpus beside a crawl's way and a rival on made pages, and on real ones.

    python -m benchmarks.corpus --pages 1000000 [--only join spark datasketch]
    python -m benchmarks.corpus --same docs-html records-html blog-html mails-html

Each step is a process of its own; CPU is that of all its processes, in microseconds a
page. All steps have the same pages: fingerprints, block values and facts of
``tests.offline.made``, of which a third are copies, 1% share one bucket, and .2% have
one text. datasketch is given the block values as MinHash bands: its LSH is asked for
each page, which is added if there is no answer. It looks at no distance and at no page.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.documents import DATA
from benchmarks.measuring import cpu_of, descendants, in_a_process
from scrapy_simhash.core.analysis import PageAnalysis, text_body
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.core.workers import Workers
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.offline.analyses import analyse_all
from scrapy_simhash.offline.join import VERDICTS, DuckDB, find_copies, spark_verdicts
from scrapy_simhash.offline.prints import (
    ROWS,
    print_files,
    read_prints,
    spec_of_prints,
    write_prints,
)
from scrapy_simhash.offline.saved_pages import PageReader, SavedPage, decide
from tests.offline.made import judged_in_turn, made_prints
from tests.pages import DEFAULT


def make(folder: Path, count: int) -> None:
    pages = made_prints(count, flood=0.01, one_text=0.002)
    for number in range(0, count, ROWS):
        with (folder / f"made.{number:09}.parquet").open("wb") as file:
            write_prints(file, spec_of(DEFAULT), islice(pages, ROWS), "global")


def entries(folder: Path) -> Iterator[Entry]:
    files = print_files([folder])
    return read_prints(files, spec_of_prints(files))


def blocks(folder: Path) -> Iterator[Any]:
    return (np.frombuffer(entry.fingerprint.blocks, "<u4") for entry in entries(folder))


def join(folder: Path) -> Iterator[int]:
    files = print_files([folder])
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        engine = DuckDB(files, Path(scratch))
        find_copies(engine, spec_of_prints(files))
        verdicts = enumerate(engine.rows(VERDICTS))
        yield from (page for page, (_, _, is_kept, *_) in verdicts if not is_kept)


def spark(folder: Path) -> Iterator[int]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.driver.memory": "8g", "spark.driver.maxResultSize": "0"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    verdicts = spark_verdicts(session, str(folder), DEFAULT).select("kept").toArrow()
    flags = verdicts.column("kept").to_pylist()
    yield from (page for page, is_kept in enumerate(flags) if not is_kept)


def in_turn(folder: Path) -> Iterator[int]:
    pages = (
        (
            SavedPage(e.key, e.key, text_body(""), e.key),
            PageAnalysis(e.fingerprint, e.facts),
        )
        for e in entries(folder)
    )
    verdicts = enumerate(judged_in_turn(pages))
    yield from (page for page, verdict in verdicts if verdict.kind == "duplicate")


def datasketch(folder: Path) -> Iterator[int]:
    from datasketch import MinHash, MinHashLSH

    count = DEFAULT.blocks.count
    tables = MinHashLSH(num_perm=count, params=(count, 1))
    for number, values in enumerate(blocks(folder)):
        page = MinHash(
            num_perm=count, hashvalues=values.astype(np.uint64), scheme="legacy"
        )
        if tables.query(page):
            yield number
        else:
            tables.insert(number, page)


STEPS = {"join": join, "in turn": in_turn, "datasketch": datasketch, "spark": spark}


def run_step(step: str, folder: str) -> dict[str, Any]:
    """Return what a step drops, and what this process took for it."""
    dropped, status = (
        list(STEPS[step](Path(folder))),
        Path("/proc/self/status").read_text(),
    )
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return {
        "dropped": dropped,
        # The processes of Spark go on.
        "cpu": sum(each.ru_utime + each.ru_stime for each in used)
        + sum(map(cpu_of, descendants())),
        "gigabytes": 1024 * int(status.split("VmHWM:")[1].split()[0]) / 1e9,
    }


def compare_steps(count: int, steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "prints"
        folder.mkdir()
        make(folder, count)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{count:,} made pages, {size / count:.0f} bytes each as Parquet")
        print("CPU a page, memory of the process, and pages that are dropped")
        dropped = {}
        for step in steps:
            took = in_a_process("corpus", [step, str(folder)])
            dropped[step] = set(took["dropped"])
            print(
                f"{step:12} {1e6 * took['cpu'] / count:8.1f} us {took['gigabytes']:7.2f} GB "
                f"{len(dropped[step]):10,} dropped",
                flush=True,
            )
        if {"join", "in turn"} <= dropped.keys():
            print(
                f"other verdicts of the join: {len(dropped['join'] ^ dropped['in turn']):,}"
            )


def same(name: str) -> None:
    """Print on how many saved pages the verdict of the join is not that of ``dedupe``."""
    workers = Workers(DEFAULT, processes=os.cpu_count() or 1, timeout=60)
    analysed = list(analyse_all(PageReader().read(DATA / name), workers))
    with closing(open_index("memory://", spec_of(DEFAULT))) as index:
        decided = decide(iter(analysed), index, "global")
        originals = [
            (v.kind, v.original if not stays else None) for _, v, stays in decided
        ]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "prints.parquet"
        with path.open("wb") as file:
            write_prints(file, spec_of(DEFAULT), analysed, "global")
        engine = DuckDB([path], Path(scratch))
        find_copies(engine, spec_of(DEFAULT))
        joined = [original for _, _, _, _, original, *_ in engine.rows(VERDICTS)]
    differing = 0
    for (page, _), (kind, original), by_join in zip(
        analysed, originals, joined, strict=True
    ):
        if original != by_join:
            differing += 1
            print(f"  {page.key}: {kind} of {original}; by the join of {by_join}")
    print(
        f"{name}: {differing} of {len(joined)} pages with another verdict", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--same", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=[*STEPS][:3], choices=STEPS)
    parser.add_argument("--order", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        print(json.dumps(run_step(*json.load(sys.stdin))))
    elif options.pages:
        compare_steps(options.pages, options.only)
    for name in options.same:
        same(name)


if __name__ == "__main__":
    main()
