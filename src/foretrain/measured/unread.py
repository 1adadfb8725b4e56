"""Rows of a table of measurements that cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.measured.run import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRow:
    """A row that is not predicted, because a cell or its form cannot be read.

    Attributes:
        line: where it begins in its file, the first line being 1; 0 where another file is at fault.
        id: the row's, or its line where that cannot be read either.
        source_id: who published it; may be empty.
        subject: what its table measures.
        reason: every problem of the row, with its line.
    """

    line: int
    id: str
    source_id: str
    subject: Subject
    reason: str
