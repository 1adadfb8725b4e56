"""From a profile of one worker to the training of many: the phases of the coarse model.

The fine model takes the recorded steps as they are.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from foretrain.distributions import Samples
from foretrain.measured.scale_study import Profile, RecordedStep, StepResource
from foretrain.plan.servers import SYNCHRONOUS, Servers, Training, Updates, Worker


def coarse_training(
    profile: Profile,
    servers: Servers,
    *,
    link: float,
    updates: Updates = SYNCHRONOUS,
    overlap: bool,
) -> Training:
    """What do many workers do that each do what a profile shows?

    Args:
        profile: of one worker.
        servers: as they are to be; the work of an update is the profile's.
        link: bytes per second of a worker's connection, as it is to be, in each direction.
        updates: when a worker may go on.
        overlap: whether what overlapped in the profile does so in the steps: a step then computes
            as long as it lasted without its transfers and its update. Otherwise it computes as long
            as its computations took, and then nothing overlaps.

    Source: li2022, abstract: phases that do not overlap, and what mends them.
    """
    steps = profile.steps
    seconds = [
        exposed_compute(step, profile) if overlap else step.taken(StepResource.COMPUTE)
        for step in steps
    ]
    return Training(
        worker=Worker(
            compute=Samples(tuple(seconds)),
            samples=profile.samples,
            pulled=fmean(step.carried(StepResource.DOWNLINK) for step in steps),
            pushed=fmean(step.carried(StepResource.UPLINK) for step in steps),
            link=link,
        ),
        servers=replace(servers, update=fmean(step.taken(StepResource.SERVER) for step in steps)),
        updates=updates,
    )


def exposed_compute(step: RecordedStep, profile: Profile) -> float:
    """Seconds of a recorded step in which nothing but computing can have been under way.

    What the step lasted, less its update and what its bytes take on the link of the profile alone;
    0 where those took all of it, beside one another.
    """
    others = step.taken(StepResource.SERVER)
    if profile.link is not None:
        carried = step.carried(StepResource.DOWNLINK) + step.carried(StepResource.UPLINK)
        others += carried / profile.link + 2.0 * profile.latency
    return max(step.seconds - others, 0.0)
