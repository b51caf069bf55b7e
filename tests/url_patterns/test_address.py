from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from scrapy_simhash.url_patterns.address import DEEPER, Address, read_address, read_signature, shape
from scrapy_simhash.url_patterns.table import Places


def read(url: str) -> Address:
    address = read_address(url)
    assert address is not None
    return address


def test_an_address_has_its_parameters_in_the_order_of_their_names():
    address = read("http://Shop.test:81/list/?b=2&a=1#top")
    assert address == read("http://shop.test:81/list/?a=1&b=2")
    assert address.host == "shop.test:81"
    assert address.path == ("list", "")


def test_parameters_may_be_separated_by_semicolons_and_follow_a_segment():
    address = read("http://git.test/w;jsessionid=1F/b?p=main.git;a=blob;h=5")
    assert address.path == ("w", "b")
    assert [name for name, _ in address.parameters] == ["a", "h", "jsessionid", "p"]


def test_a_canonical_key_has_the_signature_of_its_address():
    for url in (
        "http://git.test/w?p=main.git;a=blob;f=a/b.py;h=5",
        "http://wiki.test/index.php?title=Special:UserLogin&returnto=A+b&returntoquery=action%3Dedit",
    ):
        assert read_address(canonicalize_url(url)) == read_address(url)


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


def test_a_path_that_never_ends_has_one_end():
    address = read("http://a.test" + "/in/js" * 20)
    assert address == read("http://a.test" + "/in/js" * 30)
    assert address.path[-1] == DEEPER


def test_a_value_has_the_star_of_its_kind():
    stars = {
        "Bread": "*",
        "Talk:Bread": "Talk:*",
        "bread.html": "*.html",
        "part0:story": "*",
        "12": "{number}",
        "-1.5": "{number}",
        "2024-05-01": "{date}",
        "d41d8cd98f00b204e9800998ecf8427e": "{token}",
        "0a9f723c-812b-d126-97d5-5d2213e05bd2": "{token}",
        "kJ8sLq0ZtR5xVb7Nm2Pw9c": "{token}",
        "x" * 97: "{token}",
        "export_raw": "{name}",
        "deadbeef": "{name}",
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
