"""Estimates from a few answers hold what they promise."""

from __future__ import annotations

import random

from scrapy_simhash.core.analysis import Body, PageAnalysis
from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.offline.pages import SavedPage
from scrapy_simhash.offline.tuning import Pair, copies, draw, estimate, suggest
from scrapy_simhash.rule.facts import facts_of


def pages(
    values: list[int], facts: bytes = b"", bits: int = 64
) -> list[tuple[SavedPage, PageAnalysis]]:
    return [
        (
            SavedPage(str(value), str(value), Body(b"")),
            PageAnalysis(Fingerprint(value, bits), facts),
        )
        for value in values
    ]


def test_pairs_count_from_the_k_with_which_the_rule_calls_them_copies() -> None:
    facts = facts_of(Extraction("A text of the page.", title="A page"), named_recipe("default"))
    near = [((0, 1), 4)]
    assert [copies(pages([0, 0b1111], facts, 256), near, k) for k in (3, 4)] == [[], near]


def made(near: int, far: int) -> tuple[list[Pair], dict[tuple[int, int], bool]]:
    """So many true pairs at distance 2, and so many false ones at distance 30."""
    pairs = [((n, n + 1), 2) for n in range(0, 2 * near, 2)]
    pairs += [((n, n + 1), 30) for n in range(10_000, 10_000 + 2 * far, 2)]
    return pairs, {pair: distance == 2 for pair, distance in pairs}


def within(pairs: list[Pair], k: int) -> list[Pair]:
    return [pair for pair in pairs if pair[1] <= k]


def test_estimate_weighs_answers_by_the_pairs_they_stand_for() -> None:
    pairs, truth = made(900, 100)
    answers = {pair: truth[pair] for pair, _ in draw(pairs, 20)}
    assert len(answers) == 40
    every = estimate(pairs, answers, 30)
    assert every.low < 0.9 < every.high
    assert every.pairs == 1000
    assert estimate(within(pairs, 10), answers, 10).low > 0.85


def test_estimate_is_sure_of_more_with_more_answers() -> None:
    pairs, truth = made(500, 500)
    widths = []
    for each in (5, 50, 500):
        drawn = {pair: truth[pair] for pair, _ in draw(pairs, each)}
        one = estimate(pairs, drawn, 30)
        widths.append(one.high - one.low)
    assert widths == sorted(widths, reverse=True)


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(1)
    held = 0
    for _ in range(60):
        pairs = [((n, n + 1), n % 40) for n in range(1000)]
        pairs.sort(key=lambda pair: pair[1])
        truth = {pair: chance.random() < 1 - distance / 60 for pair, distance in pairs}
        drawn = draw(pairs, 12, seed=chance.randrange(10**6))
        answers = {pair: truth[pair] for pair, _ in drawn}
        one = estimate(pairs, answers, 39)
        held += one.low <= sum(truth.values()) / len(truth) <= one.high
    assert held >= 46  # 54 are expected; fewer than 46 come by chance once in a thousand


def test_suggestion_is_the_widest_that_is_surely_right() -> None:
    pairs, truth = made(300, 300)
    estimates = [estimate(within(pairs, k), truth, k) for k in (1, 2, 30)]
    best = suggest(estimates, 0.95)
    assert best is not None
    assert best.distance == 2
    assert best.low >= 0.95
    assert suggest([estimate(within(pairs, 2), {}, 2)], 0.5) is None


def test_few_pairs_are_sure_of_nothing_though_each_of_them_is_right() -> None:
    """The setting is for the pages to come, of which these few tell little."""
    few, truth = made(5, 0)
    assert suggest([estimate(few, truth, 2)], 0.95) is None
    many, truth = made(100, 0)
    assert suggest([estimate(many, truth, 2)], 0.95) is not None


def test_draw_takes_the_nearest_first_and_repeats_itself() -> None:
    pairs, _ = made(50, 50)
    drawn = draw(pairs, 5)
    assert [distance for _, distance in drawn] == [2] * 5 + [30] * 5
    assert drawn == draw(pairs, 5)
    assert drawn != draw(pairs, 5, seed=1)


def test_no_pair_within_the_distance_gives_no_precision() -> None:
    assert estimate([], {}, 10).pairs == 0
