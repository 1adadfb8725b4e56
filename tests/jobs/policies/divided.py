"""States for policies that divide time: waiting jobs by how quickly they go."""

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.active import Active
from foretrain.jobs.shared import ClusterState
from foretrain.measured.job import Job
from foretrain.throughput import Point, ThroughputCurve

ONE = "v100"


def job(place, rates, *, devices=1, work=100.0, arrival=0.0, priority=1.0):
    """A job of some steps per second by kind."""
    points = tuple(Point(devices=devices, rate=rate, kind=kind) for kind, rate in rates.items())
    return Job(
        name=f"j{place:03d}",
        arrival=arrival,
        work=work,
        curve=ThroughputCurve(name="by hand", points=points),
        devices=devices,
        kinds=tuple(rates),
        priority=priority,
    )


def state(jobs, *, now=0.0, **devices):
    """Jobs that wait, and devices by kind."""
    nodes = tuple(Nodes(count=count, devices=1, kind=kind) for kind, count in devices.items())
    waiting = tuple(Active(each, rank) for rank, each in enumerate(jobs))
    return ClusterState(now, waiting, Fleet(nodes=nodes))


def shares(divided, kind=ONE):
    """Of each job on a kind, in order of rank."""
    return [own.get(kind, 0.0) for _, own in sorted(divided.items())]
