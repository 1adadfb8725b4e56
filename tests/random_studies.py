"""Random studies small enough to be answered plan by plan: odd clusters, spaces, limits, offers."""

from dataclasses import replace
from itertools import permutations
from math import prod

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from foretrain.cluster.cluster import Cluster, Power, Storage
from foretrain.cluster.device import Level, Topology
from foretrain.cluster.offer import Offer, divisible, whole
from foretrain.plan.choices import LAYERS, PARAMETERS, STAGES, question_of
from foretrain.plan.enumeration import degrees, grown, order_counts, with_layers
from foretrain.plan.plan import (
    AS_MADE,
    AXES,
    CUTS,
    ContextExchange,
    Offload,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.study import Limit, Objective, Space, Study
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.setting import setting
from foretrain.step.step import factors, step_time
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Data, Optimizer, Precision, Workload
from tests.examples import among
from tests.random_models import models
from tests.random_nouns import codecs, devices, hosts, links, sizes

MOST = 6_000
"""Plans of the largest random space."""

SHAPES = (Topology.SWITCH, Topology.SWITCH, Topology.RING, Topology.TORUS, Topology.TREE)


def some(values):
    """Some of the values, in any order."""
    every = list(values)
    return st.lists(st.sampled_from(every), min_size=1, max_size=3, unique=True).map(tuple)


@st.composite
def clusters(draw, name="random"):
    """Up to 96 devices on one to three levels, one of which may be the node."""
    members = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=3))
    assume(prod(members) <= 96)
    node = draw(st.integers(0, len(members)))
    levels = [
        Level(
            name="node" if place == node else f"level {place}",
            members=count,
            link=replace(draw(links()), kind=draw(among(SHAPES)), in_network=network),
        )
        for place, count in enumerate(members)
        for network in [draw(among([False, False, True]))]
    ]
    return Cluster(
        name=name,
        device=draw(devices()),
        levels=tuple(levels),
        host=draw(st.one_of(hosts, st.none())),
        storage=draw(st.none() | st.builds(Storage, read=rates, write=rates)),
        price=draw(among([1e-3, 2e-4])),
        node_power=draw(among([5e3, 2e4])),
        power=Power(idle=draw(among([None, 1e3]))),
    )


rates = st.floats(1e6, 1e10)


@st.composite
def offers(draw):
    """One to three clusters, of each of which some numbers of nodes may be rented."""
    found = []
    for place in range(draw(among([1, 1, 1, 2, 3]))):
        cluster = draw(clusters(f"random {place}"))
        groups = cluster.levels[-1].members
        fewer = st.lists(st.integers(1, groups), max_size=3) if divisible(cluster) else st.just([])
        numbers = sorted({*draw(fewer), groups})
        found.append(
            Offer(
                cluster=cluster,
                nodes=tuple(number * cluster.nodes // groups for number in numbers),
            )
        )
    return tuple(found)


@st.composite
def workloads(draw, of=models):
    """Any model, batch and data set."""
    samples = draw(among([1e4, 1e6]))
    data = st.builds(
        Data,
        samples=st.sampled_from([1e3, 1e8]),
        sample_bytes=st.none() | st.floats(1, 1e7),
        prepare=st.none() | st.floats(0, 1),
    )
    return Workload(
        model=draw(of),
        global_batch=draw(among([1, 3, 4, 6, 7, 8, 12, 16, 24, 48, 64, 96])),
        precision=draw(among(Precision)),
        optimizer=draw(among(Optimizer)),
        gradients=draw(codecs),
        samples=samples,
        data=draw(st.one_of(st.none(), st.none(), data)),
    )


@st.composite
def cuts(draw, layers):
    """Ways to cut; of those that list layers, one."""
    parts = draw(st.integers(1, min(8, layers)))
    return draw(st.sampled_from([*CUTS, draw(sizes(layers, parts))]))


@st.composite
def spaces(draw, model, *, offload):
    """Some choices of some fields."""
    layers = model.cuttable_layers
    several = st.lists(cuts(layers), min_size=1, max_size=3)
    often = st.one_of(st.just(("even",)), st.just(AS_MADE), several)
    return Space(
        interleaving=draw(among([None, None, (1,), (2, 1)])),
        sequence_parallel=draw(among([None, (False,), (True, False)])),
        exchange=draw(st.none() | some(ContextExchange)),
        sharding=draw(st.none() | some(Sharding)),
        shard=draw(among([None, None, (0,), (2,), (0, 2, 3), (4, 2)])),
        reshard=draw(some([True, False])),
        recompute=draw(st.none() | some(Recompute)),
        recompute_layers=draw(some(range(layers))),
        offload=draw(some(Offload)) if offload else (Offload.NONE,),
        offload_layers=draw(some(range(layers))) if offload else (0,),
        attention=draw(st.none() | some(Attention)),
        schedule=draw(some(Schedule)),
        sends=draw(some(Sends)),
        cut=tuple(dict.fromkeys(draw(often))),
        order=draw(st.none() | some(permutations(AXES))),
    )


FEWER = {
    "context": (1,),
    "data": (1, 2, 3, 6),
    "expert_tensor": (1,),
    "interleaving": (1, 2),
    "micro_batch": (1, 2, 3),
    "order": (AXES, AXES[::-1]),
    "recompute": (Recompute.NONE, Recompute.FULL),
    "recompute_layers": (0,),
    "shard": (0, 2),
    "sharding": (Sharding.NONE, Sharding.PARAMETERS),
    "tensor": (1, 2, 3),
}
"""What a space that is too large is narrowed to, in any order."""


def plans_of(study):
    """How many distinct legal plans a study has."""
    question, total = question_of(study.workload, study.space), 0
    for offer in study.choices:
        plans, many = with_layers(question, degrees(question, offer.devices))
        total += int((many * order_counts(plans, offer.cluster, study.space)).sum())
    return total


@st.composite
def studies(draw, of=models, most=MOST):
    """A question of at most so many plans, some of which break a limit or do not fit."""
    rented, workload = draw(offers()), draw(workloads(of))
    hosted = all(offer.cluster.host for offer in rented)
    study = Study(
        workload=workload,
        cluster=rented[0].cluster,
        space=draw(spaces(workload.model, offload=hosted)),
        objective=draw(among(Objective)),
        offers=rented if rented != (whole(rented[0].cluster),) or draw(st.booleans()) else (),
    )
    study = _narrowed(study, draw(st.permutations(list(FEWER))), most=most)
    return draw(_limited(study)) if draw(st.booleans()) else study


def _narrowed(study, names, *, most):
    for name in names:
        if plans_of(study) <= most:
            return study
        study = replace(study, space=replace(study.space, **{name: FEWER[name]}))
    assume(plans_of(study) <= most)
    return study


@st.composite
def _limited(draw, study):
    """Limits about as large as what one plan of the space takes."""
    offer = draw(st.sampled_from(study.choices))
    question = question_of(study.workload, study.space)
    table = degrees(question, offer.devices)
    if not len(table):
        return study
    row = draw(st.integers(0, len(table) - 1))
    every = grown(question, table.take(np.array([row])), (*LAYERS, *PARAMETERS, *STAGES))
    if not len(every):
        return study
    one = every.take(np.array([draw(st.integers(0, len(every) - 1))]))
    place = setting(study.workload, offer.cluster, DEFAULT)
    held = hold(place, one)
    memory = float(heaviest_total(place, held)[0])
    seconds = float(step_time(place, factors(place, held))[0])
    whole_job = seconds * study.workload.samples / study.workload.global_batch
    near = st.sampled_from([0.7, 1.0, 1.0000001, 1.5, 4.0])
    dollars = whole_job * offer.devices[-1] * offer.cluster.price
    limit = Limit(
        memory=draw(st.none() | near.map(lambda share: share * memory)),
        deadline=draw(st.none() | near.map(lambda share: share * whole_job)),
        cost=draw(st.none() | near.map(lambda share: share * dollars)),
    )
    return replace(study, limit=limit)
