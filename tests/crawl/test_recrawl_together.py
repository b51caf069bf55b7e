"""Three crawlers of one spider on one Redis, with kills and a store that fails."""

import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import redis

from scrapy_simhash.index import open_existing
from tests.crawl.spiders import Pages, paths
from tests.pages import article, edited, html

POSTS = 30
CRAWLERS = 3
SPIDER = """
import asyncio, os
from scrapy import Request, Spider

class Kept:
    def process_item(self, item):
        with open(item["file"], "a") as file:
            file.write(item["path"] + "\\n")
        return item

class Part(Spider):
    name = "part"
    custom_settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500}, "ITEM_PIPELINES": {Kept: 100},
        "SIMHASH_PROCESSES": 0, "DOWNLOAD_DELAY": 0.03, "LOG_LEVEL": "INFO",
        "RANDOMIZE_DOWNLOAD_DELAY": False, "TELNETCONSOLE_ENABLED": False,
    }

    async def start(self):
        # No crawler has done its part before the others begin.
        open(f"{self.file}-ready-{os.getpid()}", "w").close()
        while not os.path.exists(f"{self.file}-go"):
            await asyncio.sleep(0.05)
        for number, path in enumerate(self.paths.split(",")):
            yield Request(self.base + path, meta={"depth": 1}, priority=-number)

    def parse(self, response):
        yield {"file": self.file, "path": response.url.removeprefix(self.base)}
"""


class Part(Pages):
    """The spider below, in this process."""

    name = "part"


def begin(folder: Path, site: Any, url: str, part: int) -> subprocess.Popen[bytes]:
    """Begin one crawler: each post, its copy and its print view are in three different parts."""
    options = {"base": site.url, "file": folder / "kept", "paths": ",".join(paths_of(part))}
    with (folder / f"log-{part}").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "scrapy", "runspider", str(folder / "part.py"),
             "-s", f"SIMHASH_INDEX_URL={url}", "-s", "SIMHASH_LEASE=2",
             *(word for name, value in options.items() for word in ("-a", f"{name}={value}"))],
            stdout=log, stderr=log,
        )  # fmt: skip


def paths_of(part: int) -> list[str]:
    return [f"/{(n + part) % 3}/{n}" for n in range(POSTS)]


def go(folder: Path) -> None:
    """Let the crawlers begin together."""
    while len([*folder.glob("kept-ready-*")]) < CRAWLERS:
        time.sleep(0.05)
    (folder / "kept-go").touch()


def delivered(folder: Path) -> list[str]:
    file = folder / "kept"
    return file.read_text().split() if file.exists() else []


def posts_of(paths: list[str]) -> list[int]:
    return [int(path.rpartition("/")[2]) for path in paths]


def test_no_page_is_lost_to_an_earlier_run_whoever_is_killed(crawl, site, server, tmp_path):
    (tmp_path / "part.py").write_text(SPIDER)
    url = f"{server.url}?name=together"

    def write(text_of: Any) -> None:
        for number in range(POSTS):
            for part in range(3):
                top = f"<p>View {part}</p>"
                site.pages[f"/{part}/{number}"] = html(
                    text_of(number), title=f"Post {number}", top=top
                )

    write(article)
    parts = [path for part in range(CRAWLERS) for path in paths_of(part)]
    first = crawl(Part, settings={"SIMHASH_INDEX_URL": url}, site=site, paths=parts)
    assert sorted(posts_of(paths(first))) == [*range(POSTS)]
    with closing(open_existing(url)) as index:
        assert [(run.finished, run.pages) for run in index.runs()] == [(True, POSTS)]

    write(
        lambda number: edited(article(number), number, 0.04) if number % 5 == 0 else article(number)
    )
    crawlers = [begin(tmp_path, site, url, part) for part in range(CRAWLERS)]
    go(tmp_path)
    with closing(redis.Redis.from_url(server.url)) as client:
        for part in range(2):
            while len(delivered(tmp_path)) < 6 * (part + 1):
                time.sleep(0.02)
            crawlers[part].send_signal(signal.SIGKILL)
            crawlers[part].wait()
            client.client_kill_filter(_type="normal", skipme=True)
            crawlers[part] = begin(tmp_path, site, url, part)
    assert [crawler.wait() for crawler in crawlers] == [0] * CRAWLERS
    assert {*posts_of(delivered(tmp_path))} == {*range(POSTS)}
    with closing(open_existing(url)) as index:
        # A killed crawler that comes again when the others have ended, and its lease too, begins a
        # run of its own. A run that let a page through while its connections were cut has no end.
        assert sum(run.pages for run in index.runs()) == len(index)
        assert not any(entry.provisional for entry in index)
