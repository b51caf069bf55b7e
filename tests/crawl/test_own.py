"""A project's own action: no file of the package is touched."""

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_simhash import Verdict
from tests.crawl.spiders import Following, paths

HERE = __name__
SEEN: list[tuple[str, str | None]] = []


def noted(verdict: Verdict, request: Request, response: Response) -> str:
    SEEN.append((response.url, verdict.original))
    return "follow" if response.url.endswith("second") else "drop"


def broken(verdict: Verdict, request: Request, response: Response) -> str:
    raise RuntimeError("no table")


def misspelt(verdict: Verdict, request: Request, response: Response) -> str:
    return "dorp"


def test_an_action_of_the_project_is_asked_about_each_copy_and_decides(visit, twins):
    SEEN.clear()
    given = ("/first", "/second", "/other")
    crawled = visit(twins, *given, spider=Following, SIMHASH_ACTION=f"{HERE}.noted")
    assert [(twins.url + "/second", twins.url + "/first")] == SEEN
    assert crawled.stat("followed") == crawled.stat("duplicate") == 1
    assert "/after-second" in paths(crawled)


@pytest.mark.parametrize("action", ["broken", "misspelt"])
def test_a_page_is_not_lost_by_an_action_that_fails(visit, twins, caplog, action):
    failing = [("second", f"{HERE}.{action}")]
    crawled = visit(twins, "/first", "/second", SIMHASH_ACTION=failing)
    assert "/second" in paths(crawled)
    assert crawled.stat("flagged") == 1
    assert f"SIMHASH_ACTION: {HERE}.{action} failed on {twins.url}/second" in caplog.text
