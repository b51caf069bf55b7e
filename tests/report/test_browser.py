"""The report in Chromium: what is seen there is what the log says."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.html_report import HtmlReport
from tests.pages import article, edited
from tests.report.lines import CRAWL, HOSTILE, copy, line, table_of, write

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright for Python")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def log_lines() -> list[LogLine]:
    """A crawl of hosts with short and long names, some of whose drops are doubtful."""
    hosts = ["a.example", "mirror.example", f"{'w' * 90}.example", "[::1]:8080"]
    lines = []
    for number in range(400):
        url = f"http://{hosts[number % 4]}/{'deep/' * (number % 30)}{number}"
        text = article(number // 4 % 5, 120)
        if number % 4 == 0:
            lines.append(line(url=url, text=text))
        elif number % 40 == 7:
            lines.append(line(url=url, verdict="skipped", reason="other_type"))
        else:
            place = number % 20 // 4 * 4
            original = f"http://a.example/{'deep/' * (place % 30)}{place}"
            text = edited(text, number, 0.03)
            doubtful = {"doubtful": number % 8 == 1, "details": f"Price\n{number}"}
            lines.append(copy(url, original, number % 49, text=text, **doubtful))
    # Words without a place to break them.
    long = line(url=f"http://{'w' * 90}.example/", text="x" * 300)
    lines.append(long)
    lines += [copy(f"http://{c * 90}.example/", long.url, text=c * 300) for c in "xy"]
    for number, text in enumerate(HOSTILE):
        original = f"http://h{number}/{text}"
        lines.append(copy(f"http://b/{text}", original, text=text, host=text, doubtful=True))
        lines.append(line(url=f"http://h{number}/{text}", text=f"{text}!"))
    return lines


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("report")
    log = write(folder / "dedup.jsonl", log_lines())
    path: Path = folder / "report.html"
    path.write_bytes(HtmlReport(table_of(log), [log.name], CRAWL).html().encode("utf-8", "replace"))
    return path


@pytest.fixture
def visit(browser: Any, report: Path) -> Iterator[Any]:
    """Open the report; what the page complains of or asks for is an error."""
    complaints: list[str] = []
    contexts = []

    def go(width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda asked: complaints.append(asked.url))
        page.goto(report.as_uri())
        assert complaints == [report.as_uri()]
        complaints.clear()
        return page

    yield go
    assert complaints == []
    for context in contexts:
        context.close()


def test_all_drops_are_members_of_groups_that_open(visit):
    drops = {each.url: each for each in log_lines() if each.verdict == "duplicate"}
    page = visit()
    assert page.locator("#groups .members li").count() == len(drops)
    last = page.locator("#groups details").last
    assert not last.locator("li").first.is_visible()
    last.locator("summary").click()
    assert last.locator("li").first.is_visible()


OUTSIDE = """() => [...document.querySelectorAll("main *")].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.width &&
    (box.right > window.innerWidth + 1 || box.left < -1);
}).map((e) => e.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off(visit, width, scheme):
    page = visit(width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_hostile_pages_stay_text(visit):
    page = visit()
    assert page.title() == f"{CRAWL}: near-duplicates"
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator("main").inner_text()


def test_paper_is_white_and_shows_everything(visit):
    page = visit(720, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#groups .members li").first.is_visible()
    tables = "[...document.querySelectorAll('table')].map((t) => t.getBoundingClientRect().right)"
    assert max(page.evaluate(tables)) <= 720
    assert len(page.pdf()) > 20_000
