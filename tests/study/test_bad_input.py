"""Bad input: every mistake of a study in one go, with its key, the bad value and what is legal."""

import pytest

from foretrain.errors import InputError
from foretrain.study.study import read_study, study_from

MANY = """
[workload]
model = "lama-3-70b"
global_batch = 1024
global_batch = 12
sequence = "8192"
amount = "15 T tokes"
optimiser = "adamw"
data = { sample_bytes = 110, samples = -3 }
evaluation = { every = "0 steps", samples = 5, evry = 3 }
batch_ramp = { start = 0, increment = 16 }

[cluster]
name = "dgx-h10"
nodes = "64"
price = "3 USD"
node_power = nan

[plan]
tp = [4, true]
mbs = 0
recompute = "selectve"
order = ["tensor", "data"]

[plan]
dp = 8

[job]
checkpoint = "optimum"
checkpoint_mode = "async"
restart = 600

[search]
objective = "tme"
limit = { devices = 512, cost = "2", deadline = -1 }

[serach]
"""
MANY_TOLD = [
    "line 5: the key 'global_batch' was written before",
    "line 25: the table [plan] was written before",
    "serach: unknown key. Did you mean 'search'? Known: workload, cluster, trainer, plan, job, "
    "search, scenario, catalogue.",
    "workload.model: unknown model 'lama-3-70b'. Did you mean 'llama-3-70b'? 'foretrain cat",
    "workload.sequence: '8192' is not a whole number.",
    "workload.amount: '15 T tokes' is not an amount of training. Did you mean 'tokens'?",
    "workload.data.samples: -3 is negative",
    "workload.data.sample_bytes: 110 has no unit; wanted a size.",
    "workload.evaluation.every: '0 steps' is no training",
    "workload.evaluation.evry: unknown key. Did you mean 'every'? Known: every, samples.",
    "workload.batch_ramp.start: 0 is not between 1 and",
    "workload.batch_ramp.samples: is missing.",
    "workload.optimiser: unknown key. Did you mean 'optimizer'?",
    "cluster.name: unknown cluster 'dgx-h10'. Did you mean 'dgx-h100'? 'foretrain catalogue' lists",
    "cluster.nodes: '64' is not a whole number.",
    "cluster.price: '3 USD' is an amount of money; wanted a price per time.",
    "cluster.node_power: nan has no unit; wanted a power.",
    "plan.tensor: true is not a whole number.",
    "plan.micro_batch: 0 is not between 1 and",
    "plan.recompute: unknown 'selectve'. Did you mean 'selective'? Known: none, selective, full.",
    "plan.order: ['tensor', 'data'] does not name tensor, context, data, pipeline once each",
    "job.checkpoint: unknown 'optimum'. Did you mean 'optimal'? Known: optimal, never, or a time",
    "job.checkpoint_mode: unknown 'async'. Known: blocking, asynchronous.",
    "job.restart: 600 has no unit; wanted a time.",
    "search.objective: unknown 'tme'. Did you mean 'time'? Known: time, cost, energy, memory.",
    "search.limit.cost: '2' has no unit; wanted an amount of money.",
    "search.limit.deadline: -1 has no unit; wanted a time.",
]
TOGETHER = """
[workload]
model = "llama-3-70b"
global_batch = 100
sequence = 8192
amount = "9 epochs"

[cluster.device]
memory = "80 GB/s"
memory_bandwidth = "2 TB/s"
units = true
power = "-400 W"
peak = { fp32 = "1e400 TFLOP/s", bf61 = "300 TFLOP/s" }

[[cluster.levels]]
name = "node"
members = 8
link = { latency = "9 us", bandwidth = "400 Gb", technology = "nvlink" }

[[cluster.levels]]
name = "fabric"
members = 4
link = { latency = 9, bandwidth = "400 gb/s", technology = "eternet" }

[plan]
data = 3
tensor = 5
pipeline = 99
"""
TOGETHER_TOLD = [
    "workload.amount: epochs need the size of the data set: write workload.data.samples.",
    "cluster.device.peak.fp32: '1e400 TFLOP/s' is not finite",
    "cluster.device.peak.bf61: unknown key. Did you mean 'bf16'? Known: fp32, tf32, fp16, bf16,",
    "cluster.device.memory: '80 GB/s' is a bandwidth; wanted a size.",
    "cluster.device.units: true is not a whole number.",
    "cluster.device.power: '-400 W' is negative",
    "cluster.levels[0].link.bandwidth: '400 Gb' is a size; wanted a bandwidth.",
    "cluster.levels[1].link.latency: 9 has no unit; wanted a time.",
    "cluster.levels[1].link.bandwidth: '400 gb/s' has the unknown unit 'gb/s'",
    "cluster.levels[1].link.technology: unknown 'eternet'. Did you mean 'ethernet'?",
    "plan.data: 3 replicas do not divide the 100 samples of workload.global_batch.",
    "plan.tensor: 5 cannot split",
    "plan.pipeline: 99 stages do not divide the 80 layers of llama-3-70b.",
]
GOOD = {
    "workload": {"model": "llama-3-70b", "global_batch": 1024, "sequence": 8192},
    "cluster": {"name": "dgx-h100", "nodes": 64},
}
DECODER = {"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 100}


def refusal_of_file(path):
    with pytest.raises(InputError) as refusal:
        read_study(path)
    return str(refusal.value)


def refusal(**sections):
    """What is said about a good study with some keys changed; None takes a key away."""
    document = {name: dict(keys) for name, keys in GOOD.items()}
    for name, keys in sections.items():
        changed = {**document.get(name, {}), **keys}
        document[name] = {key: value for key, value in changed.items() if value is not None}
    with pytest.raises(InputError) as found:
        study_from(document, "study")
    return str(found.value)


@pytest.mark.parametrize(("text", "told"), [(MANY, MANY_TOLD), (TOGETHER, TOGETHER_TOLD)])
def test_every_mistake_is_told_in_one_go(tmp_path, text, told):
    path = tmp_path / "study.toml"
    path.write_text(text)
    head, *lines = refusal_of_file(path).splitlines()
    assert head == f"{path} has {len(told)} problems."
    assert len(lines) == len(told)
    for line, start in zip(lines, told, strict=True):
        assert line.startswith(f"- {start}")


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"workload": {"model": None}}, "study: workload.model: is missing."),
        ({"workload": {"model": "a/config.json"}}, "is a file, which only a study in a file can"),
        (
            {"workload": {"model": "meta-llama/Llama-3.1-8"}},
            "is a repository whose sizes foretrain does not know. Did you mean 'meta-llama/Llama-3",
        ),
        (
            {"workload": {"model": "google/gemma-3-4b-it"}},
            "Download its config.json and write the path of that.",
        ),
        ({"workload": {"model": "a/b.py"}}, "is nothing that foretrain reads"),
        ({"workload": {"model": "a/b:build"}}, "is nothing that foretrain reads"),
        ({"workload": {"model": {"parameters": "25 M"}}}, "model: flop: is missing. activations:"),
        ({"workload": {"model": 3}}, "3 is no model. Write the name of one, such as"),
        ({"workload": {"sequence": None}}, "reads tokens: give sequence"),
        ({"workload": {"global_batch": 0}}, "workload.global_batch: 0 is not between 1 and"),
        ({"workload": {"global_batch": 1024.0}}, "1024.0 is not a whole number."),
        ({"workload": {"gbs": 4}}, "workload.gbs: global_batch was written before; write it once."),
        ({"workload": {"precision": "bf61"}}, "unknown 'bf61'. Did you mean 'bf16'?"),
        ({"workload": {"amount": "0 tokens"}}, "'0 tokens' is no training"),
        ({"workload": {"amount": 5}}, "5 has no unit. Write for example"),
        ({"workload": {"data": 5}}, "workload.data: 5 is not a table of keys and values."),
        ({"workload": {"trainable": "most"}}, "'most' does not say what is trained. Write"),
        ({"workload": {"trainable": {"lra": 16}}}, "trainable: lra: unknown key. Did you mean"),
        ({"workload": {"trainable": {"lora": 0}}}, "trainable: lora: 0 is not between 1 and"),
        ({"workload": {"trainable": {"frozen": 81}}}, "has 80 layers; 81 cannot be frozen"),
        (
            {"workload": {"trainable": {"quantised": "nf4"}}},
            ": targets, quantised and dropout need adapters",
        ),
        ({"workload": {"gradients": "int9"}}, "gradients: unknown 'int9'. Did you mean 'int8'?"),
        ({"workload": {"gradients": {"top": 1}}}, "gradients: top: 1 has no unit; wanted a share"),
        ({"workload": {"gradients": {"top": "0 %"}}}, "gradients.top must be above 0 %"),
        ({"workload": {"gradients": {}}}, "is no codec. Write { top"),
        ({"workload": {"expert_capacity": 1.25}}, "it has no experts; leave out expert_capacity"),
        ({"workload": {"expert_imbalance": "2"}}, "expert_imbalance: '2' is not a number above 0"),
        ({"workload": {"updates": {"stale": 4}}}, "does not price updates that are not synchron"),
        ({"workload": {"workers": 1}}, "workload.workers: foretrain does not price"),
        ({"workload": {"data": {"samples": 5, "prepare": 9}}}, "9 has no unit; wanted a time."),
        (
            {"workload": {"evaluation": {"every": "1 epoch", "samples": 5}}},
            "workload.evaluation.every: epochs need the size of the data set",
        ),
        (
            {"workload": {"batch_ramp": {"start": 16, "increment": 25, "samples": 5}}},
            "workload.batch_ramp: 16 samples do not grow to the",
        ),
        ({"cluster": {"nodes": None}}, "cluster.nodes: is missing."),
        ({"cluster": {"nodes": True}}, "cluster.nodes: true is not a whole number."),
        ({"cluster": {"name": None}}, "cluster.name: is missing. Name one that"),
        ({"cluster": {"node": 3}}, "Did you mean 'nodes'? Known: nodes, prices, name, device"),
        ({"cluster": {"device": "h2000"}}, "cluster.device: unknown device 'h2000'."),
        ({"cluster": {"device": 3}}, "cluster.device: 3 is not a table of keys and values."),
        ({"cluster": {"levels": []}}, "needs at least one level of links"),
        ({"cluster": {"levels": 3}}, "cluster.levels: 3 is not a list."),
        ({"cluster": {"name": "dgx-1-v100"}}, "v100-sxm2-16gb does not compute in bf16."),
        ({"plan": {"tensor": []}}, "plan.tensor: an empty list leaves no choice"),
        ({"plan": {"tensor": [2, 2]}}, "plan.tensor: [2, 2] names a choice twice."),
        ({"plan": {"sequence_parallel": 1}}, "1 is neither true nor false."),
        ({"plan": {"sharding": 1}}, "unknown 1. Known: none, optimizer, gradients, parameters."),
        ({"plan": {"context": True}}, "plan.context: true is not a whole number."),
        (
            {"plan": {"schedule": "dualpipe"}},
            "'dualpipe'. Bidirectional schedules are not priced; the nearest is 'zero_bubble'. Kno",
        ),
        (
            {"plan": {"sharding": "HSDP"}},
            "'HSDP'. Replicas that share copies within groups are two keys",
        ),
        (
            {"plan": {"sharding": "SHARD_GRAD_OP"}},
            "'parameters' and reshard = false. Known: none, opt",
        ),
        ({"plan": {"sharding": "zero4"}}, "unknown 'zero4'. Known: none, optimizer"),
        ({"plan": {"zero": 3}}, "plan.zero: unknown key; write sharding: 'optimizer' (ZeRO-1), 'g"),
        ({"plan": {"fsdp": True}}, "plan.fsdp: unknown key; write sharding = 'parameters'."),
        (
            {"cluster": {"name": "ethernet-100g"}, "plan": {"offload": "optimizer"}},
            "needs a host: describe [cluster.host]: cores, memory, memory_bandwidth, device_bandw",
        ),
        ({"plan": {"cut": [8.5, 8, 8, 7.5]}}, "are whole numbers of at least 1, not 8.5 or 7.5."),
        ({"plan": {"cut": [[40, 40], [0, 80]]}}, "are whole numbers of at least 1, not 0."),
        (
            {"workload": {"amount": "10 B tokens"}},
            "'B' means bytes here; billions are G, as in '10 ",
        ),
        (
            {"workload": {"model": {"parameters": "7 B", "flop": "1 GFLOP", "activations": "1 M"}}},
            "parameters: '7 B': 'B' means bytes here; billions are G, as in '7 G'.",
        ),
        (
            {
                "workload": {
                    "model": {"parameters": "7 G", "flop": "99 GFLOP", "activations": "1 M"},
                    "sequence": None,
                },
                "plan": {"tensor": 2},
            },
            "plan.tensor: a model known by its totals has no tensor axis; leave plan.tensor out.",
        ),
        (
            {
                "workload": {"model": "resnet-50", "sequence": None, "image": 224},
                "plan": {"tp": 128},
            },
            "plan.tensor: 128 devices cannot share the 64 filters of 'stem' of layer 'stem' or "
            "the 64 channels of 'reduce' of layer 'group 2 first' of resnet-50. Take fewer, or end "
            "the divided front before it: plan.split.",
        ),
        (
            {
                "workload": {
                    "model": "mixtral-8x7b",
                    "expert_capacity": 1.25,
                    "expert_imbalance": 1.2,
                }
            },
            "expert_imbalance has no meaning beside expert_capacity",
        ),
        (
            {"workload": {"model": {"decoder": {**DECODER, "layers": 10**9}}}},
            "workload.model: decoder: Decoder.layers may be 10,000 at most, got 1,000,000,000.",
        ),
        (
            {"workload": {"model": {"decoder": {**DECODER, "hidden": 1e30}}}},
            "workload.model: decoder: hidden is 1e+30, not a whole number.",
        ),
        (
            {
                "workload": {
                    "model": {
                        "decoder": {
                            **DECODER,
                            "experts": {"count": 8, "chosen": 2, "each": {"width": 1e30}},
                        }
                    }
                }
            },
            "workload.model: decoder: width is 1e+30, not a whole number.",
        ),
        ({"plan": {"ep": 2}}, "plan.expert: llama-3-70b has no experts."),
        (
            {"plan": {"cut": 5}},
            "5 is none of 'even', 'counted', 'remainder', 'balanced', nor a list of",
        ),
        ({"plan": {"pp": 2, "vpp": 1, "cut": [40, 39]}}, "2 numbers that add up to 79; 2 chunks"),
        ({"plan": {"shard": -1}}, "-1 is not a whole number of at least 0 (0: all replicas)."),
        ({"plan": {"recompute_layers": 81}}, "llama-3-70b has 80 layers, fewer than 81"),
        ({"plan": {"offload": "disk"}}, "unknown 'disk'. Known: none, optimizer, activations"),
        ({"plan": {"pipeline": 5}}, "5 does not divide the cluster's 512 devices."),
        ({"plan": {"dp": 4, "tp": 4, "pp": 4, "cp": 1}}, "4 x 4 x 4 is 64 devices"),
        ({"plan": {"tensor": 16}}, "16 cannot split 8 key-value heads"),
        ({"plan": {"data": 8, "micro_batch": 3}}, "does not divide the 128 samples of a replica"),
        ({"job": {"checkpoint": "0 s"}}, "'0 s' leaves no time to train; \"never\" writes none."),
        ({"job": {"mode": "blocking"}}, "job.mode: unknown key."),
        ({"search": {"limit": {"deadline": "30 d"}}}, "needs workload.amount"),
        ({"workload": {"model": "\ud800"}}, "workload: holds a text that is not Unicode."),
        ({"search": {"keep": 3}}, "search.keep: unknown key."),
    ],
)
def test_one_mistake_is_told_with_its_key(sections, message):
    told = refusal(**sections)
    assert told.startswith("study: ")
    assert message in told


def test_objective_needs_the_figures_that_it_is_made_of():
    ethernet = {"cluster": {"name": "ethernet-100g"}}
    assert "search.objective: cost needs cluster.price" in refusal(
        **ethernet, search={"objective": "cost"}
    )


def test_objective_that_is_nothing_everywhere_is_told():
    free = {"cluster": {"price": "0 USD/h"}}
    assert "search.objective: cost is nothing where cluster.price is 0" in refusal(
        **free, search={"objective": "cost"}
    )
    idle = {"cluster": {"node_power": "0 W"}}
    assert "search.objective: energy is nothing where cluster.node_power is 0" in refusal(
        **idle, search={"objective": "energy"}
    )


def test_nothing_is_said_twice():
    told = refusal(plan={"tensor": [True, True]})
    assert told.count("true is not a whole number") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty."),
        (b" \n\n", "the file is empty."),
        (b"# nothing\n", "has 2 problems."),
        (b"not a study", "is not TOML: Expected '='"),
        (b"{'json': 1}", "is not TOML: Invalid statement (at line 1, column 1)."),
        (
            b"\xff\xfe[\x00",
            "byte 0 (0xff) is not UTF-8 text: it begins like UTF-16. Save it as UTF-8.",
        ),
        (b"x = '\xe9'", "byte 5 (0xe9) is not UTF-8 text."),
        (b"# " + b"x" * 10_000_000, "is larger than 1 MiB, the most that is read."),
        (b"x = " + b"[" * 100_000, "is nested too deeply."),
        (b"plan" + b".x" * 3000 + b" = 1", "is nested too deeply; at most 20 levels are read."),
        (b"[plan]\ntensor = " + b"[" * 200 + b"]" * 200, "is nested too deeply"),
        (b"x = " + b"9" * 5000, "line 1 holds a number of 5,000 digits"),
        (b"a = 1\n" * 1000, "line 2: the key 'a' was written before; write it once."),
        (b"a = 1\na = [\n2,\n]\n", "the key"),
    ],
)
def test_file_that_is_no_study_is_told_in_one_message(tmp_path, content, message):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    assert message in refusal_of_file(path)


def test_folder_is_told(tmp_path):
    assert refusal_of_file(tmp_path) == f"{tmp_path}: is a folder; a file is wanted."


def test_missing_file_is_told(tmp_path):
    assert refusal_of_file(tmp_path / "none.toml").endswith("none.toml: there is no such file.")


def test_unreadable_file_is_told(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "study.toml"
    monkeypatch.setattr("os.open", denied)
    assert "cannot be read: Permission denied." in refusal_of_file(path)


def test_name_that_no_file_can_have_is_told(tmp_path):
    assert "cannot be read: embedded null byte" in refusal_of_file(tmp_path / "a\0b")
