"""`scrapy simhash export` and `import`: an index from one store to another."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from simhash import Simhash

from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.contract import StoreError
from scrapy_simhash.index.values import Arrival, Entry, Outcome
from scrapy_simhash.keys import page_key
from tests.commands.running import interrupted, simhash
from tests.index.promises.made import fp, spec, values
from tests.pages import article

PYPI = named_recipe("pypi")


def made(url: str, found: list[Entry], **changed: Any) -> None:
    with closing(open_index(url, spec(**changed))) as index:
        index.put(found)


def entries(count: int, seed: int = 0, scope: str = "", bits: int = 64) -> list[Entry]:
    return [
        Entry(f"http://{seed}.example/{n}", fp(value, bits, text=n), scope, b"facts", 1.7e9 + n)
        for n, value in enumerate(values(count, seed, bits))
    ]


def listed(url: str) -> list[Entry]:
    index = open_existing(url)
    try:
        return list(index)
    finally:
        index.close()


@pytest.mark.parametrize("backend", ["sqlite", "redis", "cluster"])
@pytest.mark.parametrize("name", ["pages.jsonl", "pages.jsonl.GZ"])
def test_an_index_goes_to_another_store_and_back_unchanged(
    backend: str,
    name: str,
    stores: Any,
    tmp_path: Path,
    capsys: Any,
) -> None:
    found = [
        *entries(2500),
        *entries(3, seed=2, scope="b.example"),
        Entry("odd \u2028 \u4e2d key", fp(7), time=3.0),
    ]
    first, second = f"sqlite:///{tmp_path}/one.sqlite", stores(backend).url
    made(first, found)
    assert simhash("export", tmp_path / name, "--index", first) == 0
    assert "2,504 pages" in capsys.readouterr().out
    assert simhash("import", tmp_path / name, "--index", second) == 0
    assert "2,504 pages added, 0 were there" in capsys.readouterr().out
    assert simhash("export", tmp_path / "back.jsonl", "--index", second) == 0
    assert listed(second) == listed(first) == found
    opener = gzip.open if name.endswith(".GZ") else open
    with opener(tmp_path / name, "rb") as file:
        assert file.read() == (tmp_path / "back.jsonl").read_bytes()


def test_the_format_is_the_one_that_is_documented(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.sqlite"
    made(url, entries(1, scope="b.com"))
    simhash("export", tmp_path / "out.jsonl", "--index", url)
    head, page, end = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert head == {
        "format": "scrapy-simhash index",
        "version": 2,
        "recipe": "test",
        "bits": 64,
        "distance": 3,
        "blocks": 4,
    }
    assert page == {
        "key": "http://0.example/0",
        "fingerprint": f"{entries(1)[0].fingerprint.value:016x}",
        "blocks": b64encode(entries(1)[0].fingerprint.blocks).decode(),
        "facts": b64encode(b"facts").decode(),
        "time": 1_700_000_000,
        "scope": "b.com",
    }
    assert end["count"] == 1
    assert end["checksum"].startswith("blake2b:")


def test_pages_in_progress_are_left_out_and_counted(tmp_path: Path, capsys: Any) -> None:
    url = f"sqlite:///{tmp_path}/one.sqlite"
    made(url, entries(2))
    index = open_existing(url)
    index.claim(Arrival("in progress", fp(0)))
    assert simhash("export", tmp_path / "out.jsonl", "--index", url) == 0
    assert capsys.readouterr().out.endswith("2 pages\nleft out: 1 page in progress\n")
    index.close()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda lines: lines[:-1], "cut off or damaged"),
        (lambda lines: lines[:2] + lines[3:], "or damaged"),
        (lambda lines: [*lines[:2], lines[2].replace(b"7", b"8"), *lines[3:]], "damaged"),
        (lambda lines: [lines[0].replace(b"2,", b"1,", 1), *lines[1:]], "version"),
    ],
    ids=["cut", "missing", "changed", "older"],
)
def test_a_file_that_is_not_whole_adds_nothing(
    damage: Any, says: str, tmp_path: Path, capsys: Any
) -> None:
    url, file = f"sqlite:///{tmp_path}/one.sqlite", tmp_path / "out.jsonl"
    made(url, entries(10))
    simhash("export", file, "--index", url)
    file.write_bytes(b"".join(damage(file.read_bytes().splitlines(keepends=True))))
    capsys.readouterr()
    status = simhash("import", file, "--index", tmp_path / "two.sqlite")
    error = capsys.readouterr().err
    assert status == 2
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "two.sqlite").exists()


@pytest.mark.parametrize(
    "wrong", [{"time": -1}, {"time": 1 << 32}, {"time": float("inf")}, {"fingerprint": 5}]
)
def test_what_is_no_page_is_said_with_its_line(
    wrong: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    made_elsewhere(tmp_path / "made.jsonl", HEAD, PAGE | wrong)
    assert simhash("import", tmp_path / "made.jsonl", "--index", tmp_path / "i.sqlite") == 2
    assert "made.jsonl, line 2: no page of an index: " in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"bits": 65}, {"bits": None}, {"distance": "3"}, {"blocks": []}])
def test_a_first_line_that_opens_no_index_is_said(
    wrong: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    made_elsewhere(tmp_path / "made.jsonl", HEAD | wrong, PAGE)
    assert simhash("import", tmp_path / "made.jsonl", "--index", tmp_path / "i.sqlite") == 2
    error = capsys.readouterr().err
    assert "made.jsonl: its first line is of no index: " in error
    assert error.count("\n") == 1


HEAD: dict[str, Any] = {
    "format": "scrapy-simhash index",
    "version": 2,
    "recipe": "r",
    "bits": 64,
    "distance": 3,
    "blocks": 4,
}
PAGE = {"key": "a", "fingerprint": "1", "blocks": b64encode(bytes(16)).decode(), "time": 1}


def made_elsewhere(path: Path, *about: dict[str, Any]) -> None:
    """Write what another program may have exported: a first line, and pages."""
    lines = "".join(json.dumps(line) + "\n" for line in about)
    digest = blake2b(lines.encode(), digest_size=16).hexdigest()
    end = json.dumps({"count": len(about) - 1, "checksum": f"blake2b:{digest}"})
    path.write_text(lines + end)


def test_an_index_of_another_recipe_takes_nothing(tmp_path: Path, capsys: Any) -> None:
    one, two = (f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("one", "two"))
    made(one, entries(2))
    made(two, entries(1, seed=5), recipe="another recipe")
    simhash("export", tmp_path / "out.jsonl", "--index", one)
    assert simhash("import", tmp_path / "out.jsonl", "--index", two) == 2
    assert "another recipe" in capsys.readouterr().err
    assert len(listed(two)) == 1


def test_wide_fingerprints_keep_their_blocks_and_facts(tmp_path: Path) -> None:
    one, two = (f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("one", "two"))
    found = entries(20, bits=256)
    made(one, found, bits=256, distance=48)
    simhash("export", tmp_path / "out.jsonl.gz", "--index", one)
    assert simhash("import", tmp_path / "out.jsonl.gz", "--index", two) == 0
    for entry, again in zip(found, listed(two), strict=True):
        assert (again, again.fingerprint.blocks) == (entry, entry.fingerprint.blocks)


@pytest.mark.parametrize("backend", ["sqlite", "redis"])
def test_an_interrupted_import_leaves_its_first_pages_and_is_run_again(
    backend: str, stores: Any, tmp_path: Path, capsys: Any
) -> None:
    one, two = f"sqlite:///{tmp_path}/one.sqlite", stores(backend).url
    found = entries(12_000)
    made(one, found)
    simhash("export", tmp_path / "out.jsonl", "--index", one)
    interrupted("import", "out.jsonl", "--index", two, folder=tmp_path, when=lambda: size(two))
    there = listed(two)
    assert 0 < len(there) < len(found)
    assert there == found[: len(there)]
    capsys.readouterr()
    assert simhash("import", tmp_path / "out.jsonl", "--index", two) == 0
    rest = len(found) - len(there)
    assert f"{rest:,} pages added, {len(there):,} were there" in capsys.readouterr().out
    assert listed(two) == found


def size(url: str) -> int:
    """Return how many pages an index has; 0 if it is not there."""
    try:
        with closing(open_existing(url)) as index:
            return len(index)
    except StoreError:
        return 0


def test_an_interrupted_export_leaves_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.sqlite"
    made(url, [e for seed in range(5) for e in entries(10_000, seed=seed)])
    part = tmp_path / "out.jsonl.part"
    interrupted("export", "out.jsonl", "--index", url, folder=tmp_path, when=part.exists)
    assert [file.name for file in tmp_path.iterdir()] == ["one.sqlite"]


@pytest.mark.parametrize("kind", ["hex.csv", "signed.jsonl", "decimal.tsv", "hex.jsonl.gz"])
def test_fingerprints_of_pypi_simhash_come_in_and_match_new_pages(
    kind: str, tmp_path: Path, capsys: Any
) -> None:
    texts = {f"http://old.example/{n}": article(n) for n in range(5)}
    values = {url: Simhash(text).value for url, text in texts.items()}
    path, options = tmp_path / kind, ["--recipe", "pypi"]
    if kind == "hex.csv":
        rows = "".join(f"{value:x},{url}\n" for url, value in values.items())
        path.write_text("hash,page\n" + rows, "utf-8-sig")  # as spreadsheets write it
        options += ["--key", "page", "--fingerprint", "hash"]
    elif kind == "decimal.tsv":
        rows = "".join(f"{value}\t{url}\n" for url, value in values.items())
        path.write_text("fingerprint\turl\n" + rows)
        options += ["--decimal"]
    elif kind == "signed.jsonl":
        # As a Java long.
        signed = {url: v - (1 << 64) if v >> 63 else v for url, v in values.items()}
        path.write_text(
            "".join(json.dumps({"url": u, "fingerprint": v}) + "\n" for u, v in signed.items())
        )
    else:
        lines = [json.dumps({"url": u, "fingerprint": f"{v:016x}"}) for u, v in values.items()]
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    url = f"sqlite:///{tmp_path}/new.sqlite"
    assert simhash("import", path, "--index", url, *options) == 0
    assert "5 pages added" in capsys.readouterr().out
    index = open_existing(url)
    assert index.spec.recipe == PYPI.identity
    for key, text in texts.items():
        claim = index.claim(Arrival("new", PYPI.fingerprint(text)))
        assert claim.outcome is Outcome.DUPLICATE
        assert (claim.matches[0].key, claim.matches[0].distance) == (key, 0)
    index.close()


def test_fingerprints_that_come_in_have_the_keys_that_a_crawl_gives_their_pages(
    tmp_path: Path,
) -> None:
    (tmp_path / "old.csv").write_text("url,fingerprint\nhttp://A.example?b=2&a=1#top,12\nname,13\n")
    url = f"sqlite:///{tmp_path}/new.sqlite"
    assert simhash("import", tmp_path / "old.csv", "--index", url, "--recipe", "pypi") == 0
    assert [entry.key for entry in listed(url)] == [page_key("http://a.example/?a=1&b=2"), "name"]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("url,fingerprint\nhttp://[,12\n", [], "line 2: 'http://[' is no address"),
        ("url,fingerprint\na,xyz\n", [], "line 2: 'xyz' is no hexadecimal number of 64 bits"),
        ("url,fingerprint\na,1ffffffffffffffff\n", [], "of 64 bits"),
        ("url,hash\na,12\n", [], "there is no 'fingerprint'; there are url, hash"),
        ("url,fingerprint\na,12\n", ["--recipe", "soup"], "unknown recipe"),
        ("\xff\xfe", [], "UTF-8"),
        ("url,fingerprint\na,12\n", ["--recipe", "default"], "is no exported index, and the"),
    ],
)
def test_what_is_no_fingerprint_is_said_with_its_line(
    text: str, options: list[str], says: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "old.csv").write_bytes(text.encode("latin-1"))
    arguments = ["import", tmp_path / "old.csv", "--index", tmp_path / "i", "--recipe", "pypi"]
    assert simhash(*arguments, *options) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize("number", ["1.2345678901234567e18", "1e400", "true"])
def test_a_number_that_is_not_whole_is_no_fingerprint(
    number: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "old.jsonl").write_text(f'{{"url": "a", "fingerprint": {number}}}')
    arguments = ["import", tmp_path / "old.jsonl", "--index", tmp_path / "i", "--recipe", "pypi"]
    assert simhash(*arguments) == 2
    assert "line 1: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", "OUT"], "name the index"),
        (["export", "OUT", "--index", "OTHER"], "there is no index"),
        (["export", "pages.xz", "--index", "OTHER"], "packed as .gz only"),
        (["import", "OTHER", "--index", "x"], "No such file"),
        (["import", "OTHER", "--index", "ftp://x"], "no index at"),
    ],
)
def test_wrong_use_is_one_line_and_makes_nothing(
    arguments: list[str], says: str, tmp_path: Path, capsys: Any
) -> None:
    known = {"OUT": tmp_path / "out.jsonl", "OTHER": tmp_path / "other.sqlite"}
    assert simhash(*(known.get(argument, argument) for argument in arguments)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
