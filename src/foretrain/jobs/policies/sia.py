"""Sia: one configuration for each job, of one kind of device, by an integer program every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING

from foretrain.cluster.mixed import Nodes
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.shared import Allocation, ClusterState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


Option = tuple[Nodes, int, float]
"""Devices of a kind for a job, and how quickly it goes on them."""

Choice = tuple[int, Option, float]
"""Row of a job, one of its configurations, and what that costs."""

GAP = 1e-6
"""Relative gap to the optimum at which the solver stops."""

RESTARTS: Mapping[str, float] = MappingProxyType(
    {"bert": 120.0, "cifar10": 20.0, "deepspeech2": 25.0, "imagenet": 250.0, "yolov3": 80.0}
)
"""Seconds that a restart of an application is thought to cost, by the group of its jobs.

Source: sia-artifacts, adaptdl/sched, policy/mip.py, get_restart_penalty.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sia:
    """An integer linear program: kinds and devices for the largest sum of scaled goodputs.

    A configuration is a power of two within a node, or whole nodes, of one kind. A job's goodputs
    are scaled by its least one, so that kinds weigh alike for jobs that cannot use all; a change is
    worth less by what restarts have cost the job so far; a job left out costs `left_out`. A job
    begins on its fewest devices and tries at most twice what it has run on. An instance remembers
    the jobs of one run.

    Attributes:
        fairness: exponent of scaled goodputs, below 0: the slower a job, the more it counts.
        left_out: cost of a job without devices, in jobs on their slowest configuration.
        delay: seconds that a restart is thought to cost where `delays` does not name the job.
        delays: the same by the group of a job, such as the application that it trains.

    Source: jayaram2023, section 3.4; sia-artifacts, policy/mip.py: p = -0.5, 1.1 for a job left out
    and 30 s for an application that is not named.
    """

    fairness: float = -0.5
    left_out: float = 1.1
    delay: float = 30.0
    delays: Mapping[str, float] = field(default_factory=lambda: RESTARTS)
    _most: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.fairness < 0:
            raise InputError(f"Sia.fairness must be below 0, got {self.fairness}.")
        if not (self.left_out > 0 and min(self.delay, *self.delays.values()) >= 0):
            raise InputError(
                f"Sia.left_out must be above 0 and delays at least 0 s, got {self.left_out},"
                f" {self.delay} and {dict(self.delays)}."
            )

    def __call__(self, state: ClusterState) -> Mapping[int, Allocation]:
        """What each job gets; the largest are placed first."""
        options = [self._options(active, state) for active in state.jobs]
        choices = [
            (row, option, cost - self.left_out)
            for row, active in enumerate(state.jobs)
            for option, cost in zip(
                options[row], self._costs(active, options[row], state.now), strict=True
            )
        ]
        chosen = least(choices, state) if choices else {}
        wide = sorted(chosen.items(), key=lambda item: (-item[1][1], item[0]))
        return {rank: Allocation(count, (nodes.kind,)) for rank, (nodes, count, _) in wide}

    def _options(self, active: Active, state: ClusterState) -> list[Option]:
        """Configurations of a job, up to twice the devices that it has had."""
        job, options = active.job, []
        holds = 0 if active.held is None else int(active.held.devices)
        most = self._most[active.rank] = max(self._most.get(active.rank, 0), holds)
        most = max(2 * most, job.curve.counts[0])
        for nodes in state.fleet.nodes:
            if job.kinds and nodes.kind not in job.kinds:
                continue
            for count in job.curve.counts:
                # Powers of two within a node, whole nodes beyond.
                within = count < nodes.devices and count & (count - 1) == 0
                whole = count % nodes.devices == 0
                if count <= min(most, state.room(nodes.kind)) and (within or whole):
                    width = ceil(count / nodes.devices)
                    speed = job.curve.rate(count, nodes=width, kind=nodes.kind, done=active.done)
                    options.append((nodes, count, speed))
        return options

    def _costs(self, active: Active, options: Sequence[Option], now: float) -> list[float]:
        """Of each configuration: its scaled goodput to the power of `fairness`."""
        slowest = min((speed for _, _, speed in options), default=1.0)
        age, held = now - active.job.arrival, active.held
        delay = self.delays.get(active.job.group, self.delay)
        kept = max(age - active.stops * delay, 0.0) / (age + delay)
        costs = []
        for nodes, count, speed in options:
            same = held is None or (held.kind, held.devices) == (nodes.kind, count)
            scaled = speed / slowest * (1.0 if same else kept)
            costs.append(scaled**self.fairness if scaled > 0 else self.left_out)
        return costs


def least(choices: Sequence[Choice], state: ClusterState) -> dict[int, Option]:
    """At most one configuration for each job, with the least sum of costs that devices allow."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    jobs = len(state.jobs)
    kinds = {nodes.kind: jobs + place for place, nodes in enumerate(state.fleet.nodes)}
    rows = [row for row, _, _ in choices] + [kinds[option[0].kind] for _, option, _ in choices]
    columns = [*range(len(choices))] * 2
    values = [1.0] * len(choices) + [float(option[1]) for _, option, _ in choices]
    bounds = [1.0] * jobs + [float(state.room(each.kind)) for each in state.fleet.nodes]
    # The solver of SciPy 1.13 reads indices of 32 bits only.
    places = np.array((rows, columns), dtype=np.intc)
    matrix = coo_array((values, (places[0], places[1])), shape=(len(bounds), len(choices)))
    found = milp(
        np.array([cost for _, _, cost in choices]),
        integrality=np.ones(len(choices)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), ub=bounds),
        options={"mip_rel_gap": GAP},
    )
    assert found.x is not None, found.message
    taken = (each for each, share in zip(choices, found.x, strict=True) if share > 0.5)
    return {state.jobs[row].rank: option for row, option, _ in taken}
