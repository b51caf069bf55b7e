"""The main text: what a page is about, whole, and little of its template."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.extraction.main_text import measures
from scrapy_simhash.fingerprint.features import heavier
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from tests.pages import article
from tests.sites import SITES, chinese

RECIPE = named_recipe("default")


def lines_of(html: str) -> list[str]:
    return extract(html).text.split("\n")


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


def test_lines_are_measured_in_bytes_without_spaces() -> None:
    """A letter counts as many bytes as UTF-8 needs, also beyond the first 65,536."""
    texts = ["a, b.", "", "\u00e9\u4e2d\u3002", "\U0001f600 x", "x\ud800"]
    sizes, marks, ends = measures("\n".join(texts))
    assert sizes.tolist() == [4, 0, 8, 5, 3]
    assert marks.tolist() == [2, 0, 1, 0, 0]
    assert ends.tolist() == [True, False, True, False, False]


def test_two_templates_give_the_same_text() -> None:
    """An article has the same text in a modern template and in one made of tables."""
    texts = paragraphs(1)
    for template in (MODERN, TABLES):
        html = template.format(body=tagged(texts), other=article(9, words=30))
        assert lines_of(html) == texts


@pytest.mark.parametrize("site", SITES)
def test_the_text_is_the_heavier_lines_of_what_is_weighed(site: str) -> None:
    """Lines that nearly are main text stand among them, with less than half of the weight."""
    found = extract(SITES[site](paragraphs(1)))
    lines = found.weighed.split("\n")
    assert len(lines) == len(found.weights)
    assert set(found.weights) <= {1, 2, 3}
    assert heavier(*found.to_fingerprint) == found.text


@pytest.mark.parametrize(
    ("line", "weight"), [("<div class=related>{}</div>", 2), ("<aside><p>{}</p></aside>", 1)]
)
def test_a_less_sure_line_counts_less(line: str, weight: int) -> None:
    """Whether it is just taken or just not, it has little of the fingerprint."""
    texts = paragraphs(1)
    body = tagged(texts) + line.format(article(8, words=30))
    html = MODERN.format(body=body, other=article(9, words=30))
    assert extract(html).weights == (3, 3, 3, 3, weight)


def test_breaks_end_lines_and_inline_tags_do_not() -> None:
    """A line runs through inline markup, up to a break or a nested block."""
    one, two, three = paragraphs(2, 3)
    first, rest = one[:10], one[10:]
    html = f"<div><b>{first}</b>{rest}<br>{two}<p>{three}</p></div>"
    assert lines_of(html) == [one, two, three]


def test_comments_captions_and_notices_are_not_prose() -> None:
    """Text under such classes goes, even inside the article."""
    texts = paragraphs(3)
    other = article(8, words=40)
    for name in ("comments", "cookie-banner", "photo-caption", "newsletter", "related-posts"):
        html = f"<body><article>{tagged(texts)}<div class={name}><p>{other}</p></div></article>"
        assert lines_of(html) == texts, name


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
    """Parts that are made alike go together."""
    texts = paragraphs(6, 6)
    part = "<div class=part>{}</div>".format
    html = (
        f"<body><div class=story><div>{part(tagged(texts[:4]))}</div><div class=ad>"
        f"<blockquote>{article(5, words=30)}</blockquote></div>"
        f"<div>{part(tagged(texts[4:]))}</div></div></body>"
    )
    assert set(texts) <= set(lines_of(html))


def test_an_article_that_goes_on_behind_read_more_is_whole() -> None:
    """Lines that stand beside a part, in the element around it, belong to the text."""
    texts = paragraphs(12, 9)
    html = (
        f"<body><div class=story>{tagged(texts[:3])}<div id=more>{tagged(texts[3:])}</div></div>"
        f"<div class=bottom><p>{article(7, words=15)}</p></div></body>"
    )
    assert lines_of(html) == texts


def test_parts_are_alike_by_their_first_class() -> None:
    """Steps of one guide go together, though the first is marked and others are wrapped."""
    first, *texts = [tagged(paragraphs(seed, 2)) for seed in range(20, 24)]
    step = "<div class=step><div class='{}'>{}</div></div>".format
    html = f"<body>{step('text lead', first)}" + "".join(
        step("text", f"<span>{text}</span>") for text in texts
    )
    assert len(lines_of(f"{html}<div class=foot><p>{article(7, words=15)}</p></div>")) == 8


def test_a_doubtful_part_does_not_take_the_place_of_the_text() -> None:
    """An article that is shorter than the teaser below it is in the text."""
    text = article(17, words=40)
    teaser = f"<div class=teaser><div>{tagged(paragraphs(18, 2))}</div></div>"
    assert text in lines_of(f"<body><div><p>{text}</p></div>{teaser}</body>")


def test_lists_of_links_are_no_lines() -> None:
    """A list of links below an article is left out."""
    texts = paragraphs(10)
    links = tagged([f'<a href="/">{article(at, words=6)}</a>' for at in range(9)], "li")
    assert lines_of(f"<body><div>{tagged(texts)}</div><ul>{links}</ul></body>") == texts


def test_labels_and_cells_beside_prose_are_left_out() -> None:
    """A mirror that sets bylines, cells and links otherwise has the same text."""
    texts = paragraphs(4)
    labels = "<p>By A. Writer</p><table><tr><td>A cell of a table"
    assert lines_of(f"<body><div>{tagged(texts)}{labels}</table></div></body>") == texts


def test_where_most_lines_are_short_they_are_the_text() -> None:
    """A specification with one paragraph is compared by its lines, not by the paragraph alone."""
    notice, *_ = paragraphs(4)
    values = [f"The value of the property number {number}" for number in range(20)]
    html = f"<body><div><p>{notice}</p>{tagged(values)}</div></body>"
    assert lines_of(html) == [notice, *values]


def test_without_prose_shorter_lines_are_taken() -> None:
    """A page of short lines is not empty."""
    texts = [f"Short line number {number} of the list" for number in range(12)]
    assert lines_of(f"<body><div>{tagged(texts)}</div></body>") == texts


def english_body(seed: int) -> list[str]:
    return [article(seed * 100 + at, words=45) for at in range(6)]


def chinese_body(seed: int) -> list[str]:
    return [chinese(seed * 100 + at, characters=180) for at in range(6)]


def shingles(text: str) -> set[str]:
    letters = "".join(filter(str.isalnum, text.lower()))
    return {letters[at : at + 5] for at in range(len(letters) - 4)}


def distance(one: str, other: str) -> int:
    texts = (extract(one).to_fingerprint, extract(other).to_fingerprint)
    return hamming_distance(*(RECIPE.fingerprint(*text).value for text in texts))


@pytest.mark.parametrize("body", [english_body, chinese_body])
@pytest.mark.parametrize("site", SITES)
def test_each_kind_of_site_gives_its_body(site: str, body: Callable[[int], list[str]]) -> None:
    """Blogs, forums, shops, manuals, portals: the body comes out, hardly anything else does."""
    texts = body(1)
    extraction = extract(SITES[site](texts))
    found, wanted = shingles(extraction.text), shingles("\n".join(texts))
    assert not extraction.thin
    assert len(found & wanted) >= 0.95 * len(wanted)
    assert len(found - wanted) <= 0.2 * len(found)


@pytest.mark.parametrize("body", [english_body, chinese_body])
@pytest.mark.parametrize("site", SITES)
def test_a_template_makes_no_duplicates(site: str, body: Callable[[int], list[str]]) -> None:
    """Two bodies in one template are far apart."""
    assert distance(SITES[site](body(1)), SITES[site](body(2))) > 1.5 * RECIPE.distance


@pytest.mark.parametrize("body", [english_body, chinese_body])
def test_a_body_is_the_same_on_any_two_sites(body: Callable[[int], list[str]]) -> None:
    """One body in two templates is a near-duplicate, whichever templates they are."""
    # A thread of few letters is diluted by the rules of its forum.
    pages = {name: site(body(3)) for name, site in SITES.items() if name != "phpbb"}
    far = [
        pair
        for pair in combinations(pages, 2)
        if distance(pages[pair[0]], pages[pair[1]]) > RECIPE.distance
    ]
    assert far == []
