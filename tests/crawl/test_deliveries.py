"""The claims of items: each ends as its item ends."""

from itertools import permutations, product
from math import inf
from unittest.mock import Mock, call

import pytest

from scrapy_simhash.crawl.deliveries import Delivery


def test_a_callback_that_fails_half_way_ends_once():
    upkeep = Mock()
    delivery = Delivery(upkeep, "page")
    for _ in ("as output", "as exception"):
        delivery.callback_ended(failed=True)
    upkeep.ended.assert_called_once_with("page", failed=True)


@pytest.mark.parametrize("is_outside", [False, True])
def test_an_item_fails_alone_whatever_keys_a_later_pipeline_gives(is_outside):
    """Its key may be that of another item by now."""
    claimed = ("a", "b")
    keys = product(("a", "b", "c", None), repeat=2)
    fates = product((False, True), repeat=2)
    for now, failed, order in product(keys, fates, permutations(range(2))):
        upkeep = Mock(in_progress=Mock(return_value=False))
        delivery = Delivery(upkeep, items_on_the_way=inf if is_outside else 2)
        items = [{"url": key} for key in claimed]
        for key, item in zip(claimed, items, strict=True):
            delivery.item_claimed(key, item)
        for n in order:
            delivery.item_ended(items[n], now[n], failed=failed[n])
        ends = [call(claimed[n], failed=failed[n]) for n in order]
        assert upkeep.ended.mock_calls == ends


@pytest.mark.parametrize("failed", [False, True])
def test_items_of_which_a_later_pipeline_made_others_end_together(failed):
    upkeep = Mock(in_progress=Mock(return_value=False))
    delivery = Delivery(upkeep, items_on_the_way=2)
    for key in "ab":
        delivery.item_claimed(key, {})
    for _ in "ab":
        delivery.item_ended({}, None, failed=failed)
    assert upkeep.ended.mock_calls == [call(key, failed=failed) for key in "ab"]
