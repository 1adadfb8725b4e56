"""How much of the published tables foretrain predicts, and how far off it is, source by source.

    python -m validation.coverage

The tables of both folders are read together, `tables` and `tables/more`. Coverage counts the rows
that name their model and device and state the number of devices and a batch
(`foretrain.measured.coverage.blanks`). Whatever else is blank is filled by the rules of
`foretrain.measured.defaults`. Errors are printed as they are: step times of the closed form, no
coefficient fitted to any of these rows but those that the shipped set lists. The exit status is 1
if fewer of such rows of a table are predicted than `LEAST` asks for.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from validation.parts.pages import shows
from validation.parts.tables import runs_of

from foretrain.evidence.validate import ValidationRow, ValidationSummary, validate
from foretrain.measured.coverage import blanks
from foretrain.measured.run import MeasuredRun

PAGE = Path(__file__).parents[1] / "docs/background/accuracy.md"
LEAST: Mapping[str, float] = MappingProxyType(
    {"llm_training": 0.97, "cnn_training": 0.95, "single_device": 0.95, "other_training": 0.0}
)
"""Share of the rows of each table that must be predicted; the last table is listed only."""

MOST_REASONS = 15

Pair = tuple[MeasuredRun, ValidationRow]


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The rows of a table, sorted by what became of them.

    Attributes:
        rows: all.
        blank: rows that leave out what no prediction can do without, by what that is.
        predicted: the others that are predicted.
        missed: the others that are not, by reason.
        failed: runs that ran out of memory, and how many of them are predicted not to fit.
        ran: runs that did not, and how many of them are predicted to fit.
    """

    rows: int
    blank: Counter[str]
    predicted: int
    missed: Counter[str]
    failed: tuple[int, int]
    ran: tuple[int, int]

    @property
    def stated(self) -> int:
        """Rows with model, device, count and batch."""
        return self.predicted + self.missed.total()

    @property
    def share(self) -> float:
        """Of them, those that are predicted."""
        return self.predicted / self.stated if self.stated else 1.0


def main() -> int:
    """Prints every table; 1 if one is covered too little, or the page shows something else."""
    kept, printed = True, ""
    for name, least in LEAST.items():
        runs = runs_of(name)
        answer = validate(runs, played=False)
        found = coverage(list(zip(runs, answer.rows, strict=True)))
        told = "\n".join([*lines(name, found, least=least), *errors(answer.summary), ""])
        print(told, flush=True)
        printed += told + "\n"
        kept = kept and found.share >= least
    if not shows(PAGE.read_text("utf-8"), "python -m validation.coverage", printed):
        print(f"{PAGE.name} shows something else: put what stands above there.")
        kept = False
    return 0 if kept else 1


def coverage(pairs: Sequence[Pair]) -> Coverage:
    """What became of each run of a table."""
    inside = [(run, row) for run, row in pairs if not blanks(run)]
    missed = [row for _, row in inside if row.predicted is None]
    return Coverage(
        rows=len(pairs),
        blank=Counter(", ".join(blanks(run)) for run, _ in pairs if blanks(run)),
        predicted=len(inside) - len(missed),
        missed=Counter(f"{row.source_id}: {row.reason}" for row in missed),
        failed=_agreed(inside, out_of_memory=True),
        ran=_agreed(inside, out_of_memory=False),
    )


def _agreed(pairs: Sequence[Pair], *, out_of_memory: bool) -> tuple[int, int]:
    """Runs that ended like that, and those of them of which the same is predicted."""
    said = [
        row.fits
        for run, row in pairs
        if run.out_of_memory is out_of_memory and row.fits is not None
    ]
    return len(said), sum(fits is not out_of_memory for fits in said)


def lines(name: str, found: Coverage, *, least: float) -> Iterator[str]:
    """The coverage of a table as text."""
    verdict = "kept" if found.share >= least else "MISSED"
    yield f"{name}: {found.rows} rows, {found.stated} with model, device, count and batch"
    yield f"  {found.predicted} predicted, {found.share:.1%}: {verdict} (at least {least:.0%})"
    for reason, rows in found.missed.most_common(MOST_REASONS):
        yield f"    {rows:4} {reason}"
    if len(found.missed) > MOST_REASONS:
        yield f"    and {len(found.missed) - MOST_REASONS} more reasons"
    for blank, rows in found.blank.most_common():
        yield f"  {rows} do not state: {blank}"
    yield "  out of memory: {} rows, {} predicted not to fit".format(*found.failed)
    yield "  ran: {} rows, {} predicted to fit".format(*found.ran)


def errors(summary: Sequence[ValidationSummary]) -> Iterator[str]:
    """The errors by source, of the rows that are scored."""
    yield f"  {'source':16} {'rows':>5} {'scored':>6} {'error':>7} {'median':>7} {'bias':>7}"
    for line in summary:
        if line.mape is not None and line.median is not None and line.bias is not None:
            yield (
                f"  {line.source_id:16} {line.rows:5} {line.predicted:6} "
                f"{line.mape:7.0%} {line.median:7.0%} {line.bias:+7.0%}"
            )


if __name__ == "__main__":
    sys.exit(main())
