"""Blocks: norms, additions and sums of each arrangement."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.workload.operator import Split
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Arrangement, Block, Run, block_operators, layer
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.mixers import StateSpace
from foretrain.workload.parts.stream import HiddenStates, Norm

HEADS = Heads(heads=4, kv_heads=4, width=16)
WIDE = FeedForward(width=256)
BLOCK = Block(mixer=HEADS, feed_forward=WIDE)
STREAM = HiddenStates(tokens=8, hidden=64, norm=Norm.SCALE, dropout=False)


def operators(arrangement):
    return block_operators(replace(BLOCK, arrangement=arrangement), STREAM)


@pytest.mark.parametrize(
    ("arrangement", "norms", "additions", "forward_sums", "backward_sums"),
    [
        (Arrangement.SERIAL, 2, 2, 2, 2),
        (Arrangement.SANDWICH, 4, 2, 2, 2),
        (Arrangement.PARALLEL, 1, 1, 1, 1),
        (Arrangement.PARALLEL_NORMS, 2, 1, 1, 2),
    ],
)
def test_arrangement_decides_norms_additions_and_sums(
    arrangement, norms, additions, forward_sums, backward_sums
):
    found = operators(arrangement)
    assert sum("norm" in each.name for each in found) == norms
    assert sum("residual" in each.name for each in found) == additions
    sums = [each.split for each in found if each.output]
    assert sums.count(Split.DEPTH) == forward_sums
    assert sums.count(Split.COLUMNS) == backward_sums


def test_parts_side_by_side_keep_one_input():
    inputs = [each for each in operators(Arrangement.PARALLEL) if each.split is Split.COLUMNS]
    assert [each.kept.values for each in inputs] == [8 * 64, 0]


def test_arrangement_changes_no_product():
    flop = {sum(each.flop for each in operators(way)) for way in Arrangement}
    assert len(flop) == 1


def test_blocks_of_one_layer_have_names_of_their_own():
    pair = layer(Run(blocks=(BLOCK, BLOCK), repeats=3), STREAM)
    names = [each.name for each in pair.operators]
    assert len(set(names)) == len(names)
    assert pair.weights == 2 * layer(Run(blocks=(BLOCK,)), STREAM).weights


def test_block_may_mix_tokens_or_work_on_each():
    mixer = Block(mixer=StateSpace(heads=4, width=16, groups=2, state=8))
    for block in (mixer, Block(feed_forward=WIDE)):
        found = block_operators(block, STREAM)
        assert ("norm" in found[0].name, "residual" in found[-1].name) == (True, True)


def test_block_of_nothing_is_refused():
    with pytest.raises(InputError, match="needs a mixer, a feed-forward part, or both"):
        Block()
    with pytest.raises(InputError, match="stand side by side"):
        Block(mixer=HEADS, arrangement=Arrangement.PARALLEL)
    with pytest.raises(InputError, match="needs at least one block"):
        Run(blocks=())
