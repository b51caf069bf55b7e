"""Decoding: the right characters, whatever the page and its server say about their charset."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction.charset import decode_html
from tests.benchmarks.documents import DATA, lines_of

SAMPLES = {
    "simplified": "这个地方的人们都说，他们在这里生活了很多年，从来没有看到过这样的天气。",
    "traditional": "這個地方的人們都說，他們在這裡生活了很多年，從來沒有看到過這樣的天氣。",
    "japanese": "この町の人々は、何年もここに住んでいるが、こんな天気は見たことがないと言う。",
    "korean": "이 마을 사람들은 여기에서 오래 살았지만 이런 날씨는 본 적이 없다고 말한다.",
    "russian": "Жители этого города говорят, что никогда раньше не видели такой погоды.",
    "western": "Les élèves français étaient très étonnés de voir à quel point la forêt a changé.",
}
WRITTEN = [
    ("simplified", "gb18030"),
    ("simplified", "gb2312"),
    ("traditional", "big5"),
    ("traditional", "gbk"),
    ("japanese", "shift_jis"),
    ("japanese", "euc_jp"),
    ("japanese", "iso2022_jp"),
    ("korean", "euc_kr"),
    ("russian", "cp1251"),
    ("russian", "koi8_r"),
    ("western", "latin-1"),
    ("western", "cp1252"),
]


def page(text: str, meta: str = "") -> str:
    return f"<html><head>{meta}<title>x</title></head><body><p>{text * 6}</p></body></html>"


@pytest.mark.parametrize(("language", "charset"), WRITTEN)
def test_an_undeclared_charset_is_found(language: str, charset: str) -> None:
    """A page that declares nothing is read as it was written."""
    html = page(SAMPLES[language])
    assert decode_html(html.encode(charset)) == html


@pytest.mark.parametrize(("language", "charset"), WRITTEN)
@pytest.mark.parametrize("where", ["header", "meta"])
def test_a_right_declaration_is_followed(language: str, charset: str, where: str) -> None:
    """The charset of the header, or else of the page, is used where the body agrees."""
    html = page(SAMPLES[language], f'<meta charset="{charset}">' if where == "meta" else "")
    assert decode_html(html.encode(charset), charset if where == "header" else None) == html


def test_a_page_whose_tags_can_be_read_is_not_in_utf_16() -> None:
    """A page in Latin-1 that claims to be UTF-16 keeps its tags, as in a browser."""
    html = page(SAMPLES["western"], '<meta charset="utf-16">')
    assert decode_html(html.encode("latin-1")) == html


@pytest.mark.parametrize("claimed", ["iso-8859-1", "utf-8", "big5", "euc-kr", "no-such-charset"])
def test_a_declaration_that_the_body_contradicts_is_passed_over(claimed: str) -> None:
    """GBK under a header that says otherwise is still read as GBK."""
    html = page(SAMPLES["simplified"])
    assert decode_html(html.encode("gbk"), claimed) == html


def test_utf_8_is_believed_before_any_declaration() -> None:
    """A body that is valid UTF-8 is UTF-8, whatever header and meta claim."""
    html = page(SAMPLES["simplified"], '<meta charset="gb2312">')
    assert decode_html(html.encode(), "iso-8859-1") == html


def test_a_servers_default_gives_way_to_the_page() -> None:
    """ISO-8859-1 in the header, which servers add unasked, yields to the page's own meta."""
    html = page(SAMPLES["russian"], '<meta charset="windows-1251">')
    assert decode_html(html.encode("cp1251"), "iso-8859-1") == html


def test_utf_8_that_was_cut_short_stays_utf_8() -> None:
    """A body that ends inside a character loses that character and nothing else."""
    body = (SAMPLES["simplified"] * 20).encode()[:-1]
    assert decode_html(body, "gbk") == (SAMPLES["simplified"] * 20)[:-1] + "\ufffd"


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_decides(charset: str) -> None:
    """The mark wins over the header and is no part of the text."""
    html = page(SAMPLES["simplified"])
    assert decode_html(html.encode(charset), "iso-8859-1") == html


@given(st.binary(max_size=300), st.sampled_from([None, "gbk", "utf-16", "latin-1", "", "é", "x\0"]))
def test_any_bytes_decode(body: bytes, declared: str | None) -> None:
    """No body and no header makes decoding raise."""
    assert isinstance(decode_html(body, declared), str)


@pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data is missing")
@pytest.mark.parametrize("declared", [None, "iso-8859-1", "utf-8"])
def test_old_chinese_pages_are_readable(declared: str | None) -> None:
    """Real pages contain the characters of their hand-made body text, with no or a wrong header."""
    pages = [page for page in lines_of("articles-html") if "html_base64" in page]
    garbled = []
    for entry in pages:
        html = decode_html(base64.b64decode(entry["html_base64"]), declared)
        wanted = {character for character in entry["body"] if character > "\u3000"}
        if len(wanted & set(html)) < 0.95 * len(wanted):
            garbled.append(entry["id"])
    assert len(pages) == 69
    assert garbled == []


@pytest.mark.parametrize("name", ["hex", "rot13", "base64", "idna", "punycode", "undefined"])
def test_codec_that_is_no_charset_is_passed_over(name: str) -> None:
    body = SAMPLES["western"].encode("latin-1")
    assert decode_html(body, name) == SAMPLES["western"]
    declared = f"<meta charset={name}>".encode() + body
    assert decode_html(declared).endswith(SAMPLES["western"])
