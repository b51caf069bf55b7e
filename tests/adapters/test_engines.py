"""Crawlers without Scrapy, alone and on one index with a Scrapy crawl: each page is kept once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.spiders import Pages
from tests.pages import article, html

ENGINES = ["crawlee", "httpx", "aiohttp"]
CLUSTERS = 10


@pytest.fixture
def clusters(site: Any) -> Any:
    """Clusters of four near pages, as /number/copy."""
    for number in range(CLUSTERS):
        for copy in range(4):
            site.pages[f"/{number}/{copy}"] = html(article(number))
    return site


def paths(*copies: int) -> list[str]:
    return [f"/{number}/{copy}" for copy in copies for number in range(CLUSTERS)]


def run(engine: str, index: str, site: Any, out: Path, paths: list[str], fail: list[str]) -> int:
    """Crawl in a process of its own; return its status."""
    given = {"index": index, "site": site.url, "out": str(out), "paths": paths, "fail": fail}
    command = [sys.executable, "-m", "tests.adapters.crawler", engine, json.dumps(given)]
    return subprocess.run(command, check=False, capture_output=True).returncode


def delivered(out: Path) -> list[int]:
    """Return the clusters of which a page was delivered, one for each page."""
    return sorted(int(line.split("/")[1]) for line in out.read_text().splitlines())


class OtherPages(Pages):
    """Another spider, because a later run of the same one delivers each page once more."""

    name = "others"


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_and_scrapy_keep_one_copy_together(
    engine, clusters, tmp_path, crawl, server, client
):
    """A page whose handler fails is kept as its copy."""
    out = tmp_path / "delivered"
    # On a busy machine an answer may take longer than a crawl waits.
    url = f"{server.url}?name=shared&socket_timeout=30"
    half = {"SIMHASH_INDEX_URL": url}
    first = crawl(Pages, settings=half, site=clusters, paths=paths(0)[::2])
    assert run(engine, url, clusters, out, paths(1, 2), fail=paths(1)) == 0
    second = crawl(OtherPages, settings=half, site=clusters, paths=paths(3))
    ours = {int(item["path"].split("/")[1]) for item in first.items}
    assert ours == set(range(0, CLUSTERS, 2))
    assert delivered(out) == list(range(1, CLUSTERS, 2))
    assert second.items == []
