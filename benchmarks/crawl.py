"""Crawls real pages from loopback, without the filter and with it: CPU, speed, loop lag, memory.

Run as ``python benchmarks/crawl.py [--full] [--only FILTERS] [--spider NAME] [--requests N]
[--pages N] [--rounds N] [--instructions]``.
One process serves the pages of articles-html and of one release of docs-html at full speed; each
crawl is a process of its own. The crawls of a round follow each other, so that a ratio compares
neighbours; figures are medians over the rounds, with the least and the most. The first pages are
not measured: they start the worker process and fill caches. The data is read from
``../shared/data`` beside the checkout.

On a machine that does other things as well, pages/s say more about those than about the filter; CPU
time says how much work there is, though caches that others use make it larger, too. The last column
tells what others took. With ``--instructions``, valgrind counts those that the crawl's process
carries out for a page, which nothing else on the machine changes; it takes fifty times as long.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
RELEASE = "bookworm"
SHORT_PAGES = 500
WARM_UP = 100
TICK = 0.005

FILTERS: dict[str, dict[str, Any]] = {
    "no filter": {"SIMHASH_ENABLED": False},
    "default": {},
    "in a thread": {"SIMHASH_PROCESSES": 0},
    "1 process": {"SIMHASH_PROCESSES": 1},
    "sqlite": {"SIMHASH_INDEX_URL": "sqlite:///{folder}/index.sqlite"},
    "trafilatura": {"SIMHASH_EXTRACTOR": "trafilatura"},
}
SPIDERS = ("bare", "ordinary")
SHORT = [
    *(("bare", name, 64) for name in ("no filter", "default", "in a thread", "trafilatura")),
    *(("ordinary", name, 64) for name in ("no filter", "default")),
]
FULL = [(spider, name, number) for number in (64, 16) for spider in SPIDERS for name in FILTERS]

DEFINITIONS = """\
CPU in ms a page, of the crawl's process, of the worker processes and of the server. by CPU: that of
the crawl's process without a filter, in the same round, to that with it. pages/s: in brackets, the
ratio to those without a filter in the same round. lag: how much later than asked for the event loop
comes back, by its own CPU time. RSS in MB at the end. others: share of the machine's CPU that went
to other programs."""

HEADER = (
    "| spider | requests | filter | CPU crawl | by CPU | CPU workers | CPU server | pages/s"
    " | lag p50 / p99, ms | RSS crawl | RSS workers | others |"
)

Case = tuple[str, str, int]


@dataclass(frozen=True)
class Run:
    """What one crawl measured, from the end of the warm-up on."""

    pages_per_second: float
    lag_p50: float
    lag_p99: float
    cpu: float
    worker_cpu: float
    server_cpu: float
    others: float
    rss: float
    worker_rss: float
    threads: dict[str, float]


def read_pages() -> Iterator[tuple[bytes, str]]:
    """Yield the body and the content type of each page."""
    for name in ("docs-html", "articles-html"):
        with lzma.open(DATA / name / "docs.jsonl.xz", "rt", encoding="utf-8") as lines:
            for page in map(json.loads, lines):
                if name == "docs-html" and RELEASE not in page["id"]:
                    continue
                if "html" in page:
                    yield page["html"].encode(), "text/html; charset=utf-8"
                else:
                    yield base64.b64decode(page["html_base64"]), "text/html"


class _Server(asyncio.Protocol):
    """Answers ``GET /<number>`` with what is ready to be sent."""

    def __init__(self, answers: list[bytes]) -> None:
        self._answers = answers
        self._asked = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._asked = (self._asked + data).split(b"\r\n\r\n")
        for request in requests:
            number = int(request[len("GET /") : request.index(b" HTTP")])
            self._transport.write(self._answers[number])


async def _serve() -> None:
    """Serve the pages, spread over the run; print the port and how many there are."""
    answers = [
        b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
        % (content_type.encode(), len(body), body)
        for body, content_type in read_pages()
    ]
    # Each kind of page is spread over the run; 389 has no divisor in common with their number.
    answers = [answers[place * 389 % len(answers)] for place in range(len(answers))]
    server = await asyncio.get_running_loop().create_server(
        lambda: _Server(answers), "127.0.0.1", 0, backlog=256
    )
    print(json.dumps([server.sockets[0].getsockname()[1], len(answers)]), flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def serving() -> Iterator[tuple[int, int, int]]:
    """Serve the pages from a process of its own; yield its port, the number of pages, its pid."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port, count = json.loads(server.stdout.readline())
            yield port, count, server.pid
        finally:
            server.kill()


def run(case: Case, port: int, count: int, server: int, profile: Path | None = None) -> Run:
    """Crawl in a process of its own; ``profile`` is a file for a cProfile of its event loop."""
    with tempfile.TemporaryDirectory() as folder:
        order = _order(case, port, count, server, folder, profile)
        done = subprocess.run(
            [sys.executable, __file__, "--order", order],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        report = Path(folder, "report.json")
        if done.returncode or not report.exists():
            raise RuntimeError(f"the crawl failed:\n{done.stderr[-4000:]}")
        return Run(**json.loads(report.read_text()))


def instructions(case: Case, port: int, server: int) -> float:
    """Return the instructions of the crawl's process for each page, by valgrind's callgrind."""
    found = []
    for count in (WARM_UP + 20, WARM_UP + 170):
        with tempfile.TemporaryDirectory() as folder:
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
            command += [sys.executable, __file__, "--order"]
            command.append(_order(case, port, count, server, folder))
            done = subprocess.run(
                command,
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
                capture_output=True,
                text=True,
                check=True,
            )
        found.append(int(done.stderr.rpartition("Collected : ")[2].split()[0]))
    return (found[1] - found[0]) / 150


def _order(
    case: Case, port: int, count: int, server: int, folder: str, profile: Path | None = None
) -> str:
    """Return what a crawl's process is told."""
    spider, name, concurrent = case
    settings = {
        key: value.format(folder=folder) if isinstance(value, str) else value
        for key, value in FILTERS[name].items()
    }
    return json.dumps(
        {
            "spider": spider,
            "settings": settings,
            "server": server,
            "concurrent": concurrent,
            "port": port,
            "count": count,
            "folder": folder,
            "profile": str(profile) if profile else None,
        }
    )


def children() -> list[int]:
    return [
        int(child)
        for thread in Path("/proc/self/task").iterdir()
        for child in (thread / "children").read_text().split()
    ]


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_of_threads() -> dict[str, float]:
    """Return the seconds of CPU of this process's threads, by name; its children are not in."""
    found = {}
    for thread in threading.enumerate():
        stat = Path(f"/proc/self/task/{thread.native_id}/stat")
        fields = stat.read_text().rpartition(")")[2].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        found[thread.name] = found.get(thread.name, 0.0) + seconds
    return found


def _cpu_of_machine() -> float:
    """Return the seconds in which any core worked."""
    fields = [int(n) for n in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def rss_of(pid: int | str) -> float:
    """Return resident memory in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class _Meter:
    """Measures the crawl that it runs in, from the end of the warm-up to the last page."""

    def __init__(self, count: int, server: int) -> None:
        self._count = count
        self._server = server
        self._done = 0
        self._lags: list[float] = []
        self._begun = (0.0,) * 5
        self._threads_begun: dict[str, float] = {}
        self.report: dict[str, Any] = {}

    async def watch_loop(self) -> None:
        while True:
            asked = time.thread_time()
            await asyncio.sleep(TICK)
            # By the loop's own CPU time, because other programs make it late as well.
            self._lags.append(max(0.0, time.thread_time() - asked - TICK))

    def page_done(self, request: Any) -> None:
        """Note that a page has its verdict: it goes to its callback, or was dropped."""
        self._done += 1
        if self._done == WARM_UP:
            self._begun = self._now()
            self._threads_begun = _cpu_of_threads()
            self._lags.clear()
        elif self._done == self._count:
            self._finish()

    def _now(self) -> tuple[float, ...]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        workers = sum(map(_cpu_of, children()))
        own, server = usage.ru_utime + usage.ru_stime, _cpu_of(self._server)
        return time.perf_counter(), own, workers, server, _cpu_of_machine()

    def _finish(self) -> None:
        seconds, cpu, workers, server, machine = (
            end - begin for begin, end in zip(self._begun, self._now(), strict=True)
        )
        others = max(0.0, machine - cpu - workers - server)
        number = self._count - WARM_UP
        lags = quantiles(self._lags, n=100)
        self.report = {
            "pages_per_second": number / seconds,
            "lag_p50": 1000 * lags[49],
            "lag_p99": 1000 * lags[98],
            "cpu": 1000 * cpu / number,
            "worker_cpu": 1000 * workers / number,
            "server_cpu": 1000 * server / number,
            "others": others / seconds / (os.cpu_count() or 1),
            "rss": rss_of("self"),
            "worker_rss": sum(map(rss_of, children())),
            "threads": {
                name: 1000 * (seconds - self._threads_begun.get(name, 0.0)) / number
                for name, seconds in _cpu_of_threads().items()
            },
        }


def _run_spider(order: dict[str, Any]) -> None:
    """Crawl, in the process that is there for it, and write the report."""
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    from scrapy_simhash.signals import near_duplicate

    meter = _Meter(order["count"], order["server"])
    folder = Path(order["folder"])

    class Bare(Spider):
        name = "bare"

        async def start(self) -> AsyncIterator[Any]:
            self.watching = asyncio.ensure_future(meter.watch_loop())
            yield self.page(0, callback=self.parse_first)

        def parse_first(self, response: Any) -> Any:
            # All at once, so that the downloader is always full.
            yield from map(self.page, range(1, order["count"]))

        def page(self, number: int, **kwargs: Any) -> Request:
            return Request(f"http://127.0.0.1:{order['port']}/{number}", **kwargs)

        def parse(self, response: Any) -> Any:
            pass

        def closed(self, reason: str) -> None:
            self.watching.cancel()

    class Ordinary(Bare):
        name = "ordinary"
        links = LinkExtractor()

        def parse(self, response: Any) -> Any:
            yield {
                "url": response.url,
                "title": response.css("title::text").get(),
                "heading": response.css("h1::text").getall(),
                "description": response.css("meta[name=description]::attr(content)").get(),
                "text": response.xpath("//p//text()").getall(),
                "links": [link.url for link in self.links.extract_links(response)],
            }

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "CONCURRENT_REQUESTS": order["concurrent"],
            "CONCURRENT_REQUESTS_PER_DOMAIN": order["concurrent"],
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "INFO",
            "LOG_FILE": str(folder / "crawl.log"),
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines"}},
            **order["settings"],
        }
    )
    crawler = process.create_crawler(Ordinary if order["spider"] == "ordinary" else Bare)

    def passed(request: Any) -> None:
        meter.page_done(request)

    crawler.signals.connect(passed, signal=signals.response_received)
    if order["settings"].get("SIMHASH_ENABLED", True):
        crawler.signals.connect(passed, signal=near_duplicate)
    process.crawl(crawler)
    if order["profile"]:
        import cProfile

        # By CPU time, since other processes may have the core meanwhile.
        profile = cProfile.Profile(time.thread_time)
        profile.runcall(process.start)
        profile.dump_stats(order["profile"])
    else:
        process.start()
    Path(folder, "report.json").write_text(json.dumps(meter.report))


def _table(runs: dict[Case, list[Run]]) -> Iterator[str]:
    yield HEADER
    yield "| --- |" + " ---: |" * (HEADER.count("|") - 2)
    for case, found in runs.items():
        spider, name, concurrent = case
        base = runs[spider, "no filter", concurrent]
        pairs = list(zip(base, found, strict=True))

        def of(field: str, found: list[Run] = found) -> float:
            return median(getattr(run, field) for run in found)

        speed = median(on.pages_per_second / off.pages_per_second for off, on in pairs)
        cells = [
            *(spider, str(concurrent), name),
            _range([run.cpu for run in found]),
            _range([off.cpu / on.cpu for off, on in pairs]),
            f"{of('worker_cpu'):.2f}",
            f"{of('server_cpu'):.2f}",
            f"{of('pages_per_second'):.0f} ({speed:.2f})",
            f"{of('lag_p50'):.1f} / {of('lag_p99'):.1f}",
            f"{of('rss'):.0f}",
            f"{of('worker_rss'):.0f}",
            f"{of('others'):.0%}",
        ]
        yield "| " + " | ".join(cells) + " |"


def _range(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def main() -> None:
    """Crawl, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="all pages, filters, concurrencies")
    parser.add_argument("--only", help="filters, separated by ; beside no filter")
    parser.add_argument("--spider", choices=SPIDERS, help="this one alone")
    parser.add_argument("--requests", type=int, choices=(16, 64), help="at a time, these alone")
    parser.add_argument("--pages", type=int, help="of each crawl; 500, with --full all")
    parser.add_argument("--rounds", type=int, help="how often each; 2, with --full 3")
    parser.add_argument("--instructions", action="store_true", help="count them, by valgrind")
    parser.add_argument("--order", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return _run_spider(json.loads(options.order))
    if not DATA.is_dir():
        return print(f"skipped: there is no {DATA}")
    if options.serve:
        return asyncio.run(_serve())
    with serving() as (port, count, server):
        cases = FULL if options.full or options.only else SHORT
        chosen = ["no filter", *(options.only or ";".join(FILTERS)).split(";")]
        cases = [
            case
            for case in cases
            if case[0] in ([options.spider] if options.spider else SPIDERS)
            and case[1] in chosen
            and case[2] == (options.requests or case[2])
        ]
        if options.instructions:
            for case in cases:
                number = instructions(case, port, server)
                print(*case, f"{number / 1e6:.2f} million instructions a page", flush=True)
            return None
        count = min(count, options.pages or (count if options.full else SHORT_PAGES))
        rounds = options.rounds or (3 if options.full else 2)
        runs: dict[Case, list[Run]] = {case: [] for case in cases}
        for _ in range(rounds):
            for case in cases:
                runs[case].append(run(case, port, count, server))
    load = "/".join(f"{number:.1f}" for number in os.getloadavg())
    print(f"{count - WARM_UP} pages after {WARM_UP}, medians of {rounds} (least-most)")
    print(f"{os.cpu_count()} cores, load in the last 1/5/15 minutes {load}\n\n{DEFINITIONS}\n")
    print(*_table(runs), sep="\n")
    return None


if __name__ == "__main__":
    main()
