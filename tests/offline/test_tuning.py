"""Estimates from a few answers hold what they promise."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis.page import Body, PageAnalysis
from scrapy_simhash.fingerprint.facts import Facts
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.offline.pages import SavedPage
from scrapy_simhash.offline.tuning import Candidate, candidates, draw, estimate, suggest


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


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12), st.integers(0, 40))
def test_candidates_are_those_of_a_full_scan(values: list[int], farthest: int) -> None:
    found = candidates(pages(values), farthest)
    assert all(pair.least == pair.distance for pair in found)
    distances = [pair.distance for pair in found]
    assert distances == sorted(distances)
    assert sorted((*pair.documents, pair.distance) for pair in found) == [
        (i, j, hamming_distance(values[i], values[j]))
        for i in range(len(values))
        for j in range(i + 1, len(values))
        if hamming_distance(values[i], values[j]) <= farthest
    ]


def test_pairs_count_from_the_k_with_which_the_rule_calls_them_copies() -> None:
    # The rule wants two short texts of one host nearer: within half of k.
    facts = Facts(1, 2, 3, 4, 5, text_steps=40, page_steps=40, thin=False, backed=True).to_bytes()
    found = candidates(pages([0, 0b1111], facts, 256), 8)
    assert [(pair.distance, pair.least) for pair in found] == [(4, 8)]
    assert [estimate(found, {}, k).pairs for k in (7, 8)] == [0, 1]


def made(near: int, far: int) -> tuple[list[Candidate], dict[tuple[int, int], bool]]:
    """So many true pairs at distance 2, and so many false ones at distance 30."""
    pairs = [Candidate((n, n + 1), 2, 2) for n in range(0, 2 * near, 2)]
    pairs += [Candidate((n, n + 1), 30, 30) for n in range(10_000, 10_000 + 2 * far, 2)]
    return pairs, {p.documents: p.distance == 2 for p in pairs}


def test_estimate_weighs_answers_by_the_pairs_they_stand_for() -> None:
    pairs, truth = made(900, 100)
    answers = {p.documents: truth[p.documents] for p in draw(pairs, 20)}
    assert len(answers) == 40
    within = estimate(pairs, answers, 30)
    assert within.low < 0.9 < within.high
    assert within.pairs == 1000
    assert estimate(pairs, answers, 10).low > 0.85


def test_estimate_is_sure_of_more_with_more_answers() -> None:
    pairs, truth = made(500, 500)
    widths = []
    for each in (5, 50, 500):
        drawn = {p.documents: truth[p.documents] for p in draw(pairs, each)}
        one = estimate(pairs, drawn, 30)
        widths.append(one.high - one.low)
    assert widths == sorted(widths, reverse=True)


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(1)
    held = 0
    for _ in range(60):
        pairs = [Candidate((n, n + 1), n % 40, n % 40) for n in range(1000)]
        truth = {p.documents: chance.random() < 1 - p.distance / 60 for p in pairs}
        drawn = draw(pairs, 12, seed=chance.randrange(10**6))
        answers = {p.documents: truth[p.documents] for p in drawn}
        one = estimate(pairs, answers, 39)
        held += one.low <= sum(truth.values()) / len(truth) <= one.high
    assert held >= 46  # 54 are expected; fewer than 46 come by chance once in a thousand


def test_suggestion_is_the_widest_that_is_surely_right() -> None:
    pairs, truth = made(300, 300)
    estimates = [estimate(pairs, truth, k) for k in (1, 2, 30)]
    best = suggest(estimates, 0.95)
    assert best is not None
    assert best.distance == 2
    assert best.low >= 0.95
    assert suggest([estimate(pairs, {}, 2)], 0.5) is None


def test_draw_takes_the_nearest_first_and_repeats_itself() -> None:
    pairs, _ = made(50, 50)
    drawn = draw(pairs, 5)
    assert [p.distance for p in drawn] == [2] * 5 + [30] * 5
    assert drawn == draw(pairs, 5)
    assert drawn != draw(pairs, 5, seed=1)


def test_no_pair_within_the_distance_gives_no_precision() -> None:
    assert estimate([], {}, 10).pairs == 0
