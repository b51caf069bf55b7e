"""The notes of crawlers that asked an index, checked against what an index promises."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scrapy_simhash.index.values import Entry

# Seconds of a lease, and by how much the clocks of two crawlers may be apart: a client
# takes the time of Redis when it connects, and on a busy machine an answer takes a
# second.
LEASE, APART = 3.0, 1.5
SURE = LEASE - APART
# Later than all that is asked.
LATEST = 1e12


class Note(NamedTuple):
    """An act on a key: when it was asked and answered, by whom, and the answer.

    Attributes:
        act: claim, confirm, release or renew. A claim and a release are noted before
            they are asked, too, with the outcome "unknown".
        text: the cluster to which the text of a claim belongs.
        outcome: that of a claim; a revisit is "superseded" if its new text became the
            entry of its key, and "apart" if it repeats another one.
        other: the key that a duplicate repeats.
    """

    act: str
    key: str
    asked: float
    answered: float
    crawler: str
    text: int = 0
    outcome: str = ""
    other: str = ""

    @property
    def admits(self) -> bool:
        return self.outcome in ("unique", "superseded")


@dataclass
class Disturbed:
    """Disturbances of the store, in seconds.

    Attributes:
        losses: from when to when the answers came that may have been lost.
        jumps: when the clock of all went forward.
        ends: when crawlers had their last notes, where the entries that they left in
            progress count as expired at once, because others see that their process is
            gone.
    """

    losses: list[tuple[float, float]] = field(default_factory=list)
    jumps: list[float] = field(default_factory=list)
    ends: dict[str, float] = field(default_factory=dict)


class Hold(NamedTuple):
    """A key that surely has an entry of a text for some time, unless it is disturbed.

    Attributes:
        key: its name.
        text: 0 if it is not known.
        crawler: whose lease it is; empty once it is confirmed.
    """

    key: str
    text: int
    asked: float
    since: float
    until: float
    crawler: str


class Key:
    """The notes of one key, in the order in which they were asked.

    Attributes:
        text: that of all its claims; 0 if they had several.
    """

    def __init__(self, notes: list[Note], disturbed: Disturbed) -> None:
        self._disturbed = disturbed
        answered = {
            (n.act, n.asked, n.crawler) for n in notes if n.outcome != "unknown"
        }
        # What was never answered may still come.
        self.notes = [
            n._replace(answered=math.inf) if n.outcome == "unknown" else n
            for n in notes
            if n.outcome != "unknown" or (n.act, n.asked, n.crawler) not in answered
        ]
        texts = {note.text for note in self.notes if note.act == "claim"}
        self.text = texts.pop() if len(texts) == 1 else 0
        self.holds: list[Hold] = []
        for note in self.notes:
            self._take(note)

    def _take(self, note: Note) -> None:
        text, until, crawler = note.text, note.asked + SURE, note.crawler
        if note.act in ("confirm", "renew"):
            own = (hold for hold in self.holds if hold.crawler == note.crawler)
            held = next((hold for hold in own if self.has(hold, note)), None)
            if held is None:
                return
            text = held.text
            if note.act == "confirm":
                until, crawler = math.inf, ""
        elif not (note.admits or note.outcome == "revisit"):
            return
        self.holds.append(
            Hold(note.key, text, note.asked, note.answered, until, crawler)
        )

    def has(self, hold: Hold, during: Note) -> bool:
        """Return whether it surely is held while something else is asked and answered."""
        end, disturbed = during.answered, self._disturbed
        if not (hold.since < during.asked and end < hold.until):
            return False
        if hold.crawler and any(hold.asked < at < end for at in disturbed.jumps):
            return False
        if hold.crawler and disturbed.ends.get(hold.crawler, math.inf) < end:
            return False
        if self._is_lost(hold.asked, hold.since, end):
            return False
        return not any(
            note.act == "release" or (note.act == "claim" and note.text != hold.text)
            for note in self.notes
            if note.asked < end and hold.asked <= note.answered and note is not during
        )

    def _is_lost(self, asked: float, answered: float, end: float) -> bool:
        """Return whether an effect may have been lost before a moment."""
        losses = self._disturbed.losses
        return any(
            since <= answered and asked <= till and since < end
            for since, till in losses
        )

    def is_sure(self) -> bool:
        """Return whether it is confirmed in the end."""
        end = Note("end", "", LATEST, LATEST, "")
        return any(self.has(hold, end) for hold in self.holds if not hold.crawler)

    def may_be(self, copy: Note) -> bool:
        """Return whether it had the text of a copy before that was told so."""
        return any(
            n.act == "claim" and n.text == copy.text and n.asked < copy.answered
            for n in self.notes
        )

    def has_left(self, copy: Note) -> bool:
        """Return whether its entry surely had another text when a copy was told of this one."""
        old = [n for n in self.notes if n.act == "claim" and n.text == copy.text]
        return any(
            note.outcome == "superseded"
            and note.text != copy.text
            and note.answered < copy.asked
            and all(n.crawler == note.crawler and n.asked < note.asked for n in old)
            and not self._is_lost(note.asked, note.answered, copy.answered)
            for note in self.notes
        )


def broken_ones(
    notes: Iterable[Note], disturbed: Disturbed, stored: list[Entry]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield each promise that was broken, and what shows it."""
    by_key = defaultdict[str, list[Note]](list)
    notes = sorted(notes, key=lambda note: note.asked)
    for note in notes:
        by_key[note.key].append(note)
    keys = {key: Key(some, disturbed) for key, some in by_key.items()}
    held = defaultdict[int, list[tuple[Key, Hold]]](list)
    for key in keys.values():
        for hold in key.holds:
            held[hold.text].append((key, hold))
    for x in notes:
        own = keys[x.key]
        if x.admits:
            others = [h for k, h in held[x.text] if k is not own and k.has(h, x)]
            if others:
                yield "I1", (x, *others)
        elif x.outcome == "duplicate":
            other = keys.get(x.other)
            if other is None or not other.may_be(x):
                yield "I2", (x,)
            if other is not None and other.has_left(x):
                yield "I4", (x,)
    final = [entry.key for entry in stored if not entry.provisional]
    texts = defaultdict[int, list[str]](list)
    for key in final:
        texts[keys[key].text].append(key)
    yield from (
        ("I3", (text, *some)) for text, some in texts.items() if text and some[1:]
    )
    sure = {key for key, one in keys.items() if one.is_sure()}
    yield from (("I3", (keys[key].text, key)) for key in sure - set(final))
    twice = Counter(entry.key for entry in stored)
    yield from (
        ("I4", (key,)) for key, count in twice.items() for _ in range(count - 1)
    )


def violations(
    notes: Iterable[Note], disturbed: Disturbed, stored: list[Entry]
) -> Counter[str]:
    """Return which promises were broken, and how often."""
    return Counter(promise for promise, _ in broken_ones(notes, disturbed, stored))
