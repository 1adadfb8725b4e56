"""Fixed rules: what people choose a plan by who do not predict."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from types import MappingProxyType

from foretrain.calibrate.batches import model_devices
from foretrain.calibrate.decisions import Choice, Preference
from foretrain.measured.run import Layout

RECOMPUTED = {"none": 0.0, "selective": 1.0, "full": 2.0}


def _layout(choice: Choice) -> Layout:
    return choice.run.layout


def least_model_parallelism(choice: Choice) -> float:
    """The fewest devices that share one copy of the model."""
    return float(model_devices(choice.run))


def least_tensor(choice: Choice) -> float:
    """The smallest tensor axis."""
    return float(_layout(choice).tensor or 1)


def least_pipeline(choice: Choice) -> float:
    """The fewest stages."""
    return float(_layout(choice).pipeline or 1)


def most_data(choice: Choice) -> float:
    """The most replicas, stated or following from the number of devices."""
    return -float(_layout(choice).data or _followed(choice))


def _followed(choice: Choice) -> float:
    return (choice.run.place.devices or 1) / least_model_parallelism(choice)


def largest_micro_batch(choice: Choice) -> float:
    """The most samples at once."""
    return -(_layout(choice).micro_batch or 0.0)


def smallest_micro_batch(choice: Choice) -> float:
    """The fewest samples at once."""
    return _layout(choice).micro_batch or inf


def least_recompute(choice: Choice) -> float:
    """As little computed twice as is stated."""
    words = _layout(choice).recompute.split(maxsplit=1)
    return RECOMPUTED.get(words[0], 1.0) if words else 1.0


def least_sharding(choice: Choice) -> float:
    """As little divided among replicas as is stated."""
    return float(_layout(choice).zero_stage or 0)


RULES: Mapping[str, Preference] = MappingProxyType(
    {
        "least model parallelism": least_model_parallelism,
        "least tensor": least_tensor,
        "least pipeline": least_pipeline,
        "most data": most_data,
        "largest micro-batch": largest_micro_batch,
        "smallest micro-batch": smallest_micro_batch,
        "least recompute": least_recompute,
        "least sharding": least_sharding,
    }
)
"""Every rule by name. All plans of a group fit, since they ran."""
