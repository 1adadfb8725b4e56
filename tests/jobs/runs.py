"""Jobs by hand and what becomes of them."""

from foretrain.cluster.mixed import fleet
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.shared import SharedDispatcher
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job, Trace
from foretrain.throughput import rigid


def job(place, *, arrival=0.0, work=1.0, devices=1, curve=None, **others):
    """A job that is rigid unless a curve is given, and whose user knows how long it takes."""
    curve = curve or rigid(devices)
    others.setdefault("estimate", work)
    return Job(
        name=f"j{place:03}",
        arrival=arrival,
        work=work,
        curve=curve,
        devices=devices,
        sequence=place,
        **others,
    )


def trace(jobs):
    return Trace(name="by hand", jobs=tuple(jobs))


def rigid_trace(*rows):
    """Jobs by (arrival, work, devices)."""
    return trace(
        job(place, arrival=arrival, work=work, devices=devices)
        for place, (arrival, work, devices) in enumerate(rows)
    )


def dispatched(jobs, dispatcher, devices):
    """Run the jobs of a trace on equal devices."""
    return Simulation(jobs, CountedPool(fleet(devices)), dispatcher).run()


def shared(jobs, policy, devices, *, period=0.0):
    """Run them under a policy that divides all devices."""
    return dispatched(jobs, SharedDispatcher(policy, fleet(devices), period=period), devices)
