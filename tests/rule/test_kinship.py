"""How the addresses of two pages are related."""

import pytest

from scrapy_simhash.rule.kinship import Kinship, kinship

#: Pairs of addresses, of which ``a`` stands for ``http://a.com`` and ``b`` for ``http://b.com``.
RELATED = {
    Kinship.ADDRESS: """
        a/news/7 a/news/7/
        a/tea/ a/tea/index.html
        a/tea/Default.aspx a/tea
        a/item?do=&id=7&lang= a/item?id=7
        a/item/7 a/item/7?utm_source=mail
        a/in?returnto=Flour a/in?returnto=Yeast
        a/news/tea a/news/tea?outputType=amp""",
    Kinship.VIEW: """
        a/item?token=tea a/item
        a/tea/item/7 a/item/7
        a/news/tea a/amp/news/tea
        a/index.php/Flour a/index.php?action=edit&title=Flour
        a/w/On:A/B a/w?days=30&title=On%3AA%2FB
        a/7?print=1 a/7
        a/board,1.0.html a/board,1.0/sort,name.html
        a/list;sort=name a/list
        a/s.php?article44 a/s.php?id_article=44&page=print
        a/print/44 a/news/44/tea.html""",
    Kinship.BRANCH: """
        a/4.2/install a/3.0/install
        a/en/latest/install.html a/en/5.0.dev0/install/
        a/v1/users a/stable/users
        a/en/dev/users a/en/users
        http://stable.docs.a.com/users http://docs.a.com/users
        a/ http://www.a.com/
        a/en/x.html http://www.a.com/fr/x.html
        a/x.en.html http://www.a.com/x.zh-cn.html""",
    Kinship.TRANSLATION: """
        a/en-US/mill a/zh_CN/mill
        a/faq/en/mill.html a/faq/zh-cn/mill.zh-cn.html
        a/wiki/mill.md a/wiki/pt-br/mill.md""",
    Kinship.DOMAIN: """
        a/en/mill a/de/mill
        a/en-us/ca/mill a/en-us/ny/mill
        a/en-us/ca/mill a/pt-br/sp/mill
        a/en-us/mill a/en-gb/mill
        a/us-en/mill a/gb-en/mill
        a/de-en/rat a/en-de/rat
        a/tag/wi-fi a/tag/hi-fi/
        a/whois/mill.de http://www.a.com/sites/mill.fr
        a/News/Tea a/news/tea
        a/?word=tea a/?word=coffee
        a/board,1.0.html a/board,2.0.html
        a/item?id=7&sid=123 a/item?id=7
        a/in/7?lang=en a/7
        a/find?s=tea-2-and-coffee-with-milk a/find?s=milk
        a/index2.html a/
        a/x7 a/7
        a/index.php/Flour a/index.php?title=Flours
        a/news/2 a/list?page=2
        a/2019.04/fees a/2019.05/fees
        a/4.2/install a/3.0/use
        a/mill a/mill.de.html
        a/print/44 a/news/45/tea.html
        a/en/index.html http://www.a.com/fr/index.html
        a/en/x.html?p=1 http://www.a.com/fr/x.html""",
    Kinship.SITES: """
        a/ b/
        http://a.co.uk/ http://b.co.uk/
        http://10.0.0.1/ http://10.0.0.2/""",
}


def address(short: str) -> str:
    return f"http://{short[0]}.com{short[1:]}" if short[1] == "/" else short


@pytest.mark.parametrize("kin", RELATED)
def test_keys_tell_how_two_pages_are_related(kin):
    for line in RELATED[kin].strip().splitlines():
        one, other = map(address, line.split())
        assert kinship(one, other) is kinship(other, one) is kin, line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("POST 0011 http://a.com/1", "POST 0022 http://a.com/1"),
        ("POST 0011 http://a.com/1", "http://a.com/1"),
        ("my key?", "my/key"),
        ("my key", "http://a.com/"),
        ("http://[", "http://a.com/"),
    ],
)
def test_keys_of_forms_and_those_that_are_no_addresses_are_of_two_pages(one, other):
    assert kinship(one, other) is Kinship.DOMAIN


def test_addresses_of_kilobytes_are_compared():
    for unit in ("/amp", "/(S(a", "?cid=", "&_=1", "/index.", "utm_", "//@"):
        kinship(f"http://a.com/{unit * 1000}", f"http://a.com/?{unit * 1000}")
