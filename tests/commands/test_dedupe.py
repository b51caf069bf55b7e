"""`scrapy simhash dedupe`: the filter over saved pages, and over their fingerprints."""

import asyncio
import gc
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.core.workers import Workers
from scrapy_simhash.offline.prints import write_prints
from tests.commands.running import entries_in, printed, simhash
from tests.crawl.spiders import ONE_AT_A_TIME, Pages, paths
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


def feed(pages: dict[str, bytes] = PAGES) -> bytes:
    lines = [json.dumps({"url": url, "html": body.decode()}) for url, body in pages.items()]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_bytes(feed())
    return path


def verdicts(*arguments: object, folder: Path, **settings: Any) -> list[dict[str, Any]]:
    settings = {"SIMHASH_PROCESSES": 0} | settings
    path = folder / "verdicts"
    assert simhash("dedupe", *arguments, "--verdicts", path, settings=settings) == 0
    return [*map(json.loads, path.read_text().splitlines())]


def kept(*arguments: object, folder: Path, **settings: Any) -> list[str]:
    lines = verdicts(*arguments, folder=folder, **settings)
    return [line["key"] for line in lines if line["action"] is None]


def test_the_first_of_near_duplicates_is_kept(items, tmp_path, capsys):
    """The index of the settings is left alone."""
    with items.open("a") as file:
        file.write('{"id": 1}\n{"id": 2}\n')
    settings = {"SIMHASH_PROCESSES": 2, "SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/crawl.sqlite"}
    lines = verdicts(items, folder=tmp_path, **settings)
    assert not (tmp_path / "crawl.sqlite").exists()
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "6 pages: 3 to keep, 3 copies",
        "1 of those to keep cannot be compared",
        "passed over: 2 (entry without text)",
    ]
    assert [line["key"] for line in lines] == [*PAGES]
    assert [line["key"] for line in lines if line["action"] is None] == KEPT
    kinds = ("unique", "unique", "duplicate", "duplicate", "skipped", "duplicate")
    assert [line["verdict"] for line in lines] == [*kinds]
    assert (lines[5]["original"], lines[5]["distance"]) == ("http://a.example/2", 0)
    assert lines[4]["reason"] == "empty"


def test_verdicts_are_a_log_that_explain_report_and_requeue_read(items, tmp_path, capsys):
    lines = verdicts(items, folder=tmp_path)
    log = tmp_path / "verdicts"
    capsys.readouterr()
    assert ONE[:30] in lines[0]["text"]
    assert "duplicate (drop)" in printed(capsys, "explain", "m.example/2", "--log", log)
    report = printed(capsys, "report", log, "-o", tmp_path / "report.html")
    assert "6 judged, 3 near-duplicates (50.0%)" in report
    out = printed(capsys, "requeue", "--host", "m.example", "--log", log)
    requeued = [json.loads(line)["url"] for line in out.splitlines()]
    assert requeued == [url for url in PAGES if url not in KEPT]


def test_a_key_with_two_texts_keeps_both(tmp_path):
    """The index has the later text of a page alone, and the file is none of two runs."""
    path = tmp_path / "items.jsonl"
    texts = [ONE, TWO, edited(ONE, 1), ONE, TWO]
    path.write_bytes(b"".join(feed({"http://a.example/": html(text)}) for text in texts))
    assert kept(path, folder=tmp_path) == ["http://a.example/"] * 2


def test_an_index_is_filled_and_knows_its_pages_afterwards(items, tmp_path, stores, capsys):
    url = stores("redis").url
    for _ in range(2):  # a second run keeps what the first one kept
        assert kept(items, "--index", url, folder=tmp_path) == KEPT
        entries = entries_in(url)
        assert [entry.key for entry in entries] == KEPT[:2]
        assert not any(entry.provisional for entry in entries)
    assert "\n2 of those to keep were in the index already\n" in capsys.readouterr().out
    other = tmp_path / "other.jsonl"
    other.write_bytes(feed({"http://new.example/": html(edited(TWO, 3))}))
    assert kept(other, "--index", url, folder=tmp_path) == []


def test_a_crawl_in_the_same_order_keeps_the_same_pages(crawl, site, tmp_path):
    """Each of six texts comes four times, twice with a word that differs."""
    texts = [edited(article(n // 4), n % 2, 0.01) for n in range(24)]
    site.pages = {f"/{n}": html(text, title=f"Page {n // 4}") for n, text in enumerate(texts)}
    done = crawl(Pages, settings=ONE_AT_A_TIME, site=site, paths=[*site.pages])
    path = tmp_path / "items.jsonl"
    path.write_bytes(feed({site.url + name: body for name, body in site.pages.items()}))
    assert kept(path, folder=tmp_path) == [site.url + name for name in paths(done)]
    assert done.stat("duplicate") > 5


def rows(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    return list(parquet.read_table(path).to_pylist())


def test_what_dedupe_keeps_is_kept(items, tmp_path, capsys):
    prints, to, kept = tmp_path / "prints", tmp_path / "to.parquet", tmp_path / "kept.parquet"
    says = f"{prints}: 6 pages written\n"
    assert printed(capsys, "fingerprint", items, "--to", prints) == says
    out = printed(capsys, "dedupe", prints, "--verdicts", to, "--kept", kept)
    assert "6 pages: 3 to keep, 3 copies\n" in out
    assert [row["key"] for row in rows(to) if row["kept"]] == KEPT
    simhash("dedupe", items, "--verdicts", tmp_path / "v.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    names = ("key", "verdict", "original", "distance", "reason")
    assert [[row[n] for n in names] for row in rows(to)] == [[x[n] for n in names] for x in lines]
    # What is kept is an index, and what comes later can be joined with it.
    index = tmp_path / "i.sqlite"
    assert simhash("import", kept, "--index", index) == 0
    assert [entry.key for entry in entries_in(f"sqlite:///{index}")] == KEPT[:2]
    assert simhash("dedupe", kept, prints, "--verdicts", to) == 0
    assert [row["key"] for row in rows(to) if row["kept"]] == [*KEPT[:2], KEPT[2]]
    assert {row["reason"] for row in rows(to)[2:4]} == {"key"}


def test_an_interrupted_fingerprint_goes_on_where_it_was(items, tmp_path, monkeypatch, capsys):
    files = [items, tmp_path / "more.jsonl"]
    files[1].write_bytes(feed({"http://b.example/": html(TWO)}))
    first = tmp_path / "prints" / "items.jsonl.parquet"
    arguments = ["fingerprint", *files, "--to", first.parent, "-s", "SIMHASH_PROCESSES=0"]
    with monkeypatch.context() as patch:
        written = iter([write_prints])
        write = "scrapy_simhash.commands.fingerprint.write_prints"
        patch.setattr(write, lambda *given: next(written, presses)(*given))
        assert simhash(*arguments) == 130
    assert [*first.parent.iterdir()] == [first]
    before = first.stat().st_mtime_ns
    capsys.readouterr()
    assert "1 page written\nnot written again: 1 file\n" in printed(capsys, *arguments)
    assert first.stat().st_mtime_ns == before
    assert len(rows(first)) == len(PAGES)


def presses(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
    return asyncio.SelectorEventLoop()


class Ending(Workers):
    async def close(self) -> None:
        presses().close()
        await asyncio.sleep(0.1)
        await super().close()


def fails(*_: object) -> None:
    """DuckDB makes an error of its own of a Ctrl-C within a query."""
    try:
        presses()
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None


@pytest.mark.parametrize(
    ("name", "presses"),
    [
        ("asyncio.new_event_loop", presses),
        ("scrapy_simhash.commands.selection.Workers", Ending),
        ("scrapy_simhash.commands.dedupe.find_copies", fails),
    ],
)
def test_ctrl_c_is_one_message_and_leaves_nothing(
    name, presses, items, tmp_path, monkeypatch, capsys, caplog
):
    """While the workers begin, while they end, or within a query."""
    prints = tmp_path / "prints"
    before = threading.enumerate()
    assert simhash("fingerprint", items, "--to", prints) == 0
    capsys.readouterr()
    monkeypatch.setattr(name, presses)
    pages = prints if "copies" in name else items
    target = tmp_path / "verdicts"
    assert simhash("dedupe", pages, "--verdicts", target, settings={"SIMHASH_PROCESSES": 1}) == 130
    assert capsys.readouterr().err == "scrapy simhash dedupe: interrupted\n"
    gc.collect()
    assert not caplog.records  # a task that is lost says so
    left = {*threading.enumerate()}.difference(before)
    assert not [thread for thread in left if thread.name == "simhash"]
    assert {*tmp_path.iterdir()} == {items, prints}
