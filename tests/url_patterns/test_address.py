from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from scrapy_simhash.url_patterns.address import DEEPER, Address, read_address, read_signature, shape
from scrapy_simhash.url_patterns.table import Places

GIT, WIKI = "http://git.test/w;id=1F/b?p=main.git;a=x/y", "http://w.test/i?to=A+b&q=action%3Dedit"


@pytest.mark.parametrize(
    ("url", "host", "path", "query"),
    [
        ("http://A.test:81/l/?b=2&a=1&b=2#top", "a.test:81", ["l", ""], {"a": ["1"], "b": ["2"]}),
        (GIT, "git.test", ["w", "b"], {"a": ["x", "y"], "id": ["1F"], "p": ["main.git"]}),
        (WIKI, "w.test", ["i"], {"q": ["action%3Dedit"], "to": ["A%20b"]}),
        ("http://a.test" + "/in/js" * 20, "a.test", [*["in", "js"] * 6, DEEPER], {}),
    ],
)
def test_an_address_and_its_canonical_key_are_taken_apart_alike(url, host, path, query):
    """Parameters are sorted, each pair once; a path that never ends has one end."""
    address = Address(host, (*path,), tuple((name, (*query[name],)) for name in query))
    assert read_address(url) == read_address(canonicalize_url(url)) == address


@pytest.mark.parametrize(
    "url",
    ["mailto:a@b.c", "", "http", "http://a.test/" + "x" * 2000, "http://a b/", "http://[",
     "http://a.test/?" + "&".join(f"a{n}=1" for n in range(99))],
)  # fmt: skip
def test_nothing_is_learned_from_what_is_no_address_of_a_page(url):
    assert read_address(url) is None


def test_an_address_in_an_address_has_no_password():
    url = "http://user:one@a.test/go/http://user:two@b.test/tea?to=http://user:three@c.test/tea"
    assert not any(word in repr(read_address(url)) for word in ("user", "one", "two", "three"))


def test_a_value_has_the_star_of_its_kind():
    stars = {
        "Talk:Bread": "Talk:*",
        "bread.html": "*.html",
        "part0:story": "*",
        "-1.5": "{number}",
        "2024-05-01": "{date}",
        "d41d8cd98f00b204e9800998ecf8427e": "{token}",
        "0a9f723c-812b-d126-97d5-5d2213e05bd2": "{token}",
        "x" * 97: "{token}",
        "export_raw": "{name}",
    }
    assert {value: shape(value).star for value in stars} == stars


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_address_has_a_signature_that_reads_as_itself(path, query):
    address = read_address(f"http://a.test/{path}?{query}")
    if address is None:
        return
    places = Places()
    signature, _ = places.signature(address, learn=True)
    assert places.signature(address)[0] == signature
    assert places.signature(read_signature(signature)) == (signature, [])


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(url):
    read_address(url)
    read_address(f"https://{url}")
    assert read_address("http://a.test/\udc80?b=\udc80") is not None


@pytest.mark.parametrize("place", ["http://a.test/{}", "http://a.test/?b={}/c"])
def test_names_that_are_no_utf_8_stay_apart(place):
    """Or copies of one city would tell about another."""
    beijing, canton = (place.format(quote(city, encoding="gbk")) for city in ("北京", "广州"))
    assert read_address(beijing) != read_address(canton)
