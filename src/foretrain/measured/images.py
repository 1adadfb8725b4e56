"""The network of a measured run on images, by the name that its source gives it."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.run import MeasuredRun
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build, find, known
from foretrain.workload.library.entry import Entry, Reads

VARIANTS = MappingProxyType({"volumes": "nnunet-3d", "slices": "nnunet-2d"})
"""Networks of the library by what the table's column `variant` says of nnU-Net."""


def images_of(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The network of a row of a table of convolutional networks.

    Raises:
        NotCovered: the library has no network of that name.
    """
    if run.network.inventory is not None and not _built(run.network.name):
        return run.network.inventory.model
    entry = _entry(run, assumptions)
    if entry.reads is not Reads.IMAGE:
        return network(entry.name)
    default = defaults.IMAGES.get(entry.name, defaults.IMAGE)
    return network(entry.name, image=assumptions.fill(run.network.image, default))


@lru_cache(maxsize=256)
def network(name: str, *, image: int | None = None) -> Model:
    """A network of the library, built once for many rows."""
    return build(name, image=image)


def _built(name: str) -> bool:
    """Whether the library builds a network of images of that name."""
    entry = known(name)
    return entry is not None and entry.reads is Reads.IMAGE


def _entry(run: MeasuredRun, assumptions: Assumptions) -> Entry:
    name = run.network.name
    entry = known(VARIANTS.get(run.network.variant, name))
    if entry is None:
        raise NotCovered(f"network '{name}' is not in the library")
    if entry.name.startswith("resnet-") and "v1" not in name.lower():
        first = "tf_cnn_benchmarks" in run.framework
        version = defaults.FIRST_RESNET if first else defaults.RESNET_VERSION
        return find(entry.name + assumptions.take(version))
    return entry
