from pathlib import Path

import pytest

from scrapy_simhash.core import breaker
from tests.core.failing import FailingStore
from tests.index.promises.made import spec


@pytest.fixture
def store(tmp_path: Path) -> FailingStore:
    return FailingStore(tmp_path / "store.sqlite", spec())


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test sets."""
    now = [1000.0]
    monkeypatch.setattr(breaker.time, "monotonic", lambda: now[0])
    return now
