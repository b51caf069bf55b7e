import random
from collections.abc import Callable

import pytest

from scrapy_simhash.url_patterns.learner import Forecast, Learner, Visit
from scrapy_simhash.url_patterns.rows import MOST_ROWS, Row
from scrapy_simhash.url_patterns.table import MOST_PLACES

SITE = "http://wiki.test"
ARTICLE = f"{SITE}/wiki/Story_{{}}".format
OLD = f"{SITE}/index.php?oldid={{0}}&title=Story_{{0}}".format


def fetch(learner: Learner, url: str, original: str = "", **more: bool) -> Forecast:
    """Fetch a page, or spare it, as a crawl does."""
    forecast = learner.forecast(url)
    if forecast.spared:
        learner.spare(forecast)
    else:
        learner.record(forecast, Visit(url, original, size=1000, **more))
    return forecast


def learn_old_versions(learner: Learner, number: int = 100) -> None:
    for n in range(number):
        fetch(learner, ARTICLE(n))
        fetch(learner, OLD(n), ARTICLE(n))


def spared(learner: Learner, url: Callable[[int], str]) -> float:
    """Return the share that is spared of 200 addresses that the crawl has not met."""
    return sum(learner.forecast(url(n)).spared for n in range(5000, 5200)) / 200


EDIT = f"{SITE}/edit?title=Story_{{}}".format
NEW = f"{EDIT('{}')}&redlink=1".format
PAGE, MIRRORED = (f"http://{host}.test/docs/page{{}}.html".format for host in "ab")
COMMIT = f"{SITE}/git?h={{:016x}}abc".format


@pytest.mark.parametrize(
    ("number", "first", "second", "are_sure", "are_spared"),
    [
        (100, ARTICLE, OLD, True, True),
        # Links lead to the first address, and the better one may be linked by the page alone.
        (60, NEW, EDIT, True, True),
        # The original may have a key that is no address.
        (100, "urn:story:{}".format, OLD, True, True),
        # What a path names needs more evidence.
        (100, PAGE, MIRRORED, True, True),
        (60, PAGE, MIRRORED, True, False),
        # Pages near more pages than can be compared with them may be copies by chance.
        (100, PAGE, MIRRORED, False, False),
        (100, PAGE, OLD, False, False),
        # A hash tells nothing of others.
        (200, lambda _: f"{SITE}/git", COMMIT, True, False),
    ],
)
def test_addresses_whose_like_were_copies_are_spared(number, first, second, are_sure, are_spared):
    learner = Learner()
    assert spared(learner, second) == 0
    for n in range(number):
        fetch(learner, first(n))
        fetch(learner, second(n), first(n), is_sure=are_sure)
    share = spared(learner, second)
    assert share > 0.7 if are_spared else share == 0
    assert spared(learner, first) == 0


@pytest.mark.parametrize("place", ["/old?id={}", "/a/b/c/d/e/f/g/h/i/j/k/l/{}?view=print"])
def test_a_share_is_fetched_all_the_same(place):
    """Also of addresses that differ where no part is learned: a wall may have gone."""
    learner, url = Learner(), (SITE + place).format
    for n in range(1000):
        fetch(learner, url(n), f"{SITE}/login")
    assert 0.85 <= spared(learner, url) <= 0.99


def test_a_wrong_forecast_ends_its_pattern_at_once():
    learner = Learner()
    learn_old_versions(learner)
    fetch(learner, next(OLD(n) for n in range(1000, 2000) if not learner.forecast(OLD(n)).spared))
    assert learner.estimate.wrong == 1
    assert spared(learner, OLD) == 0


def test_a_distinct_page_of_the_sample_is_no_loss_if_its_other_address_is_always_fetched():
    learner = Learner()
    learn_old_versions(learner)
    forecasts = [learner.forecast(OLD(n)) for n in range(1000, 2000)]
    first, second = [each for each in forecasts if not each.spared][:2]
    fetched = learner.estimate.fetched
    learner.record(first, Visit(first.url))
    learner.record(second, Visit(second.url, first.url))
    assert learner.estimate.lost > 1
    assert (learner.estimate.fetched, learner.estimate.wrong) == (fetched + 2, 1)
    for number in (1, 2):
        fetch(learner, ARTICLE(-number), first.url)
    assert (learner.estimate.lost, learner.estimate.wrong) == (0, 0)
    assert learner.table.place(first.url).row.wrong == 0


def test_of_two_addresses_of_a_page_never_both_are_spared():
    for often in (0.02, 0.3, 0.5, 0.7, 0.98):
        chance, learner = random.Random(5), Learner()
        for n in range(600):
            first, second = OLD(n), ARTICLE(n)
            if chance.random() > often:
                first, second = second, first
            is_spared = fetch(learner, first).spared
            fetch(learner, second, "" if is_spared else first)
        assert not (spared(learner, OLD) and spared(learner, ARTICLE))


@pytest.mark.parametrize(
    ("topic", "post"), [("/topic/{}/", "/topic/{}/?post={}"), ("/view.php?t={}", "/view.php?p={1}")]
)
def test_links_of_posts_are_spared_though_each_topic_came_by_one_of_them(topic, post):
    """Topics that were spared, because they were the copies at first, are fetched in the end."""
    learner, url_of, post_of = Learner(), (SITE + topic).format, (SITE + post).format
    late = []
    for n in range(60):
        fetch(learner, post_of(n, 10 * n))
        if fetch(learner, url_of(n), post_of(n, 10 * n)).spared:
            late.append(n)
    for n in range(60):
        for number in range(10 * n + 1, 10 * n + 9):
            fetch(learner, post_of(n, number), post_of(n, 10 * n))
    for n in late:
        fetch(learner, url_of(n), post_of(n, 10 * n))
    assert spared(learner, lambda n: post_of(n, 10 * n + 3)) > 0.7
    assert spared(learner, url_of) == 0


def test_the_address_that_pages_declare_stands_though_it_is_no_better_otherwise():
    learner = Learner()
    by_title, by_number = f"{SITE}/a?title=Story_{{}}".format, f"{SITE}/b?id={{}}".format
    for n in range(120):
        first, second = by_number(n), by_title(n)
        if n % 2:
            first, second = second, first
        is_spared = fetch(learner, first).spared
        original = "" if is_spared else first
        fetch(learner, second, original, is_canonical=second == by_title(n) and not is_spared)
    assert spared(learner, by_number) > 0.7
    assert spared(learner, by_title) == 0


def test_a_pattern_has_at_most_one_distinct_page_of_twenty():
    bounds = [Learner().bound("a.test/?b=*", Row(100, 100, distinct=n)) for n in (5, 6)]
    assert bounds[0] > 0.8
    assert bounds[1] == 0


def test_what_is_no_address_is_fetched_and_teaches_nothing():
    learner = Learner()
    for _ in range(20):
        assert fetch(learner, "data:,x", ARTICLE(1)) == Forecast("data:,x")
    assert not [*learner.table]


def test_an_address_waits_once_and_one_to_be_spared_twice():
    kinds = Forecast(SITE), Forecast(SITE, may_wait=True), Forecast(SITE, spared=True)
    places = [[kind.place_behind(place) for place in range(3)] for kind in kinds]
    assert places == [[0, 0, 0], [1, 1, 1], [1, 2, 2]]


def test_a_host_that_makes_up_places_keeps_the_patterns_that_were_shared(monkeypatch):
    monkeypatch.setattr("scrapy_simhash.url_patterns.table.MOST_PLACES", 50)
    learner = Learner()
    learn_old_versions(learner)
    learner.table.of("wiki.test").take()
    for n in range(200):
        fetch(learner, f"{SITE}/made-up?n{n}=a&m{n}=b")
    assert spared(learner, OLD) > 0.7


def test_addresses_of_many_parameters_stay_within_bounds():
    """Each has its own names; a host that makes them up takes neither memory nor time."""
    learner = Learner()
    for n in range(1500):
        names = [f"n{n}x{at}=v{n}y{at}" for at in range(10)]
        fetch(learner, f"http://{n % 7}.test/page?{'&'.join(names)}", f"{SITE}/page")
    assert max(len(table) for _, table in learner.table) <= MOST_PLACES + 2 * MOST_ROWS
