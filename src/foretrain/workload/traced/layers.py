"""A trace becomes a model: layers that a pipeline may be cut between, equal neighbours folded.

What runs before the first layer stands in front, what runs after the last one behind; what runs
between two layers belongs to the second of them.

Chains of a network: which of its modules are layers that follow one another.

What a `Sequential` or a `ModuleList` holds are layers where each reads what the one before it made;
experts and branches, which all read the same, are not. A chain inside a layer counts only where it
is longer than the chain that the layer belongs to: stages hold blocks, and blocks hold few parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Final

from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator
from foretrain.workload.totals import SPREAD
from foretrain.workload.traced.operators import MemoryUses, made, tasks
from foretrain.workload.traced.products import CONVOLUTIONS
from foretrain.workload.traced.trace import (
    ModelTrace,
    RowKind,
    TracedTensor,
    TraceRow,
    is_suspicious,
    kind_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRows:
    """The rows of a module.

    Attributes:
        first: position of the first one.
        last: position of the last one.
    """

    first: int
    last: int


def layers_of(trace: ModelTrace) -> frozenset[str]:
    """The modules that are layers, by their paths; empty for a network without a chain."""
    # Where each module ran; those that did not are left out.
    spans: dict[str, ModuleRows] = {}
    for position, row in enumerate(trace.rows):
        for path in ("", *_upwards(row.module)):
            first = spans[path].first if path in spans else position
            spans[path] = ModuleRows(first=first, last=position)
    for plain in (False, True):
        chains = {
            path: found
            for path in trace.parts
            if (found := _chain(trace, path, spans, plain=plain))
        }
        if chains:
            tops = [path for path in chains if not _inside(path, chains)]
            return frozenset(member for path in tops for member in _members(path, chains, trace))
    return frozenset()


def member_of(module: str, members: frozenset[str]) -> str:
    """The layer that a module belongs to; empty for none."""
    return next((path for path in _upwards(module) if path in members), "")


def _upwards(module: str) -> Iterator[str]:
    """A path, and those of all modules around it, outermost first."""
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _chain(
    trace: ModelTrace, path: str, spans: Mapping[str, ModuleRows], *, plain: bool
) -> tuple[str, ...]:
    """The members of a chain that ran, one after the other; empty where it is no chain.

    Args:
        trace: of the network.
        path: of the module.
        spans: where modules ran.
        plain: whether a chain of nothing but leaves (a convolution, a ReLU) counts.
    """
    part = trace.parts[path]
    below = [f"{path}.{name}" if path else name for name in part.children]
    ran = sorted((each for each in below if each in spans), key=lambda each: spans[each].first)
    deep = any(trace.parts[each].children for each in ran if each in trace.parts)
    if not part.chain or len(ran) < 2 or not (deep or plain):
        return ()
    pairs = pairwise(ran)
    linked = all(_follows(trace, spans[one], spans[other]) for one, other in pairs)
    return tuple(ran) if linked else ()


def _follows(trace: ModelTrace, one: ModuleRows, other: ModuleRows) -> bool:
    """Whether what runs in one span reads, perhaps by way of others, what another one made."""
    if other.first <= one.last:
        return False
    made: set[int] = set()
    for position in range(one.first, other.last + 1):
        row = trace.rows[position]
        touched = not made.isdisjoint(value.storage for value in row.reads)
        if touched and position >= other.first:
            return True
        if touched or position <= one.last:
            made.update(value.storage for value in row.writes)
    return False


def _inside(path: str, chains: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a module is, or stands inside, a member of a chain."""
    return any(
        member == path or path.startswith(f"{member}.")
        for members in chains.values()
        for member in members
    )


def _members(path: str, chains: Mapping[str, tuple[str, ...]], trace: ModelTrace) -> Iterator[str]:
    """The layers of a chain, those of longer chains inside its members in their place."""
    members = chains[path]
    nested = {member: _next(member, chains) for member in members}
    longest = max((len(chains[each]) for found in nested.values() for each in found), default=0)
    for member in members:
        is_chain = member in chains
        if nested[member] and (is_chain or longest > len(members)):
            for each in nested[member]:
                yield from _members(each, chains, trace)
        else:
            yield member


def _next(member: str, chains: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The outermost chains at or inside a member."""
    within = [each for each in chains if each == member or each.startswith(f"{member}.")]
    inner = {each: chains[each] for each in within}
    return [
        each for each in within if not _inside(each, {k: v for k, v in inner.items() if k != each})
    ]


NEGLIGIBLE: Final = 0.01
"""Share of all bytes that is far below what any prediction errs by."""

MOST_TOLD: Final = 8
"""Unknown operators that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSegment:
    """Rows that become one layer.

    Attributes:
        name: of the layer.
        path: of its module; empty for what stands around the layers.
        rows: with their positions in the trace.
    """

    name: str
    path: str
    rows: tuple[tuple[int, TraceRow], ...]


def model_of_trace(trace: ModelTrace, *, tokens: int | None = None, source: str = "") -> Model:
    """The model that a trace shows.

    Args:
        trace: one forward pass.
        tokens: tokens of one of its samples; None for a network of images or of numbers.
        source: where the network comes from.
    """
    windows = [row.reads[1].shape[2:] for row in trace.rows if row.name in CONVOLUTIONS]
    queries = [row.reads[0].shape[-2] for row in trace.rows if kind_of(row) is RowKind.ATTENTION]
    pictures = not tokens and len(windows) > len(queries)
    if queries and not pictures:
        tokens = tokens or Counter(queries).most_common(1)[0][0]
    dimensions = max(map(len, windows)) if pictures else 0
    layers, tied = _layers(trace, uses_of(trace, dimensions=dimensions))
    told, spread = _unknown(trace)
    return Model(
        name=trace.name,
        layers=tuple(_folded(layers)),
        tokens=tokens or 1,
        tied=tied,
        source=source,
        spread=spread,
        known_by="operators some of which nobody knows" if spread > 1 else "",
        assumed=(*trace.remarks, *told),
        dimensions=dimensions,
    )


def uses_of(trace: ModelTrace, *, dimensions: int) -> MemoryUses:
    """Who uses which memory."""
    last: dict[int, int] = {}
    wrote: dict[int, int] = {}
    fed = {*trace.inputs, *trace.owners}
    learned = {storage: frozenset({storage}) for storage in trace.owners}
    for position, row in enumerate(trace.rows):
        read = {value.storage for value in row.reads}
        written = {value.storage for value in row.writes}
        last.update(dict.fromkeys(read, position))
        wrote.update(dict.fromkeys(() if row.view else written, position))
        if not fed.isdisjoint(read):
            fed |= written
        origins = [learned.get(storage) for storage in read]
        if origins and all(origins) and kind_of(row) is RowKind.FUSIBLE:
            whole = frozenset[int]().union(*(each for each in origins if each))
            learned.update(dict.fromkeys(written, whole))
    keeps: dict[int, tuple[TracedTensor, ...]] = {}
    for storage, (position, value) in _keepers(trace).items():
        if storage not in learned:
            keeper = _busy(trace, position if storage in fed else wrote.get(storage, position))
            keeps[keeper] = (*keeps.get(keeper, ()), value)
    return MemoryUses(last=last, learned=learned, fed=fed, keeps=keeps, dimensions=dimensions)


def _busy(trace: ModelTrace, position: int) -> int:
    """The first row from a position on that does more than look at memory."""
    ahead = range(position, len(trace.rows))
    return next((at for at in ahead if kind_of(trace.rows[at]) is not RowKind.FREE), position)


def _keepers(trace: ModelTrace) -> dict[int, tuple[int, TracedTensor]]:
    """The row that keeps each storage: the first that reads it, otherwise the one that wrote it.

    What is kept several times is kept once. Parameters are no part of it; what is made of neither
    samples nor parameters (cosines of positions) serves all layers, so its writer keeps it.
    """
    found: dict[int, tuple[int, TracedTensor]] = {}
    reader: set[int] = set()
    for position, row in enumerate(trace.rows):
        read = {value.storage for value in row.reads} if row.kept else set()
        for value in row.kept:
            reads = value.storage in read
            if value.storage not in found or (reads and value.storage not in reader):
                found[value.storage] = (position, value)
            reader |= {value.storage} if reads else set()
    return found


def _segments(trace: ModelTrace) -> list[TraceSegment]:
    """What becomes a layer each, in order; empty ones are left out."""
    members = layers_of(trace)
    told = [(member_of(row.module, members), place, row) for place, row in enumerate(trace.rows)]
    if not any(name for name, _, _ in told):
        return [TraceSegment(name="model", path="model", rows=tuple(enumerate(trace.rows)))]
    found: list[TraceSegment] = []
    between: tuple[tuple[int, TraceRow], ...] = ()
    for name, group in groupby(told, lambda each: each[0]):
        rows = tuple((place, row) for _, place, row in group)
        if name:
            found.append(TraceSegment(name=name, path=name, rows=(*between, *rows)))
            between = ()
        elif not found:
            found.append(TraceSegment(name="front", path="", rows=rows))
        else:
            between = rows
    if between:
        found.append(TraceSegment(name="end", path="", rows=between))
    return found


def _layers(trace: ModelTrace, uses: MemoryUses) -> tuple[list[Layer], float]:
    """The layers, and the parameters that the last one shares with the first."""
    segments = _segments(trace)
    edges = _edges(trace, segments, uses)
    taken: set[int] = set()
    of_first: frozenset[int] = frozenset()
    layers: list[Layer] = []
    tied = 0.0
    for place, segment in enumerate(segments):
        ends = place == len(segments) - 1 and place > 0
        # What the first layer has, the last one has again: that is what `tied` means.
        mine = taken - of_first if ends else taken
        operators = _operators(segment, trace=trace, uses=uses, taken=mine)
        if ends:
            again = mine & of_first
            tied = sum(each.count for storage in again for each in trace.owners[storage])
            taken |= mine
        if place == 0:
            of_first = frozenset(taken)
        layers.append(
            Layer(
                name=segment.name,
                operators=operators,
                input=edges[place],
                output=edges[place + 1],
                cuttable=bool(segment.path),
                recomputable=bool(segment.path),
            )
        )
    return _with_unread(layers, trace, taken), tied


def _operators(
    segment: TraceSegment, *, trace: ModelTrace, uses: MemoryUses, taken: set[int]
) -> tuple[Operator, ...]:
    """The operators of a segment, whose names tell them apart."""
    names: Counter[str] = Counter()
    found: list[Operator] = []
    for task in tasks(trace, segment.rows):
        inside = task.place == segment.path or task.place.startswith(f"{segment.path}.")
        place = task.place[len(segment.path) :].lstrip(".") if inside else task.place
        does = list(dict.fromkeys(row.name.partition(".")[2] for _, row in task.rows))
        told = "+".join(does) if len(does) <= 3 else f"{does[0]}+...+{does[-1]}"
        name = f"{place} {told}".strip()
        names[name] += 1
        unique = name if names[name] == 1 else f"{name} {names[name]}"
        found += made(task, unique, trace=trace, uses=uses, taken=taken)
    return tuple(found)


def _edges(trace: ModelTrace, segments: Sequence[TraceSegment], uses: MemoryUses) -> list[float]:
    """Values of one sample before, between and behind the segments.

    What was made of samples or parameters and is read further on; constants, such as the cosines of
    positions, are made anew on every stage.
    """
    made: dict[int, float] = {}
    samples = [v for r in trace.rows for v in r.reads if v.storage in trace.inputs and v.real]
    first = sum({value.storage: value.elements for value in samples}.values())
    found = [first / trace.samples]
    for segment in segments[:-1]:
        for _, row in segment.rows:
            for value in () if row.view else row.writes:
                if value.real and value.storage in uses.fed and value.storage not in trace.owners:
                    made[value.storage] = max(made.get(value.storage, 0.0), value.elements)
        end = segment.rows[-1][0] if segment.rows else -1
        alive = (size for storage, size in made.items() if uses.last.get(storage, -1) > end)
        found.append(sum(alive) / trace.samples)
    return [*found, 0.0]


def _with_unread(layers: list[Layer], trace: ModelTrace, taken: set[int]) -> list[Layer]:
    """With parameters that no row reads: they fill memory all the same."""
    idle = [each for each in trace.parameters if each.storage not in taken]
    if not idle:
        return layers
    there = Operator(
        name="parameters that nothing reads",
        weights=sum(each.count for each in idle),
        trained=sum(each.count for each in idle if each.trained),
        kernels=0,
    )
    *before, end = layers
    return [*before, replace(end, operators=(*end.operators, there))]


def _folded(layers: Iterable[Layer]) -> Iterator[Layer]:
    """Equal neighbours as one layer that repeats; layers without operators are left out."""
    kept = (layer for layer in layers if layer.operators)
    for _, group in groupby(kept, lambda layer: replace(layer, name="")):
        same = list(group)
        yield replace(same[0], repeats=len(same))


def _unknown(trace: ModelTrace) -> tuple[tuple[str, ...], float]:
    """What is told of operators that nobody knows, and how much wider the interval is for them.

    The share of all bytes that they move bounds what is wrong if they do no more than that; one
    that may compute makes the model as vague as one that is known by its totals.
    """
    moved = {position: _bytes(row) for position, row in enumerate(trace.rows) if not row.view}
    unknown = [(position, row) for position, row in enumerate(trace.rows)
               if kind_of(row) is RowKind.UNKNOWN]  # fmt: skip
    if not unknown:
        return (), 1.0
    names = Counter(row.name for _, row in unknown)
    listed = ", ".join(f"{name} ({count})" for name, count in names.most_common(MOST_TOLD))
    more = f" and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else ""
    share = sum(moved[position] for position, _ in unknown) / (sum(moved.values()) or 1.0)
    told = [
        f"that {sum(names.values())} operators that foretrain does not know only move memory: "
        f"{listed}{more}; that is {share:.2g} of all bytes moved"
    ]
    computing = Counter(row.name for _, row in unknown if is_suspicious(row))
    if computing:
        told.append(
            f"no FLOP for {', '.join(computing)}, which may be products: times may be too short"
        )
    vague = 1.0 + share if share > NEGLIGIBLE else 1.0
    return tuple(told), SPREAD if computing else vague


def _bytes(row: TraceRow) -> float:
    return sum(value.elements * value.width for value in (*row.reads, *row.writes))
