from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.learner import Forecast, Learner
from scrapy_simhash.url_patterns.places import MOST_PLACES
from scrapy_simhash.url_patterns.rows import MOST_ROWS, Row

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


def test_addresses_whose_like_were_copies_are_spared() -> None:
    learner = Learner()
    assert spared(learner, map(old, range(10))) == 0
    learn_old_versions(learner)
    assert spared(learner, map(old, range(1000, 2000))) > 850
    assert spared(learner, map(article, range(1000, 2000))) == 0


@pytest.mark.parametrize("place", ["/old?id={}", "/a/b/c/d/e/f/g/h/i/j/{}?view=print"])
def test_a_share_is_fetched_all_the_same(place: str) -> None:
    """Also of addresses that differ where no part is learned: a wall may have gone."""
    learner = Learner()
    for n in range(1000):
        fetch(learner, SITE + place.format(n), f"{SITE}/login")
    later = [SITE + place.format(n) for n in range(5000, 6000)]
    assert 20 <= 1000 - spared(learner, later) <= 100


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


def test_what_a_path_names_needs_more_evidence() -> None:
    learner = Learner()
    for n in range(60):
        fetch(learner, f"http://b.test/docs/page{n}.html", f"http://a.test/docs/page{n}.html")
    assert spared(learner, (f"http://b.test/docs/page{n}.html" for n in range(100, 300))) == 0


def test_marks_decide_whatever_the_counts_say() -> None:
    learner = Learner()
    learn_old_versions(learner)
    signature = learner.forecast(old(1)).signature
    table = learner.table.of("wiki.test")
    table.read({signature: Row(mark="forbidden")})
    assert spared(learner, map(old, range(1000, 1200))) == 0
    table.read({signature: Row(mark="pinned")})
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
    assert spared(learner, (f"{SITE}/b?id={n}" for n in range(1000, 1200))) > 150
    assert spared(learner, (f"{SITE}/a?title=Story_{n}" for n in range(1000, 1200))) == 0


def test_one_page_behind_many_addresses_names_none_of_them() -> None:
    """The log-in form of a wiki came first with another combination of parameters."""
    learner = Learner()
    login = f"{SITE}/index.php?title=Login&returnto={{}}"
    first = login.format("Main") + "&why=edit"
    fetch(learner, first)
    for n in range(40):
        fetch(learner, login.format(f"Story_{n}") + "&why=edit", first)
    for n in range(40):
        fetch(learner, login.format(f"Story_{n}"), first)
    assert spared(learner, (login.format(f"Story_{n}") for n in range(1000, 1200))) > 150


def test_an_address_may_wait_as_soon_as_its_like_are_copies_as_often_as_not() -> None:
    learner = Learner()
    for n in range(10):
        fetch(learner, old(n))
    assert not learner.forecast(old(50)).may_wait
    for n in range(10, 20):
        fetch(learner, old(n), article(n))
    assert learner.forecast(old(50)).may_wait
    fetch(learner, old(20))
    assert not learner.forecast(old(50)).may_wait


def test_a_repeated_parameter_names_no_other_kind_of_page() -> None:
    learner = Learner()
    forecasts = [learner.forecast(f"{SITE}/list?f=red{more}") for more in ("", "&f=red")]
    assert forecasts[0].signature == forecasts[1].signature


def test_addresses_of_many_parameters_stay_within_bounds() -> None:
    """Each has its own names; a host that makes them up takes neither memory nor time."""
    learner = Learner()
    for n in range(1500):
        names = [f"n{n}x{at}=v{n}y{at}" for at in range(10)]
        fetch(learner, f"http://{n % 7}.test/page?{'&'.join(names)}", f"{SITE}/page")
    assert sum(len(table) for _, table in learner.table) <= 1.1 * REMEMBERED
    assert max(len(table) for _, table in learner.table) <= MOST_PLACES + 2 * MOST_ROWS
