"""What each tool finds among the pages of the example's newspapers, and what it loses.

``python -m benchmarks.comparison``. The six newspapers have 20 planted copies among
distinct pages. Each tool sees the pages in the order of a crawl and drops a page that
repeats one it has kept, as its authors' manual has it:

- by address: Scrapy's dupefilter, and scrapy-deltafetch in the crawls after the first
- MD5 of the body: an exact filter, as crawlers for archives have it
- trafilatura and the package simhash: 64 bits, k = 3, its own index
- trafilatura and datasketch: MinHash of 128 permutations of the character 5-grams of
  the normalised text, LSH from 0.8 on
- this filter, with the classic recipe (64 bits, 4 blocks of 16, k = 3), and with its
  default

A page is lost if it is dropped and no copy of it was kept. CPU is that of this process,
without the time that the packages take to load.
"""

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from scrapy import Request
from scrapy.utils.request import fingerprint

from benchmarks.measuring import Table
from benchmarks.rivals import Filter, by_minhash, by_simhash
from scrapy_simhash import Document, SyncDedup

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "example_project"))
from example.site.newsroom import Newsroom, Page

# Tells within its block whether a page repeats one that was kept.
Tool = AbstractContextManager[Callable[[Page], bool]]


@contextmanager
def by_digest(
    digest_of: Callable[[Page], bytes],
) -> Iterator[Callable[[Page], bool]]:
    seen: set[bytes] = set()

    def repeats(page: Page) -> bool:
        digest = digest_of(page)
        is_known = digest in seen
        seen.add(digest)
        return is_known

    yield repeats


@contextmanager
def by_text(repeats: Filter) -> Iterator[Callable[[Page], bool]]:
    yield lambda page: repeats(page.url, page.answer.body.decode("utf-8", "replace"))


@contextmanager
def this_filter(recipe: str) -> Iterator[Callable[[Page], bool]]:
    with SyncDedup(recipe=recipe, processes=0) as dedup:

        def repeats(page: Page) -> bool:
            answer = page.answer
            document = Document(page.url, answer.body, answer.content_type)
            with dedup.page(document) as verdict:
                return verdict.kind == "duplicate"

        yield repeats


TOOLS: dict[str, Callable[[], Tool]] = {
    "addresses: Scrapy's dupefilter, scrapy-deltafetch": lambda: by_digest(
        lambda page: fingerprint(Request(page.url))
    ),
    "MD5 of the body": lambda: by_digest(
        lambda page: hashlib.md5(page.answer.body).digest()
    ),
    "trafilatura and PyPI simhash, 64 bits, k = 3": lambda: by_text(by_simhash()),
    "trafilatura and datasketch, MinHash LSH 0.8": lambda: by_text(by_minhash()),
    "scrapy-simhash, recipe classic": lambda: this_filter("classic"),
    "scrapy-simhash": lambda: this_filter("default"),
}


def measure(make: Callable[[], Tool], pages: list[Page]) -> tuple[int, int, float]:
    """Return how many copies were found, how many pages lost, and the CPU in ms a page."""
    with make() as repeats:
        repeats(pages[0])  # loads the packages
    kept: set[str] = set()
    found = lost = 0
    with make() as repeats:
        begun = time.process_time()
        for page in pages:
            cluster = page.cluster or page.url
            if not repeats(page):
                kept.add(cluster)
            elif cluster in kept:
                found += 1
            else:
                lost += 1
    return found, lost, 1000 * (time.process_time() - begun) / len(pages)


def main() -> None:
    site = Newsroom()
    pages = [
        page
        for page in site.pages.values()
        if page.answer.status == 200
        and page.answer.content_type.startswith("text/html")
    ]
    copies = sum(len(urls) - 1 for urls in site.clusters().values())
    print(f"{len(pages)} pages, {copies} of them copies\n")
    table = Table(
        "What compares", "Copies found", "Distinct pages lost", "CPU, ms a page"
    )
    for name, make in TOOLS.items():
        table.row(name, *measure(make, pages))


if __name__ == "__main__":
    main()
