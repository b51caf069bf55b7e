"""`scrapy simhash export` and `import`: an index from one store to another."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import pytest
from simhash import Simhash

from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Arrival, Entry, Outcome
from scrapy_simhash.keys import page_key
from tests.commands.running import refused, simhash
from tests.index.promises.made import fp, spec, values
from tests.pages import article

PYPI = named_recipe("pypi")
HEAD = {
    "format": "scrapy-simhash index 2",
    "recipe": "test",
    "bits": 64,
    "distance": 3,
    "blocks": 4,
}
PAGE = {"key": "a", "fingerprint": "1", "blocks": b64encode(bytes(16)).decode(), "time": 1}


def entries(count: int, seed: int = 0, scope: str = "", bits: int = 64) -> list[Entry]:
    return [
        Entry(f"http://{seed}.example/{n}", fp(value, bits, text=n), scope, b"facts", 1.7e9 + n)
        for n, value in enumerate(values(count, seed, bits))
    ]


def filled(path: Path, pages: list[Entry], **changed: Any) -> str:
    """Put pages into an index, and return its URL."""
    url = f"sqlite:///{path}"
    with closing(open_index(url, spec(**changed))) as index:
        index.put(pages)
    return url


def listed(url: str) -> list[Entry]:
    with closing(open_existing(url)) as index:
        return list(index)


def written(path: Path, *lines: dict[str, Any]) -> Path:
    """Write what another program may have exported: a first line, and pages."""
    all_lines = [*lines, {"count": len(lines) - 1}]
    path.write_text("".join(json.dumps(line) + "\n" for line in all_lines))
    return path


def test_an_index_goes_to_another_store_and_back_unchanged(
    stores: Any, tmp_path: Path, capsys: Any
) -> None:
    pages = [*entries(2500, bits=256), *entries(3, seed=2, scope="b.example", bits=256)]
    pages.append(Entry("odd \u2028 \u4e2d key", fp(7, 256), time=3.0))
    first = filled(tmp_path / "one.sqlite", pages, bits=256, distance=48)
    second = stores("redis").url
    assert simhash("export", tmp_path / "pages.jsonl.GZ", "--index", first) == 0
    assert "2,504 pages" in capsys.readouterr().out
    assert simhash("import", tmp_path / "pages.jsonl.GZ", "--index", second) == 0
    assert "2,504 pages added, 0 were there" in capsys.readouterr().out
    assert simhash("export", tmp_path / "back.jsonl", "--index", second) == 0
    assert listed(second) == listed(first) == pages
    with gzip.open(tmp_path / "pages.jsonl.GZ") as file:
        assert file.read() == (tmp_path / "back.jsonl").read_bytes()


def test_the_file_has_a_head_pages_and_their_number(tmp_path: Path, capsys: Any) -> None:
    pages = entries(1, scope="b.com")
    url = filled(tmp_path / "one.sqlite", pages)
    with closing(open_existing(url)) as index:
        index.claim(Arrival("in progress", fp(0)))
        assert simhash("export", tmp_path / "out.jsonl", "--index", url) == 0
    assert capsys.readouterr().out.endswith("1 page\nleft out: 1 page in progress\n")
    head, page, end = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert head == HEAD
    assert page == {
        "key": "http://0.example/0",
        "fingerprint": f"{pages[0].fingerprint.value:016x}",
        "blocks": b64encode(pages[0].fingerprint.blocks).decode(),
        "facts": b64encode(b"facts").decode(),
        "time": 1_700_000_000,
        "scope": "b.com",
    }
    assert end == {"count": 1}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([HEAD | {"format": "scrapy-simhash index 1"}, PAGE], "neither an exported index nor url"),
        ([HEAD | {"bits": 65}, PAGE], "made.jsonl: its first line is of no index: "),
        ([HEAD, PAGE | {"time": -1}], "made.jsonl, entry 2: no page of an index: "),
        ([HEAD, PAGE | {"fingerprint": 5}], "made.jsonl, entry 2: no page of an index: "),
    ],
)
def test_what_is_no_index_is_said_with_its_line(
    lines: list[dict[str, Any]], says: str, tmp_path: Path, capsys: Any
) -> None:
    path = written(tmp_path / "made.jsonl", *lines)
    assert says in refused(capsys, "import", path, "--index", tmp_path / "i.sqlite")
    assert not (tmp_path / "i.sqlite").exists()


def test_a_file_that_is_cut_off_adds_nothing(tmp_path: Path, capsys: Any) -> None:
    path = written(tmp_path / "out.jsonl", HEAD, *[PAGE] * 10)
    lines = path.read_text().splitlines(keepends=True)
    for left in (lines[:-1], lines[:1]):
        path.write_text("".join(left))
        error = refused(capsys, "import", path, "--index", tmp_path / "two.sqlite")
        assert "out.jsonl: cut off or damaged: " in error
        assert not (tmp_path / "two.sqlite").exists()


def test_an_interrupted_import_leaves_its_first_pages_and_is_run_again(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    pages, url = entries(3000), f"sqlite:///{tmp_path}/two.sqlite"
    first = filled(tmp_path / "one.sqlite", pages)
    simhash("export", tmp_path / "out.jsonl", "--index", first)

    def progress(label: str, _: object, *, of: Iterable[Entry]) -> Iterator[Entry]:
        for number, entry in enumerate(of):
            if (label, number) == ("importing", 2500):
                raise KeyboardInterrupt
            yield entry

    arguments = ("import", tmp_path / "out.jsonl", "--index", url)
    with monkeypatch.context() as patch:
        patch.setattr("scrapy_simhash.commands.import_.progress", progress)
        assert simhash(*arguments) == 130
    present = listed(url)
    assert 0 < len(present) < len(pages)
    assert present == pages[: len(present)]
    capsys.readouterr()
    assert simhash(*arguments) == 0
    rest = len(pages) - len(present)
    assert f"{rest:,} pages added, {len(present):,} were there" in capsys.readouterr().out
    assert listed(url) == pages


def test_an_interrupted_export_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    url = filled(tmp_path / "i.sqlite", entries(1))

    def write_entries(file: IO[bytes], *_: object) -> int:
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("scrapy_simhash.commands.export.write_entries", write_entries)
    assert simhash("export", tmp_path / "out.jsonl", "--index", url) == 130
    assert [file.name for file in tmp_path.iterdir()] == ["i.sqlite"]


@pytest.mark.parametrize("kind", ["hexadecimal", "unsigned", "signed"])
def test_fingerprints_of_pypi_simhash_come_in_and_match_new_pages(
    kind: str, tmp_path: Path, capsys: Any
) -> None:
    texts = {f"http://old.example/{n}": article(n) for n in range(5)}
    lines = []
    for url, text in texts.items():
        value = Simhash(text).value
        signed = value - (value >> 63 << 64)  # as a Java long
        shown = {"hexadecimal": f"{value:016x}", "unsigned": value, "signed": signed}[kind]
        lines.append(json.dumps({"url": url, "fingerprint": shown, "title": "x"}))
    path, url = tmp_path / "old.jsonl", f"sqlite:///{tmp_path}/new.sqlite"
    path.write_text("\n".join(lines))
    assert simhash("import", path, "--index", url, "--recipe", "pypi") == 0
    assert "5 pages added" in capsys.readouterr().out
    with closing(open_existing(url)) as index:
        assert index.spec.recipe == PYPI.identity
        for key, text in texts.items():
            claim = index.claim(Arrival("new", PYPI.fingerprint(text)))
            assert claim.outcome is Outcome.DUPLICATE
            assert (claim.matches[0].key, claim.matches[0].distance) == (key, 0)


def test_foreign_fingerprints_have_the_keys_that_a_crawl_gives_their_pages(tmp_path: Path) -> None:
    path, url = tmp_path / "old.jsonl", f"sqlite:///{tmp_path}/new.sqlite"
    pages = [("http://A.example?b=2&a=1#top", 12), ("name", 13)]
    path.write_text("\n".join(json.dumps({"url": u, "fingerprint": n}) for u, n in pages))
    assert simhash("import", path, "--index", url, "--recipe", "pypi") == 0
    assert [entry.key for entry in listed(url)] == [page_key("http://a.example/?a=1&b=2"), "name"]


@pytest.mark.parametrize(
    ("values", "recipe", "says"),
    [
        ({"url": "http://[", "fingerprint": 12}, "pypi", "entry 1: neither an exported index nor"),
        ({"url": "a", "fingerprint": 1 << 64}, "pypi", "entry 1: neither an exported index nor"),
        ({"url": "a", "fingerprint": 1.2e18}, "pypi", "entry 1: neither an exported index nor"),
        ({"url": "a", "html": "b"}, "pypi", "KeyError('fingerprint')"),
        ({"url": "a", "fingerprint": 12}, "soup", "unknown recipe"),
        ({"url": "a", "fingerprint": 12}, "default", "entry 1: neither an exported index nor"),
    ],
)
def test_what_is_no_fingerprint_is_said_with_its_place(
    values: dict[str, Any], recipe: str, says: str, tmp_path: Path, capsys: Any
) -> None:
    path, index = tmp_path / "old.jsonl", tmp_path / "i"
    path.write_text(json.dumps(values))
    assert says in refused(capsys, "import", path, "--index", index, "--recipe", recipe)
    assert not index.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", "OUT"], "name the index"),
        (["export", "OUT", "--index", "OTHER"], "there is no index"),
        (["import", "OTHER", "--index", "x"], "No such file"),
        (["import", "OTHER", "--index", "ftp://x"], "no index at"),
    ],
)
def test_wrong_use_is_one_line_and_makes_nothing(
    arguments: list[str], says: str, tmp_path: Path, capsys: Any
) -> None:
    paths = {"OUT": tmp_path / "out.jsonl", "OTHER": tmp_path / "other.sqlite"}
    assert says in refused(capsys, *(paths.get(argument, argument) for argument in arguments))
    assert list(tmp_path.iterdir()) == []
