"""Sentences of our own that made pages add to real ones, in English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    """What pages of one language say beside their text.

    What stands in braces is filled in; see :mod:`tests.benchmarks.kinds.changes`.

    Attributes:
        sources: lines in front of a copied text.
        credits: lines after it.
        ads: advertisements.
        notices: what a page shows instead of its text.
        counters: lines with counts and dates.
        products: texts of goods of one make, which differ in ``{model}`` and ``{number}``.
        statutes: texts of rules of one form, which differ in ``{place}`` and ``{number}``.
        papers: where a text comes from.
        people: who wrote it.
        places: towns.
        things: what is advertised.
    """

    sources: tuple[str, ...]
    credits: tuple[str, ...]
    ads: tuple[str, ...]
    notices: tuple[str, ...]
    counters: tuple[str, ...]
    products: tuple[tuple[str, ...], ...]
    statutes: tuple[tuple[str, ...], ...]
    papers: tuple[str, ...]
    people: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]


ENGLISH = Phrases(
    sources=(
        "Source: {paper}",
        "By {person}, {place}, {date}",
        "{date} | Source: {paper} | Editor: {person}",
        "This article first appeared in {paper}, {place}, on {date}.",
    ),
    credits=(
        "Reprinted from {paper} with permission. All rights remain with the author.",
        "Originally published by {paper} on {date}.",
        "({paper}; edited by {person} in {place})",
        "Read the original at www.{model}.example.",
    ),
    ads=(
        "Advertisement: {thing} from {number} dollars, delivered to {place} the next day.",
        "Looking for {thing}? Compare {number} offers and save this week only.",
        "Our readers like {thing} by {person}. Order before {date} and get a second one free.",
        "Sponsored: why everybody in {place} talks about {thing}.",
        "Sign up for our letter and win {thing} worth {number} dollars.",
    ),
    notices=(
        "",
        "Please sign in or subscribe to read on. Your first month costs nothing, and you can"
        " cancel at any time.",
        "The page you asked for is not available at the moment. It may have been moved, or it"
        " may come back later; please try the search box or our front page.",
        "We use small files to remember your choices. Accept them all, or choose which ones you"
        " want, before you go on to the page.",
    ),
    counters=(
        "{number} views | {number} comments | updated {date}",
        "Read {number} times, shared {number} times. Last change: {date}",
        "Posted {date}. Number of visitors today: {number}",
    ),
    products=(
        (
            "The {model} is our kettle for small kitchens. It holds {number} centilitres and"
            " boils them in less than four minutes.",
            "The handle stays cool, the lid opens with one hand, and a window shows how much"
            " water is left. When there is none, the kettle turns itself off.",
            "In the box: the kettle, its stand, and a booklet in nine languages. The cord is one"
            " metre long. Two years of warranty; spare lids can be ordered.",
        ),
        (
            "Shelf {model}, oiled ash, {number} centimetres wide. Each board carries thirty"
            " kilograms when the shelf is fixed to the wall.",
            "The parts fit together without tools. Brackets for brick and for plaster are"
            " enclosed, and so are felt pads for the floor.",
            "Wipe it with a damp cloth, and oil it once a year. The wood darkens a little in the"
            " first summer. We take every shelf back within sixty days.",
        ),
    ),
    statutes=(
        (
            "Bylaw of the town of {place} on trees. Whoever wants to fell a tree that is more"
            " than {number} centimetres around, one metre above the ground, needs a permit.",
            "The permit is applied for in writing at least four weeks before. The application"
            " names the tree, the reason, and where another one will be planted.",
            "No permit is needed where a tree is about to fall. It has to be reported within"
            " three days. Whoever acts against this bylaw can be fined.",
        ),
    ),
    papers=("The Weekly Herald", "North Coast Post", "Harbour News", "The Morning Letter"),
    people=("Anna Miller", "J. Brook", "Peter Lindgren", "Maria de Souza"),
    places=("Ashford", "Milltown", "Norwick", "Redbridge", "Easthaven"),
    things=("garden chairs", "walking shoes", "car insurance", "reading glasses", "a new mattress"),
)

CHINESE = Phrases(
    sources=(
        "来源：{paper}",
        "{date} 来源：{paper} 作者：{person}",
        "本文转载自{paper}，作者{person}，发表于{date}。",
        "（{paper}{place}{date}电）",
    ),
    credits=(
        "本文转自{paper}，版权归原作者所有，如有侵权请联系删除。",
        "原载于{paper}，{date}。责任编辑：{person}",
        "（责任编辑：{person}）",
        "原文链接：www.{model}.example",
    ),
    ads=(
        "广告：{thing}特价{number}元起，{place}次日送达。",
        "想买{thing}？比较{number}家报价，仅限本周优惠。",
        "读者都喜欢{person}推荐的{thing}，{date}之前下单，买一送一。",
        "推广：为什么{place}人人都在谈论{thing}。",
        "订阅本站，即有机会赢取价值{number}元的{thing}。",
    ),
    notices=(
        "",
        "请先登录或者订阅，然后继续阅读全文。首月免费，可以随时取消。",
        "您访问的页面暂时无法显示，可能已经移动，也可能稍后恢复，请使用搜索或者返回首页。",
        "本站需要保存少量文件来记住您的选择，请在继续浏览之前全部接受，或者逐项选择。",
    ),
    counters=(
        "阅读：{number}次 评论：{number}条 更新时间：{date}",
        "点击数：{number} 回复数：{number} 最后修改于{date}",
        "发布时间：{date} 今日访问人数：{number}",
    ),
    products=(
        (
            "{model}型电热水壶专为小厨房设计，容量{number}毫升，不到四分钟即可烧开。",
            "把手不烫手，壶盖单手即可打开，侧面的水窗能看清剩余水量，水烧干时自动断电。",
            "包装内含水壶、底座和九种语言的说明书，电源线长一米，保修两年，壶盖可以单独购买。",
        ),
        (
            "{model}白蜡木置物架，宽{number}厘米，固定在墙上之后每层可以承重三十公斤。",
            "安装不需要工具，附带砖墙和石膏墙用的支架，以及保护地板的毛毡垫。",
            "用湿布擦拭即可，每年上一次木蜡油，第一个夏天颜色会略微变深，六十天内可以退货。",
        ),
    ),
    statutes=(
        (
            "{place}树木保护办法。凡砍伐离地一米处周长超过{number}厘米的树木，应当取得许可。",
            "申请人应当至少提前四周提出书面申请，写明树木的位置、砍伐的理由和补种的地点。",
            "树木即将倒伏的，可以不经许可先行处理，但应当在三日内报告。违反本办法的，处以罚款。",
        ),
    ),
    papers=("晨光周报", "北岸日报", "海港新闻网", "清晨来信"),
    people=("李明", "王小雨", "陈思远", "赵一凡"),
    places=("青石镇", "临河市", "东湾县", "白桥区", "南山市"),
    things=("户外座椅", "登山鞋", "车险", "老花镜", "新床垫"),
)
