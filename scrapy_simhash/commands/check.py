"""Tell whether an index is whole, and what to do if it is not.

    scrapy simhash check --index redis://localhost/0

It reads the whole index. What is missing or cannot be read is told in a line each, and the
exit status is 1 then. A crawl passes over single entries that are damaged, so that their
copies may be crawled once more; "scrapy simhash export" takes the others into a new index.
"""

import argparse

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, chosen_index
from scrapy_simhash.commands.output import say
from scrapy_simhash.report.words import count


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    with chosen_index(options, settings) as index:
        found, pages = index.check(), len(index)
    say([f"damaged: {text}" for text in found] or [f"whole: {count(pages, 'page')}"])
    return 1 if found else 0
