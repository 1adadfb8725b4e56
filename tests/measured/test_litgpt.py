"""LitGPT: rows of its table in our nouns; what it prints confirms how they are read."""

import re
from dataclasses import replace

import pytest
from tests.measured.runs import CATALOGUE
from tests.tables import published

from foretrain.measured.case import case_of
from foretrain.measured.coverage import NotCovered
from foretrain.plan.plan import Recompute, Sharding
from foretrain.trainers.software import SHARED
from foretrain.workload.workload import Optimizer, Precision

ROWS = {run.id: run for run in published("memory") if run.source_id == "litgpt"}


@pytest.mark.parametrize("row", ROWS)
def test_trained_parameters_are_those_that_a_row_states(row):
    stated = re.search(r"trainable params ([0-9,]+)", ROWS[row].notes)
    model = case_of(ROWS[row], CATALOGUE).workload.model
    assert model.trainable == int(stated[1].replace(",", ""))


def test_one_device_keeps_everything_and_several_shard_and_recompute_everything():
    alone, several = (case_of(ROWS[row], CATALOGUE) for row in ("litgpt-0001", "litgpt-0036"))
    assert (alone.plan.sharding, alone.plan.recompute) == (Sharding.NONE, Recompute.NONE)
    assert (several.plan.sharding, several.plan.recompute) == (
        Sharding.PARAMETERS,
        Recompute.FULL,
    )
    assert (several.software.flat, several.software.waits) == (True, True)
    assert (alone.software.flat, alone.software.waits) == (SHARED.flat, SHARED.waits)


def test_weights_gradients_and_moments_are_all_bf16():
    workload = case_of(ROWS["litgpt-0011"], CATALOGUE).workload
    assert (workload.precision, workload.gradients.name) == (Precision.BF16, "bf16")
    assert workload.optimizer is Optimizer.ADAMW_16BIT


@pytest.mark.parametrize(
    ("row", "stored"), [("litgpt-0011", 2.0), ("litgpt-0012", 4.5 / 8), ("litgpt-0013", 4.127 / 8)]
)
def test_products_are_stored_as_the_precision_says_logits_included(row, stored):
    case = case_of(ROWS[row], CATALOGUE)
    model = case.workload.model
    frozen = [
        each.stored or case.workload.precision.value_bytes
        for layer, each in model.operators
        if each.matrices and each.weights and not each.trainable
    ]
    assert frozen == pytest.approx([stored] * len(frozen), rel=1e-3)
    assert model.layers[-1].operators[-2].name == "logits"
    assert case.software.unpacked == (1 if stored == 2.0 else 2)


def test_longest_sample_is_an_assumption_that_is_told():
    small, large = (case_of(ROWS[row], CATALOGUE) for row in ("litgpt-0006", "litgpt-0011"))
    assert (small.workload.model.tokens, large.workload.model.tokens) == (1037, 1304)
    assert "the longest sample of Alpaca has 1304 tokens" in large.assumed


def test_stated_sequence_counts():
    run = ROWS["litgpt-0001"]
    stated = replace(run, network=replace(run.network, sequence=256))
    assert case_of(stated, CATALOGUE).workload.model.tokens == 256


def test_peak_is_what_the_allocator_handed_out():
    assert all(case_of(run, CATALOGUE).prints_allocated for run in ROWS.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "fine-tune full"}, "LitGPT's task 'fine-tune full' is not covered"),
        ({"precision": "bf16-true + bnb.fp4"}, "weights stored as 'bnb.fp4'"),
    ],
)
def test_what_is_not_known_is_not_covered(change, said):
    with pytest.raises(NotCovered, match=said):
        case_of(replace(ROWS["litgpt-0001"], **change), CATALOGUE)


def test_model_that_the_library_lacks_is_not_covered():
    run = ROWS["litgpt-0001"]
    other = replace(run, network=replace(run.network, name="Pyfia"))
    with pytest.raises(NotCovered, match=r"'Pyfia 1\.3b' is not in the library"):
        case_of(other, CATALOGUE)
