"""Memory: the published formulas of activations and of model state, term by term."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import questions

from foretrain.plan.plan import Plan, Recompute, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import stage_memory
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import Software
from foretrain.workload.library.entries import build, entries
from foretrain.workload.operator import Attention
from foretrain.workload.trainable import Trainable, WeightStorage, adapted
from foretrain.workload.workload import Optimizer, Precision, Workload

SEQUENCE = 2048
GPT = ["megatron-22b", "gpt-3-175b", "mt-nlg-530b", "megatron-1t"]


def question(name, *, batch=64, nodes=8, **others):
    workload = Workload(
        model=build(name, sequence=SEQUENCE),
        global_batch=batch,
        **{"precision": Precision.FP16, "optimizer": Optimizer.ADAM} | others,
    )
    return setting(workload, cluster("dgx-a100", nodes=nodes), DEFAULT)


def plan(**fields):
    return Plan(**{"attention": Attention.PLAIN} | fields)


def kept(name, **fields):
    """Bytes that one transformer layer keeps of one micro-batch."""
    return hold(question(name), table_of([plan(**fields)])).layers.kept[1, 0]


@pytest.fixture(params=GPT)
def name(request):
    return request.param


def sizes(name, b):
    """s b h of the paper, and its 5 a s / h, as fractions."""
    shape = entries()[name].shape
    scores = Fraction(5 * shape.heads * SEQUENCE, shape.hidden)
    return Fraction(SEQUENCE * b * shape.hidden), scores


@pytest.mark.parametrize("b", [1, 4])
def test_layer_keeps_34_bytes_per_value_and_5_per_score(name, b):
    sbh, scores = sizes(name, b)  # korthikanti2022, equation 1
    assert kept(name, micro_batch=b) == sbh * (34 + scores)


@pytest.mark.parametrize("t", [2, 8])
def test_tensor_parallelism_leaves_10_bytes_whole(name, t):
    sbh, scores = sizes(name, 1)  # equation 2
    assert kept(name, tensor=t) == sbh * (10 + (24 + scores) / t)


@pytest.mark.parametrize("t", [2, 8])
def test_sequence_parallelism_divides_everything(name, t):
    sbh, scores = sizes(name, 1)  # equation 4
    assert kept(name, tensor=t, sequence_parallel=True) == sbh / t * (34 + scores)


@pytest.mark.parametrize("t", [2, 8])
def test_selective_recomputation_drops_the_scores(name, t):
    sbh, _ = sizes(name, 1)  # equation 6
    found = kept(name, tensor=t, sequence_parallel=True, recompute=Recompute.SELECTIVE)
    assert found == 34 * sbh / t


def test_full_recomputation_keeps_2_bytes_per_value(name):
    sbh, _ = sizes(name, 1)  # table 2
    assert kept(name, tensor=8, recompute=Recompute.FULL) == 2 * sbh


def test_flash_attention_keeps_one_sum_per_row_instead_of_scores(name):
    sbh, _ = sizes(name, 1)
    sums = 4 * entries()[name].shape.heads * SEQUENCE
    assert kept(name, attention=Attention.FLASH) == 34 * sbh + sums


def activations(setting, plan):
    return price_plan(setting, plan, played=False).memory.stages


def test_first_stage_of_a_pipeline_keeps_as_much_as_all_layers_of_one():
    first = activations(question("gpt-3-175b"), plan(tensor=8, pipeline=8))[0].activations
    sbh, scores = sizes("gpt-3-175b", 1)  # equation 5: L layers, p micro-batches of L / p each
    dropout = 8 * sbh  # of the embedding: a byte per value, p micro-batches (section 4.3)
    blocks = 96 * sbh * (10 + (24 + scores) / 8)
    assert first == blocks + dropout


@pytest.mark.parametrize(("p", "v"), [(8, 3), (8, 12), (4, 6)])
def test_interleaving_keeps_more_by_the_published_factor(p, v):
    setting = question("gpt-3-175b", batch=64, nodes=p)
    fields = {"tensor": 8, "pipeline": p, "sequence_parallel": True}
    plain, more = (
        activations(setting, plan(interleaving=chunks, **fields))[0].activations
        for chunks in (1, v)
    )
    assert more / plain == pytest.approx(1 + (p - 1) / (p * v), rel=1e-12)  # section 4.2.3


def state(setting, plan):
    """Bytes of weights, gradients and optimizer of the only stage, and its parameters."""
    held = hold(setting, table_of([plan]))
    found = stage_memory(setting, held, run=0)
    every = found.weights + found.gradients + found.optimizer
    return every[0], found.weights[0] / setting.workload.precision.value_bytes


@pytest.mark.parametrize(
    ("precision", "optimizer", "each"),
    [
        (Precision.FP16, Optimizer.ADAM, 18),  # korthikanti2022, section 4.1
        (Precision.BF16, Optimizer.ADAMW, 18),
        (Precision.FP32, Optimizer.ADAM, 16),
        (Precision.FP32, Optimizer.MOMENTUM, 12),
        (Precision.FP32, Optimizer.SGD, 8),
    ],
)
def test_model_state_takes_so_many_bytes_per_parameter(precision, optimizer, each):
    small = question("llama-2-7b", nodes=1, precision=precision, optimizer=optimizer)
    found, parameters = state(small, plan(data=8))
    assert found == each * parameters == each * 6_738_415_616


@pytest.mark.parametrize("d", [2, 8, 64])
def test_sharded_optimizer_takes_6_bytes_and_its_part_of_12(d):
    small = question("llama-2-7b")
    found, parameters = state(small, plan(data=d, sharding=Sharding.OPTIMIZER))
    assert found == parameters * (6 + 12 / d)


@few(25)
@given(question=questions())
def test_stages_hold_every_parameter_and_a_copy_of_tied_ones(question):
    setting, [plan] = question
    model = setting.workload.model
    whole = replace(plan, tensor=1, expert=1, expert_tensor=1)
    held = hold(setting, table_of([whole]))
    parameters = sum(
        held.stages(run)[0] * held.trained(run, holding)[0]
        for run in held.runs
        for holding in setting.holdings
    )
    copies = model.tied_trained if plan.pipeline > 1 else 0
    assert parameters == pytest.approx(model.trainable + copies, rel=1e-12)


@few(25)
@given(question=questions())
def test_no_stage_keeps_more_than_the_first_of_its_equals(question):
    setting, [plan] = question
    held = hold(setting, table_of([plan]))
    for run in held.runs:
        count = held.stages(run)[0]
        if count:
            first, last = (
                stage_memory(setting, held, run=run, later=later).total[0]
                for later in (0.0, count - 1.0)
            )
            assert last <= first


@few(25)
@given(question=questions(), recompute=st.sampled_from(Recompute))
def test_recomputation_never_keeps_more(question, recompute):
    setting, [plan] = question
    fields = {"tensor": plan.tensor, "micro_batch": plan.micro_batch}
    plans = [Plan(recompute=kind, **fields) for kind in (Recompute.NONE, recompute)]
    layers = hold(setting, table_of(plans)).layers
    everything, less = layers.kept[:, 0], layers.kept[:, -1]
    assert (less <= everything).all()
    np.testing.assert_allclose(less + layers.transient[:, -1], everything, rtol=1e-12)


def test_what_the_allocator_does_not_hand_out_is_a_share_and_a_reserve():
    small = question("llama-2-7b", nodes=1)
    found = stage_memory(small, hold(small, table_of([plan(data=8)])), run=0)
    known = DEFAULT.memory
    np.testing.assert_allclose(
        found.outside, known.fragmentation * found.allocated + known.reserve, rtol=1e-12
    )
    np.testing.assert_allclose(found.allocated + found.outside, found.total, rtol=1e-12)


def test_reserve_is_there_even_without_a_model_in_flight():
    small = question("llama-2-7b", nodes=1)
    found = stage_memory(small, hold(small, table_of([plan(data=8)])), run=0)
    known = DEFAULT.memory
    passing = found.buffers[0] - found.outside[0]
    assert passing == pytest.approx(known.temporaries * found.activations[0], rel=1e-6)
    assert found.outside[0] > known.reserve


def test_what_passes_through_a_layer_is_of_one_micro_batch_however_many_are_in_flight():
    staged = question("megatron-22b", nodes=2)
    few, many = (
        stage_memory(staged, hold(staged, table_of([plan(tensor=8, pipeline=2)])), run=0, later=k)
        for k in (1.0, 0.0)
    )
    assert many.activations[0] == pytest.approx(2 * few.activations[0])
    passing = [each.buffers[0] - each.outside[0] for each in (few, many)]
    assert passing[0] == pytest.approx(passing[1])


def adapters(storage, **habits):
    """Fine-tuning of adapters beside weights that are stored as asked, with a trainer's habits."""
    trainable = Trainable(lora=8, targets=("q_proj", "v_proj"), stored=storage)
    model = adapted(build("llama-2-7b", sequence=SEQUENCE), trainable)
    workload = Workload(model=model, global_batch=64, precision=Precision.BF16)
    return setting(workload, cluster("dgx-a100", nodes=1), DEFAULT, software=Software(**habits))


def parts(known, **fields):
    found = Plan(**fields)
    return stage_memory(known, hold(known, table_of([found])), run=0)


def test_product_whose_weights_are_stored_in_four_bits_unpacks_the_largest_of_them():
    """The gate and the other branch: 4096 x 22016 weights of two bytes."""
    packed, plain = (parts(adapters(storage)) for storage in (WeightStorage.NF4, None))
    unpacked = 4096 * 2 * 11008 * 2
    extra = (packed.buffers - packed.outside) - (plain.buffers - plain.outside)
    assert extra[0] == pytest.approx(unpacked)
    twice = parts(adapters(WeightStorage.NF4, unpacked=2))
    more = (twice.buffers - twice.outside) - (packed.buffers - packed.outside)
    assert more[0] == pytest.approx(unpacked)


def test_flat_parameters_have_gradients_though_almost_all_are_frozen():
    sharded = {"data": 8, "sharding": Sharding.PARAMETERS}
    own, flat = (parts(adapters(None, flat=flat), **sharded) for flat in (False, True))
    blocks = 32 * (4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096) + 32 * 2 * 8 * (4096 + 4096)
    assert flat.gradients[0] == pytest.approx(blocks * 4 / 8)
    assert own.gradients[0] < flat.gradients[0] / 100
    assert flat.optimizer[0] == own.optimizer[0]


def test_gradients_that_wait_are_whole():
    sharded = {"data": 8, "sharding": Sharding.PARAMETERS}
    soon, late = (parts(adapters(None, waits=waits), **sharded) for waits in (False, True))
    assert late.gradients[0] == pytest.approx(8 * soon.gradients[0])
    assert late.weights[0] == soon.weights[0]
