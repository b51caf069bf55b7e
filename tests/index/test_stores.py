"""The verbs of each store, and of one that is named by its import path."""

import contextlib
import itertools
import re

import pytest

from scrapy_simhash.index import open_index, registry
from scrapy_simhash.index.registry import Scheme
from scrapy_simhash.index.sqlite_store import open_sqlite
from scrapy_simhash.index.store import Store
from scrapy_simhash.index.values import IndexSpec
from tests.index.conftest import CONNECTED, PATIENT, REDIS
from tests.index.promises.made import DUPLICATE, ORIGINAL, fp, page, query, spec
from tests.index.store_contract import StoreContract


def open_mine(url: str, asked: IndexSpec | None) -> tuple[Store, IndexSpec]:
    return open_sqlite(url.replace(f"{__name__}.MINE://", "sqlite:///"), asked)


MINE = Scheme(f"{__name__}:open_mine", remote=False)


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


def test_a_store_is_named_by_its_import_path(tmp_path):
    url = f"{__name__}.MINE://{tmp_path}/pages"
    for key, outcome in (("a", ORIGINAL), ("b", DUPLICATE)):
        with contextlib.closing(open_index(url, spec())) as index:
            assert index.claim(page(key)).outcome == outcome
            index.confirm([key])


@pytest.mark.parametrize("path", [f"{__name__}.NONE", "no.such.module", f"{__name__}.DUPLICATE"])
def test_an_import_path_that_names_no_store_is_refused_in_a_sentence(path):
    with pytest.raises(ValueError, match=re.escape(path)):
        registry.store_of(f"{path}://host")


def test_the_registry_tells_which_stores_last_and_which_may_be_away():
    far = dict.fromkeys(("valkey://h", "redis+cluster://h", "unix:///a"), (True, True))
    for url, told in {"memory://": (False, False), "sqlite:///a": (True, False), **far}.items():
        scheme = registry.store_of(url)
        assert (scheme.lasting, scheme.remote) == told, url


@pytest.mark.parametrize("backend", CONNECTED)
def test_crawlers_share_an_index_however_they_connect(store):
    index, other = store.open(), store.open()
    assert index.claim(page("a")).outcome == ORIGINAL
    assert other.claim(page("b")).outcome == DUPLICATE
    index.confirm(["a"])
    assert [near.provisional for near in query(other, fp(0))] == [False]
