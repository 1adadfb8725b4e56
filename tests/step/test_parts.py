"""Parts: a model priced part by part is the model priced whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import plans, settings
from tests.small import gpt, mixture

from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.setting import OF_EXPERTS, READS, by_layer, parts_of
from foretrain.step.strategies import share_of
from foretrain.workload.graph import operators_of
from foretrain.workload.workload import Precision


@st.composite
def questions(draw):
    """A setting and plans on it, some of which differ only in how experts are divided."""
    setting = draw(settings())
    some = draw(st.lists(plans(setting), min_size=1, max_size=4))
    return setting, [*some, *(replace(each, expert=1, expert_tensor=1) for each in some)]


def amounts(part, plans):
    """Two quantities that read nearly all that a layer depends on."""
    share = share_of(part.operators, plans)
    return [
        part.amounts.kept * plans.micro_batch / share.kept,
        part.amounts.weights[0] / share.weights,
    ]


@few(30)
@given(questions())
def test_parts_add_up_to_the_operators_one_by_one(question):
    setting, several = question
    table = table_of(several)
    found = by_layer(setting.parts, table, amounts)
    expected = np.zeros_like(found)
    for part in setting.parts:
        values = np.stack([np.broadcast_to(v, v.shape) for v in amounts(part, table)])
        for place, kind in enumerate(part.operators.layer):
            expected[:, kind] += values[:, place]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@few(30)
@given(questions())
def test_row_of_a_table_equals_the_plan_alone(question):
    setting, several = question
    together = by_layer(setting.parts, table_of(several), amounts)
    for row, plan in enumerate(several):
        alone = by_layer(setting.parts, table_of([plan]), amounts)
        np.testing.assert_array_equal(together[..., [row]], alone)


@few(30)
@given(questions())
def test_every_operator_is_in_one_part(question):
    setting, _ = question
    layers = [kind for part in setting.parts for kind in part.operators.layer]
    assert sorted(layers) == sorted(setting.operators.layer)


@pytest.mark.parametrize(("model", "many"), [(gpt(), 1), (mixture(), 2)])
def test_only_models_with_experts_have_a_part_that_knows_of_them(model, many):
    found = parts_of(operators_of(model), Precision.BF16, kinds=len(model.layers))
    assert len(found) == many
    assert not {*OF_EXPERTS} & {*found[0].reads}
    assert all({*part.reads} <= {*READS} for part in found)
    if many > 1:
        assert {*found[1].reads} == {*READS}


def test_ways_to_divide_experts_are_priced_once_for_all_that_knows_nothing_of_them():
    model = mixture()
    parts = parts_of(operators_of(model), Precision.BF16, kinds=len(model.layers))
    table = table_of([Plan(data=4, expert=expert) for expert in (1, 2, 4)])
    asked = []

    def quantities(part, plans):
        asked.append(len(plans))
        return amounts(part, plans)

    by_layer(parts, table, quantities)
    assert asked == [1, 3]
