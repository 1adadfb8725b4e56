"""Modes: every node gets every message whole and in order, whoever sends it; nodes are threads."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.needs import needs

from foretrain.ensemble.nodes.decode import SampleDecoder, SampleOrder, SampleTally
from foretrain.ensemble.nodes.groups import ALIGNMENT, LONGEST, length_of, packed, unpacked
from foretrain.ensemble.nodes.leader import NodeFailed
from foretrain.ensemble.nodes.modes import MODES, NodeSite
from foretrain.errors import InputError

torch = needs("torch")

PATIENCE = 10.0
"""Seconds after which a node that the others wait for is lost."""


@dataclass
class Wire:
    """What the members of a group share."""

    ranks: list
    rows: dict = field(default_factory=dict)
    travelled: list = field(default_factory=list)

    def __post_init__(self):
        self.barrier = Barrier(len(self.ranks), timeout=PATIENCE)


class Channel:
    """A channel's calls, as one member makes them."""

    def __init__(self, wire, rank):
        self.wire, self.leader = wire, SimpleNamespace(rank=rank, device="cpu")

    def gather(self, tensor):
        wire, rank = self.wire, self.leader.rank
        wire.rows[rank] = tensor.clone()
        wire.barrier.wait()
        found = torch.stack([wire.rows[each] for each in wire.ranks])
        if rank == wire.ranks[0]:
            wire.travelled.append(found.numel())
        wire.barrier.wait()
        return found

    def broadcast(self, tensor, *, root):
        wire, rank = self.wire, self.leader.rank
        if rank == root:
            wire.rows[root] = tensor.clone()
            wire.travelled.append(tensor.numel())
        wire.barrier.wait()
        tensor.copy_(wire.rows[root])
        wire.barrier.wait()


def message_of(block, size):
    return packed((block, torch.full((size,), block % 256, dtype=torch.uint8)))


def flown(name, nodes, preprocessors, sizes, queue):
    """What every node has of an epoch whose blocks have so many bytes, and what travelled."""
    mode = MODES[name]
    wires = [Wire(ranks) for ranks in mode.groups(nodes, preprocessors)]

    def at(rank):
        own = mode.own(rank, preprocessors, len(sizes))
        site = NodeSite(
            rank=rank,
            nodes=nodes,
            preprocessors=preprocessors,
            blocks=len(sizes),
            queue=queue,
            channels=[Channel(wire, rank) if rank in wire.ranks else None for wire in wires],
            mine=iter([message_of(block, sizes[block]) for block in own]),
        )
        found = []
        for message in mode.flow(site):
            block, body = unpacked(message)
            assert body.eq(block % 256).all()
            found.append((block, len(body)))
        return found

    with ThreadPoolExecutor(nodes) as pool:
        return list(pool.map(at, range(nodes))), wires


@few(40)
@given(
    name=st.sampled_from(sorted(MODES)),
    nodes=st.integers(1, 4),
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=9),
    queue=st.integers(0, 2),
    data=st.data(),
)
def test_every_node_has_every_block_in_order_whatever_their_lengths(
    name, nodes, sizes, queue, data
):
    chosen = MODES[name].chosen
    preprocessors = data.draw(st.integers(1, nodes)) if chosen else nodes
    found, _ = flown(name, nodes, preprocessors, sizes, queue)
    assert found == [list(enumerate(sizes))] * nodes


@pytest.mark.parametrize("name", ["all-shared", "single-broadcast", "multi-broadcast"])
def test_blocks_that_are_alike_travel_at_once_and_no_further_than_they_are_long(name):
    sizes = [200] * 8
    long = length_of(message_of(0, 200))
    _, wires = flown(name, 4, 2 if name != "all-shared" else 4, sizes, 0)
    for wire in wires:
        rows = {"all-shared": 4, "single-broadcast": 2, "multi-broadcast": 1}[name]
        first, rest, *others = wire.travelled
        assert (first, rest) == (rows * ALIGNMENT, rows * (long - ALIGNMENT))
        assert set(others) <= {rows * long}
        assert sum(wire.travelled) == rows * long * (8 // rows if rows > 1 else 4)


def test_a_short_block_behind_a_long_one_travels_as_far_as_that_and_the_next_no_further():
    sizes = [500, 20, 20]
    lengths = [length_of(message_of(0, size)) for size in sizes]
    _, (wire,) = flown("multi-broadcast", 2, 1, sizes, 0)
    assert wire.travelled == [ALIGNMENT, lengths[0] - ALIGNMENT, lengths[0], lengths[1]]


@pytest.mark.parametrize("nodes", range(1, 7))
def test_groups_hold_who_sends_and_who_receives(nodes):
    everybody = list(range(nodes))
    assert MODES["duplicate"].groups(nodes, nodes) == []
    assert MODES["all-shared"].groups(nodes, nodes) == [everybody]
    for senders in range(1, nodes + 1):
        two = [everybody[:senders], everybody[senders - 1 :]]
        assert MODES["single-broadcast"].groups(nodes, senders) == two
        assert MODES["multi-broadcast"].groups(nodes, senders) == [everybody] * senders
    halves = [MODES[name].preprocessors(nodes) for name in ("single-broadcast", "multi-broadcast")]
    assert halves == [(nodes + 1) // 2] * 2
    assert MODES["all-shared"].preprocessors(nodes) == nodes


def test_no_message_is_longer_than_any_could_be():
    head = torch.zeros(ALIGNMENT, dtype=torch.uint8)
    head[:8] = torch.frombuffer(bytearray(LONGEST.to_bytes(8, "little")), dtype=torch.uint8)
    assert length_of(head) == LONGEST
    head[0] = 1
    with pytest.raises(NodeFailed, match="claims to have"):
        length_of(head)


class Squares(torch.utils.data.Dataset):
    def __init__(self, samples=10, torn=None):
        self.samples, self.torn = samples, torn

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        if number == self.torn:
            raise OSError("torn")
        return number * number


def decoded(dataset, blocks, *, order=None, epoch=0, queue=0):
    order = order or SampleOrder(samples=10, batch_size=3, shuffle=False)
    decoder = SampleDecoder(dataset=dataset, order=order, rank=5)
    found = []
    try:
        for message in decoder.messages(blocks, epoch=epoch, queue=queue):
            ids, batch = unpacked(message)
            found.append((ids.tolist(), batch.tolist()))
    except NodeFailed as error:
        found.append(str(error))
    return found


@pytest.mark.parametrize("queue", [0, 2])
def test_a_node_decodes_its_blocks_up_to_one_that_fails(queue):
    good = [([3, 4, 5], [9, 16, 25]), ([9], [81])]
    assert decoded(Squares(), range(1, 4, 2), queue=queue) == good
    assert decoded(Squares(), range(0)) == []
    *before, told = decoded(Squares(torn=5), range(4), queue=queue)
    assert before == [([0, 1, 2], [0, 1, 4])]
    assert told == "rank 5 could not decode the batch of samples 3, 4, 5: OSError: torn"


def test_of_a_long_block_that_fails_the_first_samples_are_told():
    for samples, some in ((8, "0, 1, 2, 3, 4, 5, 6, 7:"), (9, "0, 1, 2, 3, 4, 5, 6, 7, ...:")):
        order = SampleOrder(samples=samples, batch_size=samples, shuffle=False)
        (told,) = decoded(Squares(samples, torn=1), range(1), order=order)
        assert f"batch of samples {some}" in told


def test_a_data_set_whose_length_changed_is_refused():
    with pytest.raises(InputError, match="has 9 samples now and had 10"):
        decoded(Squares(9), range(1))


def test_a_decoder_decodes_one_epoch_after_the_other_in_its_own_order():
    order = SampleOrder(samples=10, batch_size=3, seed=4)
    decoder = SampleDecoder(dataset=Squares(), order=order, rank=0)
    for epoch in range(3):
        ids = [
            number
            for message in decoder.messages(range(4), epoch=epoch, queue=0)
            for number in unpacked(message)[0].tolist()
        ]
        assert ids == order.ids(epoch).tolist()
        assert sorted(ids) == list(range(10))
    decoder.close()


@pytest.mark.parametrize(("samples", "batch_size", "blocks"), [(1, 1, 1), (9, 3, 3), (10, 3, 4)])
def test_an_epoch_has_as_many_blocks_as_hold_all_samples(samples, batch_size, blocks):
    order = SampleOrder(samples=samples, batch_size=batch_size)
    assert order.blocks == blocks
    ids = order.ids(0)
    cuts = [order.cut(ids, block).tolist() for block in range(blocks)]
    assert [each for cut in cuts for each in cut] == ids.tolist()
    assert all(len(cut) == batch_size for cut in cuts[:-1])
    for wrong in ({"samples": 0}, {"batch_size": 0}):
        with pytest.raises(InputError, match="at least 1"):
            SampleOrder(**{"samples": samples, "batch_size": batch_size, **wrong})


def test_a_tally_is_a_polynomial_of_the_numbers_however_they_are_cut():
    numbers = random.Random(3).sample(range(10**6), 20)
    due = 0
    for number in numbers:
        due = (due * 1_000_003 + number + 1) % (2**61 - 1)
    whole = SampleTally().with_block(torch.tensor(numbers).numpy())
    assert (whole.samples, whole.checksum) == (20, due)
    parts = SampleTally()
    for cut in (numbers[:7], numbers[7:], []):
        parts = parts.with_block(torch.tensor(cut, dtype=torch.int64).numpy())
    assert parts == whole
    assert SampleTally().with_block(torch.tensor(numbers[::-1]).numpy()) != whole


@pytest.mark.parametrize("nodes", range(1, 6))
@pytest.mark.parametrize("blocks", [1, 4, 7])
def test_every_block_is_decoded_once_where_nodes_share_the_work(nodes, blocks):
    for name, mode in MODES.items():
        for senders in range(1, nodes + 1) if mode.chosen else [nodes]:
            owned = [list(mode.own(rank, senders, blocks)) for rank in range(nodes)]
            if name == "duplicate":
                assert owned == [list(range(blocks))] * nodes
            else:
                assert sorted(each for own in owned for each in own) == list(range(blocks))
                assert not any(owned[senders:])
