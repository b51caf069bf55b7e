"""The join of a corpus beside a crawl's way and two rivals, on made pages; cosines on real ones.

    python -m benchmarks.corpus --pages 1000000 [--only join alone]
    python -m benchmarks.corpus --cosine docs-html records-html
    python -m benchmarks.corpus --same docs-html records-html blog-html mails-html

Each step is a process of its own; CPU is that of all its processes, in microseconds a page. All
steps have the same pages: fingerprints, block values and facts of ``tests.offline.made``, of which
a third are copies, 1% share one bucket, and .2% have one text. Two rivals are given the block
values as MinHash bands: datasketch asks its LSH for each page and adds it if there is no answer; a
table for each band, and a union of all that share a bucket, is how text-dedup clusters. text-dedup
itself, whose command is run with its defaults, gets each page as a text with a word for each block,
and words in place of 5-grams.
None of them looks at a distance or a page. *alone* is the join in one process, of which it prints
what rulings and decisions take.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from math import log, sqrt
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.documents import DATA
from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.core.sync import analyse_all
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_index
from scrapy_simhash.index.neighbours import near_pairs
from scrapy_simhash.index.values import Entry
from scrapy_simhash.offline import engines
from scrapy_simhash.offline import join as joining
from scrapy_simhash.offline.engines import DuckDB
from scrapy_simhash.offline.join import VERDICTS, find_copies
from scrapy_simhash.offline.prints import (
    ROWS,
    Print,
    print_files,
    read_prints,
    spec_of_prints,
    write_prints,
)
from scrapy_simhash.offline.saved_pages import PageReader, SavedPage
from scrapy_simhash.offline.verdicts import decide
from tests.offline.made import RECIPE, judged_in_turn, made_prints

STEPS = ("join", "in turn", "datasketch", "tables", "text-dedup")


def make(folder: Path, count: int) -> None:
    pages = made_prints(count, flood=0.01, one_text=0.002)
    for number in range(0, count, ROWS):
        with (folder / f"made.{number:09}.parquet").open("wb") as file:
            write_prints(file, spec_of(RECIPE), islice(pages, ROWS))


def entries(folder: Path) -> Iterator[Entry]:
    files = print_files([folder])
    return read_prints(files, spec_of_prints(files)[0])


def join(folder: Path, processes: int = os.cpu_count() or 1) -> Iterator[int]:
    files = print_files([folder])
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        engine = DuckDB(files, processes, Path(scratch), "4GB")
        find_copies(engine, spec_of_prints(files)[0])
        rows = (batch.column("kept").to_pylist() for batch in engine.rows(VERDICTS))
        yield from (n for n, kept in enumerate(kept for some in rows for kept in some) if not kept)


def alone(folder: Path) -> Iterator[int]:
    counts, spent = dict[str, int](), dict[str, float]()

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timing(first: Any, **rest: Any) -> Any:
            begun, count = time.thread_time(), len(first) if rest else 1
            answer = call(first, **rest)
            counts[name] = counts.get(name, 0) + count
            spent[name] = spent.get(name, 0.0) + time.thread_time() - begun
            return answer

        return timing

    rulings, decisions = timed("rulings", engines.judged), timed("decisions", joining._decide)
    with patch.object(engines, "judged", rulings), patch.object(joining, "_decide", decisions):
        yield from join(folder, 0)
    for name, count in counts.items():
        print(f"{count:,} {name} take {spent[name]:.1f} s", file=sys.stderr)


def in_turn(folder: Path) -> Iterator[int]:
    known = entries(folder)
    prints = (Print(e.key, e.key, e.scope, 0, None, e.fingerprint, e.facts) for e in known)
    yield from (n for n, v in enumerate(judged_in_turn(prints)) if v.kind == "duplicate")


def blocks(folder: Path) -> Iterator[Any]:
    return (np.frombuffer(e.fingerprint.blocks, "<u4") for e in entries(folder))


def datasketch(folder: Path) -> Iterator[int]:
    from datasketch import MinHash, MinHashLSH

    count = RECIPE.blocks.count
    tables = MinHashLSH(num_perm=count, params=(count, 1))
    for number, values in enumerate(blocks(folder)):
        page = MinHash(num_perm=count, hashvalues=values.astype(np.uint64), scheme="legacy")
        if tables.query(page):
            yield number
        else:
            tables.insert(number, page)


def text_dedup(folder: Path) -> Iterator[int]:
    import datasets
    import pyarrow as pa
    from pyarrow import parquet

    texts, kept = folder.parent / "texts.parquet", folder.parent / "kept"
    words = [" ".join(f"{n:02}x{v:08x}" for n, v in enumerate(v.tolist())) for v in blocks(folder)]
    parquet.write_table(pa.table({"text": words, "number": range(len(words))}), texts)
    command = [sys.executable, "-m", "text_dedup.minhash", "--path=parquet", "--split=train"]
    command += [f"--data_files={texts}", "--column=text", "--ngram=1", f"--output={kept}"]
    command += [f"--cache_dir={folder.parent / 'cache'}", f"--num_proc={os.cpu_count()}"]
    subprocess.run(command, check=True, stdout=sys.stderr, stderr=subprocess.DEVNULL)
    yield from sorted({*range(len(words))}.difference(datasets.load_from_disk(kept)["number"]))


def tables(folder: Path) -> Iterator[int]:
    tables: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(RECIPE.blocks.count)]
    number = -1
    for number, values in enumerate(blocks(folder)):
        for table, value in zip(tables, values.tolist(), strict=True):
            table[value].append(number)
    above = list(range(number + 1))

    def top(page: int) -> int:
        while above[page] != page:
            above[page] = page = above[above[page]]
        return page

    for table in tables:
        for pages in table.values():
            if len(pages) > 1:
                first = min(top(page) for page in pages)
                for page in pages:
                    above[top(page)] = first
    yield from (page for page in range(number + 1) if top(page) != page)


def measured(step: str, folder: Path, pages: int) -> set[int]:
    """Run a step in a process of its own; print what it took, and return what it drops."""
    to = folder.parent / "dropped.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.corpus",
        "--step",
        step,
        str(folder),
        str(to),
    ]
    begun, before = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime"))
    dropped = set(json.loads(to.read_text()))
    print(
        f"{step:12} {1e6 * cpu / pages:8.1f} us {int(done.stdout) / 1e9:7.2f} GB "
        f"{time.time() - begun:8.1f} s {len(dropped):10,} dropped",
        flush=True,
    )
    return dropped


def cosine(name: str) -> None:
    """Print the TF-IDF cosine of the pairs within reach, by their distance."""
    pages = ((page, page.body) for page in PageReader().read(DATA / name))
    known: list[tuple[SavedPage, PageAnalysis]] = [
        (page, found)
        for page, found in analyse_all(pages, RECIPE, excerpt_length=100_000)
        if found.fingerprint
    ]
    # Hashed terms, and the smoothed IDF, as Spark's HashingTF and IDF have them.
    terms = [Counter(hash(w) & 0x3FFFF for w in a.excerpt.lower().split()) for _, a in known]
    in_pages = Counter(term for counts in terms for term in counts)
    weight = {term: log((len(terms) + 1) / (n + 1)) for term, n in in_pages.items()}
    vectors = [{term: n * weight[term] for term, n in counts.items()} for counts in terms]
    lengths = [sqrt(sum(v * v for v in vector.values())) for vector in vectors]
    found: defaultdict[int, list[float]] = defaultdict(list)
    for (a, b), distance in near_pairs([a.fingerprint for _, a in known], RECIPE.reach):
        product = sum(v * vectors[b].get(term, 0.0) for term, v in vectors[a].items())
        found[distance // 8].append(product / (lengths[a] * lengths[b] or 1))
    print(f"{name}: cosine of pairs, by distance: 10th, 50th and 90th percentile")
    for band, values in sorted(found.items()):
        low, middle, high = np.percentile(values, (10, 50, 90))
        shares = f"{low:6.3f} {middle:6.3f} {high:6.3f}"
        print(f"  {8 * band:3} to {8 * band + 7:3} {len(values):9,} pairs {shares}")


def same(name: str) -> None:
    """Print on how many saved pages the verdict of the join is not that of ``dedupe``."""
    pages = ((page, page.body) for page in PageReader().read(DATA / name))
    analysed = list(analyse_all(pages, RECIPE))
    prints = (
        Print(page.key, page.url, "", 0, known.reason, known.fingerprint, known.facts)
        for page, known in analysed
    )
    with closing(open_index("memory://", spec_of(RECIPE))) as index:
        decided = decide(analysed, index, "global")
        in_turn = [(v.kind, v.original if not stays else None) for _, v, stays in decided]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "prints.parquet"
        with file.open("wb") as opened:
            write_prints(opened, spec_of(RECIPE), prints)
        engine = DuckDB([file], 0, Path(scratch))
        find_copies(engine, spec_of(RECIPE))
        joined = engine.rows(VERDICTS).read_all().to_pylist()
    other = 0
    for (page, _), (kind, original), row in zip(analysed, in_turn, joined, strict=True):
        if original != row["original"]:
            other += 1
            print(f"  {page.key}: {kind} of {original}; by the join of {row['original']}")
    print(f"{name}: {other} of {len(joined)} pages with another verdict", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--cosine", nargs="*", default=[])
    parser.add_argument("--same", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=STEPS)
    parser.add_argument("--step", nargs=3)
    options = parser.parse_args()
    if options.step:
        name, folder, to = options.step
        work = {
            "join": join,
            "alone": alone,
            "in turn": in_turn,
            "datasketch": datasketch,
            "tables": tables,
            "text-dedup": text_dedup,
        }
        Path(to).write_text(json.dumps(list(work[name](Path(folder)))))
        own = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
        print(1024 * max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
    elif options.pages:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "prints"
            folder.mkdir()
            make(folder, options.pages)
            size = sum(file.stat().st_size for file in folder.iterdir())
            print(f"{options.pages:,} made pages, {size / options.pages:.0f} bytes each as Parquet")
            print("CPU a page, memory of the process, time, and pages that are dropped")
            dropped = {step: measured(step, folder, options.pages) for step in options.only}
            if {"join", "in turn"} <= dropped.keys():
                print(f"other verdicts of the join: {len(dropped['join'] ^ dropped['in turn']):,}")
    for name in options.cosine:
        cosine(name)
    for name in options.same:
        same(name)


if __name__ == "__main__":
    main()
