"""A project's own action, reader, recipe and extractor: no file of the package is touched."""

from dataclasses import replace

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_simhash import Verdict, named_recipe
from tests.crawl.spiders import Following, paths
from tests.pages import article

HERE = __name__
RECIPE = replace(named_recipe("default"), name="ours", extractor=f"{HERE}.after_mark")
SEEN: list[tuple[str, str | None]] = []


def after_mark(page: str) -> str:
    return page.partition("<!--mark-->")[2]


def lines(data: bytes, charset: str | None) -> str:
    return data.decode(charset or "utf-8").replace(";", "\n")


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


def test_a_reader_a_recipe_and_an_extractor_come_by_import_path(visit, site):
    for number in (1, 2):
        site.pages[f"/{number}"] = f"<p>{article(number)}<!--mark--><p>{article(3)}".encode()
    for path, sign in (("/a", ";"), ("/b", "\n")):
        data = article(4).replace(" ", sign).encode()
        site.pages[path] = 200, {"Content-Type": "text/csv"}, data
    readers = {"text/csv": f"{HERE}.lines"}
    crawled = visit(site, *site.pages, SIMHASH_RECIPE=f"{HERE}.RECIPE", SIMHASH_READERS=readers)
    assert paths(crawled) == ["/1", "/2", "/a"]
    first, second, _ = (item["page"]["fingerprint"] for item in crawled.items)
    assert first == second is not None
