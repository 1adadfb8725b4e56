"""Tensor fusion: one start-up for all gradients, or one for each tensor of them."""

from dataclasses import replace

import pytest
from tests.step.prices import parts

from foretrain.plan.plan import Plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import Software
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Precision, Workload

# Gradients alone: no replica waits for another, nothing is hidden.
PLAIN = {"picture_steps.straggling": 0.0, "step.spread": 0.0, "overlap.gradients": 0.0}
# No protocol for short messages is worth its start.
PLAIN |= {"protocols.ll_start": 1.0, "protocols.ll128_start": 1.0}
WORKLOAD = Workload(model=build("vgg-16", image=224), global_batch=16, precision=Precision.FP32)
RING = replace(cluster("abci", nodes=4), collectives=(("all-reduce", "single-ring"),))
SHARED = Plan(data=4, tensor=4, micro_batch=4)
ALONE = Plan(data=16, micro_batch=1)


def gradients(plan, *, fuses):
    known = setting(WORKLOAD, RING, DEFAULT.changed(PLAIN), software=Software(fuses=fuses))
    return parts(known, plan)["gradients"]


def test_without_fusion_every_tensor_of_a_shared_replica_waits_for_its_own_start():
    # 13 convolutions and 3 products, each a matrix and a bias: 31 more rings of 4 nodes, around to
    # add up and around to hand out, over links of 30.31 us.
    more = 31 * (2 * 3 * 30.31e-6 + DEFAULT.links.start)
    found = gradients(SHARED, fuses=False) - gradients(SHARED, fuses=True)
    assert found == pytest.approx(more, rel=1e-9)


def test_replicas_of_one_device_reduce_everything_together():
    assert gradients(ALONE, fuses=False) == gradients(ALONE, fuses=True)


@pytest.mark.parametrize(
    ("network", "tensors"), [("resnet-50", 161), ("resnet-152", 467), ("vgg-16", 32)]
)
def test_networks_have_the_tensors_that_frameworks_count(network, tensors):
    model = build(network, image=224)
    counts = (layer.repeats * each.tensors for layer in model.layers for each in layer.operators)
    assert sum(counts) == tensors
