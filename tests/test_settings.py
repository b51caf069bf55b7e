"""The settings: what they default to, and one clear line for each that cannot be used."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.settings import Settings

from scrapy_simhash import settings as settings_module
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.settings import FilterSettings, is_enabled


def read(**settings: Any) -> FilterSettings:
    return FilterSettings.from_settings(Settings(settings))


def test_defaults_are_the_default_recipe_in_memory() -> None:
    settings = read()
    assert settings.recipe.name == "default"
    assert settings.index_url == "memory://"
    assert str(settings.action) == "drop"


def test_jobdir_holds_the_index_when_no_url_is_set(tmp_path: Path) -> None:
    job = tmp_path / "crawl #1"
    assert read(JOBDIR=str(job)).index_url == f"sqlite:///{tmp_path}/crawl%20%231/simhash.sqlite"


def test_settings_from_the_command_line_are_text() -> None:
    settings = read(SIMHASH_DISTANCE="7", SIMHASH_LEASE="5.5", SIMHASH_PROCESSES="2")
    assert (settings.recipe.distance, settings.lease, settings.processes) == (7, 5.5, 2)


@pytest.mark.parametrize(
    ("cores", "extractor", "processes"),
    [
        *((1, "main", 1), (2, "main", 2), (3, "main", 2), (16, "main", 2)),
        *((1, "trafilatura", 1), (2, "trafilatura", 2), (16, "trafilatura", 4)),
        (2, "tests.core.test_pool.hostile", 2),
    ],
)
def test_processes_are_as_many_as_the_extractor_needs_and_the_cores_allow(
    monkeypatch: pytest.MonkeyPatch, cores: int, extractor: str, processes: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert read(SIMHASH_EXTRACTOR=extractor).processes == processes


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SIMHASH_ACTION", "discard", "drop, follow, flag"),
        ("SIMHASH_SCOPE", "planet", "global, domain, host"),
        ("SIMHASH_RECIPE", "soup", "classic"),
        ("SIMHASH_EXTRACTOR", "magic", "main"),
        ("SIMHASH_EXTRACTOR", "", "main"),
        ("SIMHASH_EXTRACTOR", "two words", "main"),
        ("SIMHASH_EXTRACTOR", "nowhere.to.be_found", "nowhere"),
        ("SIMHASH_DISTANCE", 256, "256"),
        ("SIMHASH_DISTANCE", -1, "at least 0"),
        ("SIMHASH_DISTANCE", "many", "whole number"),
        ("SIMHASH_DISTANCE", 3.5, "whole number"),
        ("SIMHASH_DISTANCE", [3], "whole number"),
        ("SIMHASH_INDEX_URL", ["memory://"], "list"),
        ("SIMHASH_RECIPE", ["default"], "list"),
        ("SIMHASH_RECIPE", "x" * 4000, "unknown recipe"),
        ("SIMHASH_EXTRACTOR", "x." * 2000, ""),
        ("SIMHASH_ACTION", ["drop"] * 10_000, "drop, follow, flag"),
        ("SIMHASH_ITEM_TEXT_FIELD", ["text"], "list"),
        ("SIMHASH_COPIES", 17, "at most 16"),
        ("SIMHASH_LEASE", "soon", "a number"),
        ("SIMHASH_LEASE", float("nan"), "a number"),
        ("SIMHASH_LEASE", "1e300", "at most 1,000,000,000"),
        ("SIMHASH_SPARE_NEVER", '["("]', "no list of regular expressions: missing )"),
        ("SIMHASH_SPARE_NEVER", [3], "is no list of regular expressions"),
        ("SIMHASH_ON_UNAVAILABLE", "panic", "continue, stop"),
        ("SIMHASH_MAX_BODY_SIZE", True, "whole number"),
        ("SIMHASH_TIMEOUT", 0, "at least 0.1"),
        ("SIMHASH_PROCESSES", -1, "at least 0"),
        ("SIMHASH_SEED", b"secret", "bytes"),
        ("SIMHASH_SEED", "", "it is empty"),
        ("SIMHASH_DISTANSE", 3, "did you mean SIMHASH_DISTANCE?"),
        ("SIMHASH_COLOUR", "red", "there is no such setting"),
        ("SIMHASH_" + "X" * 10_000, 1, "there is no such setting"),
        ("SIMHASH_LOG", "/dev/null/log", "make the folder /dev/null first"),
        ("SIMHASH_LOG", "no-such-folder/log", "no-such-folder first, because it is not there"),
        ("SIMHASH_LOG", ".", "no path of a file"),
        ("SIMHASH_LOG", ["log"], "no path of a file"),
        ("SIMHASH_LOG", "pyproject.toml/log", "pyproject.toml"),
        ("SIMHASH_LOG", "a\0b", "no path of a file"),
        ("SIMHASH_LOG_TEXT", -1, "at least 0"),
    ],
)
def test_unusable_setting_is_named_in_one_line(name: str, value: Any, says: str) -> None:
    with pytest.raises(SettingError) as caught:
        read(**{name: value})
    message = str(caught.value)
    assert message.startswith(name[:40])
    assert message.count(name) <= 1
    assert len(message) < 1000
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "expressions"),
    [
        ('["/print/", "a,b"]', ["/print/", "a,b"]),
        (r'["/print/\\d+"]', [r"/print/\d+"]),
        ("[0-9]", ["[0-9]"]),
        ("[]", []),
        ("/print/", ["/print/"]),
        (["/print/"], ["/print/"]),
    ],
)
def test_list_of_the_command_line_is_that_of_a_settings_file(
    given: Any, expressions: list[str]
) -> None:
    found = read(SIMHASH_SPARE_NEVER=given).spare_never
    assert [expression.pattern for expression in found] == expressions


def test_crawl_with_an_unusable_setting_does_not_start(crawl: Any) -> None:
    class Idle(Spider):
        name = "idle"

    with pytest.raises(SettingError, match="SIMHASH_ACTION"):
        crawl(Idle, settings={"SIMHASH_ACTION": "discard"})


@pytest.mark.parametrize("value", ["maybe", ["True"], float("nan")])
def test_switch_that_is_neither_on_nor_off_is_named(value: Any) -> None:
    with pytest.raises(SettingError, match=r"^SIMHASH_ENABLED: .* is neither true nor false"):
        is_enabled(Settings({"SIMHASH_ENABLED": value}))


def test_reading_the_settings_opens_no_index(tmp_path: Path) -> None:
    read(SIMHASH_INDEX_URL=f"sqlite:///{tmp_path}/index", SIMHASH_LOG=str(tmp_path / "log"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "redis://[s3cret"),
        pytest.param(
            *("REDIS_URL", "redis://[s3cret]@h/0"),
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11), reason="Python 3.10 takes it for the name of a user"
            ),
        ),
        ("REDIS_URL", "redis://user:s3cret\u2100@h/0"),
        ("REDIS_URL", "redis://user:12#s3cret@h:1/0"),
        ("REDIS_URL", "redis://user:12?s3cret@h:1/0"),
        ("REDIS_URL", "s3cret@h:1"),
        ("REDIS_PARAMS", "s3cret"),
        ("REDIS_PARAMS", 3),
    ],
)
def test_unusable_setting_of_scrapy_redis_is_named_without_its_value(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=name) as caught:
        read(SCHEDULER="scrapy_redis.scheduler.Scheduler", **{name: value})
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("its_settings", "url"),
    [
        ({}, "redis://localhost:6379/0"),
        ({"REDIS_URL": "redis://h:1/2"}, "redis://h:1/2"),
        (
            {"REDIS_HOST": "h", "REDIS_PORT": "1", "REDIS_PARAMS": {"password": "p@", "db": 3}},
            "redis://:p%40@h:1/3",
        ),
        (
            {"REDIS_PARAMS": {"url": "redis://h:1", "username": "u", "password": "p"}},
            "redis://u:p@h:1/0",
        ),
        ({"REDIS_URL": "redis://h:1", "REDIS_DB": 3}, "redis://h:1/3"),
        ({"REDIS_URL": "redis://h:1/2", "REDIS_DB": 3}, "redis://h:1/2"),
        ({"REDIS_URL": "redis://h:1?db=2", "REDIS_DB": 3}, "redis://h:1?db=2"),
        (
            {"REDIS_URL": "redis://u@h/1", "REDIS_PARAMS": {"password": "p", "username": "v"}},
            "redis://u:p@h/1",
        ),
        ({"REDIS_URL": "unix:///r.sock", "REDIS_DB": 3}, "unix:///r.sock?db=3"),
        ({"REDIS_HOST": "::1"}, "redis://[::1]:6379/0"),
        (
            {"REDIS_HOST": "h", "REDIS_PARAMS": {"ssl": True, "ssl_ca_certs": "/ca.pem"}},
            "rediss://h:6379/0?ssl_ca_certs=%2Fca.pem",
        ),
        ({"REDIS_PARAMS": {"unix_socket_path": "/r.sock"}}, "unix:///r.sock?db=0"),
        ({"REDIS_PARAMS": {"host": "h", "ssl": True}}, "rediss://h:6379/0"),
        (
            {"REDIS_URL": "rediss://h/0", "REDIS_PARAMS": {"ssl_cert_reqs": None}},
            "rediss://h/0?ssl_cert_reqs=none",
        ),
        (
            {"REDIS_URL": "rediss://h/0", "REDIS_PARAMS": {"ssl_cert_reqs": ssl.CERT_OPTIONAL}},
            "rediss://h/0?ssl_cert_reqs=optional",
        ),
        (
            {"REDIS_URL": "rediss://h/0", "REDIS_PARAMS": {"ssl_ca_certs": None}},
            "rediss://h/0",
        ),
    ],
)
def test_with_scrapy_redis_the_index_is_where_its_queue_is(its_settings, url):
    scheduler = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "JOBDIR": "job"}
    settings = Settings({**scheduler, **its_settings, "SIMHASH_NAMESPACE": "shop"})
    named = f"{url}{'&' if '?' in url else '?'}name=shop:simhash"
    assert FilterSettings.from_settings(settings).index_url == named
    settings.set("SIMHASH_INDEX_URL", "memory://")
    assert FilterSettings.from_settings(settings).index_url == "memory://"


def test_what_the_url_of_scrapy_redis_says_goes_before_what_is_said_beside_it() -> None:
    beside = {"password": "other", "username": "other", "db": 7}
    found = read(
        SCHEDULER="scrapy_redis.scheduler.Scheduler",
        REDIS_URL="redis://user:p%40ss@h:1/2",
        REDIS_PARAMS=beside,
    )
    client = parse_location(found.index_url).client
    assert {name: client[name] for name in beside} == {
        "password": "p@ss",
        "username": "user",
        "db": 2,
    }
    assert "p@ss" in parse_location(found.index_url).secrets


@pytest.mark.parametrize("password", ["p@ss", "a%41b", "one two+three", "?#&=/"])
def test_a_password_of_redis_params_is_the_one_that_is_used(password: str) -> None:
    scheduler = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "REDIS_HOST": "h"}
    address = parse_location(read(**scheduler, REDIS_PARAMS={"password": password}).index_url)
    assert address.client["password"] == password
    assert password in address.secrets


def test_index_in_a_shared_store_has_the_name_of_the_project_unless_another_is_given() -> None:
    url = "redis://h:1/2"
    assert read(SIMHASH_INDEX_URL=url, BOT_NAME="shop").index_url == f"{url}?name=shop:simhash"
    named = read(SIMHASH_INDEX_URL=url, BOT_NAME="shop", SIMHASH_NAMESPACE="all shops")
    assert named.index_url == f"{url}?name=all%20shops:simhash"
    assert read(SIMHASH_INDEX_URL=f"{url}?name=own").index_url == f"{url}?name=own"
    assert read(SIMHASH_INDEX_URL="sqlite:///a").index_url == "sqlite:///a"
    with pytest.raises(SettingError, match="SIMHASH_NAMESPACE: "):
        read(SIMHASH_NAMESPACE="a{b}")


def test_a_recipe_of_keywords_asks_for_jieba_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match="SIMHASH_RECIPE: install jieba, which finds the keyw"):
        read(SIMHASH_RECIPE="jieba-keywords")
    assert read(SIMHASH_RECIPE="fnv1").recipe.name == "fnv1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIMHASH_READERS", {"text/csv": "no.such.reader"}),
        ("SIMHASH_READERS", {"text/csv": "jsno"}),
        ("SIMHASH_READERS", ["text/csv"]),
        ("SIMHASH_READERS", '{"text/csv"'),
        ("SIMHASH_ACTION", "no.such.action"),
        ("SIMHASH_ACTION", [("x", "no.such.action")]),
        ("SIMHASH_ACTION", "dorp"),
        ("SIMHASH_ACTION", "scrapy.version_info"),
    ],
)
def test_a_part_that_cannot_be_imported_is_refused_in_one_line(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=rf"^{name}: [^\n]+$"):
        FilterSettings.from_settings(Settings({name: value}))
