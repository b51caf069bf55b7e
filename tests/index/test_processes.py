"""Several processes on one file: who is the original, and what a kill leaves."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import MAX_ADOPTIONS, Index, StoreUnavailable
from scrapy_simhash.index.liveness import HERE, is_dead
from scrapy_simhash.testing.made import DUPLICATE, ORIGINAL, at, page, spec, values
from tests import servers

CLUSTERS = 40


def opened(path: Path, **changed) -> Index:
    return open_index(f"sqlite:///{path}", spec(**changed))


def race(path, number, start, results):
    with contextlib.closing(opened(path)) as index:
        found = []
        for i in range(CLUSTERS):
            value = random.Random(i).getrandbits(64) ^ 1 << number
            start.wait()
            found.append(index.claim(page(f"{i}/{number}", value)).outcome.value)
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
from scrapy_simhash.index import open_index
from scrapy_simhash.testing.made import page, spec
index = open_index(f"sqlite:///{sys.argv[1]}", spec())
numbers = random.Random(0)
for i in range(10**6):
    index.claim(page(str(i), numbers.getrandbits(64), request="again"))
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
        # A dead crawler's leases need not run out.
        adopted = set()
        while some := index.orphans():
            adopted |= {orphan.key for orphan in some}
            index.confirm([orphan.key for orphan in some])
        assert adopted == provisional
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def dies_with(path: Path) -> None:
    """Adopt what there is, or claim if there is nothing, and die at once."""
    code = "\n".join(
        [
            "import os, sys",
            "from scrapy_simhash.index import open_index",
            "from scrapy_simhash.testing.made import page, spec",
            "index = open_index(f'sqlite:///{sys.argv[1]}', spec(lease=60))",
            "index.orphans() or index.claim(page('a', request='A'))",
            "os._exit(0)",
        ]
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, path], check=True, env=environment)


def test_crawlers_that_die_at_once_use_one_adoption_at_once_and_the_page_is_not_lost(tmp_path):
    path = tmp_path / "index.sqlite"
    dies_with(path)
    dies_with(path)  # adopts the page
    dies_with(path)  # finds it leased, and no page is lost by that
    with contextlib.closing(opened(path)) as index:
        assert index.orphans() == []
        assert index.claim(page("copy", 1)).outcome is DUPLICATE
        (orphan,) = at(index, time.time() + 60).orphans()
        assert (orphan.key, orphan.request) == ("a", "A")


CRAWLER = """
import os, signal, sys, time
from scrapy_simhash.index import open_index
from scrapy_simhash.testing.made import page, spec, values
url, poison = sys.argv[1:]
index = open_index(url, spec(lease=0.4, spider="s", clock=time.time))
if not len(index):
    index.claim_all([page(str(value), value, request="R") for value in values(200)])
    os.kill(os.getpid(), signal.SIGKILL)
while some := [orphan.key for orphan in index.orphans()]:
    if poison in some:
        os.kill(os.getpid(), signal.SIGKILL)
    index.confirm(some)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_page_that_kills_each_of_its_crawlers_is_given_up_alone(tmp_path, kind):
    """Of 200 that were in progress with it, and that a crawl loop restarts at once."""
    if kind == "redis" and servers.PROGRAM is None:
        pytest.skip("no redis-server on this machine")
    keys = [str(value) for value in values(200)]
    poison, ends = keys[70], []
    with contextlib.ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'index.sqlite'}"
        if kind == "redis":
            url = f"{stack.enter_context(servers.redis_server()).url}?socket_timeout=5"
        while not ends or (ends[-1] and len(ends) < 12):
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            command = [sys.executable, "-c", CRAWLER, url, poison]
            ends.append(subprocess.run(command, env=environment, check=False).returncode)
            time.sleep(0.5 if kind == "sqlite" else 1.5)  # leases of Redis end at whole seconds
        assert ends == [-signal.SIGKILL] * (MAX_ADOPTIONS + 1) + [0]
        with contextlib.closing(open_index(url, spec(spider="s", clock=time.time))) as index:
            stored = {entry.key: entry.provisional for entry in index}
    assert stored == {key: False for key in keys if key != poison}


def test_a_claim_takes_the_place_of_a_dead_crawlers_original_at_once(tmp_path):
    path = tmp_path / "index.sqlite"
    dies_with(path)
    with contextlib.closing(opened(path)) as index:
        assert index.claim(page("copy", 1)).outcome is ORIGINAL
        assert [entry.key for entry in index] == ["copy"]


def test_a_closed_crawler_of_this_process_is_dead_and_an_open_one_is_not(tmp_path):
    path = tmp_path / "index.sqlite"
    one = opened(path)
    one.claim(page("a", request="A"))
    with contextlib.closing(opened(path)) as other:
        assert other.orphans() == []
        one.close()
        assert [orphan.key for orphan in other.orphans()] == ["a"]


def test_a_crawler_of_another_machine_is_not_known_to_be_dead():
    assert not is_dead("1@elsewhere:1:abc")
    assert not is_dead("rubbish")
    here = f"1@{HERE}"
    # A container of this machine: 1 is a process of its own.
    assert not is_dead(f"1@{socket.gethostname()}pid:[1]:{10**6}:abc")
    assert not is_dead(f"{here}:{10**30}:abc")
    assert not is_dead(f"{here}:{'1' * 5000}:abc")
    assert not is_dead(f"{here}:rubbish:abc")
    assert not is_dead(f"{here}:{os.getppid()}:abc")
    assert is_dead(f"{here}:{os.getpid()}:abc")


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
