"""What terminal and page show of a simulation."""

from dataclasses import replace

import pytest
from rich.console import Console

from foretrain.cluster.mixed import fleet
from foretrain.jobs.report import gantt, responses, simulate_report, speed
from foretrain.jobs.result import Span
from foretrain.jobs.simulate import simulate
from foretrain.measured.job import Job, Log, Trace
from foretrain.measured.queue_study import QueueStudy, Target, TargetQuantity
from foretrain.show.document import provenance
from foretrain.show.terminal import drawn, page
from foretrain.throughput import rigid

STUDY = QueueStudy(
    fleet=fleet(2),
    jobs=Log(
        trace=Trace(
            name="by hand",
            jobs=tuple(
                Job(
                    name=f"job-{number}",
                    arrival=float(number),
                    work=50.0 - number,
                    curve=rigid(1 + number % 2),
                    devices=1 + number % 2,
                    group="abc"[number % 3],
                    user="<b>",
                )
                for number in range(12)
            ),
        )
    ),
    policies=("fifo", "srtf"),
    target=Target(quantity=TargetQuantity.MEAN, seconds=100.0, most=8),
)
ANSWER = simulate(STUDY)


def test_the_terminal_shows_the_best_policy_first():
    assert [row[0] for row in responses(ANSWER.points[0]).rows] == ["srtf", "fifo"]


def test_the_terminal_shows_every_part_of_the_answer():
    console = Console(width=80, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(drawn(simulate_report(STUDY, ANSWER)))
    text = captured.get()
    for said in ("Response times", "By group, under srtf", "How many nodes", "What follows"):
        assert said in text


def test_a_page_is_complete_in_itself():
    html = page(simulate_report(STUDY, ANSWER), provenance(STUDY))
    assert "<polyline" in html
    assert "src=" not in html
    assert "Who ran when" in html


def test_names_of_users_are_texts_not_markup():
    html = page(simulate_report(STUDY, ANSWER), provenance(STUDY))
    assert "<b>" not in html


@pytest.mark.parametrize(("seeds", "told"), [(1, ";"), (2, ", 2 seeds;"), (3, ", 3 seeds;")])
def test_seeds_are_told_where_jobs_are_drawn_more_than_once(seeds, told):
    assert speed(replace(ANSWER, seeds=seeds)).startswith(f"2 devices{told} ")


def test_the_mean_of_finished_jobs_is_told_where_some_did_not_finish_and_not_twice():
    [found] = [point.policies["fifo"] for point in ANSWER.points]
    assert found.mean_of_finished is None
    cut = replace(found, jobs=replace(found.jobs, finished=found.jobs.finished - 1))
    assert cut.mean_of_finished == found.mean_response_finished


def test_every_policy_has_a_small_drawing_beside_which_the_others_are_grey():
    html = page(simulate_report(STUDY, ANSWER), provenance(STUDY))
    for name in ("queue", "waited", "busy"):
        assert html.count(f'id="all-{name}"') == 1
        assert html.count(f'href="#all-{name}"') == len(STUDY.policies)


def test_a_gantt_chart_names_its_jobs_from_the_first_start_on_and_shades_them_by_devices():
    plot = gantt(
        [
            Span(job="b", start=30.0, end=50.0, devices=1.0),
            Span(job="a", start=10.0, end=20.0, devices=4.0),
            Span(job="a", start=40.0, end=50.0, devices=4.0),
        ]
    )
    assert plot.jobs == ("a", "b")
    assert [(each.x, each.y, each.width) for each in plot.stripes] == [
        (0.0, 0.0, 25.0), (50.0, 50.0, 50.0), (75.0, 0.0, 25.0),
    ]  # fmt: skip
    assert plot.stripes[0].shade < plot.stripes[1].shade
    coarse = {text for _, text in plot.x.ticks}
    assert coarse
    assert not coarse & {text for _, text in plot.fine}
    assert len(plot.fine) > 5 * len(coarse)
