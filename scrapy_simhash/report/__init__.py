"""The dedup log that a crawl writes, its figures in bounded memory, and the page made of them."""
