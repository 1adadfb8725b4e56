"""Rankings: plans that differ in what divides pictures are told apart."""

from foretrain.plan.plan import ChannelSplit, Plan
from foretrain.search.report.ranking import plan_columns


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
