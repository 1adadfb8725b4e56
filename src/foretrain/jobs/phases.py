"""Progress of jobs that change on the way."""

from __future__ import annotations

from math import inf

from foretrain.jobs.active import Active, Held
from foretrain.jobs.progress import Stretch
from foretrain.measured.phased import Phased


def phased(active: Active, held: Held) -> Stretch:
    """As the job's curve says, until its next phase begins."""
    curve = active.job.curve
    rate = curve.rate(held.devices, nodes=held.nodes, kind=held.kind, done=active.done)
    return Stretch(rate, curve.turn(active.done) if isinstance(curve, Phased) else inf)
