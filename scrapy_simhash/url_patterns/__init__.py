"""Addresses tell of copies before a download; pure code, without Scrapy or a network."""
