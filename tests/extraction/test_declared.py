import pytest

from scrapy_simhash.extraction.page import declared_address

DECLARED = [
    '<link rel="canonical" href="http://a.test/7?x=1&amp;y=2">',
    "<LINK HREF='http://a.test/7?x=1&amp;y=2' REL='canonical' />",
    "<link data-x\nrel=canonical href=http://a.test/7?x=1&amp;y=2>",
    '<link rel=icon href=/a><link rel=" canonical" href=" http://a.test/7?x=1&y=2 ">',
    f"<LINK REL=CANONICAL HREF=http://a.test/7?x=1&amp;y=2>{' ' * 9000}a canonical form",
]
UNDECLARED = [
    *("", "<p>no links</p>", '<link rel="canonical">'),
    '<!-- <link rel="canonical" href="/a"> -->',
    '<link rel="alternate" href="/canonical">',
    f'<link rel="canonical" href="/{"a" * 2000}">',
]


@pytest.mark.parametrize("link", [*DECLARED, *UNDECLARED])
def test_the_declared_address_is_found_however_it_is_written(link):
    address = "http://a.test/7?x=1&y=2" if link in DECLARED else ""
    for page in (link, f"<html><head><title>a</title>{link}</head><body>"):
        assert declared_address(page.encode()) == address


def test_what_stands_far_from_the_beginning_is_not_read():
    link = b'<link rel="canonical" href="/a">'
    assert declared_address(b"<link rel=canonical>" * 1000 + link) == ""
    assert declared_address(b" " * 1_000_000 + link) == ""
