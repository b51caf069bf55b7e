"""A signature is the form of an address, and its expression finds all addresses of that form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.signatures import signature_of

ADDRESS = st.from_regex(
    r"http://a\.b(/[a-zA-Z0-9.*+?=-]{0,9}){1,4}(\?[a-z]{1,3}=[a-z0-9/]{0,5}(&[a-z]=[a-z0-9.]{0,9})?)?",
    fullmatch=True,
)


@given(ADDRESS, st.integers(10, 99))
def test_addresses_of_one_signature_are_found_by_each_others_expression(a, number):
    b = re.sub(r"\d+", str(number), a)
    for url in (a, b):
        if signature_of(a).text == signature_of(url).text:
            assert re.search(signature_of(a).expression, url)


@pytest.mark.parametrize(
    ("url", "text", "others"),
    [
        ("http://a.b/item/12", "a.b/item/{number}", ["http://a.b/item/12/reviews", "http://c.b/item/1"]),
        ("http://a.b/w.php?action=edit&id=3", "a.b/*.php?action=edit&id={number}",
         ["http://a.b/w.php?action=view&id=3", "http://a.b/w.php?action=edit", "http://a.b/w.php"]),
        ("data:text/html,x", "data:text/html,x", ["data:text/css,y"]),
        ("http://a.b/" + "x" * 3000, "a.b", ["http://a.bc/"]),
    ],
)  # fmt: skip
def test_a_signature_leaves_other_addresses_out(url, text, others):
    signature = signature_of(url)
    assert signature.text == text
    assert re.search(signature.expression, url)
    assert not any(re.search(signature.expression, other) for other in others)


def test_the_line_of_the_settings_can_be_pasted():
    values: dict[str, object] = {}
    exec(signature_of("http://a.b/item/a-b?q=\"'&c=1").action, values)
    [(expression, action)] = values["SIMHASH_ACTION"]  # type: ignore[misc]
    assert action == "flag"
    assert re.search(expression, "http://a.b/item/x?c=2&q=3")
