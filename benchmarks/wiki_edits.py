"""Edits the MediaWiki of ../shared/sites/mediawiki.sh as its people do between two days.

``python -m benchmarks.wiki_edits FOLDER``, the folder that was given to mediawiki.sh. Of its
110 stories 12 get another word, 12 lose a sentence, 12 get another number and 12 a section more, 4
are moved, 4 removed, and 6 are new.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.pages import article

WIKI = "/var/lib/mediawiki"
EDITS: tuple[Callable[[str], str], ...] = (
    lambda text: re.sub(r"\b[a-z]{6,}\b", lambda word: word.group()[::-1], text, count=1),
    lambda text: re.sub(r"(?<=\. )[^.\n]{30,}\. ", "", text, count=1),
    lambda text: re.sub(r"\d+", lambda number: str(int(number.group()) + 1), text, count=1),
    lambda text: text.replace("== See also", f"== Later ==\n{article(len(text), 60)}\n== See also"),
)


def main(folder: Path) -> None:
    latest = {
        page.name: page for day in ("pages", "again") for page in (folder / day).glob("S*.txt")
    }
    stories = [latest[name] for name in sorted(latest)]
    edited = stories[:96:2]
    with tempfile.TemporaryDirectory() as name:
        to = Path(name)
        for number, page in enumerate(edited):
            (to / page.name).write_text(
                EDITS[number % len(EDITS)](page.read_text("utf-8")), "utf-8"
            )
        for number in range(6):
            text = f"{article(900 + number, 300)}\n\n[[Category:Part {number}]]\n"
            (to / f"Later story {number}.txt").write_text(text, "utf-8")
        front = (folder / "pages" / "Main Page.txt").read_text("utf-8")
        front += "".join(f"\n* [[Later story {number}]]" for number in range(6))
        (to / "Main Page.txt").write_text(front, "utf-8")
        run("importTextFiles.php", "--overwrite", "--user", "Admin", *map(str, to.glob("*.txt")))
        removed, moved = to / "removed", to / "moved"
        removed.write_text("".join(f"{page.stem}\n" for page in stories[97:105:2]))
        moved.write_text("".join(f"{page.stem}|Moved {page.stem}\n" for page in stories[98:106:2]))
        run("deleteBatch.php", "-u", "Admin", str(removed))
        run("moveBatch.php", "-u", "Admin", str(moved))
    run("runJobs.php")


def run(script: str, *words: str) -> None:
    subprocess.run(["php", f"maintenance/{script}", *words], cwd=WIKI, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
