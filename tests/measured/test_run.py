"""The noun of a measured run."""

import pytest

from foretrain.errors import InputError
from foretrain.measured.run import MeasuredRun, RunLayout, Subject, TableKind, TrainedNetwork


def run(**changes):
    stated = {
        "id": "a",
        "source_id": "b",
        "table": TableKind.LLM_TRAINING,
        "subject": Subject.STEP_TIME,
        "measured": 1.0,
        "network": TrainedNetwork(name="c"),
    }
    return MeasuredRun(**stated | changes)


@pytest.mark.parametrize("changes", [{"id": ""}, {"source_id": ""}])
def test_a_run_has_a_name_and_a_source(changes):
    with pytest.raises(InputError, match="needs an id and a source_id"):
        run(**changes)


@pytest.mark.parametrize("measured", [0.0, -1.0, float("nan")])
def test_what_was_measured_is_above_0(measured):
    with pytest.raises(InputError, match="above 0"):
        run(measured=measured)


@pytest.mark.parametrize(
    ("date", "year"), [("2022-05", 2022), ("2021", 2021), ("", None), ("May 2022", None)]
)
def test_the_year_is_read_from_the_date(date, year):
    assert run(date=date).year == year


@pytest.mark.parametrize(
    "changes",
    [
        {"check": "audit: duplicate"},
        {"doubt": "device not stated"},
        {"source_kind": "memory"},
        {"out_of_memory": True},
        {"network": TrainedNetwork(name="bert-large", sequence=512, fill=0.5)},
    ],
)
def test_nothing_is_learned_from_a_row_whose_numbers_mean_something_else(changes):
    assert run().may_be_fitted
    assert not run(**changes).may_be_fitted


@pytest.mark.parametrize("fill", [0.0, 1.1, float("nan")])
def test_a_sample_fills_some_of_the_sequence_and_no_more_than_all(fill):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        TrainedNetwork(name="bert-large", fill=fill)


@pytest.mark.parametrize("stage", [-1, 4, 10**9])
def test_replicas_share_in_one_of_four_stages(stage):
    with pytest.raises(InputError, match="zero_stage must be from 0 to 3"):
        RunLayout(zero_stage=stage)


def test_a_network_has_no_thousand_million_layers_and_no_endless_batch():
    with pytest.raises(InputError, match="layers may be 10,000 at most"):
        TrainedNetwork(name="bert-large", layers=10**9)
    with pytest.raises(InputError, match=r"micro_batch must be from 0 to 1e\+09, got 1e\+30"):
        RunLayout(micro_batch=1e30)
