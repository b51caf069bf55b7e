"""How the addresses of two pages are related."""

from __future__ import annotations

import pytest

from scrapy_simhash.rule.kinship import Kinship, kinship

ADDRESS, QUERY, VALUE, HOST, VERSIONS, DOMAIN, SITES = Kinship
SESSION = "0123456789abcdef"


@pytest.mark.parametrize(
    ("one", "other", "kin"),
    [
        ("http://a.com/one", "https://A.com/two", HOST),
        ("http://a.com/1", "https://A.com/2", VALUE),
        ("http://a.com/list", "https://A.com/list?sort=name", QUERY),
        ("http://a.com/list?page=1&sort=name", "https://A.com/list?page=1", QUERY),
        ("http://a.com/?word=tea", "http://a.com/?word=coffee", VALUE),
        ("http://a.com/list", "https://A.com/list?page=2", VALUE),
        ("http://a.com/list?owner=ann", "http://a.com/list?word=tea", VALUE),
        ("http://a.com/list/", "http://a.com/list/page/2/", VALUE),
        ("http://a.com/list?sort=name", "http://a.com/list/2", VALUE),
        ("http://a.com/item?id=7", "https://A.com/item?id=8", VALUE),
        ("http://a.com/item/7", "https://a.com/item/7?utm_source=mail", ADDRESS),
        ("http://a.com/item?gclid=x&id=7&utm_source=y", "http://a.com/item?id=7", ADDRESS),
        (f"http://a.com/item?id=7&sid={SESSION}", "http://a.com/item?id=7", ADDRESS),
        (f"http://a.com/item;jsessionid={SESSION}?id=7", "http://a.com/item?id=7", ADDRESS),
        ("http://a.com/item?id=7&sid=123", "http://a.com/item?id=7", VALUE),
        ("http://a.com/item?id=7&session=the_second_afternoon", "http://a.com/item?id=7", QUERY),
        ("http://a.com/item?id=7&sid=20041123ab", "http://a.com/item?id=7&sid=20041124ab", VALUE),
        ("http://a.com/item?id=7&session=thesecondafternoon", "http://a.com/item?id=7", QUERY),
        ("http://a.com/item?do=&id=7&lang=", "http://a.com/item?id=7", ADDRESS),
        ("http://a.com/tea/item/7", "http://a.com/item/7", ADDRESS),
        ("http://a.com/item/1007", "http://a.com/item/1008", HOST),
        ("http://a.com/tea/7?page=2", "http://a.com/7?page=2", ADDRESS),
        ("http://a.com/tea/", "http://a.com/tea/index.html", ADDRESS),
        ("http://a.com/tea/", "http://a.com/", HOST),
        ("http://a.com/tea/index.html", "http://a.com/index.html", HOST),
        ("http://a.com/x7", "http://a.com/7", HOST),
        ("POST 0011 http://a.com/1", "POST 0022 http://a.com/1", HOST),
        ("POST 0011 http://a.com/1", "http://a.com/1", HOST),
        ("http://a.com/in/7?lang=en", "http://a.com/7", QUERY),
        ("http://a.com/item/7?lang=en", "http://a.com/item/8?lang=en", VALUE),
        ("http://a.com/index.php/Flour", "http://a.com/index.php?action=edit&title=Flour", QUERY),
        ("http://a.com/index.php/Flour", "http://a.com/index.php?oldid=7&title=Flour", QUERY),
        ("http://a.com/w/On:A/B", "http://a.com/w?days=30&title=On%3AA%2FB", QUERY),
        ("http://a.com/index.php/Flour", "http://a.com/index.php?title=Flours", HOST),
        ("http://a.com/news/2", "http://a.com/list?page=2", HOST),
        ("http://a.com/list", "http://a.com/list?product_list_limit=24", QUERY),
        ("http://a.com/list?limit=20&page=1", "http://a.com/list?limit=50&page=1", QUERY),
        ("http://a.com/list?limit=20&page=1", "http://a.com/list?limit=50&page=2", VALUE),
        ("http://a.com/Flour", "http://a.com/Flour?version=2", QUERY),
        ("http://a.com/1", "POST 0011 http://a.com/2", HOST),
        ("http://a.com/", "http://www.a.com/", VERSIONS),
        ("http://a.com/1", "http://www.a.com/2", DOMAIN),
        ("http://a.com/en/x.html", "http://www.a.com/fr/x.html", VERSIONS),
        ("http://a.com/x.en.html", "http://www.a.com/x.zh-cn.html", VERSIONS),
        ("http://a.com/en/x.html?p=1", "http://www.a.com/fr/x.html", DOMAIN),
        ("http://a.com/en/index.html", "http://www.a.com/fr/index.html", DOMAIN),
        ("http://one.docs.test/", "http://two.docs.test/?x", DOMAIN),
        ("http://a.co.uk/", "http://b.co.uk/", SITES),
        ("http://10.0.0.1/", "http://10.0.0.2/", SITES),
        ("my key?", "another", HOST),
        ("key", "my/key", HOST),
        ("my key", "http://a.com/", HOST),
        ("http://[", "http://a.com/", HOST),
    ],
)
def test_keys_tell_how_two_pages_are_related(one: str, other: str, kin: Kinship) -> None:
    assert kinship(one, other) is kinship(other, one) is kin
