"""The wheel and the sdist have what is needed; with FULL=1, both crawl by themselves."""

import os
import re
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scrapy_simhash"

CRAWL = """
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

page = "data:text/html,<title>A page</title><p>" + "Some words of a page that is kept once. " * 20

class Pages(Spider):
    name = "pages"
    start_urls = [f"{page}#{number}" for number in range(3)]

    def parse(self, response):
        yield {"url": response.url}

process = CrawlerProcess({"ADDONS": {"scrapy_simhash.Addon": 500}, "SIMHASH_PROCESSES": 1})
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
assert crawler.stats.get_value("simhash/responses") == 3, crawler.stats.get_stats()
"""


def run(*command: object, folder: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist."""
    if os.environ.get("FULL") != "1":
        pytest.skip("needs FULL=1, because the build downloads what it needs")
    folder = tmp_path_factory.mktemp("built")
    venv.create(folder / "tools", with_pip=True)
    python = folder / "tools" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "build", "twine>=6,<7", folder=folder)
    run(python, "-m", "build", "--outdir", folder / "dist", ROOT, folder=folder)
    return folder / "dist"


def test_every_file_of_the_package_is_in_the_wheel_and_the_sdist(built):
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    package = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    suffixes = {Path(name).suffix for name in package}
    assert suffixes == {".py", ".lua", ".html", ".css", ".typed"}
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    assert package <= in_wheel
    assert package <= in_sdist
    assert any(name.endswith("licenses/LICENSE") for name in in_wheel)
    assert {"LICENSE", "Makefile", "tox.ini", "tests/test_wheel.py"} <= in_sdist


def test_an_index_takes_what_was_built(built):
    python = built.parent / "tools" / "bin" / "python"
    run(python, "-m", "twine", "check", "--strict", *built.iterdir(), folder=built)


def test_every_link_of_the_readme_holds_on_a_package_index(built):
    [wheel] = map(zipfile.ZipFile, built.glob("*.whl"))
    [metadata] = [name for name in wheel.namelist() if name.endswith("METADATA")]
    text = wheel.read(metadata).decode("utf-8")
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    # An address of a blob is a page around the picture, and no picture.
    assert re.search(r"!\[[^]]*\]\(https://raw\.[^)]*report\.png\)", text)


@pytest.mark.parametrize("suffix", [".whl", ".tar.gz"])
def test_what_was_built_crawls_in_an_empty_environment(built, tmp_path, suffix):
    [package] = built.glob(f"*{suffix}")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", package, folder=tmp_path)
    run(python, "-c", CRAWL, folder=tmp_path)
    (tmp_path / "a.txt").write_text("one text of many words")
    shown = run(python, "-m", "scrapy", "simhash", "compare", "a.txt", "a.txt", folder=tmp_path)
    assert "near-duplicates" in shown
    (tmp_path / "log.jsonl").write_text("")
    run(python, "-m", "scrapy", "simhash", "report", "log.jsonl", folder=tmp_path)
    assert "near-duplicates" in (tmp_path / "simhash-report.html").read_text()


def test_the_conda_recipe_needs_what_the_project_needs():
    recipe = (ROOT / ".ci" / "conda" / "meta.yaml").read_text("utf-8")
    run = recipe.split("  run:\n")[1].split("\ntest:")[0]
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    needed = text.split("\ndependencies = [")[1].split("\n]")[0]
    names = {"xxhash": "python-xxhash", "redis": "redis-py"}
    for line in re.findall(r'^    "(.*)",$', needed, re.M):
        name, version = re.sub(r"\[.*\]", "", line).split(">=")
        assert f"    - {names.get(name, name)} >={version}\n" in run
