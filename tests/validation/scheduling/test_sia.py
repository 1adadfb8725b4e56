"""Sia's checks: drawn rounds, and jobs on several kinds."""

from validation.scheduling.sia import MIXED, PEAK, on_kinds, rounds, short

from foretrain.jobs.policies.choice import most_gained


def test_no_drawn_round_gains_less_than_the_integer_program():
    assert short() < 1e-9


def test_drawn_rounds_have_more_jobs_than_fit():
    scarce = [None in most_gained(jobs, rooms)[0] for jobs, rooms in rounds(60)]
    assert any(scarce)


def test_a_job_is_as_much_quicker_as_the_peak_of_its_kind_is_higher():
    curve = on_kinds("cifar10")
    slow, quick = (curve.rate(4, nodes=1, kind=kind, done=0.0) for kind in ("t4", "a100"))
    assert quick / slow == PEAK["a100"] / PEAK["t4"]
    assert {nodes.kind for nodes in MIXED.nodes} == {*PEAK}
