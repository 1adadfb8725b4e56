"""Meters: what a plan takes of one resource, read off the seconds that the cost model says.

One resource does one unit of work in a second, or waits one second for each call; all others are
so quick that what they take is lost in rounding. So seconds are bytes, calls, kernels or FLOP, and
whatever stands between a strategy and a step has had its part in them.
"""

from functools import cache

import numpy as np

from foretrain.cluster.cluster import Cluster, Host
from foretrain.cluster.device import Device, Level, Link, Peak, Technology
from foretrain.plan.table import table_of
from foretrain.step import compute
from foretrain.step.held import hold
from foretrain.step.memory import host_total, stage_memory
from foretrain.step.rates import CALLS
from foretrain.step.setting import setting
from foretrain.step.step import factors, order_columns, stage_columns, step
from foretrain.step.work import Tile
from foretrain.study.coefficients import DEFAULT

QUICK = 2.0**800
"""A rate at which whatever two layers do takes no time."""

IDEAL = DEFAULT.changed(
    {
        "matrix.sustained": 1.0,
        "matrix.best": 1.0,
        "matrix.experts": 1.0,
        "attention.first": 1.0,
        "attention.second": 1.0,
        "attention.asynchronous": 1.0,
        "attention.backward": 1.0,
        "traffic.sustained": 1.0,
        "host.launch": 0.0,
        "host.kernel": 0.0,
        "host.exchange": 0.0,
        "host.checkpoint": 0.0,
        "host.gap": 0.0,
        "host.spread": 0.0,
        "host.memory": 1.0,
        "links.nvlink": 1.0,
        "links.infiniband": 1.0,
        "links.pcie": 1.0,
        "links.start": 0.0,
        "overlap.gradients": 0.0,
        "overlap.contention": 0.0,
        "overlap.tensor": 0.0,
        "overlap.experts": 0.0,
        "memory.reserve": 0.0,
        "memory.fragmentation": 0.0,
        "memory.temporaries": 0.0,
        "pictures.fused_tuned": 0.0,
        "step.factor": 1.0,
        "step.spread": 0.0,
    }
)
"""Everything at its data sheet's rate, nothing beside anything else."""


def device(*, flop=QUICK, traffic=QUICK):
    """One unit that does so many FLOP and moves so many bytes in a second."""
    return Device(
        name="by hand",
        peak=Peak(fp32=flop, fp16=flop, bf16=flop, fp8=flop),
        memory=QUICK,
        memory_bandwidth=traffic,
        units=1,
    )


def link(*, wire=QUICK, latency=0.0, technology=Technology.NVLINK, **others):
    """One that keeps no order, and so carries no protocol for short messages."""
    return Link(latency=latency, bandwidth=wire, technology=technology, ordered=False, **others)


def one_level(devices, *, wire=QUICK, flop=QUICK, traffic=QUICK, pcie=QUICK, host=QUICK):
    """So many devices on one switch and one host, whose memory each of them has a part of."""
    return Cluster(
        name="by hand",
        device=device(flop=flop, traffic=traffic),
        levels=(Level(name="node", members=devices, link=link(wire=wire)),),
        host=Host(cores=1, memory=QUICK, memory_bandwidth=host * devices, device_bandwidth=pcie),
    )


METERS = {
    "flop": ({"flop": 1.0}, {}),
    "wire": ({"wire": 1.0}, {}),
    "calls": ({}, {"links.start": 1.0}),
    "kernels": ({}, {"host.gap": 1.0}),
    "launches": ({}, {"host.launch": 1.0 / CALLS, "host.kernel": 1.0}),
    "traffic": ({"traffic": 1.0}, {}),
    "pcie": ({"pcie": 1.0}, {}),
    "host": ({"host": 1.0}, {}),
}
"""By name: what of the cluster, and which coefficients, take a second for each unit."""


@cache
def metered(name, workload, devices):
    """The setting in which one meter runs."""
    rates, waits = METERS[name]
    return setting(workload, one_level(devices, **rates), IDEAL.changed(waits))


def with_whole_products(patch):
    """Tiles of one value that load nothing ahead: matrix units take what a product's FLOP take."""
    patch.setattr(compute, "TILES", (Tile(rows=1, columns=1),))
    patch.setattr(compute, "FILL", 2.0**-800)


def read(workload, plans):
    """What every stage of some plans takes of each resource. [plan][stage] by name

    A pass is that of one micro-batch. All plans have the same number of devices.
    """
    stages = [[{} for _ in range(plan.pipeline)] for plan in plans]
    for name in METERS:
        found = measured(metered(name, workload, plans[0].devices), plans)
        for own, readings in zip(stages, found, strict=True):
            for stage, reading in zip(own, readings, strict=True):
                stage.update({f"{name} {what}": it for what, it in reading.items()})
    for own, readings in zip(stages, held(workload, plans), strict=True):
        for stage, reading in zip(own, readings, strict=True):
            stage.update(reading)
    return stages


def measured(known, plans):
    """Seconds of the stages of some plans in one setting. [plan][stage] by name"""
    found = factors(known, hold(known, table_of(plans)))
    columns = stage_columns(known, found)
    sends = np.broadcast_to(order_columns(known, found).send, len(plans))
    return [
        [
            {
                "forward": found.stages.forward[run, found.stage[row]],
                "backward": found.stages.backward[run, found.stage[row]],
                "weights": found.stages.weights[run, found.stage[row]],
                **_exposed(found, run, row),
                "gradients": np.ravel(columns[run].gradients)[row],
                "update": found.tails.update[run, found.tail[row]],
                "offloaded": found.tails.offload[run, found.tail[row]],
                "parameters": np.ravel(columns[run].parameters)[row],
                "send": sends[row] * (plan.pipeline > 1),
            }
            for run in _runs(found.held, row)
        ]
        for row, plan in enumerate(plans)
    ]


AXES = ("tensor", "context", "expert", "halo")
"""Parts of a step that are exchanges of its layers."""


def _exposed(found, run, row):
    """What the layers of a stage exchange in both passes, by part of the step."""
    counts = found.held.cuts.layers[run, :, found.held.cut[row]]
    passing = found.passing[row]
    times, time = found.passes.times, found.passes.time[passing]
    layers = {name: getattr(times, name)[:, time] for name in AXES}
    layers["gathered"] = found.passes.parameters[:, passing]
    layers["reduced"] = found.passes.gradients[:, passing]
    return {name: float(counts @ each) for name, each in layers.items()}


def _runs(own, row):
    """The run of every stage of a plan."""
    return [run for run in own.runs for _ in range(int(own.stages(run)[row]))]


MEMORY = ("weights", "gradients", "optimizer", "activations", "buffers")


def held(workload, plans):
    """Bytes on a device of every stage, and of the heaviest one on its host."""
    known = metered("flop", workload, plans[0].devices)
    own = hold(known, table_of(plans))
    away = host_total(known, own) / plans[0].devices
    everything = {run: stage_memory(known, own, run=run) for run in own.runs}
    return [
        [
            {
                **{f"bytes of {name}": getattr(everything[run], name)[row] for name in MEMORY},
                "bytes on the host": away[row],
            }
            for run in _runs(own, row)
        ]
        for row in range(len(plans))
    ]


def parts(name, workload, plans):
    """The parts of whole steps, as one meter reads them. [plan] by part"""
    known = metered(name, workload, plans[0].devices)
    columns = step(known, factors(known, hold(known, table_of(plans))))
    return [
        {part: float(getattr(columns, part)[row]) for part in columns.__dataclass_fields__}
        for row in range(len(plans))
    ]
