"""Fitting: the leanest plan is the leanest, and what is larger needs no less."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import plans, settings
from tests.small import (
    HOST,
    cluster,
    expert_study,
    gpt_study,
    llama_study,
    long_study,
    resnet_study,
)

from foretrain.plan.enumeration import plan_tables
from foretrain.plan.legality import problems
from foretrain.plan.plan import ContextExchange, Sharding
from foretrain.plan.study import FIXED, Space
from foretrain.plan.table import table_of
from foretrain.search.exhaustive import leanest
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, host_total
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.graph import growing, with_layers
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

STUDIES = {
    "gpt": gpt_study(),
    "llama": llama_study(),
    "resnet": resnet_study(),
    "experts": expert_study(),
    "long": long_study(),
}


def needed(question, plan):
    """Bytes of a device that a plan needs."""
    return float(heaviest_total(question, hold(question, table_of([plan])))[0])


def alone(question, space):
    """The leanest plan on all devices."""
    return leanest(question, space, devices=(question.cluster.devices,))


@st.composite
def spaces(draw, plan):
    """Choices among which a plan is, some fields free."""
    free = [
        field.name for field in fields(Space) if field.name not in FIXED and draw(st.booleans())
    ]
    # Gathering keys is tried only where it is named.
    named = ["exchange"] if plan.exchange is ContextExchange.ALL_GATHER else []
    names = [field.name for field in fields(Space) if field.name not in free or field.name in named]
    return Space(**{name: (getattr(plan, name),) for name in names})


@pytest.mark.parametrize("name", STUDIES)
def test_leanest_plan_is_that_of_a_loop_over_the_whole_space(name):
    study = STUDIES[name]
    question = setting(study.workload, study.cluster, DEFAULT)
    tables = plan_tables(study.workload, study.cluster, study.space)
    least = min(heaviest_total(question, hold(question, plans)).min() for plans in tables)
    found = alone(question, study.space)
    assert found.memory == pytest.approx(least, rel=1e-12)
    assert found.memory == needed(question, found.plan)
    assert not problems(study.workload, study.cluster, found.plan)


@few(30, slow=600)
@given(data=st.data(), question=settings())
def test_no_legal_plan_of_a_space_needs_less_than_its_leanest(data, question):
    plan = data.draw(plans(question, cuts=("even", "balanced")))
    assume(plan.recompute_layers < question.workload.model.cuttable_layers)
    assume(plan.data * plan.context > 1 or plan.sharding is Sharding.NONE)
    held = hold(question, table_of([plan]))
    host = question.cluster.host
    assume(host is None or host_total(question, held)[0] <= host.memory)
    assert alone(question, data.draw(spaces(plan))).memory <= needed(question, plan) * (1 + 1e-12)


def test_plans_that_offload_more_than_hosts_hold_do_not_count():
    study = long_study()
    tiny = replace(study.cluster, host=replace(HOST, memory=1.0))
    both = replace(study.space, offload=study.space.offload[1:])
    assert alone(setting(study.workload, tiny, DEFAULT), both) is None
    assert (
        alone(setting(study.workload, tiny, DEFAULT), study.space).plan.offload
        == study.space.offload[0]
    )


def test_space_without_a_legal_plan_has_no_leanest_one():
    study = gpt_study()
    question = setting(study.workload, study.cluster, DEFAULT)
    assert alone(question, replace(study.space, tensor=(3,))) is None


@few(30, slow=600)
@given(data=st.data(), question=settings(), more=st.integers(1, 4))
def test_model_with_more_layers_needs_no_less_memory(data, question, more):
    model = question.workload.model
    assume(growing_or_none(model))
    plan = replace(data.draw(plans(question, cuts=("even",))), recompute_layers=0)
    assume(plan.cut == "even")
    layers = model.cuttable_layers + more * plan.pipeline * plan.interleaving
    deeper = replace(question.workload, model=with_layers(model, layers))
    grown = setting(deeper, question.cluster, question.coefficients)
    assert needed(grown, plan) >= needed(question, plan)


def growing_or_none(model):
    return any(layer.cuttable and layer.repeats > 1 for layer in model.layers) and growing(model)


MODELS = ("llama-3-8b", "gpt-3-175b", "deepseek-v3", "mixtral-8x7b", "t5-11b", "bert-large")
TABLES = {"bert-large": 30_000}
"""Tokens that tables of positions are made for here, longer than any sample."""


@few(30, slow=600)
@given(
    data=st.data(),
    name=st.sampled_from(MODELS),
    tokens=st.sampled_from([48, 512, 1024, 3072]),
    more=st.integers(2, 9),
)
def test_longer_samples_need_no_less_memory(data, name, tokens, more):
    workload = Workload(
        model=build(name, positions=TABLES.get(name), sequence=tokens), global_batch=192
    )
    place = cluster(nodes=3, node_devices=8, host=HOST)
    question = setting(workload, place, DEFAULT)
    plan = data.draw(plans(question, cuts=("even", "uneven")))
    longer = replace(
        workload, model=build(name, positions=TABLES.get(name), sequence=more * tokens)
    )
    assert needed(setting(longer, place, DEFAULT), plan) >= needed(question, plan)


@few(30, slow=600)
@given(data=st.data(), question=settings())
def test_micro_batch_of_twice_the_samples_needs_no_less_memory(data, question):
    plan = data.draw(plans(question, cuts=("even", "uneven")))
    assume(plan.micro_batch % 2 == 0)
    half = replace(plan, micro_batch=plan.micro_batch // 2)
    assert needed(question, plan) >= needed(question, half) * (1 - 1e-12)


def test_leanest_of_several_numbers_of_devices_is_that_of_the_leanest_number():
    study = llama_study()
    question = setting(study.workload, study.cluster, DEFAULT)
    each = [leanest(question, study.space, devices=(count,)).memory for count in (4, 8, 12)]
    assert leanest(question, study.space, devices=(4, 8, 12)).memory == np.min(each)
