"""One running crawl: its verdicts, its pages in progress, its upkeep and its summary."""
