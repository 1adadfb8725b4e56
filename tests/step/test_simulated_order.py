import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipelines import stage_times, step_times

from foretrain.errors import InputError
from foretrain.step.schedules.stages import PassSequence
from foretrain.step.simulated_passes import order, passes_of


@st.composite
def passes(draw):
    stages = draw(st.integers(1, 8))
    interleaving = draw(st.integers(1, 4)) if stages > 1 else 1
    groups = draw(st.integers(1, 4))
    plain = draw(st.integers(1, 20))
    micro_batches = stages * groups if interleaving > 1 else plain
    return PassSequence(stages, stages * interleaving, micro_batches)


@given(passes=passes())
def test_every_micro_batch_passes_each_chunk_once_forward_and_once_backward(passes):
    worked = [number for stage in range(passes.stages) for number in order(stage, passes)]
    assert sorted(worked) == list(range(passes.count))


@given(passes=passes())
def test_a_stage_works_on_its_own_chunks_only(passes):
    for stage in range(passes.stages):
        assert {passes.stage(number) for number in order(stage, passes)} == {stage}


@given(passes=passes())
def test_following_the_successors_leads_a_micro_batch_down_and_back(passes):
    for micro_batch in range(passes.micro_batches):
        route, number = [], passes.forward(0, micro_batch)
        while number is not None:
            route.append(number)
            number = passes.successors[number]
        chunks = range(passes.chunks)
        down = [passes.forward(chunk, micro_batch) for chunk in chunks]
        assert route == down + [passes.backward(chunk, micro_batch) for chunk in reversed(chunks)]


def test_first_of_two_stages_warms_up_with_one_forward_pass():
    passes = PassSequence(2, 2, 3)
    f, b = passes.forward, passes.backward
    assert order(0, passes) == [f(0, 0), f(0, 1), b(0, 0), f(0, 2), b(0, 1), b(0, 2)]
    assert order(1, passes) == [f(1, 0), b(1, 0), f(1, 1), b(1, 1), f(1, 2), b(1, 2)]


def test_two_stages_of_two_chunks_take_two_micro_batches_at_a_time():
    passes = PassSequence(2, 4, 4)
    f, b = passes.forward, passes.backward
    warm_up = [f(1, 0), f(1, 1)]
    pairs = [(3, 0, 3, 0), (3, 1, 3, 1), (1, 2, 1, 0), (1, 3, 1, 1), (3, 2, 3, 2), (3, 3, 3, 3)]
    alternating = [n for fc, fm, bc, bm in pairs for n in (f(fc, fm), b(bc, bm))]
    assert order(1, passes) == [*warm_up, *alternating, b(1, 2), b(1, 3)]


def test_interleaving_refuses_micro_batches_that_do_not_come_in_groups():
    times = step_times(*[stage_times(1, 2)] * 4, micro_batches=6, interleaving=2)
    with pytest.raises(InputError, match=r"groups of 4 .* got 6\. Choose a multiple of 4"):
        passes_of(times)
