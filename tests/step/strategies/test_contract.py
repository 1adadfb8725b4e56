"""What every strategy keeps: one page, one source, nothing at degree 1, declared fields only."""

import re
from dataclasses import fields, replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import questions

from foretrain.plan.plan import (
    AXES,
    CUTS,
    SAID,
    ChannelSplit,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.table import table_of
from foretrain.step.strategies import STRATEGIES, owners_of, share_of, tensor
from foretrain.step.strategies.strategy import Axis, Owners, ParameterGroup, Share, When
from foretrain.step.strategies.tensor import expert_replicas, token_degree
from foretrain.workload.operator import Attention, Split

ROOT = Path(__file__).parents[3]
STRATEGY_FILES = ROOT / "src" / "foretrain" / "step" / "strategies"
SHAPES = {"__init__", "strategy"}
FILES = sorted(file.stem for file in STRATEGY_FILES.glob("*.py") if file.stem not in SHAPES)
PAGES = sorted((ROOT / "docs" / "reference" / "strategies").glob("*.md"))

ALONE = {
    "data": {"data": 1, "context": 1},
    "sharding": {"data": 1, "context": 1},
    "tensor": {"tensor": 1, "expert_tensor": 1},
    "sequence": {"tensor": 1, "expert_tensor": 1},
    "context": {"context": 1},
    "expert": {"expert": 1},
    "spatial": {"context": 1},
    "channels": {"tensor": 1},
}
"""The plan on which a strategy has nobody to share with."""

degrees = st.integers(1, 64)
CHANGES = {
    "data": degrees,
    "tensor": st.integers(1, 8),
    "context": st.integers(1, 8),
    "pipeline": degrees,
    "expert": st.integers(1, 8),
    "expert_tensor": st.integers(1, 8),
    "interleaving": st.integers(1, 8),
    "micro_batch": degrees,
    "sequence_parallel": st.booleans(),
    "exchange": st.sampled_from(ContextExchange),
    "grid": st.just(()),
    "convolutions": st.sampled_from(ChannelSplit),
    "split": st.integers(0, 8),
    "sharding": st.sampled_from(Sharding),
    "shard": st.integers(0, 8),
    "reshard": st.booleans(),
    "recompute": st.sampled_from(Recompute),
    "recompute_layers": st.integers(0, 8),
    "offload": st.sampled_from(Offload),
    "offload_layers": st.integers(0, 8),
    "attention": st.sampled_from(Attention),
    "schedule": st.sampled_from(Schedule),
    "sends": st.sampled_from(Sends),
    "cut": st.sampled_from([*CUTS, (1, 2)]),
    "order": st.permutations(AXES).map(tuple),
}


def code_of(page):
    """The last paragraph of a page, which names its files."""
    return page.read_text().rpartition("**Code.**")[2]


@pytest.mark.parametrize("file", FILES)
def test_file_of_a_strategy_names_its_source_and_has_a_page(file):
    assert re.search(r"\n *Sources?: \w", (STRATEGY_FILES / f"{file}.py").read_text())
    pages = [page for page in PAGES if f"strategies/{file}.py`" in code_of(page)]
    assert pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_gives_legal_values_formula_and_source(page):
    text = page.read_text()
    for piece in ("| field | legal values |", "```text", "**Source.**", "**Code.**"):
        assert piece in text


def test_every_strategy_says_when_it_is_alone():
    assert set(ALONE) == set(STRATEGIES)
    assert set(CHANGES) == set(SAID)


def numbers(share, like):
    """Every divisor of a share, of the same shape, side by side."""
    return np.stack([np.broadcast_to(getattr(share, field.name), like) for field in fields(Share)])


def said(strategy, setting, plan):
    """Everything that a strategy says of the operators of one plan."""
    plans = table_of([plan])
    shape = (len(setting.operators.layer), 1)
    divisors = numbers(strategy.share(setting.operators, plans), shape)
    transfers = strategy.transfers(setting.operators, plans)
    return divisors, [(each.phase, each.times * each.values) for each in transfers]


@few(24, slow=600)
@given(question=questions())
def test_strategy_that_is_alone_divides_nothing_and_sends_nothing(question):
    setting, [plan] = question
    for name, strategy in STRATEGIES.items():
        pixels = {"grid": ()} if "context" in ALONE[name] else {}
        alone = replace(plan, **pixels, **ALONE[name])
        if name == "expert":
            alone = replace(alone, expert_tensor=alone.tensor)
        divisors, transfers = said(strategy, setting, alone)
        assert (divisors == 1).all(), name
        assert not any(values.any() for _, values in transfers), name
        plans = table_of([alone])
        sent = strategy.parameter_transfers(setting.workload, plans, plans.replicas)
        assert not any(each.size.any() for each in sent), name
        owners = strategy.owners(plans, plans.replicas)
        found = {float(np.max(getattr(owners, field.name))) for field in fields(Owners)}
        assert found == {1.0}, name


@few(24, slow=600)
@given(question=questions(), others=st.fixed_dictionaries(CHANGES))
def test_operators_depend_on_declared_fields_alone(question, others):
    setting, [plan] = question
    for name, strategy in STRATEGIES.items():
        free = {field: other for field, other in others.items() if field not in strategy.reads}
        before, after = (said(strategy, setting, each) for each in (plan, replace(plan, **free)))
        np.testing.assert_array_equal(before[0], after[0], err_msg=name)
        for (phase, values), (same_phase, same_values) in zip(before[1], after[1], strict=True):
            assert phase is same_phase, name
            np.testing.assert_array_equal(values, same_values, err_msg=name)


@few(24, slow=600)
@given(question=questions(least=2, most=10))
def test_row_of_a_table_is_divided_like_the_plan_alone(question):
    setting, plans = question
    rows, table = len(setting.operators.layer), table_of(plans)
    for name, strategy in STRATEGIES.items():
        whole = numbers(strategy.share(setting.operators, table), (rows, len(plans)))
        for row, plan in enumerate(plans):
            alone = said(strategy, setting, plan)[0]
            np.testing.assert_array_equal(whole[..., row], alone[..., 0], err_msg=name)


def parts_of(setting, plan):
    """Parts of each matrix product, and the devices that make a sample's worth of it together."""
    operators, plans = setting.operators, table_of([plan])
    found = share_of(operators, plans)
    parts = prod(getattr(found, name) for name in ("rows", "columns", "depth", "batch"))
    return np.broadcast_to(parts, operators.matmul.shape)[:, 0]


@few(16, slow=400)
@given(question=questions())
def test_parts_of_all_members_make_the_whole_product(question):
    """Those who repeat a product, and the busiest of those who share experts, have more of it."""
    setting, [plan] = question
    operators = setting.operators
    found, members = parts_of(setting, plan), plan.tensor * plan.context
    experts = operators.experts[:, 0] > 0
    divided = (operators.matmul & ~operators.split_is(Split.NONE))[:, 0]
    busiest = operators.imbalance[:, 0] if plan.expert > 1 else np.ones(len(experts))
    np.testing.assert_allclose(found[divided & experts], (members / busiest)[divided & experts])
    assert (found[divided & ~experts] == members).all()
    pictured = np.array([each is not None for each in operators.pixels])
    convolved = (operators.filters + operators.channels)[:, 0] > 0
    repeated = operators.matmul[:, 0] & ~divided & ~experts & ~pictured & ~convolved
    tokens = np.where(operators.sequence[:, 0], token_degree(table_of([plan])), 1.0)
    shared = 1 if plan.grid else plan.context
    assert (found[repeated] == shared * tokens[repeated]).all()


@few(16, slow=400)
@given(question=questions())
def test_no_member_has_less_than_its_part_or_more_than_the_whole(question):
    setting, [plan] = question
    found = share_of(setting.operators, table_of([plan]))
    common = setting.operators.experts[:, 0] == 0
    divisors = numbers(found, (len(common), 1))[:, common]
    divisors = divisors * np.maximum(1.0, setting.operators.imbalance[common])
    assert (divisors >= 1).all()
    assert (divisors <= plan.tensor * plan.context * setting.operators.imbalance[common]).all()


@few(16, slow=400)
@given(question=questions())
def test_experts_are_divided_by_both_their_degrees_and_copied_to_the_rest(question):
    setting, [plan] = question
    plans = table_of([plan])
    experts = setting.operators.experts[:, 0] > 0
    weights = numbers(share_of(setting.operators, plans), (len(experts), 1))[6][experts]
    split = setting.operators.split_is(Split.COLUMNS, Split.DEPTH)[experts]
    assert (weights[split] == plan.expert * plan.expert_tensor).all()
    copies = expert_replicas(plans)[0]
    assert copies * plan.expert * plan.expert_tensor * plan.pipeline == plan.devices


@few(16, slow=400)
@given(question=questions())
def test_experts_that_are_divided_like_the_rest_are_dense(question):
    setting, [plan] = question
    alike = table_of([replace(plan, expert=1, expert_tensor=plan.tensor)])
    operators = setting.operators
    dense = replace(operators, experts=np.zeros_like(operators.experts))
    shape = (len(operators.layer), 1)
    np.testing.assert_array_equal(
        numbers(share_of(operators, alike), shape)[:, ~operators.split_is(Split.COLUMNS)[:, 0]],
        numbers(share_of(dense, alike), shape)[:, ~operators.split_is(Split.COLUMNS)[:, 0]],
    )


@few(16, slow=400)
@given(question=questions())
def test_every_member_sends_its_tokens_once_there_and_once_back(question):
    setting, [plan] = question
    plans, operators = table_of([plan]), setting.operators
    for transfer in STRATEGIES["expert"].transfers(operators, plans):
        members = token_degree(plans) * plan.context
        mine = operators.routed * operators.imbalance / members * (plan.expert > 1)
        np.testing.assert_allclose(transfer.values, np.broadcast_to(mine, transfer.values.shape))


@few(12, slow=300)
@given(question=questions(), replicas=st.integers(2, 64))
def test_gradients_of_all_replicas_are_added_up_once_whatever_is_sharded(question, replicas):
    setting, [plan] = question
    one = setting.workload.gradients
    for kind in Sharding:
        for shard in (each for each in range(replicas + 1) if each == 0 or replicas % each == 0):
            plans = table_of([replace(plan, sharding=kind, shard=shard)])
            among = shard or replicas
            sizes = gradients(setting.workload, plans, float(replicas))
            if kind is Sharding.NONE:
                whole = one.wire_bytes if one.adds_up else one.wire_bytes * replicas
                assert sizes == {ParameterGroup.REPLICAS: whole}
            else:
                inside = {ParameterGroup.SHARD: one.wire_bytes} if among > 1 else {}
                across = {ParameterGroup.ACROSS: one.wire_bytes / among} if among < replicas else {}
                assert sizes == inside | across


def gradients(workload, plans, replicas):
    """Bytes of each gradient, by the group that adds them up."""
    sent = [
        each
        for strategy in STRATEGIES.values()
        for each in strategy.parameter_transfers(workload, plans, np.array([replicas]))
        if each.part == "gradients" and each.size.any()
    ]
    assert len({each.group for each in sent}) == len(sent)
    return {each.group: float(each.size[0]) for each in sent}


@few(16, slow=400)
@given(question=questions())
def test_parameters_that_are_dropped_between_passes_are_gathered_twice(question):
    setting, [plan] = question
    assume(plan.data * plan.context > 1)
    times = {
        reshard: [
            each.when
            for each in weights_of(setting, replace(plan, shard=0, reshard=reshard))
            if each.size.any()
        ]
        for reshard in (True, False)
    }
    assert times == {True: [When.FORWARD, When.BACKWARD], False: [When.FIRST]}


def weights_of(setting, plan):
    plans = table_of([replace(plan, sharding=Sharding.PARAMETERS)])
    found = STRATEGIES["sharding"].parameter_transfers(setting.workload, plans, plans.replicas)
    return [each for each in found if each.part == "parameters"]


@few(16, slow=400)
@given(question=questions())
def test_partial_sums_are_added_up_once_with_or_without_sequence_parallelism(question):
    setting, [plan] = question
    alike = replace(plan, expert=1, expert_tensor=plan.tensor)
    for each in (plan, *(replace(alike, sequence_parallel=divided) for divided in (False, True))):
        plans = table_of([each])
        moved = [
            (transfer.values > 0).sum()
            for name in ("tensor", "sequence")
            for transfer in STRATEGIES[name].transfers(setting.operators, plans)
            if transfer.axis in (Axis.TENSOR, Axis.EXPERT_TENSOR)
        ]
        members = tensor.degree(setting.operators, plans)
        sums = [
            tensor.summed(setting.operators, split, experts=experts) > 0
            for split in (Split.DEPTH, Split.COLUMNS)
            for experts in (False, True)
        ]
        assert sum(moved) == (np.logical_or.reduce(sums) & (members > 1)).sum()


def test_plan_of_one_device_is_alone_in_everything():
    plans = table_of([Plan(sharding=Sharding.PARAMETERS)])
    owners = owners_of(plans, plans.replicas)
    assert [float(getattr(owners, field.name)[0]) for field in fields(Owners)] == [1.0] * 3
