"""A project's own action, reader, recipe and extractor: no file of the package is touched."""

from dataclasses import replace

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_simhash import Verdict, named_recipe
from tests.crawl.spiders import ONE_AT_A_TIME, Following, Pages, paths
from tests.pages import article, html

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


def test_an_action_of_the_project_is_asked_about_each_copy_and_decides(crawl, twins):
    SEEN.clear()
    settings = {**ONE_AT_A_TIME, "SIMHASH_ACTION": f"{HERE}.noted"}
    crawled = crawl(Following, settings=settings, site=twins, paths=["/first", "/second", "/other"])
    assert [(twins.url + "/second", twins.url + "/first")] == SEEN
    assert crawled.stat("followed") == crawled.stat("duplicate") == 1
    assert "/after-second" in paths(crawled)


@pytest.mark.parametrize("action", ["broken", "misspelt"])
def test_a_page_is_not_lost_by_an_action_that_fails(crawl, twins, caplog, action):
    settings = {**ONE_AT_A_TIME, "SIMHASH_ACTION": [("second", f"{HERE}.{action}")]}
    crawled = crawl(Following, settings=settings, site=twins, paths=["/first", "/second"])
    assert "/second" in paths(crawled)
    assert crawled.stat("flagged") == 1
    assert f"SIMHASH_ACTION: {HERE}.{action} failed on {twins.url}/second" in caplog.text


def test_a_reader_a_recipe_and_an_extractor_come_by_import_path(crawl, site):
    both = "<!--mark-->" + article(3)
    site.pages = {
        "/1": html(article(1)).replace(article(1).encode(), (article(1) + both).encode()),
        "/2": html(article(2)).replace(article(2).encode(), (article(2) + both).encode()),
        "/a": (200, {"Content-Type": "text/csv"}, article(4).replace(" ", ";").encode()),
        "/b": (200, {"Content-Type": "text/csv"}, article(4).replace(" ", "\n").encode()),
    }
    settings = {
        **ONE_AT_A_TIME,
        "SIMHASH_RECIPE": f"{HERE}.RECIPE",
        "SIMHASH_READERS": {"text/csv": f"{HERE}.lines"},
    }
    crawled = crawl(Pages, settings=settings, site=site, paths=[*site.pages])
    prints = {path: item["page"] for path, item in zip(paths(crawled), crawled.items, strict=True)}
    assert prints["/1"]["fingerprint"] == prints["/2"]["fingerprint"]
    assert crawled.stat("duplicate") == 1
    assert "/b" not in prints
