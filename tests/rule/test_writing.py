"""One story in one writing, whatever its characters are made of."""

import re
import unicodedata
from functools import partial

import pytest

from tests.pages import judged

# Headline, another paper's headline, and paragraphs.
STORIES = {
    "Korean": (
        "옛 나무다리가 봄에 다시 열린다",
        "강변 다리 공사 끝나 시민에게 개방",
        "강을 건너는 옛 나무다리가 오는 봄에 다시 열린다."
        " 시는 지난여름 폭우 뒤에 기둥을 살피려고 다리를 닫았다.",
        "시장은 공사 비용이 예상보다 적었다고 어제 밝혔다."
        " 남은 예산은 강변 길과 나무를 돌보는 데 쓰인다.",
        "주민들은 개방 소식을 반겼다. 가게를 하는 한"
        " 시민은 손님이 절반으로 줄었는데 이제 숨을 쉬겠다고 말했다.",
    ),
    "Hindi": (
        "पुराना लकड़ी का पुल वसंत में खुलेगा",
        "नदी के पुल की मरम्मत पूरी, लोगों में खुशी",
        "नदी पर बना पुराना लकड़ी का पुल अगले वसंत में फिर खुलेगा। पिछली बाढ़ के बाद उसे बंद किया गया था।",
        "महापौर ने कल कहा कि मरम्मत पर कम खर्च हुआ। बचा हुआ पैसा सड़क और पेड़ों पर लगेगा।",
        "लोगों में खुशी है। एक दुकानदार ने कहा कि आधे ग्राहक चले गए थे, अब नदी के पुल से वे लौटेंगे।",
    ),
    "Vietnamese": (
        "Cây cầu gỗ cũ mở lại vào mùa xuân",
        "Sửa xong cầu qua sông, người dân vui mừng",
        "Cây cầu gỗ cũ qua sông sẽ mở lại vào mùa xuân"
        " tới. Thành phố đã đóng cầu sau trận mưa lớn mùa hè.",
        "Thị trưởng hôm qua nói rằng việc sửa cầu tốn ít"
        " hơn dự tính. Tiền còn lại dành cho con đường ven sông.",
        "Người dân vui mừng. Một chủ tiệm nói rằng một nửa"
        " số khách đã bỏ đi, và nay họ sẽ trở lại.",
    ),
    "Persian": (
        "پل چوبی قدیمی در بهار باز می‌شود",
        "پایان کار روی رودخانه و شادی در شهر",
        "پل چوبی قدیمی روی رودخانه بهار آینده دوباره باز"
        " می‌شود. شهر آن را پس از باران‌های تابستان بسته بود.",
        "شهردار دیروز گفت که کار روی پل کمتر از پیش‌بینی هزینه داشت و باقی پول به جاده می‌رسد.",
        "شادی در شهر: یک مغازه‌دار گفت که نیمی از مشتریان رفته بودند و اکنون برمی‌گردند.",
    ),
}


def page(language: str, site: str, headline: int = 0, menu: str = "") -> str:
    texts = STORIES[language]
    body = "".join(f"<p>{text}</p>" for text in texts[2:])
    head = f"<title>{texts[headline]} | {site}</title>"
    return f"{head}<nav>{menu}</nav><h1>{texts[headline]}</h1><article>{body}</article>"


@pytest.mark.parametrize("language", STORIES)
def test_one_story_in_two_papers_is_one_and_under_another_name_it_is_another(language):
    """The other name has words that the text does not have, as another town may be."""
    one = ("http://paper.test/1", page(language, "Paper", 0, "<a href=/>One</a>" * 9))
    assert judged(one, ("http://gazette.test/local/77", page(language, "Gazette"))).is_copy
    named = page(language, "Gazette").replace("</h1>", " Xanadu</h1>")
    assert not judged(
        one, ("http://gazette.test/local/77", named.replace("Gazette", "Xanadu"))
    ).is_copy


@pytest.mark.parametrize(
    ("language", "typed"),
    [
        ("Korean", partial(unicodedata.normalize, "NFD")),
        ("Vietnamese", partial(unicodedata.normalize, "NFD")),
        ("Persian", partial(re.sub, "([بپت])", "\\1\u0640\u0640")),
        ("Persian", lambda text: text.replace("ی", "ي").replace("ک", "ك")),
        ("Hindi", lambda text: text.replace("\u0921\u093c", "\u095c")),
    ],
    ids=["decomposed", "decomposed", "stretched", "Arabic keyboard", "one letter"],
)
@pytest.mark.parametrize("address", ["http://mirror.test/1", "http://paper.test/1?view=print"])
def test_a_page_typed_in_another_way_repeats_the_first(language, typed, address):
    html = page(language, "Paper")
    copy = typed(html)
    assert copy != html
    assert judged(("http://paper.test/1", html), (address, copy)) == (True, "like-headings")
