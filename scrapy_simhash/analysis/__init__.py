"""From the bytes of a page to its analysis, in worker processes."""
