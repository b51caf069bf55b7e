"""The settings: what they default to, and one clear line for each that cannot be used."""

import json
import ssl
from math import inf
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl import is_enabled
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.settings import FilterSettings

SCRAPY_REDIS = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler"}
TLS = "rediss://h/0"


def read(**settings: Any) -> FilterSettings:
    return FilterSettings.from_settings(Settings(settings))


def test_defaults_are_the_default_recipe_in_memory_or_beside_a_job(tmp_path):
    settings = read()
    assert settings.recipe.name == "default"
    assert settings.index_url == "memory://"
    assert str(settings.action) == "drop"
    job = read(JOBDIR=str(tmp_path / "crawl #1"))
    assert job.index_url == f"sqlite:///{tmp_path}/crawl%20%231/simhash.sqlite"


def test_the_log_is_kept_beside_a_file_of_an_index_unless_it_is_named_or_off(tmp_path):
    index = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/pages.sqlite"}
    for asked, path, is_bounded in (
        ({"JOBDIR": str(tmp_path)}, tmp_path / "simhash.dedup.jsonl", True),
        (index, tmp_path / "pages.dedup.jsonl", True),
        ({**index, "SIMHASH_LOG": str(tmp_path / "mine")}, tmp_path / "mine", False),
        ({**index, "SIMHASH_LOG": ""}, None, False),
        ({}, None, False),
        ({"SIMHASH_INDEX_URL": "redis://localhost/0"}, None, False),
    ):
        settings = read(**asked)
        assert settings.log == path
        assert (settings.log_bytes < inf) == is_bounded
    # Nor is a file made, and no index is opened.
    assert not [*tmp_path.iterdir()]


def test_processes_are_as_many_as_the_extractor_needs_and_the_cores_allow(monkeypatch):
    for cores, fast, slow in ((1, 1, 1), (2, 2, 2), (16, 2, 4)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert read().processes == fast
        assert read(SIMHASH_EXTRACTOR="trafilatura").processes == slow
        assert read(SIMHASH_EXTRACTOR="tests.pages.article").processes == slow


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SIMHASH_ACTION", "discard", "drop, follow, flag"),
        ("SIMHASH_ACTION", ["drop"] * 10_000, "drop, follow, flag"),
        ("SIMHASH_ACTION", "no.such.action", "cannot be imported"),
        ("SIMHASH_ACTION", "scrapy.version_info", "is no callable"),
        ("SIMHASH_RECIPE", "soup", "classic"),
        ("SIMHASH_EXTRACTOR", "", "main"),
        ("SIMHASH_EXTRACTOR", "nowhere.to.be_found", "nowhere"),
        ("SIMHASH_DISTANCE", 256, "256"),
        ("SIMHASH_DISTANCE", -1, "at least 0"),
        ("SIMHASH_DISTANCE", 3.5, "whole number"),
        ("SIMHASH_READERS", {"text/csv": "no.such.reader"}, "no.such.reader"),
        ("SIMHASH_READERS", {"tex csv": "text"}, "'tex csv' is no content type"),
        ("SIMHASH_READERS", ["text/csv"], "no readers by content types"),
        ("SIMHASH_CONTENT", "div[", "'div[' is no CSS selector: Expected ident"),
        ("SIMHASH_IGNORE", "p::text", "'p::text' is no CSS selector: Pseudo-elements"),
        ("SIMHASH_IGNORE", {"a.example/b": "p"}, "'a.example/b' is no host"),
        ("SIMHASH_IGNORE", ["p"], "neither a CSS selector nor selectors by hosts"),
        ("SIMHASH_IGNORE", '{"a.example"', "Expecting ':'"),
        ("SIMHASH_INDEX_URL", ["memory://"], "list"),
        ("SIMHASH_INDEX_URL", "sqlite:///:memory:", "an index in memory is memory://"),
        ("SIMHASH_ITEM_KEY_FIELD", "", "it is empty"),
        ("SIMHASH_PROCESSES", 100_000, "at most 1,024"),
        ("SIMHASH_LEASE", float("nan"), "a number"),
        ("SIMHASH_SPARE_NEVER", '["("]', "no list of regular expressions: missing )"),
        ("SIMHASH_SPARE_NEVER", [3], "is no list of regular expressions"),
        ("SIMHASH_MAX_BODY_SIZE", True, "whole number"),
        ("SIMHASH_DISTANSE", 3, "did you mean SIMHASH_DISTANCE?"),
        ("SIMHASH_" + "X" * 10_000, 1, "there is no such setting"),
        ("SIMHASH_RECRAWL", "changed", "needs an index that outlives the crawl"),
        ("SIMHASH_NAMESPACE", "a{b}", "braces"),
        ("SIMHASH_LOG", "no-such-folder/log", "no-such-folder first, because it is not there"),
        ("SIMHASH_LOG", ".", "no path of a file"),
    ],
)
def test_unusable_setting_is_named_in_one_line(name, value, says):
    with pytest.raises(SettingError) as caught:
        read(**{name: value})
    message = str(caught.value)
    assert message.startswith(name[:40])
    assert message.count(name) <= 1
    assert len(message) < 1000
    assert says in message
    assert "\n" not in message
    assert "most inf" not in message


def test_a_list_of_the_command_line_is_that_of_a_settings_file():
    lists = {
        '["/print/", "a,b"]': ["/print/", "a,b"],
        r'["/print/\\d+"]': [r"/print/\d+"],
        "[0-9]": ["[0-9]"],
        "[]": [],
        "/print/": ["/print/"],
    }
    for text, expressions in lists.items():
        for value in (text, expressions):
            patterns = read(SIMHASH_SPARE_NEVER=value).spare_never
            assert [each.pattern for each in patterns] == expressions


def test_selectors_may_differ_by_host_and_be_written_as_json_on_a_command_line():
    by_host = {"WWW.a.example": "p", "": "article"}
    for value in (by_host, json.dumps(by_host)):
        assert read(SIMHASH_IGNORE=value).recipe.ignore == {"a.example": "p", "": "article"}
    assert read(SIMHASH_CONTENT="article").recipe.content == {"": "article"}


@pytest.mark.parametrize("value", ["maybe", ["True"], float("nan")])
def test_switch_that_is_neither_on_nor_off_is_named(value):
    with pytest.raises(SettingError, match=r"^SIMHASH_ENABLED: .* is neither true nor false"):
        is_enabled(Settings({"SIMHASH_ENABLED": value}))


UNUSABLE = ["redis://[s3cret", "redis://user:s3cret\u2100@h/0", "s3cret@h:1"]
UNUSABLE += ["redis://user:12#s3cret@h:1/0", "redis://user:12?s3cret@h:1/0"]


@pytest.mark.parametrize("value", UNUSABLE)
@pytest.mark.parametrize("name", ["REDIS_URL", "REDIS_HOST", "REDIS_PARAMS"])
def test_unusable_setting_of_scrapy_redis_is_named_without_its_value(name, value):
    with pytest.raises(SettingError, match=name) as caught:
        read(**SCRAPY_REDIS, **{name: value})
    assert "s3cret" not in str(caught.value)


def queued(params: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """Return settings of scrapy-redis by their names behind REDIS, and its parameters."""
    named = {f"REDIS_{name.upper()}": value for name, value in settings.items()}
    return SCRAPY_REDIS | named | ({"REDIS_PARAMS": params} if params else {})


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (queued(), "redis://localhost:6379?db=0"),
        (queued({"password": "p@", "db": 3}, host="h", port="1"), "redis://h:1?db=3&password=p%40"),
        (queued(url="redis://h:1", db=3), "redis://h:1?db=3"),
        (queued(url="redis://h:1/2", db=3), "redis://h:1/2"),
        (queued(url="redis://h:1?db=2", db=3), "redis://h:1?db=2"),
        (queued({"unix_socket_path": "/r.sock"}), "unix:///r.sock?db=0"),
        (queued(host="::1"), "redis://[::1]:6379?db=0"),
        (
            queued({"ssl": True, "ssl_ca_certs": "/c"}),
            "rediss://localhost:6379?db=0&ssl_ca_certs=%2Fc",
        ),
        (
            queued({"ssl_cert_reqs": None, "ssl_ca_certs": None}, url=TLS),
            f"{TLS}?ssl_cert_reqs=none",
        ),
        (queued({"ssl_cert_reqs": ssl.CERT_OPTIONAL}, url=TLS), f"{TLS}?ssl_cert_reqs=optional"),
    ],
)
def test_with_scrapy_redis_the_index_is_where_its_queue_is(settings, url):
    settings = settings | {"JOBDIR": "job", "SIMHASH_NAMESPACE": "shop"}
    assert read(**settings).index_url == f"{url}{'&' if '?' in url else '?'}name=shop:simhash"
    assert read(**settings, SIMHASH_INDEX_URL="memory://").index_url == "memory://"


class Queue(type("Scheduler", (), {"__module__": "scrapy_redis.scheduler"})):  # type: ignore[misc]
    """A project's scheduler that is derived from that of scrapy-redis."""


@pytest.mark.parametrize("scheduler", [Queue, f"{__name__}.Queue"])
def test_a_scheduler_derived_from_scrapy_redis_shares_the_index_too(scheduler):
    url = "redis://h:1/2"
    assert read(SCHEDULER=scheduler, REDIS_URL=url).index_url.startswith(f"{url}?name=")
    assert read(SCHEDULER="no.such.Scheduler", REDIS_URL=url).index_url == "memory://"


def test_index_in_a_shared_store_has_the_name_of_the_project_unless_another_is_given():
    url = "redis://h:1/2"
    assert read(SIMHASH_INDEX_URL=url, BOT_NAME="shop").index_url == f"{url}?name=shop:simhash"
    named = read(SIMHASH_INDEX_URL=url, BOT_NAME="shop", SIMHASH_NAMESPACE="all shops")
    assert named.index_url == f"{url}?name=all%20shops:simhash"
    assert read(SIMHASH_INDEX_URL=f"{url}?name=own").index_url == f"{url}?name=own"
    assert read(SIMHASH_INDEX_URL="sqlite:///a").index_url == "sqlite:///a"


def test_an_index_may_have_the_name_of_its_spider_which_a_namespace_gives_no_file():
    for url, namespace, end in (
        ("redis://h", "a-{spider}", "?name=a-s_1:simhash"),
        ("sqlite:///{spider}.sqlite", "", "///s_1.sqlite"),
    ):
        settings = read(SIMHASH_INDEX_URL=url, SIMHASH_NAMESPACE=namespace)
        assert settings.of_spider("s/1").index_url.endswith(end)
    with pytest.raises(SettingError, match="SIMHASH_NAMESPACE: a file has no namespace, so write"):
        read(SIMHASH_INDEX_URL="sqlite:///a", SIMHASH_NAMESPACE="{spider}")
