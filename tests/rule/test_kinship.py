"""How the addresses of two pages are related."""

from __future__ import annotations

import time

import pytest

from scrapy_simhash.rule.kinship import Kinship, kinship

ADDRESS, VIEW, RELEASE, DOMAIN, VERSIONS, MIRROR, SITES = Kinship
SESSION = "0123456789abcdef"


PAIRS = [
    ("http://a.com/one", "https://A.com/two", DOMAIN),
    ("http://a.com/1", "https://A.com/2", DOMAIN),
    ("http://a.com/list", "https://A.com/list?sort=name", VIEW),
    ("http://a.com/list?page=1&sort=name", "https://A.com/list?page=1", VIEW),
    ("http://a.com/?word=tea", "http://a.com/?word=coffee", DOMAIN),
    ("http://a.com/list", "https://A.com/list?page=2", DOMAIN),
    ("http://a.com/list?owner=ann", "http://a.com/list?word=tea", DOMAIN),
    ("http://a.com/list", "http://a.com/list?_next=tea", DOMAIN),
    ("http://a.com/list?sort=name", "http://a.com/list?sort=name&after=t3_x", DOMAIN),
    ("http://a.com/list", "http://a.com/list?product_cursor=YWJj", DOMAIN),
    ("http://a.com/list", "http://a.com/list?next=/login", VIEW),
    ("http://a.com/list/", "http://a.com/list/page/2/", DOMAIN),
    ("http://a.com/list?sort=name", "http://a.com/list/2", DOMAIN),
    ("http://a.com/item?id=7", "https://A.com/item?id=8", DOMAIN),
    ("http://a.com/item/7", "https://a.com/item/7?utm_source=mail", ADDRESS),
    ("http://a.com/item?gclid=x&id=7&utm_source=y", "http://a.com/item?id=7", ADDRESS),
    (f"http://a.com/item?id=7&sid={SESSION}", "http://a.com/item?id=7", ADDRESS),
    (f"http://a.com/item;jsessionid={SESSION}?id=7", "http://a.com/item?id=7", ADDRESS),
    ("http://a.com/item?id=7&sid=123", "http://a.com/item?id=7", DOMAIN),
    ("http://a.com/item?id=7&session=the_second_afternoon", "http://a.com/item?id=7", VIEW),
    ("http://a.com/item?id=7&sid=20041123ab", "http://a.com/item?id=7&sid=20041124ab", DOMAIN),
    ("http://a.com/item?id=7&session=thesecondafternoon", "http://a.com/item?id=7", VIEW),
    ("http://a.com/item?do=&id=7&lang=", "http://a.com/item?id=7", ADDRESS),
    ("http://a.com/tea/item/7", "http://a.com/item/7", VIEW),
    ("http://a.com/item/1007", "http://a.com/item/1008", DOMAIN),
    ("http://a.com/tea/7?page=2", "http://a.com/7?page=2", VIEW),
    ("http://a.com/tea/", "http://a.com/tea/index.html", ADDRESS),
    ("http://a.com/tea/", "http://a.com/", DOMAIN),
    ("http://a.com/tea/index.html", "http://a.com/index.html", DOMAIN),
    ("http://a.com/x7", "http://a.com/7", DOMAIN),
    ("POST 0011 http://a.com/1", "POST 0022 http://a.com/1", DOMAIN),
    ("POST 0011 http://a.com/1", "http://a.com/1", DOMAIN),
    ("http://a.com/in/7?lang=en", "http://a.com/7", VIEW),
    ("http://a.com/item/7?lang=en", "http://a.com/item/8?lang=en", DOMAIN),
    ("http://a.com/index.php/Flour", "http://a.com/index.php?action=edit&title=Flour", VIEW),
    ("http://a.com/index.php/Flour", "http://a.com/index.php?oldid=7&title=Flour", VIEW),
    ("http://a.com/w/On:A/B", "http://a.com/w?days=30&title=On%3AA%2FB", VIEW),
    ("http://a.com/index.php/Flour", "http://a.com/index.php?title=Flours", DOMAIN),
    ("http://a.com/news/2", "http://a.com/list?page=2", DOMAIN),
    ("http://a.com/list", "http://a.com/list?product_list_limit=24", VIEW),
    ("http://a.com/list?limit=20&page=1", "http://a.com/list?limit=50&page=1", VIEW),
    ("http://a.com/list?limit=20&page=1", "http://a.com/list?limit=50&page=2", DOMAIN),
    ("http://a.com/Flour", "http://a.com/Flour?version=2", VIEW),
    ("http://a.com/Flour", "http://a.com/Flour?replytocom=2", VIEW),
    ("http://a.com/in?returnto=Flour", "http://a.com/in?returnto=Yeast", ADDRESS),
    ("http://a.com/in.php?redirect_to=%2F7", "http://a.com/in.php", ADDRESS),
    ("http://a.com/1", "POST 0011 http://a.com/2", DOMAIN),
    ("http://a.com/", "http://www.a.com/", VERSIONS),
    ("http://a.com/1", "http://www.a.com/2", DOMAIN),
    ("http://a.com/news/tea/", "http://m.a.com/news/tea", VERSIONS),
    ("http://a.com/old/Tea.html", "http://b.com/new/Tea.html", MIRROR),
    ("http://a.com/news/tea/", "http://b.com/news/tea", MIRROR),
    ("http://a.com/news/tea/", "http://b.com/tea", SITES),
    ("http://a.com/item/1000", "http://b.com/item/1000", SITES),
    ("http://a.com/item1000.html", "http://b.com/item1000.html", SITES),
    ("http://a.com/view?id=7", "http://b.com/view?id=7", SITES),
    ("http://a.com/", "http://b.com/", SITES),
    ("http://a.com/en/x.html", "http://www.a.com/fr/x.html", VERSIONS),
    ("http://a.com/x.en.html", "http://www.a.com/x.zh-cn.html", VERSIONS),
    ("http://a.com/en/x.html?p=1", "http://www.a.com/fr/x.html", DOMAIN),
    ("http://a.com/en/index.html", "http://www.a.com/fr/index.html", DOMAIN),
    ("http://one.docs.test/", "http://two.docs.test/?x", DOMAIN),
    ("http://a.co.uk/", "http://b.co.uk/", SITES),
    ("http://10.0.0.1/", "http://10.0.0.2/", SITES),
    ("http://a.com/news/7", "http://a.com/news/7/", ADDRESS),
    ("http://a.com/tea?id=7", "http://a.com/tea/?id=7", ADDRESS),
    ("http://a.com/tea", "http://a.com/tea/index.htm", ADDRESS),
    ("http://a.com/tea/Default.aspx", "http://a.com/tea", ADDRESS),
    ("http://a.com/tea/index.en.html", "http://a.com/tea/", ADDRESS),
    ("http://a.com/list/?sort=name", "http://a.com/list", VIEW),
    ("http://a.com/tea/", "http://www.a.com/tea/index.html", VERSIONS),
    ("http://a.com/tea/", "http://a.com/teas", DOMAIN),
    ("http://a.com/index2.html", "http://a.com/", DOMAIN),
    ("http://a.com/news/tea", "http://a.com/news/tea/amp", ADDRESS),
    ("http://a.com/news/tea", "http://a.com/news/tea/amp/", ADDRESS),
    ("http://a.com/news/tea", "http://a.com/amp/news/tea", VIEW),
    ("http://a.com/news/tea.html", "http://a.com/news/tea.amp.html", ADDRESS),
    ("http://a.com/news/tea", "http://a.com/news/tea?amp=1", ADDRESS),
    ("http://a.com/news/tea", "http://a.com/news/tea?outputType=amp", ADDRESS),
    ("http://a.com/guitar", "http://a.com/guitar/amplifier", DOMAIN),
    ("http://a.com/shop?amp=15", "http://a.com/shop?amp=30", DOMAIN),
    *(
        ("http://a.com/news/tea", f"http://a.com/news/tea?{mark}", ADDRESS)
        for mark in (
            "_hsmi=98123&_hsenc=p2AN",
            "mtm_cid=771",
            "pk_campaign=12&pk_kwd=3",
            "s_cid=99",
            "vero_id=5",
            "rdt_cid=4411",
            "fb_action_ids=10150",
            "cid=4711",
            "_=1699999999",
            "_=17",
            "ts=1699999999",
            "timestamp=1699999999000",
            "nocache=0.4821",
            "CFID=117&CFTOKEN=45-ab12",
            "utm_source=x&_=1&cid=2",
        )
    ),
    ("http://a.com/7?_hsmi=1", "http://a.com/7?_hsmi=2", ADDRESS),
    ("http://a.com/7;cfid=12?id=7", "http://a.com/7?id=7", ADDRESS),
    ("http://a.com/(S(lit3py55t21z5v55vlm25s55))/7.aspx", "http://a.com/7.aspx", ADDRESS),
    ("http://a.com/list?cid=1", "http://a.com/list?cid=2", DOMAIN),
    ("http://a.com/list?cid=1&page=2", "http://a.com/list", DOMAIN),
    ("http://a.com/item?hscode=8471", "http://a.com/item?hscode=8472", DOMAIN),
    ("http://a.com/at?ts=7", "http://a.com/at?ts=8", DOMAIN),
    ("http://a.com/day?t=1200", "http://a.com/day", DOMAIN),
    ("http://a.com/x?pk=1", "http://a.com/x?pk=2", DOMAIN),
    ("http://a.com/News/Tea", "http://a.com/news/tea", DOMAIN),
    ("http://a.com/tea/cap.html", "http://a.com/tea/cap/", ADDRESS),
    ("http://a.com/list?a=1&a=1&b=2&b=2", "http://a.com/list?a=1&b=2", ADDRESS),
    ("http://a.com/list?a=1&a=2", "http://a.com/list?a=1", DOMAIN),
    ("http://a.com/list?_wpnonce=20e7&add_to_wishlist=7", "http://a.com/list", ADDRESS),
    ("http://a.com/7?Expires=1700000000&Signature=aB3~xY9-Qw7_zZ1k", "http://a.com/7", ADDRESS),
    ("http://a.com/item?token=tea", "http://a.com/item", VIEW),
    ("http://a.com/find?s=tea-2-and-coffee-with-milk", "http://a.com/find?s=milk", DOMAIN),
    ("http://a.com/4.2/install", "http://a.com/3.0/install", RELEASE),
    ("http://a.com/en/latest/install.html", "http://a.com/en/5.0.dev0/install/", RELEASE),
    ("http://a.com/v1/users", "http://a.com/stable/users", RELEASE),
    ("http://a.com/en/dev/users", "http://a.com/en/users", RELEASE),
    ("http://a.com/4.2/install", "http://a.com/3.0/use", DOMAIN),
    ("http://a.com/2019/fees", "http://a.com/2020/fees", DOMAIN),
    ("http://a.com/2019.04/fees", "http://a.com/2019.05/fees", DOMAIN),
    ("http://a.com/4/tea", "http://a.com/5/tea", DOMAIN),
    ("http://a.com/devices/tea", "http://a.com/latests/tea", DOMAIN),
    ("http://a.com/7?print=1", "http://a.com/7", VIEW),
    ("http://a.com/s.php?article44", "http://a.com/s.php?id_article=44&page=print", VIEW),
    ("http://a.com/print/44", "http://a.com/news/44/tea.html", VIEW),
    ("http://a.com/print.php?sid=44", "http://a.com/story.php?sid=44", VIEW),
    ("http://a.com/print/44", "http://a.com/news/45/tea.html", DOMAIN),
    ("http://a.com/printers/44", "http://a.com/scanners/44", DOMAIN),
    ("http://a.com/s.php?article44", "http://a.com/s.php?article45", DOMAIN),
    ("my key?", "another", DOMAIN),
    ("key", "my/key", DOMAIN),
    ("my key", "http://a.com/", DOMAIN),
    ("http://[", "http://a.com/", DOMAIN),
]


def test_keys_tell_how_two_pages_are_related() -> None:
    for one, other, kin in PAIRS:
        assert kinship(one, other) is kinship(other, one) is kin, (one, other)


@pytest.mark.parametrize(
    ("one", "other", "kin"),
    [
        ("http://a.com/News/Tea.aspx", "http://a.com/news/tea.aspx", ADDRESS),
        ("http://a.com/News/Tea.aspx?id=7", "http://a.com/news/tea.aspx/?id=7", ADDRESS),
        ("http://a.com/News/Tea?sort=name", "http://a.com/news/tea", VIEW),
        ("http://a.com/news/tea?id=a", "http://a.com/news/tea?id=A", DOMAIN),
        ("http://a.com/News/Tea", "http://b.com/news/tea", MIRROR),
    ],
)
def test_the_case_of_a_path_plays_no_part_where_the_texts_are_the_same(
    one: str, other: str, kin: Kinship
) -> None:
    assert kinship(one, other, is_same=True) is kinship(other, one, is_same=True) is kin


@pytest.mark.parametrize("unit", ["/amp", "/(S(a", "?cid=", "&_=1", "/index.", "utm_", "//@"])
def test_addresses_of_kilobytes_take_no_time(unit: str) -> None:
    begun = time.process_time()
    kinship(f"http://a.com/{unit * 1000}", f"http://a.com/?{unit * 1000}")
    assert time.process_time() - begun < 0.5
