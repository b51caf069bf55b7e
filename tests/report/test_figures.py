"""The figures of a log: they are those of its lines, in bounded memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report import patterns
from scrapy_simhash.report.dedup_log import (
    CrawlStart,
    LogLine,
    SparedLine,
    to_json,
)
from scrapy_simhash.report.figures import Figures
from tests.report.lines import copy, figures_of, line, write

HOSTS = [f"host{number}.example" for number in range(4)]
URLS = st.builds("http://{}/{}".format, st.sampled_from(HOSTS), st.integers(0, 9))
LINES = st.lists(
    st.one_of(
        st.builds(lambda url, size: line(url=url, bytes=size), URLS, st.integers(0, 10**6)),
        st.builds(lambda url: line(url=url, verdict="revisit"), URLS),
        st.builds(
            lambda url, reason: line(url=url, verdict="skipped", reason=reason),
            URLS,
            st.sampled_from(["status", "other_type"]),
        ),
        st.builds(
            lambda url, original, distance, time: copy(url, original, distance, time=time),
            URLS,
            URLS,
            st.integers(0, 48),
            st.integers(1_800_000_000, 1_800_100_000),
        ),
    ),
    max_size=60,
)


@given(LINES)
def test_figures_are_those_of_the_lines(tmp_path_factory: Any, lines: list[LogLine]) -> None:
    path = write(tmp_path_factory.mktemp("log") / "log", lines)
    figures = figures_of(path)
    copies = [each for each in lines if each.verdict == "duplicate"]
    assert figures.judged == len(lines)
    assert figures.counts == Counter(each.verdict for each in lines)
    assert figures.actions == ({"drop": len(copies)} if copies else {})
    assert figures.reasons == Counter(each.reason for each in lines if each.reason)
    for host, (judged, _, others, _, _, size, _, seconds) in figures.hosts.largest():
        own = [each for each in lines if each.host == host]
        repeated = [each for each in own if each.verdict == "duplicate"]
        assert (judged, others) == (len(own), len(repeated))
        assert size == sum(each.bytes or 0 for each in repeated)
        assert seconds == sum(each.seconds or 0 for each in repeated)
    pairs = Counter((each.host, str(each.original).split("/")[2]) for each in copies)
    assert {pair: pages for pair, (pages,) in figures.pairs.largest()} == pairs
    originals = Counter(each.original for each in copies)
    assert len(figures.clusters) == min(20, len(originals))
    for cluster in figures.clusters:
        own = [each.distance for each in copies if each.original == cluster.key]
        assert cluster.copies == len(own)
        assert cluster.farthest == max(own)
    bars = figures.stretches.values()
    assert len(bars) <= 24
    sums = [sum(column) for column in zip(*bars, strict=True)] if bars else [0, 0, 0]
    skipped = sum(each.verdict == "skipped" for each in lines)
    assert sums == [len(lines) - len(copies) - skipped, len(copies), skipped]


def test_walls_are_originals_with_many_copies_on_their_own_host(tmp_path: Path) -> None:
    wall, mirrored = "http://a.example/login", "http://a.example/story"
    lines = [line(url=wall, text="Please log in."), line(url=mirrored)]
    lines += [copy(f"http://a.example/{number}", wall) for number in range(12)]
    lines += [copy(f"http://b{number}.example/story", mirrored) for number in range(30)]
    figures = figures_of(write(tmp_path / "log", lines))
    assert [cluster.key for cluster in figures.walls] == [wall]
    assert figures.walls[0].text == "Please log in."
    assert [cluster.key for cluster in figures.clusters] == [mirrored, wall]


def test_copies_that_differ_stand_for_their_cluster_once_for_each_text(tmp_path: Path) -> None:
    original = "http://a.example/"
    lines = [copy(f"http://b.example/{n}", original, n, text="The text") for n in range(5)]
    lines += [copy(f"http://c.example/{n}", original, 2, text="Another text") for n in range(3)]
    lines += [copy("http://d.example/", original, 1, text="A third text")]
    lines += [line(url=original, text="The text")]
    [cluster] = figures_of(write(tmp_path / "log", lines)).clusters
    assert [each.url for each in cluster.shown()] == ["http://c.example/0", "http://d.example/"]
    assert (cluster.copies, cluster.identical) == (9, 1)


def test_page_that_was_crawled_again_is_shown_once(tmp_path: Path) -> None:
    again = copy("http://b.example/", "http://a.example/", 3, text="text")
    [cluster] = figures_of(write(tmp_path / "log", [again, again])).clusters
    assert (cluster.copies, cluster.shown()) == (2, [again])


def test_doubtful_drops_are_far_or_have_other_headings_or_are_drawn(tmp_path: Path) -> None:
    first, second = "http://a.example/1", "http://a.example/2"
    lines = [
        line(url=first, text="one"),
        copy("http://b.example/near", first, 32),
        copy("http://b.example/far", first, 33),
        copy("http://b.example/farther", first, 40),
        copy("http://b.example/other", second, 3, reason="long-text"),
        copy("http://b.example/alike", second, 3, reason="like-headings"),
    ]
    figures = figures_of(write(tmp_path / "log", lines))
    assert [(other, each.url) for other, each in figures.far.lines()] == [
        (first, "http://b.example/farther")
    ]
    assert [each.url for _, each in figures.unlike.lines()] == ["http://b.example/other"]
    assert figures.doubtful == 3
    assert {url for url, _ in figures.sample.lines()} == {each.url for each in lines[1:]}
    assert {key: page.text for key, page in figures.pages.items()} == {first: "one"}


def test_each_drop_is_as_likely_as_any_other_to_be_in_the_sample(tmp_path: Path) -> None:
    sampled: Counter[int] = Counter()
    for number in range(20):
        lines = [
            copy(f"http://b.example/{number}{each:02}", f"http://a.example/{each // 80}")
            for each in range(90)
        ]
        drawn = figures_of(write(tmp_path / str(number), lines)).sample.lines()
        assert len(drawn) == 30
        sampled.update(int(line.url[-2:]) // 80 for _, line in drawn)
    assert 40 < sampled[1] < 95  # a ninth of 600


def test_rows_are_all_drops_the_farthest_first(tmp_path: Path) -> None:
    lines = [
        copy(f"http://b.example/{n}", "http://a.example/", n % 40, text="x") for n in range(200)
    ]
    rows = [line for _, line in figures_of(write(tmp_path / "log", lines)).rows.lines()]
    assert len(rows) == 200
    assert [row.distance for row in rows] == sorted((n % 40 for n in range(200)), reverse=True)
    assert {row.text for row in rows} == {""}


def test_pages_kept_though_they_are_near_are_told_nearest_first(tmp_path: Path) -> None:
    lines = [
        line(url=f"http://a.example/{bits}", near=f"http://n.example/{bits}", distance=bits,
             reason="other-heading")
        for bits in (20, 3, 40)
    ]  # fmt: skip
    figures = figures_of(write(tmp_path / "log", lines))
    assert figures.near == 3
    assert [each.distance for _, each in figures.told_apart.lines()] == [3, 20, 40]


def test_crawls_that_wrote_the_log_are_named(tmp_path: Path) -> None:
    begun = CrawlStart(1.0, "news", {"SIMHASH_RECIPE": "default", "SIMHASH_DISTANCE": 48})
    path = tmp_path / "log"
    path.write_text(to_json(begun) + "\n" + to_json(line()) + "\n")
    figures = figures_of(path)
    assert (figures.starts, figures.judged, figures.unreadable) == ([begun], 1, 0)


def test_patterns_whose_pages_were_kept_come_first(tmp_path: Path) -> None:
    fits, address = "a.example/?old=*", "http://a.example/?old="
    lines = [
        line(url="http://a.example/"),
        copy("http://a.example/print", "http://a.example/", bytes=300),
        *(SparedLine(2.0, f"{address}{n}", "a.example", "/?old=*") for n in range(3)),
        *(SparedLine(2.0, f"http://b.example/{n}", "b.example", "/*") for n in range(9)),
        copy(f"{address}7", "http://a.example/", pattern=fits, bytes=500),
        copy(f"{address}8", "http://a.example/", pattern=fits, bytes=700),
        line(url=f"{address}9", pattern=fits),
        line(url=f"{address}6", verdict="skipped", reason="timeout", pattern=fits),
    ]
    figures = figures_of(write(tmp_path / "log", lines))
    [(first, pattern), (second, other)] = patterns.first_of(figures.patterns, 5)
    assert (first, second) == (fits, "b.example/*")
    assert (pattern.spared, pattern.copies, pattern.kept) == (3, 2, 1)
    assert (pattern.example, pattern.kept_example) == (f"{address}0", f"{address}9")
    assert (other.spared, other.copies, other.kept) == (9, 0, 0)
    # The pattern's own copies have 600 bytes; without any, all copies together tell.
    assert (pattern.spared_bytes(500), other.spared_bytes(500)) == (3 * 600, 9 * 500)


def test_original_of_a_post_request_is_on_its_host(tmp_path: Path) -> None:
    lines = [copy("http://a.example/q", "POST 0123456789abcdef http://b.example/q")]
    figures = figures_of(write(tmp_path / "log", lines))
    assert [pair for pair, _ in figures.pairs.largest(9)] == [("a.example", "b.example")]


def test_memory_does_not_grow_with_what_the_log_names() -> None:
    figures = Figures()
    for table in (figures.hosts, figures.originals, figures.pairs):
        table._names = 50
    for number in range(1000):
        figures.add(line(url=f"http://{number}.example/", verdict="revisit"))
        figures.add(copy(f"http://{number}.example/", f"http://o{number}.example/", 40))
    for table in (figures.hosts, figures.originals, figures.pairs):
        assert len(table._rows) <= 200
    assert len(figures.far._lines) <= 240
    assert figures.hosts.rest(0)[1][0] == 2000


@given(st.lists(st.integers(0, 4 * 10**9), min_size=1, max_size=80))
def test_times_are_counted_in_at_most_24_stretches(times: list[int]) -> None:
    figures = Figures()
    lines = [line(time=time) for time in times]
    for each in lines:
        figures.add(each)
    figures.add_again(lines)
    assert set(figures.stretches) <= set(range(24))
    for number, counts in figures.stretches.items():
        begin = figures.first + number * figures.stretch
        inside = sum(begin <= time < begin + figures.stretch for time in times)
        assert counts == [inside, 0, 0]
    assert sum(sum(counts) for counts in figures.stretches.values()) == len(times)
