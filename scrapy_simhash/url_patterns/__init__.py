"""What addresses tell before a download; pure code, without Scrapy and without a network."""
