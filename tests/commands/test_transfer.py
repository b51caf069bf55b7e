"""`scrapy simhash import`: an index from one store to another, and fingerprints of others."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from unittest.mock import Mock

import pytest
from simhash import Simhash

from scrapy_simhash.commands import import_
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Arrival, Entry
from scrapy_simhash.keys import key_of
from tests.commands.running import entries_in, filled, printed, simhash
from tests.index.promises.made import fp, values
from tests.pages import article

PYPI = named_recipe("pypi")


def entries(count: int, seed: int = 0, scope: str = "", bits: int = 64) -> list[Entry]:
    return [
        Entry(f"http://{seed}.example/{n}", fp(value, bits, text=n), scope, b"facts", 1.7e9 + n)
        for n, value in enumerate(values(count, seed, bits))
    ]


def test_an_index_goes_to_another_store_and_back_without_pages_in_progress(
    stores, tmp_path, capsys
):
    pages = [*entries(2500, bits=256), *entries(3, seed=2, scope="b.example", bits=256)]
    pages.append(Entry("odd \u2028 \u4e2d key", fp(7, 256), time=3.0))
    first = filled(tmp_path / "one.sqlite", pages, bits=256, distance=48)
    second, back = stores("redis").url, f"sqlite:///{tmp_path}/back.sqlite"
    assert entries_in(first) == pages
    with closing(open_existing(first)) as index:
        index.claim(Arrival("in progress", fp(2**256 - 1, 256)))
        says = printed(capsys, "import", first, "--index", second).splitlines()
    assert says == ["2,504 pages added; the index has 2,504 now", "left out: 1 page in progress"]
    assert simhash("import", second, "--index", back) == 0
    assert entries_in(second) == entries_in(back) == pages
    with closing(open_existing(second)) as old, closing(open_existing(back)) as new:
        blocks = [
            [entry.fingerprint.blocks for entry in index.entries(blocks=True)]
            for index in (old, new)
        ]
        assert blocks[0] == blocks[1]
        assert old.spec == new.spec


def test_an_imported_index_is_spread_if_the_pages_of_a_crawl_have_scopes(tmp_path, monkeypatch):
    url, opening = filled(tmp_path / "one.sqlite", entries(1)), Mock(wraps=open_index)
    monkeypatch.setattr(import_, "open_index", opening)
    for scope in ("global", "host"):
        settings = {"SIMHASH_SCOPE": scope}
        assert simhash("import", url, "--index", tmp_path / scope, settings=settings) == 0
    assert [call.args[1].scoped for call in opening.mock_calls] == [False, True]


def test_an_interrupted_import_leaves_its_first_pages_and_runs_again(tmp_path, monkeypatch, capsys):
    pages, url = entries(3000), f"sqlite:///{tmp_path}/two.sqlite"
    first = filled(tmp_path / "one.sqlite", pages)

    def progress(label: str, _: object, *, of: Iterable[Entry]) -> Iterator[Entry]:
        yield from islice(of, 2500) if label == "importing" else of
        if label == "importing":
            raise KeyboardInterrupt

    arguments = ("import", first, "--index", url)
    with monkeypatch.context() as patch:
        patch.setattr("scrapy_simhash.commands.import_.progress", progress)
        assert simhash(*arguments) == 130
    present = entries_in(url)
    assert 0 < len(present) < len(pages)
    assert present == pages[: len(present)]
    capsys.readouterr()
    rest = len(pages) - len(present)
    says = f"{rest:,} pages added; the index has {len(pages):,} now"
    assert says in printed(capsys, *arguments)
    assert entries_in(url) == pages


@pytest.mark.parametrize("kind", ["hexadecimal", "unsigned", "signed"])
def test_fingerprints_of_pypi_simhash_come_in_and_match_new_pages(kind, tmp_path, capsys):
    texts = {f"http://OLD.example?b={n}&a=1#top": article(n) for n in range(4)} | {"7": article(7)}
    lines = []
    for url, text in texts.items():
        value = Simhash(text).value
        signed = value - (value >> 63 << 64)  # as a Java long
        shown = {"hexadecimal": f"{value:016x}", "unsigned": value, "signed": signed}[kind]
        lines.append(json.dumps({"url": url, "fingerprint": shown, "title": "x"}))
    path, url = tmp_path / "old.jsonl", f"sqlite:///{tmp_path}/new.sqlite"
    path.write_text("\n".join(lines))
    assert "5 pages added" in printed(capsys, "import", path, "--index", url, "--recipe", "pypi")
    with closing(open_existing(url)) as index:
        assert index.spec.recipe == PYPI.identity
        for key, text in texts.items():
            claim = index.claim(Arrival("new", PYPI.fingerprint(text)))
            assert claim.outcome == "duplicate"
            assert (claim.matches[0].key, claim.matches[0].distance) == (key_of(key), 0)
