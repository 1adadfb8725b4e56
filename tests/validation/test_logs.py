"""Random logs beside schedulers of ten lines, and those schedulers beside cases by hand."""

from random import Random

import pytest
from validation.logs.__main__ import LOGS, SEED, differences
from validation.logs.by_hand import SCHEDULERS, Task
from validation.logs.drawn import drawn

SOME = 100
"""Of the logs; `python -m validation.logs` reads all of them."""


def test_jobs_of_logs_begin_and_end_as_ten_lines_have_it(tmp_path):
    wrong = [
        (place, found)
        for place in Random(7).sample(range(LOGS), SOME)
        for found in differences(drawn(Random(SEED * LOGS + place)), tmp_path)
    ]
    assert not wrong


def test_logs_that_are_drawn_have_what_real_ones_have():
    logs = [drawn(Random(place)) for place in range(60)]
    arrivals = [[task.arrival for task in log.tasks] for log in logs]
    assert {log.form for log in logs} == {"sacct", "swf", "csv", "tiresias"}
    assert sum(len({*each}) < len(each) for each in arrivals) > 30
    assert any(each[len(each) // 2] - each[0] > 10 * (each[-1] - each[len(each) // 2])
               for each in arrivals)  # fmt: skip
    assert any(log.odd for log in logs)
    assert any(len(log.counted) < len(log.tasks) for log in logs)
    assert any(list(log.lines) != sorted(log.lines) for log in logs)
    assert max(task.devices for log in logs for task in log.tasks) > 4


def starts(policy, devices, *rows):
    return SCHEDULERS[policy]([Task(*row) for row in rows], devices)[0]


@pytest.mark.parametrize(
    ("devices", "rows", "expected"),
    [
        (8, ((0, 4, 100), (1, 6, 100), (2, 4, 90), (3, 2, 300)), [0, 100, 200, 200]),
        (8, ((0, 5, 100), (1, 8, 50), (2, 2, 150), (3, 3, 90)), [0, 100, 150, 150]),
        (4, ((0, 2, 100), (0, 3, 100), (0, 2, 100), (0, 1, 200)), [0, 100, 200, 200]),
    ],
)
def test_first_come_first_served_by_hand(devices, rows, expected):
    assert starts("fifo", devices, *rows) == expected


def test_the_shortest_job_first_by_hand():
    assert starts("sjf", 1, (0, 1, 9), (1, 1, 5), (2, 1, 3), (3, 1, 3)) == [0, 15, 9, 12]
    assert starts("sjf", 3, (0, 2, 9), (1, 2, 5), (2, 1, 6)) == [0, 9, 2]


def test_the_least_attained_service_by_hand():
    # The first falls after an hour, in which it shares with nobody; the second then stops it.
    rows = [Task(0, 1, 5_000), Task(10, 1, 100), Task(20, 1, 100)]
    assert SCHEDULERS["las"](rows, 1) == ([0, 3_600, 3_700], [5_200, 3_700, 3_800])
    # Nobody is stopped for a job of the same queue, even for one that came before.
    late = [Task(0, 3, 60), Task(1, 4, 60), Task(2, 1, 300)]
    assert SCHEDULERS["las"](late, 4) == ([0, 302, 2], [60, 362, 302])
