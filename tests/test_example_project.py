"""The example project: its crawl held against what its generator planted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from example.site.archive import Archive
from example.site.newsroom import Newsroom
from example.site.truth import judge
from example.spiders.pages import PagesSpider
from scrapy.exceptions import UsageError

from scrapy_simhash import SyncDedup

EXAMPLE = Path(__file__).resolve().parents[1] / "example_project"


@pytest.fixture(scope="module")
def site() -> Newsroom:
    return Newsroom()


def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start Python in the example's folder; one process for each crawl, as for a user."""
    environment = os.environ | {"PYTHONPATH": str(EXAMPLE.parent), "NO_COLOR": "1"} | variables
    return subprocess.Popen([sys.executable, *arguments], cwd=EXAMPLE, env=environment)


def test_the_demo_prints_what_it_dropped_and_what_has_changed(capfd):
    assert start("-m", "example.demo").wait() == 0
    # Warnings and errors of the crawl are on stderr: there must be none.
    demo, errors = capfd.readouterr()
    assert errors == ""
    rows = re.findall(r"^(\w+ \w+) +(\S+\.test/\S*) +(\S+\.test/\S*) +(\d+) bits$", demo, re.M)
    assert len(rows) == 20
    assert {kind for kind, *_ in rows} == {
        "mirror site", "syndicated copy", "injected ads", "changed counters", "small edits"
    }  # fmt: skip
    assert "{+" in demo
    told = re.search(r"(\d+) print views were not .*?(\d+) print views were downloaded", demo, re.S)
    assert told
    not_sent, dropped = map(int, told.groups())
    assert (not_sent > 20, not_sent + dropped) == (True, 60)
    assert "60 articles were kept, 0 lost" in demo
    assert demo.endswith("20 of 20 planted near-duplicates dropped, 0 other pages dropped\n")
    # What has changed in the archive since a month ago.
    site = Archive(later=True)
    assert f"1 says something else: {site.changed.removeprefix('http://')}\n    …" in demo
    old, new = (url.removeprefix("http://") for url in site.moved)
    assert f"1 stands under another address: {new}\n    it stood under {old}\n" in demo
    # Records of one template are kept.
    assert "12 flats, under one title" in demo
    assert "12 were kept, though" in demo
    assert "Rooms: [-2-]{+3+}, floor:" in demo


def test_a_wrong_crawl_is_told_from_a_right_one(site):
    whole = {url for url, page in site.pages.items() if page.kind not in ("redirect", "missing")}
    first, second = sorted(site.clusters().values(), key=sorted)[:2]
    alone = next(page.url for page in site.pages.values() if page.kind == "same template")
    assert len(judge(site, {}, whole).mistakes) == len(site.clusters())
    assert judge(site, {max(first): max(second)}, whole).wrong == 1
    assert judge(site, {alone: max(first)}, whole - {alone}).wrong == 1
    assert f"{alone} was lost" in judge(site, {}, whole - {alone}).mistakes


def test_the_pages_spider_keeps_one_copy_of_each_page_and_shows_its_progress(site, tmp_path, capfd):
    """On a terminal it says how many pages it has, keeps and drops; and erases that line."""
    folder, out = tmp_path / "saved pages", tmp_path / "kept.jsonl"
    (folder / "old").mkdir(parents=True)
    one, two, *_ = (page.answer.body for page in site.pages.values() if page.kind == "article")
    for name, body in (("one", one), ("old/one", one), ("two", two)):
        (folder / f"{name}.html").write_bytes(body)
    code = (
        "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'scrapy', 'crawl', 'pages', "
        "'-s', 'DOWNLOAD_DELAY=0.6', '-a', *sys.argv[1:]]))"
    )
    log = tmp_path / "log"
    assert start("-c", code, f"pages={folder}", "-O", f"{out}", "-s", f"LOG_FILE={log}").wait() == 0
    shown = capfd.readouterr().out
    urls = [json.loads(line)["url"] for line in out.read_text("utf-8").splitlines()]
    assert (len(urls), urls[-1]) == (2, "http://pages.test/two.html")
    progress = r"\d+ pages, \d+ kept, \d+ near-duplicates, \d+ pages/s\x1b\[K[\r\n]"
    assert re.search(progress, shown)
    assert shown.endswith("\x1b[K")
    assert "Traceback" not in shown + log.read_text("utf-8")


def test_the_pages_spider_follows_links_over_saved_pages(tmp_path, crawl):
    """With follow=1, links (https ones too) lead to further saved pages, and to no other host."""
    folder = tmp_path / "site"
    (folder / "sub").mkdir(parents=True)
    (folder / "start.html").write_text(
        '<a href="https://pages.test/sub/">in</a> <a href="http://elsewhere.test/">out</a>'
    )
    (folder / "sub" / "index.html").write_text("<p>A page under two addresses.</p>")
    settings = {"DOWNLOADER_MIDDLEWARES": {"example.middlewares.LoopbackMiddleware": 740}}
    crawled = crawl(PagesSpider, settings=settings, pages=str(folder), follow="1")
    # The folder and its index are one page under two addresses.
    urls = sorted(item.url.removesuffix("index.html") for item in crawled.items)
    assert urls == ["http://pages.test/start.html", "http://pages.test/sub/"]


def test_a_bad_argument_is_one_clear_error(monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    needed = "needs one of -a pages=PATH, -a start_urls=URL,URL, -a again=FILE"
    for arguments, message in (
        ({}, needed),
        ({"pages": "x", "start_urls": "y"}, needed),
        ({"pages": "nowhere"}, "pages: nowhere: there is no such file"),
        ({"start_urls": "example.com"}, "start_urls: 'example.com' is no http(s)://host/ address"),
        ({"start_urls": "http://a.test/", "follow": "yes"}, "follow is 0 or 1, not 'yes'"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            PagesSpider(**arguments)


def test_the_crawlers_of_the_compose_file_keep_one_copy_together(site, server, tmp_path):
    """Three processes with one Redis, as three containers."""
    text = (EXAMPLE / "compose.yaml").read_text()
    commands = re.findall(r"^ +command: (scrapy .+)$", text, re.MULTILINE)
    assert len(commands) == 3
    assert {"SIMHASH_INDEX_URL", "SIMHASH_LOG"} <= set(re.findall(r"SIMHASH_\w+", text))
    # On a busy machine Redis and workers may take longer than the filter waits by default.
    url = f"{server.url}?name=together&socket_timeout=60&socket_connect_timeout=60"
    variables = {"SIMHASH_INDEX_URL": url, "SIMHASH_LOG": str(tmp_path / "dedup.jsonl")}
    patient = ["-s", "SIMHASH_TIMEOUT=300", "-s", "SIMHASH_LEASE=600"]
    # A crawler may end before another one begins: their run lasts until all have ended.
    with SyncDedup(url, spider="newsroom", processes=0, lease=600, runs=True):
        crawlers = [
            start("-m", *command.replace("/out", str(tmp_path)).split(), *patient, **variables)
            for command in commands
        ]
        assert [crawler.wait() for crawler in crawlers] == [0, 0, 0]
    kept = [
        json.loads(line)["url"]
        for path in sorted(tmp_path.glob("part-*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for cluster in site.clusters().values():
        assert len(cluster & set(kept)) == 1, cluster
    log = [json.loads(line) for line in (tmp_path / "dedup.jsonl").read_text("utf-8").splitlines()]
    assert sum(line.get("verdict") == "duplicate" for line in log) >= 20
