"""Pages in progress: which are delivered, which have failed, and which are neither yet."""

from __future__ import annotations

from scrapy import Request

from scrapy_simhash.crawl.progress import Progress


def test_page_is_settled_with_the_last_of_its_parts() -> None:
    progress = Progress()
    progress.begin_page("page", Request("http://a.example/"))
    progress.begin("page")
    progress.end("page", failed=False)
    assert progress.take_settled() == ([], [])
    assert "page" in progress
    progress.end("page", failed=False)
    assert progress.take_settled() == ([], ["page"])
    assert "page" not in progress
    assert progress.take_settled() == ([], [])


def test_page_fails_with_any_of_its_parts() -> None:
    progress = Progress()
    progress.begin("page")
    progress.begin("page")
    progress.end("page", failed=True)
    progress.end("page", failed=False)
    assert progress.take_settled() == (["page"], [])


def test_failed_page_is_released_though_it_is_in_progress_again() -> None:
    """It may have come with another text, and copies wait on the one that failed."""
    progress = Progress()
    progress.begin("page")
    progress.end("page", failed=True)
    progress.begin("page")
    assert progress.take_settled() == (["page"], [])
    progress.abandon("page")
    progress.end("page", failed=False)
    assert progress.take_settled() == (["page"], ["page"])


def test_delivered_page_is_confirmed_once_nothing_of_its_key_is_in_progress() -> None:
    progress = Progress()
    progress.begin("page")
    progress.end("page", failed=False)
    progress.begin("page")
    assert progress.take_settled() == ([], [])
    progress.end("page", failed=True)
    assert progress.take_settled() == (["page"], ["page"])


def test_page_that_never_arrives_at_its_callback_has_failed() -> None:
    progress = Progress()
    here, lost, arrived = (Request(f"http://a.example/{n}") for n in range(3))
    for request in (here, lost, arrived):
        progress.begin_page(request.url, request)
    progress.arrived(arrived.url, arrived)
    progress.end_lost({here})
    assert progress.take_settled() == ([lost.url], [])
    progress.end_all()
    assert progress.take_settled() == ([here.url, arrived.url], [])
