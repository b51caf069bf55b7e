"""From a text to its fingerprint and its blocks."""
