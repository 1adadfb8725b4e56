"""The collectives of the executor are what they are called, and count what they send."""

import numpy as np
import pytest
from tests.executor import programs

SIZE = 10
"""Values of each member, which four members cannot share evenly."""


def values_of(members):
    return [np.arange(SIZE) + 100.0 * rank for rank in range(members)]


@pytest.mark.parametrize("members", [2, 3, 4])
def test_all_reduce_gives_everybody_the_sum_for_two_rounds_of_all_values(processes, members):
    answers = processes.run(programs.all_reduced, members, values_of(members))
    for each in answers:
        np.testing.assert_array_equal(each.returned, sum(values_of(members)))
    assert sum(each.sent["sums"] for each in answers) == 2 * (members - 1) * SIZE * 8


@pytest.mark.parametrize("members", [2, 3, 4])
def test_all_to_all_gives_member_i_part_i_of_everybody(processes, members):
    answers = processes.run(programs.exchanged, members, members)
    for rank, each in enumerate(answers):
        assert [part.tolist() for part in each.returned] == [
            [10 * k + rank] for k in range(members)
        ]
        assert each.sent == each.received == {"parts": 8 * (members - 1)}


def test_message_larger_than_any_buffer_waits_for_its_reader(processes):
    answers = processes.run(programs.both_send_first, 2, 1_000_000)
    assert [each.returned for each in answers] == [1_000_000, 1_000_000]
    assert [each.sent for each in answers] == [{"much": 8_000_000}] * 2


def test_axes_are_laid_out_innermost_first(processes):
    answers = processes.run(programs.laid_out, 4, {"inner": 2, "outer": 2})
    assert [each.returned for each in answers] == [
        {"inner": (0, 1), "outer": (0, 2)},
        {"inner": (0, 1), "outer": (1, 3)},
        {"inner": (2, 3), "outer": (0, 2)},
        {"inner": (2, 3), "outer": (1, 3)},
    ]


def test_error_of_a_member_is_told_and_the_next_program_finds_others(processes):
    with pytest.raises(AssertionError, match="member 1 has enough"):
        processes.run(programs.raising, 2)
    answers = processes.run(programs.exchanged, 2, 2)
    assert [each.sent for each in answers] == [{"parts": 8}] * 2
