"""`scrapy simhash dedupe`: the filter over saved pages."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest

from scrapy_simhash.index import open_existing
from tests.commands.running import interrupted, simhash
from tests.pages import article, edited, html

ONE, TWO = article(1), article(2)
PAGES = {
    "http://a.example/1": html(ONE),
    "http://a.example/2": html(TWO),
    "http://m.example/1": html(edited(ONE, 1), links=("/x",)),
    "http://m.example/1b": html(edited(ONE, 2), links=("/x",)),
    "http://m.example/empty": b"<html></html>",
    "http://m.example/2": html(TWO),
}
KEPT = ["http://a.example/1", "http://a.example/2", "http://m.example/empty"]


def feed(pages: dict[str, bytes] = PAGES, **more: Any) -> bytes:
    lines = [json.dumps({"url": url, "html": body.decode(), **more}) for url, body in pages.items()]
    return ("\n".join(lines) + "\n").encode()


def warc_record(
    url: str, body: bytes, *, status: str = "200 OK", type_: str = "text/html; charset=utf-8"
) -> bytes:
    answer = f"HTTP/1.1 {status}\r\nContent-Type: {type_}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n"
    )
    return head.encode() + b"\r\n" + answer + b"\r\n\r\n"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_bytes(feed())
    return path


def kept(*arguments: object, folder: Path, **more: Any) -> list[str]:
    written = ("--verdicts", folder / "verdicts")
    more = {"SIMHASH_PROCESSES": 0} | more
    status = simhash("dedupe", *arguments, *written, settings=more)
    assert status == 0
    verdicts = map(json.loads, (folder / "verdicts").read_text().splitlines())
    return [verdict["key"] for verdict in verdicts if verdict["kept"]]


def test_the_first_of_near_duplicates_is_kept(items: Path, tmp_path: Path, capsys: Any) -> None:
    assert kept(items, folder=tmp_path, SIMHASH_PROCESSES=2) == KEPT
    out = capsys.readouterr().out
    assert "6 pages: 3 to keep, 3 copies\n" in out
    assert "1 of those to keep could not be compared" in out


def test_verdicts_are_written_in_the_order_of_the_pages(items: Path, tmp_path: Path) -> None:
    assert simhash("dedupe", items, "--verdicts", tmp_path / "v.jsonl") == 0
    verdicts = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [v["key"] for v in verdicts] == list(PAGES)
    assert [v["verdict"] for v in verdicts] == [
        *("unique", "unique", "duplicate", "duplicate", "skipped", "duplicate")
    ]
    assert (verdicts[5]["original"], verdicts[5]["distance"]) == ("http://a.example/2", 0)
    assert [v["key"] for v in verdicts if v["kept"]] == KEPT
    assert verdicts[4]["reason"] == "empty"


def test_verdicts_are_a_log_that_explain_and_report_read(
    items: Path, tmp_path: Path, capsys: Any
) -> None:
    log = tmp_path / "v.jsonl"
    assert simhash("dedupe", items, "--verdicts", log, settings={"SIMHASH_PROCESSES": 0}) == 0
    assert simhash("explain", "m.example/2", "--log", log) == 0
    assert "duplicate (drop)" in capsys.readouterr().out
    assert simhash("report", log, "-o", tmp_path / "report.html") == 0
    assert "6 judged, 3 near-duplicates (50.0%)" in capsys.readouterr().out
    assert ONE[:30] in json.loads(log.read_text().splitlines()[0])["text"]
    assert simhash("requeue", "--host", "m.example", "--log", log) == 0
    assert capsys.readouterr().out.split() == [url for url in PAGES if url not in KEPT]


def test_what_is_passed_over_is_said(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "items.jsonl").write_bytes(feed() + b'{"id": 1}\n{"id": 2}\n')
    (tmp_path / "image.png").write_bytes(b"png")
    assert simhash("dedupe", tmp_path, settings={"SIMHASH_PROCESSES": 0}) == 0
    out = capsys.readouterr().out
    assert "passed over: 1 file of another kind\n" in out
    assert "passed over: 2 entries without text\n" in out


@pytest.mark.parametrize("kind", ["base64", "folder", "text", "warc", "warc.gz", "two"])
def test_pages_are_read_from(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "saved"
    expected = KEPT
    if kind == "base64":
        from base64 import b64encode

        source = tmp_path / "items.jsonl"
        lines = [
            json.dumps({"id": url, "html_base64": b64encode(body).decode()})
            for url, body in PAGES.items()
        ]
        source.write_text("\n".join(lines))
    elif kind == "folder":
        for url, body in PAGES.items():
            file = source / f"{url.removeprefix('http://').replace('/', '-')}.html"
            source.mkdir(exist_ok=True)
            # Files have no host that would tell an edited mirror from another record.
            file.write_bytes(PAGES["http://a.example/1"] if "m.example/1" in url else body)
        expected = ["a.example-1.html", "a.example-2.html", "m.example-empty.html"]
    elif kind == "text":
        source = tmp_path / "texts.jsonl"
        texts = {"a": ONE, "b": TWO, "c": edited(ONE, 1), "d": "short"}
        lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
        source.write_text("\n".join(lines))
        expected = ["a", "b", "d"]
    elif kind.startswith("warc"):
        source = tmp_path / f"crawl.{kind}"
        records = [
            warc_record("http://a.example/0", html(ONE), status="404 Not Found"),
            warc_record("http://a.example/0", html(ONE), type_="image/png"),
            *(warc_record(url, body) for url, body in PAGES.items()),
        ]
        source.write_bytes(
            b"".join(gzip.compress(r) if kind.endswith(".gz") else r for r in records)
        )
    else:
        first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
        first.write_bytes(feed(dict(list(PAGES.items())[:2])))
        second.write_bytes(feed(dict(list(PAGES.items())[2:])))
        assert kept(first, second, folder=tmp_path) == expected
        return
    assert kept(source, folder=tmp_path) == expected


def test_archive_with_what_is_no_address_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc"
    urls = ("http://[", "http://a.example/1")
    path.write_bytes(b"".join(warc_record(url, html(ONE if "[" in url else TWO)) for url in urls))
    assert kept(path, folder=tmp_path, SIMHASH_SCOPE="host") == list(urls)


def test_pages_that_brotli_packed_are_read(tmp_path: Path) -> None:
    path, packed = tmp_path / "crawl.warc", "text/html\r\nContent-Encoding: br"
    path.write_bytes(
        warc_record("http://a.example/1", html(ONE))
        + warc_record("http://b.example/1", brotli.compress(html(ONE)), type_=packed)
    )
    assert kept(path, folder=tmp_path) == ["http://a.example/1"]


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_that_is_cut_off_is_refused(packed: bool, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / ("crawl.warc.gz" if packed else "crawl.warc")
    records = [warc_record(url, body) for url, body in PAGES.items()]
    whole = b"".join(gzip.compress(record) if packed else record for record in records)
    for cut in (20, len(whole) // 2) if packed else (len(records[0]) - 20, len(whole) - 20):
        path.write_bytes(whole[:cut])
        assert simhash("dedupe", path, settings={"SIMHASH_PROCESSES": 0}) == 2
        assert str(path) in capsys.readouterr().err


def test_a_page_that_is_there_twice_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(feed() + feed())
    assert kept(path, folder=tmp_path) == [*KEPT, "http://m.example/empty"]


def test_a_key_with_two_texts_keeps_both(tmp_path: Path) -> None:
    """The index has the later text of a page alone, and the file is none of two runs."""
    path = tmp_path / "items.jsonl"
    texts = [ONE, TWO, edited(ONE, 1), TWO]
    path.write_bytes(b"".join(feed({"http://a.example/": html(text)}) for text in texts))
    assert kept(path, folder=tmp_path) == ["http://a.example/"] * 2


@pytest.mark.parametrize("backend", ["sqlite", "redis", "cluster"])
def test_an_index_is_filled_and_knows_its_pages_afterwards(
    backend: str,
    items: Path,
    tmp_path: Path,
    stores: Any,
) -> None:
    url = stores(backend).url
    assert kept(items, "--index", url, folder=tmp_path) == KEPT
    index = open_existing(url)
    assert [entry.key for entry in index] == KEPT[:2]
    assert not any(entry.provisional for entry in index)
    index.close()
    # Once more: what is kept is what was kept.
    assert kept(items, "--index", url, folder=tmp_path) == KEPT
    other = tmp_path / "other.jsonl"
    other.write_bytes(feed({"http://new.example/": html(edited(TWO, 3))}))
    assert kept(other, "--index", url, folder=tmp_path) == []


def test_the_index_of_the_settings_is_left_alone(items: Path, tmp_path: Path) -> None:
    settings = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/crawl.sqlite"}
    kept(items, folder=tmp_path, **settings)
    assert not (tmp_path / "crawl.sqlite").exists()


def test_an_interrupted_run_leaves_no_half_written_file(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(
        feed({f"http://a.example/{n}": html(article(n, 2000)) for n in range(1500)})
    )
    arguments = ["items.jsonl", "--verdicts", "verdicts", "--index", "i.sqlite"]
    # A journal comes and goes while the file is made.
    parts = [tmp_path / name for name in ("i.sqlite", "i.sqlite-wal")]

    def has_pages() -> bool:
        return sum(part.stat().st_size for part in parts if part.exists()) >= 200_000

    interrupted("dedupe", *arguments, folder=tmp_path, when=has_pages)
    assert {file.name for file in tmp_path.iterdir()} == {"items.jsonl", "i.sqlite"}
    items = tmp_path / "items.jsonl"
    again = kept(items, "--index", tmp_path / "i.sqlite", folder=tmp_path)
    assert again == kept(items, folder=tmp_path)
    assert len(again) > 100


def test_the_same_pages_are_kept_as_in_a_crawl_in_the_same_order(
    crawl: Callable[..., Any], site: Any, tmp_path: Path
) -> None:
    from scrapy import Request, Spider

    texts = [edited(article(n // 4), n, 0.01 * (n % 4 + 1)) for n in range(24)]
    site.pages = {f"/{n}": html(text, title=f"Page {n // 4}") for n, text in enumerate(texts)}

    class Pages(Spider):
        name = "pages"

        async def start(self) -> Any:
            for n in range(24):
                yield Request(f"{site.url}/{n}")

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    done = crawl(Pages, settings={"CONCURRENT_REQUESTS": 1})
    bodies = {f"{site.url}{path}": body for path, body in site.pages.items()}
    path = tmp_path / "items.jsonl"
    path.write_bytes(feed(bodies))
    assert kept(path, folder=tmp_path) == [item["url"] for item in done.items]
    assert done.stat("duplicate") > 5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.jsonl"], "no such file"),
        (["OTHER"], "no file with pages"),
        (["FOLDER"], "no file with pages"),
        (["BROKEN"], "line 1: not a JSON object"),
        (["BROKEN", "--index", "NEW"], "line 1: not a JSON object"),
        (["EMPTY"], "no entry has html or html_base64 or text or raw_content or markdown"),
        (["PAGES", "--verdicts", "/nowhere/at/all"], "/nowhere/at/all: No such file"),
        (["PAGES", "--index", "redis://127.0.0.1:1/0"], "cannot use"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], says: str, items: Path, tmp_path: Path, capsys: Any
) -> None:
    known = {"PAGES": items, "OTHER": tmp_path / "a.tsv", "FOLDER": tmp_path / "folder"}
    known |= {
        "NEW": tmp_path / "new.sqlite",
        "BROKEN": tmp_path / "b.jsonl",
        "EMPTY": tmp_path / "e.jsonl",
    }
    known["OTHER"].write_text("x")
    known["FOLDER"].mkdir()
    known["BROKEN"].write_text("[1]\n")
    known["EMPTY"].write_text('{"url": "a", "title": "b"}\n')
    before = set(tmp_path.iterdir())
    given = [known.get(argument, argument) for argument in arguments]
    assert simhash("dedupe", *given) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert set(tmp_path.iterdir()) == before
