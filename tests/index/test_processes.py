"""Several processes on one file: who is the original, and what a kill leaves."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Index, Outcome, index_from_url

CLUSTERS = 40


def opened(path: Path) -> Index:
    return index_from_url(f"sqlite:///{path}", recipe="test", bits=64, distance=3)


def race(path, number, start, results):
    with contextlib.closing(opened(path)) as index:
        found = []
        for i in range(CLUSTERS):
            value = random.Random(i).getrandbits(64) ^ 1 << number
            start.wait()
            found.append(index.claim(f"{i}/{number}", Fingerprint(value, 64)).outcome.value)
        start.wait()
        results.put(found)


def test_of_near_duplicates_in_lock_step_exactly_one_is_the_original(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Barrier(3, timeout=60), spawn.Queue()
    path = tmp_path / "index.sqlite"  # made by whoever comes first
    workers = [spawn.Process(target=race, args=(path, n, start, results)) for n in range(3)]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    for outcomes in zip(*found, strict=True):
        assert sorted(outcomes) == ["duplicate", "duplicate", "original"]


WRITER = """
import random, sys
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import index_from_url
index = index_from_url(f"sqlite:///{sys.argv[1]}", recipe="test", bits=64, distance=3)
numbers = random.Random(0)
for i in range(10**6):
    index.claim(str(i), Fingerprint(numbers.getrandbits(64), 64), request="again")
    if i % 10 == 9:
        index.confirm(str(key) for key in range(i - 9, i - 4))
    print(i, flush=True)
"""


def test_kill_9_loses_no_acknowledged_claim_and_leaves_orphans_at_once(tmp_path):
    path = tmp_path / "index.sqlite"
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    lines = [child.stdout.readline() for _ in range(537)]
    child.send_signal(signal.SIGKILL)
    lines += child.stdout.readlines()
    child.wait(60)
    child.stdout.close()
    acknowledged = [line.strip() for line in lines if line.endswith("\n")]
    assert len(acknowledged) >= 537
    with contextlib.closing(opened(path)) as index:
        entries = list(index)
        assert {entry.key for entry in entries} >= set(acknowledged)
        provisional = {entry.key for entry in entries if entry.provisional}
        assert {page.key for page in index.orphans()} == provisional
        assert not any(entry.provisional for entry in index)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_index_goes_on_in_a_forked_process_as_another_worker(tmp_path):
    with contextlib.closing(opened(tmp_path / "index.sqlite")) as index:
        index.claim("a", Fingerprint(0, 64), request="A")
        child = os.fork()
        if not child:
            code = 1
            with contextlib.suppress(BaseException):
                claim = index.claim("b", Fingerprint(0, 64), request="B")
                original = index.claim("c", Fingerprint(2**40 - 1, 64)).outcome
                released = index.release(["a"])
                code = (
                    0 if (claim.waiting, original, released) == (True, Outcome.ORIGINAL, []) else 2
                )
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [entry.key for entry in index] == ["a", "c"]
        assert [page.key for page in index.release(["a"])] == ["b"]
