"""A small profile: two epochs, batches of 4 and 8, steps on a plane."""

from validation.scheduling.profile import Epoch, Profile

from foretrain.queueing.step_fit import TimedStep


def step(nodes, devices, batch):
    """Seconds on a plane, so that every interpolation is exact."""
    return 1.0 + 0.5 * nodes + 0.25 * devices + 0.125 * batch


def timed(placement, batch):
    nodes, devices = len(placement), sum(placement)
    return TimedStep(
        nodes=nodes,
        devices=devices,
        batch=batch,
        step=step(nodes, devices, batch),
        sync=0.25 if devices > 1 else 0.0,
        placement=placement,
    )


SMALL = Profile(
    name="small",
    steps=tuple(
        timed(placement, batch)
        for placement in ((1,), (2,), (1, 1), (2, 2), (1, 1, 1, 1), (2, 2, 2, 2))
        for batch in (1, 2, 4)
    ),
    epochs={
        4: (
            Epoch(progress=10.0, steps=10.0, signal=1.0, noise=1.0),
            Epoch(progress=20.0, steps=20.0, signal=1.0, noise=3.0),
        ),
        8: (
            Epoch(progress=10.0, steps=8.0, signal=1.0, noise=1.0),
            Epoch(progress=20.0, steps=14.0, signal=1.0, noise=3.0),
        ),
    },
)
