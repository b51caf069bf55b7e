"""Keys and scopes."""

import pytest

from scrapy_simhash.keys import (
    aliases,
    host_of,
    key_of,
    page_key,
    page_scope,
    plain_key,
    split_address,
)


@pytest.mark.parametrize(
    ("url", "domain", "host"),
    [
        ("http://news.example.co.uk:8000/a", "example.co.uk", "news.example.co.uk"),
        ("http://WWW.Example.com./a", "example.com", "www.example.com"),
        ("http://me.github.io/a", "me.github.io", "me.github.io"),
        ("http://github.io/a", "github.io", "github.io"),
        ("http://127.0.0.1:8000/a", "127.0.0.1", "127.0.0.1"),
        ("http://[::ffff:10.0.0.1]/a", "::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("not a url", "", ""),
        ("http://[", "", ""),
    ],
)
def test_scope_separates_by_domain_or_host(url, domain, host):
    assert page_scope(url, "global") == ""
    assert page_scope(url, "domain") == domain
    assert page_scope(url, "host") == host


def test_only_an_http_address_has_a_host():
    urls = ["http://user:secret@A.Example:8080/x", "https://[::1]/", "http://[", "an item"]
    assert [*map(host_of, urls)] == ["a.example:8080", "[::1]", "", ""]
    assert [split_address(url) for url in ("ftp://a.example/", "http:///a")] == [None, None]


def test_a_long_key_is_its_beginning_and_a_digest():
    urls = [f"data:text/html,{'a' * 10**6}{i}" for i in range(2)]
    keys = {page_key(url) for url in urls} | {plain_key(url) for url in urls}
    assert len(keys) == 2
    assert all(len(key) < 5000 for key in keys)


@pytest.mark.parametrize(
    "address",
    [
        "http://ann:secret@a.example/p",
        "http://ann@a.example/p",
        "https://ann:se@cret@a.example:8080/p?x=1",
        "ftp://ann:secret@a.example/p",
    ],
)
def test_userinfo_is_no_part_of_a_key(address):
    for key in (page_key(address), plain_key(address), key_of(address), *aliases(address)):
        assert "ann" not in key
        assert "cret" not in key
    assert "ann" not in page_key(address, "POST", b"x")
    (alias,) = aliases("http://a.example:81/", [address])[:1]
    assert "ann" not in alias


def test_an_at_sign_elsewhere_stays_in_a_key():
    for key in ("http://a.example/@ann", "http://a.example/?to=//ann@b.example", "ann@home"):
        assert key_of(key).replace("%40", "@") == key.replace("//ann", "%2F%2Fann")


def test_aliases_are_the_redirects_and_the_variants_of_scheme_and_www():
    assert aliases("http://www.a.example/7?b=2&a=1") == (
        "https://www.a.example/7?a=1&b=2",
        "https://a.example/7?a=1&b=2",
        "http://a.example/7?a=1&b=2",
    )
    assert aliases("https://a.example/7", ["http://a.example/7", "http://old.example/7"])[0] == (
        "http://a.example/7"
    )
    assert "http://old.example/7" in aliases("https://a.example/7", ["http://old.example/7"])
    assert aliases("http://a.example:81/7") == ("http://www.a.example:81/7",)
    assert aliases("data:text/html,x") == aliases("my key") == ()


def test_a_page_has_a_bounded_number_of_aliases_and_never_its_own_key():
    chain = [f"http://a.example/{number}" for number in range(99)]
    keys = aliases(chain[-1], chain)
    assert len(keys) == len(set(keys)) == 8
    assert keys[0] == chain[0]
    assert chain[-2] in keys
    assert chain[-1] not in keys
