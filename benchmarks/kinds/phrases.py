"""Sentences of our own that made pages add to real ones, in English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    """What pages of one language say beside their text.

    What stands in braces is filled in; see :mod:`benchmarks.kinds.changes`.

    Attributes:
        sources: lines in front of a copied text.
        credits: lines after it.
        ads: advertisements.
        notices: what a page shows instead of its text.
        counters: lines with counts and dates.
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
    papers=("晨光周报", "北岸日报", "海港新闻网", "清晨来信"),
    people=("李明", "王小雨", "陈思远", "赵一凡"),
    places=("青石镇", "临河市", "东湾县", "白桥区", "南山市"),
    things=("户外座椅", "登山鞋", "车险", "老花镜", "新床垫"),
)
