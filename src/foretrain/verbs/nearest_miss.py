"""What to say where no plan fits: what is missing, and what would let one fit."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.coefficients.coefficients import Coefficients
from foretrain.files.coefficients import DEFAULT
from foretrain.plan.space import FIXED
from foretrain.plan.spelling import setting_of, spelled
from foretrain.plan.study import Study
from foretrain.search.nearest_miss import Nearest, enough_nodes, freed, nearest_plan
from foretrain.units import BYTES


def nearest_miss(study: Study, *, coefficients: Coefficients = DEFAULT) -> str:
    """What is missing where no plan of a study fits, and what would let one fit, in words.

    Args:
        study: the question; its space has a legal plan.
        coefficients: those of the search.
    """
    found = nearest_plan(study, coefficients)
    assert found is not None, "a space without a legal plan was not refused"
    ways = [
        *_by_keys(study, coefficients),
        *_by_nodes(study, found, coefficients),
        *_by_memory(found),
    ]
    told = "\n".join(f"- {way}" for way in ways)
    return f"Nearest miss: {_miss(found)}\nWhat would fit:\n{told}"


def _miss(found: Nearest) -> str:
    """The plan that is nearest to fitting, and what it lacks."""
    device = found.cluster.device
    if found.crowded:
        return f"{found.plan} asks the hosts for more memory than they have."
    has = f"{device.name} has" if found.room == device.memory else "search.limit.memory is"
    return (
        f"{found.plan} needs {BYTES.write(found.memory)} per device, {has} "
        f"{BYTES.write(found.room)}. {BYTES.write(found.memory - found.room)} are missing."
    )


def _by_keys(study: Study, coefficients: Coefficients) -> Iterator[str]:
    """The keys of [plan] that alone keep every plan from fitting."""
    for each in freed(study):
        found = nearest_plan(each.study, coefficients)
        if found is None or not found.fits:
            continue
        value, choices = getattr(found.plan, each.key), getattr(study.space, each.key)
        if choices == FIXED.get(each.key):
            yield f"{setting_of(each.key, value)}: {_told(found)}"
        else:
            was = ", ".join(map(spelled, choices))
            yield f"plan.{each.key} left out instead of {was}: {_told(found)}"


def _by_nodes(study: Study, nearest: Nearest, coefficients: Coefficients) -> Iterator[str]:
    """More nodes."""
    found = enough_nodes(study, nearest.cluster, coefficients)
    if found is not None:
        now = nearest.cluster.nodes
        yield f"cluster.nodes = {found.cluster.nodes} instead of {now}: {_told(found)}"


def _by_memory(found: Nearest) -> Iterator[str]:
    """More memory of each device, or of the hosts."""
    needed = BYTES.write(found.memory)
    if found.crowded:
        yield "hosts with more memory, or less that waits there"
    elif found.memory <= found.cluster.device.memory:
        yield f"search.limit.memory of {needed}"
    else:
        yield f"devices with {needed} of memory"


def _told(found: Nearest) -> str:
    """A plan that fits."""
    return f"{found.plan} needs {BYTES.write(found.memory)}"
