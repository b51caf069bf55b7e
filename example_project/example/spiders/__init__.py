"""The spiders of the example."""
