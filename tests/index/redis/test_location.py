"""URLs, passwords and certificates: what is refused, and what no message may show."""

from urllib.parse import quote

import pytest

from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.store import StoreError
from tests import servers


def test_a_server_that_repeats_a_part_of_a_long_password_does_not_show_it(opened):
    with servers.redis_server("--rename-command AUTH none") as server:
        url = f"redis://u:{'token' * 100}@127.0.0.1:{server.port}/0?protocol=2"
        with pytest.raises(StoreError) as error:
            opened(url)
    assert "token" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("redis+clsuter://h", "sentinel or cluster"),
        ("redis://h?retry=3", "no option retry$"),
        ("redis://h?nmae=shop", "no option nmae"),
        ("redis://h?path=/r.sock", "no option path"),
        ("redis+sentinel://h/m?sentinel_socket_timeout=soon", "socket_timeout"),
        ("redis://u:secret@h:1/one", "redis://h:1/one: the database must be a number"),
        ("redis://u:secret@h:99999", "redis://h:99999: Port out of range"),
        ("reddis://user:secret", "reddis:…"),
        ("redis//user:secret", "no index at '…'"),
        ("redis://:secret/more@h:1/0", "%2F"),
        ("redis:/:secret@h:1/0", "two slashes"),
        ("redis://user:123?secret@h:1/0", "two slashes"),
        ("redis://user:pass@wd:secret@h:1/0?nme=1", "nme"),
        ("redis+cluster://user:secret@h:1,k:x", "two slashes"),
        ("redis://user:secret@h,k/0", "redis.sentinel or redis.cluster"),
        ("unix://user:secret@?db=1", "unix://: the path of a socket is missing"),
    ],
)
def test_a_url_with_a_typo_is_refused_without_its_password(opened, url, named):
    with pytest.raises(ValueError, match=named) as error:
        opened(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["REDIS+Cluster://{}", " redis://{}", "redis://{}\n?name=shop"])
def test_the_case_of_a_scheme_and_blanks_around_a_url_do_not_matter(url):
    assert parse_location(url.format("H:1")).hosts == [("h", 1)]


def test_the_zone_of_an_address_is_percent_encoded():
    assert parse_location("redis://[fe80::1%25eth0]").client["host"] == "fe80::1%eth0"


@pytest.mark.parametrize(
    "place", ["redis://h", "redis://h:1/0", "redis://[::1]", "redis+sentinel://h:1,k/service"]
)
@pytest.mark.parametrize("password", ["p@ss", "p?:ss"])
def test_a_password_may_be_an_option(place, password):
    found = parse_location(f"{place}?password={quote(password, safe='@')}").client
    assert found["password"] == password


def test_a_user_may_be_an_option_beside_a_password():
    assert parse_location("redis://:secret@h?username=ann").client["username"] == "ann"


@pytest.mark.parametrize("option", ["read_from_replicas=1", "load_balancing_strategy=x"])
def test_an_index_is_read_from_its_master(option):
    """A replica may lack entries that were moved just now."""
    assert parse_location(f"redis+cluster://h?{option}").client == {}


@pytest.mark.parametrize(
    "place", ["redis://{}", "redis+sentinel://{}/service", "redis+cluster://{}"]
)
def test_what_is_said_of_a_server_that_is_away_shows_no_login(opened, place):
    with pytest.raises(StoreError) as caught:
        opened(place.format("someuser:h%23nter2@127.0.0.1:1"))
    shown = f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert not any(part in shown for part in ("someuser", "h#nter2", "h%23nter2"))


def test_the_name_in_a_certificate_is_checked_unless_the_url_says_not_to():
    """redis-py does so from version 6 on."""
    for url, expected in (
        ("rediss://h", True),
        ("rediss://h?ssl_cert_reqs=none", None),
        ("rediss://h?ssl_check_hostname=false", False),
        ("rediss+sentinel://h/service", True),
        ("rediss+cluster://h", True),
        ("redis://h", None),
    ):
        assert parse_location(url).client.get("ssl_check_hostname") is expected
    address = parse_location("redis+sentinel://h/service?sentinel_ssl=true")
    assert address.sentinel["ssl_check_hostname"] is True


def test_a_certificate_that_is_unknown_or_has_another_name_is_refused(opened, redis_servers):
    url = redis_servers.tls.url
    for wrong in (url.split("?")[0], url.replace("127.0.0.1", "localhost")):
        with pytest.raises(StoreError, match=r"(?i)hostname|certificate"):
            opened(wrong)
