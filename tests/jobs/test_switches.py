"""Nodes under switches: worked cases by hand, from the documented rule of topology/tree."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace

from foretrain.cluster.device import Switch
from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.nodes import nodes_of
from foretrain.jobs.run import run
from foretrain.jobs.slurm_horizon import NodeChoice, SwitchTree
from foretrain.measured.queue_study import Conditions, Placement
from foretrain.measured.site import BackfillRules, SiteRules

FOUR = tuple(Switch(name=f"l{each}", nodes=((4 * each, 4 * each + 3),)) for each in range(4))
PAIRS = (
    *FOUR,
    Switch(name="a", switches=("l0", "l1")),
    Switch(name="b", switches=("l2", "l3")),
    Switch(name="top", switches=("a", "b")),
)


def chosen(switches, free, whole, *, part=None):
    """The nodes of a job that wants some whole nodes, and those of the rest if any."""
    fill = sum(1 << node for node in free)
    hold = fill if part is None else fill | sum(1 << node for node in part)
    choice = NodeChoice(full=fill, part=hold, whole=whole, rest=part is not None)
    found = SwitchTree(switches, 16).choose(choice, lambda nodes: max(nodes_of(nodes)))
    return [*nodes_of(found)]


@pytest.mark.parametrize(
    ("free", "whole", "expected"),
    [
        # Two leaves have enough: the one with fewer nodes left is taken.
        ([0, 1, 2, 3, 4, 5, 8], 2, [4, 5]),
        # No leaf has three; of the switches above, b has fewer than a, and all of it is taken.
        ([0, 1, 4, 5, 8, 9, 12], 3, [8, 9, 12]),
        # Under a alone there are five: first the leaf with most, then the rest from the other.
        ([0, 4, 5, 6, 7, 8, 12], 5, [0, 4, 5, 6, 7]),
        # Four of b: l2 has three, and of the others l3 has enough for the one that is left.
        ([0, 8, 9, 10, 12, 13], 4, [8, 9, 10, 12]),
        # Only the top has six: the whole leaf l1, then of l0 with one and l2 with two the latter.
        ([0, 4, 5, 6, 7, 8, 9], 6, [4, 5, 6, 7, 8, 9]),
        ([0, 1], 3, []),
    ],
)
def test_the_lowest_switch_that_will_do_and_then_leaves_by_best_fit(free, whole, expected):
    assert chosen(PAIRS, free, whole) == expected


def test_the_rest_of_a_job_lies_beside_its_whole_nodes_where_it_can():
    """One node and a part: l0 has a free node and no other, l1 has both."""
    assert chosen(PAIRS, [0, 4], 1, part=[5, 9]) == [4, 5]


def test_nodes_that_no_switch_connects_are_not_used_together():
    assert chosen(FOUR, [0, 4, 8, 12], 2) == []


@few(60)
@given(
    free=st.sets(st.integers(0, 15)),
    part=st.sets(st.integers(0, 15)),
    whole=st.integers(0, 6),
    rest=st.booleans(),
)
def test_a_job_lies_under_as_low_a_switch_as_any_choice_of_nodes_does(free, part, whole, rest):
    """Held against all sets of nodes: none that will do lies lower, and one is found if any is."""
    if not whole and not rest:
        return
    found = chosen(PAIRS, free, whole, part=part if rest else None)
    tree = {each.name: each for each in PAIRS}

    def under(name):
        each = tree[name]
        return (
            {node for other in each.switches for node in under(other)}
            if each.switches
            else set(range(each.nodes[0][0], each.nodes[0][1] + 1))
        )

    levels = [["l0", "l1", "l2", "l3"], ["a", "b"], ["top"]]

    def level(nodes):
        return next(k for k, names in enumerate(levels) if any(nodes <= under(n) for n in names))

    def legal(nodes):
        return any(
            set(some) <= free and (nodes - set(some)) <= free | part
            for some in combinations(sorted(nodes), whole)
        )

    usable = sorted(free | part if rest else free)
    sets = [set(each) for each in combinations(usable, whole + rest) if legal(set(each))]
    assert bool(found) == bool(sets)
    if found:
        assert legal(set(found))
        assert len(found) == whole + rest
        assert level(set(found)) == min(map(level, sets))


class Where:
    """Notes on which nodes each job began."""

    def __init__(self):
        self.nodes = {}

    def come(self, now, active):
        pass

    def hold(self, now, active):
        self.nodes[active.job.name] = [node for node, _ in active.held.places]

    def give(self, now, active):
        pass

    def end(self, now, active):
        pass


def ran(jobs, *, switches=PAIRS, policy="slurm", devices=1, **rules):
    """When jobs began and ended, and where."""
    where = Where()
    site = SiteRules(switches=switches, **rules)
    conditions = Conditions(site=site, placement=Placement.PACKED)
    fleet = Fleet(nodes=(Nodes(count=16, devices=devices),))
    outcomes = run(trace(jobs), fleet, policy, conditions=conditions, watch=where)
    return outcomes, where.nodes


def test_jobs_of_a_cluster_lie_under_one_leaf_each():
    """By hand: three nodes of l0, two fit no more beside them, and one does."""
    jobs = [job(0, devices=3, work=9.0), job(1, devices=2, work=9.0), job(2, work=9.0)]
    _, nodes = ran(jobs)
    assert nodes == {"j000": [0, 1, 2], "j001": [4, 5], "j002": [3]}


def test_devices_of_a_node_are_shared_under_the_fullest_leaf():
    jobs = [job(0, devices=12, work=9.0), job(1, devices=4, work=9.0), job(2, devices=8, work=9.0)]
    _, nodes = ran(jobs, devices=8)
    assert nodes == {"j000": [0, 1], "j001": [1], "j002": [2]}


SPLIT = [job(place, devices=3, work=1000.0) for place in range(4)]
"""Three nodes of each leaf."""


@pytest.mark.parametrize(
    ("switches", "begins"),
    [(None, 0.0), ((1, 60.0), 60.0), ((1, 900.0), 300.0), ((2, 900.0), 0.0)],
)
def test_a_job_waits_for_few_switches_as_long_as_it_says_and_the_site_allows(switches, begins):
    """One node of each leaf is free: two lie under two leaves until 1,000 s."""
    outcomes, _ = ran([*SPLIT, job(4, devices=2, work=50.0, switches=switches)])
    assert outcomes.begun[4] == begins


def test_who_waits_for_few_switches_starts_when_there_are():
    ends = [job(0, devices=3, work=100.0), *SPLIT[1:]]
    outcomes, nodes = ran([*ends, job(4, devices=2, work=50.0, switches=(1, 900.0))])
    assert (outcomes.begun[4], nodes["j004"]) == (100.0, [0, 1])


def test_the_plan_of_a_job_lies_under_the_switches_that_it_waits_for():
    """By hand: j4 is planned on two nodes of l0 at 200 s, so that j5 may have the others now."""
    ends = [job(0, devices=4, work=200.0), *SPLIT[1:]]
    late = [job(4, devices=2, work=50.0, switches=(1, 250.0)), job(5, devices=3, work=500.0)]
    rules = BackfillRules(interval=1.0, resolution=1.0)
    outcomes, nodes = ran([*ends, *late], backfill=rules)
    assert (outcomes.begun[4], nodes["j004"]) == (200.0, [0, 1])
    assert outcomes.begun[5] == 0.0


@pytest.mark.parametrize(("across", "ends"), [(1.0, 100.0), (0.5, 200.0)])
@pytest.mark.parametrize("policy", ["slurm", "easy"])
def test_a_job_under_several_leaves_goes_at_the_pace_that_the_site_says(policy, across, ends):
    """Of five nodes one lies under another leaf; four lie under one."""
    wide, _ = ran([job(0, devices=5, work=100.0)], policy=policy, across=across)
    narrow, _ = ran([job(0, devices=4, work=100.0)], policy=policy, across=across)
    assert (wide.ended[0], narrow.ended[0]) == (ends, 100.0)


def test_a_job_wider_than_what_switches_connect_is_refused():
    with pytest.raises(InputError, match="partition or queue"):
        ran([job(0, devices=5)], switches=FOUR)


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        (FOUR[:3], "4 nodes are under no leaf switch, such as 12, 13"),
        ((*FOUR, Switch(name="again", nodes=((0, 1),))), "nodes 0, 1 are under two"),
    ],
)
def test_switches_that_leave_nodes_out_are_refused(switches, message):
    with pytest.raises(InputError, match=message):
        ran([job(0)], switches=switches)


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ([Switch(name="a", switches=("b",)), *FOUR], "names b, which is none before it"),
        (
            [*FOUR, Switch(name="a", switches=("l0",)), Switch(name="b", switches=("l0",))],
            "another",
        ),
        ([*FOUR, Switch(name="l0", nodes=((16, 17),))], "names one twice"),
    ],
)
def test_switches_that_are_no_tree_are_refused(switches, message):
    with pytest.raises(InputError, match=message):
        SiteRules(switches=tuple(switches))
