"""Rows of a trace become operators: products, attention, norms, and what compilers fuse.

Neighbours that work value by value are one operator: it reads what comes from outside and writes
what somebody outside needs, as the operators of the library do. What each of them keeps for the
backward pass is what the framework was seen to keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod

from foretrain.workload.operator import KernelFamily, Operator, Size
from foretrain.workload.parts.attention import Core, core
from foretrain.workload.traced.products import RowFacts, divisible, product
from foretrain.workload.traced.trace import ModelTrace, RowKind, TracedTensor, TraceRow, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Rows that are one operator.

    Attributes:
        kind: of the rows.
        place: the module that they belong to.
        rows: in the order in which they ran, with their positions in the trace.
    """

    kind: RowKind
    place: str
    rows: tuple[tuple[int, TraceRow], ...]


def tasks(trace: ModelTrace, rows: Sequence[tuple[int, TraceRow]]) -> Iterator[RowGroup]:
    """The operators of a run of rows: fusible neighbours of one module together."""
    told = [(kind_of(row), _home(trace, row), position, row) for position, row in rows]
    busy = [each for each in told if each[0] is not RowKind.FREE and not _is_count(each[3])]

    def key(each: tuple[RowKind, str, int, TraceRow]) -> tuple[str, int]:
        kind, home, position, _ = each
        return (home, -1) if kind is RowKind.FUSIBLE else ("", position)

    for (home, alone), group in groupby(busy, key):
        members = list(group)
        yield RowGroup(
            kind=members[0][0],
            place=home if alone < 0 else members[0][3].module,
            rows=tuple((position, row) for _, _, position, row in members),
        )


def _is_count(row: TraceRow) -> bool:
    """Whether it changes one number that counts something, which no step waits for."""
    values = (*row.reads, *row.writes)
    return all(each.elements <= 1 and not each.real for each in values)


def _home(trace: ModelTrace, row: TraceRow) -> str:
    """The module that a row belongs to; a leaf without parameters (a ReLU) is its parent's."""
    part = trace.parts.get(row.module)
    if part is None or part.children or part.owns:
        return row.module
    return row.module.rpartition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUses:
    """Who uses which memory, over a whole trace.

    Attributes:
        last: position of the last row that reads a storage.
        learned: storages that are parameters or made of nothing else, and the parameters they are
            made of.
        fed: storages that are samples, parameters, or made of them.
        keeps: what each row keeps, by its position, every storage once.
        dimensions: along which windows slide over a sample; 0 for no network of pictures.
    """

    last: dict[int, int]
    learned: dict[int, frozenset[int]]
    fed: set[int]
    keeps: dict[int, tuple[TracedTensor, ...]]
    dimensions: int

    @property
    def pictures(self) -> bool:
        """Whether the network is one of pictures."""
        return self.dimensions > 0


def made(
    task: RowGroup, name: str, *, trace: ModelTrace, uses: MemoryUses, taken: set[int]
) -> list[Operator]:
    """The operators of a task; more than one for attention alone.

    Args:
        task: rows that belong together.
        name: of the operator.
        trace: that they are from.
        uses: of the trace.
        taken: parameters that an operator before has; those of this one are added.
    """
    rows = [row for _, row in task.rows]
    facts = _facts(task, trace=trace, uses=uses, taken=taken)
    if task.kind is RowKind.ATTENTION:
        return _attention(name, rows[0], facts)
    if task.kind is RowKind.FUSIBLE:
        found = _fused(name, task, facts, uses=uses)
    else:
        makers = {RowKind.PRODUCT: product, RowKind.NORM: _norm}
        found = makers.get(task.kind, _moving)(name, rows[0], facts)
    return [divisible(found, rows, dimensions=uses.dimensions) if uses.pictures else found]


def _facts(task: RowGroup, *, trace: ModelTrace, uses: MemoryUses, taken: set[int]) -> RowFacts:
    """What is known of a task: the parameters that nobody before it has, and what it keeps."""
    owns = {
        origin
        for _, row in task.rows
        for value in row.reads
        for origin in uses.learned.get(value.storage, ())
        if not _hands_on(task, uses)
    }
    new = owns - taken
    taken |= new
    parameters = [each for storage in new for each in trace.owners[storage]]
    return RowFacts(
        samples=trace.samples,
        weights=sum(each.count for each in parameters),
        trained=sum(each.count for each in parameters if each.trained),
        learned=tuple(value.storage in uses.learned for value in task.rows[0][1].reads),
        pictures=uses.pictures,
        kept=_kept(task, uses).over(trace.samples),
    )


def _kept(task: RowGroup, uses: MemoryUses) -> DataSum:
    """What its rows keep; the place of a maximum under its window is a byte.

    Compilers keep it so; PyTorch by itself keeps eight. Source: pytorch (from memory).
    """
    kept = [value for place, _ in task.rows for value in uses.keeps.get(place, ())]
    if any("max_pool" in row.name for _, row in task.rows):
        kept = [each if each.real else replace(each, width=1.0) for each in kept]
    sizes = [value.memory for value in kept]
    return DataSum(sum(size.values for size in sizes), sum(size.fixed for size in sizes))


def _hands_on(task: RowGroup, uses: MemoryUses) -> bool:
    """Whether what it writes is made of parameters alone, so that who reads that uses them."""
    return task.kind is RowKind.FUSIBLE and all(
        value.storage in uses.learned for _, row in task.rows for value in row.writes
    )


@dataclass(frozen=True, slots=True)
class DataSum:
    """Sizes added up."""

    values: float
    fixed: float

    def over(self, samples: int) -> Size:
        """For each of the samples."""
        return Size(values=self.values / samples, fixed=self.fixed / samples)


def total(values: Iterable[Iterable[TracedTensor]]) -> DataSum:
    """How much data some tensors are."""
    sizes = [value.size for each in values for value in each]
    return DataSum(sum(size.values for size in sizes), sum(size.fixed for size in sizes))


def _added(*sizes: Size) -> Size:
    return Size(values=sum(size.values for size in sizes), fixed=sum(size.fixed for size in sizes))


def _fused(name: str, task: RowGroup, facts: RowFacts, *, uses: MemoryUses) -> Operator:
    """One kernel for all rows of a task.

    Backward it reads the gradients of what it wrote and, if it kept anything, what it read; it
    writes the gradients of what it read.
    """
    inside: dict[int, TracedTensor] = {}
    outside: dict[int, TracedTensor] = {}
    for _, row in task.rows:
        for value in row.reads:
            if value.storage not in inside:
                outside.setdefault(value.storage, value)
        inside.update({value.storage: value for value in row.writes})
    end = task.rows[-1][0]
    needed = [value for storage, value in inside.items() if uses.last.get(storage, end + 1) > end]
    written = needed or list(inside.values())[-1:]
    read = [value for value in outside.values() if value.storage not in uses.learned]
    there, out = total([read]).over(facts.samples), total([written]).over(facts.samples)
    back = Size()
    if any(row.returned is not None for _, row in task.rows):
        real = total([[value for value in read if value.real]]).over(facts.samples)
        again = real if facts.kept != Size() else Size()
        back = _added(total([[v for v in written if v.real]]).over(facts.samples), again, real)
    return Operator(
        name=name,
        weights=facts.weights,
        trained=None if facts.trained == facts.weights else facts.trained,
        forward=_added(there, out),
        backward=back,
        kept=facts.kept,
        family=KernelFamily.FUSIBLE if facts.pictures else KernelFamily.GENERAL,
    )


def _norm(name: str, row: TraceRow, facts: RowFacts) -> Operator:
    """Statistics first, so that pictures are read twice; a token stays where it is."""
    values = row.reads[0].elements / facts.samples
    there, back = (3, 5) if facts.pictures else (2, 3)
    return Operator(
        name=name,
        weights=facts.weights,
        trained=None if facts.trained == facts.weights else facts.trained,
        forward=Size(values=there * values),
        backward=Size(values=back * values * (row.returned is not None)),
        kept=facts.kept,
        family=KernelFamily.NORM if facts.pictures else KernelFamily.GENERAL,
    )


def _moving(name: str, row: TraceRow, facts: RowFacts) -> Operator:
    """A kernel that reads and writes; of a table of parameters it reads what it writes."""
    pairs = zip(row.reads, facts.learned, strict=True)
    read = total([[value for value, learned in pairs if not learned]]).over(facts.samples)
    written = total([row.writes]).over(facts.samples)
    looked_up = written if any(facts.learned) else Size()
    return Operator(
        name=name,
        weights=facts.weights,
        trained=None if facts.trained == facts.weights else facts.trained,
        forward=_added(read, looked_up, written),
        backward=_back(row, facts, written),
        kept=facts.kept,
        family=KernelFamily.PICTURE if facts.pictures else KernelFamily.GENERAL,
    )


def _back(row: TraceRow, facts: RowFacts, written: Size) -> Size:
    """What the backward pass of a kernel moved; of a table, the rows that have a gradient."""
    if row.returned is None:
        return Size()
    if any(facts.learned):
        return _added(written, written, written)
    return Size(
        values=row.returned.values / facts.samples, fixed=row.returned.fixed / facts.samples
    )


def _attention(name: str, row: TraceRow, facts: RowFacts) -> list[Operator]:
    """Attention with either kernel; what both keep stands beside them.

    The fused kernel keeps a sum of every row by itself: what was seen to be kept in fp32 is that.
    """
    queries, keys, values = row.reads[:3]
    batch = prod(queries.shape[:-3])
    heads, tokens, width = queries.shape[-3:]
    seen = _pairs(
        tokens,
        keys.shape[-2],
        causal=bool(row.number("causal")),
        window=int(row.number("window")),
    )
    each = batch / facts.samples
    shape = Core(
        queries=tokens,
        keys=keys.shape[-2],
        heads=max(1, round(heads * each)),
        kv_heads=max(1, round(keys.shape[-3] * each)),
        key_width=width,
        value_width=values.shape[-1],
        pairs=seen,
        dropout=bool(row.number("dropout")),
        prefix=f"{name} ",
    )
    beside = Operator(
        name=f"{name} queries, keys, values",
        weights=facts.weights,
        trained=None if facts.trained == facts.weights else facts.trained,
        kernels=0,
        kept=Size(values=facts.kept.values),
    )
    found = [beside, *core(shape)]
    if row.returned is None:
        found = [replace(it, backward=Size(), backward_flop=0.0, kept=Size()) for it in found]
    return found


def _pairs(queries: int, keys: int, *, causal: bool, window: int) -> float:
    """Pairs of a query and a key that no mask hides."""
    if not causal:
        return float(queries * min(keys, window or keys))
    width = min(window or keys, keys)
    return width * queries - width * width / 2
