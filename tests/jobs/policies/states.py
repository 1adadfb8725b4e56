"""States by hand: what a policy sees."""

from tests.jobs.runs import job

from foretrain.cluster.mixed import fleet
from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.shared import ClusterState


def state(*jobs, devices, per_node=0, now=0.0, shared=None):
    """Jobs that have come, none of which holds anything."""
    return ClusterState(now, tuple(jobs), shared or fleet(devices, per_node=per_node))


def active(place, curve, *, work=1.0, holds=0, stops=0, **others):
    """A job that came at 0 and holds some devices since."""
    made = Active(job(place, work=work, curve=curve, devices=curve.counts[0], **others), place)
    if holds:
        made.held = HeldDevices("", holds, 1)
        made.rate = curve.rate(holds, nodes=1, kind="", done=0.0)
    made.stops = stops
    return made


def devices_of(grants):
    """Devices of each job by its rank."""
    return {rank: grant.devices for rank, grant in grants.items()}
