"""Which copies may be records."""

from __future__ import annotations

import pytest

from scrapy_simhash import Document, SyncDedup
from tests.pages import article, edited, html


@pytest.mark.parametrize(
    ("before", "after", "doubtful"),
    [
        (" It costs £146 here.", " It costs £74 here.", True),
        (" It costs £146 here.", " It costs £146 here.", False),
        (" It costs £146 here.", "", False),
    ],
)
def test_a_copy_is_doubtful_if_each_page_has_another_number(
    before: str, after: str, doubtful: bool
) -> None:
    with SyncDedup(processes=0) as dedup:
        dedup.check(Document("http://a.example/1", html(article(1, 900) + before)))
        page = Document("http://b.test/2", html(article(1, 900) + after))
        verdict = dedup.check(page, wait=False)
    assert (verdict.kind, verdict.doubtful) == ("duplicate", doubtful)


def test_a_copy_with_other_sentences_is_no_record() -> None:
    text = article(1, 900) + " It costs £146 here."
    with SyncDedup(processes=0) as dedup:
        dedup.check(Document("http://a.example/1", html(text)))
        other = html(edited(text, 3, 0.02).replace("146", "74"))
        verdict = dedup.check(Document("http://b.test/2", other), wait=False)
    assert (verdict.kind, verdict.doubtful) == ("duplicate", False)
