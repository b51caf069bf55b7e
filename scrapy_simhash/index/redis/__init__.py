"""The index in Redis: one server, Sentinel or Cluster, shared by many crawlers."""
