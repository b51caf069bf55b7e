"""Running subcommands in a process of their own, of which the memory is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# The kernel's figure for a process begins with that of the one that started it, elsewhere than in
# /proc.
_RUN = """
import resource, sys
from pathlib import Path
from tests.commands.running import simhash
simhash(*sys.argv[1:], settings={"SIMHASH_PROCESSES": 0})
status = Path("/proc/self/status")
if status.exists():
    print(1024 * int(status.read_text().split("VmHWM:")[1].split()[0]))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_memory(*arguments: object) -> int:
    """Return the most bytes that a subcommand had in memory."""
    command = [sys.executable, "-c", _RUN, *map(str, arguments)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    return int(done.stdout.split()[-1])
