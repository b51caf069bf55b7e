"""The analysis threads: every page gets its own answer, and equal bodies are analysed once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.analysis import pool as analysis_module
from scrapy_simhash.analysis.pool import AnalysisThreads, Job
from scrapy_simhash.analysis.worker import Body, analyse_body
from scrapy_simhash.detector import NearDuplicateDetector, PageAnalysis, analyse_text
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import index_from_url
from tests.pages import article, edited, html

RECIPE = named_recipe("default")
LINKS = b"".join(b"<li><a href=/%d>Number %d</a></li>" % (n, n) for n in range(40))
SHORT = b"<p>A few words.</p>"
BODIES = [html(article(1)), html(edited(article(1), 2)), html(article(3)), LINKS, SHORT, b""]
PAGES = st.builds(
    Body,
    st.sampled_from(BODIES),
    st.sampled_from([None, "utf-8", "gbk"]),
    st.sampled_from(["http://a.example/1", "http://a.example/2", "http://b.example/", None]),
)


def analysed(
    jobs: list[Job], processes: int = 0, recipe: Any = RECIPE
) -> tuple[list[PageAnalysis | Exception], int]:
    """Return what becomes of each job, and how many bodies had been seen before."""
    threads = AnalysisThreads(recipe, processes=processes, timeout=10)
    found: dict[int, PageAnalysis | Exception] = {}
    for number, job in enumerate(jobs):
        threads.analyse(job, partial(found.__setitem__, number))
    threads.close()
    return [found[number] for number in range(len(jobs))], threads.take_repeats()


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_each_job_gets_its_own_answer(processes: int) -> None:
    pages = [Body(html(article(seed)), None, "http://a.example/") for seed in range(9)]
    text = partial(analyse_text, article(20), RECIPE)
    found, _ = analysed([*pages[:4], text, *pages[4:]], processes)
    assert found.pop(4) == text()
    assert found == [analyse_body(*page, RECIPE) for page in pages]


@pytest.mark.parametrize("processes", [0, 1])
def test_extractor_that_fails_is_reported_and_the_rest_is_answered(processes: int) -> None:
    recipe = replace(RECIPE, extractor="tests.analysis.test_pool.picky")
    pages: list[Job] = [Body(body, None, None) for body in (b"good", b"bad", b"good!")]
    found, _ = analysed(pages, processes, recipe)
    assert isinstance(found[1], Exception)
    assert "no idea" in str(found[1])
    assert isinstance(found[0], PageAnalysis)
    assert isinstance(found[2], PageAnalysis)


def picky(html: str) -> str:
    if html == "bad":
        raise RuntimeError("no idea")
    return article(1)


@pytest.mark.parametrize("processes", [0, 1])
def test_equal_bodies_are_analysed_once_whatever_their_address(processes: int) -> None:
    body = html(article(1))
    # More pages between them than a process has ahead.
    between = [Body(html(article(seed)), None, None) for seed in range(2, 6)]
    pages = [Body(body, None, "http://a.example/"), *between, Body(body, None, "http://b.example/")]
    found, repeats = analysed([*pages], processes)
    assert found[0] == found[-1]
    assert repeats == 1


def test_equal_bodies_of_other_charsets_are_other_pages() -> None:
    letters = bytes(range(0xE0, 0x100))
    body = b"<p>" + b" ".join(letters[at : at + 9] for at in range(20)) * 4
    found, repeats = analysed([Body(body, charset, None) for charset in ("cp1251", "cp1253")])
    assert found[0] != found[1]
    assert repeats == 0


@settings(max_examples=25)
@given(st.lists(PAGES, max_size=8))
def test_verdicts_are_those_of_a_filter_that_remembers_nothing(pages: list[Body]) -> None:
    def verdicts(analyses: list[PageAnalysis | Exception]) -> list[Any]:
        index = index_from_url("memory://", recipe=RECIPE.identity, bits=256, distance=48)
        with NearDuplicateDetector(RECIPE, index) as detector:
            return [
                detector.judge(analysis, key=str(number))
                for number, analysis in enumerate(analyses)
                if isinstance(analysis, PageAnalysis)
            ]

    remembering, _ = analysed([*pages])
    assert remembering == [analyse_body(*page, RECIPE) for page in pages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis_module, "REMEMBERED", 0)
        forgetful, repeats = analysed([*pages])
    assert repeats == 0
    assert verdicts(remembering) == verdicts(forgetful)


@pytest.mark.parametrize("body", [LINKS, SHORT])
def test_page_that_only_its_host_can_repeat_is_analysed_each_time(body: bytes) -> None:
    _, repeats = analysed([Body(body, None, "http://a.example/")] * 2)
    assert repeats == 0


def test_bodies_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_module, "REMEMBERED", 2)
    pages = [Body(html(article(seed)), None, None) for seed in range(3)]
    _, repeats = analysed([*pages, pages[2], pages[1], pages[0], pages[1]])
    # The first was forgotten for the third, and comes in place of the third.
    assert repeats == 3
