"""The report as a file: whole, small, and with nothing in it that a stranger wrote as markup."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.report.dedup_log import Line, LogLine
from scrapy_simhash.report.html_report import _pattern_of, render
from scrapy_simhash.report.log_table import LogTable, PageChange
from scrapy_simhash.report.words import clipped, count, percent, size
from tests.pages import article
from tests.report.lines import CRAWL, HOSTILE, copy, line

VOID = {"meta", "link", "br", "img", "input", "hr"}


def page(lines: Sequence[Line | None]) -> str:
    table = LogTable(lines)
    crawls = table.crawls()
    return render(table, ["dedup.jsonl"], crawls[-1].name if crawls else "")


class Structure(HTMLParser):
    """Checks that tags nest, and notes the elements, their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def text_of(*lines: Line | None) -> str:
    return " ".join(Structure(page(lines)).text.split())


def test_nothing_of_the_log_becomes_markup() -> None:
    lines = []
    for number, text in enumerate(HOSTILE):
        url = f"http://{text}.example/{text}"
        lines += [
            line(url=url, text=text + " one", host=text),
            line(url=text, verdict="skipped", reason=text, what="item"),
            copy(f"http://b.example/{number}", url, number, text=text + " two", host=text + "b"),
            copy(text, url, number + 40, text=text, reason="same-text", doubtful=True),
            copy(url + "/x", url, number + 40, text=text, details=text, doubtful=True),
            line(url=text + "?", near=url, distance=number, reason=text, text=text + " three"),
            line(url=text, crawl=text, time=1.0),
        ]
    html = page(lines)
    elements = Structure(html).elements
    tags = {tag for tag, _ in elements}
    assert not {"img", "iframe", "object", "link", "base", "form"} & tags
    assert [attributes for tag, attributes in elements if tag == "script"] == [{}]
    for _, attributes in elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert re.match(r"(#|https?://)", attributes.get("href") or "#")
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)
    html.encode("utf-8", "replace")


def test_file_needs_nothing_beside_it_and_allows_no_script_but_its_own() -> None:
    html = page([line(), copy("http://b.example/", "http://a.example/")])
    structure = Structure(html)
    for tag, attributes in structure.elements:
        assert "src" not in attributes
        assert tag != "link"
    assert "@import" not in html
    assert "url(" not in html
    [policy] = [a["content"] for tag, a in structure.elements if a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    [script] = re.findall(r"<script>(.*)</script>", html, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert re.findall(r"script-src ([^;]*);", policy) == [f"'sha256-{digest}'"]
    assert "innerHTML" not in script


LITTLE: dict[str, tuple[list[LogLine], str]] = {
    "empty": ([], "the log is empty"),
    "only unique": ([line()], "1 page judged: 1 kept, 0 crawled before, 0 dropped (0%)"),
    "only duplicates": (
        [copy("http://b.example/", "http://a.example/", 0, k=0)],
        "No drop is doubtful.",
    ),
    "only skipped": ([line(verdict="skipped", reason="other_type")], "1 not compared (1 other ty"),
    "only items": ([line(what="item", url="1", bytes=None)], "1 kept"),
    "far future": ([line(time=2e11), line(time=0)], "1970-01-01 00:00:00 to "),
}


@pytest.mark.parametrize("name", LITTLE)
def test_report_of_little_is_whole_and_says_what_is_missing(name: str) -> None:
    lines, says = LITTLE[name]
    assert says in text_of(*lines)


def test_headings_and_tables_are_named_for_who_cannot_see_them() -> None:
    lines = [line(url="http://a.example/", text="One text", details="Rooms: 3")]
    lines += [
        copy(f"http://b.example/{n}", "http://a.example/", n, details="4", doubtful=True)
        for n in range(9)
    ]
    lines.append(line(url="http://a.example/2", change="changed", run=2))
    structure = Structure(page(lines))
    levels = [int(tag[1]) for tag, _ in structure.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for tag, attributes in structure.elements:
        if tag == "th":
            assert attributes.get("scope") in ("row", "col")


def test_of_several_crawls_the_last_is_shown_and_the_others_are_named() -> None:
    earlier = [copy(f"http://old.example/{n}", "http://a.example/", crawl="a 'b'", time=n + 1)
               for n in range(7)]  # fmt: skip
    text = text_of(*earlier, line(), copy("http://b.example/", "http://a.example/"))
    assert f"{CRAWL}: 1 near-duplicate " in text
    assert "2027-01-15 08:00:00 to 2027-01-15 08:00:00 UTC, from dedup.jsonl" in text
    assert "scrapy simhash report dedup.jsonl --crawl 'a '\"'\"'b'\"'\"''" in text
    assert "old.example" not in text


def test_doubtful_drops_come_by_address_pattern_with_what_differs_and_lines_to_copy() -> None:
    lines = [line(url="http://a.example/x", text="one", details="Price\n£146")]
    for number in range(5):
        url = f"http://b.example/item/{number}?view=print"
        original = f"http://b.example/item/a'{number}?view=print"
        lines += [
            line(url=original, text="one", details="Price\n£146"),
            copy(url, original, text="one", details="Price\n£74", reason="like-headings",
                 doubtful=True),
        ]  # fmt: skip
    lines.append(
        copy("http://c.example/", lines[0].key, text="one", details=lines[0].details, doubtful=True)
    )
    html = page(lines)
    assert "<b>6 drops are doubtful.</b>" in html
    doubtful = html.split('<section id="doubtful"')[1].split("</section>")[0]
    text = " ".join(Structure(doubtful.partition(">")[2]).text.split())
    heads = re.findall(r"<h3>(.*?)</h3>", doubtful)
    assert [re.sub("<.*?>", "", head) for head in heads] == [
        "b.example/item/*?view=print 5 drops", "c.example/* 1 drop"
    ]  # fmt: skip
    assert doubtful.count("Price: £<del>146</del> <ins>74</ins>") == 3
    assert "explain 'http://b.example/item/0?view=print' --log dedup.jsonl" in text
    quoted = """'http://b.example/item/a'"'"'0?view=print'"""
    assert f"requeue --log dedup.jsonl --original {quoted}" in text
    assert r'SIMHASH_ACTION = [(r"://b\.example/item/[^/?]*", "flag")]' in text
    assert "The log has no difference of the two" in text


@given(
    *(st.from_regex(r"http://a\.b(/[a-z.*+?=&-]{0,4}){1,4}(\?[a-z=&]{0,9})?", fullmatch=True),) * 2
)
def test_the_expression_of_a_pattern_finds_its_own_example(original: str, url: str) -> None:
    assert re.search(_pattern_of(original, url)[1], url)


def test_what_differs_stands_in_each_row_of_all_drops() -> None:
    original = line(text="an old day")
    html = page([original, copy("http://b.example/", original.url, 3, text="a new day")])
    drops = html.split('<section id="drops"')[1]
    assert "<del>an old</del> <ins>a new</ins> day" in drops
    assert '<section id="doubtful"' not in html


def test_changes_are_shown_from_the_second_run_on() -> None:
    first = [line(url=f"http://a.example/{n}", change="new", run=1, text="old") for n in range(3)]
    assert "Since earlier runs" not in page(first)
    second = [
        line(url="http://a.example/1", change="changed", run=2, text="new", crawl="later"),
        line(url="http://a.example/9", change="new", run=2, crawl="later"),
    ]
    missing = [PageChange("missing", "http://a.example/0", "http://a.example/0", last_seen=1.0)]
    html = render(LogTable([*first, *second]), ["log"], "later", missing)
    text = " ".join(Structure(html).text.split())
    assert "1 new, 1 changed, 0 moved, 0 same." in text
    assert "changed: http://a.example/1 old new" in text
    assert "missing: http://a.example/0 last seen in the run of 1970-01-01" in text
    same = line(change="same", run=2, action="follow", crawl="later", time=2e9)
    assert "0 new, 0 changed, 0 moved, 1 same." in text_of(*first, same)


def test_what_was_only_flagged_or_could_not_be_read_is_said() -> None:
    pair = "http://b.example/", "http://a.example/"
    assert "Nothing was dropped:" in page([copy(*pair, action="flag")])
    assert "Nothing was dropped:" not in page([copy(*pair)])
    assert "1 line of the log could not be read" in page([line(), None])


def test_file_stays_small_however_much_the_log_has() -> None:
    lines = []
    for number in range(25):
        url = f"http://{'long' * 400}.example/{number}"
        lines.append(line(url=url, text=article(number, 500)))
        for other in range(4):
            text = article(1000 + 10 * number + other, 500)
            lines.append(copy(f"http://{other}{url[8:]}", url, other, text=text))
    lines += [
        copy(f"http://{number}.{'x' * 200}.example/", f"http://o{number}.example/")
        for number in range(3000)
    ]
    assert len(page(lines).encode()) < 3_000_000


@settings(max_examples=40)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_make_a_sound_page(before: str, after: str) -> None:
    original = "http://a.example/"
    far = copy("http://b.example/", original, 40, text=after, details=after, doubtful=True)
    Structure(page([line(url=original, text=before), far]))


def test_numbers_are_written_for_people() -> None:
    counts = [(1, "page"), (2000, "copy"), (1, "host"), (2, "day"), (3, "entry")]
    written = ["1 page", "2,000 copies", "1 host", "2 days", "3 entries"]
    assert [count(*each) for each in counts] == written
    sizes = ["0 bytes", "1 byte", "999 bytes", "1.5 kB", "73.5 MB"]
    assert [size(number) for number in (0, 1, 999, 1_500, 73_466_031)] == sizes
    shares = [(0, 9), (1, 9999), (9999, 10_000), (3, 3)]
    assert [percent(*share) for share in shares] == ["0%", "<0.1%", "99.9%", "100%"]
    assert clipped("a" * 99, 9) == "aaaaa…aaa"


def test_only_web_addresses_are_links() -> None:
    for url in ("javascript:alert(1)", "http://[", "http://b.example/"):
        doubtful = page([copy(url, "key", 40, doubtful=True)])
        links = [a["href"] for tag, a in Structure(doubtful).elements if tag == "a"]
        assert ("http://b.example/" in links) == (url == "http://b.example/")
        assert all(str(link).startswith(("#", "http://b.")) for link in links)
