"""Addresses tell of copies before a download; crawlers of one index learn that together."""
