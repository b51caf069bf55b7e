"""The same way for saved pages: read, dedupe, transfer, join, evaluate."""
