"""The back ends that the contract runs over."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.registry import store_of
from tests import servers
from tests.index.promises.made import spec


class Servers(contextlib.ExitStack):
    """The servers of a session: each is started by the first test that asks for it.

    A test that stops or kills one starts one of its own instead.
    """

    numbers = itertools.count()

    def new_name(self) -> str:
        """Return a query option that no other test of the session uses."""
        return f"name=test{next(self.numbers)}"

    def __getattr__(self, name: str) -> Any:
        """Start a server, or a group of them: single, password, tls, sentinel, cluster."""
        start = {"single": "redis_server", "password": "password_server", "tls": "tls_server"}
        server = self.enter_context(getattr(servers, start.get(name, name))())
        setattr(self, name, server)
        return server


@pytest.fixture(scope="session")
def redis_servers() -> Iterator[Servers]:
    with Servers() as started:
        yield started


# The URL of each redis back end, without the name that is added to it.
REDIS: dict[str, Callable[[Servers], str]] = {
    "redis": lambda started: started.single.url + "?",
    "rediss": lambda started: started.tls.url + "&",
    "password": lambda started: started.password.url + "?",
    "valkey": lambda started: started.single.url.replace("redis:", "valkey:") + "?",
    "redis-unix": lambda started: started.single.unix_url + "&",
    "sentinel": lambda started: started.sentinel.url + "?",
    "cluster": lambda started: started.cluster.url + "?",
    "redis-shards": lambda started: started.single.url + "?shards=3&",
    "cluster-shards": lambda started: started.cluster.url + "?shards=6&",
}
# On a busy machine an answer may take longer than a crawl waits.
PATIENT = "socket_timeout=30&"
LOCAL = ["memory", "sqlite"]
# Those that differ in what they do; the others differ in how they connect.
DIFFERENT = [*LOCAL, "redis", "cluster-shards"]
CONNECTED = [name for name in REDIS if name not in DIFFERENT]
# Marks of modules: what their tests run on.
ON_SQLITE_AND_REDIS = pytest.mark.parametrize("backend", ["sqlite", "redis"])
ON_ALL_THAT_DIFFER = pytest.mark.parametrize("backend", DIFFERENT)


@pytest.fixture
def opened() -> Iterator[Callable[..., Index]]:
    """Opens indexes of 64 bits and distance 3, or of a changed spec; closes them in the end."""
    with contextlib.ExitStack() as stack:

        def make(url: str, **changed: Any) -> Index:
            return stack.enter_context(contextlib.closing(open_index(url, spec(**changed))))

        yield make


class Store:
    """An empty store, which a test opens as often as it wants crawlers if it is shared."""

    def __init__(self, url: str, opened: Callable[..., Index]) -> None:
        self.url = url
        self.shared = store_of(url).lasting
        self.open = partial(opened, url)


@pytest.fixture
def stores(tmp_path: Path, request: pytest.FixtureRequest, opened: Any) -> Callable[[str], Store]:
    """Makes empty stores of a back end."""
    numbers = itertools.count()

    def make(backend: str) -> Store:
        if backend == "memory":
            return Store("memory://", opened)
        if backend == "sqlite":
            return Store(f"sqlite:///{tmp_path}/{next(numbers)}.sqlite", opened)
        started = request.getfixturevalue("redis_servers")
        return Store(REDIS[backend](started) + PATIENT + started.new_name(), opened)

    return make


@pytest.fixture
def store(backend: str, stores: Callable[[str], Store]) -> Store:
    """An empty store of the back end that a mark names."""
    return stores(backend)


@pytest.fixture
def url(server, request) -> str:
    """The URL of an index for this test alone."""
    return f"{server.url}?name={abs(hash(request.node.name))}"
