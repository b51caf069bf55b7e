"""The prose container: the running text of a page and nothing of its template."""

from __future__ import annotations

from lxml import etree

from scrapy_simhash.prose import main_lines, visible_text
from tests.pages import article


def lines_of(html: str) -> list[str]:
    return main_lines(etree.fromstring(html, etree.HTMLParser(remove_comments=True)))


def paragraphs(seed: int, number: int = 4) -> list[str]:
    return [article(seed * 100 + at, words=40) for at in range(number)]


def tagged(texts: list[str], tag: str = "p") -> str:
    return "".join(f"<{tag}>{text}</{tag}>" for text in texts)


MODERN = (
    "<html><body><header><nav><a href=/>{other}</a></nav></header><main><article>{body}</article>"
    "</main><aside><p>{other}</p></aside><footer><p>{other}</p></footer></body></html>"
)
TABLES = (
    "<html><body><table><tr><td class=side-bar>{other}<td><table><tr><td>{body}</table>"
    "<tr><td class=foot>{other}</table></body></html>"
)


def test_two_templates_give_the_same_text() -> None:
    """An article has the same text in a modern template and in one made of tables."""
    texts = paragraphs(1)
    for template in (MODERN, TABLES):
        html = template.format(body=tagged(texts), other=article(9, words=30))
        assert lines_of(html) == texts


def test_breaks_end_lines_and_inline_tags_do_not() -> None:
    """A line runs through inline markup, up to a break or a nested block."""
    one, two, three = paragraphs(2, 3)
    first, rest = one[:10], one[10:]
    html = f"<div><b>{first}</b>{rest}<br>{two}<p>{three}</p></div>"
    assert lines_of(html) == [one, two, three]


def test_chinese_prose_is_found_by_its_bytes() -> None:
    """Han text without any space counts by bytes and by its own punctuation."""
    text = "这个地方的人们都说，他们在这里生活了很多年，从来没有看到过这样的天气"
    links = "首页 新闻 体育 财经 科技 娱乐 汽车 房产 教育 健康 旅游 时尚 女性 读书 游戏 彩票 论坛"
    html = f"<body><div id=x>{tagged([text] * 3)}</div><div id=y>{tagged([links] * 9)}</div>"
    assert lines_of(html) == [text] * 3


def test_comments_captions_and_notices_are_not_prose() -> None:
    """Text under such classes goes, even inside the article."""
    texts = paragraphs(3)
    other = article(8, words=40)
    for name in ("comments", "cookie-banner", "photo-caption", "newsletter", "related-posts"):
        html = f"<body><article>{tagged(texts)}<div class={name}><p>{other}</p></div></article>"
        assert lines_of(html) == texts, name


def test_a_section_is_not_judged_by_its_slug() -> None:
    """The page of a manual about cookies keeps its text: ids of sections are headings."""
    texts = paragraphs(4)
    for tag, name in (("section", ""), ("div", "section")):
        body = f"<{tag} class='{name}' id=http-cookies>{tagged(texts)}</{tag}>"
        assert lines_of(f"<body><div>{body}</div></body>") == texts


def test_nested_definitions_belong_to_their_manual() -> None:
    """Definition lists deep in sections are part of the page, not a container of their own."""
    intro, *texts = paragraphs(5, 7)
    definition = "<dl><dt>A<dd><dl><dt>B<dd><dl><dt>C<dd>{}</dl></dl></dl>".format
    definitions = definition(tagged(texts[:3])) + definition(tagged(texts[3:]))
    html = (
        f"<body><div><section><p>{intro}</p><section>{definitions}</section></section>"
        f"</div><div class=footer><p>{article(7, words=30)}</p></div></body>"
    )
    assert lines_of(html) == [intro, *texts]


def test_an_article_split_by_an_advertisement_is_mended() -> None:
    """Parts that are made alike go together, what stands between them does not."""
    texts = paragraphs(6, 6)
    part = "<div class=part>{}</div>".format
    html = (
        f"<body><div class=story><div>{part(tagged(texts[:4]))}</div><div class=ad>"
        f"<blockquote>{article(5, words=30)}</blockquote></div>"
        f"<div>{part(tagged(texts[4:]))}</div></div></body>"
    )
    assert lines_of(html) == texts


def test_lists_of_links_are_no_lines() -> None:
    """A block that is mostly links is left out."""
    texts = paragraphs(10)
    teaser = f'<p>There is more of the same here: <a href="/">{article(11, words=20)}</a></p>'
    assert lines_of(f"<body><div>{tagged(texts)}{teaser}</div></body>") == texts


def test_without_prose_shorter_lines_are_taken() -> None:
    """A page of short lines is not empty."""
    texts = [f"Short line number {number} of the list" for number in range(12)]
    assert lines_of(f"<body><div>{tagged(texts)}</div></body>") == texts


def test_visible_text_with_and_without_furniture() -> None:
    """Scripts are never shown; navigation is shown, but is furniture."""
    html = "<body><script>x()</script><nav>Home</nav><p>On<b>e</b> line</p>tail<style>y</style>"
    root = etree.fromstring(html, etree.HTMLParser())
    assert visible_text(root) == "Home\nOne line\ntail"
    assert visible_text(root, furniture=False) == "One line\ntail"
