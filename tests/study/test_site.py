"""[site] of a study: an administrator's rules, and what is wrong with them."""

from math import inf

import pytest

from foretrain.errors import InputError
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import Association, Closed, PreemptBy, PreemptMode, SiteRules
from foretrain.study.queue_study import read_queue_study
from foretrain.study.site import node_ranges

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
