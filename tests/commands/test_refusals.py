"""Wrong use of every subcommand: one line says what is wrong, and nothing is made or changed."""

import json
import shlex
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.report.dedup_log import to_json
from tests.commands.running import refused, simhash
from tests.index.promises.made import fp, spec
from tests.pages import article, html
from tests.report.lines import line

PAGE = "http://a.example/1"
RECORD = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/1\r\n"
    b"Content-Length: 900\r\n\r\nHTTP/1.1 200 OK\r\n"
)
FILES = {
    "page.html": html(article(1)),
    "pages.jsonl": json.dumps({"id": "a", "text": article(1)}).encode() + b"\n",
    "titles.jsonl": b'{"url": "a", "title": "b"}\n',
    "cut.warc": RECORD,
    "dedup.jsonl": to_json(line()).encode(),
    "none/notes.md": b"",
    "old.txt": b'{"url": "a", "fingerprint": 12}',
    "old.jsonl": b'{"url": "a", "fingerprint": 12}',
    "malformed.jsonl": b'{"url": "http://[", "fingerprint": 12}',
    "wide.jsonl": b'{"url": "a", "fingerprint": 18446744073709551616}',
    "low.jsonl": b'{"url": "a", "fingerprint": -9223372036854775809}',
}
NO_INDEX = "there is no index"
NO_LOG = "name a dedup log, which a crawl writes with -s SIMHASH_LOG=dedup.jsonl"
NO_FINGERPRINT = "entry 1: no url, or no fingerprint of 64 bits"
NO_REPLACING = "it is read, so it cannot be replaced"
CASES = [
    ("compare www.example.com/a page.html", "no such file; an address has http:// before it"),
    ("compare http://127.0.0.1:1/ page.html", "http://127.0.0.1:1/"),
    ("compare page.html http://[", "http://[: "),
    ("compare page.html 'http://user:12#s3cret@host/'", "is not fetched"),
    ("compare --recipe soup page.html x", "unknown recipe"),
    ("compare --recipe pypi -s SIMHASH_DISTANCE=70 --text a b", "SIMHASH_DISTANCE"),
    ("compare --steps page.html page.html", "add --text"),
    ("changes --index empty.sqlite", "the index has no runs: no crawl has used it"),
    ("changes --run 9 --index index.sqlite", "there is no such run"),
    (f"explain {PAGE}", "name a dedup log with --log FILE"),
    (f"explain {PAGE} --log /nowhere.jsonl", "/nowhere.jsonl"),
    ("stats", "name the index"),
    ("stats --bogus", "unrecognized arguments: --bogus"),
    ("stats --index nowhere.sqlite", NO_INDEX),
    ("stats --index memory://", "memory"),
    ("stats --index sqlite:///{spider}.sqlite", "each spider has its own index: name one"),
    ("stats --index i -s SIMHASH_DISTNCE=3", "did you mean SIMHASH_DISTANCE?"),
    ("stats --index redis:/user:s3cret@host", "redis:… is no URL of an index"),
    ("stats --index user:s3cret@host", "no index at '…'"),
    ("stats --index none/a:b.sqlite", NO_INDEX),
    ("report", NO_LOG),
    ("report nowhere.jsonl", "nowhere.jsonl: No such file"),
    ("report none", "none: Is a directory"),
    ("report titles.jsonl", "titles.jsonl: not a dedup log"),
    ("report dedup.jsonl -o no/r.html", "no/r.html: No such"),
    ("report dedup.jsonl -o ./dedup.jsonl", NO_REPLACING),
    ("report dedup.jsonl -o none", "none: Is a directory"),
    ("forget", "name the pages to forget"),
    (f"forget {PAGE}", "or that of a job with -s JOBDIR=FOLDER"),
    (f"forget --host {PAGE} --index index.sqlite", f"--host {PAGE}: it must be a host"),
    ("forget --older-than nan --index index.sqlite", "--older-than nan: it must be"),
    (f"forget --all {PAGE} --index index.sqlite", "name the pages to forget"),
    ("forget --missing-since 9 --index index.sqlite", "there is no such run"),
    (f"forget {PAGE} --index index.sqlite --log titles.jsonl --yes", "not a dedup log"),
    ("requeue --index index.sqlite", NO_LOG),
    ("import sqlite:///nowhere.sqlite --index x", NO_INDEX),
    ("import pages.jsonl --index memory://", "one in memory ends with its crawl"),
    ("import memory:// --index x", "one in memory ends with its crawl"),
    ("import nowhere.jsonl --index x", "No such file"),
    ("import nowhere.jsonl --index ftp://x", "no index at"),
    ("import titles.jsonl --index x --recipe pypi", NO_FINGERPRINT),
    ("import malformed.jsonl --index x --recipe pypi", NO_FINGERPRINT),
    ("import wide.jsonl --index x --recipe pypi", NO_FINGERPRINT),
    ("import low.jsonl --index x --recipe pypi", NO_FINGERPRINT),
    ("import old.jsonl --index x --recipe default", "does not give its block values"),
    ("import old.txt --index x --recipe pypi", "old.txt is damaged or not an index"),
    ("dedupe nowhere.jsonl", "no such file"),
    ("dedupe cut.warc", f"cut.warc: damaged (cut off in the record of {PAGE})"),
    ("dedupe pages.jsonl --verdicts /nowhere/at/all", "/nowhere/at/all: No such file"),
    ("dedupe pages.jsonl --verdicts pages.jsonl", NO_REPLACING),
    ("dedupe pages.jsonl --index redis://127.0.0.1:1/0", "cannot use"),
    ("dedupe prints pages.jsonl --verdicts to.parquet", "pages.jsonl: it has no fingerprints"),
    ("dedupe prints --index x.sqlite", "fingerprints go into an index by --kept"),
    ("dedupe prints --verdicts to.parquet -s SIMHASH_DISTANCE=40", "another recipe"),
    ("dedupe prints --verdicts x --kept ./x", "--verdicts and --kept name one file"),
    ("dedupe prints --kept prints/pages.jsonl.parquet", NO_REPLACING),
    ("fingerprint pages.jsonl ./pages.jsonl --to x", "two of PAGES have one name"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    open_index(f"sqlite:///{folder}/empty.sqlite", spec()).close()
    with closing(open_index(f"sqlite:///{folder}/index.sqlite", spec())) as index:
        index.put([Entry(PAGE, fp(1))])
        index.begin_run()
    assert simhash("fingerprint", folder / "pages.jsonl", "--to", folder / "prints") == 0
    return folder


@pytest.mark.parametrize(("line", "says"), CASES, ids=[line for line, _ in CASES])
def test_wrong_use_is_one_line_and_makes_nothing(line, says, folder, monkeypatch, capsys):
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    monkeypatch.chdir(folder)
    before = files()
    error = refused(capsys, *shlex.split(line))
    assert says in error
    assert "s3cret" not in error
    assert files() == before


@pytest.mark.parametrize(
    ("module", "line", "extra"),
    [
        ("pyarrow.parquet", "fingerprint pages.jsonl --to new", "corpus"),
        ("duckdb", "dedupe prints --verdicts to.parquet", "corpus"),
        ("warcio.archiveiterator", "dedupe cut.warc", "warc"),
    ],
)
def test_an_extra_that_is_missing_is_named(module, line, extra, folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    says = f": pip install 'scrapy-simhash[{extra}]'"
    test_wrong_use_is_one_line_and_makes_nothing(line, says, folder, monkeypatch, capsys)
