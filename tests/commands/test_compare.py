"""`scrapy simhash compare`: two pages, their distance, and what differs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import refused, simhash
from tests.pages import article, edited, html, turned

TEXT = article(1)


def compared(capsys: Any, *arguments: object, **more: Any) -> tuple[int, int | None, str]:
    """Return the exit status, the distance in bits and what is printed."""
    status = simhash("compare", *arguments, **more)
    out = capsys.readouterr().out
    match = re.search(r"^distance +(\d+) of ", out, re.MULTILINE)
    return status, int(match[1]) if match else None, out


@pytest.fixture
def page(tmp_path: Path) -> Any:
    """Write a page to a file, and return its path."""

    def write(name: str, text: str = TEXT, **options: Any) -> Path:
        path = tmp_path / name
        path.write_bytes(html(text, **options))
        return path

    return write


def test_near_duplicates_are_told_from_other_pages(page, capsys):
    original = page("original.html")
    for text, is_copy in ((turned(TEXT), True), (article(2), False)):
        status, distance, out = compared(capsys, original, page("b.html", text))
        assert status == (not is_copy)
        assert (0 < distance <= 48) == is_copy
        verdict = "near-duplicates" if is_copy else "not near-duplicates"
        assert f"{distance} of 256 bits (k = 48): {verdict}\n" in out
        assert ("because   " in out) == is_copy
    status, distance, out = compared(capsys, original, page("c.html", title="Another title"))
    assert (status, distance) == (1, 0)
    assert "because   a page has numbers, names or values of its own, as records have" in out


def test_words_and_fields_that_differ_are_shown(page, capsys):
    fields = "<table><tr><th>Rooms</th><td>{}</td></tr></table><dl><dt>Lift<dd>{}</dl>"
    a = page("a.html", "Today 14 visits. " + TEXT, top=fields.format(3, "yes"))
    b = page("b.html", "Today 15 visits. " + TEXT, top=fields.format(4, "no"))
    out = compared(capsys, a, b)[2]
    assert "{+only B shows+}\nRooms: [-3-]{+4+}\nLift: [-yes-]{+no+}\n" in out
    assert "Today [-14-]{+15+} visits" in out
    assert "\x1b[" not in out
    assert "what differs" not in compared(capsys, a, a)[2]


def test_an_address_is_fetched_as_a_crawl_would(site, page, capsys):
    chinese = html("中文网页的正文内容。" * 30).decode().encode("gbk")
    site.pages = {
        "/a": html(TEXT),
        "/moved": (302, {"Location": "/a"}, b""),
        "/gbk": (
            200,
            {"Content-Type": "text/html; charset=gbk"},
            chinese.replace(b"charset=utf-8", b""),
        ),
    }
    file = page("a.html")
    assert compared(capsys, f"{site.url}/moved", file)[1] == 0
    out = compared(capsys, f"{site.url}/gbk", file)[2]
    assert re.search(r"^A  .* \(3\d\d characters\)$", out, re.MULTILINE)
    small = {"SIMHASH_MAX_BODY_SIZE": 100}
    out = compared(capsys, f"{site.url}/a", file, settings=small)[2]
    assert "\nA  not compared (too_large)\n" in out
    error = refused(capsys, "compare", f"{site.url}/gone", file)
    assert "/gone: HTTP Error 404: Not Found" in error


def test_of_a_text_that_is_cut_the_least_length_is_shown(tmp_path, capsys):
    long = "\n".join(article(seed) for seed in range(100))
    middle = len(long) // 2
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text(long)
    b.write_text(f"{long[:middle]}{article(200)}{long[middle:]}")
    _, distance, out = compared(capsys, "--text", a, b)
    assert distance
    assert len(re.findall(r" \(at least (60,000|59,99\d) characters\)\n", out)) == 2


def test_settings_and_recipe_say_how_pages_are_compared(page, capsys):
    pages = page("a.html"), page("b.html", edited(TEXT, 1, 0.002))
    assert compared(capsys, *pages, settings={"SIMHASH_DISTANCE": 0})[0] == 1
    status, distance, out = compared(capsys, "--text", "a\n", "a" + " " * 99)
    assert (status, distance) == (0, 0)
    assert out.startswith("A  a (1 character)\nB  a (1 character)\n")
    pypi = ("--text", "--recipe", "pypi", "How are you? I am fine.", "How are you? I am finer.")
    assert "(k = 3)" in compared(capsys, *pypi)[2]
    steps = compared(capsys, *pypi, "--steps")[2]
    rows = re.findall(r"^ +\d+((?: +-?\d+){8})\n((?: +[01]){8})$", steps, re.MULTILINE)
    assert len(rows) == 2 * 8
    assert 0 < steps.count("*") - 2 < 2 * 4
    for sums, bits in rows:
        assert [int(value) > 0 for value in sums.split()] == [*map("1".__eq__, bits.split())]
    both = [row.split() for row in re.findall(r"that both have\n(.*)$", steps, re.MULTILINE)]
    for a, b in zip(*both, strict=True):
        assert a.endswith("*") == b.endswith("*") == (a[:8] == b[:8])
    status, distance, out = compared(capsys, *pypi, "-s", "SIMHASH_DISTANCE=4")
    assert (status, distance) == (0, 4)
    assert "(k = 4)" in out


def test_documents_are_compared_by_the_readers_of_a_crawl(site, tmp_path, capsys):
    values = {"text": TEXT, "price": 3}
    (tmp_path / "a.json").write_text(json.dumps(values))
    body = json.dumps(values, indent=2, sort_keys=True).encode()
    site.pages = {
        "/b": (200, {"Content-Type": "application/json"}, body),
        "/c": (200, {"Content-Type": "application/json"}, body.replace(b"3", b"4")),
        "/png": (200, {"Content-Type": "image/png"}, b"\x89PNG" + bytes(range(256)) * 20),
    }
    for name in ("a.pdf", "page", "page.php"):
        (tmp_path / name).write_text(TEXT)
    assert compared(capsys, tmp_path / "a.json", f"{site.url}/b")[1] == 0
    assert compared(capsys, tmp_path / "a.json", f"{site.url}/c")[0] == 1
    # A file that says nothing of its type is a saved page.
    assert compared(capsys, tmp_path / "page", tmp_path / "page.php")[1] == 0
    status, distance, out = compared(capsys, tmp_path / "a.pdf", f"{site.url}/png")
    assert (status, distance) == (1, None)
    assert "distance  not compared" in out
    assert "\nB  not compared (other_type)\n" in out
