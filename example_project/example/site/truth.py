"""Compares a crawl of the newsroom with what the generator knows."""

from __future__ import annotations

from dataclasses import dataclass

from example.site.newsroom import Newsroom

# A redirect leads on, a missing page has nothing to deliver.
_NOTHING_TO_DELIVER = {"redirect", "missing"}


@dataclass(frozen=True)
class Judgement:
    """How many near-duplicates were planted and rightly dropped, and what went wrong.

    Attributes:
        mistakes: one sentence for each page dropped wrongly, kept twice, or lost.
    """

    planted: int
    right: int
    wrong: int
    mistakes: list[str]


def judge(site: Newsroom, drops: dict[str, str], delivered: set[str]) -> Judgement:
    """Compare a crawl with the truth.

    Which page of a cluster comes first is up to the crawl, so the truth is by cluster:
    exactly one of its pages is delivered, each other one is dropped as a repetition of
    one of them.

    Args:
        site: the generator of the crawled pages.
        drops: for each dropped page, the page it is said to repeat.
        delivered: the pages that reached the spider.
    """
    mistakes = []
    right = 0
    for dropped, original in drops.items():
        cluster = site.pages[dropped].cluster
        if cluster and site.pages[original].cluster == cluster:
            right += 1
        else:
            mistakes.append(
                f"{dropped} was dropped as {original}, which it does not repeat"
            )
    wrong = len(mistakes)
    clusters = site.clusters()
    for cluster, urls in clusters.items():
        kept = urls & delivered
        if len(kept) != 1:
            mistakes.append(
                f"{len(kept)} pages were kept of the {len(urls)} like {cluster}"
            )
    for page in site.pages.values():
        if page.kind in _NOTHING_TO_DELIVER:
            continue
        if page.url not in delivered and page.url not in drops:
            mistakes.append(f"{page.url} was lost")
    planted = sum(len(urls) - 1 for urls in clusters.values())
    return Judgement(planted, right, wrong, mistakes)
