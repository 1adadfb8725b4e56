"""Programs whose allocations were recorded, beside what is predicted of them."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import validation.allocated
from hypothesis import given
from hypothesis import strategies as st
from validation.allocated import comparing
from validation.allocated.comparing import GIB, Beside, total
from validation.allocated.holding import MIB, Allocator
from validation.allocated.predicting import predicted
from validation.allocated.programs import MISSED, PROGRAMS

RECORDED = tomllib.loads(
    Path(validation.allocated.__file__).with_name("recorded.toml").read_text("utf-8")
)


def besides(program):
    stages = RECORDED[program.name]["stages"]
    return [
        Beside(allocated=there, predicted=told)
        for there, told in zip(stages, predicted(program), strict=True)
    ]


def test_sixty_programs_and_more_are_recorded_under_names_of_their_own():
    assert {each.name for each in PROGRAMS} == set(RECORDED)
    assert len(PROGRAMS) == len(RECORDED) >= 60


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_components_are_those_that_pytorch_allocates(program):
    off = any(beside.wrong for beside in besides(program))
    assert off == (program.name in MISSED)


def test_most_programs_keep_every_limit():
    assert len(MISSED) <= len(PROGRAMS) / 10


@pytest.mark.parametrize("name", comparing.COMPONENTS)
def test_a_component_that_is_half_a_gibibyte_off_is_seen(name):
    there = dict.fromkeys(comparing.COMPONENTS, 4 * GIB)
    less = there | {name: there[name] - GIB / 2}
    assert Beside(allocated=there, predicted=[there]).wrong == ()
    assert Beside(allocated=there, predicted=[less]).wrong == (name,)


def test_a_total_that_is_a_tenth_off_is_seen():
    there = dict.fromkeys(comparing.COMPONENTS, GIB / 8)
    more = {name: 1.1 * size for name, size in there.items()}
    assert Beside(allocated=there, predicted=[more]).wrong == ("total",)


def test_the_nearest_of_moments_that_come_near_the_fullest_counts():
    there = dict.fromkeys(comparing.COMPONENTS, 4 * GIB)
    other = there | {"gradients": 5 * GIB, "activations": 3 * GIB}
    assert Beside(allocated=there, predicted=[other, there]).wrong == ()


def test_a_program_with_twice_the_tokens_is_predicted_to_need_more():
    program = PROGRAMS[0]
    twice = predicted(replace(program, micro_batch=2 * program.micro_batch))
    assert total(twice[0][0]) > total(predicted(program)[0][0])


def test_small_blocks_share_a_segment_and_large_ones_have_their_own():
    allocator = Allocator()
    allocator.take(1, 600)
    allocator.take(2, MIB)
    assert allocator.held == 2 * MIB
    allocator.take(3, 5 * MIB)
    allocator.take(4, 5 * MIB)
    assert allocator.held == (2 + 20) * MIB
    allocator.take(5, 11 * MIB)
    assert allocator.held == (2 + 20 + 12) * MIB


def test_a_block_that_came_back_is_handed_out_again():
    allocator = Allocator()
    for _ in range(3):
        allocator.take(1, 100 * MIB)
        allocator.give(1)
    assert allocator.held == 100 * MIB


def test_neighbours_that_are_free_become_one():
    allocator = Allocator()
    for key in (1, 2, 3, 4):
        allocator.take(key, 5 * MIB)
    for key in (2, 4, 3, 1):
        allocator.give(key)
    allocator.take(5, 9 * MIB)
    allocator.take(6, 9 * MIB)
    assert allocator.held == 20 * MIB


def test_a_block_between_two_free_ones_keeps_them_apart():
    allocator = Allocator()
    for key in (1, 2, 3):
        allocator.take(key, 6 * MIB)
    allocator.give(1)
    allocator.give(3)
    allocator.take(4, 9 * MIB)
    assert allocator.held == 40 * MIB


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40 * MIB)), max_size=30))
def test_no_less_is_held_than_is_in_use(asked):
    allocator, used = Allocator(), {}
    for key, size in asked:
        if key in used:
            allocator.give(key)
        allocator.take(key, size)
        used[key] = size
        assert allocator.held >= sum(used.values())
