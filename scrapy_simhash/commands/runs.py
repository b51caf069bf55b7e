"""List the runs of an index: whose they are, how they ended, and their pages.

A run is what a spider's crawlers do from start to finish. Its pages are those that were
last seen in it, so those of an old run are the pages that no later run has seen.

    scrapy simhash runs --index redis://localhost/0
    scrapy simhash runs --json

"scrapy simhash changes" lists what a run found to be new, changed, moved or missing.
"""

import argparse

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, chosen_index
from scrapy_simhash.commands.output import aligned, show
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.words import moment


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    with chosen_index(options, settings) as index:
        runs = index.runs()
    rows = [("run", "spider", "begun (UTC)", "ended (UTC)", "state", "pages")]
    for one in runs:
        ended = moment(one.ended) if one.ended else "-"
        row = (str(one.number), one.spider, moment(one.begun), ended, how_it_ended(one))
        rows.append((*row, f"{one.pages:,}"))
    show(options, aligned(rows), {"runs": [one._asdict() for one in runs]})
    return 0 if runs else 1


def how_it_ended(one: Run) -> str:
    """Return how a run has ended, in one word; one that was killed may seem to run."""
    if one.ended is None:
        return "running"
    return "finished" if one.finished else "stopped"
