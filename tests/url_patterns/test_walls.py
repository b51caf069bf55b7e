from __future__ import annotations

import pytest

from scrapy_simhash.url_patterns import walls as walls_module
from scrapy_simhash.url_patterns.walls import COPIES, Walls


def told(walls: Walls, host: str, originals: list[str | None]) -> list[int]:
    return [number for original in originals if (number := walls.page(host, original))]


def test_a_wall_is_told_once_for_each_host() -> None:
    walls = Walls()
    assert told(walls, "a", ["login"] * 500) == [COPIES]
    assert told(walls, "b", ["login"] * 500) == [COPIES]


def test_copies_of_many_originals_are_no_wall() -> None:
    assert told(Walls(), "a", [f"page {n % 40}" for n in range(1500)]) == []


def test_a_few_copies_among_many_pages_are_no_wall() -> None:
    originals = [None if n % 20 else "login" for n in range(3000)]
    assert told(Walls(), "a", originals) == []


def test_hosts_and_originals_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls_module, "MOST", 2)
    walls = Walls()
    for host in ("a", "b", "c"):
        told(walls, host, ["login"] * (COPIES - 1))
    assert told(walls, "a", ["login"]) == []
    assert told(walls, "c", ["login"]) == [COPIES]
