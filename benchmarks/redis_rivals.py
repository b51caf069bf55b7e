"""Ways to claim pages in Redis, ours and others', behind one call."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import redis

from benchmarks.redis_measuring import Page, spec_of
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, Entry, Outcome
from scrapy_simhash.rule.facts import FACTS_SIZE

_CONFIRMED_AT_ONCE = 32


class Claimer(Protocol):
    """Claims pages; one worker's own."""

    def claim(self, pages: Sequence[Page]) -> list[bool]:
        """Say of each page whether it became an original."""

    def fill(self, pages: Sequence[Page]) -> None:
        """Put in pages of which none is near another, without a look."""

    def close(self) -> None:
        """Confirm what is left and go."""


class Ours:
    """The index; originals are confirmed in batches, as a crawl does it.

    Pages carry facts and requests, as those of a crawl.
    """

    def __init__(self, url: str, bits: int, distance: int, copies: int = 1) -> None:
        # What is measured is the server, also where the machine is busy with other things.
        if not url.startswith("sqlite:"):
            url += f"{'&' if '?' in url else '?'}socket_timeout=30"
        self.index = open_index(url, spec_of(bits, distance, copies=copies))
        self._provisional: list[str] = []

    def claim(self, pages: Sequence[Page]) -> list[bool]:
        claims = self.index.claim_all(
            [Arrival(key, own, facts=_facts(key), request=_request(key)) for key, own in pages]
        )
        admitted = [claim.outcome is Outcome.ORIGINAL for claim in claims]
        self._provisional += [key for (key, _), new in zip(pages, admitted, strict=True) if new]
        if len(self._provisional) >= _CONFIRMED_AT_ONCE:
            self.confirm()
        return admitted

    def fill(self, pages: Sequence[Page]) -> None:
        now = int(time.time())
        self.index.put([Entry(key, own, "", _facts(key), now) for key, own in pages])

    def confirm(self) -> None:
        self.index.confirm(self._provisional)
        self._provisional = []

    def close(self) -> None:
        self.confirm()
        self.index.close()


class NaiveSets:
    """What most projects do, 64 bits and k = 3: a SET for each block value, read and then write.

    A member is ``hex,key``, as in the PyPI package simhash; four blocks of 16 bits. The sets of
    all pages of a call are read in one round trip, and written in another.
    """

    def __init__(self, url: str, *, key_prefix: str = "naive") -> None:
        self._client = redis.Redis.from_url(url, decode_responses=True)
        self._prefix = key_prefix

    def claim(self, pages: Sequence[Page]) -> list[bool]:
        read, write = (self._client.pipeline(transaction=False) for _ in range(2))
        blocks = [self._blocks(fingerprint.value) for _, fingerprint in pages]
        for name in (name for names in blocks for name in names):
            read.smembers(name)
        members = iter(read.execute())
        admitted = []
        for (key, fingerprint), names in zip(pages, blocks, strict=True):
            found = set().union(*(next(members) for _ in names))
            near = any(
                (int(member.split(",", 1)[0], 16) ^ fingerprint.value).bit_count() <= 3
                for member in found
            )
            admitted.append(not near)
            if not near:
                self._add(write, key, fingerprint)
        if any(admitted):
            write.execute()
        return admitted

    def fill(self, pages: Sequence[Page]) -> None:
        with self._client.pipeline(transaction=False) as write:
            for key, fingerprint in pages:
                self._add(write, key, fingerprint)
            write.execute()

    def close(self) -> None:
        self._client.close()

    def _add(self, pipeline: Any, key: str, fingerprint: Fingerprint) -> None:
        for name in self._blocks(fingerprint.value):
            pipeline.sadd(name, f"{fingerprint.value:x},{key}")

    def _blocks(self, value: int) -> list[str]:
        return [f"{self._prefix}:{value >> 16 * i & 0xFFFF:x}:{i:x}" for i in range(4)]


class Datasketch:
    """MinHash LSH with Redis storage, 128 permutations, Jaccard .8; datasketch's own defaults.

    Each byte of a fingerprint stands for a word, so that near pages share most words.
    """

    def __init__(self, url: str) -> None:
        from datasketch import MinHash, MinHashLSH

        address = urlsplit(url)
        self._make = MinHash
        self._lsh = MinHashLSH(
            threshold=0.8,
            num_perm=128,
            storage_config={
                "type": "redis",
                "basename": b"datasketch",
                "redis": {"host": address.hostname, "port": address.port},
            },
        )

    def claim(self, pages: Sequence[Page]) -> list[bool]:
        admitted = []
        for key, fingerprint in pages:
            minhash = self._minhash(fingerprint)
            admitted.append(not self._lsh.query(minhash))
            if admitted[-1]:
                self._lsh.insert(key, minhash, check_duplication=False)
        return admitted

    def fill(self, pages: Sequence[Page]) -> None:
        for key, fingerprint in pages:
            self._lsh.insert(key, self._minhash(fingerprint), check_duplication=False)

    def close(self) -> None:
        with contextlib.suppress(AttributeError):
            self._lsh.keys._redis.close()

    def _minhash(self, fingerprint: Fingerprint) -> Any:
        minhash = self._make(num_perm=128)
        minhash.update_batch([bytes(word) for word in enumerate(fingerprint.to_bytes())])
        return minhash


def _facts(key: str) -> bytes:
    return hashlib.shake_128(key.encode()).digest(FACTS_SIZE)


def _request(key: str) -> str:
    return '{"url": "' + key + '", "method": "GET", "callback": "parse"}'
