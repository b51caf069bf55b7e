"""The report as a file: whole, small, and with nothing in it that a stranger wrote as markup."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.groups import groups_of
from scrapy_simhash.report.html_report import groups, html_report, overview
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.words import clipped, count, percent, size, width
from tests.pages import article
from tests.report.lines import CRAWL, HOSTILE, copy, line

VOID = {"meta", "link", "br", "img", "input", "hr"}


def page(lines: Sequence[LogLine | None]) -> str:
    table = LogTable(lines)
    crawls = table.crawls()
    return html_report(table, crawls[-1].name if crawls else "", ["dedup.jsonl"])


class Structure(HTMLParser):
    """Notes the elements of a page, their attributes, and the text.

    It checks that tags nest, that no level of headings is left out, and that each head of a table
    says of what, for who cannot see them.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []
        levels = [int(tag[1]) for tag, _ in self.elements if re.fullmatch(r"h\d", tag)]
        assert levels.count(1) == html.startswith("<!doctype")
        assert levels[0] == min(levels)
        assert all(after <= before + 1 for before, after in pairwise(levels))
        heads = [attributes.get("scope") for tag, attributes in self.elements if tag == "th"]
        assert {*heads} <= {"row", "col"}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def text_of(*lines: LogLine | None) -> str:
    return " ".join(Structure(page(lines)).text.split())


def test_nothing_of_the_log_becomes_markup_and_the_file_needs_no_other_and_no_script():
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
    lines.append(copy("http://[", "key", 40, doubtful=True))
    html = page([*lines, copy("http://c.example/", "key", 40, doubtful=True)])
    elements = Structure(html).elements
    tags = {tag for tag, _ in elements}
    assert not {"img", "iframe", "object", "link", "base", "form", "script"} & tags
    assert ("a", "http://c.example/") in {(tag, named.get("href")) for tag, named in elements}
    for _, attributes in elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert re.match(r"(#|https?://)", attributes.get("href") or "#")
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)
    html.encode("utf-8", "replace")
    assert not re.search(r"@import|url\(", html)
    [policy] = [a["content"] for tag, a in elements if a.get("http-equiv")]
    assert str(policy).startswith("default-src 'none'; ")
    assert "script-src" not in str(policy)


LITTLE: dict[str, list[LogLine | None]] = {
    "the log is empty": [],
    "judged 1 kept 1 dropped 0 0% of these doubtful 0": [line()],
    "What to do next. No drop is doubtful.": [copy("http://b/", "http://a/", 0, k=0)],
    "not compared 1 1 other type": [line(verdict="skipped", reason="other_type")],
    "kept 1": [line(what="item", url="1", bytes=None)],
    "Nothing was dropped: copies were flagged": [copy("http://b/", "http://a/", action="flag")],
    "1 line of the log could not be read": [line(), None],
    "1970-01-01 00:00:00 to ": [line(time=2e11), line(time=0)],
}


@pytest.mark.parametrize("says", LITTLE)
def test_report_of_little_is_whole_and_says_what_is_missing(says):
    assert says in text_of(*LITTLE[says])


def alike(number: int, original: str, **values: object) -> list[LogLine]:
    urls = [f"http://b.example/shop/{n}" for n in range(number)]
    return [copy(url, original, 4, text="a new day", **values) for url in urls]


def test_all_copies_of_a_page_are_one_group_and_what_differs_is_said_once():
    original = line(text="an old day")
    others = [line(url=f"http://o.example/{number}") for number in range(99)]
    html = page([original, *alike(3, original.key), *others])
    groups = html.split('<section id="groups"')[1]
    assert groups.count("<del>an old</del> <ins>a new</ins> day") == 1
    text = " ".join(Structure(groups.partition(">")[2].partition("</section>")[0]).text.split())
    assert f"3 copies of {original.key}" in text
    assert "http://b.example/shop/2 98.4% alike, 4 bits" in text
    assert text.count(f"requeue --log dedup.jsonl --original {original.key}") == 1
    assert "SIMHASH_ACTION" not in text
    assert "No drop is doubtful." in text_of(original, *alike(3, original.key))


def test_pairs_whose_addresses_have_one_form_are_one_group():
    lines = []
    for number in range(5):
        url = f"http://b.example/item/{number}?view=print"
        original = f"http://b.example/item/a'{number}?view=print"
        lines += [
            line(url=original, details="Price\n£146"),
            copy(url, original, details="Price\n£74", doubtful=True),
        ]
    html = page(lines)
    assert html.count("Price: £<del>146</del> <ins>74</ins>") == 5
    text = " ".join(Structure(html).text.split())
    assert "5 pairs like b.example/item/{number}?view=print doubtful" in text
    assert "explain 'http://b.example/item/0?view=print' --log dedup.jsonl" in text
    quoted = """'http://b.example/item/a'"'"'0?view=print'"""
    assert f"requeue --log dedup.jsonl --original {quoted}" in text
    [expression] = re.findall(r'SIMHASH_ACTION = \[\(r"(.*?)", "flag"\)\]', text)
    assert all(re.search(expression, each.url) for each in lines if each.doubtful)


def test_what_hides_many_addresses_stands_first_and_then_what_is_doubtful():
    plain = [copy("http://c.example/1", "http://c.example/", 20, reason="edits")]
    doubtful = [copy("http://d.example/1", "http://d.example/", doubtful=True)]
    for many, others in ((20, 500), (15, 133)):  # of a smaller crawl, a tenth is enough
        lines = [*plain, *doubtful, *alike(many, "http://a.example/"), *[line()] * others]
        names = [group.original or group.signature.text for group in groups(LogTable(lines), CRAWL)]
        assert names == ["http://a.example/", "d.example/{number}", "c.example/{number}"]
        assert f"What to do next. http://a.example/ hides {many} addresses." in text_of(*lines)
    assert "Look at the 1 group with doubtful drops." in text_of(*plain, *doubtful)


def test_the_overview_counts_drops_by_original_reason_form_and_host():
    """Of the pages with most copies there are five."""
    lines = [
        *alike(3, "http://a.example/", reason="edits"),
        copy("http://c.example/x", "http://e/"),
    ]
    assert overview(LogTable(lines), CRAWL) == {
        "The pages with most copies": {"http://a.example/": 3, "http://e/": 1},
        "Drops by reason": {"edits": 3},
        "Drops by form of the address": {"b.example/shop/{number}": 3, "c.example/*": 1},
        "Drops by host": {"b.example": 3, "c.example": 1},
    }
    many = [copy(f"http://a/{n}/{m}", f"http://b/{n}") for n in range(9) for m in range(n)]
    shown = overview(LogTable(many), CRAWL)["The pages with most copies"]
    assert [*shown.items()] == [(f"http://b/{n}", n) for n in (8, 7, 6, 5, 4)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30), st.booleans())))
def test_every_drop_is_in_one_group(numbers):
    lines = [
        copy(f"http://b.example/{place}", f"http://a.example/{original}", bits, doubtful=doubtful)
        for place, (original, bits, doubtful) in enumerate(numbers)
    ]
    drops = [*LogTable(lines).drops(CRAWL, 20, 1000)]
    groups = groups_of(drops, 20)
    shown = [each.url for group in groups for each in group.lines]
    assert sorted(shown) == sorted(each.url for each in lines)
    assert sum(group.pages for group in groups) == len(lines)


def test_changes_are_shown_from_the_second_run_on():
    first = [line(url=f"http://a.example/{n}", change="new", run=1, text="old") for n in range(3)]
    assert "Since earlier runs" not in page(first)
    second = [
        line(url="http://a.example/1", change="changed", run=2, text="new", crawl="later"),
        line(url="http://a.example/9", change="new", run=2, crawl="later"),
    ]
    html = html_report(LogTable([*first, *second]), "later", ["log"])
    text = " ".join(Structure(html).text.split())
    assert "1 new, 1 changed, 0 moved, 0 same." in text
    assert "changed: http://a.example/1 old new" in text
    same = line(change="same", run=2, action="follow", crawl="later", time=2e9)
    assert "0 new, 0 changed, 0 moved, 1 same." in text_of(*first, same)


def test_file_stays_small_however_much_the_log_has():
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


def test_numbers_are_written_for_people():
    counts = [(1, "page"), (2000, "copy"), (1, "host"), (3, "entry")]
    written = ["1 page", "2,000 copies", "1 host", "3 entries"]
    assert [count(*each) for each in counts] == written
    sizes = ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "100 kB", "73.5 MB"]
    assert [size(number) for number in (0, 1, 999, 1_000, 99_600, 73_466_031)] == sizes
    shares = [(0, 9), (1, 9999), (9999, 10_000), (3, 3)]
    assert [percent(*share) for share in shares] == ["0%", "<0.1%", "99.9%", "100%"]
    assert clipped("a" * 99, 9) == "aaaaa…aaa"
    assert width("中文a") == 5
