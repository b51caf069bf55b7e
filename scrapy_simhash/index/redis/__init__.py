"""The index in Redis: one server, Sentinel or Cluster, shared by many crawlers."""

from scrapy_simhash.index.redis.index import RedisIndex
from scrapy_simhash.index.redis.session import stored_spec

__all__ = ["RedisIndex", "stored_spec"]
