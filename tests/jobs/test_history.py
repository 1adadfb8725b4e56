"""Histories: what a watch saw, also of partitions that ran one after the other."""

from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.jobs import outcomes
from foretrain.jobs.outcomes import Watch
from foretrain.jobs.run import run


def history(jobs, nodes, policy="fifo"):
    watch = Watch()
    run(jobs, nodes, policy, watch=watch)
    return watch.history(policy, nodes.devices)


def test_a_history_tells_who_held_what_and_who_waited():
    seen = history(rigid_trace((0, 10, 2), (1, 5, 1), (2, 5, 1)), fleet(2))
    assert seen.times == (0.0, 1.0, 2.0, 10.0, 15.0)
    assert seen.busy == (1.0, 1.0, 1.0, 1.0, 0.0)
    assert seen.queue == (0, 1, 2, 0, 0)
    assert [(span.job, span.start, span.end) for span in seen.spans] == [
        ("j000", 0.0, 10.0), ("j001", 10.0, 15.0), ("j002", 10.0, 15.0),
    ]  # fmt: skip


def test_an_interrupted_job_waits_and_has_two_spans():
    seen = history(rigid_trace((0, 10, 1), (4, 2, 1)), fleet(1), "srtf")
    assert seen.times == (0.0, 4.0, 6.0, 12.0)
    assert seen.queue == (0, 1, 0, 0)
    assert [span.job for span in seen.spans] == ["j000", "j001", "j000"]


def test_partitions_are_seen_together():
    nodes = Fleet(nodes=(Nodes(count=2, devices=1),), quota={"x": 1})
    jobs = trace(
        [job(0, work=10.0, group="x"), job(1, work=4.0), job(2, arrival=2.0, work=4.0, group="x")]
    )
    seen = history(jobs, nodes)
    assert seen.times == (0.0, 2.0, 4.0, 10.0, 14.0)
    assert seen.busy == (1.0, 1.0, 0.5, 0.5, 0.0)
    assert seen.queue == (0, 1, 1, 0, 0)


def test_a_history_tells_how_long_those_waited_that_came_in_each_part_of_the_time():
    seen = history(rigid_trace((0, 10, 1), (4, 2, 1), (60, 2, 1)), fleet(1))
    assert seen.came == (0.0, 4.0, 59.0)
    assert seen.waited == (0.0, 6.0, 0.0)
    together = history(rigid_trace((0, 3, 1), (0, 3, 1)), fleet(1))
    assert (together.came, together.waited) == ((0.0,), (1.5,))


def test_whoever_is_interrupted_has_waited_until_it_first_ran():
    seen = history(rigid_trace((0, 10, 1), (4, 2, 1)), fleet(1), "srtf")
    assert sum(seen.waited) == 0.0


def test_spans_are_of_the_jobs_in_a_row_that_came_in_the_shortest_time(monkeypatch):
    monkeypatch.setattr(outcomes, "SPANS", 2)
    seen = history(rigid_trace((0, 1, 1), (9, 1, 1), (10, 1, 1), (20, 1, 1)), fleet(1))
    assert [span.job for span in seen.spans] == ["j001", "j002"]
