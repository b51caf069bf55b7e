"""Small sites on two days or more, each with one thing that happens to sites between two crawls.

``python -m benchmarks.recrawl_lines [PART OF A NAME …]``. Each day is a crawl over HTTP in a
process of its own, from the front page by its links, on one index. Beside the last day stands the
same crawl without the filter: a page is lost if that delivers it, and neither it nor a page with
the same words is delivered with the filter. The truth about a change comes from the words and the
addresses of the day before. Names of hosts are those of requests to a proxy, which serves them all.
"""

from __future__ import annotations

import os
import random
import ssl
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.recrawl import content, crawl
from scrapy_simhash.index import open_existing
from tests.conftest import Answer, Site
from tests.pages import article, edited, html
from tests.servers.certificate import make_certificate
from tests.servers.single import free_port

Pages = dict[str, bytes | Answer]
HOST = "http://blog.test"


def post(number: int, *, top: str = "", text: str = "") -> bytes:
    return html(text or article(number), title=f"Post {number}", top=top)


def listing(title: str, teasers: str, *links: str) -> bytes:
    return html(teasers, title=title, links=links)


def teasers(numbers: Any) -> str:
    return ". ".join(article(number, 60) for number in numbers)


def posts(numbers: Any, host: str = HOST, prefix: str = "/post-") -> Pages:
    """Return posts, and a front page that links to them."""
    pages: Pages = {f"{host}{prefix}{number}": post(number) for number in numbers}
    paths = [urlsplit(url).path for url in pages]
    return {f"{host}/": listing("The front page", article(1000), *paths), **pages}


def shifted_list() -> Iterator[Pages]:
    """A blog of 100 posts whose list shifts by ten posts."""
    for newest in (100, 110):
        pages: Pages = {f"{HOST}/post-{number}": post(number) for number in range(newest)}
        for start in range(0, newest, 10):
            shown = range(newest - start - 1, newest - start - 11, -1)
            links = [f"/post-{number}" for number in shown]
            if start + 10 < newest:
                links.append(f"/page/{start // 10 + 2}/")
            path = f"/page/{start // 10 + 1}/" if start else "/"
            pages[HOST + path] = listing("Blog", teasers(shown), *links)
        yield pages


def new_topics() -> Iterator[Pages]:
    """A forum of 8 boards that get 20 new topics each, and 160 old ones with their print views."""
    for newest in (20, 40):
        boards = [f"/board/{board}" for board in range(8)]
        pages: Pages = {f"{HOST}/": listing("Forum", article(1000), *boards)}
        for board, path in enumerate(boards):
            topics = [100 * board + topic for topic in range(newest - 1, -1, -1)]
            views = [f"/topic/{topic}{view}" for topic in topics for view in ("", "?print=1")]
            pages[HOST + path] = listing(f"Board {board}", teasers(topics), *views)
            for topic in topics:
                pages[f"{HOST}/topic/{topic}"] = post(topic, top="<nav>Reply, share</nav>")
                pages[f"{HOST}/topic/{topic}?print=1"] = post(topic, top="<nav>Printed</nav>")
        yield pages


def https_for_http() -> Iterator[Pages]:
    """A site that speaks https where it spoke http."""
    host = f"127.0.0.1:{free_port()}"
    for scheme in ("http", "https"):
        yield posts(range(6), f"{scheme}://{host}")


def bare_host_to_www() -> Iterator[Pages]:
    """A bare host that redirects to www."""
    yield posts(range(6))
    www = posts(range(6), "http://www.blog.test")
    bare: Pages = {url.replace("www.", ""): (301, {"Location": url}, b"") for url in www}
    yield bare | www


def renamed_paths() -> Iterator[Pages]:
    """A blog whose 30 posts get other paths."""
    yield posts(range(30))
    yield posts(range(30), prefix="/blog/")


def redirected_paths() -> Iterator[Pages]:
    """A blog whose 30 addresses redirect to new ones."""
    pages = posts(range(30))
    yield pages
    later = posts(range(30), prefix="/blog/") | {f"{HOST}/": pages[f"{HOST}/"]}
    old: Pages = {url: (301, {"Location": url.replace("post-", "blog/")}, b"") for url in pages}
    yield old | later


def original_is_gone() -> Iterator[Pages]:
    """A post that answers with 404, while a copy of it lives."""
    pages = posts(range(3)) | {f"{HOST}/copy": post(0)}
    # The copy is found after the post.
    pages[f"{HOST}/post-1"] = html(article(1), title="Post 1", links=("/post-2",))
    pages[f"{HOST}/post-2"] = html(article(2), title="Post 2", links=("/copy",))
    yield pages
    yield {url: body for url, body in pages.items() if not url.endswith("/post-0")}


def edits() -> Iterator[Pages]:
    """A blog with 16 edited, 10 rewritten, 8 new, 8 removed and 226 untouched posts."""
    yield posts(range(260))
    pages = posts([*range(252), *range(300, 308)])
    for number in range(16):
        text = edited(article(number), number, 0.01 + 0.005 * number)
        pages[f"{HOST}/post-{number}"] = post(number, text=text)
    for number in range(16, 26):
        pages[f"{HOST}/post-{number}"] = post(number, text=article(500 + number))
    yield pages


def daily_front_page() -> Iterator[Pages]:
    """A front page that changes daily, through ten crawls."""
    chance = random.Random(46)
    pages = posts(range(5))
    links = [urlsplit(url).path for url in pages]
    for day in range(10):
        text = teasers(chance.sample(range(2000, 2200), 6))
        yield pages | {f"{HOST}/": listing(f"Day {day}", text, *links)}


CASES: tuple[Callable[[], Iterator[Pages]], ...] = (
    shifted_list,
    new_topics,
    https_for_http,
    bare_host_to_www,
    renamed_paths,
    redirected_paths,
    original_is_gone,
    edits,
    daily_front_page,
)


def served(pages: Pages, folder: Path, **settings: Any) -> tuple[list[dict[str, Any]], int]:
    """Crawl pages; return the items, and how many downloads that took."""
    base, _, rest = next(iter(pages)).partition("//")
    host = rest.partition("/")[0]
    if base == "https:":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = make_certificate(folder)
        context.load_cert_chain(certificate, f"{certificate}.key")
        site = Site(int(host.rpartition(":")[2]), context)
        # No proxy stands before it, so it is asked for paths.
        site.pages = {urlsplit(url).path: body for url, body in pages.items()}
    else:
        site = Site()
        site.pages = dict(pages)
        os.environ["http_proxy"] = site.url
    with closing(site):
        return crawl(f"{base}//", [f"{host}/"], "/", **settings), site.hits.total()


def measure(days: Iterator[Pages], folder: Path) -> str:
    """Crawl some days; return a row about the last one."""
    index_url = f"sqlite:///{folder}/index.sqlite"
    before: dict[str, str] = {}
    *earlier, last = days
    for pages in earlier:
        items, first_downloads = served(pages, folder, SIMHASH_INDEX_URL=index_url)
        before = {url: _words(pages, url) for url in _urls(items, pages)}
    items, downloads = served(last, folder, SIMHASH_INDEX_URL=index_url)
    whole, whole_downloads = served(last, folder, SIMHASH_ENABLED=False)
    words = {url: _words(last, url) for url in _urls(whole, last)}
    told = dict(zip(_urls(items, last), (item["change"] for item in items), strict=True))
    known = {words[url] for url in told}
    lost = {url for url in words.keys() - told if words[url] not in known}
    # An address that has another text now says nothing of its old one any more.
    old = {text for url, text in before.items() if words.get(url, text) == text}
    truth = {url: "moved" if words[url] in old else "new" for url in told}
    for url in told.keys() & before.keys():
        truth[url] = "same" if before[url] == words[url] else "changed"
    wrong = {url for url in told if told[url] != truth[url]}
    with closing(open_existing(index_url)) as index:
        pages_in_index, missing = len(index), index.missing_count(index.runs()[-1].number)
    changes = ", ".join(f"{number} {change}" for change, number in Counter(told.values()).items())
    if lost or wrong:
        print(f"lost: {sorted(lost)[:9]}, told wrongly: {sorted(wrong)[:9]}")
    return (
        f"{first_downloads} | {downloads} of {whole_downloads} | {len(told)} of {len(words)} | "
        f"{len(set(words.values()))} | {len(lost)} | {changes}, {missing} missing | {len(wrong)} | "
        f"{pages_in_index}"
    )


def _urls(items: list[dict[str, Any]], pages: Pages) -> list[str]:
    base = next(iter(pages)).partition("//")[0]
    return [f"{base}//{item['path']}" for item in items]


def _words(pages: Pages, url: str) -> str:
    body = pages[url]
    assert isinstance(body, bytes)
    return content(body)


def main() -> None:
    print("| What happens between two days | downloads on the first | on the last, of those without"
          " the filter | pages delivered | texts | lost | told | wrongly | pages in the index |\n|"
          + " --- |" * 9)  # fmt: skip
    for days in CASES:
        if any(part in days.__name__ for part in sys.argv[1:] or ("",)):
            with tempfile.TemporaryDirectory() as folder:
                row = measure(days(), Path(folder))
            print(f"| {(days.__doc__ or '').strip('.')} | {row} |", flush=True)


if __name__ == "__main__":
    main()
