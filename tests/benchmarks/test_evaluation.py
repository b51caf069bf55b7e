"""Scores and losses of a crawl, held against what a reader would count by hand."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evaluate import main
from benchmarks.evaluation import (
    Dataset,
    Pair,
    clusters,
    evaluate,
    near_pairs,
    read_dataset,
    replay,
    wrong_drops,
)
from scrapy_simhash.core.analysis import Body
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.offline.saved_pages import SavedPage
from tests.pages import DEFAULT, article, edited, html


@given(st.lists(st.integers(0, 2**256 - 1) | st.none(), max_size=6), st.integers(0, 200))
def test_every_near_pair_is_found(values, distance):
    fingerprints = [None if value is None else Fingerprint(value, 256) for value in values]
    present = [(n, value) for n, value in enumerate(values) if value is not None]
    pairs = {(a, b): hamming_distance(x, y) for (a, x), (b, y) in combinations(present, 2)}
    near = {pair: bits for pair, bits in pairs.items() if bits <= distance}
    assert dict(near_pairs(fingerprints, distance)) == near


def test_a_crawl_compares_a_page_with_the_nearest_that_it_kept():
    # 1 repeats 0 and 2 repeats 1, but 2 is not near 0: it is kept, because 1 was dropped.
    assert replay({(0, 1): 5, (1, 2): 3}) == {1: 0}
    assert replay({(0, 2): 5, (1, 2): 3}) == {2: 1}
    assert replay({(1, 2): 3, (0, 2): 3}) == {2: 0}


def test_a_page_is_lost_once_if_no_copy_of_it_was_kept():
    cluster = clusters(6, [(0, 1), (1, 2)])
    assert len(set(cluster)) == 4
    assert wrong_drops({1: 0, 2: 5, 4: 3}, cluster, [(3, 4)]) == []
    assert wrong_drops({5: 0}, cluster, [(3, 4)]) == [(5, 0)]
    assert wrong_drops({0: 5, 1: 5, 2: 5}, cluster, [(3, 4)]) == [(0, 5)]
    assert wrong_drops({0: 5, 1: 5, 2: 5}, cluster, [(2, 5)]) == []


A, B, SIBLING = "http://a.test/1", "http://b.test/1", "http://a.test/sibling"


def pages() -> list[SavedPage]:
    """Return a page, its mirror, its sibling with nearly the same text, another and empty ones."""
    text = article(1, 500)
    bodies = {
        A: html(text, title="One"),
        B: html(edited(text, 2), title="One"),
        SIBLING: html(edited(text, 3, 0.08), title="Another"),
        "http://a.test/other": html(article(3, 500), title="One"),
        "http://a.test/empty": b"<body>",
    }
    return [SavedPage(url, url, Body(page, "utf-8"), url) for url, page in bodies.items()]


def test_near_pairs_are_ruled_on_as_in_a_crawl():
    pairs = {(A, B): Pair("duplicate", "mirror"), (A, SIBLING): Pair("duplicate", "edits")}
    dataset = Dataset("pages", pages(), pairs)
    result = evaluate(dataset, DEFAULT)
    assert (result.labelled, result.precision, result.recall) == (2, 1, 0.5)
    (missed,) = result.missed
    assert (missed.a, missed.b, missed.reason, missed.kind) == (A, SIBLING, "own-text", "edits")
    assert result.skipped == {"empty": 1}
    assert (result.dropped, result.wrong_per_thousand) == (1, 0)


def test_a_wrong_drop_is_named_and_counted_by_distinct_pages():
    result = evaluate(Dataset("pages", pages(), {}), DEFAULT)
    assert [(p.a, p.b, p.reason) for p in result.wrong_drops] == [(B, A, "like-headings")]
    assert result.wrong_per_thousand == 200


TEXTS = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "three"}]
HEAD = "a\tb\tlabel\n"


def written(folder: Path, pages: list[Any], labels: str | bytes) -> Path:
    (folder / "docs.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    (folder / "pairs.tsv").write_bytes(labels.encode() if isinstance(labels, str) else labels)
    return folder


def test_labels_name_pairs_in_any_order_and_kinds_in_either_place(tmp_path):
    labels = (
        "label\tb\ta\tkind\tjaccard\r\nduplicate/mirror\ta\tb\t\t0.9\r\n"
        "negative\tc\ta\ttemplate\t\r\n\r\nambiguous\tb\tc\t\t\r\n"
    )
    dataset = read_dataset(written(tmp_path, TEXTS, labels))
    assert dataset.name == tmp_path.name
    assert [page.name for page in dataset.documents] == ["a", "b", "c"]
    assert dataset.pairs == {
        ("a", "b"): Pair("duplicate", "mirror"),
        ("a", "c"): Pair("negative", "template"),
        ("b", "c"): Pair("ambiguous"),
    }


def test_a_set_is_measured_by_the_recipe_that_is_named(tmp_path, monkeypatch, capsys):
    texts = {"a": article(1), "b": edited(article(1), 3), "c": article(3), "d": article(4)}
    documents = [{"id": name, "text": text} for name, text in texts.items()]
    written(tmp_path, documents, f"{HEAD}a\tb\tduplicate/copy\nc\td\tduplicate/none\n")
    arguments = ["evaluate", str(tmp_path), *"--show 5 --recipe compact --distance 20".split()]
    monkeypatch.setattr("sys.argv", arguments)
    main()
    printed = capsys.readouterr().out
    row = [tmp_path.name, "compact", "20", "4", "0", "1.0000", "0.5000", "1", "1", "0", "1"]
    assert "| " + " | ".join(row) in printed
    assert f"{tmp_path.name}, compact: missed pairs\nc  d  –  –  none" in printed
