"""Readers make of JSON, XML, feeds, texts and PDF what is compared; what they read is hostile."""

import json
import re
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import Document, StoreError, SyncDedup
from scrapy_simhash import readers as module
from scrapy_simhash.core import worker
from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.readers import READERS, TYPES, _is_swollen, reader_of
from tests.pages import DEFAULT, article

ABOUT = article(1)[:600]
RECORD: dict[str, Any] = {
    "id": 17,
    "name": "Desk lamp",
    "price": 9.5,
    "stock": True,
    "about": ABOUT,
    "tags": ["lamp", "desk"],
    "size": {"w": 1, "h": 2},
}
CHANGED: list[dict[str, Any]] = [
    {"id": 18},
    {"name": "Desk lamb"},
    {"price": 9.51},
    {"stock": False},
    {"about": ABOUT.replace("a", "e", 1)},
    {"tags": ["desk", "lamp"]},
    {"size": {"w": 2, "h": 1}},
    {"size": {"w": 1}, "h": 2},
    {"tags": ["lamp", "desk", None]},
]


def pdf(text: str, pages: int = 1) -> bytes:
    """Return a PDF file with a text on each of its pages."""
    shown = "".join(f"({line}) Tj T* " for line in text.split("\n"))
    return pdf_of(f"BT /F1 9 Tf 12 TL 20 800 Td {shown}ET".encode(), pages)


def pdf_of(stream: bytes, pages: int = 1, *, is_packed: bool = False) -> bytes:
    """Return a PDF file with the operators of a stream on each of its pages."""
    stream = zlib.compress(stream) if is_packed else stream
    packing = b"/Filter/FlateDecode" if is_packed else b""
    kids = " ".join(f"{4 + n} 0 R" for n in range(pages))
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {pages}>>".encode(),
        b"<</Length %d%s>>stream\n%s\nendstream" % (len(stream), packing, stream),
    ]
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 850]/Contents 3 0 R/Resources<</Font<</F1"
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
    )
    body, places = b"%PDF-1.4\n", list[int]()
    for number, part in enumerate([*parts, *[page] * pages], 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    tail = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, len(body))
    return body + head + table + tail


FEED = (
    f'<?xml version="1.0"?><rss><channel><title>News</title><item id="1"><description>{ABOUT}'
    "</description></item></channel></rss>"
)
TEXT = f"Invoice\n\n{article(3)}\n\nTotal 117.20"
WORDS = re.sub(r"[^\w .]", "", article(5)).split()
LINES = "\n".join(" ".join(WORDS[at : at + 12]) for at in range(0, len(WORDS), 12))
OPERATORS = b" ".join(b"%d 1 m 9 9 l S" % n for n in range(600_000))
IMAGE = b"\x89PNG" + bytes(range(256)) * 9
PNG, RSS, PDF = "image/png", "application/rss+xml", "application/pdf"
JSON, *_ = RECORDS = [json.dumps(RECORD | changed) for changed in ({}, *CHANGED)]
AGAIN = json.dumps(dict(reversed(RECORD.items())), indent=2)
# Documents of one type, and which of them are new, copies, too short to tell, or pass.
COMPARED: list[tuple[str, list[Any], str]] = [
    ("application/json", RECORDS, "n" * len(RECORDS)),
    ("application/ld+json; charset=utf-16", [r.encode("utf-16") for r in (JSON, AGAIN)], "nc"),
    ("application/json", ['{"results": [], "message": "There are no results."}'] * 2, "ss"),
    (RSS, [FEED, FEED.replace('"1"', '"2"'), FEED.replace("rss>", "rss >")], "nnc"),
    # Damaged ones are compared by their bytes.
    (RSS, [FEED.replace("News", f"News&nbsp;{n}") for n in "112"], "ncn"),
    ("text/plain", [TEXT, f"{TEXT}3", f"Old {TEXT}", f"{TEXT}\n"], "nnnc"),
    (PDF, [pdf(LINES), pdf(LINES) + b"\n%more", pdf(f"Part 2\n{LINES}")], "ncn"),
    # So are those that unpack to too much.
    (PDF, [pdf_of(OPERATORS + end, is_packed=True) for end in (b"", b" ", b"")], "nnc"),
    (PNG, [IMAGE, IMAGE, b""], "ppp"),
]  # fmt: skip


def verdicts_on(kind: str, contents: list[Any], **readers: str) -> str:
    """Return the verdicts on documents of one host, as in the table above."""
    documents = [Document(f"http://a.example/{n}", data, kind) for n, data in enumerate(contents)]
    with SyncDedup(recipe=replace(DEFAULT, readers=readers), processes=0) as dedup:
        verdicts = [dedup.check(document, wait=False) for document in documents]
    letters = {"unique": "n", "duplicate": "c", "too_short": "s", "other_type": "p"}
    return "".join(letters[v.reason if v.kind == "skipped" else v.kind] for v in verdicts)


@pytest.mark.parametrize(("kind", "contents", "expected"), COMPARED, ids=range(len(COMPARED)))
def test_documents_are_compared_by_the_reader_of_their_type(kind, contents, expected):
    encoded = [text.encode() if isinstance(text, str) else text for text in contents]
    assert verdicts_on(kind, encoded) == expected


def test_xml_of_too_many_values_is_compared_by_its_bytes(monkeypatch):
    """Its values are counted after some 65,000 characters."""
    feed = "".join(f"<b>value {number}</b>" for number in range(5000))
    feeds = [f"<a>{feed}</a>", f"<a>{feed}</a>\n"]
    for most, expected in ((7000, "nn"), (20_000, "nc")):
        monkeypatch.setattr(module, "MOST_VALUES", most)
        assert verdicts_on("text/xml", feeds) == expected


def test_images_are_compared_by_their_bytes_if_that_is_asked_for():
    assert verdicts_on(PNG, [IMAGE, IMAGE, IMAGE + b"\0", b""], **{PNG: "bytes"}) == "ncns"


@given(
    st.recursive(
        st.integers() | st.text() | st.none(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_json_is_read_and_says_the_same_as_itself(value):
    data = json.dumps({"about": ABOUT, "value": value}).encode()
    again = json.dumps({"value": value, "about": ABOUT}, indent=1).encode()
    assert READERS["json"](data, None) == READERS["json"](again, None) is not None


@pytest.mark.parametrize("end", [b"\r", b" \n", b"%\r\n"])
def test_a_stream_of_a_pdf_file_is_measured_however_its_keyword_is_followed(end):
    packed = pdf_of(b"1 1 m 9 9 l S\n" * 600_000, is_packed=True)
    assert _is_swollen(packed.replace(b"stream\n", b"stream" + end, 1))


def test_a_project_names_its_own_readers_and_types_that_pass():
    own = {"text/csv": f"{__name__}.read_csv", "application/json": None, "text/x-log": "text"}
    with SyncDedup(recipe=replace(DEFAULT, readers=own), processes=1) as dedup:
        url, data = "http://a.example/", f"name;price\n{ABOUT}".encode()
        csv = dedup.check(Document(url + "1", data, "text/csv; charset=utf-8"))
        same = dedup.check(Document(url + "2", data + b"\n", "Text/CSV"), wait=False)
        passed = dedup.check(Document(url + "3", b"{}", "application/json"))
        log = dedup.check(Document(url + "4", b"another " + data, "text/x-log"))
    assert [csv.kind, same.kind, passed.reason, log.kind] == [
        *("unique", "duplicate", "other_type", "unique"),
    ]
    with pytest.raises(ValueError, match="cannot be imported"):
        SyncDedup(recipe=replace(DEFAULT, readers={"text/csv": "no.such.reader"}))


def test_another_version_of_an_own_reader_is_refused_by_an_index(tmp_path):
    own = replace(DEFAULT, readers={"text/csv": f"{__name__}.read_csv", "text/x-log": "text"})
    url = f"sqlite:///{tmp_path}/index"
    with SyncDedup(url, recipe=DEFAULT, processes=0):
        pass
    with SyncDedup(url, recipe=own, processes=0):  # a reader without a version is none to refuse
        pass
    read_csv.version = 2  # type: ignore[attr-defined]
    try:
        assert own.identity == f"{DEFAULT.identity} readers={__name__}.read_csv/2"
        with pytest.raises(StoreError, match="read_csv/2"), SyncDedup(url, recipe=own):
            pass
    finally:
        del read_csv.version  # type: ignore[attr-defined]


def read_csv(data: bytes, charset: str | None) -> str:
    return data.decode(charset or "utf-8").replace(";", "\n")


BOMB = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12)
)
NUMBERED = b"".join(b'a%d="<" ' % n for n in range(300_000))
LIGATURE = "\ufdfa".encode()  # 18 characters in NFKC
LINE = "Some text of a page, with words and all that there is to it."
TEXTED = f"<p>{LINE * 9}</p>"
#: Pages of 4 MB: what they are full of, and what stands around that.
FILLED = {
    "paragraphs": ("<p>", "{}"),
    "lines": ("<p>x", "{}"),
    "breaks": ("x<br>", "{}"),
    "text after deep elements": ("<div>" * 2000 + "</div>x" * 2000, "{}"),
    "blocks far down": (f"<div><p>{LINE}</p></div>", "<div>" * 1900 + "{}"),
    "one long class": ("comment ", f"<div class='{{}}'><p>{LINE}"),
    "NUL": ("a\0b ", "{}"),
    "lone surrogates": ("\ud800 ", "{}"),
    "unclosed nav": (f"<p>{LINE}</p>", "<nav>{}"),
    "unclosed script": ("var a = 1 < 2; ", "<p>text</p><script>{}"),
    "drawings in open drawings": ("<svg></svg>", "<svg>" * 1500 + "{}"),
    "links below a text": ("<br><a>x</a>", TEXTED + "<div>{}"),
    "links left open": ("<p>x</p>", f"<h1>x</h1>{TEXTED}{'<a>x<div>' * 400}{{}}"),
    "pictures in links": ("<a><img>x</a>", TEXTED + "<div>{}"),
    "inline elements": ("<b>x</b> ", "<p>{}"),
    "headings": ("<h1>x</h1>", "{}"),
    "elements made alike": (f"<div class=a><div class=a><p>{LINE}</div></div>", "{}"),
}


def filled(part: str, around: str) -> tuple[str, bytes]:
    """Return a name of a reader, and the bytes of such a page."""
    data = part.encode("utf-8", "surrogatepass")
    return "html", around.encode().replace(b"{}", data * (4_000_000 // len(data)))


# A stream of zlib that has another one as its first block; empty blocks would follow.
NESTED = b"stream\nx\1\0\x09\0\xf6\xff"
HOSTILE = {
    "deep JSON": ("json", b"[" * 2_000_000 + b"]" * 2_000_000),
    "wide JSON": ("json", b"[" + b"[]," * 1_300_000 + b"1]"),
    "wide JSON far down": ("json", b"[" * 500 + b"1," * 1_300_000 + b"1" + b"]" * 500),
    "JSON of long names": ("json", (b'{"%s":' % (b"n" * 4000)) * 900 + b"1" + b"}" * 900),
    "long number": ("json", b"1" * 4_000_000),
    "lone surrogate": ("json", b'["' + b"\\ud800" * 600_000 + b'"]'),
    "entity bomb": ("xml", BOMB + b"]><a>&m;</a>"),
    "entity bomb in an attribute": ("xml", BOMB + b']><a a="&m;"/>'),
    "file of the machine": (
        "xml",
        b'<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>',
    ),
    "deep XML": ("xml", b"<a>" * 1_300_000),
    "attributes with tags": ("xml", b"<a " + NUMBERED + b"/>"),
    "no PDF": ("pdf", b"%PDF-1.4" + b"\xff" * 100_000),
    "many pages": ("pdf", pdf("some words", 20_000)),
    "many operators": ("pdf", pdf_of(b"1 1 m 9 9 l S\n" * 5_000_000, is_packed=True)),
    "many operators on many pages": ("pdf", pdf_of(b"1 1 m 9 9 l S\n" * 20_000, 300)),
    "streams without an end": ("pdf", b"%PDF-1.4" + b"stream" * 600_000),
    "streams in streams": ("pdf", b"%PDF-1.4" + NESTED * 20_000 + b"\0\0\0\xff\xff" * 600_000),
    "binary text": ("text", bytes(range(256)) * 16_000),
    "ligatures": ("text", LIGATURE * 1_300_000),
    "deep HTML": ("html", b"<div>" * 800_000 + b"words"),
    "tables in tables": ("html", b"<table><tr><td>" * 260_000 + b"words"),
    "attributes of HTML": ("html", b"<p " + NUMBERED + b">words"),
    "huge title": ("html", b"<title>" + b"words of a title " * 240_000 + b"</title><p>words"),
    "ligatures in HTML": (
        "html",
        b"<title>" + LIGATURE * 600_000 + b"</title><p>" + LIGATURE * 600_000,
    ),
    "many links": ("html", b"<a href=/a?b=c>a</a>" * 200_000),
    "many scripts": ("html", b"<script type=application/ld+json>{}</script>" * 90_000),
    "deep JSON-LD": ("html", b"<script type=application/ld+json>" + b"[" * 4_000_000),
    "unclosed comment": ("html", b"<!--" * 1_000_000),
    "open brackets": ("html", b"<h1>" + b"<" * 4_000_000),
    "open titles": ("html", b"<title x" * 20_000),
    "ampersands": ("html", b"&" * 4_000_000),
}


@pytest.fixture(scope="module")
def process() -> Iterator[ProcessPoolExecutor]:
    """A process with the limit of a worker."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=worker._limit_memory) as process:
        yield process


@pytest.mark.parametrize("name", [*HOSTILE, *FILLED])
def test_a_hostile_document_costs_little_time_and_memory_and_tells_nothing_of_the_machine(
    process, name
):
    """CPU is counted, with room for a slow machine."""
    reader, data = HOSTILE[name] if name in HOSTILE else filled(*FILLED[name])
    analysis, seconds, size = process.submit(measured, data, reader).result()
    assert not analysis.error
    assert "root:" not in analysis.excerpt
    assert size < 600 << 20
    assert seconds < 5


def measured(data: bytes, reader: str) -> tuple[PageAnalysis, float, int]:
    """Return an analysis, its seconds of CPU, and the most memory of this process meanwhile."""
    Path("/proc/self/clear_refs").write_text("5")
    begun = time.process_time()
    analysis = analyse_body(Body(data, None, reader), DEFAULT, 5000)
    seconds = time.process_time() - begun
    status = Path("/proc/self/status").read_text()
    return analysis, seconds, 1024 * int(status.partition("VmHWM:")[2].split()[0])


def test_each_reader_has_a_content_type_but_that_of_bytes():
    assert set(TYPES.values()) == {*READERS, "html"} - {"bytes"}
    assert reader_of("application/atom+xml", DEFAULT) == "xml"
    own = replace(DEFAULT, readers={"image/svg+xml": None})
    assert reader_of("image/svg+xml", own) is None
