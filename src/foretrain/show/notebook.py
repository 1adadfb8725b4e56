"""Answers in a notebook: a line where Python shows them, a table where HTML is drawn, data frames.

An answer says which of its fields are its rows, and which labels a line and a table show.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Final

from foretrain.errors import InputError
from foretrain.show.document import plain
from foretrain.show.table import Table, table

if TYPE_CHECKING:
    import pandas

MOST: Final = 20
"""Rows that a notebook draws."""


class Shown:
    """An answer that shows itself.

    Attributes:
        rows: the field that holds its rows; empty for an answer that is one row itself.
        columns: labels of a row that a table shows, the first of them in a line too.
    """

    __slots__ = ()

    rows: ClassVar[str] = ""
    columns: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        """One line: what it is, how many rows it has, and the figures of the first."""
        found = self._table()
        figures = [
            f"{column.name} {text}"
            for column, text in zip(found.columns, found.rows[0] if found.rows else (), strict=True)
            if column.number and text
        ]
        many = [f"{self.rows} {len(self._records())}"] if self.rows else []
        return f"<{type(self).__name__}: {', '.join([*many, *figures])}>"

    def _repr_html_(self) -> str:
        """A table, as notebooks draw it."""
        from foretrain.show.page import fragment

        return fragment(repr(self), self._table())

    def to_dict(self) -> Any:  # noqa: ANN401 - as JSON has it
        """What the document says of it: seconds, bytes, dollars; ratios are fractions."""
        return plain(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Its rows as a data frame, with the keys of the document, those inside joined by dots.

        Raises:
            InputError: pandas is not installed.
        """
        if find_spec("pandas") is None:
            raise InputError("to_pandas needs pandas, which is not installed: pip install pandas.")
        import pandas

        return pandas.json_normalize([plain(each) for each in self._records()])

    def _records(self) -> Sequence[object]:
        return getattr(self, self.rows) if self.rows else (self,)

    def _table(self) -> Table:
        return table(self._records()[:MOST], *self.columns)
