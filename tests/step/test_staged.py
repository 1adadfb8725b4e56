"""By way of the host: borders and gradients of those that share pixels, and nobody else's."""

import pytest
from tests.step.prices import parts

from foretrain.plan.plan import Plan, Sharding
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Precision, Workload

# Nothing beside what is exchanged: no replica waits for another, nothing is hidden.
PLAIN = {"picture_steps.straggling": 0.0, "step.spread": 0.0, "overlap.gradients": 0.0}
STAGED = {"links.staged": 1e-9, "links.staged_sum": 3e-9, "links.staged_start": 1.0}
TWICE = {"links.staged": 2e-9, "links.staged_sum": 6e-9, "links.staged_start": 1.0}
WORKLOAD = Workload(model=build("vgg-16", image=224), global_batch=16, precision=Precision.FP32)
SHARING = Plan(data=4, context=4, grid=(2, 2), micro_batch=4)
ALONE = Plan(data=16, micro_batch=1)
WIDER = Plan(data=16, context=4, grid=(2, 2), micro_batch=1)


def exchanged(plan, *, nodes=4, **changes):
    """Seconds of gradients and of updated parameters."""
    coefficients = DEFAULT.changed(PLAIN | changes)
    found = parts(setting(WORKLOAD, cluster("abci", nodes=nodes), coefficients), plan)
    return found["gradients"], found["parameters"]


def test_gradients_of_one_grid_take_the_way_of_the_borders_and_no_other():
    grid = Plan(context=4, grid=(2, 2), micro_batch=16)
    # Three quarters of 4 bytes for each parameter go around to be added up, and around again.
    moved = 3 / 4 * 4 * WORKLOAD.model.parameters
    assert exchanged(grid, nodes=1)[0] > 0
    assert exchanged(grid, nodes=1, **STAGED)[0] == pytest.approx(
        (2e-9 + 3e-9) * moved + 1.0, rel=1e-9
    )


def test_grids_add_up_what_the_host_has_as_one_device_of_each_would():
    single = Plan(context=4, grid=(2, 2), micro_batch=16)
    host = exchanged(single, nodes=1, **STAGED)[0]
    few, many = exchanged(SHARING, **STAGED)[0], exchanged(WIDER, nodes=16, **STAGED)[0]
    assert host < few < many
    # So it takes no longer between them, whatever the host takes.
    assert few - host == pytest.approx(exchanged(SHARING, **TWICE)[0] - (2 * host - 1.0), rel=1e-6)


def test_replicas_that_share_no_pixels_and_those_without_replicas_do_not():
    assert exchanged(ALONE, **STAGED) == exchanged(ALONE)
    single = Plan(micro_batch=16)
    assert exchanged(single, nodes=1, **STAGED) == exchanged(single, nodes=1) == (0.0, 0.0)


@pytest.mark.parametrize("sharding", [Sharding.OPTIMIZER, Sharding.GRADIENTS, Sharding.PARAMETERS])
def test_parts_of_sharded_gradients_and_parameters_take_it_too(sharding):
    plan = Plan(data=4, context=4, grid=(2, 2), micro_batch=4, sharding=sharding)
    direct, staged = sum(exchanged(plan)), sum(exchanged(plan, **STAGED))
    once = sum(exchanged(plan, **{"links.staged": 1e-9}))
    twice = sum(exchanged(plan, **{"links.staged": 2e-9}))
    # Nothing hides any of it, so that it grows with the bytes.
    assert twice - direct == pytest.approx(2 * (once - direct), rel=1e-6)
    assert staged > once > direct


def test_no_way_by_the_host_changes_nothing():
    neutral = {"links.staged": 0.0, "links.staged_start": 0.0}
    assert exchanged(SHARING, **neutral) == exchanged(SHARING)
