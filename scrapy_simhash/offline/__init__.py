"""The same way for saved pages: read, dedupe, join."""
