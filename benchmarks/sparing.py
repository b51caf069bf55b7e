"""What sparing by address saves, and what it loses: replays of dedup logs, and a made site.

Run as ``python benchmarks/sparing.py made``, ``replay LOG [LOG …]``, ``links RECORD …`` or
``cost``. In a replay each page of a crawl that fetched everything is asked for again in its order;
a spared one is not fetched. A distinct page is lost if none of the addresses that lead to it is
fetched. Beside that stands what the crawl itself would have said: its estimate, with the upper end
of its 95% interval. ``links`` crawls what ``sparing_crawl.py --record`` has recorded, and follows
its links: the pages that are out of reach, because nothing that was fetched links to them, show.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_simhash.url_patterns.store import Counts
from w3lib.url import canonicalize_url

from scrapy_simhash.url_patterns.learner import Forecast, Learner
from scrapy_simhash.url_patterns.table import PatternTable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import board


class Visit(NamedTuple):
    """One page of a crawl that fetched everything.

    ``page`` names what stood there: copies have the key of their original. It is empty for what
    was not compared.
    """

    url: str
    page: str
    size: int
    kind: str = ""


@dataclass
class Result:
    visits: int = 0
    spared: int = 0
    size: int = 0
    size_spared: int = 0
    copies: int = 0
    size_copies: int = 0
    size_copies_spared: int = 0
    lost: list[Visit] = field(default_factory=list)
    distinct: int = 0
    estimate: float = 0.0
    at_most: float = 0.0
    kinds: dict[str, Counter[str]] = field(default_factory=dict)


def replay(visits: Iterable[Visit], learner: Learner) -> Result:
    """Ask for the pages of a crawl again."""
    result = Result()
    first: dict[str, str] = {}  # the key of the fetched original of each page
    seen: set[str] = set()
    spared: list[Visit] = []
    for visit in visits:
        is_copy = visit.page != "" and visit.page in seen
        seen.add(visit.page)
        kind = result.kinds.setdefault(visit.kind, Counter())
        kind["copies" if is_copy else "distinct"] += bool(visit.page)
        result.visits += 1
        result.size += visit.size
        result.copies += is_copy
        result.size_copies += visit.size * is_copy
        forecast = learner.forecast(visit.url)
        if forecast.spared:
            learner.spare(forecast)
            spared.append(visit)
            kind["copies spared"] += is_copy
            result.spared += 1
            result.size_spared += visit.size
            continue
        original = first.get(visit.page)
        if visit.page and original is None:
            first[visit.page] = visit.url
        learner.record(forecast, key=visit.url, original=original, size=visit.size)
    result.distinct = len(seen - {""})
    lost = {visit.page: visit for visit in reversed(spared) if visit.page not in first}
    result.lost = list(lost.values())
    # Of each page one address is no copy: the one that was fetched, or one that was spared too.
    result.size_copies_spared = result.size_spared - sum(visit.size for visit in result.lost)
    for visit in result.lost:
        result.kinds[visit.kind]["distinct lost"] += 1
    result.estimate, result.at_most = learner.estimate.lost, learner.estimate.at_most
    return result


def read_visits(path: Path) -> Iterator[Visit]:
    """Yield the pages of a dedup log."""
    with path.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line.get("what", "page") != "page" or line.get("reason") == "status":
                continue
            page = line["original"] if line["verdict"] == "duplicate" else line["key"]
            if line["verdict"] == "skipped":
                page = ""
            yield Visit(line["url"], page, line["bytes"] or 0)


def follow(record: dict[str, Any], learner: Learner, *, depth_first: bool = False) -> None:
    """Crawl a recorded site again, spare what may be spared, and print what that was worth."""
    pages = {url: (page, size) for url, page, size in record["fetched"]}
    within, links = {*record["addresses"]}, record["links"]
    start = str(canonicalize_url(record["start"]))
    queue, seen, first = deque([start]), {start}, {}
    spared: dict[str, tuple[Forecast, int]] = {}
    drawn: dict[str, Forecast] = {}
    fetched = 0
    while queue or send_late(learner, spared, queue):
        url = queue.pop() if depth_first else queue.popleft()
        forecast = learner.forecast(url)
        if url != start and forecast.spared:
            spared[url] = forecast, learner.spare(forecast)
            continue
        fetched += 1
        forecast = drawn.pop(url, forecast)
        if url in pages:
            page, size = pages[url]
            learner.record(forecast, key=url, original=first.get(page), size=size)
            first.setdefault(page, url)
        for link in links.get(url, ()):
            if link in seen or link not in within:
                continue
            seen.add(link)
            forecast = learner.forecast(link)
            if forecast.spared:
                spared[link] = forecast, learner.spare(forecast)
                continue
            if forecast.bound:
                drawn[link] = forecast
            queue.append(link)
        if fetched % 200 == 0:
            send_late(learner, spared, queue)
    addresses: dict[str, list[str]] = {}
    for url, (page, _) in pages.items():
        addresses.setdefault(page, []).append(url)
    copies = sum(len(urls) - 1 for urls in addresses.values())
    size_copies = sum(pages[url][1] for urls in addresses.values() for url in urls[1:])
    size_spared = sum(pages[url][1] for url in spared if url in pages)
    lost = [urls for page, urls in addresses.items() if page not in first]
    beyond = [urls for urls in lost if not any(url in spared for url in urls)]
    print(
        f"  {len(pages)} pages, {len(addresses)} distinct; fetched {fetched}, spared {len(spared)} "
        f"of {copies} copies, {size_spared / max(1, size_copies):.1%} of their bytes\n"
        f"  lost {len(lost) - len(beyond)} ({(len(lost) - len(beyond)) / len(addresses):.2%}), "
        f"out of reach {len(beyond)} ({len(beyond) / len(addresses):.2%}); the crawl's estimate is "
        f"{learner.estimate.lost:.1f}, at most {learner.estimate.at_most:.1f}"
    )
    for urls in lost[:12]:
        print("   ", "out of reach" if urls in beyond else "lost", *urls[:3])


def send_late(learner: Learner, spared: dict[str, tuple[Forecast, int]], queue: deque[str]) -> bool:
    """Queue what patterns that no longer hold have spared."""
    late = [url for url, (forecast, _) in spared.items() if not learner.holds(forecast)]
    for url in late:
        learner.estimate.take_back_spared(spared.pop(url)[1])
        queue.append(url)
    return bool(late)


ITEMS = 300
# When the pages of a kind are met, the first and the last.
WHEN = {"item": (0.3, 1.3), "sort order": (0, 1), "further page of a list": (0, 1)}
WHEN |= dict.fromkeys(("session", "session in path", "print view", "utm_", "log-in"), (1.0, 3.0))
SORTS = ("price", "name", "date", "rating", "size")


def made_site(seed: int = 5) -> list[Visit]:
    """Return a crawl of a shop that has what crawlers trip over, and pages that look like it."""
    chance = random.Random(seed)

    def token() -> str:
        return hashlib.md5(chance.randbytes(8)).hexdigest()

    shop, mirror = "http://shop.test", "http://mirror.shop.test"
    names = [f"{chance.choice('abcdefghij')}-thing-{n}" for n in range(ITEMS)]
    visits = []

    def add(kind: str, url: str, page: str) -> None:
        visits.append(Visit(url, page, 20_000 + len(page), kind))

    for name in names:
        add("item", f"{shop}/item/{name}", f"item {name}")
        add("session", f"{shop}/item/{name}?PHPSESSID={token()}", f"item {name}")
        add("session in path", f"{shop}/item/{name};jsessionid={token().upper()}", f"item {name}")
        add("print view", f"{shop}/item/{name}?view=print", f"item {name}")
        source = chance.choice(["mail", "ad", "post"])
        add("utm_", f"{shop}/item/{name}?utm_source={source}&utm_medium=cpc", f"item {name}")
        add("log-in", f"{shop}/login?next=/item/{name}", "log-in")
        add("mirror", f"{mirror}/item/{name}", f"item {name}")
        add("parts list, like a print view", f"{shop}/item/{name}?view=parts", f"parts {name}")
    for category in range(60):
        for sort in SORTS:
            url = f"{shop}/list/category-{category}?sort={sort}"
            add("sort order", url, f"category {category}")
            add("sort order", f"{url}&dir=desc", f"category {category}")
        for number in range(2, 6):
            url = f"{shop}/list/category-{category}?page={number}"
            add("further page of a list", url, f"category {category} {number}")
    for year, month, day in (
        (y, m, d) for y in (2023, 2024) for m in range(1, 13) for d in range(1, 29)
    ):
        page = f"day {month} {day}" if day == month and year == 2023 else "an empty day"
        add("calendar", f"{shop}/calendar?year={year}&month={month}&day={day}", page)
        url = f"{shop}/news/{year}/{month:02d}/{day:02d}"
        add("news of a day, like a calendar", url, f"news {year} {month} {day}")
    for color in range(12):
        for brand in range(15):
            for size in range(3):
                page = f"found {color} {brand}" if (color + brand) % 4 == 0 else "nothing found"
                url = f"{shop}/search?color=c{color}&brand=b{brand}&size=s{size}"
                add("faceted search", url, page)
    for number in range(300):
        add("document behind a token", f"{shop}/doc?sid={token()}", f"document {number}")
        url = f"{shop}/story?id={number}&utm_source=feed"
        add("story with utm_ only", url, f"story {number}")
        url = f"{mirror}/press/{number}"
        add("page of the mirror alone", url, f"press {number}")
    for number in range(400):
        add("not found with 200", f"{shop}/old/{token()[:6]}{number}.html", "not found")
    # Breadth first: lists, then items, then what items link to, while all else goes on.
    of_kind = Counter(visit.kind for visit in visits)
    met: Counter[str] = Counter()
    order = []
    for at, visit in enumerate(visits):
        starts, ends = WHEN.get(visit.kind, (0.5, 3.0))
        met[visit.kind] += 1
        share = met[visit.kind] / of_kind[visit.kind]
        order.append((starts + (ends - starts) * share + chance.random() / 50, at))
    return [visits[at] for _, at in sorted(order)]


def show(name: str, result: Result, most: int = 8) -> None:
    share = result.size_copies_spared / max(1, result.size_copies)
    print(
        f"{name}: {result.visits} pages, {result.copies} copies, {result.distinct} distinct\n"
        f"  spared {result.spared} downloads ({result.spared / max(1, result.visits):.1%}), "
        f"{result.size_spared / max(1, result.size):.1%} of the bytes, "
        f"{share:.1%} of the bytes of the copies\n"
        f"  lost {len(result.lost)} distinct pages "
        f"({len(result.lost) / max(1, result.distinct):.2%}); "
        f"the crawl's estimate is {result.estimate:.1f}, at most {result.at_most:.1f}"
    )
    if len(result.kinds) > 1:
        print(f"  {'':<32} copies  spared  distinct  lost")
        for kind, counts in result.kinds.items():
            print(
                f"  {kind:<32} {counts['copies']:>6} {counts['copies spared']:>7}"
                f" {counts['distinct']:>9} {counts['distinct lost']:>5}"
            )
    for visit in result.lost[:most]:
        print(f"  lost {visit.url}")


def cost() -> None:
    """Print the time of a look-up, and the memory of a million signatures."""
    learner = Learner()
    visits = made_site()
    replay(visits, learner)
    started = time.process_time()
    for visit in visits:
        learner.forecast(visit.url)
    print(f"look-up: {(time.process_time() - started) / len(visits) * 1e6:.1f} us")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = PatternTable(most_hosts=10_000, most=10_000_000)
    for host in range(2000):
        rows = table.of(f"www.site-{host}.test")
        for n in range(500):
            signature = f"/section{n % 25}/page{n % 5}.php?a{n // 5}=*&title=*&view={n % 3}"
            rows.add(signature, Counts(3, 2, 4, 0, 30_000 + n))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{2000 * 500:,} signatures: {used / 1000:.0f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("made", "replay", "links", "board", "cost"))
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG")
    parser.add_argument("--share", type=float, default=0.05, help="fetched all the same")
    options = parser.parse_args()
    if options.what == "cost":
        cost()
        return 0
    if options.what in ("links", "board"):
        records = {str(path): json.loads(path.read_text()) for path in options.logs}
        if options.what == "board":
            records = {f"board ({style})": board.record(style) for style in board.STYLES}
        for name, record in records.items():
            for depth_first in (False, True):
                print(f"{name}, {'depth' if depth_first else 'breadth'} first:")
                follow(record, Learner(options.share), depth_first=depth_first)
        return 0
    crawls = {str(log): list(read_visits(log)) for log in options.logs} or {"made": made_site()}
    for name, visits in crawls.items():
        show(name, replay(visits, Learner(options.share)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
