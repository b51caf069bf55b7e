"""Other engines on the core's public verbs."""
