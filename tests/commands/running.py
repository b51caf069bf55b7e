"""Running subcommands as Scrapy does."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from scrapy.settings import Settings

from scrapy_simhash.commands import SimhashCommand
from scrapy_simhash.report.dedup_log import LogLine, to_json

ROOT = Path(__file__).parents[2]


def scrapy(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Scrapy's own command in a folder."""
    command = [sys.executable, "-m", "scrapy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def simhash(*arguments: object, settings: dict[str, Any] | None = None) -> int:
    """Run a subcommand and return its exit status."""
    command = SimhashCommand()
    command.settings = Settings(settings)
    parser = argparse.ArgumentParser(usage=f"scrapy simhash {command.syntax()}")
    command.add_options(parser)
    options, rest = parser.parse_known_args([str(argument) for argument in arguments])
    command.process_options(rest, options)
    command.run(rest, options)
    return command.exitcode


def log_line(key: str, verdict: str = "unique", **changed: Any) -> str:
    """Return a line of a dedup log."""
    values: dict[str, Any] = {
        "time": 1_700_000_000.0,
        "what": "page",
        "url": key,
        "key": key,
        "host": key.split("/")[2] if "://" in key else "",
        "verdict": verdict,
        "reason": None,
        "action": "drop" if verdict == "duplicate" else None,
        "original": None,
        "near": None,
        "distance": None,
        "k": 3,
        "bytes": 1000,
        "seconds": 0.1,
        "text": "",
        "pattern": None,
    }
    return to_json(LogLine(**{**values, **changed})) + "\n"
