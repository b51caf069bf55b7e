"""Stores are opened by the scheme of a URL, those of other distributions too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_simhash.index import open_existing, open_index, registry
from scrapy_simhash.index.contract import Index, StoreMissing
from scrapy_simhash.index.local import LocalIndex, open_local
from scrapy_simhash.index.values import IndexSpec
from scrapy_simhash.testing.made import DUPLICATE, ORIGINAL, page, spec


def open_elsewhere(url: str, asked: IndexSpec | None) -> LocalIndex:
    """Open a store of another distribution."""
    assert url == "elsewhere://"
    return open_local("memory://", asked)


ELSEWHERE = registry.Store(f"{__name__}:open_elsewhere", lasting=False)


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


def test_a_store_without_a_verb_fails_when_it_is_made():
    class Half(Index):
        def claim_all(self, arrivals):
            return []

    with pytest.raises(TypeError, match="abstract"):
        Half()
