"""How the software of a measured run treats pictures: their layout, and who sees them all."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.measured.run import MeasuredRun
from foretrain.workload.workload import Precision

COMPILED_DEVICES = ("TPU", "Graphcore", "Gaudi", "Ascend")
"""Devices whose programs are compiled whole: by XLA, Poplar, SynapseAI, CANN."""

NARROW = (Precision.FP16, Precision.BF16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A rule for the layout of pictures.

    Attributes:
        framework: a part of the framework's name, in lower case.
        source: how the id of the source starts.
        models: starts of models' names that it is for, in lower case; empty for all.
        precisions: for which channels stand last, as matrix units read them.
        why: what speaks for it.
    """

    framework: str = ""
    source: str = ""
    models: tuple[str, ...] = ("",)
    precisions: tuple[Precision, ...]
    why: str

    def holds(self, run: MeasuredRun) -> bool:
        """Whether a run is of this kind."""
        return (
            self.framework in run.framework.lower()
            and run.source_id.startswith(self.source)
            and run.network.name.lower().startswith(self.models)
        )


LAYOUTS = (
    Layout(
        source="mlperf",
        precisions=(Precision.TF32, *NARROW),
        why="every submission in 16 bits keeps channels last",
    ),
    Layout(
        framework="tensorflow",
        models=("unet_3d", "vnet"),
        precisions=(),
        why="TensorFlow transposes volumes before every convolution on a device (conv_ops_3d.cc, "
        "from memory)",
    ),
    Layout(
        framework="pytorch (ngc)",
        models=("resn", "se-resn", "efficientnet"),
        precisions=NARROW,
        why="these recipes set memory-format nhwc with mixed precision (from memory)",
    ),
    Layout(
        framework="pytorch (ngc)",
        models=("ssd",),
        precisions=(Precision.TF32, *NARROW),
        why="this recipe has data-layout channels_last by default (from memory)",
    ),
    Layout(
        framework="torch",
        precisions=(),
        why="PyTorch keeps channels first unless it is told otherwise",
    ),
    Layout(
        precisions=NARROW,
        why="frameworks of graphs choose channels last where 16-bit units are used, and channels "
        "first for 32 bits (TensorFlow's layout pass, from memory)",
    ),
)
"""The first that holds is taken; no measured time speaks for one."""


def relays(run: MeasuredRun, precision: Precision) -> bool:
    """Whether libraries lay pictures out anew for matrix units."""
    layout = next(layout for layout in LAYOUTS if layout.holds(run))
    return precision not in layout.precisions


def sees_all(run: MeasuredRun) -> bool:
    """Whether the device runs nothing else than what a compiler makes of a whole network."""
    return run.place.device.startswith(COMPILED_DEVICES)
