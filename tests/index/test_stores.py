"""The verbs of each store, and of one of another distribution, which proves itself by the suite."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_simhash.index import registry
from scrapy_simhash.testing import StoreContract
from tests.index.conftest import CONNECTED, PATIENT, REDIS
from tests.index.promises.made import DUPLICATE, ORIGINAL, fp, page

STORE = """
from scrapy_simhash.index import registry
from scrapy_simhash.index.sqlite_store import SqliteStore, open_sqlite

class Mine(SqliteStore):
    {verb}

def open_mine(url, asked):
    store, spec = open_sqlite(url.replace("mine://", "sqlite:///"), asked)
    store.__class__ = Mine
    return store, spec

STORE = registry.Scheme(f"{{__name__}}:open_mine", remote=False)
"""
TESTS = """
import itertools
import pytest
from scrapy_simhash.index import registry
from scrapy_simhash.testing import StoreContract

class TestMine(StoreContract):
    @pytest.fixture
    def new_url(self, tmp_path):
        numbers = itertools.count()
        return lambda: f"mine://{tmp_path}/{next(numbers)}"
"""


class TestMemory(StoreContract):
    @pytest.fixture
    def new_url(self):
        return lambda: "memory://"


class TestSqlite(StoreContract):
    @pytest.fixture
    def new_url(self, tmp_path):
        numbers = itertools.count()
        return lambda: f"sqlite:///{tmp_path}/{next(numbers)}.sqlite"


class TestRedis(StoreContract):
    @pytest.fixture(params=["redis", "redis-shards", "cluster-shards"])
    def new_url(self, request, redis_servers):
        return lambda: REDIS[request.param](redis_servers) + PATIENT + redis_servers.new_name()


def prove(folder: Path, verb: str) -> str:
    """Return what the suite says of a store that has a verb of its own."""
    info = folder / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[scrapy_simhash.stores]\nmine = mine:STORE")
    (folder / "mine.py").write_text(STORE.format(verb=verb))
    (folder / "test_mine.py").write_text(TESTS)
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(asked, capture_output=True, text=True, cwd=folder, env=env, check=False)
    return done.stdout


def test_a_store_from_outside_that_keeps_the_contract_passes_all_of_it(tmp_path: Path) -> None:
    told = prove(tmp_path, "pass")
    assert " passed" in told
    assert not any(word in told for word in ("failed", "skipped", "error"))


def test_a_store_from_outside_that_breaks_a_promise_is_told_which(tmp_path: Path) -> None:
    told = prove(tmp_path, "def swap(self, name, old, new): return True")
    assert "TestMine::test_a_cell_is_set_only_if_it_has_the_value_that_is_expected" in told
    assert "assert " in told


def test_the_registry_tells_which_stores_last_and_which_may_be_away():
    told = {
        url: (registry.store_of(url).lasting, registry.store_of(url).remote)
        for url in ("memory://", "sqlite:///a", "valkey://h", "redis+cluster://h", "unix:///a")
    }
    assert told == {
        "memory://": (False, False),
        "sqlite:///a": (True, False),
        "valkey://h": (True, True),
        "redis+cluster://h": (True, True),
        "unix:///a": (True, True),
    }


@pytest.mark.parametrize("backend", CONNECTED)
def test_crawlers_share_an_index_however_they_connect(store):
    index, other = store.open(), store.open()
    assert index.claim(page("a")).outcome is ORIGINAL
    assert other.claim(page("b")).outcome is DUPLICATE
    index.confirm(["a"])
    assert [near.provisional for near in other.query(fp(0))] == [False]
