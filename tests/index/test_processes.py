"""Several processes on one file: who is the original, and what a kill leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Index, StoreUnavailable
from tests.index.promises.made import LEASE, at, page, spec


def opened(path: Path, **changed) -> Index:
    return open_index(f"sqlite:///{path}", spec(**changed))


WRITER = """
import random, sys
from scrapy_simhash.index import open_index
from tests.index.promises.made import page, spec
index = open_index(f"sqlite:///{sys.argv[1]}", spec())
numbers = random.Random(0)
for i in range(10**6):
    index.claim(page(str(i), numbers.getrandbits(64)))
    if i % 10 == 9:
        index.confirm(str(key) for key in range(i - 9, i - 4))
    print(i, flush=True)
"""


def test_kill_9_loses_no_acknowledged_claim_and_its_leases_run_out(tmp_path):
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
    child.wait()
    child.stdout.close()
    acknowledged = [line.strip() for line in lines if line.endswith("\n")]
    assert len(acknowledged) >= 537
    with contextlib.closing(opened(path)) as index:
        entries = list(index)
        assert {entry.key for entry in entries} >= set(acknowledged)
        provisional = {entry.key for entry in entries if entry.provisional}
        at(index, time.time() + LEASE)
        fate = index.unsettled(index.query(e.fingerprint)[0].entry for e in entries)
        assert (len(fate.gone), fate.provisional) == (len(provisional), frozenset())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_forked_process_is_told_to_open_the_index_itself(tmp_path):
    with contextlib.closing(opened(tmp_path / "index.sqlite")) as index:
        index.claim(page("a"))
        child = os.fork()
        if not child:
            code = 1
            try:
                index.claim(page("b"))
            except StoreUnavailable as error:
                code = 0 if "fork" in str(error) else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [entry.key for entry in index] == ["a"]
