"""The index in Redis: one server, Sentinel or Cluster, shared by many crawlers."""

from __future__ import annotations

from scrapy_simhash.index.redis.header import stored_spec
from scrapy_simhash.index.redis.index import RedisIndex

__all__ = ["RedisIndex", "stored_spec"]
