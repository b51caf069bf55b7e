"""`scrapy simhash compare`: two pages, their distance, and what differs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.offline.likeness import jaccard, tfidf_cosine
from tests.commands.running import simhash
from tests.pages import article, edited, html

ONE = article(1)


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "one": html(ONE),
        "copy": html(ONE.replace("Bar", "Zar", 1), title="Another title", links=("/x", "/y")),
        "edited": html(edited(ONE, 1)),
        "other": html(article(2)),
    }
    made = {name: tmp_path / f"{name}.html" for name in texts}
    for name, path in made.items():
        path.write_bytes(texts[name])
    return made


def compared(capsys: Any, *arguments: object, **more: Any) -> tuple[int, dict[str, Any]]:
    status = simhash("compare", *arguments, "--json", "-", **more)
    return status, json.loads(capsys.readouterr().out)


def test_near_duplicates_are_told_from_others(pages: dict[str, Path], capsys: Any) -> None:
    status, found = compared(capsys, pages["one"], pages["edited"])
    assert status == 0
    assert found["near_duplicates"] is True
    assert 0 < found["distance"] <= found["k"] == 48
    assert 0.7 < found["jaccard"] < 1
    assert 0.9 < found["cosine"] < 1
    status, found = compared(capsys, pages["one"], pages["other"])
    assert status == 1
    assert found["near_duplicates"] is False
    assert found["distance"] > 48
    assert found["jaccard"] < 0.3


def test_what_differs_is_shown(pages: dict[str, Path], capsys: Any) -> None:
    pages["copy"].write_bytes(html("Today 15 visits. " + ONE, title="A page"))
    pages["one"].write_bytes(html("Today 14 visits. " + ONE, title="A page"))
    assert simhash("compare", pages["one"], pages["copy"]) == 0
    out = capsys.readouterr().out
    assert "Today [-14-]{+15+} visits" in out
    assert "near-duplicates" in out
    assert "\x1b[" not in out
    assert simhash("compare", pages["one"], pages["one"]) == 0
    assert "The two texts are the same." in capsys.readouterr().out


def test_an_address_is_fetched(site: Any, pages: dict[str, Path], capsys: Any) -> None:
    site.pages = {
        "/a": html(ONE),
        "/gbk": (
            200,
            {"Content-Type": "text/html; charset=gbk"},
            html("中文网页的正文内容。" * 30).decode().encode("gbk").replace(b"charset=utf-8", b""),
        ),
        "/moved": (302, {"Location": "/a"}, b""),
    }
    assert compared(capsys, f"{site.url}/moved", pages["one"])[1]["distance"] == 0
    _, found = compared(capsys, f"{site.url}/gbk", pages["one"])
    assert found["pages"][0]["characters"] > 250
    assert simhash("compare", f"{site.url}/gone", pages["one"]) == 2
    assert "/gone: status 404" in capsys.readouterr().err


def test_texts_and_standard_input(monkeypatch: Any, capsys: Any, tmp_path: Path) -> None:
    class Stdin:
        buffer = io.BytesIO(edited(ONE, 3).encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    status, found = compared(capsys, "--text", ONE, "-")
    assert status == 0
    assert found["pages"][1]["name"] == "-"
    (tmp_path / "a.txt").write_text(ONE)
    assert compared(capsys, tmp_path / "a.txt", tmp_path / "a.txt")[1]["distance"] == 0
    status, found = compared(capsys, "--text", "short", "short")
    assert (status, found["distance"]) == (1, None)


def test_the_settings_of_the_project_decide(pages: dict[str, Path], capsys: Any) -> None:
    strict = {"SIMHASH_DISTANCE": 0}
    assert compared(capsys, pages["one"], pages["edited"], settings=strict)[0] == 1
    _, found = compared(capsys, pages["one"], pages["edited"], "--recipe", "classic")
    assert (found["bits"], found["k"]) == (64, 3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no such.html", "-"], "no such file (for a text, give --text)"),
        (["-", "-"], "only one"),
        (["http://127.0.0.1:1/", "-"], "http://127.0.0.1:1/"),
        (["--recipe", "soup", "-", "x"], "unknown recipe"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], says: str, capsys: Any) -> None:
    assert simhash("compare", *arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_likeness_is_one_of_the_same_and_nothing_of_strangers() -> None:
    assert jaccard({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    assert jaccard((), ()) == 0
    assert tfidf_cosine("One two THREE", "three two one") == pytest.approx(1)
    assert tfidf_cosine("one two", "three four") == 0
    assert tfidf_cosine("", "three") == 0
    # The word that only one has counts for more than the one that both have.
    assert tfidf_cosine("a b", "a c") == pytest.approx(1 / (1 + (1 + 0.405465) ** 2))
