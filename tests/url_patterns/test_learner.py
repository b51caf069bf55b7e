from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.testing.made import spec
from scrapy_simhash.url_patterns import open_patterns, table
from scrapy_simhash.url_patterns.address import read_signature
from scrapy_simhash.url_patterns.learner import Forecast, Learner
from scrapy_simhash.url_patterns.store import Counts, PatternStore, Tally
from scrapy_simhash.url_patterns.table import PatternTable

SITE = "http://wiki.test"


def fetch(
    learner: Learner, url: str, original: str | None = None, *, watch: bool = False
) -> Forecast:
    """Fetch a page, or spare it, as a crawl does."""
    forecast = learner.forecast(url)
    if forecast.spared:
        learner.spare(forecast)
    if watch or not forecast.spared:
        learner.record(forecast, key=url, original=original, size=1000)
    return forecast


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PatternStore]:
    url = f"sqlite:///{tmp_path}/index.sqlite"
    open_index(url, spec()).close()
    with closing(open_patterns(url)) as store:
        yield store


def article(n: int) -> str:
    return f"{SITE}/wiki/Story_{n}"


def old(n: int) -> str:
    return f"{SITE}/index.php?oldid={n}&title=Story_{n}"


def learn_old_versions(learner: Learner, number: int = 100) -> None:
    for n in range(number):
        fetch(learner, article(n))
        fetch(learner, old(n), article(n))


def spared(learner: Learner, urls: Iterable[str]) -> int:
    return sum(learner.forecast(url).spared for url in urls)


def test_nothing_is_spared_before_anything_is_known() -> None:
    assert not Learner().forecast(old(1)).spared


def test_addresses_whose_like_were_copies_are_spared() -> None:
    learner = Learner()
    learn_old_versions(learner)
    assert spared(learner, map(old, range(1000, 2000))) > 850
    assert spared(learner, map(article, range(1000, 2000))) == 0


def test_a_share_is_fetched_all_the_same() -> None:
    learner = Learner()
    learn_old_versions(learner, 1000)
    assert 20 <= 1000 - spared(learner, map(old, range(5000, 6000))) <= 100


def test_a_draw_is_the_same_for_every_crawler() -> None:
    one, other = Learner(), Learner()
    learn_old_versions(one)
    learn_old_versions(other)
    for n in range(5000, 5100):
        assert one.forecast(old(n)) == other.forecast(old(n))


def test_all_ways_of_writing_an_address_are_drawn_alike() -> None:
    learner = Learner()
    for n in range(100):
        fetch(learner, f"{SITE}/index.php?action=edit&title=Talk:{n}x", article(n))
    for n in range(1000, 1200):
        ways = [f"?action=edit&title=Talk:{n}x", f"?title=Talk%3A{n}x&action=edit#top"]
        one, other = (learner.forecast(f"{SITE}/index.php{way}") for way in ways)
        assert one[1:] == other[1:]


@pytest.mark.parametrize(
    "place",
    ["/go?to=http://other.test/{}", "/a/b/c/d/e/f/g/h/i/j/{}?view=print", "/page;{}?view=print"],
)
def test_a_share_is_fetched_also_of_addresses_that_differ_where_no_part_is_learned(
    place: str,
) -> None:
    """Or no page behind a wall would tell that the wall has gone."""
    learner = Learner()
    for n in range(1000):
        fetch(learner, SITE + place.format(n), f"{SITE}/login")
    later = [SITE + place.format(n) for n in range(5000, 6000)]
    assert 20 <= 1000 - spared(learner, later) <= 100


def test_a_new_combination_starts_from_nothing() -> None:
    learner = Learner()
    learn_old_versions(learner)
    urls = [f"{old(n)}&action=edit" for n in range(1000, 1200)]
    urls += [f"{SITE}/other.php?oldid={n}&title=Story_{n}" for n in range(1000, 1200)]
    assert spared(learner, urls) == 0


def test_a_wrong_forecast_ends_its_pattern_at_once() -> None:
    learner = Learner()
    learn_old_versions(learner)
    fetched = next(n for n in range(1000, 2000) if not learner.forecast(old(n)).spared)
    fetch(learner, old(fetched))
    assert learner.estimate.wrong == 1
    assert spared(learner, map(old, range(2000, 2200))) == 0


def test_of_two_addresses_of_a_page_never_both_are_spared() -> None:
    for often in (0.02, 0.3, 0.5, 0.7, 0.98):
        chance, learner = random.Random(5), Learner()
        for n in range(600):
            first, second = (
                (old(n), article(n)) if chance.random() < often else (article(n), old(n))
            )
            if not fetch(learner, first).spared:
                fetch(learner, second, first)
            else:
                fetch(learner, second)
        later = range(1000, 1200)
        assert not (spared(learner, map(old, later)) and spared(learner, map(article, later)))


def test_copies_in_half_of_the_cases_make_no_pattern() -> None:
    learner = Learner()
    for n in range(200):
        fetch(learner, old(n), article(n) if n % 2 else None)
    assert spared(learner, map(old, range(1000, 1200))) == 0


def test_versions_of_one_file_tell_nothing_about_another() -> None:
    learner = Learner()

    def version(file: str, commit: int) -> str:
        return f"http://git.test/w?a=blob;f={file};h={commit:040x}abc"

    for n in range(20):
        fetch(learner, f"http://git.test/w?a=tree;f=file{n};h={n:040x}abc")
    for n in range(200):
        fetch(learner, version("file1", n), version("file1", 0) if n else None)
    assert spared(learner, (version(f"file{n}", 7) for n in range(30, 200))) == 0


@pytest.mark.parametrize("is_sure", [True, False])
def test_copies_that_were_found_by_chance_are_no_evidence(is_sure: bool) -> None:
    """Where a page is near more pages than can be compared with it, its like may be distinct."""
    learner = Learner()
    for n in range(100):
        fetch(learner, f"http://a.test/page{n}.html")
        for url in (old(n), f"http://b.test/page{n}.html"):
            forecast = learner.forecast(url)
            learner.record(
                forecast, key=url, original=f"http://a.test/page{n}.html", is_sure=is_sure
            )
    later = [f"http://b.test/new{n}.html" for n in range(200)]
    assert (spared(learner, map(old, range(1000, 1200))) > 150) is is_sure
    assert (spared(learner, later) > 100) is is_sure


def test_hashes_are_no_evidence() -> None:
    learner = Learner()

    def tree(commit: int) -> str:
        return f"http://git.test/w?a=tree;h={commit:040x}abc;hb={commit:039x}abcd"

    for n in range(300):
        fetch(learner, tree(n), tree(n - n % 50) if n % 50 else None)
    assert spared(learner, map(tree, range(1000, 1200))) == 0


def test_what_a_path_names_needs_more_evidence() -> None:
    learner = Learner()
    for n in range(60):
        fetch(learner, f"http://b.test/docs/page{n}.html", f"http://a.test/docs/page{n}.html")
    assert spared(learner, (f"http://b.test/docs/page{n}.html" for n in range(100, 300))) == 0


def test_marks_decide_whatever_the_counts_say() -> None:
    learner = Learner()
    learn_old_versions(learner)
    signature = learner.forecast(old(1)).signature
    learner.table.read([Tally("wiki.test", signature, Counts(100, 100), "forbidden")])
    assert spared(learner, map(old, range(1000, 1200))) == 0
    learner.table.read([Tally("wiki.test", signature, Counts(), "pinned")])
    assert spared(learner, map(old, range(1000, 1200))) > 150


def test_watching_says_what_sparing_would_do() -> None:
    chance = random.Random(3)
    order = [(n, chance.random() < 0.02) for n in range(3000)]
    watching, sparing = Learner(), Learner()
    lost = 0
    for n, distinct in order:
        original = None if distinct else article(n)
        fetch(watching, old(n), original, watch=True)
        lost += fetch(sparing, old(n), original).spared and distinct
    assert watching.estimate.spared == sparing.estimate.spared > 100
    assert watching.lost == lost > 0
    assert watching.estimate.at_most == sparing.estimate.at_most


def test_a_page_that_another_address_brings_is_not_lost() -> None:
    learner = Learner()
    learn_old_versions(learner)
    n = next(n for n in range(1000, 2000) if learner.forecast(old(n)).spared)
    fetch(learner, old(n), watch=True)
    assert learner.lost == 1
    fetch(learner, article(n), old(n), watch=True)
    assert learner.lost == 0


def test_a_better_address_that_comes_later_stands_for_a_page_that_watching_saw() -> None:
    learner = Learner()
    learn_old_versions(learner)
    for n in range(1000, 1100):
        if learner.forecast(old(n)).spared:
            fetch(learner, old(n), watch=True)
            fetch(learner, article(n), old(n), watch=True)
    learner.close()
    assert learner.lost == 0
    assert spared(learner, map(old, range(5000, 5200))) > 150


def learn_board(learner: Learner, topic: str, post: str, topics: int = 60) -> None:
    """Fetch the last post of each topic and the topic, then its other posts.

    Topics that were spared, because they were the copies at first, are fetched in the end.
    """
    late = []
    for n in range(topics):
        fetch(learner, SITE + post.format(n, 10 * n))
        if fetch(learner, SITE + topic.format(n), SITE + post.format(n, 10 * n)).spared:
            late.append(n)
    for n in range(topics):
        for number in range(10 * n + 1, 10 * n + 9):
            fetch(learner, SITE + post.format(n, number), SITE + post.format(n, 10 * n))
    for n in late:
        fetch(learner, SITE + topic.format(n), SITE + post.format(n, 10 * n))


@pytest.mark.parametrize(
    ("topic", "post"),
    [("/topic/{}/", "/topic/{}/?post={}"), ("/view.php?t={}", "/view.php?p={1}")],
)
def test_links_of_posts_are_spared_though_each_topic_came_by_one_of_them(
    topic: str, post: str
) -> None:
    learner = Learner()
    learn_board(learner, topic, post)
    posts = [SITE + post.format(n, 10 * n + 3) for n in range(1000, 1200)]
    assert spared(learner, posts) > 150
    assert spared(learner, (SITE + topic.format(n) for n in range(1000, 1200))) == 0


def test_what_names_pages_is_learned_for_earlier_pages_too() -> None:
    learner = Learner()
    for n in range(60):
        fetch(learner, f"{SITE}/topic/{n}/?post={n}")
        fetch(learner, f"{SITE}/topic/{n}/", f"{SITE}/topic/{n}/?post={n}")
    fetch(learner, f"{SITE}/topic/7/?post=1000", f"{SITE}/topic/7/?post=7")
    rows = {row.signature: row.counts for row in learner.table}
    assert rows["/topic/{number}/?post={number}"].distinct == 0
    assert rows["/topic/{number}/"].distinct == 60
    assert rows["/topic/{number}/"].duplicates == 0


def test_of_two_addresses_that_each_page_has_once_the_first_stands() -> None:
    """Links lead to it, and perhaps the better one is linked by the page itself only."""
    learner = Learner()
    for n in range(60):
        url = f"{SITE}/edit?title=Story_{n}"
        fetch(learner, f"{url}&redlink=1")
        fetch(learner, url, f"{url}&redlink=1")
    urls = [f"{SITE}/edit?title=Story_{n}" for n in range(1000, 1200)]
    assert spared(learner, urls) > 150
    assert spared(learner, (f"{url}&redlink=1" for url in urls)) == 0


def test_the_address_that_pages_declare_stands_though_it_is_no_better_otherwise() -> None:
    learner = Learner()
    for n in range(120):
        by_title, by_number = f"{SITE}/a?title=Story_{n}", f"{SITE}/b?id={n}"
        first, second = (by_title, by_number) if n % 2 else (by_number, by_title)
        is_canonical = second == by_title
        learner.record(learner.forecast(first), key=first)
        learner.record(
            learner.forecast(second), key=second, original=first, is_canonical=is_canonical
        )
    rows = {row.signature: row.counts for row in learner.table}
    assert rows["/b?id={number}"].distinct < rows["/a?title=*"].distinct


def test_what_watching_saw_is_learned_at_the_end() -> None:
    learner = Learner()
    learn_old_versions(learner)
    for url in map(old, range(1000, 1100)):
        if learner.forecast(url).spared:
            fetch(learner, url, watch=True)
    assert spared(learner, map(old, range(5000, 5200))) > 150
    learner.close()
    assert spared(learner, map(old, range(5000, 5200))) == 0


@pytest.mark.parametrize("crawlers", [2, 3])
def test_crawlers_that_share_a_store_see_the_same_patterns(
    crawlers: int, store: PatternStore
) -> None:
    learners = [Learner() for _ in range(crawlers)]
    since = [0] * crawlers
    for n in range(300):
        at = n % crawlers
        fetch(learners[at], old(n), article(n))
        if n % 7 == 0:
            since[at] = exchange(learners[at], store, since[at])
    for at, learner in enumerate(learners):
        exchange(learner, store, since[at])
    for learner in learners:
        exchange(learner, store, 0)
    urls = [old(n) for n in range(1000, 1200)] + [f"{SITE}/index.php?oldid={n}" for n in range(9)]
    forecasts = [[(f.signature, f.bound) for f in map(one.forecast, urls)] for one in learners]
    assert all(forecast == forecasts[0] for forecast in forecasts)


def test_a_second_crawler_spares_from_its_first_minute(store: PatternStore) -> None:
    first, second = Learner(), Learner()
    learn_old_versions(first)
    exchange(first, store, 0)
    exchange(second, store, 0)
    assert spared(second, map(old, range(1000, 1200))) > 150


def test_increments_that_could_not_be_sent_are_sent_later(store: PatternStore) -> None:
    learner = Learner()
    learn_old_versions(learner, 50)
    learner.table.put_back(learner.table.take_increments())
    learn_old_versions(learner, 100)
    exchange(learner, store, 0)
    total = sum(row.counts.duplicates + row.counts.distinct for row in store.changes()[0])
    assert total == sum(r.counts.duplicates + r.counts.distinct for r in learner.table)
    assert learner.table.take_increments() == []


def exchange(learner: Learner, store: PatternStore, since: int) -> int:
    store.add(learner.table.take_increments())
    rows, since = store.changes(since)
    learner.table.read(rows)
    return since


def grow(table: PatternTable, host: Callable[[int], str]) -> None:
    for n in range(2000):
        table.add(Tally(host(n), f"/{n}?a=*", Counts(1)))


def test_a_place_that_is_starred_costs_no_row_that_does_not_pass_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or a host with ever new parameters would hold the event loop for 0.1 seconds a page."""
    learner, read = Learner(), []
    monkeypatch.setattr(
        table, "read_signature", lambda row: read.append(row) or read_signature(row)
    )
    for n in range(300):
        fetch(learner, f"{SITE}/page?p{n}=1")
    for parameter in ("p1", "p7"):
        read.clear()
        for n in range(9):
            fetch(learner, f"{SITE}/page?{parameter}={n}")
    assert 0 < len(read) < 10


def test_the_rows_of_a_host_are_bounded() -> None:
    table = PatternTable(most_of_host=100)
    grow(table, lambda _: "a.test")
    assert len(list(table)) <= 100


def test_the_hosts_are_bounded() -> None:
    table = PatternTable(most_hosts=10, most=100)
    grow(table, lambda n: f"{n // 3}.test")
    assert len(list(table)) <= 30


@pytest.mark.parametrize("is_read", [False, True])
def test_the_rows_of_all_hosts_are_bounded_though_no_host_is_new(is_read: bool) -> None:
    table = PatternTable(most=100)
    for n in range(2000):
        row = Tally(f"{n % 10}.test", f"/?p{n}=*", Counts(1))
        table.read([row]) if is_read else table.add(row)
    assert 80 <= len(list(table)) <= 100


def test_increments_that_nobody_takes_are_bounded() -> None:
    table = PatternTable(most=100)
    grow(table, lambda _: "a.test")
    assert len(table.take_increments()) <= 100


def test_the_rows_with_the_most_pages_stay() -> None:
    table = PatternTable(most_of_host=100)
    table.add(Tally("a.test", "/kept?a=*", Counts(50)))
    grow(table, lambda _: "a.test")
    assert table.of("a.test").counts("/kept?a=*").duplicates == 50


def topics(learner: Learner, numbers: range, chance: random.Random) -> int:
    """Meet the last post of each topic, the topic and its other posts; return what was spared."""
    visits = [
        (8 * n + at + 200 * chance.random(), n, f"http://board.test/topic/{n}/{query}")
        for n in numbers
        for at, query in enumerate(["?post=9", "", *(f"?post={8 * n + at}" for at in range(6))])
    ]
    first: dict[int, str] = {}
    spared = 0
    for _, n, url in sorted(visits):
        forecast = learner.forecast(url)
        if forecast.spared:
            spared += 1
            continue
        learner.record(forecast, key=url, original=first.get(n), size=10)
        first.setdefault(n, url)
    return spared


def test_posts_are_spared_although_many_topics_come_after_their_posts() -> None:
    """Until the topics come, their posts do not count as distinct."""
    spared = sum(topics(Learner(), range(160), random.Random(seed)) for seed in range(5))
    assert spared > 2000


def test_a_signature_that_yields_is_no_pattern_when_its_pages_are_distinct() -> None:
    learner, url = Learner(), "http://board.test/topic/{}/?post={}".format
    topics(learner, range(160), random.Random(4))
    assert learner.forecast(url(500, 9000)).bound
    for n in range(200, 260):
        address = url(n, 9000 + n)
        learner.record(learner.forecast(address), key=address, size=10)
    assert not learner.forecast(url(500, 9000)).bound
