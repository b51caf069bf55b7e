"""What the body of a response is remembered by, so that its repetitions need no analysis."""

from __future__ import annotations

from hashlib import blake2b

import xxhash

from scrapy_simhash.analysis.worker import Body
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.recipe import Recipe


def body_digest(page: Body, scope: str, recipe: Recipe) -> bytes:
    """Return 8 bytes that stand for a body and all that its fingerprint depends on besides.

    That is, but for what the index is made for anyway: the recipe's identity. The address plays a
    part in some analyses; their fingerprints must not be remembered.

    Args:
        page: the response.
        scope: a page of another scope may repeat none there.
        recipe: with its seed, nobody can make two bodies of one digest who does not know it.
            Without one, where anybody can make pages of one fingerprint, it is a fast hash.
    """
    about = repr((scope, page.declared, recipe.min_length)).encode()
    if recipe.seed:
        keyed = blake2b(about, digest_size=8, key=key_from_seed(recipe.seed), person=b"body")
        keyed.update(page.body)
        return keyed.digest()
    fast = xxhash.xxh3_64(about)
    fast.update(page.body)
    return fast.digest()
