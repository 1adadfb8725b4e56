"""Coverage of the published tables: what is counted, and when it is enough."""

from dataclasses import replace

import pytest
from tests import builders
from validation.coverage import LEAST, Coverage, coverage, errors, lines
from validation.parts.tables import runs_of

from foretrain.measured.run import MeasuredRun, Place, RunLayout, Subject, TableKind, TrainedNetwork

RUN = MeasuredRun(
    id="ours-0001",
    source_id="ours",
    table=TableKind.LLM_TRAINING,
    subject=Subject.STEP_TIME,
    measured=1.0,
    network=TrainedNetwork(name="gpt"),
    place=Place(device="A100 SXM 80GB", devices=8),
    layout=RunLayout(micro_batch=4.0),
)
ROW, *_, MISSED = builders.validation().rows


def test_rows_with_a_blank_are_counted_apart():
    blank = replace(RUN, place=Place(devices=8))
    found = coverage([(RUN, ROW), (blank, MISSED), (RUN, MISSED)])
    assert (found.rows, found.stated, found.predicted) == (3, 2, 1)
    assert found.share == 0.5
    assert found.blank == {"device": 1}
    assert sum(found.missed.values()) == 1


def test_memory_is_held_against_runs_that_failed_and_runs_that_did_not():
    failed = replace(RUN, out_of_memory=True)
    misfit = replace(ROW, fits=False)
    found = coverage([(failed, misfit), (failed, ROW), (RUN, ROW), (RUN, misfit), (RUN, ROW)])
    assert (found.failed, found.ran) == ((2, 1), (3, 2))


@pytest.mark.parametrize(("missed", "verdict"), [(1, "kept"), (2, "MISSED")])
def test_a_table_is_covered_from_nine_rows_of_ten_on(missed, verdict):
    pairs = [(RUN, ROW)] * (10 - missed) + [(RUN, MISSED)] * missed
    text = "\n".join(lines("a table", coverage(pairs), least=0.9))
    assert f"{verdict} (at least 90%)" in text
    assert f"{missed} elsewhere: mixture of experts" in text


def test_a_table_without_such_rows_misses_nothing():
    assert isinstance(coverage([]), Coverage)
    assert coverage([]).share == 1.0


def test_errors_are_those_of_the_sources_that_are_scored():
    shown = list(errors(builders.validation().summary))
    assert [line.split()[0] for line in shown] == ["source", "korthikanti"]


def test_tables_of_both_folders_are_read_together():
    runs = runs_of("llm_training")
    sources = {run.source_id for run in runs}
    assert {"mbridge", "fms-accel"} <= sources
    assert len({run.id for run in runs}) == len(runs)


def test_what_is_predicted_is_what_the_issue_asks_for():
    assert LEAST["llm_training"] == 0.97
    assert LEAST["cnn_training"] == LEAST["single_device"] == 0.95
