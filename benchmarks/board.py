"""A made board with permalinks, which this program serves.

Run as ``python benchmarks/board.py [PORT] [--style phpbb]``. Lists link the last post of a
topic before the topic itself, and each post links itself, so that the first address of a topic is
often that of a post. In the style ``slash`` a topic is ``/topic/7/``,
and a post ``/topic/7/?post=42``; in ``phpbb`` they are ``/viewtopic.php?t=7`` and
``/viewtopic.php?p=42``, of which neither is the other one with less. ``sparing.py board`` crawls it
without a server.
"""

from __future__ import annotations

import argparse
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.pages import article, html

FORUMS, TOPICS, POSTS_OF_PAGE, TOPICS_OF_LIST = 4, 160, 15, 20
STYLES = ("slash", "phpbb")


class BoardPage(NamedTuple):
    """What stands at an address: the name of the page, its text, and the links in their order."""

    name: str
    text: str
    links: list[str]


def board(style: str = "slash", seed: int = 7) -> dict[str, BoardPage]:
    """Return the pages of a board by their paths; copies have one name."""
    chance = random.Random(seed)
    slash = style == "slash"
    pages: dict[str, BoardPage] = {}
    of_forum: dict[int, list[tuple[int, list[int]]]] = {forum: [] for forum in range(FORUMS)}
    post = 0
    for topic in range(TOPICS):
        number = chance.choice((1, 2, 3, 5, 7, 9, 12, 20))
        of_forum[topic % FORUMS].append((topic, [*range(post, post + number)]))
        post += number

    def topic_url(topic: int, at: int = 0) -> str:
        url = f"/topic/{topic}/" if slash else f"/viewtopic.php?t={topic}"
        if not at:
            return url
        return f"{url}?page={at + 1}" if slash else f"{url}&start={at * POSTS_OF_PAGE}"

    def post_url(topic: int, number: int) -> str:
        return f"/topic/{topic}/?post={number}" if slash else f"/viewtopic.php?p={number}"

    def list_url(forum: int, at: int = 0) -> str:
        url = f"/forum/{forum}/" if slash else f"/viewforum.php?f={forum}"
        if not at:
            return url
        return f"{url}?page={at + 1}" if slash else f"{url}&start={at * TOPICS_OF_LIST}"

    for forum, topics in of_forum.items():
        rows = []
        for topic, posts in topics:
            parts = [posts[at : at + POSTS_OF_PAGE] for at in range(0, len(posts), POSTS_OF_PAGE)]
            rows += [post_url(topic, posts[-1]), topic_url(topic)]
            for at, part in enumerate(parts):
                text = " ".join(article(number, 60) for number in part)
                links = ["/", list_url(forum), *(post_url(topic, number) for number in part)]
                links += [topic_url(topic, other) for other in range(len(parts))]
                page = BoardPage(f"topic {topic}, part {at}", text, links)
                for url in (topic_url(topic, at), *(post_url(topic, number) for number in part)):
                    pages[url] = page
        lists = [rows[at : at + 2 * TOPICS_OF_LIST] for at in range(0, len(rows), 40)]
        for at, part_of_rows in enumerate(lists):
            links = [*part_of_rows, *(list_url(forum, other) for other in range(len(lists)))]
            text = article(50_000 + 100 * forum + at)
            pages[list_url(forum, at)] = BoardPage(f"list {forum}, part {at}", text, links)
    pages["/"] = BoardPage("index", article(90_000), [list_url(forum) for forum in range(FORUMS)])
    return pages


def record(style: str) -> dict[str, Any]:
    """Return what ``sparing_crawl.py --record`` would say of the board."""
    host, pages = f"http://{style}.test", board(style)
    return {
        "start": f"{host}/",
        "fetched": [(host + url, page.name, len(page.text)) for url, page in pages.items()],
        "addresses": [host + url for url in pages],
        "links": {host + url: [host + link for link in page.links] for url, page in pages.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("port", nargs="?", type=int, default=9400)
    parser.add_argument("--style", choices=STYLES, default="slash")
    options = parser.parse_args()
    pages = board(options.style)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if page:
                body = html(page.text, title=page.name, links=tuple(page.links))
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    print(f"http://127.0.0.1:{options.port}/", flush=True)
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
