"""The shape of the house: which room may import from which."""

import ast
import asyncio
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from scrapy_simhash.crawl import exchange, filter_of
from tests.commands.running import python
from tests.crawl.spiders import Pages, is_told, until
from tests.pages import article, html

PACKAGE = Path(__file__).parent.parent / "scrapy_simhash"

# A line for each room: the rooms that it may import from, all of them further up. A door is every
# module at the root that Scrapy knows by its own word for it.
LINES = """
    exceptions: printable
    better: keys
    extraction: keys loading printable
    fingerprint: loading
    readers: extraction fingerprint loading
    rule: extraction fingerprint keys
    index: loading printable fingerprint rule
    url_patterns: better printable index keys
    core: better printable extraction fingerprint index keys readers rule
    report: core keys printable rule url_patterns
    offline: core extraction fingerprint index keys readers rule
    settings: exceptions extraction fingerprint index keys loading readers
    crawl: printable core exceptions extraction index keys report settings url_patterns
    doors: printable core crawl exceptions settings signals
    commands: printable core fingerprint index keys offline report rule settings url_patterns"""
ROOMS = {
    name: {*rooms.split()} for name, rooms in re.findall(r"^ *(\w+): (.*)$", LINES, re.MULTILINE)
}
DOORS = {"addon", "downloadermiddlewares", "pipelines", "spidermiddlewares"}
SETTINGS = {"settings", "setting_values", "redis_settings"}
SCRAPY = {"doors", "commands", "crawl", "exceptions", "settings"}
FILES = sorted(PACKAGE.rglob("*.py"))


def room(name: str) -> str:
    return "doors" if name in DOORS else "settings" if name in SETTINGS else name


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return room(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def rooms_imported(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports(path))
    rooms = {room(rest[0]) for root, *rest in parts if root == "scrapy_simhash" and rest}
    return rooms - {"__version__", room_of(path)}


def test_each_room_imports_from_the_rooms_of_its_line():
    made: dict[str, set[str]] = {}
    for path in FILES:
        if path.parent != PACKAGE or path.name != "__init__.py":
            made.setdefault(room_of(path), set()).update(rooms_imported(path))
    assert {name: rooms for name, rooms in made.items() if rooms or name in ROOMS} == ROOMS


def test_only_rooms_at_its_edge_import_scrapy_and_none_imports_what_tests_need():
    for path in FILES:
        roots = {name.partition(".")[0] for name in imports(path)}
        if room_of(path) not in SCRAPY:
            assert not {"scrapy", "twisted"} & roots, path
        assert not {"pytest", "hypothesis"} & roots, path


def test_rooms_and_modules_import_in_one_direction():
    before = {"keys", "loading", "printable", "signals"}
    for name, rooms in ROOMS.items():
        assert rooms <= before, name
        before.add(name)
    modules = {module_of(path): path for path in FILES if path.name != "__init__.py"}
    graph = {
        name: {
            other
            for one in imports(path)
            if (other := one if one in modules else one.rpartition(".")[0]) in modules
        }
        for name, path in modules.items()
    }
    assert len([*TopologicalSorter(graph).static_order()]) == len(modules)  # CycleError if circular


class Moves(set[tuple[str, str]]):
    """Files whose functions call those of another file; a reader follows each of them once."""

    is_over = False

    def file_of(self, frame: FrameType | None) -> str | None:
        while frame is not None and not frame.f_code.co_filename.startswith(str(PACKAGE)):
            frame = frame.f_back
        return frame and frame.f_code.co_filename

    def note(self, frame: FrameType, event: str, _: object) -> None:
        is_ours = frame.f_code.co_filename.startswith(str(PACKAGE))
        if event == "call" and is_ours and not self.is_over:
            caller = self.file_of(frame.f_back)
            if caller not in (None, frame.f_code.co_filename):
                self.add((caller, frame.f_code.co_filename))


@pytest.fixture
def moves() -> Iterator[Moves]:
    moves = Moves()
    # Threads of analyses and of the index begin with the first page.
    threading.setprofile(moves.note)
    yield moves
    threading.setprofile(None)
    sys.setprofile(None)


class Watched(Pages):
    """Notes the moves of its second page, until it is confirmed, and one round of the filter."""

    moves: Moves

    async def start(self) -> AsyncIterator[Any]:
        # Under load, what an index is asked once would come among the moves of a page, or not.
        crawl_filter = self.crawl_filter = filter_of(self.crawler)
        await until(lambda: crawl_filter.dedup.upkeep._expires_at)
        async for request in super().start():
            yield request

    async def parse(self, response: Any) -> AsyncIterator[Any]:
        if response.url.endswith("/1"):
            self.moves.clear()
            sys.setprofile(self.moves.note)
        if response.url.endswith("/3"):
            await self.until_confirmed()
            self.moves.is_over = True
        for item in super().parse(response):
            yield item

    async def until_confirmed(self) -> None:
        dedup = self.crawl_filter.dedup
        await until(lambda: len(dedup.upkeep._parts) == 1 and is_told(dedup.upkeep))
        await until(lambda: self.crawler.stats.get_value("simhash/unique") == 3)
        sys.setprofile(None)
        await asyncio.wrap_future(dedup._index.run(int))


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_a_page_moves_between_files_by_few_calls(crawl, site, moves, request, store, monkeypatch):
    # What crawlers tell each other now and then is no way of a page; a busy machine gets so far.
    monkeypatch.setattr(exchange, "EXCHANGE_SECONDS", 600)
    url = request.getfixturevalue("server").url if store == "redis" else "memory://"
    site.pages = {f"/{number}": html(article(number)) for number in (1, 2, 3)}
    spider = type("Watching", (Watched,), {"moves": moves})
    settings = {"SIMHASH_INDEX_URL": url, "CONCURRENT_REQUESTS": 1}
    crawled = crawl(spider, settings=settings, site=site, paths=["/1", "/2", "/3"])
    assert crawled.stat("unique") == 3
    assert 60 < len(moves) <= 78


def test_core_needs_neither_scrapy_nor_the_slow_libraries():
    code = (
        "import sys, scrapy_simhash.core.sync, scrapy_simhash.core.worker; "
        "print(*{'scrapy', 'tldextract', 'trafilatura', 'jieba'} & sys.modules.keys())"
    )
    assert python(code) == "\n"


def test_jieba_and_trafilatura_are_imported_when_a_recipe_or_an_extractor_needs_them():
    """All public names and commands are there, and a Chinese page has been analysed."""
    code = """if 1:
        import sys
        from dataclasses import replace
        from scrapy_simhash import *
        from scrapy_simhash.commands import SUBCOMMANDS, _load
        from tests.pages import analysed

        [*map(_load, SUBCOMMANDS)]
        for recipe, extractor in ("default", "main"), ("fnv1", "main"), ("default", "trafilatura"):
            page = '<p>' + '中文网页的正文内容很多，' * 30
            analysed(page, replace(named_recipe(recipe), extractor=extractor))
            words = {"jieba", "rjieba"} & sys.modules.keys()
            print(bool(words), "trafilatura" in sys.modules)
        print(*{"pyarrow", "duckdb", "pyspark", "warcio"} & sys.modules.keys())
    """
    assert python(code).splitlines() == ["False False", "True False", "True True", ""]


def test_each_answer_of_contributing_names_what_stands_where_it_says():
    root = PACKAGE.parent
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    answers = re.findall(r"^\| \d+ \| .* \| (.*) \|$", text, re.MULTILINE)
    assert len(answers) == 24
    for answer in answers:
        for path, names in re.findall(r"`(scrapy_simhash/[^`]*)`((?:[:,] `\w+`)*)", answer):
            assert (root / path).exists(), path
            for name in re.findall(r"`(\w+)`", names):
                assert re.search(rf"\b{name}\b", (root / path).read_text("utf-8")), (path, name)


def test_every_logger_escapes_what_pages_wrote():
    for path in FILES:
        if path.name != "printable.py":
            assert "getLogger" not in path.read_text("utf-8"), path
