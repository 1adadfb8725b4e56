"""Measured operators: their seconds stand in the place of formulas, divided as the work is."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.step.prices import parts as priced

from foretrain.errors import InputError
from foretrain.plan.plan import Plan, Recompute
from foretrain.step.compute import backward_kernels
from foretrain.step.setting import setting
from foretrain.step.strategies.strategy import Share
from foretrain.step.work import DeviceWork, OperatorTimes, as_measured, shrunk
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.graph import Layer, Model, operators_of
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Matrices, Operator, Size, Split, matmul
from foretrain.workload.trainable import Trainable, adapted
from foretrain.workload.workload import Precision, Workload

NODE = cluster("dgx-a100", nodes=1)
QUIET = DEFAULT.changed({"host.launch": 1.0, "host.gap": 1.0, "step.spread": 0.0})
"""A host that formulas would wait for: what was measured has been started already."""

WHOLE = Matrices(rows=8, columns=64, depth=32)


def product(**changes):
    found = matmul("product", WHOLE, weights=2048.0, split=Split.COLUMNS, units=64)
    return replace(found, seconds=2.0, backward_seconds=6.0, **changes)


MOVED = Operator(
    name="moved",
    forward=Size(values=8.0),
    backward=Size(values=8.0),
    seconds=0.5,
    backward_seconds=0.25,
)


def model(*operators):
    layers = tuple(
        Layer(name=each.name, operators=(each,), input=8.0, output=8.0) for each in operators
    )
    return Model(name="measured", layers=layers)


def parts(network, plan, *, batch=1):
    found = setting(Workload(model=network, global_batch=batch), NODE, QUIET)
    return SimpleNamespace(**priced(found, plan))


@given(batch=st.integers(1, 64))
def test_measured_operators_take_their_seconds_for_each_sample_whatever_host_and_device(batch):
    found = parts(model(product(), MOVED), Plan(micro_batch=batch), batch=batch)
    assert (found.forward, found.backward) == pytest.approx((2.5 * batch, 6.25 * batch))


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_what_an_axis_divides_takes_so_many_times_less(tensor):
    found = parts(model(product(), MOVED), Plan(tensor=tensor))
    assert (found.forward, found.backward) == pytest.approx((2 / tensor + 0.5, 6 / tensor + 0.25))


def test_measured_forward_pass_runs_again_where_it_is_recomputed():
    found = parts(model(product(), MOVED), Plan(recompute=Recompute.FULL))
    assert found.recompute == pytest.approx(2.5)


def test_frozen_weights_leave_out_half_of_a_measured_backward_pass():
    assert parts(model(product(trained=0.0)), Plan()).backward == pytest.approx(3.0)
    assert parts(model(product(trained=0.0, first=True)), Plan()).backward == 0.0
    frozen = adapted(model(product(), MOVED), Trainable(frozen=2))
    assert parts(frozen, Plan()).backward == 0.0


def times_of(operator, **share):
    """Seconds of an operator of which a device has a part, by no formula."""
    operators = operators_of(model(operator))
    work = DeviceWork(
        operators=operators,
        share=Share(**share),
        micro_batch=np.array([3.0]),
        precision=Precision.FP32,
    )
    nothing = OperatorTimes(forward=np.ones((1, 1)), backward=np.ones((1, 1)), weights=np.ones(1))
    found = as_measured(work, nothing, backward_kernels(operators)[0], unshrunk=0.0)
    return tuple(
        float(np.ravel(each)[0]) for each in (found.forward, found.backward, found.weights)
    )


def test_products_are_divided_by_all_their_dimensions_and_what_moves_by_its_own():
    parts_of_it = {"rows": 2.0, "columns": 3.0, "depth": 5.0, "batch": 7.0, "moved": 11.0}
    assert times_of(product(), **parts_of_it) == pytest.approx((6 / 210, 18 / 210, 9 / 210))
    assert times_of(MOVED, **parts_of_it) == pytest.approx((1.5 / 11, 0.75 / 11, 0.0))


def test_gradients_of_weights_are_half_of_a_backward_pass_and_all_of_a_first_one():
    assert times_of(product())[1:] == (18.0, 9.0)
    assert times_of(product(first=True))[1:] == (18.0, 18.0)
    assert times_of(product(trained=1.0))[1:] == (18.0, 9.0)
    assert times_of(product(trained=0.0))[1:] == (9.0, 0.0)
    scores = matmul("scores", WHOLE)
    assert times_of(replace(scores, seconds=2.0, backward_seconds=6.0))[1:] == (18.0, 0.0)
    norm = replace(MOVED, weights=4.0)
    assert times_of(norm)[1:] == (0.75, 0.0)
    assert times_of(replace(norm, trained=0.0))[1:] == (0.75, 0.0)


def test_operators_beside_a_measured_one_keep_their_formulas():
    plain = replace(MOVED, name="plain", seconds=None, backward_seconds=0.0)
    alone, both = parts(model(plain), Plan()), parts(model(plain, product()), Plan())
    assert both.forward == pytest.approx(alone.forward + 2.0)
    assert both.backward == pytest.approx(alone.backward + 6.0)


def test_network_that_nobody_measured_is_priced_as_ever():
    assert all(each.seconds is None for _, each in build("resnet-50", image=224).operators)


@pytest.mark.parametrize("name", ["seconds", "backward_seconds"])
def test_time_below_zero_is_refused(name):
    with pytest.raises(InputError, match=f"{name} must be at least 0 s, got -1"):
        replace(MOVED, **{name: -1.0})


@pytest.mark.parametrize(
    ("unshrunk", "left"), [(0.0, 1 / 4), (1.0, 1.0), (0.5, 0.5 + 0.5 / 4)], ids=str
)
def test_members_take_their_part_and_what_never_shrinks(unshrunk, left):
    assert 1.0 / shrunk(4.0, unshrunk) == pytest.approx(left)
    assert shrunk(1.0, unshrunk) == 1.0
