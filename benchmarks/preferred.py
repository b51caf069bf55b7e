"""Crawls a made site with SIMHASH_PREFER "first" and "canonical", and compares the two.

Run as ``python benchmarks/preferred.py [--fifo] [--clusters N]``. A server on loopback has
clusters of addresses of one page: print and AMP views, http and https, ``www``, categories,
sessions and permalinks. Lists link each cluster's addresses in any order. Other pages declare an
address canonical that shows another page, that does not exist, that is on another site or that
declares them in its turn. ``--unlinked SHARE`` leaves the links to that share of the canonical
addresses out.
"""

from __future__ import annotations

import argparse
import random
import ssl
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.resolver import dnscache

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sparing import BREADTH_FIRST
from tests.pages import article, html
from tests.servers.certificate import make_certificate

OF_LIST = 10  # clusters
HOSTS = ("shop.test", "www.shop.test")


class Cluster(NamedTuple):
    """The addresses of one page.

    ``canonical`` is what they declare; ``right`` is whether that is one of them.
    """

    kind: str
    addresses: list[str]
    canonical: str
    right: bool = True


def clusters(number: int, plain: str, www: str, secure: str, seed: int = 5) -> list[Cluster]:
    """Return so many clusters of each kind; ``plain``, ``www`` and ``secure`` begin addresses."""
    chance = random.Random(seed)

    def token() -> str:
        return f"{chance.getrandbits(128):032x}"

    made = []
    for n in range(number):
        right = {
            "print": [f"/story/{n}", f"/story/{n}?view=print"],
            "amp": [f"/news/{n}", f"/amp/news/{n}"],
            "category": [f"/p/{n}", f"/garden/p/{n}", f"/gifts/p/{n}"],
            "session": [f"/item/{n}", *(f"/item/{n}?sid={token()}" for _ in range(3))],
            "permalink": [f"/topic/{n}", *(f"/topic/{n}?post={7 * n + at}" for at in range(4))],
        }
        for kind, paths in right.items():
            addresses = [plain + path for path in paths]
            made.append(Cluster(kind, addresses, addresses[0]))
        made.append(
            Cluster("www", [f"{plain}/about/{n}", f"{www}/about/{n}"], f"{plain}/about/{n}")
        )
        both = [f"{secure}/account/{n}", f"{plain}/account/{n}"]
        made.append(Cluster("https", both, both[0]))
        wrong = {
            "another page": f"{plain}/story/{chance.randrange(number)}",
            "front page": f"{plain}/",
            "not found": f"{plain}/gone/{n}",
            "other site": f"http://other.test/{n}",
        }
        for at, (kind, canonical) in enumerate(wrong.items()):
            made.append(Cluster(kind, [f"{plain}/wrong-{at}/{n}"], canonical, right=False))
        made.append(Cluster("loop", [f"{plain}/one/{n}", f"{plain}/other/{n}"], "", right=False))
    return made


class MadeSite:
    """The clusters and lists that link them, served on two ports."""

    def __init__(self, number: int, unlinked: float) -> None:
        folder = tempfile.TemporaryDirectory()
        self.folder = folder
        self.downloads = 0
        self.pages: dict[str, bytes] = {}
        self.servers = [self._server(), self._server(Path(folder.name))]
        ports = [server.server_port for server in self.servers]
        plain, www = (f"http://{host}:{ports[0]}" for host in HOSTS)
        secure = f"https://{HOSTS[0]}:{ports[1]}"
        self.start = f"{plain}/"
        self.clusters = clusters(number, plain, www, secure)
        chance = random.Random(3)
        order = [*self.clusters]
        chance.shuffle(order)
        lists = [order[at : at + OF_LIST] for at in range(0, len(order), OF_LIST)]
        for cluster in self.clusters:
            for at, address in enumerate(cluster.addresses):
                canonical = cluster.canonical or cluster.addresses[at - 1]
                text = article(self.clusters.index(cluster))
                self.pages[address] = _page(text, canonical)
        for at, part in enumerate(lists):
            links = [
                address
                for cluster in part
                for address in cluster.addresses
                if not (cluster.right and address == cluster.canonical)
                or chance.random() >= unlinked
            ]
            chance.shuffle(links)
            self.pages[f"{plain}/list/{at}"] = html(article(50_000 + at), links=tuple(links))
        links = tuple(f"{plain}/list/{at}" for at in range(len(lists)))
        self.pages[self.start] = html(article(90_000), links=links)

    def _server(self, secure: Path | None = None) -> ThreadingHTTPServer:
        site = self

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1

            def do_GET(self) -> None:
                scheme = "http" if secure is None else "https"
                body = site.pages.get(f"{scheme}://{self.headers['Host']}{self.path}")
                site.downloads += 1
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(body or b"not here")

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if secure is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            path = make_certificate(secure)
            context.load_cert_chain(path, f"{path}.key")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server


def _page(text: str, canonical: str) -> bytes:
    link = f'<head><link rel="canonical" href="{canonical}">'.encode()
    return html(text).replace(b"<head>", link, 1)


def crawl(start: str, settings: dict[str, Any]) -> list[str]:
    """Follow all links, in a process of its own; return the addresses that the spider got."""
    delivered: list[str] = []

    class Whole(scrapy.Spider):
        name = "whole"
        start_urls = (start,)

        def parse(self, response: Any) -> Any:
            delivered.append(response.url)
            yield from response.follow_all(css="a")

    for host in HOSTS:
        dnscache[host] = "127.0.0.1"
    process = CrawlerProcess(settings)
    process.crawl(Whole)
    process.start()
    return delivered


def show(prefer: str, site: MadeSite, urls: list[str], of_first: int) -> None:
    """Print how the clusters of a site fared."""
    delivered = Counter(urls)
    all_of: Counter[str] = Counter()
    canonical: Counter[str] = Counter()
    for cluster in site.clusters:
        all_of[cluster.kind] += cluster.right
        canonical[cluster.kind] += cluster.right and delivered[cluster.canonical] == 1
    numbers = [sum(delivered[url] for url in cluster.addresses) for cluster in site.clusters]
    numbers += [delivered[url] for url in site.pages if "/list/" in url]
    by_kind = ", ".join(f"{kind} {canonical[kind]}" for kind in all_of if all_of[kind])
    print(
        f"{prefer}: {site.downloads} downloads ({site.downloads / of_first:.3f}); "
        f"{canonical.total() / all_of.total():.2%} of {all_of.total()} clusters deliver the "
        f"canonical address ({by_kind}); {numbers.count(0)} pages lost, "
        f"{sum(number > 1 for number in numbers)} delivered twice"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--clusters", type=int, default=60, metavar="N", help="of each kind")
    parser.add_argument("--fifo", action="store_true", help="crawl breadth first")
    parser.add_argument("--unlinked", type=float, default=0.0, metavar="SHARE")
    options = parser.parse_args()
    site = MadeSite(options.clusters, options.unlinked)
    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_PROCESSES": 1,
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        **(BREADTH_FIRST if options.fifo else {}),
    }
    of_first = 0
    for prefer in ("first", "canonical"):
        site.downloads = 0
        with get_context("spawn").Pool(1) as pool:
            urls = pool.apply(crawl, (site.start, settings | {"SIMHASH_PREFER": prefer}))
        of_first = of_first or site.downloads
        show(prefer, site, urls, of_first)
    return 0


if __name__ == "__main__":
    sys.exit(main())
