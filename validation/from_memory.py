"""What the code and the documents say from memory: every place, counted by group.

python -m validation.from_memory            # where each stands; fails where the page is behind
python -m validation.from_memory --record   # writes the table of the page
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from validation.parts.pages import put_between

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "background" / "from-memory.md"
MARKS = ("<!-- places: python -m validation.from_memory --record -->", "<!-- end of places -->")
SAID = re.compile(r"from[\s\\#]+memory", re.IGNORECASE)
KINDS = {".py", ".toml", ".md", ".bib"}

GROUPS = (
    (
        "devices",
        "src/foretrain/cluster/catalogue/devices/",
        "bytes that a driver reports, idle powers, processors of some products, old cards",
        "what fits, to 1 or 2 %; energy of waiting; waves of tiles",
    ),
    (
        "clusters",
        "src/foretrain/cluster/catalogue/clusters/",
        "hosts, powers of nodes, prices, disks, latencies of EFA and ICI",
        "cost, energy, input and checkpoints; short messages over EFA and ICI",
    ),
    (
        "coefficients",
        "src/foretrain/coefficients/",
        "efficiencies of kernels, launches, overlap, reserved memory, constants of NCCL",
        "where fits begin, and what runs do not tell; the fitted set says what moved",
    ),
    (
        "models",
        "src/foretrain/workload/",
        "sizes of a few models, kernels counted of fused layers, what a framework keeps",
        "FLOP and memory of those models; launches of experts and scans",
    ),
    (
        "published runs",
        "src/foretrain/measured/ src/foretrain/trainers/",
        "what recipes do where a row of a table is blank",
        "the accuracy that is claimed for such rows; hardly a prediction of a study",
    ),
    (
        "steps",
        "src/foretrain/step/",
        "tiles of libraries, pieces of in-network collectives, a ramp of the batch",
        "small products; collectives of some MB behind switches that add up",
    ),
    (
        "clusters of jobs, queues, ensembles",
        "src/foretrain/jobs/ src/foretrain/queueing/ src/foretrain/search/ src/foretrain/ensemble/",
        "theorems and rates of papers that were not read again",
        "shares of heSRPT, held by a search of all shares; copying between members",
    ),
    (
        "reading and judging",
        "src/foretrain/study/ src/foretrain/evidence/",
        "words of configurations, this machine's memory, rows marked as recalled",
        "messages; such rows are never scored",
    ),
    ("references", "docs/references.bib", "equation numbers, notes on sources", "nothing"),
    (
        "documents",
        "docs/",
        "pages that tell of what stands above",
        "nothing",
    ),
)
"""Name, where it stands, what it is, what depends on it; the first that a file fits is its own."""


def places() -> Iterator[tuple[str, int]]:
    """Every file that says so and how often, but for the page itself."""
    for folder in ("src", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in KINDS and path != PAGE:
                count = len(SAID.findall(path.read_text(encoding="utf-8")))
                if count:
                    yield path.relative_to(ROOT).as_posix(), count


def group_of(path: str) -> str:
    """The group of a file."""
    return next(
        name
        for name, where, *_ in GROUPS
        if any(path.startswith(prefix) for prefix in where.split())
    )


def table() -> str:
    """The table of the page."""
    counts: Counter[str] = Counter()
    for path, count in places():
        counts[group_of(path)] += count
    lines = ["| group | places | what | what depends on it |", "|---|---:|---|---|"]
    lines += [f"| {name} | {counts[name]} | {what} | {hangs} |" for name, _, what, hangs in GROUPS]
    return "\n".join([*lines, f"| all | {counts.total()} | | |"])


def main(arguments: Sequence[str]) -> int:
    """Prints every place; 1 if the page counts otherwise."""
    for path, count in places():
        print(f"{count:4} {group_of(path):36} {path}")
    page = PAGE.read_text(encoding="utf-8")
    shown = put_between(page, MARKS, table())
    if "--record" in arguments:
        PAGE.write_text(shown, encoding="utf-8")
        return 0
    return int(page != shown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
