"""The crawl of a real documentation site, in three releases, against its labels."""

from __future__ import annotations

import pytest

from benchmarks import docs_crawl
from benchmarks.docs_crawl import crawl_docs, read_labels, score

needs_data = pytest.mark.skipif(
    not docs_crawl.DATA.is_dir(), reason="needs ../shared/data/docs-html beside the checkout"
)


def test_a_drop_is_right_false_or_left_out_by_its_label() -> None:
    """The score follows the printed definitions, whichever page of a pair was dropped."""
    labels = {("a", "b"): "duplicate", ("c", "d"): "duplicate", ("e", "f"): "ambiguous"}

    result = score([("b", "a", 3), ("e", "f", 40), ("x", "y", 47)], labels)

    assert (result.right, result.ambiguous, result.false) == (1, 1, [("x", "y", 47)])
    assert (result.labelled, result.missed) == (2, [("c", "d")])
    assert (result.precision, result.recall) == (0.5, 0.5)


@pytest.fixture(scope="module")
def crawl() -> docs_crawl.Crawl:
    return crawl_docs()


@needs_data
def test_every_response_is_accounted_for(crawl: docs_crawl.Crawl) -> None:
    """Unique, duplicate, revisit and skipped add up to the 2,303 pages; robots.txt is none."""
    counts = {
        name: crawl.stats.get(f"simhash/{name}", 0)
        for name in ("unique", "duplicate", "revisit", "skipped")
    }
    assert crawl.stats["simhash/responses"] == sum(counts.values()) == 2303
    robots = crawl.stats["robotstxt/response_count"]
    assert crawl.stats["downloader/response_count"] == 2303 + robots
    assert counts["duplicate"] == crawl.stats["simhash/followed"] == len(crawl.drops)
    assert crawl.stats["item_scraped_count"] == 2303 - counts["duplicate"]


@needs_data
def test_the_log_has_no_error(crawl: docs_crawl.Crawl) -> None:
    """Real pages crawled over HTTP log no error and no traceback."""
    assert crawl.errors == []
    assert crawl.stats["finish_reason"] == "finished"


@needs_data
def test_the_drops_agree_with_the_labels(crawl: docs_crawl.Crawl) -> None:
    """No drop is false, and few labelled duplicates stay: pages with something of their own do."""
    result = score(crawl.drops, read_labels())
    assert result.false == []
    assert result.recall >= 0.96
