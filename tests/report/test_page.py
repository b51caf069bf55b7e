"""The report as a file: whole, small, and with nothing in it that a stranger wrote as markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report import Figures, render
from scrapy_simhash.report.clusters import Clusters
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.marked import marked
from scrapy_simhash.report.sections import DARKEST
from scrapy_simhash.report.words import address, clipped, count, duration, percent, size
from tests.pages import article, edited
from tests.report.lines import copy, line

VOID = {"meta", "link", "br", "img", "input", "hr"}


def page(lines: list[LogLine]) -> str:
    figures = Figures([Path("dedup.jsonl")])
    for each in lines:
        figures.add(each)
    keys = [key for key, _ in figures.originals.largest(20)]
    clusters = Clusters(keys)
    for each in lines:
        clusters.add(each)
    figures.clusters = [clusters.of(key) for key in keys]
    figures.walls = figures.clusters[:2]
    return render(figures)


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


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "<!--", "]]>", "&lt;script&gt;", "\u202egnp.exe", "\x00\x1b[31m", "\ud800",
]  # fmt: skip


def test_nothing_of_the_log_becomes_markup() -> None:
    lines = []
    for number, text in enumerate(HOSTILE):
        url = f"http://{text}.example/{text}"
        lines += [
            line(url=url, text=text + " one", host=text),
            line(url=text, verdict="skipped", reason=text, what="item"),
            copy(f"http://b.example/{number}", url, number, text=text + " two", host=text + "b"),
            copy(text, url, number, text=text),
        ]
    html = page(lines)
    elements = Structure(html).elements
    assert [tag for tag, _ in elements].count("script") == 1
    assert not {"img", "iframe", "object", "link", "base", "form"} & {tag for tag, _ in elements}
    for _, attributes in elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert re.match(r"(#|https?://)", attributes.get("href") or "#")
    html.encode("utf-8", "replace")


def test_file_needs_nothing_beside_it_and_allows_only_its_own_script() -> None:
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


SOME: dict[str, list[LogLine]] = {
    "empty": [],
    "only unique": [line()],
    "only duplicates": [copy("http://b.example/", "http://a.example/", 4)],
    "only revisits": [line(verdict="revisit")],
    "only skipped": [line(verdict="skipped", reason="status")],
    "only items": [line(what="item", url="1", bytes=None, seconds=None)],
    "k of 0": [copy("http://b.example/", "http://a.example/", 0, k=0)],
    "several k": [copy("http://b.example/", "http://a.example/", 4, k=k) for k in (3, 48, 48)],
    "all at once": [line(time=0), copy("http://b.example/", "http://a.example/", time=0)],
    "far future": [line(time=9e13), line(time=0)],
}


@pytest.mark.parametrize("name", SOME)
def test_report_of_little_is_whole_and_says_what_is_missing(name: str) -> None:
    lines = SOME[name]
    structure = Structure(page(lines))
    if not lines:
        assert "the log is empty" in structure.text
    elif not any(each.verdict == "duplicate" for each in lines):
        assert "No near-duplicates" in structure.text
    for tag, attributes in structure.elements:
        for attribute in ("x", "y", "width", "height"):
            value = attributes.get(attribute)
            if tag in ("rect", "svg") and value is not None:
                assert 0 <= float(value.rstrip("%")) <= 200, (tag, attributes)


def test_headings_tables_and_charts_are_named_for_who_cannot_see_them() -> None:
    lines = [line(url="http://a.example/", text="One text"), line(verdict="skipped", reason="x")]
    lines += [copy(f"http://b.example/{n}", "http://a.example/", n, text="Other") for n in range(9)]
    structure = Structure(page(lines))
    levels = [int(tag[1]) for tag, _ in structure.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    tags = [tag for tag, _ in structure.elements]
    assert tags.count("table") == tags.count("caption") > 3
    for tag, attributes in structure.elements:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")
        if tag == "th":
            assert attributes.get("scope") in ("row", "col")
    assert "Bars by distance: 9 near-duplicates at 0 to 8 bits" in str(structure.elements)


def test_file_stays_small_however_much_the_log_has() -> None:
    lines = []
    for number in range(25):
        url = f"http://{'long' * 400}.example/{number}"
        lines.append(line(url=url, text=article(number, 4000)))
        for other in range(4):
            text = article(1000 + 10 * number + other, 4000)
            lines.append(copy(f"http://{other}{url[8:]}", url, other, text=text))
    lines += [
        copy(f"http://{number}.{'x' * 200}.example/", f"http://o{number}.example/")
        for number in range(3000)
    ]
    assert len(page(lines).encode()) < 1_500_000


def test_pages_without_a_text_are_not_said_to_be_the_same() -> None:
    original = "http://a.example/"
    same, without = "are the same as that of the original", "nothing to compare these with"
    for kept, repeated, here in (("A", "A", same), ("A", "", without), ("", "A", without)):
        text = Structure(
            page(
                [line(url=original, text=kept), copy("http://b.example/", original, text=repeated)]
            )
        ).text
        assert [said for said in (same, without) if said in text] == [here]


def test_dry_run_is_said() -> None:
    flagged = copy("http://b.example/", "http://a.example/", action="flag")
    assert "Dry run:" in page([flagged])
    assert "Dry run:" not in page([copy("http://b.example/", "http://a.example/")])


def test_lines_that_could_not_be_read_are_said() -> None:
    figures = Figures([Path("log")], unreadable=1)
    figures.add(line())
    assert "1 line of the log could not be read" in render(figures)


def plain_text(html: str) -> str:
    return Structure(f"<p>{html}</p>").text


@given(st.text(max_size=60), st.text(max_size=60))
def test_marked_texts_are_sound_html(before: str, after: str) -> None:
    for html in marked(before, after):
        Structure(f"<p>{html}</p>")


def test_differences_are_marked_and_long_stretches_left_out() -> None:
    text = article(1, 600)
    left, right = marked(text, edited(text, 2, 0.004))
    assert left.count("<del>") == right.count("<ins>") == 2
    assert len(plain_text(right)) < len(text) / 4
    assert marked("an old day", "a new day") == (
        "<del>an old</del> day",
        "<ins>a new</ins> day",
    )
    assert marked("今天下雨", "今天下雪") == ("今天下<del>雨</del>", "今天下<ins>雪</ins>")


def test_numbers_are_written_for_people() -> None:
    assert [count(1, "page"), count(2000, "copy")] == ["1 page", "2,000 copies"]
    assert [size(0), size(999), size(1_500), size(73_466_031)] == [
        "0 bytes", "999 bytes", "1.5 kB", "73.5 MB"
    ]  # fmt: skip
    assert [duration(0), duration(0.25), duration(61), duration(24_180), duration(86_400)] == [
        "0 s", "0.2 s", "1 min 1 s", "6 h 43 min", "1 d"
    ]  # fmt: skip
    assert [percent(0, 9), percent(1, 9999), percent(9999, 10_000), percent(3, 3)] == [
        "0%", "<0.1%", "99.9%", "100%"
    ]  # fmt: skip
    assert clipped("a" * 99, 9) == "aaaaaa … aaa"
    assert "href" not in address("javascript:alert(1)")
    assert "href" not in address("http://[")


def luminance(colour: tuple[float, ...]) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = [c / 255 for c in colour]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_stands_out_from_what_is_behind_it(scheme: int) -> None:
    """At least 4.5 for text and 3 for bars, by WCAG 2.2."""
    css = files("scrapy_simhash.report").joinpath("report.css").read_text("utf-8")
    block = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[scheme]
    colours = {
        name: tuple(int(value[n : n + 2], 16) for n in (0, 2, 4))
        for name, value in re.findall(
            r"--(\w+): #(\w{6});", re.sub(r"#(\w)(\w)(\w)\b", r"#\1\1\2\2\3\3", block)
        )
    }
    for text, ground in product(("ink", "soft", "link", "mark"), ("ground", "raised")):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for ground in ("del", "ins"):
        assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
    for bar in ("kept", "repeated", "skipped"):
        assert contrast(colours[bar], colours["ground"]) >= 3, bar
    heat = [int(n) for n in re.findall(r"--heat-colour: ([\d, ]+);", block)[0].split(",")]
    darkest = tuple(
        DARKEST * h + (1 - DARKEST) * g for h, g in zip(heat, colours["ground"], strict=True)
    )
    assert contrast(colours["ink"], darkest) >= 4.5
