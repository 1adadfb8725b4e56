"""What a site's own commands print, as the keys of [site]."""

import json
import re

import pytest

from foretrain.errors import InputError
from foretrain.jobs.simulate import simulate
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import PreemptMode
from foretrain.study.queue_study import read_queue_study
from foretrain.study.site_outputs import site_of_outputs
from foretrain.study.slurm_config import hosts

NODES = """NodeName=login1 Arch=x86_64 CPUTot=8 Gres=(null) State=IDLE
NodeName=g01 Arch=x86_64 CPUTot=64
   Gres=gpu:h100:8(S:0-1) State=IDLE+DRAIN
   CfgTRES=cpu=64,mem=1T,billing=64,gres/gpu=8
NodeName=g02 CPUTot=64 Gres=gpu:h100:8 State=MIXED
NodeName=g03 CPUTot=64 Gres=gpu:h100:8 State=MIXED
NodeName=old1 CPUTot=32 Gres=gpu:v100:4 State=IDLE
"""
PARTITIONS = """PartitionName=cpu AllowGroups=ALL Nodes=login1 MaxTime=UNLIMITED PriorityTier=1
PartitionName=batch
   AllowGroups=ALL AllowQos=ALL Default=NO QoS=N/A
   DefaultTime=01:00:00 MaxTime=7-00:00:00 PriorityJobFactor=2 PriorityTier=3
   OverSubscribe=EXCLUSIVE Nodes=g[01-03] State=UP
   TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=16
PartitionName=main Default=YES Nodes=g[02-03],old1 MaxTime=UNLIMITED PriorityTier=1
"""
RESERVATIONS = (
    "ReservationName=maint StartTime=2026-03-05T08:00:00 EndTime=2026-03-05T18:00:00"
    " Duration=10:00:00 Nodes=g[01-02] NodeCnt=2 Flags=MAINT,SPEC_NODES State=INACTIVE\n"
)
QOS = (
    "Name|Priority|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageFactor|GrpTRES|GrpJobs"
    "|MaxTRESPU|MaxJobsPU|MaxTRESPA\n"
    "normal|0|||cluster||1.000000|||cpu=64,gres/gpu=8|4|\n"
    "high|100|normal|00:10:00|cancel|DenyOnLimit,NoReserve|2.000000|gres/gpu=16||||gres/gpu=12\n"
)
ASSOC = """Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|MaxJobs|QOS|ParentName
c|root|||1|||||normal|
c|physics|||3|||gres/gpu=16||normal|root
c|lab|||2||5|||normal|physics
c|lab|ann||parent||||2|normal|
c|lab|bob||4|||||normal|
"""
SSHARE = """Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare
root|||0.000000|28800|||
 physics||3|0.75|28800|||
  lab||2|1.0|28800|||
   lab|bob|4|0.5|28800|||
"""


def read(**texts):
    return site_of_outputs(texts)


def test_nodes_with_devices_are_the_fleet_and_equal_ones_stand_together():
    assert read(nodes=NODES)["fleet"] == {
        "kinds": [
            {"nodes": 3, "devices": 8, "kind": "h100"}, {"nodes": 1, "devices": 4, "kind": "v100"},
        ]
    }  # fmt: skip
    plain = NODES.replace("gpu:h100:", "gpu:").split("NodeName=old1")[0]
    assert read(nodes=plain)["fleet"] == {"kinds": [{"nodes": 3, "devices": 8, "kind": ""}]}


def test_partitions_have_the_numbers_of_their_nodes_and_the_default_is_the_first():
    main, batch = read(nodes=NODES, parts=PARTITIONS)["partitions"]
    assert main == {
        "name": "main", "nodes": "1-3", "tier": 1, "exclusive": False,
    }  # fmt: skip
    assert batch == {
        "name": "batch", "nodes": "0-2", "tier": 3, "factor": 2, "longest": "604800 s",
        "default": "3600 s", "exclusive": True, "device_weight": 16.0, "node_weight": 0.0,
    }  # fmt: skip


def test_without_nodes_those_of_partitions_are_numbered_as_they_come():
    told = read(parts=PARTITIONS)["partitions"]
    assert [(each["name"], each["nodes"]) for each in told] == [
        ("main", "2-4"), ("cpu", "0"), ("batch", "1-3"),
    ]  # fmt: skip


def test_qualities_tell_priorities_who_preempts_whom_and_limits():
    told = read(qos=QOS)
    assert told["qos"] == [
        {"name": "normal", "priority": 0.0, "usage_factor": 1.0, "reserves": True},
        {
            "name": "high", "priority": 100.0, "preempts": ["normal"], "exempt": "600 s",
            "mode": "cancel", "usage_factor": 2.0, "reserves": False,
        },
    ]  # fmt: skip
    assert told["limits"] == [
        {"each": "user", "of": "qos", "named": "normal", "devices": 8, "jobs": 4},
        {"each": "account", "of": "qos", "named": "high", "devices": 12},
        {"of": "qos", "named": "high", "devices": 16},
    ]


def test_associations_are_a_tree_with_shares_and_limits():
    told = read(assoc=ASSOC)
    assert told["accounts"] == [
        {"name": "physics", "shares": 3.0},
        {"name": "lab", "shares": 2.0, "parent": "physics"},
    ]
    assert told["users"] == [
        {"name": "ann", "shares": "parent", "account": "lab"},
        {"name": "bob", "shares": 4.0, "account": "lab"},
    ]
    assert told["limits"] == [
        {"of": "account", "named": "physics", "devices": 16},
        {"of": "account", "named": "lab", "jobs": 5},
        {"of": "user", "named": "ann", "jobs": 2},
    ]


def test_shares_in_use_tell_the_tree_by_their_indent_and_what_was_used():
    told = read(assoc=ASSOC, sshare=SSHARE)
    assert told["accounts"] == read(assoc=ASSOC)["accounts"]
    assert told["users"][1] == {
        "name": "bob", "shares": 4.0, "account": "lab", "usage": "28800 s",
    }  # fmt: skip
    assert read(sshare=SSHARE)["accounts"][1] == {
        "name": "lab", "shares": 2.0, "parent": "physics",
    }  # fmt: skip


def cluster_queue(name, *, resource="nvidia.com/gpu", **spec):
    quota = {"name": resource, "nominalQuota": "8", "borrowingLimit": 4, "lendingLimit": "2"}
    flavors = [{"name": "h100", "resources": [{"name": "cpu", "nominalQuota": "9"}, quota]}]
    groups = [{"coveredResources": ["cpu", resource], "flavors": flavors}]
    return {
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"cohortName": "all", "resourceGroups": groups, **spec},
    }


def test_objects_of_kueue_are_queues_with_quotas():
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"}
    items = [
        cluster_queue(
            "a", preemption=preemption, queueingStrategy="StrictFIFO", fairSharing={"weight": "2"}
        ),
        {"kind": "LocalQueue", "metadata": {"name": "x"}},
    ]
    assert read(kueue=json.dumps({"apiVersion": "v1", "items": items})) == {
        "queues": [
            {
                "name": "a", "devices": 8, "borrows": 4, "lends": 2, "reclaims": True,
                "preempts": False, "strict": True, "weight": 2.0, "cohort": "all",
            }
        ]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "file: an object"),
        ('{"items": []}', "file: holds no ClusterQueue, Cohort or ConfigMap. Known: "),
        ('{"items": [{"kind": "ClusterQueue", "spec": {}}]}', "file: an object has no metadata"),
        (
            '{"kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {"resourceGroups": 3}}',
            "file: the ClusterQueue q",
        ),
        (
            json.dumps({"items": [{
                "kind": "Cohort", "metadata": {"name": "top"}, "spec": {"fairSharing": 3},
            }]}),
            "file: the Cohort top: ",
        ),
        ("Day|Night\n1|2\n", "file: is a table of columns that are not known"),
        (QOS + "low|1\n", "file: line 4 has 2 cells, but there are 12 columns"),
        (QOS.replace("|100|", "|soon|"), "file: line 3: could not convert"),
        (ASSOC.replace("||4||", "||x||"), "file: line 6: could not convert"),
        (PARTITIONS.replace("7-00:00:00", "a week"), "file: line 2: "),
        (PARTITIONS.replace("g[01-03]", "g[03-x]"), "file: line 2: 'g[03-x]' is no list of hosts"),
        (RESERVATIONS.replace("StartTime", "From"), "file: line 1: has no 'StartTime'"),
        (NODES.replace("gpu:v100:4", "gpu:v100:4,gpu:k80:2"), "file: line 7: old1 has devices of"),
        ("nothing at all", "file: holds none of the lines"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_file_and_line(text, message):
    with pytest.raises(InputError) as told:
        site_of_outputs({"nodes": NODES, "file": text} if "Reservation" in text else {"file": text})
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[01-03,7],login", ["n01", "n02", "n03", "n7", "login"]),
        ("a[1-2]-ib,b", ["a1-ib", "a2-ib", "b"]),
        ("r[1-2]n[3,5]", ["r1n3", "r1n5", "r2n3", "r2n5"]),
    ],
)
def test_a_list_of_hosts_is_its_names(text, names):
    assert hosts(text) == names


@pytest.mark.parametrize("text", ["n[3-x]", "n[1-999999999]"])
def test_a_list_of_hosts_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="no list of hosts"):
        hosts(text)


TOPOLOGY = """SwitchName=top Level=1 LinkSpeed=1 Nodes=g[01-03],login1,old1 Switches=s[0-2]
SwitchName=s0 Level=0 LinkSpeed=1 Nodes=g[01-02]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=g03,old1
SwitchName=s2 Level=0 LinkSpeed=1 Nodes=login1
"""


@pytest.mark.parametrize(
    "text", [TOPOLOGY, re.sub(r" Level=\d LinkSpeed=1| Nodes=\S+(?= Switches)", "", TOPOLOGY)]
)
def test_switches_have_the_numbers_of_their_nodes_and_leaves_come_first(text):
    """As `scontrol show topology` prints them, and as topology.conf has them."""
    assert read(nodes=NODES, topology=text)["switches"] == [
        {"name": "s0", "nodes": "0-1"}, {"name": "s1", "nodes": "2-3"},
        {"name": "top", "switches": ["s0", "s1"]},
    ]  # fmt: skip


def test_blocks_of_nodes_are_told_as_not_kept():
    told = read(topology="BlockName=b1 BlockIndex=0 Nodes=n[1-8]\nBlockName=b2 Nodes=n[9-16]\n")
    assert told == {"not_kept": ["topology/block"]}


LICENSES = """LicenseName=matlab
    Total=10 Used=0 Free=10 Reserved=2 Remote=no
LicenseName=ansys@flex
    Total=4 Used=4 Free=0 Remote=yes
"""


def test_licences_are_those_that_are_not_reserved_or_those_of_the_configuration():
    assert read(lic=LICENSES) == {"licenses": {"matlab": 8, "ansys": 4}}
    assert read(config="Licenses = matlab:8,ansys\n") == {"licenses": {"matlab": 8, "ansys": 1}}
    assert read(config="Licenses = (null)\nPriorityWeightAge = 1\n").keys() == {"priority"}


def test_rules_that_are_not_kept_are_told_once_each():
    config = """AccountingStorageEnforce = limits
PriorityFlags = ACCRUE_ALWAYS,MAX_TRES
PriorityUsageResetPeriod = NONE
PriorityWeightAssoc = 100
PriorityWeightTRES = cpu=10,gres/gpu=3000
SchedulerParameters = bf_licenses,bf_window=2880,max_switch_wait=600,bf_min_age_reserve=0
TopologyPlugin = topology/block
"""
    told = read(config=config)
    assert told["not_kept"] == [
        "PriorityFlags ACCRUE_ALWAYS", "PriorityWeightAssoc = 100", "PriorityWeightTRES of cpu",
        "SchedulerParameters bf_licenses", "TopologyPlugin = topology/block",
    ]  # fmt: skip
    assert told["switch_wait"] == "600 s"
    limits = "Name|Priority|MaxWall|GrpTRES|\na|0|1-00:00:00|gres/gpu:h100=4,gres/gpu:l4=8|\n"
    assert read(qos=limits)["not_kept"] == [
        "MaxWall of the quality a", "GrpTRES of the quality a by kind",
    ]  # fmt: skip
    assert read(nodes=NODES)["not_kept"] == ["that 1 nodes are down or drained, such as g01"]
    closed = PARTITIONS.replace("State=UP", "State=DRAIN")
    assert read(parts=closed)["not_kept"] == ["that the partition batch is DRAIN"]


def test_a_site_that_suspends_is_told_what_is_not_so_here():
    told = read(config="PreemptMode = GANG,SUSPEND\nPreemptType = preempt/partition_prio\n")
    assert told["preempt"] == {"mode": "suspend", "by": "partition_prio"}
    assert "GPUs stay with a job that is suspended" in told["not_kept"][0]
    forced = PARTITIONS.replace("OverSubscribe=EXCLUSIVE", "OverSubscribe=FORCE:4")
    [rule] = read(parts=forced)["not_kept"]
    assert "take turns (OverSubscribe=FORCE:4)" in rule
    assert "not_kept" not in read(parts=forced.replace("FORCE:4", "FORCE:1"))


def test_a_node_on_one_line_is_read_to_its_end():
    """Its operating system has a # in its name, and resources tell devices twice."""
    text = (
        "NodeName=n1 Arch=x86_64 Gres=(null) OS=Linux 5.15.0-72-generic #79-Ubuntu SMP"
        " State=IDLE+DRAIN CfgTRES=cpu=64,billing=64,gres/gpu=8,gres/gpu:h100=8\n"
    )
    told = read(nodes=text)
    assert told["fleet"] == {"kinds": [{"nodes": 1, "devices": 8, "kind": "h100"}]}
    assert told["not_kept"] == ["that 1 nodes are down or drained, such as n1"]


def test_devices_may_be_weighed_by_the_one_kind_that_there_is():
    text = PARTITIONS.replace("GRES/gpu=16", "GRES/gpu:h100=16")
    [batch] = [each for each in read(parts=text)["partitions"] if each["name"] == "batch"]
    assert batch["device_weight"] == 16.0
    two = read(parts=PARTITIONS.replace("GRES/gpu=16", "GRES/gpu:h100=16,GRES/gpu:l4=2"))
    assert two["not_kept"] == ["TRESBillingWeights of the partition batch by kind of device"]


def test_a_tree_of_accounts_without_parents_is_told_as_flat():
    lines = [line.rpartition("|")[0] for line in ASSOC.splitlines()]
    assert any("ParentName" in rule for rule in read(assoc="\n".join(lines))["not_kept"])
    assert "not_kept" not in read(assoc=ASSOC)


def test_weights_of_a_basic_priority_are_not_used():
    assert "priority" not in read(config="PriorityType=priority/basic\nPriorityWeightAge=1000\n")


def test_a_configuration_holds_nodes_and_partitions_too():
    """As slurm.conf, with comments and times in days."""
    text = """# ours
SchedulerType=sched/backfill
PriorityMaxAge=14-0   # two weeks
NodeName=n[001-004,007] Gres=gpu:h100:8 # new
PartitionName=main Nodes=ALL Default=YES MaxTime=2-12
"""
    told = read(conf=text)
    assert told["fleet"] == {"kinds": [{"nodes": 5, "devices": 8, "kind": "h100"}]}
    assert told["partitions"] == [
        {"name": "main", "nodes": "", "longest": "216000 s", "exclusive": False}
    ]


@pytest.mark.parametrize("text", ["No reservations in the system\n", "No nodes in the system"])
def test_that_there_are_none_of_something_is_read(text):
    assert read(nodes=NODES, none=text) == read(nodes=NODES)


def test_queues_of_volcano_have_weights_what_they_deserve_and_caps():
    spec = {
        "weight": 3, "capability": {"cpu": "64", "nvidia.com/gpu": "8"},
        "deserved": {"nvidia.com/gpu": 4}, "guarantee": {"resource": {"cpu": 1}},
    }  # fmt: skip
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "spec": spec}
    items = [{**queue, "metadata": {"name": "default"}}, {"kind": "PodGroup", "metadata": {}}]
    assert read(volcano=json.dumps({"items": items})) == {
        "queues": [{"name": "default", "weight": 3.0, "devices": 4, "most": 8}],
        "not_kept": ["guarantee of the queue default"],
    }


@pytest.mark.parametrize("cohort", [{"cohort": "all"}, {"cohortName": "all"}])
def test_objects_of_both_versions_of_kueue_are_read(cohort):
    item = cluster_queue("a", stopPolicy="Hold", **{"cohortName": None, **cohort})
    told = read(kueue=json.dumps(item))
    assert told["queues"][0]["cohort"] == "all"
    assert told["not_kept"] == ["stopPolicy Hold of the queue a"]


STUDY = """
[jobs]
trace = "sacct.txt"
[simulation]
policies = ["slurm"]
[site]
config = ["nodes.txt", "parts.txt", "res.txt", "qos.txt", "assoc.txt", "scontrol.txt"]
[site.priority]
age = 7
"""
LOG = """JobID|User|Partition|QOS|Submit|Start|ElapsedRaw|State|AllocTRES
1|ann|main|high|2026-03-05T06:00:00|2026-03-05T06:00:00|90|COMPLETED|gres/gpu=2
2|bob|main|high|2026-03-05T06:00:10|2026-03-05T06:02:30|60|COMPLETED|gres/gpu=2
"""
FILES = {
    "nodes.txt": NODES, "parts.txt": PARTITIONS, "res.txt": RESERVATIONS, "qos.txt": QOS,
    "assoc.txt": ASSOC, "sacct.txt": LOG,
    "scontrol.txt": "PriorityWeightAge = 5\nPriorityWeightQOS = 9\n",
}  # fmt: skip


def study(tmp_path, text=STUDY, **others):
    for name, content in {**FILES, **others}.items():
        (tmp_path / name).write_text(content)
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_queue_study(path)


def test_a_study_that_names_all_of_them_needs_to_state_nothing(tmp_path):
    asked = study(tmp_path)
    site = asked.conditions.site
    assert asked.fleet.devices == 28
    assert [each.name for each in site.partitions] == ["main", "batch"]
    assert (site.priority.age, site.priority.qos) == (7.0, 9.0)
    assert site.qualities[1].mode is PreemptMode.CANCEL
    assert PartyLimit(of=Party.USER, named="ann", jobs=2) in site.limits
    [closed] = site.closed
    assert (closed.start, closed.end, closed.nodes) == (7_200.0, 43_200.0, ((0, 1),))
    assert next(each for each in site.associations if each.name == "ann").shares is None


def test_what_a_study_states_goes_before_what_files_tell(tmp_path):
    stated = STUDY.replace("[simulation]", "[fleet]\nnodes = 2\ndevices = 8\n[simulation]")
    assert study(tmp_path, stated).fleet.devices == 16


def test_dates_need_a_log(tmp_path):
    drawn = STUDY.replace('trace = "sacct.txt"', "draw = 10")
    with pytest.raises(InputError, match=r"site\.closed\[0\]\.start: is a date, and jobs"):
        study(tmp_path, drawn)


def test_what_was_closed_before_the_log_is_left_out_and_what_was_then_begins_with_it(tmp_path):
    early = RESERVATIONS.replace("05T08", "01T08").replace("05T18", "01T18")
    assert not study(tmp_path, **{"res.txt": early}).conditions.site.closed
    across = RESERVATIONS.replace("05T08", "01T08")
    [closed] = study(tmp_path, **{"res.txt": across}).conditions.site.closed
    assert (closed.start, closed.end) == (0.0, 43_200.0)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("3", "site.config: 3 is no name of a file"),
        ("[1]", "is no name of a file, nor a list of such names"),
        ('["gone.txt"]', "gone.txt"),
    ],
)
def test_a_config_that_names_no_file_is_refused(tmp_path, names, message):
    text = STUDY.split("config =", maxsplit=1)[0] + f"config = {names}\n"
    with pytest.raises(InputError) as told:
        study(tmp_path, text)
    assert message in str(told.value)


ASKED = """JobID|JobName|User|Submit|Eligible|Start|ElapsedRaw|State|AllocTRES|SubmitLine
7_0|a|u|2026-03-05T06:00:00|2026-03-05T06:00:00|2026-03-05T06:00:00|60|COMPLETED|gres/gpu=1|\
sbatch --array=0-2%1 -L matlab:1 job.sh
7_1|a|u|2026-03-05T06:00:00|2026-03-05T06:00:00|2026-03-05T06:01:00|60|COMPLETED|gres/gpu=1|\
sbatch --array=0-2%1 -L matlab:1 job.sh
8|b|u|2026-03-05T06:00:00|2026-03-05T06:02:00|2026-03-05T06:02:00|60|COMPLETED|gres/gpu=1|\
sbatch -d afterok:7 -L matlab:1 job.sh
9|c|v|2026-03-05T06:00:30|2026-03-05T06:00:30|2026-03-05T06:03:00|60|COMPLETED|gres/gpu=1|\
sbatch -L matlab:1 -d afterok:7_0?afterok:8 job.sh
10|d|v|2026-03-05T06:00:40|2026-03-05T06:00:40|2026-03-05T06:00:40|60|COMPLETED|gres/gpu=1|\
sbatch -L ansys:1 job.sh
"""


def test_a_site_whose_outputs_tell_licences_arrays_and_dependencies_is_simulated_by_them(tmp_path):
    """By hand: one licence, so that four jobs follow each other; the site has no ansys."""
    text = STUDY.replace("sacct.txt", "asked.txt").split("config =")[0]
    text += 'config = ["nodes.txt", "lic.txt", "scontrol.txt"]\n'
    asked = study(
        tmp_path, text, **{
            "asked.txt": ASKED, "lic.txt": "LicenseName=matlab\n Total=1 Used=0\n",
            "scontrol.txt": "PriorityWeightAssoc = 5\nPriorityWeightQOS = 9\n",
        },
    )  # fmt: skip
    assert PartyLimit(of=Party.ARRAY, named="7", jobs=1) in asked.conditions.limits
    answer = simulate(asked)
    told = " ".join(answer.findings)
    assert "not simulated: PriorityWeightAssoc = 5; that 1 nodes are down" in told
    assert "ask for and is not simulated: the dependency afterok: 1." in told
    assert "hold licences that the site has not: 1" in told
    assert answer.policies["slurm"].mean_waiting == pytest.approx((0 + 60 + 120 + 150) / 4)
