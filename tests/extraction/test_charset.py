"""Decoding: the right characters, whatever the page and its server say about their charset."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction.charset import decode_html, utf8_html

CHINESE = "这个地方的人们都说，他们在这里生活了很多年，从来没有看到过这样的天气。"
RUSSIAN = "Жители этого города говорят, что никогда раньше не видели такой погоды."
FRENCH = "Les élèves français étaient très étonnés de voir à quel point la forêt a changé."
WRITTEN = {
    "gb18030": CHINESE,
    "big5": "這個地方的人們都說，他們在這裡生活了很多年，從來沒有看到過這樣的天氣。",
    "shift_jis": "この町の人々は、何年もここに住んでいるが、こんな天気は見たことがないと言う。",
    "euc_jp": "この町の人々は、何年もここに住んでいるが、こんな天気は見たことがないと言う。",
    "iso2022_jp": "この町の人々は、何年もここに住んでいるが、こんな天気は見たことがないと言う。",
    "euc_kr": "이 마을 사람들은 여기에서 오래 살았지만 이런 날씨는 본 적이 없다고 말한다.",
    "cp1251": RUSSIAN,
    "koi8_r": RUSSIAN,
    "cp1253": "Η παλιά ξύλινη γέφυρα του ποταμού ανοίγει ξανά την άνοιξη, λέει ο δήμαρχος.",
    "cp1256": "سيفتح الجسر القديم على النهر في الربيع القادم بعد انتهاء الأشغال.",
    "cp1250": "Starý dřevěný most přes řeku se na jaře znovu otevře, řekl včera starosta.",
    "cp1252": FRENCH,
}


def page(text: str, meta: str = "") -> str:
    return f"<html><head>{meta}<title>x</title></head><body><p>{text * 6}</p></body></html>"


@pytest.mark.parametrize("charset", WRITTEN)
def test_a_charset_is_found_whether_it_is_declared_or_not(charset):
    """Servers say ISO-8859-1 of pages that they know nothing about."""
    html = page(WRITTEN[charset])
    for declared in (None, "iso-8859-1", "us-ascii", charset):
        assert decode_html(html.encode(charset), declared) == html
    html = page(WRITTEN[charset], f'<meta charset="{charset}">')
    assert decode_html(html.encode(charset), "iso-8859-1") == html


@pytest.mark.parametrize("declared", [None, "iso-8859-1", "gb2312"])
def test_utf_8_is_believed_before_any_declaration(declared):
    for text in WRITTEN.values():
        html = page(text, '<meta charset="gb2312">')
        assert decode_html(html.encode(), declared) == html
        assert utf8_html(html.encode(), declared) == html.encode()


def test_characters_that_were_encoded_twice_are_no_words():
    """A western page with a few of them is no Thai page."""
    html = page("The price \xc3\x82\xc2\xa3 and \xc3\x82\xc2\xa9 the bridge, in caf\xe9s. ")
    body = html.encode("cp1252", "replace")
    assert decode_html(body, "iso-8859-1") == body.decode("cp1252")


def test_a_page_whose_tags_can_be_read_is_not_in_utf_16():
    """A page in Latin-1 that claims to be UTF-16 keeps its tags, as in a browser."""
    html = page(FRENCH, '<meta charset="utf-16">')
    assert decode_html(html.encode("latin-1")) == html


def test_what_the_body_contradicts_or_cuts_short_is_passed_over():
    for declared in ("utf-8", "big5", "euc-kr", "no-such-charset"):
        assert decode_html(page(CHINESE).encode("gbk"), declared) == page(CHINESE)
    assert decode_html((CHINESE * 20).encode()[:-1], "gbk") == (CHINESE * 20)[:-1] + "\ufffd"


def test_a_byte_order_mark_decides_and_is_no_part_of_the_text():
    for charset in ("utf-8-sig", "utf-16"):
        assert decode_html(page(CHINESE).encode(charset), "iso-8859-1") == page(CHINESE)


@given(st.binary(max_size=300), st.sampled_from([None, "gbk", "utf-16", "latin-1", "", "é", "x\0"]))
def test_any_bytes_decode(body, declared):
    assert isinstance(decode_html(body, declared), str)
