import random

import pytest

from scrapy_simhash.url_patterns.estimate import Estimate, lower_bound

PATTERN = "a.test/?b=*"


def spared(number: int) -> Estimate:
    estimate = Estimate()
    for _ in range(number):
        estimate.spare(PATTERN, 100)
    return estimate


def test_without_a_look_everything_that_was_spared_may_be_lost():
    assert (Estimate().at_most, spared(7).at_most) == (0, 7)


def test_without_a_wrong_one_the_bound_is_three_weights():
    estimate = spared(1000)
    for _ in range(50):
        estimate.explore(0.05)
    assert estimate.lost == 0
    assert estimate.at_most == pytest.approx(3 * 19, rel=0.02)


def test_a_pattern_that_fell_before_anything_was_spared_has_lost_nothing():
    estimate = spared(10)
    estimate.add_wrong("a.test/?c=*", 0.05)
    assert (estimate.lost, estimate.wrong) == (0, 1)
    assert estimate.at_most == spared(10).at_most


@pytest.mark.parametrize("share_lost", [0.0, 0.01, 0.05, 0.3])
def test_the_estimate_is_unbiased_and_its_bound_holds(share_lost):
    chance = random.Random(7)
    estimates, held, losses = [], 0, []
    for _ in range(400):
        estimate, lost = Estimate(), 0
        for _ in range(1000):
            fetch = chance.choice([0.05, 0.15])
            is_wrong = chance.random() < share_lost
            if chance.random() < fetch:
                estimate.explore(fetch)
                if is_wrong:
                    estimate.add_wrong(PATTERN, fetch)
            else:
                estimate.spare(PATTERN, 100)
                lost += is_wrong
        estimates.append(estimate.lost)
        losses.append(lost)
        held += lost <= estimate.at_most
    assert sum(estimates) == pytest.approx(sum(losses), rel=0.1, abs=1)
    assert held >= 0.93 * 400


def test_the_bound_is_that_of_wilson():
    bounds = {(0, 0): 0.0, (9, 9): 0.7009, (73, 73): 0.95, (50, 100): 0.4038, (0, 10): 0.0}
    for counts, bound in bounds.items():
        assert lower_bound(*counts) == pytest.approx(bound, abs=2e-4)
