"""Crawls the generated newspapers and shows which page was dropped, as a repetition of which.

Run from the project's folder: ``python -m example.demo``. The exit code is 1 when the
crawl did not drop exactly what the generator planted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.utils.project import get_project_settings
from twisted.internet.defer import Deferred

from example.site.archive import Archive
from example.site.newsroom import NEAR_DUPLICATES, Newsroom
from example.site.truth import judge
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.report.difference import difference_lines, differences
from scrapy_simhash.report.words import pad
from scrapy_simhash.rule.rule import REASONS as RULE
from scrapy_simhash.signals import near_duplicate

COLUMNS = 100
EXTRACTOR = named_recipe("default").extractor

SKIPPED = {
    "no_callback": "asked for by Scrapy itself (robots.txt)",
    "status": "answered with something else than 200",
    "other_type": "an image or an archive",
    "too_short": "too short to compare",
    "empty": "no text at all",
}
# What became of a page, in words.
CHANGES = {
    "same": "pages say what they said",
    "changed": "says something else",
    "moved": "stands under another address",
    "new": "are new",
}


@dataclass
class Crawl:
    """The result of a crawl.

    A drop is the page, its original, the distance in bits, and the reason of the rule.
    ``changes`` are the pages that became something since an earlier run, by what they
    became."""

    drops: list[tuple[str, str, int, str]] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    changes: dict[str, list[str]] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)

    def dropped(self, verdict: Any) -> None:
        """Note a near-duplicate."""
        self.drops.append(
            (verdict.key, verdict.original, verdict.distance, verdict.reason)
        )

    def scraped(self, item: Any) -> None:
        """Note a page that reached the spider."""
        self.delivered.append(item["url"])
        self.changes.setdefault(str(item.get("change")), []).append(item["url"])


def crawl(*spiders: str, again: str = "") -> list[Crawl]:
    """Run spiders beside each other, each as ``scrapy crawl`` would, with a quiet log.

    ``again`` is the one that runs once more when its first crawl has ended, on the same
    index."""
    settings = get_project_settings()
    settings.set("LOG_LEVEL", "WARNING", priority="cmdline")
    process = CrawlerProcess(settings)
    crawls = []

    def begin(spider: str, **arguments: str) -> Deferred[None]:
        crawler, done = process.create_crawler(spider), Crawl()
        if spider == again:
            crawler.settings.set(
                "SIMHASH_INDEX_URL", f"sqlite:///{folder}/index", "cmdline"
            )
        crawler.signals.connect(done.dropped, signal=near_duplicate)
        crawler.signals.connect(done.scraped, signal=signals.item_scraped)
        ended = process.crawl(crawler, **arguments)
        assert crawler.stats is not None
        # The dict that the crawl counts in.
        done.stats = crawler.stats.get_stats()
        crawls.append(done)
        return ended

    with TemporaryDirectory() as folder:
        for spider in spiders:
            ended = begin(spider)
            if spider == again:
                ended.addCallback(lambda _: begin(again, later="1"))
        process.start()
    return crawls


def table(site: Newsroom, drops: list[tuple[str, str, int, str]]) -> list[str]:
    """Return the lines of the table: each dropped page, why it was dropped, and what differs."""
    lines = [
        pad("kind", 18) + pad("dropped page", 31) + pad("repeats", 31) + "distance",
        "─" * COLUMNS,
    ]
    kinds = [
        *NEAR_DUPLICATES.values(),
        *sorted({page.kind for page in site.pages.values()}),
    ]
    said = ""
    for dropped, original, distance, reason in sorted(
        drops, key=lambda drop: (kinds.index(_kind(site, *drop[:2])), drop)
    ):
        kind = _kind(site, dropped, original)
        row = pad(kind, 18) + pad(_short(dropped), 31) + pad(_short(original), 31)
        lines.append(row + f"{distance:>3} bits")
        # One sentence decides most of them, and stands once.
        lines += [f"    {RULE[reason]}"] * (reason != said)
        said = reason
        texts = [[main_text(site, url)] for url in (original, dropped)]
        same = "    the text is the same, the template is another"
        lines += difference(*texts) or [same]
    return lines


def difference(before: list[str], after: list[str]) -> list[str]:
    """Return the parts that only one of two pages shows, a line for each."""
    return [f"    {line}" for line in difference_lines(differences(before, after), 1)]


def summary(stats: dict[str, Any]) -> list[str]:
    """Return the lines that account for every response."""

    def count(name: str) -> int:
        return int(stats.get(f"simhash/{name}", 0))

    lines = [
        f"{count('responses'):>5} responses",
        f"{count('unique'):>5} kept: nothing like them was crawled before",
        f"{count('dropped'):>5} dropped: they repeat a page that was kept",
        f"{count('revisit'):>5} kept: the same address again, which never repeats itself",
        f"{count('skipped'):>5} let through without comparing:",
    ]
    prefix = "simhash/skipped/"
    reasons = {
        name[len(prefix) :]: n for name, n in stats.items() if name.startswith(prefix)
    }
    for reason, number in sorted(reasons.items(), key=lambda pair: -pair[1]):
        lines.append(f"{number:>11} {SKIPPED.get(reason, reason)}")
    return lines


def spared(archive: Archive, done: Crawl) -> list[str]:
    """Return the lines that tell what the crawl of the archive spared, and that it lost nothing."""
    lost = set(archive.articles) - set(done.delivered)
    return [
        f"The archive: {len(archive.articles)} articles, each with a print view",
        f"{done.stats.get('simhash/spared/skipped', 0):>5} print views were not downloaded: their "
        "addresses told that they are copies",
        f"{len(done.drops):>5} print views were downloaded, and dropped",
        f"{len(archive.articles) - len(lost):>5} articles were kept, {len(lost)} lost",
    ]


def records(archive: Archive, done: Crawl) -> list[str]:
    """Return the lines that tell which small ads were kept, and what tells two of them apart."""
    one, other, *_ = archive.flats
    kept = len(archive.flats.keys() & set(done.delivered))
    near = int(done.stats.get("simhash/near_kept/own-values", 0))
    return [
        f"Small ads: {len(archive.flats)} flats, under one title and in one template",
        f"{kept:>5} were kept, though {near} of them are near another one:",
        f"    {RULE['own-values']}",
        f"    {_short(one)} and {_short(other)}",
        *difference(shown(archive, one), shown(archive, other)),
    ]


def since(archive: Archive, later: Crawl) -> list[str]:
    """Return the lines that tell what a second crawl found on the index of the first."""
    lines, now = ["The archive a month later, on the same index"], Archive(later=True)
    for change, words in CHANGES.items():
        urls = later.changes.get(change, [])
        name = f": {_short(urls[0])}" if len(urls) == 1 else ""
        lines.append(f"{len(urls):>5} {words}{name}")
        if urls == [now.changed]:
            lines += difference(shown(archive, *urls), shown(now, *urls))
        elif urls == [now.moved[1]]:
            lines.append(f"    it stood under {_short(now.moved[0])}")
    return lines


def shown(archive: Archive, url: str) -> list[str]:
    """Return the text of a page, and the lines that tell it from others."""
    answer = archive.get(url)
    assert answer is not None
    extraction = extract(HtmlResponse(url, body=answer.body).text, EXTRACTOR)
    return [extraction.text, *extraction.details]


def main_text(site: Newsroom, url: str) -> str:
    """Return the text of a page that the plugin compares."""
    text: str = extract(html(site, url), EXTRACTOR).text
    return text


def html(site: Newsroom, url: str) -> str:
    """Return a page as a browser decodes it."""
    return HtmlResponse(url, body=site.pages[url].answer.body).text


def main() -> int:
    """Crawl, print the table, and return the exit code."""
    site = Newsroom()
    print(
        f"Crawling {len(site.fronts)} made-up newspapers, {len(site.pages)} addresses ...\n"
    )
    done, of_archive, later = crawl("newsroom", "archive", again="archive")
    drops = {dropped: original for dropped, original, *_ in done.drops}
    verdict = judge(site, drops, set(done.delivered))
    print(
        "Under each drop: why, and [-what the kept page says-]{+what the dropped one says+}\n"
    )
    print(*table(site, done.drops), "", *summary(done.stats), "", sep="\n")
    archive = Archive()
    print(*spared(archive, of_archive), "", *records(archive, of_archive), "", sep="\n")
    print(*since(archive, later), "", sep="\n")
    for mistake in verdict.mistakes[:20]:
        print(f"wrong: {mistake}")
    print(
        f"{verdict.right} of {verdict.planted} planted near-duplicates dropped,"
        f" {verdict.wrong} other pages dropped"
    )
    return 1 if verdict.mistakes else 0


def _kind(site: Newsroom, dropped: str, original: str) -> str:
    # If the original came second, the page that it repeats says how they differ.
    kinds = [site.pages[dropped].kind, site.pages[original].kind]
    named = [NEAR_DUPLICATES[kind] for kind in kinds if kind in NEAR_DUPLICATES]
    return named[0] if named else kinds[0]


def _short(url: str) -> str:
    return url.removeprefix("http://")


if __name__ == "__main__":
    sys.exit(main())
