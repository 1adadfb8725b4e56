"""The web page of a validation: one file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foretrain.evidence.report import BY, WRITE, errors_by, is_scored, missed, remarks, summary
from foretrain.evidence.scatter import COUNTED, scatter
from foretrain.evidence.validate import Validation, ValidationRow
from foretrain.show.document import Provenance
from foretrain.show.page import PageSection, page, tables
from foretrain.show.table import Piece, coefficients
from foretrain.show.words import PARTS, count, percent, written
from foretrain.step.facts import time_pieces
from foretrain.units import SECONDS

WORST = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A row that errs much.

    Attributes:
        id: the row's.
        error: in words.
        told: what was run and how, in words.
        measured: in words.
        predicted: in words.
        pieces: parts of the predicted step, as shares of the bar; none where it is no step.
        texts: what each piece is, in words.
        mark: per cent of the bar at which the measured value stands.
    """

    id: str
    error: str
    told: str
    measured: str
    predicted: str
    pieces: tuple[Piece, ...]
    texts: tuple[str, ...]
    mark: float


def validation_page(validation: Validation, provenance: Provenance) -> str:
    """The HTML page of a validation, complete: styles and drawings are in it.

    Args:
        validation: predictions held against measurements.
        provenance: what they were computed from.
    """
    rows = [row for row in validation.rows if is_scored(row)]
    sources = {row.source_id for row in validation.rows}
    told = f"{count(len(validation.rows), 'row')} of {count(len(sources), 'source')}"
    return page(
        kind="Validation",
        title="Predictions held against measurements",
        subtitle=f"{told}, {len(rows):,} scored.",
        sections=[section for section in _sections(validation, rows, provenance) if section],
        provenance=provenance,
    )


def _sections(
    validation: Validation, rows: Sequence[ValidationRow], provenance: Provenance
) -> Iterator[PageSection | None]:
    yield tables("summary", "How far off", summary(validation.summary))
    yield from _drawn(rows)
    for name in BY:
        yield tables(f"by-{name}", f"Errors by {name}", errors_by(name, rows))
    yield worst(rows)
    yield tables("remarks", "Assumed for scored rows, and other remarks", remarks(rows))
    others = [row for row in validation.rows if not is_scored(row)]
    yield tables("missed", "Not scored", missed(others))
    yield tables("coefficients", "Coefficients", coefficients(provenance.sources))


def _drawn(rows: Sequence[ValidationRow]) -> Iterator[PageSection]:
    """A drawing for every subject that is counted in something."""
    for subject, quantity in COUNTED.items():
        shown = [row for row in rows if row.subject is subject]
        if shown:
            yield PageSection(
                name=subject.name.lower().replace("_", "-"),
                title=f"Measured against predicted: {subject}",
                template="scatter",
                content={"plot": scatter(shown, quantity), "subject": str(subject)},
            )


def worst(rows: Sequence[ValidationRow]) -> PageSection | None:
    """The rows that err most, with what their predicted step consists of; None without a row."""
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: (-abs(row.error or 0.0), row.id))[:WORST]
    shown = [_missed(row) for row in ordered]
    drawn = {piece.name for row in shown for piece in row.pieces}
    names = {name: words for name, words in PARTS.items() if name in drawn}
    content = {"rows": shown, "names": names}
    return PageSection(
        name="worst", title="The rows that err most", template="worst", content=content
    )


def _missed(row: ValidationRow) -> Missed:
    write, seconds = WRITE[row.subject], row.predicted or 0.0
    longest = max(row.measured or 0.0, seconds)
    pieces = () if row.parts is None else time_pieces(row.parts)
    words = (row.framework, f"{row.devices or ''} {row.device}".strip(), row.strategy)
    return Missed(
        id=row.id,
        error=percent(row.error or 0.0),
        told=", ".join(filter(None, words)),
        measured=write(row.measured or 0.0),
        predicted=write(seconds),
        pieces=tuple(
            Piece(name=it.name, amount=it.amount, share=it.amount / longest) for it in pieces
        ),
        texts=tuple(f"{it.name}: {written(SECONDS, it.amount)}" for it in pieces),
        mark=100 * (row.measured or 0.0) / longest,
    )
