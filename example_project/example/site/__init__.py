"""The site that the example crawls: fictional newspapers with planted near-duplicates."""
