"""`scrapy simhash compare`: two pages, their distance, and what differs."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from simhash import Simhash as PypiSimhash

from scrapy_simhash.fingerprint.recipe import named_recipe
from tests.commands.running import simhash
from tests.pages import article, edited, html

ONE = article(1)


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "one": html(ONE),
        "copy": html(ONE.replace("Bar", "Zar", 1), links=("/x", "/y")),
        "edited": html(edited(ONE, 1, 0.002)),
        "other": html(article(2)),
    }
    made = {name: tmp_path / f"{name}.html" for name in texts}
    for name, path in made.items():
        path.write_bytes(texts[name])
    return made


def compared(capsys: Any, *arguments: object, **more: Any) -> tuple[int, int | None, str]:
    """Return the exit status, the distance in bits and what is printed."""
    status = simhash("compare", *arguments, **more)
    out = capsys.readouterr().out
    found = re.search(r"^distance +(\d+) of ", out, re.MULTILINE)
    return status, int(found[1]) if found else None, out


def test_near_duplicates_are_told_from_others(pages: dict[str, Path], capsys: Any) -> None:
    status, distance, out = compared(capsys, pages["one"], pages["edited"])
    assert status == 0
    assert distance is not None
    assert 0 < distance <= 48
    assert f"{distance} of 256 bits (k = 48): near-duplicates" in out
    status, distance, out = compared(capsys, pages["one"], pages["other"])
    assert status == 1
    assert distance is not None
    assert f"{distance} of 256 bits (k = 48): not near-duplicates" in out
    assert distance > 48


def test_what_differs_is_shown(pages: dict[str, Path], capsys: Any) -> None:
    pages["copy"].write_bytes(html("Today 15 visits. " + ONE, title="A page"))
    pages["one"].write_bytes(html("Today 14 visits. " + ONE, title="A page"))
    assert simhash("compare", pages["one"], pages["copy"]) == 1
    out = capsys.readouterr().out
    assert "Today [-14-]{+15+} visits" in out
    assert "near-duplicates" in out
    assert "\x1b[" not in out
    assert simhash("compare", pages["one"], pages["one"]) == 0
    assert "The two texts are the same, and so are" in capsys.readouterr().out


def test_fields_that_only_one_of_two_pages_has_stand_side_by_side(
    pages: dict[str, Path], capsys: Any
) -> None:
    fields = "<table><tr><th>Rooms</th><td>{}</td></tr></table><dl><dt>Lift<dd>{}</dl>"
    pages["one"].write_bytes(html(ONE, top=fields.format(3, "yes")))
    pages["copy"].write_bytes(html(ONE, top=fields.format(4, "no")))
    out = compared(capsys, pages["one"], pages["copy"])[2]
    assert "only A shows | only B shows\nRooms: 3 | Rooms: 4\nLift: yes | Lift: no\n" in out


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
    assert compared(capsys, f"{site.url}/moved", pages["one"])[1] == 0
    _, _, out = compared(capsys, f"{site.url}/gbk", pages["one"])
    assert re.search(r"^characters +3\d\d ", out, re.MULTILINE)
    assert simhash("compare", f"{site.url}/gone", pages["one"]) == 2
    assert "/gone: HTTP Error 404: Not Found" in capsys.readouterr().err


def test_an_answer_may_be_packed_though_nobody_asked_for_that(
    site: Any, pages: dict[str, Path], capsys: Any
) -> None:
    headers, packed = (
        {"Content-Type": "text/html", "Content-Encoding": "gzip"},
        gzip.compress(html(ONE)),
    )
    bomb = gzip.compress(bytes(10**7))
    site.pages = {
        "/a": (200, headers, packed),
        "/half": (200, headers, packed[:-9]),
        "/bomb": (200, headers, bomb),
    }
    assert compared(capsys, f"{site.url}/a", pages["one"])[1] == 0
    assert "A is not compared (too_large)" in compared(capsys, f"{site.url}/bomb", pages["one"])[2]
    assert simhash("compare", f"{site.url}/half", pages["one"]) == 2


def test_texts_and_text_files_are_compared(capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(ONE)
    assert compared(capsys, file, file)[1] == 0
    assert compared(capsys, "--text", ONE, file)[:2] == (0, 0)


def test_the_settings_of_the_project_decide(pages: dict[str, Path], capsys: Any) -> None:
    strict = {"SIMHASH_DISTANCE": 0}
    assert compared(capsys, pages["one"], pages["edited"], settings=strict)[0] == 1
    _, _, out = compared(capsys, pages["one"], pages["edited"], "--recipe", "classic")
    assert "of 64 bits (k = 3)" in out


def test_texts_of_any_length_are_compared(capsys: Any) -> None:
    assert compared(capsys, "--text", "short", "short")[:2] == (0, 0)
    assert compared(capsys, "--text", "--recipe", "pypi", "How are you?", "I am fine")[0] == 1


def test_settings_of_the_command_line_change_the_named_recipe(capsys: Any) -> None:
    recipe = ("--text", "--recipe", "pypi")
    one, other = "How are you? I am fine.", "How old are you? I am fine."
    _, _, out = compared(capsys, *recipe, one, other, settings={"SIMHASH_DISTANCE": 40})
    assert "(k = 3)" in out
    status, distance, out = compared(capsys, *recipe, "-s", "SIMHASH_DISTANCE=15", one, other)
    assert (status, distance) == (0, 15)
    assert "(k = 15)" in out


def test_every_step_of_the_classic_example_is_shown(capsys: Any) -> None:
    arguments = ("--text", "--recipe", "pypi", "--steps")
    assert simhash("compare", *arguments, "How are you? I am fine.", "How are you? Fine.") == 1
    out = capsys.readouterr().out
    recipe, text = named_recipe("pypi"), "How are you? I am fine."
    assert f"A  {len(recipe.features(text))} features, with their weights" in out
    assert "         1  'howa'" in out
    first = out.split("for each bit")[1].splitlines()[1].split()
    assert first == ["0", *(f"{value:g}" for value in recipe.sums(text).values[:8])]
    bits = re.findall(r"^ {7}((?: +[01]){8})$", out, re.MULTILINE)
    assert "".join("".join(bits[:8]).split()) == f"{recipe.fingerprint(text).value:064b}"
    assert f"fingerprint  {PypiSimhash('How are you? I am fine.').value:016x}" in out
    assert "block values of slices:4" in out


def test_pages_under_other_headings_are_told_apart_by_the_rule(
    pages: dict[str, Path], capsys: Any
) -> None:
    pages["copy"].write_bytes(html(ONE, title="Another title"))
    status, distance, out = compared(capsys, pages["one"], pages["copy"])
    assert (status, distance) == (1, 0)
    assert "because   the headings differ (other-heading)" in out
    assert re.search(r"^title +A page +Another title$", out, re.MULTILINE)


def test_a_page_that_nothing_reads_is_not_compared(site: Any, tmp_path: Path, capsys: Any) -> None:
    png = b"\x89PNG" + bytes(range(256)) * 20
    (tmp_path / "a.png").write_bytes(png)
    site.pages = {"/b": (200, {"Content-Type": "image/png"}, png)}
    status, distance, out = compared(capsys, tmp_path / "a.png", f"{site.url}/b")
    assert (status, distance) == (1, None)
    assert "distance  not compared" in out
    for letter in "AB":
        assert f"{letter} is not compared (other_type)" in out


def test_documents_are_compared_by_the_readers_of_a_crawl(
    site: Any, tmp_path: Path, capsys: Any
) -> None:
    made = {"text": ONE, "price": 3}
    (tmp_path / "a.json").write_text(json.dumps(made))
    body = json.dumps(made, indent=2, sort_keys=True).encode()
    site.pages = {
        "/b": (200, {"Content-Type": "application/json"}, body),
        "/c": (200, {"Content-Type": "application/json"}, body.replace(b"3", b"4")),
    }
    assert compared(capsys, tmp_path / "a.json", f"{site.url}/b")[1] == 0
    assert compared(capsys, tmp_path / "a.json", f"{site.url}/c")[0] == 1


def test_a_name_tells_what_is_no_html(tmp_path: Path, capsys: Any) -> None:
    for name in ("a.pdf", "b.png", "page", "page.php"):
        (tmp_path / name).write_text(ONE)
    status, distance, _ = compared(capsys, tmp_path / "a.pdf", tmp_path / "b.png")
    assert (status, distance) == (1, None)
    assert compared(capsys, tmp_path / "page", tmp_path / "page.php")[1] == 0


def test_a_page_that_a_crawl_finds_too_large_is_not_compared(
    pages: dict[str, Path], capsys: Any
) -> None:
    settings = {"SIMHASH_MAX_BODY_SIZE": 100}
    assert simhash("compare", pages["one"], pages["one"], settings=settings) == 1
    out = capsys.readouterr().out
    assert "A is not compared (too_large)" in out
    assert "The two texts" not in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["www.example.com/a", "PAGE"], "no such file; an address has http:// before it"),
        (["http://127.0.0.1:1/", "PAGE"], "http://127.0.0.1:1/"),
        (["PAGE", "http://["], "http://[: "),
        (["PAGE", "http://user:12#s3cret@host/"], "is not fetched"),
        (["PAGE", "http://127.0.0.1:port/"], "http://127.0.0.1:port/: "),
        (["--recipe", "soup", "PAGE", "x"], "unknown recipe"),
        (["--recipe", "pypi", "-s", "SIMHASH_DISTANCE=70", "--text", "a", "b"], "SIMHASH_DISTANCE"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], says: str, pages: dict[str, Path], capsys: Any
) -> None:
    given = [pages["one"] if argument == "PAGE" else argument for argument in arguments]
    assert simhash("compare", *given) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "s3cret" not in error
    assert error.count("\n") == 1
