"""Texts in several languages, and pages that are built as the software of real sites builds them.

Each site is a function from paragraphs to a page. What it adds to them is the same on each of its
pages. What counts in the texts, which are made of syllables, is how these languages are written.
"""

import random
from collections.abc import Callable, Sequence

from tests.pages import article

Site = Callable[[Sequence[str]], str]

#: Syllables, and what stands between words, halves of sentences, and sentences.
LANGUAGES = {
    "English": "the er ing house tea har vest mor ning walk re port cit y ship wright coun cil",
    "German": "haus tür straß e über schön ung heit fluss brück e grün gärt ner mäß ig voll",
    "Russian": "го род мос ква ре ка ность ный дом жи тель ство ши ро кий щё сча стье объ",
    "Arabic": "ال مد ين ة كت اب شار ع بي ت صب اح خب ر نه ر جد يد قم ر سل ام",
    "Korean": "서 울 강 물 사 람 은 는 이 가 에 서 했 다 학 교 집 길 나 무 하 늘 새 로 운",
    "Japanese": "東 京 川 町 祭 の は が を に で した いる 新 聞 カメ ラ バス 朝 人 々 屋",
    "Thai": "กรุง เทพ แม่ น้ำ บ้าน คน เมือง ใหม่ ถนน ตลาด เช้า ที่ และ ของ ข่าว วัน นี้",
    "Chinese": "城 市 报 纸 河 流 桥 梁 记 者 茶 叶 节 日 邻 居 船 厂 议 会 风 筝 春",
}
MARKS = {"Japanese": ("", "、", "。"), "Thai": ("", " ", " "), "Chinese": ("", "，", "。")}
#: What the templates say.
TOLD = [article(900 + number, words=14) for number in range(12)]


def paragraphs(language: str, seed: int, count: int = 8) -> list[str]:
    """Return paragraphs of five sentences that are unlike those of any other seed."""
    draw, syllables = random.Random(seed), LANGUAGES[language].split()
    space, comma, stop = MARKS.get(language, (" ", "، " if language == "Arabic" else ", ", ". "))

    def half() -> str:
        words = ("".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(5))
        return space.join(words)

    sentences = [f"{half()}{comma}{half()}{stop}" for _ in range(5 * count)]
    return ["".join(sentences[at : at + 5]).strip() for at in range(0, len(sentences), 5)]


def phpbb(paragraphs: Sequence[str]) -> str:
    """A forum thread: each paragraph is a post, with a profile and a signature."""
    posts = "".join(
        f"""<div id=p{at} class="post has-profile bg{at % 2 + 1}"><div class=inner>
<dl class=postprofile><dt><a href=/u{at}>member{at}</a></dt><dd>Posts: {at * 37}</dd>
<dd>Joined: Tue Mar 04, 2008 9:12 pm</dd></dl><div class=postbody><div id=post_content{at}>
<h3><a href=#p{at}>Re: the question of the day</a></h3><p class=author>by member{at} » Sun</p>
<div class=content>{text}</div></div><div class=signature>{TOLD[0]}</div></div></div></div>"""
        for at, text in enumerate(paragraphs)
    )
    return f"""<html><body id=phpbb class="nojs notouch section-viewtopic ltr">
<div id=wrap class=wrap><div id=page-header><div class=headerbar><div id=site-description>
<p>{TOLD[1]}</div></div><div class=navbar><ul class=linklist><li><a href=/faq>FAQ</a></ul></div>
</div><div id=page-body class=page-body><h2 class=topic-title>The question of the day</h2>
<div>{TOLD[2]}</div><div class="action-bar bar-top"><a href=/reply>Post Reply</a></div>{posts}
<div class=stat-block><h3>Who is online</h3><p>{TOLD[3]}</div><div class="stat-block permissions">
<p>You cannot post new topics in this forum<br>You cannot edit your posts in this forum</div></div>
<div id=page-footer class=page-footer><div class=copyright>{TOLD[4]}</div></div></div></body>"""


def mediawiki(paragraphs: Sequence[str]) -> str:
    """An encyclopedia: a lead, sections, an infobox, notes, and a box of links."""
    first, *rest = paragraphs
    sections = "".join(
        f"<h2><span class=mw-headline>Part {at}</span></h2>"
        f"<p>{text}<sup><a href=#n>[{at}]</a></sup></p>"
        for at, text in enumerate(rest)
    )
    return f"""<html class=client-nojs><body class="mediawiki ltr sitedir-ltr ns-0 skin-vector">
<div id=mw-page-base class=noprint></div><div id=content class=mw-body role=main>
<div id=siteNotice><p>{TOLD[5]}</div><h1 id=firstHeading>Some topic</h1>
<div id=bodyContent class=vector-body><div id=siteSub class=noprint>{TOLD[6]}</div>
<div id=mw-content-text class=mw-body-content><div class=mw-parser-output>
<table class="box-Refimprove plainlinks ambox"><tr><td><div class=mbox-text-span>{TOLD[7]}</table>
<table class=infobox><tr><th>Height<td>1,204 m<tr><th>Found<td>1804</table><p>{first}</p>
<div id=toc class=toc role=navigation><ul><li><a href=#a>1 Part 0</a></ul></div>{sections}
<div role=navigation class=navbox><table class=navbox-inner><tr><td><a href=/a>One</a> · <a
href=/b>Two </a> · <a href=/c>Three</a></table></div></div>
<div class=printfooter>Retrieved from a place where all this is kept.</div></div>
<div id=catlinks class=catlinks><a href=/c>Categories</a>: <ul><li><a href=/m>Mountains</a></ul>
</div></div></div><div id=mw-navigation><div id=mw-panel><a href=/>Main page</a></div></div>
<footer id=footer class=mw-footer><ul><li>{TOLD[8]}<li>{TOLD[9]}</ul></footer></body></html>"""


def portal(paragraphs: Sequence[str]) -> str:
    """A Chinese portal of long ago: nested tables, breaks, full-width indentation."""
    links = "".join(
        f"<a href=/{at}.shtml target=_blank>旧闻第{at}条今天又有人说起来了</a><br>"
        for at in range(9)
    )
    return f"""<html><body bgcolor=#ffffff topmargin=5><center>
<table width=750 border=0><tr><td width=150><a href=/>首页</a><td><a href=/n>新闻中心</a> &gt;
正文</table> <table width=750 border=0 cellspacing=0><tr><td width=560 valign=top><table
width=560><tr>
<th class=f24>{paragraphs[0][:14]}</th><tr><td align=center>http://news.example.com 2004年03月02日
08:12 本地晚报</td><tr><td class=l17><table align=left><tr><td class=pad10><iframe src=ad></iframe>
</table>
<font id=zoom>{"<br><br>".join("　　" + text for text in paragraphs)}</font></td>
<tr><td align=right>【<a href=/c>评论</a>】【<a href=/p>打印</a>】【<a href=/x>关闭</a>】</table>
<table width=560><tr><td class=blue>相关链接：<br>{links}</table></td>
<td width=190 valign=top bgcolor=#f0f0f0><table width=190><tr><td>热门文章<br>{links}</table>
<table width=190><tr><td>本站声明：转载文章请注明出处，文中观点与本站无关。</table></td></table>
<table width=750><tr><td align=center>关于我们 | 网站地图 | 联系方式<br>版权所有，未经许可不得转载。
</table></center></body></html>"""


def div_soup(paragraphs: Sequence[str]) -> str:
    """News: generated class names, no paragraphs, advertisements between the parts."""
    parts = "".join(
        f"<div class=css-1k2><div class=css-x7><div class=css-p1>{text}</div></div></div>"
        + f"<div class=css-ad9><div class=css-lbl>Ad</div><div>{TOLD[10]}</div></div>" * (at % 2)
        for at, text in enumerate(paragraphs)
    )
    teasers = "".join(f"<div class=css-r6><a href=/{n}>{TOLD[n]}</a></div>" for n in range(2))
    return f"""<html><body><div id=app><div class=css-h0><a href=/>News</a><a href=/w>World</a>
</div><div class=css-m1><div class=css-t2><h1>{paragraphs[0][:30]}</h1></div>{parts}</div>
<div class=css-r5>{teasers}</div><div class=css-f8><div>{TOLD[11]}</div></div></div></body>"""


SITES: dict[str, Site] = {site.__name__: site for site in (phpbb, mediawiki, portal, div_soup)}
