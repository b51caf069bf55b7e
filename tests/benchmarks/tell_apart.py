"""What telling pages apart by numbers or titles gains and costs.

Run as ``python tests/benchmarks/tell_apart.py``. Near-duplicates of five kinds, and pages that
differ from each other in one number, model or place (``number``), are made from the pages of
``articles-html`` (../shared/data beside the checkout) and judged with SIMHASH_TELL_APART unset,
"numbers", "title" and both.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.kinds import DUPLICATES, make_kinds
from scrapy_simhash.offline.datasets import read_dataset
from scrapy_simhash.offline.evaluation import evaluate

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "articles-html"


def main() -> int:
    if not DATA.is_dir():
        print(f"needs {DATA}", file=sys.stderr)
        return 1
    made = make_kinds(read_dataset(DATA).documents, kinds=(*DUPLICATES, "number"))
    recipes = [
        replace(named_recipe("default"), name=" and ".join(apart) or "nothing", tell_apart=apart)
        for apart in ((), ("numbers",), ("title",), ("numbers", "title"))
    ]
    print("| told apart by | kind | matched |")
    print("| --- | --- | --- |")
    for result in evaluate(made, recipes, processes=2):
        kinds = {**result.judgement.kinds, **result.judgement.negatives}
        for kind, found in kinds.items():
            print(f"| {result.name} | {kind} | {found.matched} of {found.pairs} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
