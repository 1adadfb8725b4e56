"""[site] of a study: an administrator's rules, and what is wrong with them."""

from math import inf

import pytest

from foretrain.errors import InputError
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import Association, Closed, PreemptBy, PreemptMode, SiteRules
from foretrain.study.queue_study import read_queue_study
from foretrain.study.slurm_nodes import node_ranges

STUDY = """
[fleet]
nodes = 4
devices = 8
[jobs]
draw = 10
[simulation]
policies = ["slurm"]
"""


def read(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(STUDY + text)
    return read_queue_study(path).conditions


def test_a_study_without_rules_has_those_of_slurm_and_kills_nobody(tmp_path):
    conditions = read(tmp_path, "")
    assert (conditions.site, conditions.grace) == (SiteRules(), inf)


def test_rules_are_read_with_their_units(tmp_path):
    conditions = read(
        tmp_path,
        """
[site]
over_limit = "5 min"
[site.priority]
age = 1000
half_life = "14 d"
[site.backfill]
reserves = 1
window = "2 d"
[site.preempt]
by = "qos"
mode = "cancel"
[[site.partitions]]
name = "gpu"
nodes = "0-1, 3"
longest = "2 d"
[[site.qos]]
name = "low"
[[site.qos]]
name = "high"
preempts = ["low"]
[[site.accounts]]
name = "physics"
shares = 3
[[site.users]]
name = "ann"
account = "physics"
usage = "100 h"
[[site.closed]]
start = "1 d"
end = "2 d"
[[site.limits]]
each = "user"
of = "qos"
named = "low"
devices = 8
""",
    )
    site = conditions.site
    assert conditions.grace == 300.0
    assert (site.priority.age, site.priority.half_life) == (1000.0, 14 * 86_400.0)
    assert (site.backfill.reserves, site.backfill.window) == (1, 172_800.0)
    assert (site.preempt.by, site.preempt.mode) == (PreemptBy.QOS, PreemptMode.CANCEL)
    assert site.partitions[0].nodes == ((0, 1), (3, 3))
    assert site.qualities[1].preempts == ("low",)
    assert site.associations == (
        Association(name="physics", shares=3.0),
        Association(name="ann", parent="physics", is_user=True, usage=360_000.0),
    )
    assert site.closed == (Closed(start=86_400.0, end=172_800.0),)
    assert site.limits == (PartyLimit(each=Party.USER, of=Party.QOS, named="low", devices=8.0),)


def test_a_site_may_let_jobs_run_beyond_their_limits_and_nobody_pass(tmp_path):
    conditions = read(tmp_path, "[site]\nkill = false\n[site.backfill]\non = false\n")
    assert conditions.grace == inf
    assert conditions.site.backfill is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[site.qos]]\nname = "a"\npreempts = ["b"]', "names b, which is none"),
        ('[[site.users]]\nname = "u"\naccount = "x"', "is x, which is no account"),
        (
            '[site]\naccounts = [{ name = "a", parent = "b" }, { name = "b", parent = "a" }]',
            "leads back to itself",
        ),
        ("[site.priority]\nage = -1", "must be finite"),
        ('[[site.partitions]]\nname = "a"\nnodes = "1..3"', "no range of nodes"),
        ('[[site.closed]]\nstart = "2 d"\nend = "1 d"', "must end after it starts"),
        ('[[site.limits]]\nof = "qos"\ndevices = 2', "needs a name"),
        ("[site.backfill]\ninterval = 30", "30 has no unit"),
        ("[site]\ndeepth = 3", "deepth"),
    ],
)
def test_what_is_wrong_with_rules_is_said_with_its_key(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as refused:
        read(tmp_path, text)
    assert "site" in str(refused.value)


def test_nodes_are_numbers_and_ranges():
    assert node_ranges("0-3, 7,9-9") == ((0, 3), (7, 7), (9, 9))


CONFIG = """Configuration data as of 2026-11-27T10:00:00
AccountingStorageEnforce = associations,limits,qos
OverTimeLimit           = 5 min
PreemptExemptTime       = 00:30:00
PreemptMode             = REQUEUE
PreemptParameters       = youngest_first,reorder_count=3
PreemptType             = preempt/qos
PriorityCalcPeriod      = 00:05:00
PriorityDecayHalfLife   = 14-00:00:00
PriorityFavorSmall      = Yes
PriorityFlags           = NO_FAIR_TREE,MAX_TRES
PriorityMaxAge          = 7-00:00:00
PriorityWeightAge       = 1000
PriorityWeightFairShare = 10000
PriorityWeightTRES      = CPU=100,GRES/gpu=3000
SchedulerParameters = bf_window=2880,bf_resolution=300,bf_max_job_test=999,default_queue_depth=50
SchedulerType           = sched/backfill
"""


def test_a_configuration_tells_what_the_study_leaves_out(tmp_path):
    (tmp_path / "scontrol.txt").write_text(CONFIG)
    text = '[site]\nconfig = "scontrol.txt"\n[site.priority]\nage = 5\n'
    conditions = read(tmp_path, text)
    site, weights = conditions.site, conditions.site.priority
    assert conditions.grace == 300.0
    assert (weights.age, weights.fairshare, weights.devices) == (5.0, 10000.0, 3000.0)
    assert (weights.half_life, weights.longest_age) == (14 * 86_400.0, 7 * 86_400.0)
    assert (weights.small_first, weights.fair_tree, weights.billing) == (True, False, "max_tres")
    assert (site.depth, site.backfill.depth) == (50, 999)
    assert (site.backfill.window, site.backfill.resolution) == (172_800.0, 300.0)
    assert (site.preempt.by, site.preempt.mode) == (PreemptBy.QOS, PreemptMode.REQUEUE)
    assert site.preempt.youngest_first
    assert (site.preempt.reorders, site.preempt.exempt) == (3, 1800.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PriorityMaxAge = soon", "PriorityMaxAge = 'soon' cannot be read"),
        ("Power = on", "none of the lines that `scontrol show config` prints"),
        ("NodeName=n1 State=IDLE", "line 1: no node has devices, such as Gres=gpu:8"),
    ],
)
def test_a_configuration_that_is_none_is_refused(tmp_path, text, message):
    (tmp_path / "scontrol.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path, '[site]\nconfig = "scontrol.txt"\n')


def test_a_scheduler_without_backfill_lets_nobody_pass(tmp_path):
    (tmp_path / "scontrol.txt").write_text(
        "SchedulerType = sched/builtin\nOverTimeLimit = UNLIMITED"
    )
    conditions = read(tmp_path, '[site]\nconfig = "scontrol.txt"\n')
    assert (conditions.site.backfill, conditions.grace) == (None, inf)


LOG = """JobID|User|Account|QOS|Partition|Submit|Start|ElapsedRaw|State|AllocTRES|Priority
1|u|a|normal|gpu|2026-03-02T00:00:00|2026-03-02T00:00:00|60|COMPLETED|gres/gpu=2,node=1|700
2|u|a|normal|gpu|2026-03-02T00:00:10|2026-03-02T00:01:00|60|COMPLETED|gres/gpu=2,node=1|900
"""
INFERS = '[jobs]\ntrace = "sacct.txt"\n[simulation]\npolicies = ["slurm"]\n[site]\ninfer = true\n'


def inferring(tmp_path, text=INFERS):
    (tmp_path / "sacct.txt").write_text(LOG)
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_queue_study(path)


def test_a_study_may_leave_rules_and_nodes_to_its_log(tmp_path):
    study = inferring(tmp_path, INFERS + 'over_limit = "5 min"\n')
    assert (study.infer_rules, study.infer_fleet) == (True, True)
    assert study.conditions.grace == 300.0
    assert study.jobs.priorities == {"1": 700.0, "2": 900.0}
    assert study.jobs.nodes == {"1": 1, "2": 1}


def test_nodes_that_a_study_states_are_kept(tmp_path):
    study = inferring(tmp_path, "[fleet]\nnodes = 3\ndevices = 2\n" + INFERS)
    assert (study.infer_rules, study.infer_fleet, study.fleet.devices) == (True, False, 6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (INFERS + "depth = 5\n", "site.depth: is stated, and infer asks the log for it"),
        (INFERS.replace("true", '"yes"'), "site.infer: is .yes.. Write true or false"),
        (INFERS.replace("true", "false"), "fleet: is missing"),
        (
            STUDY + "[site]\ninfer = true\n",
            "site.infer: asks for rules that jobs followed, and these are drawn",
        ),
    ],
)
def test_what_cannot_be_inferred_is_refused(tmp_path, text, told):
    with pytest.raises(InputError, match=told):
        inferring(tmp_path, text)
