"""One device asked for as one device: it has no link, and none must be made up."""

from dataclasses import replace

import pytest

import foretrain
from foretrain.cluster.device import Link, Technology
from foretrain.cluster.offer import divisible
from foretrain.errors import InputError, NoPlanFits
from foretrain.study.study import study_from

WORKLOAD = {"model": "gpt-2-124m", "global_batch": 8, "sequence": 1024}
PLAN = {"micro_batch": 1}


def asked(**cluster):
    return study_from({"workload": WORKLOAD, "cluster": cluster, "plan": PLAN}, "study")


def test_a_device_and_one_node_are_enough():
    study = asked(device="rtx-4090", nodes=1, price="0.4 USD/h")
    assert (study.cluster.devices, study.cluster.nodes) == (1, 1)
    assert study.cluster.device.name == "rtx-4090"
    assert foretrain.estimate(study).cost_per_step > 0


@pytest.mark.parametrize("verb", [foretrain.estimate, foretrain.search])
def test_no_answer_depends_on_a_link_that_one_device_does_not_have(verb):
    study = asked(device="rtx-4090", nodes=1)
    link = Link(latency=1.0, bandwidth=1.0, technology=Technology.ETHERNET)
    levels = (replace(study.cluster.levels[0], link=link),)
    other = replace(study, cluster=replace(study.cluster, levels=levels))
    if verb is foretrain.estimate:
        assert verb(study).step_time == verb(other).step_time
        assert verb(study).memory == verb(other).memory
    else:
        ours, theirs = verb(study), verb(other)
        assert [each.plan for each in ours.ranking] == [each.plan for each in theirs.ranking]
        assert ours.best.estimate.step_time == theirs.best.estimate.step_time


def test_where_one_device_is_too_small_no_further_node_is_proposed():
    study = asked(device="rtx-4090", nodes=1)
    assert not divisible(study.cluster)
    larger = study_from(
        {
            "workload": {**WORKLOAD, "model": "gpt-3-13b"},
            "cluster": {"device": "rtx-4090", "nodes": 1},
        },
        "study",
    )
    with pytest.raises(NoPlanFits) as raised:
        foretrain.search(larger)
    assert "cluster.nodes" not in str(raised.value)


@pytest.mark.parametrize(
    "cluster",
    [
        {"device": "rtx-4090", "nodes": 2},
        {"device": "rtx-4090", "nodes": [1, 2]},
        {"device": "rtx-4090"},
        {"device": "rtx-4090", "nodes": 1, "name": "dgx-h10O"},
    ],
)
def test_several_devices_or_a_name_that_is_not_known_still_want_levels(cluster):
    with pytest.raises(InputError, match=r"cluster\.levels: is missing.*One device alone"):
        asked(**cluster)
