"""SRTF by a guess: as good as its guesses, and no better informed."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.fifo import estimated, predicted, srtf, srtf_guessed
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import End, Job, Trace
from foretrain.throughput import PowerLaw, rigid


def jobs(*rows):
    """Jobs by (arrival, work, estimate, user)."""
    made = (
        Job(
            name=f"j{place}", arrival=float(arrival), work=float(work), curve=rigid(1), devices=1,
            estimate=estimate, user=user,
        )
        for place, (arrival, work, estimate, user) in enumerate(rows)
    )  # fmt: skip
    return Trace(name="by hand", jobs=tuple(made))


def ended(trace, order, *, devices=1):
    pool = CountedPool(fleet(devices))
    return list(Simulation(trace, pool, OrderedDispatcher(order)).run().ended)


def test_with_true_estimates_it_is_srtf():
    trace = jobs((0, 10, 10.0, ""), (1, 2, 2.0, ""), (2, 5, 5.0, ""))
    assert ended(trace, srtf_guessed(estimated(trace))) == ended(trace, srtf())


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 12)), min_size=2, max_size=8),
    start=st.integers(0, 9),
    restart=st.integers(0, 9),
)
@example(rows=[(0, 10), (1, 10)], start=3, restart=0)
@example(rows=[(0, 9), (1, 2), (2, 9)], start=0, restart=4)
def test_with_true_estimates_it_is_srtf_also_where_starts_and_restarts_take_time(
    rows, start, restart
):
    """Two devices do twice as many units of work as there are seconds."""
    known = jobs(*((arrival, 2 * seconds, float(seconds), "") for arrival, seconds in sorted(rows)))
    twice = {"devices": 2, "curve": PowerLaw(exponent=1.0, most=2)}
    slow = {"start": float(start), "restart": float(restart)}
    trace = replace(known, jobs=tuple(replace(each, **twice, **slow) for each in known.jobs))
    guessed = ended(trace, srtf_guessed(estimated(trace)), devices=2)
    assert guessed == ended(trace, srtf(), devices=2)


def test_a_job_that_is_said_to_be_short_goes_before():
    trace = jobs((0, 10, 10.0, ""), (1, 20, 1.0, ""))
    assert ended(trace, srtf_guessed(estimated(trace))) == [30.0, 21.0]


def test_who_outruns_its_estimate_keeps_running():
    trace = jobs((0, 10, 1.0, ""), (5, 1, 0.5, ""))
    assert ended(trace, srtf_guessed(estimated(trace))) == [10.0, 11.0]


def test_a_job_of_which_nothing_was_said_stands_after_all_of_which_something_was():
    trace = jobs((0, 10, None, ""), (1, 2, 2.0, ""), (2, 5, None, ""), (3, 90, 90.0, ""))
    assert ended(trace, srtf_guessed(estimated(trace))) == [102.0, 3.0, 107.0, 93.0]


def test_a_trace_without_any_estimate_is_told():
    with pytest.raises(InputError, match="no job comes with an estimate"):
        estimated(jobs((0, 1, None, "")))


def test_a_prediction_is_what_jobs_of_the_user_ran_before_they_ended_in_any_way():
    past = jobs((0, 4, None, "a"), (0, 8, None, "a"), (0, 100, None, "b"))
    killed = replace(past.jobs[2], end=End.KILLED, ends_after=30.0)
    guess = predicted(replace(past, jobs=(*past.jobs[:2], killed)))
    a, b, stranger = jobs((0, 1, None, "a"), (0, 1, None, "b"), (0, 1, None, "c")).jobs
    assert (guess(a), guess(b), guess(stranger)) == (6.0, 30.0, 14.0)
