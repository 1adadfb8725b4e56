"""Detector: each cause shows on a run that has it, and none on a clean one."""

import pytest

import foretrain
from foretrain.errors import InputError
from foretrain.search.explain.finding import CAUSES, Measured
from foretrain.search.explain.findings import LOOKS, findings
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from

RESNET = {"model": "resnet-50", "image": 224, "precision": "fp32", "optimizer": "momentum"}
VGG = {**RESNET, "model": "vgg-16"}
LLAMA = {"model": "llama-3-8b", "sequence": 4096, "precision": "bf16", "optimizer": "adamw"}
ABCI = {"name": "abci"}


def asked(workload, batch, cluster, nodes, plan, **more):
    return study_from(
        {
            "workload": {**workload, "global_batch": batch, **more},
            "cluster": {**cluster, "nodes": nodes},
            "plan": plan,
        },
        "study",
    )


CLEAN = asked(RESNET, 1024, ABCI, 4, {"data": 16, "micro_batch": 64})
SPATIAL = asked(RESNET, 256, ABCI, 4, {"data": 4, "grid": [2, 2], "micro_batch": 64})
FILTER = asked(RESNET, 64, ABCI, 4, {"tensor": 16, "data": 1, "micro_batch": 64})


def ids(study, **more):
    return {each.kind.id for each in findings(study, **more)}


def one(study, name, **more):
    [found] = [each for each in findings(study, **more) if each.kind.id == name]
    return found


def parts(study, **factors):
    """The predicted parts of a step, some of them so many times as long."""
    predicted = foretrain.estimate(study, played=False).parts
    return {name: factor * getattr(predicted, name) for name, factor in factors.items()}


def test_clean_run_has_no_finding():
    step = foretrain.estimate(CLEAN, played=False)
    same = {
        name: getattr(step.parts, name) for name in ("forward", "backward", "update", "gradients")
    }
    assert findings(CLEAN) == ()
    measured = Measured(step_time=step.step_time, parts=same, allocated=9.8e9, reserved=10e9)
    assert findings(CLEAN, measured=measured) == ()


def test_gradients_of_a_large_model_on_a_slow_network_are_found():
    study = asked(VGG, 64, {"name": "ethernet-100g"}, 4, {"micro_batch": 2})
    found = one(study, "gradient-exchange")
    assert found.share > 0.1
    assert 0 < found.remedy.gain < 1
    assert found.remedy.plan != foretrain.estimate(study, played=False).plan


def test_exchanges_in_every_layer_are_found_and_fewer_members_help():
    found = one(FILTER, "layer-wise-collectives")
    assert found.share > 0.5
    assert found.remedy.plan.tensor < 16
    quicker = foretrain.estimate(FILTER, played=False).step_time * (1 - found.remedy.gain)
    other = asked(
        RESNET,
        64,
        ABCI,
        4,
        {
            "tensor": found.remedy.plan.tensor,
            "data": found.remedy.plan.data,
            "micro_batch": found.remedy.plan.micro_batch,
        },
    )
    assert foretrain.estimate(other, played=False).step_time <= quicker * (1 + 1e-9)


def test_messages_through_the_host_are_found_by_measurement():
    measured = Measured(parts=parts(SPATIAL, halo=4.0))
    found = one(SPATIAL, "host-path", measured=measured)
    assert found.measured_ratio == pytest.approx(4.0)
    assert found.term == "halo"
    assert "GPUDirect" in found.remedy.change
    assert "host-path" not in ids(SPATIAL, measured=Measured(parts=parts(SPATIAL, halo=1.0)))


def test_messages_through_the_host_are_found_by_the_coefficients_of_a_framework():
    staged = DEFAULT.changed({"links.staged": 1e-9, "links.staged_start": 3e-3})
    found = one(SPATIAL, "host-path", coefficients=staged)
    slow = foretrain.estimate(SPATIAL, coefficients=staged, played=False)
    quick = foretrain.estimate(SPATIAL, played=False)
    assert found.remedy.gain == pytest.approx(1 - quick.step_time / slow.step_time)
    assert "host-path" not in ids(SPATIAL)


def test_collectives_that_take_longer_than_links_give_are_found():
    measured = Measured(parts=parts(FILTER, tensor=2.0))
    found = one(FILTER, "congestion", measured=measured)
    assert found.measured_ratio == pytest.approx(2.0)


def test_groups_that_share_a_link_are_found_and_another_order_helps():
    plan = {
        "data": 4,
        "tensor": 4,
        "micro_batch": 16,
        "order": ["data", "context", "tensor", "pipeline"],
    }
    study = asked(RESNET, 64, ABCI, 4, plan)
    found = one(study, "congestion")
    assert found.measured_ratio is None
    assert found.remedy.plan.order[0] == "tensor"
    kept = {**plan, "order": ["tensor", "context", "data", "pipeline"]}
    assert "congestion" not in ids(asked(RESNET, 64, ABCI, 4, kept))


def test_input_that_comes_through_one_leader_is_found():
    assert (
        one(CLEAN, "input-staging", measured=Measured(step_time=0.4, parts={"input": 0.2})).share
        == 0.5
    )


def test_copies_that_crowd_a_device_are_found_and_sharding_helps():
    study = asked(LLAMA, 64, {"name": "hgx-h200"}, 1, {"data": 8, "micro_batch": 1})
    found = one(study, "redundant-copies")
    assert found.remedy.plan.sharding > 0
    assert found.share > 0.1


def test_memory_that_is_taken_and_not_handed_out_is_found():
    found = one(CLEAN, "fragmentation", measured=Measured(allocated=8e9, reserved=12e9))
    assert found.share == pytest.approx(1 / 3)
    assert found.measured_ratio == pytest.approx(1.5)


def test_optimizer_of_a_large_model_with_a_small_batch_is_found_and_sharding_helps():
    study = asked(
        {**LLAMA, "sequence": 128},
        8,
        {"name": "hgx-h200"},
        1,
        {"data": 4, "tensor": 2, "micro_batch": 2},
    )
    found = one(study, "weight-update")
    assert found.remedy.plan.sharding > 0


def test_stages_of_different_lengths_are_found_and_a_balanced_cut_helps():
    plan = {"pipeline": 4, "data": 1, "micro_batch": 8, "cut": [[1, 1, 1, 13]]}
    study = asked(RESNET, 64, ABCI, 1, plan)
    found = one(study, "stage-imbalance")
    assert found.remedy.plan.cut == "balanced"


def test_compute_that_does_not_shrink_is_found_by_measurement_and_by_coefficient():
    measured = Measured(parts=parts(FILTER, forward=3.0, backward=3.0))
    assert one(FILTER, "compute-redundancy", measured=measured).measured_ratio == pytest.approx(3.0)
    whole = DEFAULT.changed({"pictures.unshrunk": 1.0})
    little, much = (
        {each.kind.id: each.share for each in findings(FILTER, coefficients=each_set)}
        for each_set in (DEFAULT, whole)
    )
    assert much["compute-redundancy"] > little.get("compute-redundancy", 0.0)


@pytest.mark.parametrize(
    ("study", "named"),
    [
        (asked(RESNET, 64, ABCI, 16, {"tensor": 64, "data": 1, "micro_batch": 64}), "64 filters"),
        (asked(RESNET, 64, ABCI, 4, {"grid": [4, 4], "data": 1, "micro_batch": 64}), "7 pixels"),
        (asked(RESNET, 16, ABCI, 4, {"data": 16, "micro_batch": 1}), "16 samples"),
    ],
    ids=["filter", "spatial", "data"],
)
def test_degrees_that_cannot_grow_are_found_with_what_there_is_too_little_of(study, named):
    assert named in one(study, "scaling-limit").evidence


def test_every_cause_is_looked_for():
    assert [kind.id for kind in CAUSES] == list(LOOKS)
    assert len(CAUSES) == 11


def test_measured_parts_are_parts_of_a_step():
    with pytest.raises(InputError, match="a step has no part waiting"):
        Measured(parts={"waiting": 1.0})
    with pytest.raises(InputError, match="at least 0"):
        Measured(step_time=-1.0)


def test_plan_that_cannot_run_is_told():
    with pytest.raises(InputError, match="64 filters"):
        findings(asked(RESNET, 64, ABCI, 17, {"tensor": 68, "data": 1, "micro_batch": 64}))
