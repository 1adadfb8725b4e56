"""Max-min fairness: nobody's share can be raised without lowering a smaller one.

A share counts device-seconds: a job on four devices has four times as much as one on a single
device in the same time.

Max-sum throughput: who does most per device runs, whatever becomes of the others.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from foretrain.jobs.active import Active
from foretrain.jobs.kinds import only_kind, rates, water_level
from foretrain.jobs.rounds import Shares
from foretrain.jobs.shared import State

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


GAIN = 1e-4
"""Weight of all jobs' mean throughput beside the least: enough to leave nothing idle."""


def max_min(state: State) -> Shares:
    """Equal device-seconds for all, in a fleet of one kind.

    Every job gets the same number of devices on average, at most what it asks for; what small jobs
    cannot use goes to the others alike.

    Source: narayanan2020, section 4.1, for one kind of device.
    """
    kind = only_kind(state.fleet, "max-min fairness")
    level = water_level([each.job.devices for each in state.jobs], devices=state.devices)
    return {active.rank: {kind: min(1.0, level / active.job.devices)} for active in state.jobs}


def max_min_over_kinds(state: State) -> Shares:
    """The least normalised throughput as large as it can be, over several kinds of devices.

    A job's throughput is taken over that of an equal share of every kind, times its devices. Among
    divisions of that least one, the one with the most throughput is taken.

    Source: narayanan2020, section 4.1; the choice among equals is ours.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if not state.jobs:
        return {}
    capacity = np.array([float(state.room(each.kind)) for each in state.fleet.nodes])
    gain, devices = _normalised(state, capacity)
    count, kinds = gain.shape
    wanted = np.append(-GAIN * gain.ravel() / count, -1.0)
    bounds = [(0.0, 1.0 if each > 0 else 0.0) for each in gain.ravel()] + [(0.0, None)]
    limits = np.concatenate([np.zeros(count), np.ones(count), capacity])
    found = linprog(
        wanted, A_ub=csr_array(_rows(gain, devices)), b_ub=limits, bounds=bounds, method="highs"
    )
    shares = found.x[:-1].reshape(count, kinds).tolist()
    names = [each.kind for each in state.fleet.nodes]
    return {
        active.rank: dict(zip(names, mine, strict=True))
        for active, mine in zip(state.jobs, shares, strict=True)
    }


def _normalised(
    state: State, capacity: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Throughput of each job on each kind over that of an equal share, and devices asked for."""
    import numpy as np

    names = [each.kind for each in state.fleet.nodes]
    speeds = [rates(active, state) for active in state.jobs]
    rate = np.array([[speed.get(name, 0.0) for name in names] for speed in speeds])
    devices = np.array([float(active.job.devices) for active in state.jobs])
    weight = np.array([active.job.priority for active in state.jobs])
    equal = capacity / max(float(len(devices)), float(capacity.sum()))
    return rate * (devices / weight / (rate @ equal))[:, None], devices


def _rows(gain: NDArray[np.float64], devices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Left sides: least throughput over each job's, time of each job, devices of each kind."""
    import numpy as np

    count, kinds = gain.shape
    jobs = np.arange(count)
    rows = np.zeros((2 * count + kinds, count * kinds + 1))
    rows[:count, -1] = 1.0
    for kind in range(kinds):
        rows[jobs, jobs * kinds + kind] = -gain[:, kind]
        rows[count + jobs, jobs * kinds + kind] = 1.0
        rows[2 * count + kind, jobs * kinds + kind] = devices
    return rows


def max_sum(state: State) -> Shares:
    """As many units of work per second of all jobs together as the fleet can do.

    With one kind of device that is the order of work per device; equal jobs share alike what is
    left for them.

    Source: narayanan2020, section 4.2: maximise the sum of throughputs.
    """
    kind = only_kind(state.fleet, "max-sum throughput")

    def worth(active: Active) -> float:
        return rates(active, state)[kind] / active.job.devices

    left, shares = state.devices, {}
    for _, equals in groupby(sorted(state.jobs, key=worth, reverse=True), key=worth):
        alike = list(equals)
        asked = sum(active.job.devices for active in alike)
        share = min(1.0, left / asked)
        left -= share * asked
        shares.update({active.rank: {kind: share} for active in alike})
    return shares
