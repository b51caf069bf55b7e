"""The bodies that an index in Redis remembers: digest and fingerprint, in small hashes.

Each hash is bounded by itself, in plain commands on one key: so they lie anywhere in a cluster,
and no worker waits for another. Two that cut a hash at the same time forget a little more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import base
from scrapy_simhash.index.redis_client import Client, number

# Bodies in a hash. Up to 128 fields Redis keeps it as one string, in the order in which they came;
# more workers than one may be adding to it.
_MOST = 120


class Bodies:
    """Finds and notes bodies; see :class:`.base.Index`.

    Args:
        client: where the index is.
        bits: of a fingerprint.
    """

    def __init__(self, client: Client, bits: int) -> None:
        self._client = client
        self._bits = bits
        self._hashes = max(base.BODIES // _MOST, 1)

    def find(self, digests: Sequence[bytes]) -> list[Fingerprint | None]:
        """Return the fingerprints of bodies; None of those that are not remembered."""
        values = self._client.all([("HGET", self._key(digest), digest) for digest in digests])
        return [
            Fingerprint(int.from_bytes(value, "big"), self._bits)
            if value is not None and len(value) * 8 == self._bits
            else None
            for value in values
        ]

    def note(self, bodies: Mapping[bytes, Fingerprint]) -> None:
        """Remember bodies; of a hash that is full, the older half goes."""
        added: dict[str, list[bytes]] = {}
        for digest, fingerprint in bodies.items():
            added.setdefault(self._key(digest), []).extend((digest, fingerprint.to_bytes()))
        commands = [
            command
            for key, fields in added.items()
            for command in (("HSET", key, *fields), ("HLEN", key))
        ]
        sizes = self._client.all(commands)[1::2]
        full = [key for key, size in zip(added, sizes, strict=True) if number(size) > _MOST]
        fields = self._client.all([("HKEYS", key) for key in full])
        self._client.all(
            [
                ("HDEL", key, *found[: -_MOST // 2])
                for key, found in zip(full, fields, strict=True)
                if len(found) > _MOST // 2
            ]
        )

    def count(self) -> int:
        """Return how many bodies are remembered."""
        return sum(map(number, self._client.all([("HLEN", key) for key in self.keys()])))

    def wipe(self) -> None:
        """Forget all bodies."""
        self._client.all([("UNLINK", key) for key in self.keys()])

    def keys(self) -> list[str]:
        """Return the keys of all hashes, whether they are there or not."""
        return [f"{self._client.prefix}:d:{hash_}" for hash_ in range(self._hashes)]

    def _key(self, digest: bytes) -> str:
        place = int.from_bytes(digest[:4], "big") % self._hashes
        return f"{self._client.prefix}:d:{place}"
