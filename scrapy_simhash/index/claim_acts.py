"""Claims: pages look for what they repeat, and become originals if there is nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.acts import PAGES, Acts
from scrapy_simhash.index.decision import NEAR_NOTHING, Decision
from scrapy_simhash.index.entry_states import Record, State
from scrapy_simhash.index.lookups import Lookups, Near
from scrapy_simhash.index.values import Arrival, Claim, Match
from scrapy_simhash.index.verbs import Found, Part


class ClaimActs(Acts):
    """The acts of pages that arrive.

    Attributes:
        unjudged: near entries of this crawler's pages that were too many to be judged.
        retries: pages of this crawler that claimed again, because others had changed what their
            answer rested on.
    """

    unjudged = retries = 0

    def claim(self, arrival: Arrival) -> Claim:
        """Look for an entry that the page repeats; if there is none, the page becomes an original.

        An index that takes part in no run takes every entry for one that was seen in its run. The
        first of these sentences that fits decides:

        1. The page's own entry, of its key and scope at any distance, was seen in this run:
           revisit. If the entry is provisional, it is leased to this crawler from now on. If
           its text is beyond reach by now, and repeats no other living entry, a provisional entry
           with its new text supersedes the own one. It is ``SAME`` if an earlier run has delivered
           its text, by whole seconds.
        2. The own entry was seen in an earlier run, and the page is the same: original, ``SAME``,
           unless it repeats a living entry that was seen in this run, as of 3.
           The entry is seen in this run, and is provisional until it is confirmed. When it is
           released, it is again what it was.
        3. The page repeats, as the judge says, a living entry that was seen in this run or is of
           another spider: duplicate. Its own entry is seen in this run if the page is the same;
           else it stays as it was, if its page was delivered, because the next run may find it
           again; else it is deleted.
        4. The own entry has another text: original, ``CHANGED``.
        5. An alias has an entry that this spider saw in an earlier run, at any distance: original,
           ``MOVED`` from there.
        6. The page repeats entries that this spider saw in earlier runs: original, ``MOVED`` from
           the nearest.
        7. Original, ``NEW``.

        From 4 on, the page becomes a provisional original, leased to this crawler. It supersedes
        its own entry, and the one from which it has moved, if an alias names that: without one, the
        old address may answer yet. It takes the place of expired entries that are judged to be
        copies. An own entry that never was confirmed makes no page ``SAME`` or ``CHANGED`` but
        ``NEW``, because nobody has got that page.
        """
        (answer,) = self.claim_all([arrival])
        return answer

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Claim for several pages, with the same answers as :meth:`claim` one after the other.

        In the log they may stand in another order. When the store fails, some of the pages may have
        become originals; they claim again, or their leases run out.

        Raises:
            ValueError: :meth:`.IndexSpec.check` refuses a page; nothing is written.
        """
        self.spec.check(arrivals)
        claims: list[Claim] = []
        for first in range(0, len(arrivals), PAGES):
            with self._use():
                claims += self._claim(arrivals[first : first + PAGES])
        return claims

    def _claim(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Decide on what is near the pages, and commit; again with those that were refused.

        Where a look is dear, the first attempt assumes that nothing is near, as is true of nearly
        all pages: its refusal tells what is.
        """
        claims: dict[int, Claim] = {}
        left, seen = [*range(len(arrivals))], Found({}, {}, {})
        for attempt in self._attempts():
            lookups = Lookups([arrivals[number] for number in left], self.spec)
            if self._store.looks_first and not attempt:
                seen = self._store.find(lookups)
            answers, found = self._attempt(lookups, seen)
            claims |= {left[number]: claim for number, claim in answers.items()}
            if len(claims) == len(arrivals):
                break
            refused = [number for number in range(len(left)) if number not in answers]
            self.retries += len(seen.near.keys() & {*refused})
            seen = found.of_pages(refused)
            left = [left[number] for number in refused]
        return [claims[number] for number in range(len(arrivals))]

    def _attempt(self, lookups: Lookups, seen: Found) -> tuple[dict[int, Claim], Found]:
        """Return claims by the page's number, and what is near the pages that must claim again."""
        now, twins = self._now(), lookups.twins()
        lease = State(self._era.run, self.crawler, now + self.spec.lease)
        records, packed = self._records(seen.entries), lease.pack()
        parts, decisions = list[Part](), list[Decision | None]()
        claims: dict[int, Claim] = {}
        for members in _groups(twins, seen.near):
            since = min(seen.ends.get(number, 0) for number in members)
            pages = {number: lookups.arrivals[number] for number in members}
            near = {number: seen.near.get(number, []) for number in members}
            if len(members) == 1 and not near[members[0]]:  # as of nearly all pages
                ((number, page),) = pages.items()
                record = Record(0, page.key, page.scope, page.facts, now, lease)
                parts.append(Part(members, {}, {number: (packed, record.pack())}, {}, since))
                decisions.append(None)
                continue
            positions = {position for pairs in near.values() for _, position in pairs}
            decision = Decision(
                *(pages, twins, self.spec, self._era, now, lease),
                lambda state: self._is_expired(state, now),
                *(near, {at: records[at] for at in positions if at in records}),
            )
            part = decision.part(seen.entries, since)
            if part.new or part.writes:
                parts.append(part)
                decisions.append(decision)
            else:
                self._take_in(decision, claims)
        if not parts:
            return claims, seen
        answer = self._store.commit(parts, lookups)
        for part, decided, written in zip(parts, decisions, answer.written, strict=True):
            if written is not None and decided:
                decided.place(written)
                self._take_in(decided, claims)
            elif written is not None:
                (number,) = part.members
                claims[number] = NEAR_NOTHING
                self._open.setdefault(lookups.arrivals[number].key, {})[written[0]] = packed
        return claims, answer.found

    def _take_in(self, decision: Decision, claims: dict[int, Claim]) -> None:
        for position, record in decision.changed.items():
            if record.state.owner is not None:
                self._open.setdefault(record.key, {})[position] = record.state.pack()
        self.unjudged += decision.unjudged
        claims |= decision.claims

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        """Return every entry within reach, nearest first, then oldest.

        It neither writes nor judges. Expired entries are among the answer.
        """
        page = Arrival("", fingerprint, scope)
        self.spec.check([page])
        with self._use() as store:
            answer = store.find(Lookups([page], self.spec))
            records = self._records(answer.entries)
        near = [(d, at) for d, at in answer.near.get(0, ()) if d <= self.spec.reach]
        return [records[at].match(distance) for distance, at in near if at in records]


def _groups(twins: Sequence[Near], near: Mapping[int, Near]) -> list[list[int]]:
    """Return the numbers of the pages, those together whose answers depend on each other.

    They are near each other, or near the same entry, in however many steps.
    """
    if not any(twins) and not any(near.values()):
        return [[number] for number in range(len(twins))]
    leaders: dict[tuple[str, int], tuple[str, int]] = {}

    def leader(name: tuple[str, int]) -> tuple[str, int]:
        while (above := leaders.get(name, name)) != name:
            leaders[name] = leaders.get(above, above)
            name = above
        return name

    for number, earlier in enumerate(twins):
        for node in [
            *(("page", n) for _, n in earlier),
            *(("entry", at) for _, at in near.get(number, ())),
        ]:
            leaders[leader(node)] = leader(("page", number))
    groups: dict[tuple[str, int], list[int]] = {}
    for number in range(len(twins)):
        groups.setdefault(leader(("page", number)), []).append(number)
    return [*groups.values()]
