"""Ladders: bisection finds what a loop finds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import gpt_study, llama_study, mixture

from foretrain.errors import InputError
from foretrain.plan.plan import Recompute
from foretrain.search.ladders import (
    Ladder,
    climb,
    depth_ladders,
    length_ladders,
    micro_batch_ladders,
    step_of,
)


@given(
    start=st.integers(1, 50),
    step=st.integers(1, 9),
    count=st.integers(0, 200),
    last=st.integers(0, 2000),
)
def test_climb_finds_the_last_size_that_fits(start, step, count, last):
    sizes = range(start, start + step * count, step)
    fitting = [size for size in sizes if size <= last]
    assert climb(sizes, lambda size: size <= last) == (fitting[-1] if fitting else None)


def test_climb_tries_twice_as_many_sizes_as_the_answer_has_digits():
    tried = []
    climb(range(1, 2**29), lambda size: tried.append(size) or size <= 1_000_000)
    assert len(tried) <= 2 * 20 + 2


@given(start=st.integers(1, 50), step=st.integers(1, 9), size=st.integers(0, 500))
def test_sizes_above_one_are_all_of_them(start, step, size):
    ladder = Ladder(space=gpt_study().space, sizes=range(start, 400, step))
    assert list(ladder.above(size)) == [each for each in ladder.sizes if each > size]


def test_micro_batches_are_the_divisors_of_the_batch_largest_first():
    study = llama_study()
    ladders = micro_batch_ladders(study.workload, replace(study.space, micro_batch=(1, 4, 5, 9)))
    assert [(each.sizes[0], each.space.micro_batch) for each in ladders] == [
        (9, (9,)),
        (4, (4,)),
        (1, (1,)),
    ]


@pytest.mark.parametrize(("tokens", "step"), [(8192, 1024), (1024, 1024), (512, 512), (600, 8)])
def test_lengths_are_multiples_of_1024_or_of_what_the_own_length_is_a_multiple_of(tokens, step):
    assert step_of(tokens) == step


def test_lengths_are_those_that_tensor_and_context_axis_divide():
    study = llama_study()
    free = replace(study.space, context=(1, 3), tensor=(1, 2, 4))
    ladders = length_ladders(study.workload, free, devices=(12,))
    assert {each.sizes.step: (each.space.tensor, each.space.context) for each in ladders} == {
        512: ((1, 2), (1,)),
        1536: ((1, 2), (3,)),
    }


def test_layers_are_those_that_stages_share():
    study = gpt_study()
    ladders = depth_ladders(study.workload, study.space, devices=(4, 6))
    found = {each.space.pipeline[0]: each.sizes[:2] for each in ladders}
    assert {pipeline: [*sizes] for pipeline, sizes in found.items()} == {
        1: [1, 2],
        2: [2, 4],
        3: [3, 6],
        4: [4, 8],
        6: [6, 12],
    }


def test_layers_that_do_not_grow_stay():
    """While the dense layer may fill a chunk alone, a deeper model may need less."""
    study = gpt_study()
    workload = replace(study.workload, model=mixture())
    space = replace(study.space, interleaving=(1,))
    ladders = depth_ladders(workload, space, devices=(4,))
    assert [[*each.sizes[:2]] for each in ladders] == [[2, 3], [2], [4, 6], [4], [8, 12]]


def test_layers_of_several_kinds_need_a_known_number_of_chunks():
    study = gpt_study()
    workload = replace(study.workload, model=mixture())
    with pytest.raises(InputError, match=r"plan\.interleaving: the layers of small-mixture are of"):
        depth_ladders(workload, study.space, devices=(4,))
    assert depth_ladders(workload, study.space, devices=(1,))


def test_one_stage_has_one_chunk():
    study = gpt_study()
    two = replace(study.space, interleaving=(2,))
    ladders = depth_ladders(study.workload, two, devices=(4,))
    assert [each.space.pipeline for each in ladders] == [(2,), (4,)]


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("plan.cut", {"cut": ((3, 5),)}),
        ("plan.cut", {"cut": ("even", "balanced")}),
        ("plan.recompute_layers", {"recompute": (Recompute.FULL,), "recompute_layers": (0, 2)}),
    ],
)
def test_keys_that_count_layers_are_refused_where_their_number_is_asked(key, changes):
    study = gpt_study()
    with pytest.raises(InputError, match=rf"{key}: the layers to \w+ are to be found"):
        depth_ladders(study.workload, replace(study.space, **changes), devices=(16,))


def test_cuts_that_shift_as_samples_grow_are_refused():
    study = gpt_study()
    with pytest.raises(InputError, match=r"plan\.cut: balanced stages shift"):
        length_ladders(study.workload, replace(study.space, cut=("balanced",)), devices=(16,))
