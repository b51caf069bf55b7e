"""Signals that the plugin sends through Scrapy's signal manager."""

#: Sent for each near-duplicate page, whatever the action, with ``verdict``
#: (:class:`scrapy_simhash.core.verdict.Verdict`), ``request``, ``response`` and
#: ``spider``.
near_duplicate = object()
