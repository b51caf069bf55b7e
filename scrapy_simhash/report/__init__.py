"""What a dedup log says: its figures, in memory that is bounded, and one HTML file that shows them.

figures = read_figures(["dedup.jsonl"])
page = render(figures)
"""

from __future__ import annotations

from scrapy_simhash.report.figures import Figures, plain, read_figures
from scrapy_simhash.report.page import render

__all__ = ["Figures", "plain", "read_figures", "render"]
