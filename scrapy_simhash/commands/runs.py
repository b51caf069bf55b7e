"""List the runs of an index: whose they are, how they ended, and their pages.

A run is what the crawlers of a spider do from start to finish. Its pages are those that
were last seen in it, so the pages of an old run are those that no later run has seen.

    scrapy simhash runs --index redis://localhost/0
    scrapy simhash runs --json

"scrapy simhash changes" lists what a run found to be new, changed, moved or missing.
"""

import argparse

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, show
from scrapy_simhash.commands.selection import add_shared_options, chosen_index
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.words import moment


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    with chosen_index(options, settings) as index:
        runs = index.runs()
    last = {run.spider: run for run in runs}
    rows = [("run", "spider", "begun (UTC)", "ended (UTC)", "state", "pages")]
    for run in runs:
        ended = moment(run.ended) if run.ended else "-"
        state = _state(run, is_last=run is last[run.spider])
        number, pages = str(run.number), f"{run.pages:,}"
        rows.append((number, run.spider, moment(run.begun), ended, state, pages))
    show(options, aligned(rows), {"runs": [run._asdict() for run in runs]})
    return 0 if runs else 1


def _state(run: Run, *, is_last: bool) -> str:
    """Return how a run has ended, in one word.

    The last one of a spider may have been killed, and seem to run. An earlier one does not run,
    because a crawler takes part in its spider's run while others of it live; but a job may go on.
    """
    if run.ended is None:
        return "running" if is_last else "unfinished"
    return "finished" if run.finished else "stopped"
