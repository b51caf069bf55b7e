"""Stores are opened by the scheme of a URL, those of other distributions too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_simhash.index import open_existing, open_index, registry
from scrapy_simhash.index.contract import StoreMissing
from scrapy_simhash.index.sqlite_store import open_sqlite
from scrapy_simhash.index.values import IndexSpec
from tests.index.promises.made import DUPLICATE, ORIGINAL, page, spec


def open_elsewhere(url: str, asked: IndexSpec | None) -> object:
    """Open a store of another distribution."""
    assert url == "elsewhere://"
    return open_sqlite("memory://", asked)


ELSEWHERE = registry.Scheme(f"{__name__}:open_elsewhere", lasting=False)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a distribution that brings a store."""
    info = tmp_path / "elsewhere-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\nelsewhere = {__name__}:ELSEWHERE")
    monkeypatch.syspath_prepend(tmp_path)
    registry._others.cache_clear()
    yield
    registry._others.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_store_of_another_distribution_is_opened_by_its_scheme():
    with contextlib.closing(open_index("elsewhere://", spec())) as index:
        assert index.claim(page("a")).outcome is ORIGINAL
    with pytest.raises(StoreMissing):
        open_existing("elsewhere://")
    assert not registry.store_of("elsewhere://").lasting


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


def test_an_index_in_valkey_is_opened_by_its_own_scheme(redis_servers, opened):
    url = redis_servers.single.url.replace("redis://", "valkey://") + "?"
    index = opened(url + redis_servers.new_name())
    assert index.claim(page("a")).outcome is ORIGINAL
    assert index.claim(page("b")).outcome is DUPLICATE
