from __future__ import annotations

from scrapy_simhash.url_patterns.address import (
    MANY_VALUES,
    Address,
    read_address,
    read_signature,
)
from scrapy_simhash.url_patterns.places import Places

MANY = MANY_VALUES["word"]


def address(url: str) -> Address:
    found = read_address(f"http://a.test{url}")
    assert found is not None
    return found


def learned(*urls: str) -> Places:
    places = Places()
    for url in urls:
        places.signature(address(url), learn=True)
    return places


def titles(number: int) -> list[str]:
    return [f"/index.php?title=Story_{n}&action=edit" for n in range(number)]


def test_a_place_with_few_values_keeps_them() -> None:
    places = learned(*titles(MANY))
    assert places.signature(address(titles(1)[0])) == "/index.php?action=edit&title=Story_0"


def test_a_place_with_many_values_is_starred() -> None:
    places = learned(*titles(MANY + 1))
    signature = places.signature(address("/index.php?title=Never_seen&action=edit"))
    assert signature == "/index.php?action=edit&title=*"
    assert places.has_starred


def test_values_of_another_form_are_another_place() -> None:
    places = learned(*titles(MANY + 1))
    for value in ("Talk:Story", "12", "a.html"):
        assert value in places.signature(address(f"/index.php?title={value}&action=edit"))


def test_another_combination_of_parameters_is_another_signature() -> None:
    places = learned(*titles(MANY + 1))
    assert places.signature(address("/index.php?title=A")) != places.signature(
        address("/index.php?title=A&action=edit")
    )


def test_sessions_are_starred_at_once() -> None:
    places = Places()
    one = places.signature(address("/a?sid=d41d8cd98f00b204e9800998ecf8427e"))
    assert one == "/a?sid={token}"


def test_a_signature_that_was_read_stars_its_places() -> None:
    source = learned(*titles(MANY + 1))
    other = Places()
    other.signature(read_signature(source.signature(address(titles(1)[0]))), learn=True)
    for url in titles(3):
        assert other.signature(address(url)) == "/index.php?action=edit&title=*"


def test_an_address_cannot_pretend_to_be_starred() -> None:
    places = Places()
    assert (
        places.signature(address("/a/*?b=*&c=[x]&d={number}"), learn=True)
        == "/a/%2A?b=%2A&c=%5Bx%5D&d=%7Bnumber%7D"
    )


def test_starred_values_are_told() -> None:
    places = learned(*titles(MANY + 1))
    places.signature(address("/index.php?title=New&action=edit"))
    assert places.starred_values == ["New"]


def test_tokens_are_no_values() -> None:
    places = Places()
    places.signature(address("/a?sid=d41d8cd98f00b204e9800998ecf8427e"))
    assert places.starred_values == []


def test_keywords_keep_their_names_longer() -> None:
    keywords = "edit login index media recent diff search history raw info".split()
    places = learned(*(f"/doku.php?do={keyword}" for keyword in keywords))
    assert places.signature(address("/doku.php?do=login")) == "/doku.php?do=login"
