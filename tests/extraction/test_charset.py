"""Decoding: the right characters, whatever the page and its server say about their charset."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.documents import DATA, lines_of
from scrapy_simhash.extraction.charset import decode_html, utf8_html

SAMPLES = {
    "simplified": "这个地方的人们都说，他们在这里生活了很多年，从来没有看到过这样的天气。",
    "traditional": "這個地方的人們都說，他們在這裡生活了很多年，從來沒有看到過這樣的天氣。",
    "japanese": "この町の人々は、何年もここに住んでいるが、こんな天気は見たことがないと言う。",
    "korean": "이 마을 사람들은 여기에서 오래 살았지만 이런 날씨는 본 적이 없다고 말한다.",
    "russian": "Жители этого города говорят, что никогда раньше не видели такой погоды.",
    "ukrainian": (
        "Старий дерев'яний міст через річку знову відкриється навесні, каже міський голова."
    ),
    "serbian": "Стари дрвени мост преко реке биће поново отворен у пролеће, каже председник.",
    "greek": "Η παλιά ξύλινη γέφυρα του ποταμού ανοίγει ξανά την άνοιξη, λέει ο δήμαρχος.",
    "hebrew": "הגשר הישן מעל הנהר ייפתח שוב באביב, אמר אתמול ראש העיר.",
    "arabic": "سيفتح الجسر القديم على النهر في الربيع القادم بعد انتهاء الأشغال.",
    "thai": "สะพานไม้เก่าข้ามแม่น้ำจะเปิดให้ใช้อีกครั้งในฤดูใบไม้ผลิ",
    "turkish": "Irmağın üzerindeki eski ahşap köprü ilkbaharda açılıyor, dedi başkan.",
    "czech": "Starý dřevěný most přes řeku se na jaře znovu otevře, řekl včera starosta.",
    "slovak": (
        "Ľudia sa tešia, že cez starý most opäť môžu ísť pešo, povedal včera primátor. Ďakujú."
    ),
    "polish": (
        "Mieszkańcy cieszą się, że mogą iść pieszo: most nad rzeką został dziś otwarty, mówią."
    ),
    "hungarian": (
        "A folyó feletti régi fahíd újra megnyílik; örülnek, hogy erről győződhettek meg, ők."
    ),
    "croatian": (
        "Stari drveni most ponovno će se otvoriti u proljeće, rekao je načelnik. Građani čekaju."
    ),
    "romanian": (
        "Podul de lemn se va redeschide în primăvară, a spus primarul oraşului. Mulţi aşteptau."
    ),
    "german": ("Die alte Holzbrücke über den Fluss öffnet im Frühjahr wieder, größer und schöner."),
    "spanish": ("El viejo puente abrirá mañana en España, según el alcalde. ¿Qué más dirá, señor?"),
    "portuguese": (
        "A informação é do prefeito: são três obras não previstas, em São João, já à tarde."
    ),
    "italian": "Il ponte riaprirà perché la città lo vuole così; è già pronto, ma più largo.",
    "danish": (
        "Den gamle træbro over åen åbner igen, sagde borgmesteren i går. Øl og brød på øen."
    ),
    "icelandic": (
        "Gamla brúin yfir ána verður opnuð í vor, sagði bæjarstjórinn. Það þykir fólki gott."
    ),
    "finnish": (
        "Vanha puusilta joen yli avataan jälleen keväällä, sanoi pormestari. Väki iloitsee yhä."
    ),
    "signs": ("The café’s “old bridge” opens — 20 € a head, £5, 5 m², 3 m³, ¼ off, © Æsop, 5 µm¹."),
    "names": ("François Müller, Señor Núñez, Ångström, João, Zoë, crème brûlée, Škoda, Þór, Øre."),
    "western": ("Les élèves français étaient très étonnés de voir à quel point la forêt a changé."),
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
    ("russian", "iso8859_5"),
    ("ukrainian", "cp1251"),
    ("ukrainian", "koi8_u"),
    ("serbian", "cp1251"),
    ("serbian", "iso8859_5"),
    ("greek", "cp1253"),
    ("greek", "iso8859_7"),
    ("hebrew", "cp1255"),
    ("hebrew", "iso8859_8"),
    ("arabic", "cp1256"),
    ("arabic", "iso8859_6"),
    ("thai", "cp874"),
    ("turkish", "cp1254"),
    ("turkish", "iso8859_9"),
    *(
        (language, charset)
        for language in ("czech", "slovak", "polish", "hungarian", "croatian", "romanian")
        for charset in ("cp1250", "iso8859_2")
    ),
    ("western", "latin-1"),
    *(
        (language, "cp1252")
        for language in ("western", "german", "spanish", "portuguese", "italian", "danish")
    ),
    *((language, "cp1252") for language in ("icelandic", "finnish", "signs", "names")),
]
# Servers say ISO-8859-1 of pages that they know nothing about.
DEFAULTS = (None, "iso-8859-1", "ISO8859-1", "us-ascii")


def page(text: str, meta: str = "") -> str:
    return f"<html><head>{meta}<title>x</title></head><body><p>{text * 6}</p></body></html>"


@pytest.mark.parametrize(("language", "charset"), WRITTEN)
def test_an_undeclared_charset_is_found(language: str, charset: str) -> None:
    """A page that declares nothing is read as it was written, whatever its server's default."""
    html = page(SAMPLES[language])
    for default in DEFAULTS:
        assert decode_html(html.encode(charset), default) == html, default


def test_utf_8_stays_utf_8() -> None:
    for html in map(page, SAMPLES.values()):
        for default in DEFAULTS:
            assert utf8_html(html.encode(), default) == html.encode(), (html, default)


def test_characters_that_were_encoded_twice_are_no_words() -> None:
    """A western page with a few of them is no Thai page."""
    html = page("The price \xc3\x82\xc2\xa3 and \xc3\x82\xc2\xa9 the bridge, in caf\xe9s. ")
    body = html.encode("cp1252", "replace")
    assert decode_html(body, "iso-8859-1") == body.decode("cp1252")


def test_a_right_declaration_is_followed() -> None:
    """The charset of the header, or else of the page, is used where the body agrees."""
    for language, charset in WRITTEN:
        html = page(SAMPLES[language])
        assert decode_html(html.encode(charset), charset) == html, charset
        html = page(SAMPLES[language], f'<meta charset="{charset}">')
        assert decode_html(html.encode(charset)) == html, charset


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
