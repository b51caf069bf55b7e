"""Measure the extractors on real pages: cost, failures, faithfulness and mirrors.

Run ``python tests/benchmarks/extraction.py`` from the repository; it needs ``../shared/data``.
Cost is a multiple of the time that lxml takes to parse the page in the same run. A page is
*mojibake* when all that it shows lacks half of the different letters of its hand-made body, and
*missed* when the extractor's text does. *F1* compares the words (or Han characters) of text and
body. A *mirror* is the body set into the template of another real page; it and a *template* pair
(two bodies in one template) count as found at k = 48 of 256 bits, 5-grams. The last table is over
documentation: pages without prose are thin.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from lxml import etree

from scrapy_simhash.extraction.extractor import EXTRACTORS, Extraction, decode_html, extract

DATA = Path(__file__).parents[3] / "shared" / "data"
PARSER = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
BLOCK_END = re.compile(r"(?i)(?=</?(?:p|div|br|li|h\d|td|blockquote|pre|dd|figcaption)\b)")
INLINE = frozenset("a b em font i span strong u".split())


def read(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(DATA / name / "docs.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def articles() -> Iterator[tuple[str, str, str]]:
    """Yield the id, the decoded page and the body text of each article."""
    for entry in read("articles-html"):
        html = entry.get("html") or decode_html(base64.b64decode(entry["html_base64"]))
        body = entry.get("body")
        if body is None:
            root = etree.fromstring(BLOCK_END.sub("\n\n", entry["body_html"]).encode(), PARSER)
            body = "" if root is None else "".join(root.itertext())
        yield entry["id"], html, body


def tree(html: str) -> Any:
    return etree.fromstring(html.encode(), PARSER)


def letters(text: str) -> str:
    return "".join(re.findall(r"\w+", text.lower()))


def f1(text: str, body: str) -> float:
    found, wanted = Counter(TOKEN.findall(text)), Counter(TOKEN.findall(body))
    shared = sum((found & wanted).values())
    return 2 * shared / max(1, sum(found.values()) + sum(wanted.values()))


def seconds(action: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def fingerprint(text: str) -> Any:
    text = letters(text)
    grams = {text[at : at + 5].encode() for at in range(max(1, len(text) - 4))}
    digests = b"".join(xxhash.xxh3_128_digest(g) + xxhash.xxh3_128_digest(g, 1) for g in grams)
    bits = np.unpackbits(np.frombuffer(digests, np.uint8).reshape(len(grams), 32), axis=1)
    return bits.mean(axis=0) > 0.5


def shingles(text: str) -> set[str]:
    text = letters(text)
    return {text[at : at + 8] for at in range(len(text) - 7)}


def emptied(html: str, body: str) -> tuple[Any, Any] | None:
    """Return a page without its body and the element that held most of it, or None if unsure."""
    root = tree(html)
    wanted = shingles(body)
    held: Counter[Any] = Counter()
    for el in root.iter():
        if el.tag in ("script", "style"):
            continue
        for node, part in ((el, "text"), *((child, "tail") for child in el)):
            text = getattr(node, part) or ""
            known = shingles(text)
            if known and len(known & wanted) >= 0.7 * len(known):
                setattr(node, part, " ")
                up = el
                while up.tag in INLINE:
                    up = up.getparent()
                held[up.getparent() if up.tag in ("p", "li", "pre") else up] += len(text)
    if sum(held.values()) < 0.6 * len(letters(body)):
        return None
    return root, held.most_common(1)[0][0]


def mirror(template: tuple[Any, Any], body: str) -> str:
    """Return the page of a template with another body; the template itself stays as it is."""
    root, place = template
    paragraphs = []
    for text in re.split(r"\n\s*\n" if "\n\n" in body else r"\n", body):
        if text.strip():
            paragraph = etree.Element("p")
            paragraph.text = " ".join(re.sub(r"[\x00-\x08\x0b-\x1f]", "", text).split())
            paragraphs.append(paragraph)
    place[0:0] = paragraphs
    html = etree.tostring(root, encoding="unicode", method="html")
    for paragraph in paragraphs:
        place.remove(paragraph)
    return html


def mirrors(pages: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return pairs of a page and its body in the template of the page after it."""
    known = []
    for _, html, body in pages:
        if len(letters(body).encode()) >= 500 and (template := emptied(html, body)):
            known.append((html, body, template))
    known = known[::2] + known[1::2]  # the set is sorted by site and language
    following = known[1:] + known[:1]
    return [
        (html, mirror(other[2], body))
        for (html, body, _), other in zip(known, following, strict=True)
    ]


def unlike(text: str, body: str) -> bool:
    """Return whether a text lacks half of the different letters of a body."""
    alphabet = set(letters(body))
    return 2 * len(alphabet & set(letters(text))) < len(alphabet)


def cost(pages: list[tuple[str, str, str]], name: str) -> float:
    ratios = []
    for _, html, _ in pages:
        data = html.encode()
        parsing = seconds(lambda data=data: etree.fromstring(data, PARSER))
        ratios.append(seconds(lambda html=html: extract(html, name)) / parsing)
    return statistics.median(ratios)


def measure(name: str, pages: list[tuple[str, str, str]], pairs: list[tuple[str, str]]) -> None:
    found: list[tuple[Extraction, str]] = []
    failed = 0
    for _, html, body in pages:
        try:
            found.append((extract(html, name), body))
        except Exception:  # noqa: BLE001 - whatever it is, it is counted
            failed += 1
    empty = sum(not extraction.text for extraction, _ in found)
    thin = sum(extraction.thin for extraction, _ in found)
    missed = sum(not extraction.text or unlike(extraction.text, body) for extraction, body in found)
    faithful = statistics.mean(f1(extraction.text, body) for extraction, body in found)
    pages_of = [fingerprint(extract(page, name).text) for page, _ in pairs]
    copies = [fingerprint(extract(copy, name).text) for _, copy in pairs]
    hits = [int((a != b).sum()) <= 48 for a, b in zip(pages_of, copies, strict=True)]
    others = pages_of[1:] + pages_of[:1]
    alike = [int((a != b).sum()) <= 48 for a, b in zip(others, copies, strict=True)]
    print(
        f"{name:12} cost {cost(pages, name):5.2f}  failed {failed}  empty {empty}  thin {thin}"
        f"  missed {missed}  F1 {faithful:.3f}"
        f"  mirrors {statistics.mean(hits):.3f}  template {statistics.mean(alike):.3f}",
        flush=True,
    )


def documentation(name: str) -> None:
    kinds: dict[str, list[Extraction]] = {}
    for entry in read("docs-html"):
        if entry["id"].startswith("trixie/"):
            kinds.setdefault(entry["id"].split("/")[1], []).append(extract(entry["html"], name))
    for kind, found in sorted(kinds.items()):
        thin = sum(extraction.thin for extraction in found)
        empty = sum(not extraction.text for extraction in found)
        print(f"  {kind:10} pages {len(found):4}  thin {thin:3}  empty {empty}")


def main() -> None:
    if not DATA.exists():
        print(f"skipped: no {DATA.parent.name}/{DATA.name} beside the repository")
        return
    pages = list(articles())
    pairs = mirrors(pages)
    mojibake = sum(unlike(extract(html, "text").text, body) for _, html, body in pages)
    print(f"articles-html: {len(pages)} pages, mojibake {mojibake}; {len(pairs)} mirrors")
    for name in EXTRACTORS:
        measure(name, pages, pairs)
    print("docs-html, the newest release, prose:")
    documentation("prose")


if __name__ == "__main__":
    main()
