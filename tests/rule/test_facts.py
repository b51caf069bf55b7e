"""Facts of a page: what stands in them, and that they stay small and quick."""

import time
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.facts import FACTS_SIZE, Facts, facts_of
from tests.pages import article

RECIPE = named_recipe("default")
PAGE = Extraction(
    *("The text.", False, "Site. The text.", "A story | Site", ("Site", "A story")),
    content="Site. The text.\nNumber 7",
)


def facts(extraction: Extraction = PAGE, **changes: object) -> Facts:
    return Facts.from_bytes(facts_of(replace(extraction, **changes), RECIPE))  # type: ignore[arg-type]


def test_facts_are_the_same_after_they_were_bytes():
    data = facts_of(PAGE, RECIPE)
    assert len(data) == FACTS_SIZE <= 255
    assert Facts.from_bytes(data).to_bytes() == data
    with pytest.raises(
        ValueError, match=f"the facts of a page have {FACTS_SIZE} bytes, not {FACTS_SIZE + 1}"
    ):
        Facts.from_bytes(data + b"x")


RED = "A red that has slept in oak for nine months."
WHITE = "A white of the upper lake, for fish and cheese."
ONCE = article(1).replace(". ", ".\n")
CAMERA = {"labels": ("Camera K510", "12 visitors")}
#: A field of the facts, two pages by what they have else than others, and whether it is the same.
FIELDS: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    # The title of another site has the same part.
    ("title", {}, {"title": "A Story – Another paper"}, True),
    ("headings", {}, {"title": "A Story – Another paper"}, False),
    # On one host, headings are those that are written.
    ("headings", {"headings": ("KEY_Ehook",)}, {"headings": ("KEY_ehook",)}, False),
    ("headings", {"headings": ("|",)}, {"headings": ()}, True),
    # Labels are names with their numbers and without counts of visits.
    ("headings", CAMERA, {"labels": ("camera k510:", "7 visitors")}, True),
    ("headings", CAMERA, {"labels": ("Camera K520", "12 visitors")}, False),
    ("headings", {"labels": ("Lot 7",)}, {"labels": ("Lot 8",)}, False),
    # Words of a heading that the text does not have are kept.
    ("unsaid", *({"headings": (f"Plumber in {town}",)} for town in ("Oslo", "Rome")), False),
    # A text that stands twice on a page has one length.
    ("text_bytes", {"text": ONCE}, {"text": f"{ONCE}\n{ONCE}"}, True),
    # Two orders of a list say the same, whichever of its texts is main text.
    ("said", *({"text": text, "content": f"{RED}\n{WHITE}"} for text in (RED, WHITE)), True),
    ("sentences", *({"text": text, "content": f"{RED}\n{WHITE}"} for text in (RED, WHITE)), False),
]


@pytest.mark.parametrize(("name", "one", "other", "is_same"), FIELDS, ids=range(len(FIELDS)))
def test_what_is_the_same_of_two_pages_has_the_same_facts(name, one, other, is_same):
    values = [getattr(facts(**page), name) for page in (one, other)]
    assert (values[0] == values[1]) is is_same


def test_what_names_a_page_in_one_place_has_the_hash_that_it_has_in_another():
    assert facts(title="4.2. A story").title == facts().heading == facts().title != 0
    assert facts(headings=("Plumber",), text="A plumber.").unsaid == 0


OUTLINES = """
    13.8. Full text | 12.7. Full text
    Chapter 4. Full text | Chapter 12. Full text
    第 4 章 Full text | 第十二章 Full text
    4. Full text | Full text"""
NAMES = """
    SPI_commit | SPI_rollback
    Area 51 | Area 52
    7 wonders | 8 wonders
    operator< | operator++
    allocator | ~allocator"""


@pytest.mark.parametrize(("lines", "are_alike"), [(OUTLINES, True), (NAMES, False)])
def test_an_outline_number_is_no_part_of_a_heading_and_what_names_the_page_is(lines, are_alike):
    for line in lines.strip().splitlines():
        one, other = (facts(title=name, headings=(name,)) for name in line.strip().split(" | "))
        assert (one.heading == other.heading) is (one.title == other.title) is are_alike, line
        assert one.headings != other.headings


@pytest.mark.parametrize(
    "other",
    [
        *("The ferry returns: why!", "The ferry returns \u2013 why?", "THE FERRY RETURNS, WHY"),
        *("\u201cThe fer\u00adry\u201d returns \u2014 why", "The ferry returns - why \U0001f6a2"),
        *("The 'ferry' returns, why \u00b6", "The ferry returns: why\uf0c1"),
    ],
)
def test_marks_and_case_are_no_part_of_a_name(other):
    one = facts(title=f"{other} | Herald", headings=(other,))
    two = facts(title="The ferry returns - why | Herald", headings=("The ferry returns - why",))
    assert (one.headings, one.heading) == (two.headings, two.heading)
    assert facts(headings=("Release 1.2",)).heading != facts(headings=("Release 12",)).heading


def test_an_h2_is_a_name_unless_a_long_text_speaks_of_the_others_and_not_of_it():
    """A title that is the ``h1`` may be that of the site."""
    named, other = {"subheading": "Model K510"}, {"subheading": "Model K520"}
    long = "The shop has many cameras. " * 200
    for shop, is_name in (
        ({"title": "Our shop", "headings": ("Welcome",)}, True),
        ({"title": "Our shop", "headings": ("Welcome",), "text": "The shop has it."}, False),
        ({"title": "Our shop", "headings": ("Our Shop",), "text": "The shop has it."}, True),
        ({"title": "Our shop", "headings": ("Our Shop",), "text": long}, False),
        ({"title": "Our shop", "headings": (), "text": f"{long} It has a model."}, True),
        ({"title": "Blog | Our shop", "headings": (), "text": f"{long} It has a model."}, True),
    ):
        assert (facts(**shop, **named).headings != facts(**shop, **other).headings) is is_name


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("Repair Circle - Lamp Day - 2", {"headings": ("Lamp Day - 2",)}),
        ("Lamp Day - 2 | Repair Circle", {"headings": ("Lamp Day - 2",)}),
        ("Repair Circle : Lamp Day 2", {"headings": ("Events", "Lamp Day 2")}),
        ("Repair Circle | Lamp Day 2", {"headings": (), "site_name": "Repair Circle"}),
        ("Repair Circle | Lamp Day 2", {"headings": (), "text": "A lamp is lit on this day."}),
    ],
)
def test_the_name_of_a_page_is_a_heading_or_what_the_text_speaks_of(title, known):
    named = facts(title="Lamp Day 2", headings=())
    assert facts(title=title, **known).title == named.title


@pytest.mark.parametrize(
    ("heading", "text", "backed"),
    [
        ("Storm over the island", "The storm reached an island on Monday.", True),
        ("Storm over the island", "We use cookies on this site.", False),
        ("台风登陆海南", "台风于周一登陆海南岛。", True),
        ("台风登陆海南", "我们使用饼干。", False),
        ("Q&A", "Q&A", False),
        ("옛 다리가 봄에 열린다", "강을 건너는 옛 다리는 봄에 다시 열릴 예정이다.", True),
        ("옛 다리가 봄에 열린다", "이 사이트는 쿠키를 사용합니다.", False),
        ("पुराना पुल वसंत में खुलेगा", "नदी पर बना पुराना पुल अगले वसंत तक खुलेगा।", True),
        ("पुराना पुल वसंत में खुलेगा", "यह साइट कुकीज़ का उपयोग करती है।", False),
        ("পুরানো সেতু বসন্তে খুলবে", "নদীর উপর পুরানো সেতু আগামী বসন্তে খুলবে।", True),
        ("পুরানো সেতু বসন্তে খুলবে", "এই সাইট কুকি ব্যবহার করে।", False),
        ("பழைய பாலம் வசந்தத்தில் திறக்கும்", "ஆற்றின் மீது பழைய பாலம் வசந்தத்தில் திறக்கும்.", True),
        ("பழைய பாலம் வசந்தத்தில் திறக்கும்", "இந்த தளம் குக்கீகளை பயன்படுத்துகிறது.", False),
        ("పాత వంతెన తెరుచుకుంటుంది", "నదిపై పాత వంతెన వసంతంలో తెరుచుకుంటుంది.", True),
        ("པར་ཁང་གསར་པ་ཕྱེས་པ།", "གྲོང་ཁྱེར་དུ་པར་ཁང་གསར་པ་ཞིག་ཕྱེས་པ་རེད།", True),
        ("པར་ཁང་གསར་པ་ཕྱེས་པ།", "དྲ་ཚིགས་འདིས་ཀུ་ཀི་བེད་སྤྱོད་བྱེད།", False),
        ("الجِسْرُ القَدِيمُ يُفْتَحُ", "يفتح الجسر القديم في الربيع.", True),
        ("الجسر القديم يفتح", "سَيُفْتَحُ الجِسْرُ القَدِيمُ غَدًا.", True),
        ("الجِسْرُ القَدِيمُ يُفْتَحُ", "يستخدم هذا الموقع ملفات الارتباط.", False),
        ("پل قدیمی می‌خواهد باز شود", "پل قديمي مي‌خواهد در بهار باز شود.", True),
        ("สะพานเก่าเปิดแล้ว", "สะพานเก่าข้ามแม่น้ำเปิดให้ใช้แล้ว", True),
        ("တံတားဟောင်း ပြန်ဖွင့်", "မြစ်ကူး တံတားဟောင်းကို နွေဦးတွင် ပြန်ဖွင့်မည်။", True),
        ("တံတားဟောင်း ပြန်ဖွင့်", "ဤဆိုက်သည် ကွတ်ကီးများ အသုံးပြုသည်။", False),
    ],
)
def test_a_text_backs_a_heading_whose_words_it_has(heading, text, backed):
    """It needs no other name then, such as the ``h2`` above it."""
    for names in ({"title": heading, "headings": ()}, {"title": "", "headings": (heading,)}):
        one, other = (facts(text=text, subheading=model, **names) for model in ("K510", "K520"))
        assert (one.headings == other.headings) is backed


@pytest.mark.parametrize("name", ["Cây cầu cũ mở lại", "Η παλιά γέφυρα", "ペンキをぬった橋"])
def test_headings_are_the_same_composed_and_decomposed(name):
    forms = [unicodedata.normalize(form, name) for form in ("NFC", "NFD")]
    one, other = (facts(title=f"{form} | Site", headings=(form,)) for form in forms)
    assert one == other


def test_a_page_without_headings_has_no_hash_of_any():
    none = facts(title=" | ", headings=("", "…"))
    assert (none.headings, none.title, none.heading) == (0, 0, 0)


@pytest.mark.parametrize("name", ["<h2>{}</h2>", "<b>{}</b>", "<td>{}", "<p>{}</p>"])
def test_records_under_one_title_have_headings_of_their_own(name):
    pages = (
        "<title>The shop</title><table><tr><td><a href=/>Home</a></td></tr></table>"
        f"<div>{name.format(record)}</div><div>Price: 12.00</div><p>{article(1)}</p>"
        for record in ("Camera K510", "Camera K520")
    )
    one, other = (facts(extract(html)) for html in pages)
    assert one.headings != other.headings
    assert (one.title, one.heading, one.steps) == (other.title, 0, other.steps)


def test_hashes_follow_the_seed():
    secret = replace(RECIPE, seed="secret")
    one, other = facts(), Facts.from_bytes(facts_of(PAGE, secret))
    assert one.headings != other.headings
    assert one.title != other.title
    assert one.heading != other.heading
    assert one.said != other.said
    assert one.numbers != other.numbers
    assert one.steps == other.steps


@pytest.mark.parametrize(("text", "size"), [("a", 1), ("a" * 1500, 1500), ("汉" * 100, 300)])
def test_lengths_in_bytes_are_kept_within_a_twentieth(text, size):
    assert facts(text=text).text_bytes == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize(
    ("query", "paged"), [("page={}", True), ("sort={}th", False), ("id={}0", False)]
)
def test_a_list_that_links_to_its_parts_is_paged(query, paged):
    """Links that sort it lead to the same entries, and numbers of entries have gaps."""
    links = "".join(f"<li><a href='/mills?{query.format(n)}'>{n}</a>" for n in range(3))
    assert facts(extract(f"<h1>Mills</h1><p>All of them.</p><ul>{links}</ul>")).paged == paged


@pytest.mark.parametrize("unit", ["a", "1.", "第", "\ufdfa", "第 ", "chapter ", " - ", "\ud800"])
def test_headings_of_megabytes_take_no_time(unit):
    huge = unit * (4_000_000 // len(unit))
    begun = time.process_time()
    facts(title=huge, headings=(huge,) * 3)
    assert time.process_time() - begun < 1
