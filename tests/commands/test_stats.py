"""`scrapy simhash stats` and `plan`: what an index takes, and what it would."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import index_from_url
from scrapy_simhash.offline.sizing import skew
from tests.commands.running import simhash
from tests.index.test_stored import entries

DEFAULT = named_recipe("default")


@pytest.fixture(params=["sqlite", "redis", "redis-local", "cluster"])
def url(request: pytest.FixtureRequest, stores: Callable[[str], Any]) -> str:
    store = stores(request.param)
    index = store.open(recipe=DEFAULT.identity, bits=256, distance=48)
    index.restore(entries(3000, bits=256))
    index.claim("in progress", Fingerprint(5, 256))
    return str(store.url)


def test_stats_are_those_of_the_index(url: str, capsys: Any) -> None:
    assert simhash("stats", "--index", url, "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pages"], found["in_progress"]) == (3001, 1)
    assert found["oldest"] == 1_700_000_000
    assert found["newest"] > 1_700_002_000
    assert found["recipe"] == "default"
    assert found["distance"] == 48
    assert found["bytes_in_all"] == sum(found["bytes"].values())
    # A fingerprint is 32 bytes.
    assert 3000 * 40 < found["bytes_in_all"] < 3000 * 1500
    assert 3 * found["bytes_in_all"] < found["ten_times"] <= 11 * found["bytes_in_all"]
    assert 0.8 < found["skew"] < 1.3
    assert simhash("stats", "--index", url) == 0
    out = capsys.readouterr().out
    for text in ("3,001", "default: simhash", "2023-11-14 22:13:20 UTC", "at 10 times"):
        assert text in out


def test_an_empty_index_has_stats(tmp_path: Path, capsys: Any) -> None:
    index_from_url(f"sqlite:///{tmp_path}/i", recipe="mine", bits=64, distance=3).close()
    assert simhash("stats", "--index", tmp_path / "i") == 0
    assert "one of your own: mine" in capsys.readouterr().out
    assert simhash("stats", "--index", tmp_path / "i", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pages"] == 0
    assert found["skew"] is found["ten_times"] is found["oldest"] is None


def test_skew_is_one_of_random_fingerprints_and_more_where_bits_are_alike() -> None:
    chance = random.Random(1)
    layout = Layout(64, 4, 8, 4, 3)
    even = [Fingerprint(chance.getrandbits(64), 64) for _ in range(3000)]
    assert skew(even, layout) == pytest.approx(1, abs=0.05)
    # The first bit of each block is always 0: twice the candidates.
    mask = sum(1 << 63 - start for start in layout.starts)
    alike = [Fingerprint(own.value & ~mask, 64) for own in even]
    assert skew(alike, layout) == pytest.approx(2, abs=0.1)
    assert skew([even[0]] * 10, layout) == 256
    assert skew(even[:1], layout) is None


def test_a_plan_names_what_was_asked_for(capsys: Any) -> None:
    assert simhash("plan", "--pages", "2M", "--workers", 8, "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pages"], found["workers"]) == (2_000_000, 8)
    assert [one["recipe"] for one in found["recipes"]] == ["default", "compact", "classic"]
    for one in found["recipes"]:
        sizes = one["redis_bytes"]
        assert sizes["buckets=redis, keys=url"] > sizes["buckets=local, keys=url"]
        assert sizes["buckets=local, keys=url"] > sizes["buckets=local, keys=digest"]
        assert sizes["buckets=local, keys=digest"] > 2_000_000 * one["bits"] / 8
        assert one["all_workers_bytes"] == 8 * one["worker_bytes"]
    assert simhash("plan", "--pages", "300k", "--recipe", "pypi") == 0
    out = capsys.readouterr().out
    assert "300,000 pages, 1 worker\n" in out
    assert "default" not in out


def test_a_plan_is_of_the_project(capsys: Any) -> None:
    settings = {"SIMHASH_RECIPE": "compact", "SIMHASH_DISTANCE": 10}
    simhash("plan", "--pages", "10k", "--json", "-", settings=settings)
    found = json.loads(capsys.readouterr().out)["recipes"]
    assert [(one["recipe"], one["distance"]) for one in found] == [
        ("compact", 10),
        ("default", 48),
        ("classic", 3),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["stats"], "which index?"),
        (["stats", "--index", "nowhere.sqlite"], "there is no index"),
        (["stats", "--index", "memory://"], "memory"),
        (["plan", "--pages", "many"], "--pages many"),
        (["plan", "--pages", "0"], "--pages 0"),
        (["plan", "--pages", "9B"], "at most"),
        (["plan", "--pages", "1M", "--workers", "x"], "--workers x"),
        (["plan", "--pages", "1M", "--recipe", "soup"], "unknown recipe"),
        (["plan", "--pages", "1M", "--recipe", "default", "--distance", "200"], "distance"),
        (["plan", "--pages", "1M", "--address", "0"], "--address"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], says: str, capsys: Any) -> None:
    assert simhash(*arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
