"""Keys and scopes."""

from __future__ import annotations

import pytest

from scrapy_simhash.keys import page_key, page_scope, plain_key


def test_key_of_a_post_has_its_method_and_a_digest_of_its_body() -> None:
    keys = {
        page_key("http://a.example/p"),
        page_key("http://a.example/p", "POST", b"q=1"),
        page_key("http://a.example/p", "POST", b"q=2"),
    }
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("url", "domain", "host"),
    [
        ("http://news.example.co.uk:8000/a", "example.co.uk", "news.example.co.uk"),
        ("http://WWW.Example.com./a", "example.com", "www.example.com"),
        ("http://127.0.0.1:8000/a", "127.0.0.1", "127.0.0.1"),
        ("http://localhost/a", "localhost", "localhost"),
        ("not a url", "", ""),
    ],
)
def test_scope_separates_by_domain_or_host(url: str, domain: str, host: str) -> None:
    assert page_scope(url, "global") == ""
    assert page_scope(url, "domain") == domain
    assert page_scope(url, "host") == host


def test_a_long_key_is_its_beginning_and_a_digest():
    urls = [f"data:text/html,{'a' * 10**6}{i}" for i in range(2)]
    keys = {page_key(url) for url in urls} | {plain_key(url) for url in urls}
    assert len(keys) == 2
    assert all(len(key) < 5000 for key in keys)
