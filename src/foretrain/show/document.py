"""Answers outside a terminal: documents, where they come from, and notebooks.

Documents, and where the answers in them come from.

Where an answer comes from: enough to ask the same question again.

Documents: a result as JSON, the contract between foretrain and other programs.

Seconds, bytes, FLOP, dollars, joules; ratios are fractions. Keys stand in the order of the result's
fields, so that the same answer is the same text.

Provenance: which foretrain, which question and which coefficients stand behind an answer.

Answers in a notebook: a line where Python shows them, a table where HTML is drawn, data frames.

An answer says which of its fields are its rows, and which labels a line and a table show.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum, StrEnum
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.plan.study import CollectiveStudy, Study
from foretrain.show.table import Table, label, labelled, table
from foretrain.study.coefficients import DEFAULT

if TYPE_CHECKING:
    import pandas
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientSource:
    """One constant of the formulas and where it was found.

    Attributes:
        name: the coefficient's.
        value: in `unit`.
        unit: as text, empty for a plain ratio.
        low: lower end of its interval.
        high: upper end.
        source: who measured or published it.
        kind: how it was found (measured, published, assumed).
    """

    name: str = field(metadata=label("coefficient"))
    value: float
    unit: str
    low: float
    high: float
    source: str = field(metadata=label("source"))
    kind: str = field(metadata=label("found"))

    @property
    @labelled("value", number=True)
    def amount(self) -> str:
        """With its unit."""
        return f"{self.value:.4g} {self.unit}".strip()

    @property
    @labelled("interval")
    def interval(self) -> str:
        """Both ends of it."""
        return f"{self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an answer was computed from.

    Attributes:
        version: of foretrain.
        inputs: fingerprint of the question.
        coefficients: name of the coefficient set.
        sources: every coefficient of the set.
    """

    version: str
    inputs: str
    coefficients: str
    sources: tuple[CoefficientSource, ...] = ()


Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]


def document(verb: str, result: object, provenance: Provenance) -> dict[str, Plain]:
    """The JSON document of a verb's answer."""
    answer = plain(result)
    assert isinstance(answer, dict), f"the result of {verb} is not a record"
    return {
        "schema": f"foretrain/{verb}/1",
        "foretrain": provenance.version,
        "inputs": provenance.inputs,
        "coefficients": provenance.coefficients,
        **answer,
    }


MANY: Final = 100
"""Items of a sequence from which on each is a piece by itself, which takes a third of the time."""


def fingerprint(*nouns: object) -> str:
    """The sha256 of what the nouns say: equal questions have equal fingerprints."""
    found = sha256()
    for text in _canonical(nouns):
        found.update(text.encode())
    return found.hexdigest()


def _canonical(value: object) -> Iterator[str]:
    """The canonical JSON of a value, keys in order, in pieces: a log has a million jobs."""
    pairs: Iterable[tuple[str, object]] | None = None
    if is_dataclass(value) and not isinstance(value, type):
        pairs = _members(value)
    elif isinstance(value, Mapping):
        pairs = ((str(key), item) for key, item in value.items())
    if pairs is not None:
        yield "{"
        for place, (name, member) in enumerate(sorted(pairs, key=itemgetter(0))):
            yield f"{',' if place else ''}{json.dumps(name)}:"
            yield from _canonical(member)
        yield "}"
    elif isinstance(value, tuple | list):
        yield "["
        for place, item in enumerate(value):
            yield "," if place else ""
            yield from (_text(item),) if len(value) > MANY else _canonical(item)
        yield "]"
    else:
        yield _text(value)


def _text(value: object) -> str:
    told = _plain(value, open_ended=True)
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def plain(value: object) -> Plain:
    """A value as JSON knows it: enums in lower case, sets in order; nothing private.

    Raises:
        InputError: a number is not finite; JSON knows none, and it would be no answer.
    """
    return _plain(value, open_ended=False)


class _NotFinite(InputError):
    """A number that is not finite, and where it stands."""

    def __init__(self, value: float, place: str = "") -> None:
        self.value, self.place = value, place
        super().__init__(
            f"{place.lstrip('.') or 'a number'} of the answer is {value}: a number that it was"
            " made of is out of all proportion. Look at the sizes, times, rates and prices that"
            " you gave."
        )


def _plain(value: object, *, open_ended: bool) -> Plain:
    """A value as JSON knows it; open-ended, numbers that are not finite are None."""
    if isinstance(value, Enum):
        return value.value if isinstance(value, StrEnum) else value.name.lower()
    if isinstance(value, float):
        if not isfinite(value) and not open_ended:
            raise _NotFinite(value)
        return float(value) if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _collection(value, open_ended=open_ended)


def _collection(value: object, *, open_ended: bool) -> Plain:
    def items(pairs: Iterable[tuple[str, object]]) -> Iterator[tuple[str, Plain]]:
        for place, item in pairs:
            try:
                yield place, _plain(item, open_ended=open_ended)
            except _NotFinite as error:
                raise _NotFinite(error.value, f"{place}{error.place}") from None

    if is_dataclass(value) and not isinstance(value, type):
        return {name[1:]: item for name, item in items((f".{k}", it) for k, it in _members(value))}
    if isinstance(value, Mapping):
        return {key[1:]: item for key, item in items((f".{key}", it) for key, it in value.items())}
    if isinstance(value, frozenset | tuple | list):
        ordered = sorted(value) if isinstance(value, frozenset) else value
        return [item for _, item in items((f"[{n}]", it) for n, it in enumerate(ordered))]
    raise TypeError(f"{type(value).__name__} has no place in a document: {value!r}")


def _members(noun: DataclassInstance) -> Iterator[tuple[str, object]]:
    """What a noun says, by name.

    What it does not show of itself (a function, a cache) is nothing that it says. What a later
    version can say besides must not change what studies without it say. A word that Python keeps
    for itself has an underscore behind it there.
    """
    for each in fields(noun):
        if not each.repr or each.name[0] == "_":
            continue
        member = getattr(noun, each.name)
        if member or not each.metadata.get("if_set"):
            yield each.name.rstrip("_"), member


def provenance(*nouns: object, coefficients: Coefficients = DEFAULT) -> Provenance:
    """What stands behind an answer to these nouns."""
    return Provenance(
        version=installed(),
        inputs=fingerprint(*nouns),
        coefficients=coefficients.name,
        sources=tuple(
            CoefficientSource(
                name=name,
                value=source.value,
                unit="" if source.unit == "1" else source.unit,
                low=source.low,
                high=source.high,
                source=source.source,
                kind=source.kind,
            )
            for name, source in coefficients.sources.items()
        ),
    )


def of_study(study: Study, *, coefficients: Coefficients = DEFAULT) -> Provenance:
    """What stands behind an answer to a study; what a reader assumed stands in the answer."""
    nouns = (study.workload, study.cluster, study.space, study.objective, study.limit, study.job)
    both = () if study.mixed is None else (study.mixed,)
    futures = (*study.offers, *study.scenarios)
    return provenance(*nouns, *both, *futures, coefficients=coefficients)


def of_question(
    study: Study | CollectiveStudy, *, coefficients: Coefficients = DEFAULT
) -> Provenance:
    """What stands behind an answer to a study, whatever it asks."""
    if isinstance(study, Study):
        return of_study(study, coefficients=coefficients)
    return provenance(replace(study, assumed=()), coefficients=coefficients)


def installed() -> str:
    """The version of foretrain; "unknown" where it runs from a folder without being installed."""
    try:
        return version("foretrain")
    except PackageNotFoundError:
        return "unknown"


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
        from foretrain.show.terminal import fragment

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
