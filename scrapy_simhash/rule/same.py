"""Tells whether a page that comes again is as it was, for :attr:`.IndexSpec.same`."""

from scrapy_simhash.rule.state import STATE_SIZE


def is_same(facts: bytes, others: bytes, distance: int) -> bool:
    """Return whether a page says the same at two times; see :mod:`.state`.

    In doubt it has changed: a page that is delivered without a change costs work, and a change that
    is not delivered is lost. Fingerprints tell it only of what has no facts, because a word more in
    a long text may leave all of their bits as they are.

    Args:
        facts: of the page; see :func:`.facts_of`.
        others: of the page as it was.
        distance: of their fingerprints, in bits.
    """
    if facts and others:
        return facts[-STATE_SIZE:] == others[-STATE_SIZE:]
    return distance == 0
