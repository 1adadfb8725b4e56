"""Rounds: how fast nodes feed each other, from operations that were measured alone.

In a round each of p preprocessors brings one block. With a block of x seconds on a link alone,

    all-gather among w     start + g(w) x      g of a ring is w - 1
    broadcast among w      start + v(w) x      v of a binomial tree is at least log2 w

where start, g and v belong to the communication library, which is why they are measured: gloo's
all-gather of two members takes 1.5 x, its broadcast to two others 2 x.

Done in turn, the parts of a round add up, until the root of a broadcast may go on. With queues
between them the longest one counts, and so do the busiest link and the cores of a node, which
parts that go on at once share: a broadcast and an all-gather through the same node, and decoding
and whatever moves the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from math import inf

from foretrain.errors import InputError, MissingCoefficient


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A collective among so many members, measured while nothing else goes on.

    A factor is the seconds of a large one over those that one member's bytes take on a link alone.

    Attributes:
        start: seconds with next to no bytes.
        alone: factor until everybody has it, all members having begun together.
        root: factor until the root of a broadcast has sent everything.
        streamed: factor of each of many in a row; the next may begin while one ends.
        cores: that each member keeps busy during many in a row.
    """

    start: float
    alone: float
    root: float
    streamed: float
    cores: float = 0.0

    def __post_init__(self) -> None:
        if not all(each >= 0 for each in astuple(self)):
            raise InputError(
                f"seconds, factors and cores of an operation are at least 0, got {self}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured between idle nodes.

    Attributes:
        bandwidth: bytes per second of a node's link in one direction.
        buffered: bytes that have not left yet when a root may go on.
        gather: all-gathers, by the number of members.
        broadcast: broadcasts, by the number of members.
    """

    bandwidth: float
    buffered: float
    gather: Mapping[int, Operation]
    broadcast: Mapping[int, Operation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Nodes that share the work.

    Attributes:
        mode: "duplicate", "all-shared", "single-broadcast" or "multi-broadcast".
        nodes: how many get every block.
        preprocessors: how many of them decode.
        batch: samples of a block.
        block_bytes: bytes of a block.
        decode_rate: samples per second that one preprocessor decodes, r_p of pittman2018.
        decode_cores: that a preprocessor keeps busy while it decodes at that rate.
        cores: of each node.
        queued: whether queues let the parts of a round overlap.
    """

    mode: str
    nodes: int
    preprocessors: int
    batch: int
    block_bytes: float
    decode_rate: float
    decode_cores: float = 0.0
    cores: float = inf
    queued: bool

    def __post_init__(self) -> None:
        if not (self.cores > 0 and self.decode_cores >= 0):
            raise InputError(
                "Sharing.cores must be above 0 and Sharing.decode_cores at least 0, got "
                f"{self.cores} and {self.decode_cores}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Seconds of the parts of a round; those that a mode lacks are 0.

    Attributes:
        decode: one block at each preprocessor.
        gather: among the preprocessors.
        broadcast: to the others; in turn, until the root may go on. Several at once count as one.
        streamed: of each broadcast where one follows the other without a pause.
        link: the bytes of the busiest link, in the direction that has more.
        processor: what the cores of the busiest node have to do.
        samples: that every node gets in a round.
        queued: whether the parts overlap.
    """

    decode: float
    gather: float = 0.0
    broadcast: float = 0.0
    streamed: float = 0.0
    link: float = 0.0
    processor: float = 0.0
    samples: int
    queued: bool

    @property
    def seconds(self) -> float:
        """From one round to the next."""
        if self.queued:
            return max(self.decode, self.gather, self.streamed, self.link, self.processor)
        return max(self.decode + self.gather + self.broadcast, self.streamed)

    @property
    def rate(self) -> float:
        """Samples per second that every node gets, peak(n) of pittman2018."""
        return self.samples / self.seconds


def predicted_round(sharing: Sharing, measured: Measured) -> Round:
    """The parts of a round between nodes that do nothing else.

    Assumes nodes and links that are all alike, and both directions at full rate.

    Raises:
        MissingCoefficient: an operation of that many members was not measured.
    """
    if sharing.mode not in _ROUNDS:
        raise InputError(f"unknown mode '{sharing.mode}'. Known: {', '.join(_ROUNDS)}.")
    return _ROUNDS[sharing.mode](sharing, measured)


def _duplicate(sharing: Sharing, measured: Measured) -> Round:
    return Round(
        decode=_decode(sharing),
        processor=_processor(sharing),
        samples=sharing.batch,
        queued=sharing.queued,
    )


def _all_shared(sharing: Sharing, measured: Measured) -> Round:
    block = sharing.block_bytes / measured.bandwidth
    return Round(
        decode=_decode(sharing),
        gather=_gather(sharing, measured, block),
        link=(sharing.nodes - 1) * block,
        processor=_processor(sharing, (_all_gather(sharing, measured), block)),
        samples=sharing.nodes * sharing.batch,
        queued=sharing.queued,
    )


def _single_broadcast(sharing: Sharing, measured: Measured) -> Round:
    """The last preprocessor is a member of both groups: its link carries both."""
    count, block = sharing.preprocessors, sharing.block_bytes / measured.bandwidth
    members = sharing.nodes - count + 1
    sends = (members - 1).bit_length()
    found, sent = _broadcast(members, measured), count * block
    return Round(
        decode=_decode(sharing),
        gather=_gather(sharing, measured, block),
        broadcast=found.start
        + max(0.0, found.root * sent - measured.buffered / measured.bandwidth),
        streamed=found.start + found.streamed * sent,
        link=(count - 1 + sends * count) * block,
        processor=_processor(sharing, (_all_gather(sharing, measured), block), (found, sent)),
        samples=count * sharing.batch,
        queued=sharing.queued,
    )


def _multi_broadcast(sharing: Sharing, measured: Measured) -> Round:
    """In turn, every preprocessor decodes and sends while all others wait."""
    count, block = sharing.preprocessors, sharing.block_bytes / measured.bandwidth
    turns = 1 if sharing.queued else count
    found = _broadcast(sharing.nodes, measured)
    return Round(
        decode=turns * _decode(sharing),
        broadcast=turns * (found.start + found.alone * block),
        streamed=found.start + found.streamed * block,
        link=max(sends_of_trees(sharing.nodes, count)) * block,
        processor=_processor(sharing, (found, count * block)),
        samples=count * sharing.batch,
        queued=sharing.queued,
    )


_NOTHING = Operation(start=0.0, alone=0.0, root=0.0, streamed=0.0)

_ROUNDS = {
    "duplicate": _duplicate,
    "all-shared": _all_shared,
    "single-broadcast": _single_broadcast,
    "multi-broadcast": _multi_broadcast,
}


def sends_of_trees(nodes: int, roots: int) -> list[int]:
    """How often each node sends a block if nodes 0 to roots - 1 broadcast one each.

    A binomial tree: in step i every node below 2^i, counted from the root, sends to the one that
    is 2^i further.
    """
    sends = [0] * nodes
    for root in range(roots):
        for place in range(1, nodes):
            parent = place - (1 << (place.bit_length() - 1))
            sends[(root + parent) % nodes] += 1
    return sends


def _decode(sharing: Sharing) -> float:
    return sharing.batch / sharing.decode_rate


def _processor(sharing: Sharing, *moved: tuple[Operation, float]) -> float:
    """Seconds of a node's cores: decoding, and operations with the seconds of their bytes."""
    moving = sum(each.cores * each.streamed * seconds for each, seconds in moved)
    return (sharing.decode_cores * _decode(sharing) + moving) / sharing.cores


def _gather(sharing: Sharing, measured: Measured, block: float) -> float:
    found = _all_gather(sharing, measured)
    return found.start + (found.streamed if sharing.queued else found.alone) * block


def _all_gather(sharing: Sharing, measured: Measured) -> Operation:
    if sharing.preprocessors == 1:
        return _NOTHING
    return _of(measured.gather, sharing.preprocessors, "all-gather")


def _broadcast(members: int, measured: Measured) -> Operation:
    return _NOTHING if members == 1 else _of(measured.broadcast, members, "broadcast")


def _of(operations: Mapping[int, Operation], members: int, name: str) -> Operation:
    if members not in operations:
        raise MissingCoefficient(
            f"no {name} of {members} members was measured. Measured: "
            f"{', '.join(map(str, operations)) or 'none'} members. Measure it between idle nodes."
        )
    return operations[members]
