"""A replay tells what skipping does to the same pages in its own order."""

import random

from scrapy_simhash.url_patterns.learner import Learner, Visit
from scrapy_simhash.url_patterns.replay import Replay

SITE = "http://board.test"


def replayed(*visits: tuple[str, Visit]) -> tuple[Replay, Learner]:
    replay = Replay()
    learner = Learner()
    for url, visit in visits:
        replay.note(url, visit)
    replay.run(learner)
    return replay, learner


def test_the_pages_of_a_board_are_spared_as_if_topics_had_come_first():
    """Its lists link a topic after its last post, depth first."""
    visits = []
    for topic in range(60):
        first, *posts = [f"{SITE}/topic/{topic}/?post={topic}{post}" for post in range(8)]
        visits.append((first, Visit(first, size=100)))
        urls = [f"{SITE}/topic/{topic}/", *posts]
        visits += [(url, Visit(url, first, size=100)) for url in urls]
    spared, learner = replayed(*visits)
    assert 0.6 * 60 * 8 < spared.pages < 60 * 8
    assert (spared.bytes, spared.losses) == (100 * spared.pages, 0)
    assert learner.forecast(f"{SITE}/topic/70/?post=701").bound
    assert not learner.forecast(f"{SITE}/topic/70/").bound


def test_a_distinct_page_among_copies_is_lost_once():
    chance = random.Random(3)
    visits, distinct = [], 0
    for n in range(3000):
        original = "" if chance.random() < 0.02 else f"{SITE}/story/{n}"
        url = f"{SITE}/index.php?oldid={n}&title=Story_{n}"
        visits.append((url, Visit(url, original)))
        distinct += not original
    spared, _ = replayed(*visits)
    assert 0 < spared.losses < distinct
    others = [
        (f"{SITE}/story/{n}", Visit(f"{SITE}/story/{n}", visit.key))
        for n, (_, visit) in enumerate(visits)
        if not visit.original
    ]
    assert replayed(*visits, *others)[0].losses == 0


def test_the_pages_of_another_crawl_stay_the_originals_of_their_copies():
    urls = [f"{SITE}/show?id={n}&view=print" for n in range(200)]
    spared, _ = replayed(*((url, Visit(url, f"{SITE}/{n}")) for n, url in enumerate(urls)))
    assert spared.pages > 100
    assert spared.losses == 0
