"""How many devices each axis of a measured run has."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.run import MeasuredRun
from foretrain.workload.graph import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """Degrees of the axes, under the names of `Plan`."""

    data: int
    tensor: int
    pipeline: int
    context: int
    expert: int

    @property
    def divided(self) -> bool:
        """Whether two axes or more are used, so that their order matters."""
        return sum(each > 1 for each in (self.data, self.tensor, self.pipeline, self.context)) > 1


def degrees_of(run: MeasuredRun, model: Model, assumptions: Assumptions) -> Degrees:
    """The degrees that a row states; one that is blank follows from the number of devices.

    Raises:
        NotCovered: two are blank, or they do not multiply to the number of devices.
    """
    layout = run.layout
    context = assumptions.fill(layout.context, defaults.NO_CONTEXT)
    known = {"data": layout.data, "tensor": layout.tensor, "pipeline": layout.pipeline}
    devices = stated(run.place.devices, "number of devices")
    blank = [name for name, degree in known.items() if degree is None]
    if len(blank) > 1:
        raise NotCovered(f"degree of the {' and '.join(blank)} axis not stated")
    together = context * prod(degree for degree in known.values() if degree is not None)
    rest = devices // together if blank else 1
    if together * rest != devices:
        raise NotCovered("degrees do not multiply to the number of devices")
    filled = {name: degree or rest for name, degree in known.items()}
    if blank:
        assumptions.note(f"degree of the {blank[0]} axis from the number of devices")
    return Degrees(**filled, context=context, expert=(layout.expert or 1) if model.experts else 1)
