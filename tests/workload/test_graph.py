"""Models: layers are counted, tied parameters once, and nonsense is refused."""

import pytest
from hypothesis import given
from tests.random_models import models

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator, OperatorKind

NORM = Operator(name="norm", kind=OperatorKind.MEMORY, weights=10.0)


def layer(name="block", **fields):
    return Layer(**{"name": name, "operators": (NORM,), "input": 1.0, "output": 1.0} | fields)


ENDS = layer("end", cuttable=False)


def test_repeated_layers_count_each_time_and_tied_parameters_once():
    model = Model(name="three", layers=(ENDS, layer(repeats=3), ENDS), tied=4.0)
    assert model.parameters == 5 * 10 - 4
    assert model.cuttable_layers == 3


@given(model=models)
def test_parameters_are_those_of_all_operators(model):
    every = sum(layer.repeats * operator.weights for layer, operator in model.operators)
    assert model.parameters == every - model.tied


def test_model_that_cannot_be_cut_is_refused():
    with pytest.raises(InputError, match="has no layer that a pipeline could be cut at"):
        Model(name="ends", layers=(ENDS, ENDS))


def test_layer_that_cannot_be_cut_between_others_is_refused():
    with pytest.raises(InputError, match="must stand first or last"):
        Model(name="middle", layers=(layer(), ENDS, layer()))


@pytest.mark.parametrize("repeats", [0, -1])
def test_layer_that_is_not_there_is_refused(repeats):
    with pytest.raises(InputError, match="Layer 'block': repeats must be at least 1"):
        layer(repeats=repeats)
