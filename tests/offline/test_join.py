"""Fingerprints as Parquet, and the join of them: the verdict of a crawl."""

import os
import random
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.core.analysis import PageAnalysis, text_body
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.keys import Scope
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.join import VERDICTS, DuckDB, find_copies, spark_verdicts
from scrapy_simhash.offline.prints import print_files, read_prints, spec_of_prints, write_prints
from scrapy_simhash.offline.saved_pages import Analysed, SavedPage
from tests.offline.made import FLOODED, judged_in_turn, made_prints
from tests.pages import DEFAULT

SPEC = spec_of(DEFAULT)


def written(
    folder: Path, pages: Iterable[Analysed], each: int = 1000, scope: Scope = "global"
) -> list[Path]:
    """Write pages to files with so many each."""
    rest, files = iter(pages), []
    while piece := list(islice(rest, each)):
        files.append(folder / f"{len(files):05}.parquet")
        with files[-1].open("wb") as file:
            write_prints(file, SPEC, piece, scope)
    return files


def by_join(files: list[Path], folder: Path) -> list[Any]:
    with closing(DuckDB(files, folder)) as engine:
        find_copies(engine, SPEC)
        return [(key, original, k) for key, _, _, _, original, k, _ in engine.rows(VERDICTS)]


def in_turn(pages: Iterable[Analysed], scope: Scope = "global", **more: int) -> list[Any]:
    verdicts = judged_in_turn(pages, scope, **more)
    return [(v.key, v.original, v.distance) for v in verdicts]


@pytest.mark.parametrize("seed", range(2))
def test_the_verdict_of_a_join_is_that_of_a_crawl(seed, tmp_path):
    pages = list(made_prints(2000, seed))
    verdicts = by_join(written(tmp_path, pages), tmp_path)
    assert verdicts == in_turn(pages)
    assert sum(original is not None for _, original, _ in verdicts) > 300


def test_a_flood_of_one_text_is_judged_as_a_crawl_judges_page_after_page(tmp_path):
    pages = list(made_prints(1500, one_text=0.2))
    assert by_join(written(tmp_path, pages), tmp_path) == in_turn(pages, at_once=1)


def test_a_flooded_bucket_is_read_as_far_as_a_crawl_reads_it(tmp_path):
    """Copies share nothing else with their originals, some of which are too long ago."""
    pages = [*map(_with_one_block, range(1000), made_prints(1000, 7, flood=0.5))]
    verdicts = by_join(written(tmp_path, pages), tmp_path)
    assert verdicts == in_turn(pages, at_once=1)
    assert 50 < sum(original is not None for _, original, _ in verdicts) < 200


def _with_one_block(number: int, analysed: Analysed) -> Analysed:
    """Return a page that shares no bucket with others but the one that is flooded."""
    page, analysis = analysed
    blocks = analysis.fingerprint.blocks
    others = random.Random(number).randbytes(len(blocks))
    place = slice(4 * FLOODED, 4 * FLOODED + 4)
    blocks = others[: place.start] + blocks[place] + others[place.stop :]
    return page, replace(analysis, fingerprint=replace(analysis.fingerprint, blocks=blocks))


def test_pages_of_other_scopes_are_not_compared(tmp_path):
    pages = list(made_prints(500, 6))
    verdicts = by_join(written(tmp_path, pages, scope="host"), tmp_path)
    assert verdicts == in_turn(pages, "host") != in_turn(pages)


def test_what_is_written_is_what_an_index_takes(tmp_path):
    pages = list(made_prints(300))
    skipped = SavedPage("k", "k", text_body("")), PageAnalysis(None, reason="empty")
    files = written(tmp_path, [*pages[:150], skipped, *pages[150:]], each=100)
    assert print_files([tmp_path]) == files
    assert spec_of_prints(files) == SPEC
    entries = list(read_prints(files, SPEC))
    assert [(e.key, e.fingerprint, e.facts) for e in entries] == [
        (page.key, analysis.fingerprint, analysis.facts) for page, analysis in pages
    ]


def test_what_has_no_fingerprints_is_refused(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    with pytest.raises(FileError, match="no file of fingerprints"):
        print_files([tmp_path])
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"key": ["a"]}), other)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with (tmp_path / "wide.parquet").open("wb") as file:
        write_prints(file, replace(SPEC, recipe="another"), made_prints(1), "global")
    files = written(tmp_path, made_prints(10))
    for wrong in ("other", "broken", "wide"):
        with pytest.raises(FileError, match=f"{wrong}.parquet: (no fingerprints|its fingerprints)"):
            spec_of_prints([*files, tmp_path / f"{wrong}.parquet"])


@pytest.mark.skipif(not os.environ.get("FULL"), reason="Spark takes a minute; FULL=1 runs it")
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_same_verdict(tmp_path, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = pytest.importorskip("pyspark.sql").SparkSession
    spark = session.builder.master("local[2]").config("spark.sql.shuffle.partitions", 4)
    spark = spark.config("spark.ui.enabled", "false").getOrCreate()
    pages = list(made_prints(1500))
    files = written(tmp_path, pages, each=400)
    rows = spark_verdicts(spark, str(tmp_path), DEFAULT).toArrow().to_pylist()
    spark.stop()
    (tmp_path / "duckdb").mkdir()
    verdicts = [tuple(row[name] for name in ("key", "original", "distance")) for row in rows]
    assert verdicts == by_join(files, tmp_path / "duckdb")
