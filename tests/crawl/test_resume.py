"""A job that is stopped, politely or not, and goes on: no near-duplicate without a delivered copy.

The crawl runs in a process of its own, which really is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.documents import DATA, lines_of
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from tests.pages import article, edited, html

ROOT = Path(__file__).parents[2]


class Job:
    """The crawl of saved pages with one JOBDIR, run as often as it takes."""

    def __init__(self, folder: Path, pages: Path) -> None:
        self.folder, self.pages = folder, pages
        self.log = folder / "log"
        self.delivery = folder / "delivered"

    def run(self, stop: signal.Signals | None = None, after: int = 0) -> int:
        """Crawl; send a signal when so many pages are delivered; return the exit status."""
        settings = {
            "JOBDIR": self.folder / "job",
            "LOG_FILE": self.log,
            "ITEM_PIPELINES": '{"tests.delivery.Delivery": 300}',
            "DELIVERY_FILE": self.delivery,
        }
        command = [sys.executable, "-m", "scrapy", "crawl", "pages", "-a", f"pages={self.pages}"]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
        crawl = subprocess.Popen(
            command,
            cwd=ROOT / "example_project",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
        )
        if stop is not None:
            while crawl.poll() is None and len(self.delivered()) < after:
                time.sleep(0.01)
            crawl.send_signal(stop)
        return crawl.wait()

    def delivered(self) -> list[str]:
        return self.delivery.read_text().splitlines() if self.delivery.exists() else []


def test_no_cluster_is_lost_when_a_job_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Three kills and a Ctrl-C, then the rest."""
    clusters = [[edited(article(seed), copy, 0.01) for copy in range(3)] for seed in range(120)]
    with (tmp_path / "docs.jsonl").open("w") as file:
        for copy in range(3):
            for number, cluster in enumerate(clusters):
                page = {
                    "id": f"{number}-{copy}",
                    "url": f"http://host{copy}.test/{number}",
                    "html": html(cluster[copy]).decode(),
                }
                print(json.dumps(page), file=file)
    job = Job(tmp_path, tmp_path / "docs.jsonl")
    assert job.run(signal.SIGKILL, after=10) == -signal.SIGKILL
    assert job.run(signal.SIGKILL, after=40) == -signal.SIGKILL
    assert job.run(signal.SIGINT, after=70) == 0
    assert job.run(signal.SIGKILL, after=100) == -signal.SIGKILL
    assert job.run() == 0
    delivered = {url.rsplit("/", 1)[1] for url in job.delivered()}
    assert delivered == {str(number) for number in range(120)}
    assert "Traceback" not in job.log.read_text()


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/docs-html beside the checkout")
def test_every_real_page_has_a_delivered_copy_when_the_job_is_stopped(tmp_path: Path) -> None:
    """A Ctrl-C, a kill, then the rest; a quarter of the pages, with all that are of one name."""
    pages = [page for page in lines_of("docs-html") if _is_chosen(page["url"])]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, pages)))
    job = Job(tmp_path, tmp_path / "docs.jsonl")
    assert job.run(signal.SIGINT, after=30) == 0
    assert job.run(signal.SIGKILL, after=100) == -signal.SIGKILL
    assert job.run() == 0
    recipe = named_recipe("default")
    urls = set(job.delivered())
    texts = {page["url"]: extract(page["html"]).to_fingerprint for page in pages}
    values = {url: recipe.fingerprint(*text).value for url, text in texts.items()}
    delivered = [value for url, value in values.items() if url in urls]
    lost = [
        url
        for url, value in values.items()
        if all((value ^ other).bit_count() > recipe.distance for other in delivered)
    ]
    assert len(pages) > 500
    assert lost == []


def _is_chosen(url: str) -> bool:
    return zlib.crc32(urlsplit(url).path.encode()) % 4 == 0
