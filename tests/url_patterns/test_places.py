from scrapy_simhash.url_patterns.address import MANY_VALUES, read_address, read_signature
from scrapy_simhash.url_patterns.table import Places

MANY = MANY_VALUES["word"]
TITLES = [f"/index.php?title=Story_{n}&action=edit" for n in range(MANY + 1)]


def signature(places: Places, url: str, *, learn: bool = False) -> str:
    address = read_address(f"http://a.test{url}")
    assert address is not None
    return places.signature(address, learn=learn)[0]


def learned(*urls: str) -> Places:
    places = Places()
    for url in urls:
        signature(places, url, learn=True)
    return places


def test_a_place_is_starred_when_it_has_had_many_values():
    few, many = learned(*TITLES[:MANY]), learned(*TITLES)
    assert signature(few, TITLES[0]) == "/index.php?action=edit&title=Story_0"
    assert signature(many, "/index.php?title=New&action=edit") == "/index.php?action=edit&title=*"
    new = read_address("http://a.test/index.php?title=New&action=edit")
    assert new is not None
    assert many.signature(new)[1] == ["New"]
    assert many.has_starred


def test_values_of_another_form_and_other_parameters_are_other_places():
    places = learned(*TITLES)
    for value in ("Talk:Story", "12", "a.html"):
        assert value in signature(places, f"/index.php?title={value}&action=edit")
    assert signature(places, "/index.php?title=A") == "/index.php?title=A"


def test_sessions_are_starred_at_once_and_are_no_values():
    address = read_address("http://a.test/a?sid=d41d8cd98f00b204e9800998ecf8427e")
    assert address is not None
    assert Places().signature(address) == ("/a?sid={token}", [])


def test_a_signature_that_was_read_stars_its_places():
    known, places = signature(learned(*TITLES), TITLES[0]), Places()
    places.signature(read_signature(known), learn=True)
    assert {signature(places, url) for url in TITLES} == {"/index.php?action=edit&title=*"}


def test_an_address_cannot_pretend_to_be_starred():
    pretended = signature(Places(), "/a/*?b=*&c=[x]&d={number}", learn=True)
    assert pretended == "/a/%2A?b=%2A&c=%5Bx%5D&d=%7Bnumber%7D"


def test_keywords_keep_their_names_longer():
    keywords = "edit login index media recent diff search history raw info".split()
    places = learned(*(f"/doku.php?do={keyword}" for keyword in keywords))
    assert signature(places, "/doku.php?do=login") == "/doku.php?do=login"
