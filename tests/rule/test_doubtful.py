"""Which copies may be records."""

from __future__ import annotations

import pytest

from scrapy_simhash import Document, SyncDedup
from tests.pages import article, edited, html

TEXT = article(1, 900) + " It costs £146 here."


@pytest.mark.parametrize(
    ("after", "doubtful"),
    [
        (TEXT.replace("146", "74"), True),
        (TEXT, False),
        (article(1, 900), False),
        (edited(TEXT, 3, 0.02).replace("146", "74"), False),
    ],
    ids=["another number", "the same", "no number", "other sentences as well"],
)
def test_a_copy_is_doubtful_if_each_page_has_another_number_among_one_text(
    after: str, doubtful: bool
) -> None:
    with SyncDedup(processes=0) as dedup:
        dedup.check(Document("http://a.example/1", html(TEXT)))
        verdict = dedup.check(Document("http://b.test/2", html(after)), wait=False)
    assert (verdict.kind, verdict.doubtful) == ("duplicate", doubtful)
