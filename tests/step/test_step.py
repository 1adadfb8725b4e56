"""Steps worked by hand: one device, two stages, two replicas, two tensor members."""

from dataclasses import replace

import numpy as np
import pytest
from tests.step.prices import parts, seconds

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device, Level, Link, Peak, Technology
from foretrain.plan.plan import Plan, Recompute, Sends, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.setting import setting
from foretrain.step.step import factors, step_times
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Matrices, Operator, OperatorKind, Size, Split, matmul
from foretrain.workload.workload import Optimizer, Precision, Workload

# Everything at its data sheet's rate, an eighth of a second per kernel, nothing hidden.
IDEAL = DEFAULT.changed(
    {
        "matrix.sustained": 1.0,
        "matrix.best": 1.0,
        "matrix.experts": 1.0,
        "matrix.fp32": 1.0,
        "traffic.sustained": 1.0,
        "host.launch": 0.0,
        "host.kernel": 0.0,
        "host.exchange": 0.0,
        "host.checkpoint": 0.0,
        "host.gap": 0.125,
        "links.nvlink": 1.0,
        "links.start": 0.0,
        "overlap.gradients": 0.0,
        "memory.reserve": 0.0,
        "step.spread": 0.0,
    }
)
# One unit that makes a tile of 256 x 128 and depth 384, its fill of 128 included, in a second.
DEVICE = Device(
    name="by hand",
    peak=Peak(fp32=2.0**25),
    memory=2.0**30,
    memory_bandwidth=2.0**20,
    units=1,
    power=1.0,
)
# Links that keep no order carry no protocol for short messages.
LINK = Link(latency=0.125, bandwidth=2.0**19, technology=Technology.NVLINK, ordered=False)

# 256 rows, 384 input and 128 output features, fp32. FLOP: 2 x 256 x 384 x 128.
DENSE = matmul(
    "dense",
    Matrices(rows=256, columns=128, depth=384),
    weights=384 * 128,
    kept=Size(values=256 * 384),
)
# Half a second forward and three quarters backward at 2^20 bytes/s.
NORM = Operator(
    name="norm",
    kind=OperatorKind.MEMORY,
    forward=Size(values=2.0**17),
    backward=Size(values=3 * 2.0**16),
    kept=Size(values=2.0**15, fixed=2.0**10),
)
# Forward: one tile in 1 s, the norm in 0.5 s, two launches.
FORWARD = 1.0 + 0.5 + 2 * 0.125
# Backward: gradients of the input, 256 x 384 of depth 128: three tiles of 2 x 256 x 128 x (128 +
# 128) FLOP; of the weights, 384 x 128 of depth 256: three tiles of 2 x 128 x 128 x (256 + 128);
# the norm in 0.75 s; three launches.
BACKWARD = 3 * 0.5 + 3 * 0.375 + 0.75 + 3 * 0.125
# 49,152 weights. Everyone reads and clears gradients: 8 bytes. The owner reads gradients (4), reads
# and writes two moments and the weight (24); there is no 16-bit copy to write. And a launch.
EVERYONE, OWNER = 49_152 * 8 / 2.0**20, 49_152 * 28 / 2.0**20
UPDATE = EVERYONE + OWNER + 0.125


def network(*operators, layers):
    """Equal layers that hand on 2^17 bytes."""
    layer = Layer(
        name="layer", operators=operators, repeats=layers, input=256 * 384.0, output=2.0**15
    )
    return Model(name="by hand", layers=(layer,))


def on(devices, *, batch, layers=1, operators=(DENSE, NORM)):
    level = Level(name="node", members=devices, link=LINK)
    workload = Workload(
        model=network(*operators, layers=layers),
        global_batch=batch,
        precision=Precision.FP32,
        optimizer=Optimizer.ADAM,
    )
    return setting(workload, Cluster(name="by hand", device=DEVICE, levels=(level,)), IDEAL)


def shown(setting, plan):
    """The parts that are not 0, and their sum by the function that knows no parts."""
    found = {name: value for name, value in parts(setting, plan).items() if value}
    return found, seconds(setting, plan)[0]


def test_the_arithmetic_above():
    assert (FORWARD, BACKWARD, UPDATE) == (1.75, 3.75, 1.8125)
    assert DENSE.flop == 2 * 256 * 384 * 128 == 25_165_824
    assert DENSE.backward_flop == 2 * DENSE.flop


def test_one_device_computes_twice_and_updates():
    found, step = shown(on(1, batch=2), Plan())
    assert found == {"forward": 3.5, "backward": 7.5, "update": UPDATE}
    assert step == 12.8125


def test_micro_batch_of_two_fills_the_same_kernels_with_more_rows():
    found, _ = shown(on(1, batch=2), Plan(micro_batch=2))
    # 512 rows: two tiles. Gradients of the input: six tiles; of the weights: depth 512 of it.
    assert found["forward"] == 2 * 1.0 + 2 * 0.5 + 2 * 0.125
    assert found["backward"] == 6 * 0.5 + 3 * 0.625 + 2 * 0.75 + 3 * 0.125


def test_product_that_waits_for_its_operands_takes_as_long_as_they_do():
    slow = replace(DEVICE, memory_bandwidth=2.0**18)
    old = on(1, batch=1, operators=(DENSE,))
    waiting = setting(old.workload, replace(old.cluster, device=slow), IDEAL)
    # Input, weights and output, 4 bytes each, at 2^18 bytes/s, in all three products; gradients of
    # weights are added to what is there, so they are read too.
    traffic = 4 * (256 * 384 + 384 * 128 + 256 * 128) / 2**18
    found, _ = shown(waiting, Plan())
    assert found["forward"] == traffic + 0.125
    assert found["backward"] == 2 * traffic + 4 * 384 * 128 / 2**18 + 2 * 0.125


def test_memory_of_one_device_is_sixteen_bytes_per_parameter_and_what_is_kept():
    held = hold(on(1, batch=1), table_of([Plan()]))
    assert held.layers.trained[0, 0, 0] == 49_152
    assert held.layers.kept[0, 0] == 4 * 256 * 384 + 4 * 2**15 + 2**10


def test_full_recomputation_repeats_the_forward_pass():
    found, step = shown(on(1, batch=2), Plan(recompute=Recompute.FULL))
    assert found == {"forward": 3.5, "backward": 7.5, "recompute": 3.5, "update": UPDATE}
    assert step == 16.3125


def test_two_stages_wait_and_send():
    # A send: 0.125 s and 2^17 bytes at 2^19 bytes/s, 0.375 s.
    #   stage 0   F 0-1.75  F -3.5                             B 8-11.75         B 13.5-17.25
    #   stage 1             F 2.125-3.875  B -7.625  F -9.375  B -13.125
    two = on(2, batch=2, layers=2)
    found, step = shown(two, Plan(pipeline=2))
    assert found == {
        "forward": 3.5,
        "backward": 7.5,
        "bubble": 5.5,
        "pipeline": 0.75,
        "update": UPDATE,
    }
    assert step == 17.25 + UPDATE


def test_two_stages_that_stand_still_while_they_send():
    # Stage 1 hands back its first gradient (7.625 to 8 s) before its second forward pass.
    two = on(2, batch=2, layers=2)
    overlapped, blocking = seconds(two, *(Plan(pipeline=2, sends=sends) for sends in Sends))
    assert blocking == overlapped + 0.375


def test_two_stages_of_two_chunks_wait_half_as_long():
    two = on(2, batch=4, layers=4)
    plain, interleaved = (parts(two, Plan(pipeline=2, interleaving=v)) for v in (1, 2))
    assert plain["bubble"] == 2 * (FORWARD + BACKWARD)
    assert interleaved["bubble"] == FORWARD + BACKWARD


def test_two_replicas_add_up_their_gradients():
    # 196,608 bytes around a ring of two: 2 x (0.125 + 196,608 / (2 x 2^19)); a tree takes 1 s.
    found, step = shown(on(2, batch=2), Plan(data=2))
    assert found == {"forward": 1.75, "backward": 3.75, "gradients": 0.625, "update": UPDATE}
    assert step == 7.9375


def test_two_owners_of_half_the_optimizer_scatter_and_gather():
    found, step = shown(on(2, batch=2), Plan(data=2, sharding=Sharding.OPTIMIZER))
    assert found == {
        "forward": 1.75,
        "backward": 3.75,
        "gradients": 0.3125,
        "update": EVERYONE + OWNER / 2 + 0.125,
        "parameters": 0.3125,
    }
    assert step == 7.28125


def split(operator, how):
    return replace(operator, split=how, units=2, unit="halves")


@pytest.mark.parametrize(("how", "values"), [(Split.COLUMNS, 256 * 384), (Split.DEPTH, 256 * 128)])
def test_two_tensor_members_add_up_what_the_split_leaves(how, values):
    dense = split(matmul("dense", DENSE.matrices, weights=DENSE.weights, split=how), how)
    two = on(2, batch=1, operators=(dense,))
    found, _ = shown(two, Plan(tensor=2))
    all_reduce = 2 * (0.125 + 4 * values / (2 * 2**19))
    assert found["tensor"] == all_reduce
    # Half the weights to read and to update.
    assert found["update"] == (EVERYONE + OWNER) / 2 + 0.125


def test_half_the_columns_take_what_a_product_of_that_shape_takes():
    dense = split(DENSE, Split.COLUMNS)
    halves = Matrices(rows=256, columns=64, depth=384)
    alone = matmul("half", halves, weights=384 * 64)
    one, _ = shown(on(1, batch=1, operators=(alone,)), Plan())
    two, _ = shown(on(2, batch=1, operators=(dense,)), Plan(tensor=2))
    assert (two["forward"], two["backward"]) == (one["forward"], one["backward"])


def test_reduction_hides_behind_the_last_backward_pass_where_it_may():
    # Four layers are four buckets, ready every 3.75 s; each is reduced in less.
    hiding = on(2, batch=2, layers=4)
    hidden = setting(
        hiding.workload, hiding.cluster, hiding.coefficients.changed({"overlap.gradients": 1.0})
    )
    everything = parts(hiding, Plan(data=2))["gradients"]
    # Only the last of four buckets is left when the backward pass ends.
    assert parts(hidden, Plan(data=2))["gradients"] == everything / 4
    late = replace(hidden, software=replace(hidden.software, late=True))
    assert parts(late, Plan(data=2))["gradients"] == everything


def test_what_happens_in_a_step_is_what_the_closed_form_prices():
    two = on(2, batch=2, layers=2)
    times = step_times(two, factors(two, hold(two, table_of([Plan(pipeline=2)]))))
    assert [stage.forward for stage in times.stages] == [FORWARD] * 2
    assert [stage.backward for stage in times.stages] == [BACKWARD] * 2
    assert (times.send, times.micro_batches, times.interleaving) == (0.375, 2, 1)


def test_twice_the_layers_take_twice_the_passes():
    one, two = (parts(on(1, batch=2, layers=layers), Plan()) for layers in (1, 2))
    passes = ("forward", "backward")
    np.testing.assert_array_equal(
        [two[name] for name in passes], [2 * one[name] for name in passes]
    )
