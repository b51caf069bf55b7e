"""One page that hides many addresses is told of at once, first in the summary, and with advice."""

import re

import pytest

from scrapy_simhash.crawl.alarms import MOST_TOLD, Alarms
from scrapy_simhash.report.dedup_log import read_log
from scrapy_simhash.report.signatures import MANY
from tests.pages import html

ORIGINAL = "http://a.example/item/0"


def hide(alarms: Alarms, urls: list[str], original: str = ORIGINAL, of: int = 10_000) -> None:
    for url in urls:
        alarms.hidden(original, url, of)


def items(number: int) -> list[str]:
    return [f"http://a.example/item/{n}" for n in range(1, number + 1)]


def test_a_page_that_hides_many_addresses_of_one_form_is_told_of_once(caplog):
    alarms = Alarms("shop")
    hide(alarms, items(MANY - 1) * 2)
    assert not caplog.records
    assert not alarms.worst()
    hide(alarms, items(5 * MANY))
    [record] = caplog.records
    message = record.getMessage()
    assert f"{MANY} pages are taken for copies of {ORIGINAL}, such as" in message
    assert all(url in message for url in items(3))
    assert f"scrapy simhash compare {ORIGINAL} {items(3)[-1]}" in message
    (expression,) = re.findall(r'SIMHASH_ACTION = \[\(r"(.*)", "flag"\)\]', message)
    assert all(re.search(expression, url) for url in items(99))
    assert not re.search(expression, "http://a.example/other/3")
    assert [hiding.pages for hiding in alarms.worst()] == [5 * MANY]


def test_a_page_that_hides_a_tenth_of_a_crawl_is_told_of_whatever_the_addresses():
    urls = [f"http://a.example/{'abcdefghijk'[n]}" for n in range(10)]
    for pages, is_told in ((100, True), (101, False)):
        alarms = Alarms("shop")
        hide(alarms, urls, of=pages)
        assert bool(alarms.worst()) == is_told


def test_a_site_with_many_such_pages_gets_few_warnings_and_the_worst_stand_first(caplog):
    alarms = Alarms("shop")
    for number in range(9):
        hide(alarms, items(MANY + number), original=f"{ORIGINAL}{number}")
    assert len(caplog.records) == MOST_TOLD
    assert [hiding.pages for hiding in alarms.worst()] == [MANY + 8, MANY + 7, MANY + 6]


@pytest.mark.parametrize("is_shell", [True, False])
def test_shells_of_a_script_are_an_alarm_before_fifty_come(visit, site, tmp_path, caplog, is_shell):
    # What the script fetches is not in the page.
    shell = "We show you the way to our shop on the map. The coffee is free in each of our shops."
    paths = [f"/shop/{number}" for number in range(1, 50)]
    for path in paths:
        own = f"{path} has the number {path[6:]}5{path[6:]} and no other one. " * 9
        site.pages[path] = html(shell + own * (not is_shell), title="Our shop", links=())
    visit(site, *paths, SIMHASH_INDEX_URL=f"sqlite:///{tmp_path}/pages.sqlite")
    warnings = [r.getMessage() for r in caplog.records if "taken for copies of" in r.getMessage()]
    assert len(warnings) == 2 * is_shell
    if is_shell:
        summary = warnings[-1].splitlines()
        assert summary[0].startswith(f"LOOK AT {site.url}/shop/1 FIRST: 48 pages are taken")
        assert summary[1] == "Near-duplicates of pages: 49 pages judged"
        assert summary[-1].endswith(f"scrapy simhash report {tmp_path}/pages.dedup.jsonl")
        log = [*read_log([tmp_path / "pages.dedup.jsonl"])]
        assert all(line.doubtful for line in log if line.verdict == "duplicate")
