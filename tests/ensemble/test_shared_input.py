"""An ensemble as a job of a cluster: plan, curve, queue and input, as the example asks for them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from foretrain.errors import InputError, NoPlanFits
from foretrain.jobs.case import curve_of
from foretrain.jobs.report import simulate_report
from foretrain.jobs.simulate import simulate
from foretrain.show.document import document, provenance
from foretrain.show.terminal import drawn, page
from foretrain.study.queue_study import read_queue_study

EXAMPLE = Path(__file__).parents[2] / "examples" / "queue-with-ensemble.toml"


def shortened(study):
    """The same models on fewer numbers of devices, and fewer jobs of them."""
    models = [replace(each, counts=each.counts[:3]) for each in study.jobs.models]
    jobs = replace(study.jobs, jobs=60, models=tuple(models))
    return replace(study, jobs=jobs, loads=(0.5,), seeds=1, policies=("fifo", "srtf"), target=None)


STUDY = shortened(read_queue_study(EXAMPLE))
ENSEMBLE = STUDY.jobs.models[-1]
ALL = STUDY.fleet.devices


@pytest.fixture(scope="module")
def answer():
    return simulate(STUDY)


def test_a_member_has_the_plan_and_the_pace_of_a_job_of_its_own(answer):
    _, single, ensemble = answer.curves
    assert [point.devices for point in ensemble.points] == [8, 16, 32]
    assert [point.plan for point in ensemble.points] == [point.plan for point in single.points]
    for ours, alone in zip(ensemble.points, single.points, strict=True):
        # A job alone is never quicker than its samples are prepared, which is within a thousandth.
        assert ours.rate == pytest.approx(alone.rate, rel=1e-3)
        assert ours.input.demand == pytest.approx(alone.rate)


def test_input_is_chosen_for_every_number_of_devices(answer):
    places = [(point.input.beside, point.input.nodes) for point in answer.curves[-1].points]
    assert places == [(8, 1), (4, 2), (2, 4)]
    assert all(point.input.pays for point in answer.curves[-1].points)


def test_a_link_that_is_slow_holds_all_members_back():
    slow = replace(ENSEMBLE, prepared=10 * ENSEMBLE.prepared, counts=(64, 128))
    curve = curve_of(slow, devices=ALL)
    assert [point.input.parts for point in curve.points] == [1, 2]
    for point in curve.points:
        assert point.low <= point.rate <= point.high
        assert point.rate == point.input.best.rate < point.input.demand


def test_members_that_would_lie_across_nodes_unevenly_are_left_out_with_the_reason():
    workload = replace(ENSEMBLE.study.workload, global_batch=960)
    study = replace(ENSEMBLE.study, workload=workload)
    curve = curve_of(replace(ENSEMBLE, study=study, members=4, counts=(4, 24)), devices=ALL)
    assert [point.devices for point in curve.points] == [4]
    assert "members of 6 devices do not fill nodes of 8" in curve.refused[24]


def test_an_ensemble_without_what_it_shares_is_refused():
    with pytest.raises(InputError, match=r"needs JobModel\.prepared"):
        replace(ENSEMBLE, prepared=None)
    with pytest.raises(InputError, match="multiples of its 8 members"):
        replace(ENSEMBLE, counts=(8, 12))


def test_hosts_without_a_core_to_spare_feed_no_ensemble():
    cluster = ENSEMBLE.study.cluster
    busy = replace(cluster, host=replace(cluster.host, cores=8))
    study = replace(ENSEMBLE.study, cluster=busy)
    with pytest.raises(NoPlanFits, match="none is left to prepare samples"):
        curve_of(replace(ENSEMBLE, study=study, counts=(8,)), devices=ALL)


def test_the_terminal_tells_plan_curve_queue_and_input(answer):
    console = Console(width=100)
    with console.capture() as captured:
        console.print(drawn(simulate_report(STUDY, answer)))
    text = " ".join(captured.get().split())
    for said in ("best plan of each of 8 members", "how 8 members are fed", "why not", "chosen"):
        assert said in text
    assert "Its 8 members train at that pace each. Sharing pays: with asynchronous" in text


def test_the_page_shows_plan_curve_queue_and_input(answer):
    html = page(simulate_report(STUDY, answer), provenance(STUDY))
    for said in ("4 for each member", "how 8 members are fed", "private loaders", "Who ran when"):
        assert said in html
    assert 'aria-label="samples/s against devices"' in html


def test_the_document_holds_the_input_of_every_point(answer):
    told = json.loads(json.dumps(document("simulate", answer, provenance(STUDY))))
    first = told["curves"][-1]["points"][0]["input"]
    assert first["members"] == told["curves"][-1]["members"] == 8
    assert first["best"]["rate"] > 2 * first["private"]["rate"]
    assert told["curves"][0]["points"][0]["input"] is None
