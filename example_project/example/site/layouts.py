"""The publishers and their page templates: six ways to set the same article."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Publisher:
    """A made-up newspaper: its host, its name, and the template it sets its pages in.

    Attributes:
        path: where its articles are, with ``{slug}`` in it.
        page: the template of every page; fields name, lang, charset, title, body,
            links.
        paragraph: the template of one paragraph of a body.
        charset: the encoding of its pages, declared in the page and nowhere else.
    """

    host: str
    name: str
    lang: str
    path: str
    page: Template
    paragraph: str = "<p>{}</p>"
    charset: str = "utf-8"

    def url(self, path: str) -> str:
        """Return the address of a path on this publisher's host."""
        return f"http://{self.host}{path}"


_HEAD = (
    '<!DOCTYPE html>\n<html lang="$lang"><head><meta charset="$charset">'
    "<title>$title - $name</title></head>\n"
)

_ARTICLE = Template(
    _HEAD
    + """<body><header><a href="/">$name</a></header>
<main><article><h1>$title</h1>
$body
</article></main>
<aside><h2>$related</h2><ul>$links</ul></aside>
<footer>$rights</footer></body></html>
"""
)

_ENTRY = Template(
    _HEAD
    + """<body class="single"><div id="masthead"><a href="/">$name</a></div>
<div id="page"><div id="primary"><h1 class="entry-title">$title</h1>
<div class="entry-content">
$body
</div></div>
<div id="secondary" class="sidebar"><h3>$related</h3><ul>$links</ul></div></div>
<div id="colophon">$rights</div></body></html>
"""
)

_TABLE = Template(
    _HEAD
    + """<body bgcolor="#ffffff"><table width="760"><tr><td colspan="2"><a href="/">$name</a>
</td></tr><tr><td width="160"><b>$related</b><ul>$links</ul></td>
<td width="600"><h1>$title</h1>
$body
</td></tr><tr><td colspan="2">$rights</td></tr></table></body></html>
"""
)

_SECTION = Template(
    _HEAD
    + """<body><nav><a href="/">$name</a></nav>
<section class="story"><div class="story-head"><h1>$title</h1></div>
<div class="story-body">
$body
</div></section>
<section class="related"><h2>$related</h2><ol>$links</ol></section>
<div class="footer">$rights</div></body></html>
"""
)

PUBLISHERS = (
    Publisher("harbor-post.test", "Harbor Post", "en", "/news/{slug}", _ARTICLE),
    Publisher(
        "lea-gazette.test",
        "Lea Valley Gazette",
        "en",
        "/{slug}.html",
        _TABLE,
        "{}<br><br>",
    ),
    Publisher("lantern.test", "Lantern Weekly", "en", "/2031/{slug}/", _ENTRY),
    Publisher("yunzhou.test", "云州日报", "zh", "/news/{slug}.html", _SECTION),
    Publisher(
        "beicheng.test", "北城晚报", "zh", "/{slug}.shtml", _TABLE, "　　{}<br>", "gbk"
    ),
    Publisher("qinghe.test", "青禾周刊", "zh", "/read/{slug}", _ENTRY),
)
