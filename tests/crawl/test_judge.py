"""The way of a page to its verdict: a body that was seen before is not analysed, and told right."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings

from scrapy_simhash.analysis import pool as analysis_module
from scrapy_simhash.analysis.worker import Body
from scrapy_simhash.crawl.bodies import body_digest
from scrapy_simhash.crawl.judge import Judge
from scrapy_simhash.crawl.progress import Deliveries
from scrapy_simhash.detector import Verdict
from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import Index, StoreUnavailable, buckets, index_from_url
from scrapy_simhash.settings import FilterSettings
from tests import servers
from tests.crawl.test_crawl import ONE_AT_A_TIME, Pages, paths
from tests.pages import article, edited, html

RECIPE = named_recipe("default")
LINKS = b"".join(b"<li><a href=/%d>Number %d</a></li>" % (n, n) for n in range(40))
SHORT = b"<p>A few words.</p>"
TEXTS = [article(1), edited(article(1), 2)]
BODIES = [*map(html, TEXTS)]

T = TypeVar("T")

extracted: list[str] = []


def counting(text: str) -> Extraction:
    """An extractor that notes what it is given."""
    extracted.append(text)
    return extract(text, "prose")


@pytest.fixture(autouse=True)
def nothing_extracted() -> None:
    extracted.clear()


def opened(layout: Layout | None = None) -> Index:
    return index_from_url("memory://", recipe=RECIPE.identity, bits=256, distance=48, layout=layout)


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of its own, which takes the place of no other."""
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(work)


class Court:
    """Has pages judged one after the other, by a judge that analyses in a thread."""

    def __init__(self, index: Index, **changed: Any) -> None:
        self.index = index
        values = {"SIMHASH_EXTRACTOR": "tests.crawl.test_judge.counting", "SIMHASH_PROCESSES": 0}
        about = FilterSettings.from_settings(Settings({**values, **changed}))
        self.deliveries = Deliveries(index, items=False)
        self.judge = Judge(about, index, self.deliveries)

    def verdict(self, body: bytes, key: str, scope: str = "", url: str | None = "") -> Verdict:
        page = Body(body, "utf-8", key if url == "" else url)

        async def ask() -> Verdict:
            return await self.judge.ask(page, key=key, scope=scope, request="{}")

        verdict = finished(ask())
        # What is noted of its body is noted after it was answered.
        self.judge.run(lambda: None).result()
        return verdict


@pytest.fixture
def court(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Court]]:
    """Opens courts that remember nothing but what their index does."""
    monkeypatch.setattr(analysis_module, "REMEMBERED", 0)
    made: list[Court] = []

    def make(index: Index, **changed: Any) -> Court:
        made.append(Court(index, **changed))
        return made[-1]

    yield make
    for one in made:
        one.judge.close()


def told(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.kind, verdict.original, verdict.distance, verdict.reason, verdict.fingerprint


def test_body_that_the_index_remembers_is_judged_without_an_extraction(court: Any) -> None:
    index = opened()
    one = court(index)
    first = one.verdict(BODIES[0], "http://a.example/")
    again = one.verdict(BODIES[0], "http://b.example/")
    assert (again.original, again.distance) == ("http://a.example/", 0)
    assert again.fingerprint == first.fingerprint
    assert one.verdict(BODIES[0], "http://a.example/").kind == "revisit"
    assert len(extracted) == 1
    assert one.judge.take_repeats() == 2
    assert one.judge.take_repeats() == 0


def test_copy_that_is_just_like_its_original_is_remembered_and_other_copies_are_not(
    court: Any,
) -> None:
    """Without margins, an original that is some bits away may not be found."""
    one = court(opened())
    one.verdict(BODIES[0], "a")
    for body, count in ((BODIES[0] + b"<!-- from a mirror -->", 1), (BODIES[1], 3)):
        extracted.clear()
        assert {one.verdict(body, key).original for key in "bcd"} == {"a"}
        assert len(extracted) == count
        assert one.index.census().bodies == 2


@pytest.mark.parametrize("body", [LINKS, SHORT])
def test_body_whose_verdict_depends_on_its_address_is_not_remembered(
    court: Any, body: bytes
) -> None:
    one = court(opened())
    verdicts = [one.verdict(body, f"http://{host}.example/") for host in "ab"]
    assert len(extracted) == 2
    assert one.judge.take_repeats() == 0
    assert body is LINKS or verdicts[1].kind == "unique"


@pytest.mark.parametrize("what", ["scope", "declared", "minimum length", "seed", "body"])
def test_digest_stands_for_all_that_a_verdict_depends_on(what: str) -> None:
    page, scope, recipe = Body(b"abc" * 1000, "utf-8", "http://a.example/"), "a", RECIPE
    mine = body_digest(page, scope, recipe)
    assert len(mine) == 8
    assert mine == body_digest(page._replace(url="http://b.example/"), scope, recipe)
    if what == "scope":
        scope = "b"
    elif what == "declared":
        page = page._replace(declared="gbk")
    elif what == "minimum length":
        recipe = replace(recipe, min_length=200)
    elif what == "seed":
        recipe = replace(recipe, seed="secret")
        other = body_digest(page, scope, replace(recipe, seed="another"))
        assert other != body_digest(page, scope, recipe)
    else:
        page = page._replace(body=page.body + b" ")
    assert body_digest(page, scope, recipe) != mine


def test_index_is_not_asked_where_it_could_not_answer_in_full(court: Any, tmp_path: Any) -> None:
    """It has no excerpts for the log, and no margins for an item that waits."""
    with_log = {"SIMHASH_LOG": str(tmp_path / "log.jsonl")}
    for changed, url in (with_log, ""), ({}, None):
        extracted.clear()
        one = court(opened(), **changed)
        verdicts = [one.verdict(BODIES[0], key, url=url) for key in "ab"]
        assert len(extracted) == 2
        assert bool(verdicts[1].excerpt) == bool(changed)
    extracted.clear()
    one = court(opened(), SIMHASH_LOG_TEXT=0, **with_log)
    assert [one.verdict(BODIES[0], key).kind for key in "ab"] == ["unique", "duplicate"]
    assert len(extracted) == 1


@cache
def hard_pair() -> tuple[Layout, list[str]]:
    """A layout and two texts that are near, which it finds by their margins only."""
    layout = Layout(256, 2, 16, 300, 48)
    for seed in range(1, 100):
        texts = [article(seed), edited(article(seed), seed, 0.06)]
        own, other = map(RECIPE.fingerprint, texts)

        def meet(page: Any, first: Any = own) -> bool:
            places = {block << 16 | at for block, at in zip(*layout.probe(page), strict=True)}
            exact = zip(*layout.probe(replace(first, margins=None)), strict=True)
            return bool(places & {b << 16 | at for b, at in list(exact)[: layout.blocks]})

        if meet(other) and not meet(replace(other, margins=None)):
            return layout, texts
    raise AssertionError("no such pair")


def never_scan(patch: pytest.MonkeyPatch) -> None:
    """Have an index in RAM look into its buckets alone, however few its entries are."""
    candidates = buckets._Buckets.candidates
    patch.setattr(buckets, "SCAN_LIMIT", {256: 0})
    patch.setattr(
        buckets._Buckets, "candidates", lambda own, fp, k, most: candidates(own, fp, k, 1 << 30)
    )


def test_page_whose_original_has_gone_is_analysed_after_all(
    court: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And found to repeat what came in its place, for which it takes margins."""
    layout, texts = hard_pair()
    never_scan(monkeypatch)
    index = opened(layout=layout)
    one = court(index)
    one.verdict(html(texts[1]), "gone")
    index.remove("gone")
    assert one.verdict(html(texts[0]), "new").kind == "unique"
    index.confirm(["new"])
    again = one.verdict(html(texts[1]), "copy")
    assert (again.kind, again.original) == ("duplicate", "new")
    assert again.distance
    assert [entry.key for entry in index] == ["new"]
    assert one.judge.take_repeats() == 0


def test_nothing_is_lost_when_a_page_is_withdrawn_to_be_analysed(court: Any) -> None:
    """A page that waited on an original that had expired in its way is crawled again."""
    index = opened()
    one = court(index)
    one.verdict(BODIES[0], "a")
    index.release(["a"])
    before = index.claim("old", RECIPE.fingerprint(TEXTS[1]), request="old")
    index.claim("waits", RECIPE.fingerprint(TEXTS[1]), request="waits")
    index.lease = -1.0
    index.renew(["old"])
    index.lease = 60.0
    assert before.matches == ()
    assert one.verdict(BODIES[0], "b").kind == "unique"
    assert [page.key for page in one.deliveries.take_handed_back()] == ["waits", "old"]


HERE = "http://a.example/1"
STEPS = st.lists(
    st.tuples(
        st.sampled_from(range(3)),
        st.sampled_from([HERE, "http://a.example/2", "http://b.example/"]),
        st.sampled_from(["", "x"]),
        st.sampled_from(["confirm", "release", "remove"]),
    ),
    min_size=3,
    max_size=15,
)


@settings(max_examples=60)
@given(STEPS)
@example([(0, HERE, "", "release"), (1, HERE, "", "confirm"), (0, HERE, "", "confirm")])
def test_verdicts_are_those_of_an_index_that_remembers_no_body(
    steps: list[tuple[int, str, str, str]],
) -> None:
    """Whatever becomes of the originals meanwhile; with buckets, where margins are needed."""
    layout, texts = hard_pair()
    bodies = [*map(html, texts), LINKS]

    def verdicts(remembers: bool) -> list[Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(analysis_module, "REMEMBERED", 0)
            never_scan(patch)
            index = opened(layout=layout)
            if not remembers:
                patch.setattr(index, "note_bodies", lambda bodies: None)
            one = Court(index)
            found = []
            for body, key, scope, then in steps:
                found.append(told(one.verdict(bodies[body], key, scope)))
                getattr(index, then)(key if then == "remove" else [key])
            found.append([(entry.key, entry.fingerprint, entry.scope) for entry in index])
            one.judge.close()
            return found

    assert verdicts(remembers=True) == verdicts(remembers=False)


@pytest.mark.parametrize("error", [StoreUnavailable("the store is away"), KeyError("a fault")])
def test_memory_that_fails_costs_no_page_its_verdict(
    court: Any, monkeypatch: Any, caplog: Any, error: Exception
) -> None:
    caplog.set_level(logging.DEBUG, "scrapy_simhash")

    def fails(bodies: Any) -> Any:
        raise error

    index = opened()
    one = court(index)
    for name in ("find_bodies", "note_bodies"):
        monkeypatch.setattr(index, name, fails)
    assert [one.verdict(BODIES[0], key).kind for key in "ab"] == ["unique", "duplicate"]
    assert len(extracted) == 2
    # Each time, and the thread goes on with what else is waiting.
    assert caplog.text.count("bodies are not looked up") == 2
    assert caplog.text.count("bodies are not noted") == 2


def test_pages_asked_about_together_are_looked_up_together(court: Any, monkeypatch: Any) -> None:
    index = opened()
    one = court(index)
    asked: list[int] = []
    find = index.find_bodies
    monkeypatch.setattr(index, "find_bodies", lambda some: asked.append(len(some)) or find(some))
    pages = [Body(html(article(n)), None, f"http://a.example/{n}") for n in range(20)]

    async def ask() -> None:
        chance = random.Random(1)
        for _ in range(2):
            chance.shuffle(pages)
            answers = [one.judge.ask(p, key=str(p.url), scope="", request=None) for p in pages]
            kinds.append({(await answer).kind for answer in answers})

    kinds: list[set[str]] = []
    finished(ask())
    assert kinds == [{"unique"}, {"revisit"}]
    assert len(extracted) == 20
    assert sum(asked) == 40
    assert len(asked) < 10


# Whole crawls.


@pytest.fixture(params=["sqlite", "redis", "redis-local"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/index.sqlite"
        return
    pytest.importorskip("redis")
    if servers.PROGRAM is None:
        pytest.skip("no redis-server here")
    with servers.redis_server() as server:
        yield server.url + ("?buckets=local" if request.param == "redis-local" else "")


def test_what_one_worker_has_seen_another_does_not_extract(
    crawl: Any, site: Any, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second crawl finds every page at another address; its verdicts are those without."""
    for number in range(6):
        site.pages[f"/{number}"] = site.pages[f"/copy-{number}"] = html(article(number))
    site.pages["/near"] = html(edited(article(1), 2))
    common = {
        **ONE_AT_A_TIME,
        "SIMHASH_EXTRACTOR": "tests.crawl.test_judge.counting",
        "SIMHASH_INDEX_URL": shared_url,
    }
    first = crawl(Pages, settings=common, site=site, paths=[f"/{n}" for n in range(6)])
    assert len(extracted) == first.stat("unique") == 6
    extracted.clear()
    wanted = ["/copy-0", "/near", "/5", *(f"/copy-{n}" for n in range(1, 6))]
    second = crawl(Pages, settings=common, site=site, paths=wanted)
    assert extracted == [site.pages["/near"].decode()]
    assert second.stat("same_body") == 7
    assert paths(second) == ["/5"]
    monkeypatch.setattr(analysis_module, "REMEMBERED", 0)
    monkeypatch.setattr(Judge, "_looked_up", lambda judge, asked, _: judge._analyse(asked))
    without = crawl(Pages, settings=common, site=site, paths=wanted)
    assert without.stat("same_body") == 0
    assert second.dropped == without.dropped
    assert [item["page"] for item in second.items] == [item["page"] for item in without.items]
