import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.better import better

PARAMETERS = ["a=1", "b=2", "print=1", "session_id=7", "page=3"]
ADDRESSES = st.builds(
    "{}://{}.test{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["shop", "www.shop", "m.shop", "other"]),
    st.sampled_from(["/", "/item", "/item/print", "/index.html", "/a/longer/path"]),
    st.lists(st.sampled_from(PARAMETERS), unique=True).map(
        lambda names: "?" + "&".join(names) if names else ""
    ),
)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("http://a.test/7?view=printable", "http://a.test/7?view=1&page=2", "marker"),
        ("http://m.a.test/7", "http://www.a.test/7", "marker"),
        ("https://a.test/index.html", "http://a.test/", "marker"),
        ("http://a.test/item;PHPSESSID=12", "http://a.test/item", "marker"),
        ("http://a.test/w?title=Bread&oldid=3", "http://a.test/w?title=Bread", "parameters"),
        ("http://a.test/7", "https://a.test/7", "https"),
        ("http://a.test/category/7", "http://a.test/7", "path"),
        # An address of another publisher is never better.
        ("http://b.test/print/7?x=1", "https://a.test/7", ""),
    ],
)
def test_an_address_is_better_for_what_it_lacks(one, other, reason):
    assert (better(other, one), better(one, other)) == (reason, "")


def test_the_address_that_the_other_page_declares_is_better_than_a_shorter_one():
    long, short = "http://a.test/long", "http://a.test/s"
    assert better(long, short, "", long) == "canonical"
    assert better(short, long, long, "") == ""
    assert better(short, long, long, short) == "path"  # they name each other
    assert better(long, "http://b.test/s", "", long) == ""


@given(ADDRESSES, ADDRESSES, ADDRESSES | st.just(""), ADDRESSES | st.just(""))
def test_two_addresses_are_never_better_than_each_other(one, other, canonical, other_canonical):
    found = better(one, other, canonical, other_canonical)
    assert not (found and better(other, one, other_canonical, canonical))


@given(st.text(), st.text())
def test_any_text_may_stand_where_an_address_is_expected(one, other):
    for text in (other, f"http://{other}", "http://[", "POST ab12 http://a.test/"):
        better(one, text)
        better(text, f"https://{one}")
