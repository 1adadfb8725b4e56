"""Plans: the text that names them."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.plan import Plan, cut_into


def test_listed_cut_writes_equal_chunks_once():
    assert str(Plan(pipeline=4, cut=(1, 2, 2, 1))).endswith(", cut 1-2x2-1")
    assert str(Plan(pipeline=2, cut=(3, 5))).endswith(", cut 3-5")


def test_plans_that_differ_in_their_cut_have_different_names():
    cuts = ["even", "balanced", (3, 5), (5, 3), (4, 4), (1, 2, 2, 3)]
    assert len({str(Plan(cut=cut)) for cut in cuts}) == len(cuts)


@pytest.mark.parametrize("cut", [(), (0,), (0, 3), (2, -1), (0, -1, 4, 2), (1, 0, 3, 2)])
def test_a_listed_cut_has_a_layer_in_every_chunk(cut):
    with pytest.raises(InputError, match=r"Plan\.cut must list at least 1 layer per chunk"):
        Plan(pipeline=2, cut=cut)


@pytest.mark.parametrize("grid", [(-1, -2, 1), (2, 2), (3,)])
def test_a_grid_has_as_many_devices_as_the_context_axis_and_one_at_least_in_each_dimension(grid):
    with pytest.raises(InputError, match=r"Plan\.grid must share its 2 devices"):
        Plan(context=2, grid=grid)


@pytest.mark.parametrize("cut", ["even", "remainder", "counted"])
def test_more_chunks_than_any_memory_holds_cannot_be_cut(cut):
    assert cut_into(cut, 32, pipeline=1 << 50, chunks=1 << 60) is None
