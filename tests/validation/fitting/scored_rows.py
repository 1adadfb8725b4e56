"""Scored rows made up for tests."""

from dataclasses import replace

from validation.fitting.scores import Scored

from foretrain.coefficients.intervals import Situation
from foretrain.measured.run import MeasuredRun, Place, RunLayout, Subject, TableKind, TrainedNetwork

RUN = MeasuredRun(
    id="a-1",
    source_id="a",
    table=TableKind.LLM_TRAINING,
    subject=Subject.STEP_TIME,
    measured=10.0,
    framework="torch",
    task="pretrain",
    precision="bf16",
    global_batch=64,
    network=TrainedNetwork(name="gpt", layers=24, hidden=1024, heads=16, sequence=1024),
    place=Place(device="A100 SXM 80GB", devices=8),
    layout=RunLayout(data=8, tensor=1, pipeline=1, micro_batch=8.0),
)
SITUATION = Situation(device="a100-sxm-80gb", devices=8, parameters=1e9, software="trainer")


def row(name, ratio=1.0, *, measured=10.0, publisher="", situation=SITUATION, **changes):
    """A row whose prediction is a ratio of what was measured; `source-number` is its id."""
    source = name.split("-")[0]
    run = replace(RUN, id=name, source_id=source, measured=measured, **changes)
    return Scored(
        run=run,
        publisher=publisher or source,
        measured=measured,
        predicted=measured * ratio,
        situation=situation,
    )


def laid(**degrees):
    """A layout like that of the run, but for some degrees."""
    return replace(RUN.layout, **degrees)


def on(devices):
    """The run's place with another number of devices."""
    return replace(RUN.place, devices=devices)
