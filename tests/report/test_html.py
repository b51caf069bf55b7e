"""The report as a file: whole, small, and with nothing in it that a stranger wrote as markup."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.dedup_log import CrawlStart, LogLine
from scrapy_simhash.report.figures import Figures
from scrapy_simhash.report.html import render
from scrapy_simhash.report.words import clipped, count, duration, percent, size
from scrapy_simhash.rule.rule import REASONS
from tests.pages import article
from tests.report.lines import HOSTILE, copy, line

VOID = {"meta", "link", "br", "img", "input", "hr"}


def page(lines: list[LogLine], *starts: CrawlStart) -> str:
    figures = Figures(list(starts))
    for each in lines:
        figures.add(each)
    figures.add_again(lines)
    return render(figures, "dedup.jsonl")


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


def test_nothing_of_the_log_becomes_markup() -> None:
    lines = []
    for number, text in enumerate(HOSTILE):
        url = f"http://{text}.example/{text}"
        lines += [
            line(url=url, text=text + " one", host=text),
            line(url=text, verdict="skipped", reason=text, what="item"),
            copy(f"http://b.example/{number}", url, number, text=text + " two", host=text + "b"),
            copy(text, url, number + 40, text=text, reason="long-text"),
            line(url=text + "?", near=url, distance=number, reason=text, text=text + " three"),
        ]
    html = page(lines, CrawlStart(1.0, HOSTILE[0], dict.fromkeys(HOSTILE, HOSTILE[1])))
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


MIRRORED = [copy(f"http://m.example/{n}", f"http://a.example/{n}") for n in range(8)]

SOME: dict[str, list[LogLine]] = {
    "empty": [],
    "only unique": [line()],
    "only duplicates": [copy("http://b.example/", "http://a.example/", 4)],
    "only revisits": [line(verdict="revisit")],
    "only skipped": [line(verdict="skipped", reason="status")],
    "only items": [line(what="item", url="1", bytes=None, seconds=None)],
    "k of 0": [copy("http://b.example/", "http://a.example/", 0, k=0)],
    "all at once": [line(time=0), copy("http://b.example/", "http://a.example/", time=0)],
    "far future": [line(time=2e11), line(time=0)],
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
    lines = [
        line(url="http://a.example/", text="One text", details="Rooms: 3"),
        line(verdict="skipped", reason="x"),
    ]
    lines += [
        copy(f"http://b.example/{n}", "http://a.example/", n, text="Other", details="4")
        for n in range(9)
    ]
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


def test_head_names_spiders_settings_and_time() -> None:
    start = CrawlStart(1_800_000_000.0, "news", {"SIMHASH_RECIPE": "default"})
    text = Structure(page([line()], start)).text
    assert "Spider news, begun 2027-01-15 08:00:00 UTC: SIMHASH_RECIPE = default" in text
    assert "2027-01-15 08:00:00 to 2027-01-15 08:00:00 UTC, from dedup.jsonl" in text


def test_doubtful_drops_say_why_and_what_differs() -> None:
    original = "http://a.example/"
    lines = [
        line(url=original, text="an old day"),
        copy("http://b.example/", original, 40, text="a new day", reason="long-text"),
        line(url="http://c.example/", near=original, distance=5, reason="other-heading",
             text="an old night"),
    ]  # fmt: skip
    html = page(lines)
    assert "40 bits between http://a.example/ and http://b.example/" in Structure(html).text
    doubtful = html.split('<section id="doubtful"')[1].split("</section>")[0]
    kept = html.split('<section id="near"')[1].split("</section>")[0]
    assert "<del>an old</del> day" in doubtful
    assert "<ins>a new</ins> day" in doubtful
    assert f"{REASONS['long-text'].capitalize()}:" in doubtful
    assert "an old <ins>night</ins>" in kept
    assert "The headings differ:" in kept


def test_pair_of_mirrors_is_one_row() -> None:
    lines = [copy(f"http://m.example/{n}", f"http://a.example/{n}") for n in range(8)]
    lines += [copy(f"http://a.example/x{n}", f"http://m.example/x{n}") for n in range(3)]
    text = Structure(page(lines)).text.split("Mirrors")[-1]
    row = " ".join(text.split("of the second that repeat the first")[1].split()[:9])
    assert row.startswith("m.example and a.example likely mirrors8100%3")


def test_a_sentence_of_the_rule_stands_once_and_identical_pairs_are_folded() -> None:
    original = "http://a.example/"
    lines = [line(url=original, text="same")]
    lines += [
        copy(f"http://b.example/{n}", original, 40 + n, text="same" if n % 2 else f"other {n}")
        for n in range(8)
    ]
    lines = [replace(each, reason="long-text") if each.original else each for each in lines]
    html = page(lines)
    sample = html.split('<section id="sample"')[1].split("</section>")[0]
    assert sample.count(REASONS["long-text"].capitalize()) == 1
    assert sample.count("<article>") == 4
    assert "4 pairs: the parts of both pages" in sample
    assert sample.index("</article>") < sample.index("<details>")


def test_the_sample_says_in_plain_words_what_it_proves() -> None:
    lines = [copy(f"http://b.example/{n}", "http://a.example/", text="x") for n in range(300)]
    text = Structure(page(lines)).text
    assert "30 drops of 300, each as likely to be drawn as any other." in text
    assert "If none of them is wrong, at most 10 of 100 drops are wrong" in text
    assert "These are all." in Structure(page(lines[:7])).text


def test_empty_sections_are_gone_from_the_page_and_its_list() -> None:
    few, many = (Structure(page(lines)) for lines in ([line()], [line(), *MIRRORED]))
    for structure, sections in ((few, ["time", "hosts"]), (many, ["mirrors", "drops", "time"])):
        ids = [a["id"] for tag, a in structure.elements if tag == "section"]
        links = [str(a["href"])[1:] for tag, a in structure.elements if tag == "a"]
        assert set(sections) <= set(ids)
        assert ids == [link for link in links if link in ids]
        assert "walls" not in ids


def test_the_line_to_copy_is_quoted_for_a_shell() -> None:
    text = Structure(page([copy("http://b.example/?a=1&b='x'", "http://a.example/", 40)])).text
    assert "scrapy simhash explain" not in text  # the log has no texts: the pair is folded
    lines = [line(text="one"), copy("http://b.example/?a=1&b=$(x)", "http://a.example/", 40)]
    text = Structure(page([lines[0], replace(lines[1], text="two")])).text
    assert "scrapy simhash explain 'http://b.example/?a=1&b=$(x)' --log dedup.jsonl" in text


def test_walls_have_one_text_and_templates_many() -> None:
    wall, template = "http://a.example/login", "http://a.example/manual"
    lines = [line(url=wall, text="Please log in."), line(url=template, text="A manual page")]
    lines += [copy(f"http://a.example/w{n}", wall, text="Please log in.") for n in range(12)]
    lines += [copy(f"http://a.example/m{n}", template, 20, text=f"page {n}") for n in range(12)]
    html = page(lines)
    doubtful = html.split("Big clusters of one template")[1].split('<section id="sample"')[0]
    walls = html.split('<section id="walls"')[1].split("</section>")[0]
    assert template in doubtful
    assert wall not in doubtful
    assert wall in walls
    assert template not in walls


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
    same, without = "that the log has are the same", "does not have the texts of both"
    for kept, repeated, here in (("A", "A", same), ("A", "", without), ("", "A", without)):
        far = copy("http://b.example/", original, 40, text=repeated)
        text = Structure(page([line(url=original, text=kept), far])).text
        assert [said for said in (same, without) if said in text] == [here]


def test_dry_run_is_said() -> None:
    flagged = copy("http://b.example/", "http://a.example/", action="flag")
    assert "Dry run:" in page([flagged])
    assert "Dry run:" not in page([copy("http://b.example/", "http://a.example/")])


def test_lines_that_could_not_be_read_are_said() -> None:
    figures = Figures(unreadable=1)
    figures.add(line())
    figures.add_again([line()])
    assert "1 line of the log could not be read" in render(figures, "log")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_make_a_sound_page(before: str, after: str) -> None:
    original = "http://a.example/"
    far = copy("http://b.example/", original, 40, text=after)
    Structure(page([line(url=original, text=before), far]))


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
    assert [size(1), count(1, "host"), count(2, "day"), count(3, "entry")] == [
        "1 byte", "1 host", "2 days", "3 entries"
    ]  # fmt: skip


def test_only_web_addresses_are_links() -> None:
    far = [copy(url, "key", 40) for url in ("javascript:alert(1)", "http://[", "http://b.example/")]
    for each in far:
        links = [a["href"] for tag, a in Structure(page([each])).elements if tag == "a"]
        assert ("http://b.example/" in links) == (each.url == "http://b.example/")
        assert all(str(link).startswith(("#", "http://b.")) for link in links)


def luminance(colour: tuple[float, ...]) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = [c / 255 for c in colour]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
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
    for text, ground in product(("ink", "soft", "link"), ("ground", "raised")):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for ground in ("del", "ins"):
        assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
    for bar in ("kept", "repeated", "skipped"):
        assert contrast(colours[bar], colours["ground"]) >= 3, bar


def test_a_crawl_that_only_watches_is_not_said_to_have_spared_an_address() -> None:
    fits = "a.example/item/*?v=*"
    text = Structure(
        page([copy("http://a.example/1?v=1", "http://a.example/1", pattern=fits)])
    ).text
    assert "1 sent all the same, 0 kept" in text
    assert "0 spared" not in text
