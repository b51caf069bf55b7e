import pytest

from scrapy_simhash.url_patterns.address import MANY_VALUES, read_address
from scrapy_simhash.url_patterns.table import Places

MANY = MANY_VALUES["word"]
TITLES = [f"/index.php?title=Story_{n}&action=edit" for n in range(MANY + 1)]


def learned(*urls: str) -> Places:
    places = Places()
    for url in urls:
        places.signature(read_address(f"http://a.test{url}"), learn=True)
    return places


@pytest.mark.parametrize(
    ("known", "url", "expected", "values"),
    [
        (TITLES[:MANY], TITLES[0], "/index.php?action=edit&title=Story_0", []),
        (TITLES, "/index.php?title=New&action=edit", "/index.php?action=edit&title=*", ["New"]),
        # Values of another form, and other parameters, are other places.
        (TITLES, "/index.php?action=edit&title=A:B", "/index.php?action=edit&title=A:B", []),
        (TITLES, "/index.php?title=A", "/index.php?title=A", []),
        # Keywords keep their names longer.
        ([f"/w?do={chr(n)}" for n in range(97, 120)], "/w?do=login", "/w?do=login", []),
        # Sessions are starred at once, and are no values.
        ([], "/a?sid=d41d8cd98f00b204e9800998ecf8427e", "/a?sid={token}", []),
        # An address cannot pretend to be starred.
        ([], "/a/*?b=[x]&c={number}", "/a/%2A?b=%5Bx%5D&c=%7Bnumber%7D", []),
    ],
)
def test_a_place_is_starred_when_it_has_had_many_values(known, url, expected, values):
    address = read_address(f"http://a.test{url}")
    assert learned(*known).signature(address) == (expected, values)
