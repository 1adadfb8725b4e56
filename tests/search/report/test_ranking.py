"""Rankings: plans that differ in what divides pictures are told apart."""

from dataclasses import replace

import pytest
from tests.small import gpt_study

from foretrain.plan.plan import ChannelSplit, Plan
from foretrain.search.report.ranking import plan_columns, ranking
from foretrain.search.search import search
from foretrain.show.words import written
from foretrain.units import DOLLARS


def shown(*plans):
    """What the columns say of some plans, by their names."""
    columns = plan_columns(plans, lambda plan: plan)
    return {column.name: [write(plan) for plan in plans] for column, write in columns}


def test_grids_channels_and_fronts_have_columns_where_plans_have_them():
    pixels = Plan(context=4, grid=(2, 2), split=14)
    channels = Plan(tensor=4, convolutions=ChannelSplit.CHANNEL)
    told = shown(pixels, channels)
    assert told["grid"] == ["2x2", "none"]
    assert told["divides"] == ["filter", "channel"]
    assert told["split"] == ["14", "0"]
    assert not {"grid", "divides", "split"} & set(shown(Plan(), Plan(tensor=2)))


@pytest.mark.parametrize("samples", [1_000_000.0, None])
def test_dollars_are_those_of_the_training_where_its_amount_is_known_else_of_a_step(samples):
    study = gpt_study()
    found = search(replace(study, workload=replace(study.workload, samples=samples)), keep=1)
    [row] = ranking(found.ranking).rows
    estimate = found.ranking[0].estimate
    dollars = estimate.cost_per_step if samples is None else estimate.cost_to_train
    assert row[-1] == written(DOLLARS, dollars)
