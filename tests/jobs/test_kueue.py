"""Nested cohorts, flavors and shares: beside a reference of its own, and cases by hand."""

from functools import cache
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import dispatched, job, trace

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.active import CountedPool
from foretrain.jobs.kueue import KueueDispatcher
from foretrain.jobs.quotas import QuotaTree
from foretrain.jobs.simulation import Simulation
from foretrain.measured.limit import FlavorQuota, QuotaCohort, QuotaQueue
from foretrain.measured.site import SiteRules

DEVICES = 24


def queued(*rows, **others):
    """Jobs by (queue, submission, devices, seconds, priority)."""
    return trace(
        job(
            place,
            group=queue,
            arrival=float(arrival),
            devices=devices,
            work=float(work),
            nice=-float(priority[0]) if priority else 0.0,
            **others,
        )
        for place, (queue, arrival, devices, work, *priority) in enumerate(rows)
    )


limits = st.sampled_from([0.0, 1.0, 2.0, 4.0, inf])


@st.composite
def sites(draw, **rules):
    """A root with two cohorts, and four queues in these or in the root."""
    cohorts = [QuotaCohort(name="root", devices=float(draw(st.integers(0, 3))))]
    for name in ("left", "right"):
        one = QuotaCohort(
            name=name,
            parent="root",
            devices=float(draw(st.integers(0, 2))),
            borrows=draw(limits),
            lends=draw(limits),
            weight=draw(st.sampled_from([0.5, 1.0, 3.0])),
        )
        cohorts.append(one)
    queues = [
        QuotaQueue(
            name=name,
            cohort=draw(st.sampled_from(["root", "left", "right", ""])),
            devices=float(draw(st.integers(0, 6))),
            borrows=draw(limits),
            lends=draw(limits),
            weight=draw(st.sampled_from([0.5, 1.0, 3.0])),
            **{key: draw(value) for key, value in rules.items()},
        )
        for name in "abcd"
    ]
    return queues, cohorts


class Books:
    """Whether usage is allowed, by what is written of each node alone; nothing is remembered."""

    def __init__(self, queues, cohorts):
        self.nodes = {each.name: each for each in (*queues, *cohorts)}
        self.above = {each.name: each.cohort for each in queues}
        self.above |= {each.name: each.parent for each in cohorts}
        self.whole, self.local = cache(self.whole), cache(self.local)

    def whole(self, name):
        below = [each for each in self.nodes if self.above[each] == name]
        return self.nodes[name].devices + sum(self.whole(each) - self.local(each) for each in below)

    def local(self, name):
        return max(0.0, self.whole(name) - self.nodes[name].lends)

    def used(self, name, usage):
        below = [each for each in self.nodes if self.above[each] == name]
        asked = (max(0.0, self.used(each, usage) - self.local(each)) for each in below)
        return usage.get(name, 0.0) + sum(asked)

    def allowed(self, usage, path=()):
        """Whether all nodes, or those of a path, are within their bounds."""
        for name in path or self.nodes:
            borrows = self.nodes[name].borrows if self.above[name] else 0.0
            if self.used(name, usage) > self.whole(name) + borrows:
                return False
        return True

    def room(self, name, usage):
        """The most devices more of a queue, one after the other."""
        more, path = 0, self.path(name)
        while more < DEVICES:
            if not self.allowed({**usage, name: usage.get(name, 0) + more + 1}, path):
                break
            more += 1
        return more

    def available(self, name, usage):
        """By the formula, which tells where too many are used too: that is taken off again."""
        whole, used = self.whole(name), self.used(name, usage)
        if not self.above[name]:
            return whole - used
        local = self.local(name)
        beyond = whole - local - max(0.0, used - local) + self.nodes[name].borrows
        return max(0.0, local - used) + min(self.available(self.above[name], usage), beyond)

    def path(self, name):
        return [name, *(self.path(self.above[name]) if self.above[name] else ())]


@few(80)
@given(site=sites(), wishes=st.lists(st.integers(0, 8), min_size=4, max_size=4))
def test_what_is_available_is_the_most_that_breaks_no_bound_of_the_tree(site, wishes):
    queues, cohorts = site
    tree, books, usage = QuotaTree(queues, cohorts), Books(queues, cohorts), {}
    for name, wish in zip("abcd", wishes, strict=True):
        assert min(DEVICES, tree.available(name)) == books.room(name, usage)
        usage[name] = min(wish, books.room(name, usage))
        tree.queues[name].use("", usage[name])
    for name in "abcd":
        assert min(DEVICES, tree.available(name)) == books.room(name, usage)
        assert tree.queues[name].most("") == books.room(name, {}) or books.room(name, {}) == DEVICES
    for name, used in usage.items():
        tree.queues[name].use("", -used)
    assert all(not any(node.usage.values()) for node in tree.queues.values())


def reference(jobs, queues, cohorts):
    """When each job begins where nobody is stopped: cycles over the first jobs of queues."""
    books, begun, usage, ends = Books(queues, cohorts), {}, dict.fromkeys("abcd", 0), []
    waiting: list = []
    for now in range(160):
        for gone in [each for end, each in ends if end == now]:
            usage[gone.group] -= gone.devices
        waiting += [each for each in jobs if each.arrival == now]
        waiting.sort(key=lambda one: (one.nice, one.arrival, one.sequence))
        out: set[str] = set()
        while heads := first_of_queues(waiting, out, books):
            before = (len(begun), len(out))
            cycle(heads, books, usage, begun=begun, out=out, now=now)
            if before == (len(begun), len(out)):
                break
            for one in [each for each in waiting if each.name in begun]:
                waiting.remove(one)
                ends.append((now + one.work, one))
        assert books.allowed(usage)
    return begun


def first_of_queues(waiting, out, books):
    heads = {}
    for each in waiting:
        if each.group not in heads and (each.name not in out or books.nodes[each.group].strict):
            heads[each.group] = each
    return list(heads.values())


def cycle(heads, books, usage, *, begun, out, now):
    """The first job of every queue; who is kept out goes to `out`."""

    def order(one):
        borrows = usage[one.group] + one.devices > books.nodes[one.group].devices
        return bool(borrows and books.above[one.group]), one.nice, one.arrival, one.sequence

    # What would stop others, and may stop nobody, is kept for it in this cycle.
    could = {one.name: one.devices <= books.available(one.group, usage) for one in heads}
    held: dict[str, float] = {}
    for one in sorted(heads, key=order):
        used = {name: usage[name] + held.get(name, 0) for name in usage}
        if not could[one.name]:
            held |= reserved(books, one, used)
        elif one.devices > books.available(one.group, used):
            continue
        elif one.devices <= DEVICES - sum(usage.values()):
            begun[one.name] = now
            usage[one.group] += one.devices
            continue
        out.add(one.name)


def reserved(books, one, usage):
    """What the first job of a queue keeps that waits for what others borrowed."""
    node, path = books.nodes[one.group], books.path(one.group)
    if one.devices > books.available(one.group, {}):
        return {}
    more = {**usage, one.group: usage[one.group] + one.devices}
    inside = any(books.used(each, more) <= books.whole(each) for each in path[:-1])
    if one.devices > node.devices and not inside:
        return {}
    beyond = node.borrows if more[one.group] > books.whole(one.group) else 0
    return {one.group: max(0, min(one.devices, node.devices + beyond - usage[one.group]))}


rows = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.integers(0, 12), st.integers(1, 6), st.integers(1, 9),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=14,
)  # fmt: skip


@few(60)
@given(site=sites(strict=st.booleans()), rows=rows)
def test_without_preemption_every_job_begins_when_the_reference_says(site, rows):
    queues, cohorts = site
    books = Books(queues, cohorts)
    rows = [row for row in rows if row[2] <= books.room(row[0], {})]
    if rows:
        jobs = queued(*rows)
        outcomes = dispatched(
            jobs, KueueDispatcher(queues, fleet(DEVICES), cohorts=cohorts), DEVICES
        )
        expected = reference(jobs.jobs, queues, cohorts)
        names = [each.name for each in jobs.jobs]
        assert dict(zip(names, outcomes.begun, strict=True)) == expected


@few(60)
@given(
    site=sites(
        strict=st.booleans(),
        reclaims=st.booleans(),
        preempts=st.booleans(),
        lower_only=st.booleans(),
        newer_too=st.booleans(),
        stops_to_borrow=st.booleans(),
    ),
    rows=rows,
    fair=st.booleans(),
)
def test_whoever_is_stopped_no_bound_is_broken_and_nothing_is_lost(site, rows, fair):
    queues, cohorts = site
    books = Books(queues, cohorts)
    rows = [row for row in rows if row[2] <= books.room(row[0], {})]
    if not rows:
        return
    jobs, usage = queued(*rows), dict.fromkeys("abcd", 0)

    class Watch:
        def come(self, now, active): ...

        def end(self, now, active): ...

        def hold(self, now, active):
            usage[active.job.group] += active.job.devices
            assert books.allowed(usage)

        def give(self, now, active):
            usage[active.job.group] -= active.job.devices

    dispatcher = KueueDispatcher(queues, fleet(DEVICES), fair=fair, cohorts=cohorts)
    pool = CountedPool(fleet(DEVICES))
    outcomes = Simulation(jobs, pool, dispatcher, observers=[Watch()]).run()
    assert not any(usage.values())
    assert pool.free(()) == DEVICES
    # Every job ran to its end, and who was stopped ran longer than that.
    for each, attained, stops in zip(jobs.jobs, outcomes.attained, outcomes.stops, strict=True):
        whole = each.devices * each.work
        assert attained >= whole if stops else attained == pytest.approx(whole)


TREE = (
    QuotaCohort(name="company"),
    QuotaCohort(name="research", parent="company"),
    QuotaCohort(name="product", parent="company"),
)


def department(name, cohort, devices, **rules):
    return QuotaQueue(name=name, cohort=cohort, devices=float(devices), **rules)


def run(queues, jobs, *, cohorts=TREE, fair=False, devices=8):
    return dispatched(
        jobs, KueueDispatcher(queues, fleet(devices), fair=fair, cohorts=cohorts), devices
    )


def test_a_cohort_lends_no_more_than_it_may_to_another():
    cohorts = (TREE[0], TREE[1], QuotaCohort(name="product", parent="company", lends=1.0))
    queues = (department("vision", "research", 4), department("ads", "product", 4))
    outcomes = run(queues, queued(("vision", 0, 5, 9), ("vision", 0, 1, 9)), cohorts=cohorts)
    assert list(outcomes.begun) == [0.0, 9.0]


def test_a_job_within_what_its_cohort_is_promised_takes_it_back_from_another():
    """Speech has no quota of its own: vision's, which is in its cohort, entitles it."""
    queues = (
        department("speech", "research", 0, reclaims=True),
        department("vision", "research", 4),
        department("ads", "product", 4),
    )
    rows = (("ads", 0, 4, 50), ("ads", 1, 3, 50), ("ads", 2, 1, 50), ("speech", 10, 4, 5))
    outcomes = run(queues, queued(*rows))
    # The newest first: the one of 1 device, then that of 3.
    assert list(outcomes.stops) == [0, 1, 1, 0]
    assert outcomes.begun[3] == 10.0


def test_a_job_beyond_what_its_cohort_is_promised_stops_nobody():
    queues = (
        department("speech", "research", 0, reclaims=True),
        department("vision", "research", 3),
        department("ads", "product", 5),
    )
    outcomes = run(queues, queued(("ads", 0, 8, 50), ("speech", 10, 4, 5)))
    assert list(outcomes.begun) == [0.0, 50.0]


def test_a_queue_that_borrows_within_a_cohort_that_does_not_is_spared():
    """Ads borrows from maps, in its own cohort; ops, of another, has what is vision's."""
    cohorts = (*TREE, QuotaCohort(name="infra", parent="company"))
    queues = (
        department("vision", "research", 2, reclaims=True),
        department("ads", "product", 1),
        department("maps", "product", 5),
        department("ops", "infra", 0),
    )
    rows = (("ops", 0, 2, 50), ("ads", 1, 6, 50), ("vision", 2, 2, 5))
    outcomes = run(queues, queued(*rows), cohorts=cohorts)
    assert list(outcomes.stops) == [1, 0, 0]
    assert outcomes.begun[2] == 2.0


def test_what_a_queue_keeps_for_itself_is_not_asked_of_its_cohort():
    """Speech wants 4: 2 that it lends to nobody, and 2 that vision is promised and ads has."""
    queues = (
        department("speech", "research", 2, lends=0.0, reclaims=True),
        department("vision", "research", 2),
        department("ads", "product", 4),
    )
    rows = (("ads", 0, 4, 50), ("ads", 1, 2, 50), ("speech", 2, 4, 5))
    outcomes = run(queues, queued(*rows))
    assert list(outcomes.stops) == [0, 1, 0]


@pytest.mark.parametrize(
    ("strict", "reclaims", "begins"), [(True, False, 100.0), (True, True, 2.0), (False, False, 2.0)]
)
def test_a_strict_queue_that_waits_for_what_it_lent_keeps_others_from_borrowing(
    strict, reclaims, begins
):
    """As kueue's issue 4809 tells; nobody is of lower priority, so nobody is stopped."""
    queues = (
        department("A", "company", 4, strict=strict, reclaims=reclaims),
        department("B", "company", 4),
    )
    rows = (("A", 0, 2, 100), ("B", 0, 4, 100), ("A", 1, 4, 9), ("B", 2, 1, 9))
    outcomes = run(queues, queued(*rows), cohorts=TREE[:1])
    assert outcomes.begun[3] == begins


@pytest.mark.parametrize(("threshold", "begins"), [(inf, 10.0), (1.0, 10.0), (0.0, 50.0)])
def test_whoever_borrows_may_stop_lower_priorities_up_to_a_threshold(threshold, begins):
    """B is promised 4 and wants 6; A borrows 2 of C's for a job of priority 1."""
    queues = (
        department("A", "company", 2),
        department("B", "company", 4, reclaims=True, stops_to_borrow=True, stops_up_to=threshold),
        department("C", "company", 2),
    )
    rows = (("A", 0, 2, 50), ("A", 1, 2, 49), ("B", 10, 6, 5, 3))
    outcomes = run(queues, queued(*rows), cohorts=TREE[:1])
    assert list(outcomes.begun) == [0.0, 1.0, begins]
    assert list(outcomes.stops) == [0, begins == 10.0, 0]


def test_the_cohort_and_then_the_queue_with_the_smaller_share_are_let_in_first():
    """
    At 10 there is room for 4: research would have a share of 1000, product of 500. At 19 vision
    would have 1000 in research, speech 500.
    """
    root = QuotaCohort(name="company", devices=8.0)
    queues = (
        department("vision", "research", 0),
        department("speech", "research", 0),
        department("ads", "product", 0),
    )
    rows = (
        ("vision", 0, 4, 90), ("ads", 0, 2, 10), ("vision", 5, 4, 9), ("speech", 5, 4, 9),
        ("ads", 6, 4, 9),
    )  # fmt: skip
    outcomes = run(queues, queued(*rows), cohorts=(root, *TREE[1:]), fair=True)
    assert list(outcomes.begun) == [0.0, 0.0, 28.0, 19.0, 10.0]


def test_shares_are_compared_where_the_paths_of_queues_meet():
    """
    Ads alone fills product with 6 of 8: a share of 750. Speech wants 4, with which research has
    500, as product has without one job of 2; its own share in research does not matter.
    """
    root = QuotaCohort(name="company", devices=8.0)
    queues = (
        department("speech", "research", 0, reclaims=True, weight=0.001),
        department("ads", "product", 0),
    )
    rows = (*[("ads", 0, 2, 50)] * 3, ("speech", 10, 4, 5))
    outcomes = run(queues, queued(*rows), cohorts=(root, *TREE[1:]), fair=True)
    assert sum(outcomes.stops) == 1
    assert outcomes.begun[3] == 10.0


MIXED = Fleet(nodes=(Nodes(count=1, devices=4, kind="h100"), Nodes(count=1, devices=8, kind="l4")))


def flavored(name="q", **rules):
    return QuotaQueue(
        name=name,
        cohort="all",
        flavors=(FlavorQuota(name="h100", devices=2.0), FlavorQuota(name="l4", devices=4.0)),
        **rules,
    )


def held_kinds(jobs, *queues):
    """The kind of devices on which each job ran first."""
    found = {}

    class Watch:
        def come(self, now, active): ...

        def end(self, now, active): ...

        def hold(self, now, active):
            found.setdefault(active.job.name, (now, active.held.kind))

        def give(self, now, active): ...

    Simulation(jobs, CountedPool(MIXED), KueueDispatcher(queues, MIXED), observers=[Watch()]).run()
    return [found[each.name] for each in jobs.jobs]


OTHER = QuotaQueue(
    name="other",
    cohort="all",
    flavors=(FlavorQuota(name="h100", devices=2.0), FlavorQuota(name="l4", devices=4.0)),
)


def test_the_first_flavor_that_fits_is_used_though_it_must_be_borrowed():
    jobs = queued(("q", 0, 3, 10), ("q", 1, 3, 10))
    assert held_kinds(jobs, flavored(), OTHER) == [(0.0, "h100"), (1.0, "l4")]


def test_a_queue_may_look_for_a_flavor_without_borrowing_first():
    jobs = queued(("q", 0, 3, 10), ("q", 1, 2, 10))
    found = held_kinds(jobs, flavored(next_before_borrowing=True), OTHER)
    assert found == [(0.0, "l4"), (1.0, "h100")]


@pytest.mark.parametrize(("stops", "kind"), [(False, "l4"), (True, "h100")])
def test_whether_others_are_stopped_for_a_flavor_before_the_next_is_tried(stops, kind):
    jobs = queued(("other", 0, 4, 50), ("q", 10, 2, 5))
    queue = flavored(reclaims=True, stops_before_next=stops)
    assert held_kinds(jobs, queue, OTHER) == [(0.0, "h100"), (10.0, kind)]


def test_a_job_has_flavors_of_its_kinds_alone():
    jobs = queued(("q", 0, 1, 10), kinds=("l4",))
    assert held_kinds(jobs, flavored(), OTHER) == [(0.0, "l4")]


def test_flavors_of_a_fleet_of_several_kinds_are_these():
    strange = QuotaQueue(name="q", flavors=(FlavorQuota(name="spot"),))
    with pytest.raises(InputError, match=r"no kinds of the fleet: spot\. Known: h100, l4"):
        KueueDispatcher([strange], MIXED)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: SiteRules(queues=(flavored(), QuotaQueue(name="p", devices=1.0))), "none in p"),
        (lambda: flavored(devices=3.0), "beside devices"),
        (lambda: QuotaCohort(name="c", flavors=(FlavorQuota(name="x"),) * 2), "names that differ"),
        (lambda: FlavorQuota(name="x", lends=-1.0), "must be at least 0"),
        (
            lambda: SiteRules(cohorts=(QuotaCohort(name="c", parent="d"),
                                       QuotaCohort(name="d", parent="c"))),
            "lead back to it",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_of_quotas_is_told(make, told):
    with pytest.raises(InputError, match=told):
        make()


def test_a_cohort_may_be_in_one_that_is_only_named():
    assert SiteRules(cohorts=(QuotaCohort(name="c", parent="top"),)).cohorts[0].parent == "top"
