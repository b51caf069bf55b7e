"""A job that is stopped, politely or not, and goes on, in a process that really is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

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
            # Copies wait for the leases of a crawler that was killed.
            "SIMHASH_LEASE": 3,
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
        status = crawl.wait()
        if stop is signal.SIGKILL:
            # Scrapy's queue does not outlive a kill: it may count requests that it cannot give, and
            # then a later crawl stays open for ever.
            shutil.rmtree(self.folder / "job" / "requests.queue", ignore_errors=True)
        return status

    def delivered(self) -> list[str]:
        return self.delivery.read_text().splitlines() if self.delivery.exists() else []


def test_no_cluster_is_lost_when_a_job_is_killed_and_goes_on(tmp_path: Path) -> None:
    """A kill, a Ctrl-C, another kill, then the rest."""
    clusters = [[edited(article(seed), copy, 0.01) for copy in range(3)] for seed in range(60)]
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
    assert job.run(signal.SIGINT, after=25) == 0
    assert job.run(signal.SIGKILL, after=40) == -signal.SIGKILL
    assert job.run() == 0
    delivered = {url.rsplit("/", 1)[1] for url in job.delivered()}
    assert delivered == {str(number) for number in range(60)}
    assert "Traceback" not in job.log.read_text()
