"""Sound files that mutants are made of, small so that what they ask is answered at once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.study.config.configs import ALL as CONFIGS
from tests.study.traces import test_read as logs

HERE: Final = Path(__file__).parents[1]

WORKLOAD: Final = """
[workload]
model = "gpt-3-125m"
global_batch = 16
sequence = 1024
precision = "bf16"
optimizer = "adamw"
amount = "1 T tokens"
"""
DATA: Final = """
data = { samples = 1000000, sample_bytes = "110 kB", prepare = "9 ms" }
evaluation = { every = "1 epoch", samples = 500 }
trainable = { lora = 8, targets = ["q_proj"] }
"""
RAMP: Final = """
batch_ramp = { start = 4, increment = 4, samples = 4096 }
gradients = { top = "1 %" }
"""
TOTALS: Final = """
[workload]
model = { parameters = "25.6 M", flop = "8.2 GFLOP", activations = "11.1 M", layers = 16 }
global_batch = 256
amount = "90 epochs"
data = { samples = 1281167, sample_bytes = "110 kB" }
"""
CONFIG: Final = """
[workload]
model = "config.json"
global_batch = 16
sequence = 512
"""
PICTURES: Final = """
[workload]
model = "config.json"
global_batch = 16
"""
LAYERS: Final = """
name,kind,channels,input,filters,output,kernel,stride,groups,weights,inputs,kept,flop,layer
stem,convolution,3,32x32,8,16x16,3,2,,,,,,front
stem norm,norm,8,16x16,8,16x16,,,,,,2 k values,,front
groups,convolution,8,16x16,8,16x16,3x1,1,4,104,,,,
pooling,pooling,8,16x16,8,,16,,,,,,2 kFLOP,
classes,connected,8,,10,,,,,,8,,,
"""
NAMED: Final = """
[cluster]
name = "dgx-a100"
nodes = 1
price = "2 USD/h"
price_date = "2026-10-01"
"""
WRITTEN: Final = """
[cluster]
name = "mine"
nodes = 2
price = "2 USD/h"
node_power = "5 kW"
[cluster.device]
name = "device"
memory = "80 GB"
memory_bandwidth = "2 TB/s"
units = 100
power = "400 W"
peak = { fp32 = "20 TFLOP/s", bf16 = "300 TFLOP/s" }
[[cluster.levels]]
name = "node"
members = 4
link = { latency = "3 us", bandwidth = "300 GB/s", technology = "nvlink" }
[[cluster.levels]]
name = "rack"
members = 2
link = { latency = "9 us", bandwidth = "200 Gb/s", technology = "infiniband" }
[[cluster.levels]]
name = "fabric"
link = { latency = "9 us", bandwidth = "200 Gb/s", technology = "infiniband" }
"""
OWN_DEVICE: Final = """
family = "ours"
[sources]
sheet = "a sheet"
[ours]
like = "h100-sxm"
aliases = ["Ours 120"]
memory = { value = "120 GiB", source = "sheet", confidence = "low" }
peak = { bf16 = "900 TFLOP/s", fp32 = "60 TFLOP/s" }
"""
OWN_CLUSTER: Final = """
[our-nodes]
device = "Ours 120"
price = { value = "2 USD/h", source = "a bill", date = "2026-10" }
node_power = "9 kW"
[[our-nodes.levels]]
name = "node"
members = 4
link = { technology = "nvlink", latency = "3 us", bandwidth = "450 GB/s" }
[[our-nodes.levels]]
name = "fabric"
link = { technology = "infiniband", latency = "10 us", bandwidth = "400 Gb/s" }
"""
OWN: Final = """
[cluster]
name = "our-nodes"
nodes = 2
"""
ONE_PLAN: Final = """
[plan]
tensor = 2
pipeline = 2
micro_batch = 2
recompute = "full"
sharding = "none"
order = ["tensor", "data", "pipeline"]
"""
JOB: Final = """
[job]
checkpoint = "30 min"
checkpoint_mode = "asynchronous"
start = "3 min"
"""
SPACE: Final = """
[plan]
tensor = [1, 2]
micro_batch = 2
recompute = "none"
context = 1
pipeline = [1, 2]
"""
LIMITS: Final = """
[search]
objective = "cost"
limit = { devices = 64, cost = "900 MUSD", deadline = "3000 d", memory = "79 GB", power = "1 MW" }
"""
LARGEST: Final = """
[search]
maximise = "micro_batch"
"""
SCENARIOS: Final = """
[[scenario]]
name = "long"
workload = { sequence = 2048 }
[[scenario]]
name = "cheap"
cluster = { price = "1 USD/h" }
search = { objective = "cost" }
"""
OFFERED: Final = """
[cluster]
name = ["dgx-a100", "dgx-h100"]
prices = "prices.toml"
nodes = { least = 1, most = 2 }
"""
GROUPS: Final = """
[cluster]
groups = [{ name = "dgx-a100", nodes = 1 }, { name = "dgx-h100", nodes = 1 }]
link = { latency = "9 us", bandwidth = "12 GB/s", capacity = "90 GB/s", technology = "ethernet" }
"""
PRICES: Final = """
[clusters.dgx-a100]
price = "1.40 USD/h"
date = 2026-10-01
[devices.h100-sxm]
price = "2.20 USD/h"
date = "2026-10-01"
"""

SET: Final = """
name = "mine"
date = 2026-11-01
over = "2026-11"
[covers]
devices = ["A100 SXM 80GB"]
parameters = [1e8, 1e11]
counts = [1, 512]
kinds = ["dense"]
[host.launch]
value = 4e-6
low = 3e-6
high = 5e-6
kind = "measured"
source = "by hand"
rows = ["mine-0001..mine-0017"]
"""

QUEUE: Final = """
[cluster]
name = "dgx-a100"
nodes = 1
[jobs]
draw = 8
restart = "30 s"
[[jobs.models]]
name = "small"
share = 3
workload = { model = "gpt-3-125m", global_batch = 16, sequence = 512, amount = "1 G tokens" }
plan = { tensor = 1, pipeline = 1, context = 1, sharding = "none", recompute = "none" }
[simulation]
policies = ["fifo", "srtf"]
loads = [0.6]
seeds = 2
warm_up = "10 %"
"""
FLEET: Final = """
[[fleet.kinds]]
nodes = 2
devices = 4
kind = "V100"
[[fleet.kinds]]
nodes = 1
devices = 8
kind = "P100"
rack = 1

[jobs]
draw = 8
serial = "5 %"
[simulation]
policies = ["las", "max-min-kinds", "easy"]
loads = [0.5, 1.2]
placement = "packed"
round = "6 min"
admit = "10 s"
failures = { between = "30 d", repair = "1 h", checkpoint = "10 min" }
"""
COLLECTIVE: Final = """
[collective]
kind = "all-reduce"
bytes = { from = "1 KiB", to = "8 GiB", factor = 2 }
devices = 16
devices_per_process = 1

[cluster]
name = "dgx-h100"
nodes = 2
"""

SCALE: Final = """
[scale]
workers = [1, 3]
updates = { stale = 1 }
links = "fifo"
steps = 40
waste = "1 %"
[worker]
compute = { mean = "20 ms", deviation = "4 ms", law = "lognormal" }
samples = 64
pulled = "10 MB"
pushed = "10 MB"
link = "20 Gb/s"
[servers]
count = 2
latency = "50 us"
update = "1 ms"
cores = 2
[start]
samples = 1000
sample_bytes = "110 kB"
read = "1 GB/s"
total_read = "4 GB/s"
files = 1000
opening = "1 ms"
total_opens = 100
access = "staggered"
"""
SCALED_MODEL: Final = """
[scale]
workers = [1, 2]
steps = 40
stragglers = { deviation = "10 %", law = "lognormal" }
[workload]
model = "resnet-50"
global_batch = 64
image = 224
precision = "fp16"
[cluster]
name = "dgx-a100"
nodes = 4
[plan]
micro_batch = 8
"""
PROVISIONED: Final = """
[scale]
workers = [2, 5]
waste = "1 %"
[provision]
model = "alexnet"
image = 224
samples = 1000
chunk = 64
cores = 4
memory_share = "15 %"
multiply_add = "0.25 ns"
activation = "1 ns"
error = "1 ns"
memory = "64 GB"
link = "10 Gb/s"
latency = "50 us"
"""
SITED: Final = """
[fleet]
nodes = 4
devices = 2
[jobs]
draw = 20
[simulation]
policies = ["slurm", "kueue"]
[[simulation.outages]]
nodes = "0-1"
start = "1 h"
end = "2 h"
notice = "10 min"
[site]
config = "scontrol.txt"
over_limit = "1 min"
[site.priority]
fairshare = 1000
[[site.qos]]
name = "low"
[[site.accounts]]
name = "a"
[[site.users]]
name = "u"
account = "a"
[[site.closed]]
start = "3 h"
end = "4 h"
[[site.limits]]
each = "user"
devices = 4
"""
SWITCHED: Final = """
[fleet]
nodes = 4
devices = 2
[jobs]
draw = 20
[simulation]
policies = ["slurm", "easy"]
placement = "packed"
[site]
across = "90 %"
switch_wait = "1 min"
not_kept = ["that it rains"]
licenses = { matlab = 2 }
[[site.switches]]
name = "left"
nodes = "0-1"
[[site.switches]]
name = "right"
nodes = "2, 3"
[[site.switches]]
name = "top"
switches = ["left", "right"]
[site.preempt]
by = "partition_prio"
mode = "suspend"
[[site.limits]]
each = "user"
license = "matlab"
count = 1
"""
CONFIGURED: Final = """
OverTimeLimit = 5 min
PreemptMode = REQUEUE
PreemptType = preempt/qos
PriorityDecayHalfLife = 14-00:00:00
PriorityFlags = MAX_TRES
PriorityWeightAge = 1000
PriorityWeightTRES = CPU=100,GRES/gpu=3000
SchedulerParameters = bf_window=2880,default_queue_depth=50
SchedulerType = sched/backfill
Licenses = matlab:10,ansys
TopologyPlugin = topology/tree
"""


def _flavor(name: str, quota: int) -> dict[str, object]:
    """A flavor of a ClusterQueue."""
    told = {"name": "nvidia.com/gpu", "nominalQuota": str(quota), "lendingLimit": 2}
    return {"name": name, "resources": [told]}


OUTPUTS: Final[Mapping[str, str]] = {
    "nodes.txt": "NodeName=n1 Gres=gpu:h100:8 State=IDLE\nNodeName=n2 Gres=gpu:h100:8\n",
    "parts.txt": (
        "PartitionName=main Default=YES Nodes=n[1-2] PriorityTier=1 MaxTime=7-00:00:00\n"
        "PartitionName=one OverSubscribe=EXCLUSIVE Nodes=n1 TRESBillingWeights=GRES/gpu=4\n"
    ),
    "res.txt": (
        "ReservationName=m StartTime=2026-03-05T08:00:00 EndTime=2026-03-05T18:00:00 Nodes=n1\n"
    ),
    "topology.txt": (
        "SwitchName=top Level=1 Switches=s[0-1]\nSwitchName=s0 Level=0 Nodes=n1\n"
        "SwitchName=s1 Level=0 Nodes=n2\nNodeName=n[1-2] Gres=gpu:8\n"
    ),
    "lic.txt": "LicenseName=matlab\n    Total=10 Used=0 Free=10 Reserved=2 Remote=no\n",
    "volcano.json": json.dumps(
        {
            "items": [
                {
                    "kind": "Queue",
                    "metadata": {"name": "main"},
                    "spec": {"weight": 2, "capability": {"nvidia.com/gpu": 8}},
                }
            ]
        }
    ),
    "qos.txt": (
        "Name|Priority|Preempt|PreemptExemptTime|Flags|UsageFactor|GrpTRES|GrpJobs|MaxTRESPU\n"
        "low|0||||1.0|||gres/gpu=8\nhigh|9|low|00:10:00|NoReserve|2.0|gres/gpu=8|4|\n"
    ),
    "assoc.txt": (
        "Cluster|Account|User|Share|GrpTRES|MaxJobs|ParentName\nc|root||1|||\n"
        "c|lab||3|gres/gpu=4||root\nc|lab|ann|parent||2|\n"
    ),
    "sshare.txt": "Account|User|RawShares|RawUsage\nroot|||9\n lab||3|9\n  lab|ann|4|9\n",
    "kueue.json": json.dumps(
        {
            "items": [
                {
                    "kind": "ClusterQueue",
                    "metadata": {"name": "main"},
                    "spec": {
                        "cohortName": "all",
                        "preemption": {
                            "reclaimWithinCohort": "Any",
                            "borrowWithinCohort": {
                                "policy": "LowerPriority",
                                "maxPriorityThreshold": 9,
                            },
                        },
                        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
                        "resourceGroups": [{"flavors": [_flavor("h100", 8), _flavor("l4", 4)]}],
                    },
                },
                {
                    "kind": "Cohort",
                    "metadata": {"name": "all"},
                    "spec": {
                        "parentName": "top",
                        "fairSharing": {"weight": "2"},
                        "resourceGroups": [{"flavors": [_flavor("h100", 4)]}],
                    },
                },
                {
                    "kind": "ConfigMap",
                    "metadata": {"name": "kueue-manager-config"},
                    "data": {"config.yaml": "fairSharing: {}\n"},
                },
            ]
        }
    ),
}
"""What a site's commands print, by the name of a file."""

LOG_OF_SITE: Final = """JobID|User|Account|QOS|Partition|Submit|Start|ElapsedRaw|State|AllocTRES
1|ann|lab|low|main|2026-03-05T06:00:00|2026-03-05T06:00:00|90|COMPLETED|gres/gpu=2
2|ann|lab|high|main|2026-03-05T06:00:10|2026-03-05T06:02:30|60|COMPLETED|gres/gpu=2
"""
TOLD_SITE: Final = """
[fleet]
nodes = 2
devices = 8
[jobs]
trace = "log.csv"
[simulation]
policies = ["slurm"]
[site]
config = ["told.txt"]
"""

WORKLOADS: Final = json.dumps(
    {
        "items": [
            {
                "kind": "Workload",
                "metadata": {
                    "name": f"w{place}",
                    "namespace": "team",
                    "creationTimestamp": f"2026-03-05T06:00:{10 * place:02}Z",
                },
                "spec": {
                    "queueName": "main",
                    "priority": place,
                    "maximumExecutionTimeSeconds": 600,
                    "podSets": [
                        {
                            "count": 2,
                            "template": {
                                "spec": {
                                    "containers": [
                                        {"resources": {"requests": {"nvidia.com/gpu": "2"}}}
                                    ]
                                }
                            },
                        }
                    ],
                },
                "status": {
                    "admission": {
                        "clusterQueue": "main",
                        "podSetAssignments": [{"resourceUsage": {"nvidia.com/gpu": "4"}}],
                    },
                    "conditions": [
                        {
                            "type": kind,
                            "status": "True",
                            "reason": "Succeeded",
                            "lastTransitionTime": f"2026-03-05T06:0{minute}:{10 * place:02}Z",
                        }
                        for kind, minute in (("Admitted", 1), ("Finished", 5))
                    ],
                },
            }
            for place in range(3)
        ]
    }
)
"""Jobs of Kueue, as kubectl prints them."""
QUEUED: Final = """
[fleet]
nodes = 2
devices = 8
[jobs]
trace = "log.csv"
[simulation]
policies = ["kueue", "fifo"]
[[site.cohorts]]
name = "all"
parent = "top"
devices = 4
lends = 2
[[site.queues]]
name = "main"
cohort = "all"
devices = 8
reclaims = true
"""

CURVED: Final = """
[fleet]
nodes = 4
devices = 1
[jobs]
draw = 8
[[jobs.models]]
name = "known"
curve = "curve.json"
samples = 1000000
[simulation]
policies = ["fifo", "srtf"]
loads = [0.8]
"""
CURVE: Final = """{"schema": "foretrain/scale/1", "foretrain": "0.1.0", "points": [
{"workers": 1, "throughput": 200.0, "low": 190.0, "high": 210.0, "variance": 100.0},
{"workers": 4, "throughput": 700.0, "low": 690.0, "high": 710.0, "variance": null}]}"""
PROFILED: Final = """
[scale]
workers = [2]
steps = 40
updates = "asynchronous"
[worker]
profile = "profile.json"
link = "1 GB/s"
"""
PROFILE: Final = """{"schema": "foretrain/profile/1", "name": "two", "nodes": 2, "samples": 32,
"link": 1.25e9, "latency": 5e-5, "steps": [{"number": 0, "operations": [
{"name": "pull", "resource": "downlink", "start": 0, "end": 0.08, "size": 1e7, "layer": 1},
{"name": "forward", "resource": "compute", "start": 0.08, "end": 0.1, "after": ["pull"]},
{"name": "push", "resource": "uplink", "start": 0.1, "end": 0.2, "size": 1e7, "after": ["forward"]},
{"name": "apply", "resource": "server", "start": 0.2, "end": 0.21, "after": ["push"]}]}]}"""
LOGGED: Final = """
[fleet]
nodes = 4
devices = 8
quota = { a = 8 }
[jobs]
trace = "log.csv"
[simulation]
policies = ["fifo"]
target = { mean = "1 h", most = 64 }
"""
MAPPED: Final = """
[fleet]
nodes = 4
devices = 8
[jobs]
trace = "log.csv"
format = "csv"
[jobs.columns]
arrival = "came"
duration = "ran"
devices = "gpus"
end = "state"
user = "who"
name = "id"
after = "waits"
[simulation]
policies = ["fifo"]
"""
OWN_LOG: Final = """id,came,ran,gpus,state,who,waits
a,0,5,1,completed,ann,
b,2,5,2,failed,bob,a
c,3,00:10:00,8,completed,ann,afternotok:a;after:b
"""
BY_LINE: Final = """JobID|JobName|User|Submit|Eligible|Start|ElapsedRaw|State|ReqTRES|AllocTRES\
|Licenses|SubmitLine
7_0|a|u|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T00:00:00|90|COMPLETED|gres/gpu=2|\
gres/gpu=2||sbatch -J a --array=0-3%2 job.sh
7_[1-3%2]|a|u|2026-03-02T00:00:00|2026-03-02T00:00:00|Unknown|0|PENDING|gres/gpu=2|||sbatch -a 0-3%2
8+0|b|v|2026-03-02T00:00:10|2026-03-02T00:01:30|2026-03-02T00:02:30|60|CANCELLED by 7|gres/gpu=2|\
gres/gpu:h100=2|matlab:2|sbatch -d afterany:7,singleton --switches=1@10 -L matlab:2 job.sh
9|b|v|2026-03-02T00:00:20|2026-03-02T00:01:30|2026-03-02T00:02:30|60|TIMEOUT|gres/gpu=2|gres/gpu=1|\
ansys|sbatch --dependency=afterok:7_0?after:8+10 --wrap=a | b
"""
LOGS: Final[Mapping[str, str]] = {
    "philly.csv": logs.PHILLY,
    "tiresias.csv": logs.TIRESIAS,
    "openb.csv": logs.OPENB,
    "helios.csv": logs.HELIOS,
    "pai.csv": logs.PAI,
    "log.swf": logs.SWF,
    "sacct.csv": logs.SACCT,
    "asked.csv": BY_LINE,
}
WAITED: Final = """JobID|User|QOS|Partition|Submit|Start|ElapsedRaw|State|AllocTRES|Priority
1|u|low|gpu|2026-03-02T00:00:00|2026-03-02T00:00:00|90|COMPLETED|gres/gpu=2,node=1|70
2|v|low|gpu|2026-03-02T00:00:10|2026-03-02T00:02:30|60|COMPLETED|gres/gpu=2,node=1|90
3|u|high|gpu|2026-03-02T00:00:20|2026-03-02T00:01:30|60|COMPLETED|gres/gpu=1,node=1|99
"""
INFERRED: Final = """
[jobs]
trace = "log.csv"
[simulation]
policies = ["slurm"]
[site]
infer = true
"""
NODES: Final = (
    "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,64000,262144,8,V100M16\n"
)

ENSEMBLE: Final = """
[ensemble]
name = "small"
data = "pictures:dataset"
batch = 24
epochs = 4
loss = "cross_entropy"
optimizer = { name = "sgd", momentum = 0.9, lr = 0.1 }
sample = { prepare = "1 ms", size = "16 B", count = 24 }
alone = { time = "1 ms", cpu = "1 ms", memory = "10 MB" }
[checkpoints]
folder = "states"
every = "1 min"
[logs]
every = "0.1 s"
csv = "table.csv"
[halving]
eta = 2
first = 1
[[members]]
name = "net"
model = "pictures:build"
grid.optimizer.lr = [0.003, 0.01]
"""

GAVEL: Final = "LM (batch size 5)\tpython main.py\tlm\t--steps\t1\t4000\t1\t2\t-1.000000\t30\n" * 2
SHOCKWAVE: Final = "".join(
    f"LM (batch size 20)\tpython\tlm\t-s\t1\t1000000\t1\t{mode}\t1\t-1.0\t900\t30\n"
    for mode in ("static", "gns", "accordion")
)
THROUGHPUTS: Final = json.dumps(
    {
        "v100": {
            f"('LM (batch size {batch})', 1)": {"null": 400.0 / batch}
            for batch in (5, 10, 20, 40, 80)
        }
    }
)
SUBMITTED: Final = (
    "name,time,application,num_replicas,batch_size\nc-0,53,cifar10,6,2048\nc-1,90,bert,1,12\n"
)
PLACED: Final = "placement,local_bsz,step_time,sync_time\n12,4,0.5,0.25\n1,8,0.5,0.2\n"
SCALED: Final = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,8,4,1.5,0.5\n"
LEARNED: Final = "progress,iteration,metric,grad_sqr,grad_var\n10,5,0.9,1.0,2.0\n20,9,0.9,1.0,2.0\n"

PUBLISHERS: Final = 'mlperf = ["mlperf-v0.7", "mlperf-v1.0"]\nnvidia = ["nv-dle"]\n'

TABLES: Final[Mapping[str, tuple[int, ...]]] = {
    "llm_training": (0, 40, 300, 900, 1300),
    "cnn_training": (0, 300, 800),
    "other_training": (0, 200),
    "single_device": (0, 800, 900),
    "collectives": (0, 50, 120),
    "parameter_server": (0,),
    "memory": (0, 40, 60),
}
"""Lines of our own tables that stand for all."""


def table(name: str) -> str:
    """A few rows of one of our tables."""
    with (HERE / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [header, *(rows[at % len(rows)] for at in TABLES[name])]
    )
    return out.getvalue()


def networks() -> str:
    """Two networks of the list beside the table of single devices."""
    lines = (HERE / "tables" / "networks.csv").read_text("utf-8").splitlines()
    return "\n".join([lines[0], *lines[1:3]]) + "\n"


def configs() -> Mapping[str, dict[str, Any]]:
    """One published configuration of each family."""
    return {str(config["model_type"]): config for config in CONFIGS.values()}
