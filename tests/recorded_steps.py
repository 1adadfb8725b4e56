"""Recorded steps and a profile, small enough to work out by hand."""

from foretrain.measured.scale_study import Profile, RecordedOperation, RecordedStep, StepResource


def compute(name, seconds, *after):
    return RecordedOperation(
        name=name, resource=StepResource.COMPUTE, start=0.0, end=seconds, after=after
    )


def carry(name, resource, size, *, layer, after=()):
    return RecordedOperation(
        name=name, resource=resource, start=0.0, end=0.0, size=size, layer=layer, after=after
    )


TWO_LAYERS = RecordedStep(
    number=0,
    operations=(
        carry("pull 2", StepResource.DOWNLINK, 4.0, layer=2),
        carry("pull 1", StepResource.DOWNLINK, 1.0, layer=1),
        compute("forward 1", 4.0, "pull 1"),
        compute("forward 2", 1.0, "pull 2", "forward 1"),
        compute("backward 2", 1.0, "forward 2"),
        carry("push 2", StepResource.UPLINK, 4.0, layer=2, after=("backward 2",)),
        compute("backward 1", 1.0, "backward 2"),
        carry("push 1", StepResource.UPLINK, 1.0, layer=1, after=("backward 1",)),
    ),
)
"""Layer 2 has four bytes of parameters and is asked for first; layer 1 has one."""

PULL = RecordedOperation(
    name="pull", resource=StepResource.DOWNLINK, start=0.5, end=1.5, size=8.0, layer=1
)
FORWARD = RecordedOperation(
    name="forward", resource=StepResource.COMPUTE, start=1.5, end=4.0, after=("pull",)
)
STEP = RecordedStep(number=3, operations=(PULL, FORWARD))
PROFILE = Profile(name="small", nodes=2, samples=32.0, link=8.0, steps=(STEP,))
