"""Tells whether a page that comes again is as it was, for :attr:`.IndexSpec.same`."""

from scrapy_simhash.rule.facts import FACTS_SIZE, Facts


def is_same(facts: bytes, others: bytes, distance: int) -> bool:
    """Return whether a page has the same text at two times.

    It is the same if its fingerprint is, and its text has the same units, and the whole page as
    many sentences. A counter, a date, an advertisement or another teaser in the place of one leaves
    these as they are. In doubt a page has changed, because a change that is missed is lost.

    Args:
        facts: of the page; see :func:`.facts_of`.
        others: of the page as it was.
        distance: of their fingerprints, in bits.
    """
    if distance:
        return False
    if facts == others or len(facts) != FACTS_SIZE or len(others) != FACTS_SIZE:
        return True
    one, other = Facts.from_bytes(facts), Facts.from_bytes(others)
    return one.text == other.text and one.sentences.size == other.sentences.size
