"""Studies: a file becomes the nouns that it describes, and every default is told."""

import tomllib
from datetime import date

import pytest

from foretrain.cluster.device import Technology
from foretrain.plan.plan import AXES, ContextExchange, Offload, Recompute, Schedule, Sends, Sharding
from foretrain.plan.study import CheckpointMode, JobPlan, Limit, Objective, Writes
from foretrain.study.catalogue import cluster
from foretrain.study.study import read_study, study_from
from foretrain.workload.operator import Attention
from foretrain.workload.workload import BatchRamp, Data, Evaluation, Optimizer, Precision

LLAMA = """
[workload]
model = "llama-3-70b"
global_batch = 1024
sequence = 8192
amount = "15 T tokens"

[cluster]
name = "dgx-h100"
nodes = 64

[plan]
tensor = [4, 8]
micro_batch = 1
recompute = "selective"

[search]
limit = { devices = 512, cost = "2 MUSD", deadline = "30 d" }
"""
RESNET = """
[workload]
model = "resnet-50"
global_batch = 2048
image = 224
precision = "fp16"
optimizer = "momentum"
amount = "90 epochs"
data = { samples = 1281167 }

[cluster]
name = "dgx-1-v100"
nodes = 1
"""
INLINE = """
[workload]
model = "gpt-3-175b"
global_batch = 8
sequence = 2048

[cluster]
name = "mine"
price = "2.5 USD/h"

[cluster.device]
memory = "80 GB"
memory_bandwidth = "2 TB/s"
units = 100
power = "400 W"
peak = { fp32 = "20 TFLOP/s", bf16 = "300 TFLOPS" }

[[cluster.levels]]
name = "node"
members = 4
link = { latency = "9 us", bandwidth = "400 Gb/s", technology = "pcie", duplex = false }

[[cluster.levels]]
name = "fabric"
members = 2
link = { latency = "20 us", bandwidth = "100 Gb/s", technology = "ethernet", kind = "tree" }
"""


def study(text, where="study.toml", **sections):
    document = tomllib.loads(text)
    for name, keys in sections.items():
        document.setdefault(name, {}).update(keys)
    return study_from(document, where)


def test_file_becomes_the_nouns_that_it_describes(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(LLAMA)
    found = read_study(path)
    assert found.workload.model.name == "llama-3-70b"
    assert found.workload.model.tokens == 8192
    assert found.workload.samples == 15e12 / 8192
    assert found.cluster == cluster("dgx-h100", nodes=64)
    assert found.space.tensor == (4, 8)
    assert found.space.micro_batch == (1,)
    assert found.space.recompute == (Recompute.SELECTIVE,)
    assert found.space.data is None
    assert found.limit == Limit(devices=512, cost=2e6, deadline=30 * 86400.0)


def test_every_default_is_told():
    document = tomllib.loads(LLAMA)
    assert study_from(document, "study", today=date(2025, 7, 1)).assumed == (
        "workload.precision = bf16",
        "workload.optimizer = adamw",
        "plan.schedule = 1f1b",
        "plan.sends = overlapped",
        "cluster.price = 6.88 USD/h per device (the catalogue's example of 2025-06)",
    )


def test_what_the_study_says_is_no_default():
    said = study(
        LLAMA,
        workload={"precision": "bf16", "optimizer": "adamw"},
        cluster={"price": "3 USD/h"},
        plan={"attention": "flash", "schedule": "1f1b", "sends": "overlapped"},
        search={"objective": "time"},
    )
    assert said.assumed == ()


def test_kernels_are_assumed_only_for_models_that_have_them():
    assert "plan.attention" not in " ".join(study(RESNET).assumed)


def test_sends_are_assumed_only_where_stages_send():
    single = study(LLAMA, plan={"pipeline": 1})
    assert "plan.sends" not in " ".join(single.assumed)


def test_keys_that_are_not_priced_yet_may_say_what_is_priced():
    neutral = {
        "workload": {"trainable": "all", "updates": "synchronous", "batch_norm": "local"},
    }
    assert study(LLAMA, **neutral) == study(LLAMA)


def test_network_of_images_counts_epochs():
    found = study(RESNET).workload
    assert found.samples == 90 * 1281167
    assert found.epoch_samples == 1281167
    assert found.precision is Precision.FP16
    assert found.optimizer is Optimizer.MOMENTUM


def test_job_is_read_with_its_units_and_its_defaults_are_told():
    assert study(LLAMA).job is None
    found = study(LLAMA, job={"checkpoint": "30 min", "restart": "5 min"})
    assert found.job == JobPlan(checkpoint=1800.0, restart=300.0)
    assert study(LLAMA, job={}).job == JobPlan(
        checkpoint=Writes.OPTIMAL, mode=CheckpointMode.BLOCKING
    )
    assert "job.checkpoint_mode = blocking" in found.assumed
    assert "job.checkpoint = optimal" in study(LLAMA, job={}).assumed


def test_data_evaluation_and_ramp_are_read_in_samples():
    found = study(
        RESNET,
        workload={
            "data": {"samples": 1281167, "sample_bytes": "110 kB", "prepare": "9 ms"},
            "evaluation": {"every": "1 epoch", "samples": "50 k samples"},
            "batch_ramp": {"start": 512, "increment": 256, "samples": 1_000_000},
        },
    ).workload
    assert found.data == Data(samples=1281167, sample_bytes=110e3, prepare=0.009)
    assert found.evaluation == Evaluation(every=1281167, samples=50_000)
    assert found.ramp == BatchRamp(start=512, increment=256, samples=1_000_000)


@pytest.mark.parametrize(
    ("amount", "samples"),
    [("300 G tokens", 300e9 / 8192), ("1 M samples", 1e6), ("2000 steps", 2000 * 1024)],
)
def test_amount_of_training_is_counted_in_samples(amount, samples):
    assert study(LLAMA, workload={"amount": amount}).workload.samples == pytest.approx(samples)


def test_cluster_may_be_described_in_full():
    found = study(INLINE).cluster
    node, fabric = (level.link for level in found.levels)
    assert (found.name, found.devices, found.nodes) == ("mine", 8, 2)
    assert found.device.peak.bf16 == 300e12
    assert (node.bandwidth, node.duplex, node.technology) == (50e9, False, Technology.PCIE)
    assert fabric.latency == 20e-6
    assert found.price == 2.5 / 3600


def test_entry_of_the_catalogue_is_replaced_key_by_key():
    entry = {"device": "A100 SXM 40GB", "price": "1 USD/h", "node_power": "5 kW"}
    found = study(LLAMA, cluster={"name": "dgx-a100", **entry}).cluster
    assert found.device.name == "a100-sxm-40gb"
    assert (found.price, found.node_power) == (1 / 3600, 5000.0)
    assert found.levels == cluster("dgx-a100", nodes=64).levels


def test_share_of_the_host_gives_the_power_of_a_node():
    assert study(INLINE).cluster.node_power is None
    assert study(INLINE, cluster={"power": {"host": 0.2}}).cluster.node_power == 4 * 400 / 0.8


def test_own_levels_may_leave_the_number_of_nodes_to_one_key():
    levels = tomllib.loads(INLINE)["cluster"]["levels"]
    del levels[1]["members"]
    own = {"levels": levels, "nodes": 16, "name": "mine", "device": "h100-sxm"}
    found = study(LLAMA, cluster={**own, "price": "3 USD/h"}).cluster
    assert (found.nodes, found.devices) == (16, 64)


def test_short_forms_mean_the_same_as_full_names():
    short = {"tp": 8, "pp": 4, "dp": 16, "mbs": 2, "vpp": 5, "sp": True}
    full = {
        "tensor": 8,
        "pipeline": 4,
        "data": 16,
        "micro_batch": 2,
        "interleaving": 5,
        "sequence_parallel": True,
    }
    text = LLAMA.replace("tensor = [4, 8]\nmicro_batch = 1\n", "")
    assert study(text, plan=short).space == study(text, plan=full).space


def test_names_in_a_plan_become_choices():
    plan = {
        "sharding": ["none", "optimizer"],
        "attention": "plain",
        "sends": "blocking",
        "schedule": ["1f1b", "zero_bubble"],
        "exchange": "all_to_all",
        "offload": "both",
        "cut": ["balanced", [9, 10, 10, 9]],
        "order": ["data", "tensor", "pipeline"],
    }
    space = study(LLAMA, plan=plan).space
    assert space.sharding == (Sharding.NONE, Sharding.OPTIMIZER)
    assert space.attention == (Attention.PLAIN,)
    assert space.sends == (Sends.BLOCKING,)
    assert space.schedule == (Schedule.ONE_F_ONE_B, Schedule.ZERO_BUBBLE)
    assert space.exchange == (ContextExchange.ALL_TO_ALL,)
    assert space.offload == (Offload.BOTH,)
    assert space.cut == ("balanced", (9, 10, 10, 9))
    assert space.order == (("data", "tensor", "context", "pipeline"),)


def test_numbers_alone_are_one_cut():
    assert study(LLAMA, plan={"cut": [40, 40]}).space.cut == ((40, 40),)


def test_order_may_be_a_list_of_orders():
    orders = [list(AXES), ["pipeline", "tensor", "context", "data"]]
    assert study(LLAMA, plan={"order": orders}).space.order == tuple(map(tuple, orders))


def test_context_stands_beside_tensor_where_an_order_leaves_it_out():
    found = study(LLAMA, plan={"order": ["pipeline", "tensor", "data"]}).space.order
    assert found == (("pipeline", "tensor", "context", "data"),)


def test_objective_is_read():
    assert study(LLAMA, search={"objective": "cost"}).objective is Objective.COST


def test_byte_order_mark_and_line_ends_of_windows_do_not_matter(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + LLAMA.replace("\n", "\r\n").encode())
    assert read_study(path) == study(LLAMA)
