"""The main text: what a page is about, whole, and little of its template."""

from functools import partial
from itertools import combinations

import pytest

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.extraction.page import sizes_of
from scrapy_simhash.fingerprint.normalisation import heavier
from tests.pages import DEFAULT, article, distance_of
from tests.sites import LANGUAGES, SITES, paragraphs


def lines_of(html: str) -> list[str]:
    return extract(html).text.split("\n")


def texts_of(seed: int, number: int = 4) -> list[str]:
    return [article(seed * 100 + at, words=40) for at in range(number)]


def tagged(texts: list[str], tag: str = "p") -> str:
    return "".join(f"<{tag}>{text}</{tag}>" for text in texts)


MODERN = (
    "<html><body><header><nav><a href=/>{other}</a></nav></header><main><article>{body}</article>"
    "</main><aside><p>{other}</p></aside><footer><p>{other}</p></footer></body></html>"
)


def test_lines_are_measured_in_bytes_without_spaces():
    """A letter counts as many bytes as UTF-8 needs, also beyond the first 65,536."""
    texts = ["a, b.", "", "\u00e9\u4e2d\u3002", "\U0001f600 x", "x\ud800"]
    assert sizes_of("\n".join(texts)).tolist() == [4, 0, 8, 5, 4]


@pytest.mark.parametrize("site", SITES)
def test_the_text_is_the_heavier_lines_of_what_is_weighed(site):
    """Lines that nearly are main text have less than half of the weight; each is told once."""
    found = extract(SITES[site](texts_of(1)))
    lines = found.weighed.split("\n")
    assert len(lines) == len(found.weights)
    assert set(found.weights) <= {1, 2, 3}
    assert [*dict.fromkeys(heavier(*found.to_fingerprint).split("\n"))] == found.text.split("\n")


P0, *PARTS = texts_of(2, 9)
SHORT = [f"The value of the property number {number}" for number in range(20)]
DOUBTFUL = "".join(
    f"<div class={name}><p>{article(8, words=40)}</p></div>"
    for name in ("comments", "cookie-banner", "photo-caption", "newsletter", "related")
)


@pytest.mark.parametrize(
    ("more", "weight"), [("<div class=related>{}</div>", 2), ("<aside><p>{}</p></aside>", 1)]
)
def test_a_less_sure_line_counts_less(more, weight):
    """Whether it is just taken or just not, it has little of the fingerprint."""
    body = tagged(texts_of(1)) + more.format(article(8, words=30))
    html = MODERN.format(body=body, other=article(9, words=30))
    assert extract(html).weights == (3, 3, 3, 3, weight)


def test_lines_of_doubtful_names_count_little_beside_some_text():
    assert extract(f"<article>{tagged(PARTS[:4])}{DOUBTFUL}").weights == (3, 3, 3, 3, 1)


SPLIT = f"<div><b>{P0[:10]}</b>{P0[10:]}<br>{PARTS[0]}<p>{PARTS[1]}</p></div>"
LINK = f"<p><a href=/mill>{article(9, words=12)}</a></p>"
LINKS = f"{tagged(PARTS[:4])}{LINK}{tagged(PARTS[4:])}{LINK.replace('/mill', '/next')}"
HEADED = f"<h2>Above</h2>{tagged(PARTS[:2])}<h2>Between</h2>{tagged(PARTS[2:])}<h2>Below</h2>"
PARTED = f"{tagged(PARTS[:4])}<h3>{{}}</h3><ul>{tagged(PARTS[4:], 'li')}</ul>"
BETWEEN = [*PARTS[:4], "Between", *PARTS[4:]]
WHOLE = {
    "a line runs through inline tags, up to a break or a nested block": (SPLIT, [P0, *PARTS[:2]]),
    "text of doubtful names goes": (f"<article>{tagged(PARTS)}{DOUBTFUL}", PARTS),
    "a specification has one paragraph": (f"<p>{P0}</p>{tagged(SHORT)}", [P0, *SHORT]),
    "short lines between two made alike": (HEADED, [*PARTS[:2], "Between", *PARTS[2:]]),
    "a heading between two made otherwise": (PARTED.format("Between"), BETWEEN),
    "a heading that is a link": (PARTED.format("<a href=/mill>Between</a>"), BETWEEN),
    "no other short line there": (PARTED.replace("h3", "div").format("Between"), PARTS),
    "a link in a text, but none below it": (LINKS, [*PARTS[:4], article(9, words=12), *PARTS[4:]]),
    "a page of short lines is not empty": (f"<div>{tagged(SHORT)}</div>", SHORT),
}


@pytest.mark.parametrize("rule", WHOLE)
def test_the_text_is_whole_and_no_more(rule):
    html, texts = WHOLE[rule]
    assert lines_of(f"<body>{html}</body>") == texts


@pytest.mark.parametrize("links", [4, 5])
def test_five_links_are_text_of_a_page_without_main_text(links):
    rows = [
        f"<tr><td><a href=/{at}>The mill {at}</a></td><td>wheel {at}</td></tr>"
        for at in range(links)
    ]
    found = extract(f"<h1>Mills</h1><table>{''.join(rows)}</table>")
    assert found.thin
    assert "wheel 3" in found.text
    assert ("The mill 3" in found.text) is (links == 5)


def test_parts_that_are_made_alike_go_together():
    """An advertisement splits an article; of the steps of a guide, one is marked, one wrapped."""
    step = "<div class=step><div class='{}'>{}</div></div>".format
    first, *steps = [tagged(texts_of(seed, 2)) for seed in range(20, 24)]
    html = step("text lead", first) + "".join(
        step("text", f"<span>{text}</span>") for text in steps
    )
    foot = f"<div class=foot><p>{article(7, words=15)}</p></div>"
    assert len(lines_of(f"<body>{html}{foot}")) == 8


def test_a_doubtful_part_does_not_take_the_place_of_the_text():
    """An article that is shorter than the teaser below it is in the text."""
    text = article(17, words=40)
    teaser = f"<div class=teaser><div>{tagged(texts_of(18, 2))}</div></div>"
    assert text in lines_of(f"<body><div><p>{text}</p></div>{teaser}</body>")


def shingles(text: str) -> set[str]:
    letters = "".join(filter(str.isalnum, text.lower()))
    return {letters[at : at + 5] for at in range(len(letters) - 4)}


BODIES = {"Short": texts_of} | {name: partial(paragraphs, name) for name in LANGUAGES}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("site", SITES)
def test_each_kind_of_site_gives_its_body_in_any_language(site, body):
    texts = BODIES[body](1)
    extraction = extract(SITES[site](texts))
    found, wanted = shingles(extraction.text), shingles("\n".join(texts))
    assert not extraction.thin
    assert len(found & wanted) >= 0.95 * len(wanted)
    assert len(found - wanted) <= 0.2 * len(found)


@pytest.mark.parametrize("body", ["Short", "Chinese"])
@pytest.mark.parametrize("site", SITES)
def test_a_template_makes_no_duplicates(site, body):
    one, other = (SITES[site](BODIES[body](seed)) for seed in (1, 2))
    assert distance_of(one, other) > 1.5 * DEFAULT.distance


@pytest.mark.parametrize("body", BODIES)
def test_a_body_is_the_same_on_any_two_sites(body):
    # A thread of few letters is diluted by the rules of its forum.
    pages = {name: site(BODIES[body](3)) for name, site in SITES.items() if name != "phpbb"}
    far = [
        pair
        for pair in combinations(pages, 2)
        if distance_of(pages[pair[0]], pages[pair[1]]) > DEFAULT.distance
    ]
    assert far == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_is_near_its_mirror_and_its_edit_and_far_from_another(language):
    """In the edit, one paragraph begins later, two have changed places, and a few words follow."""
    texts, others = paragraphs(language, 1), paragraphs(language, 2)
    edited = [*texts[1::-1], *texts[2:6], texts[6][40:], texts[7], others[0][:40]]
    text, edit, other = map(tagged, (texts, edited, others))
    assert distance_of(text, MODERN.format(body=text, other="Home")) <= 10
    assert distance_of(text, edit) <= DEFAULT.distance < distance_of(text, other) - 10
