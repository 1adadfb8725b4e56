"""Networks that read speech."""

from __future__ import annotations

from functools import partial

from foretrain.workload.library.convolution.listing import frames
from foretrain.workload.library.speech import JASPER_10X5, QUARTZNET_15X5, deep_speech_2, jasper

ENTRIES = (
    frames(
        "jasper-10x5",
        partial(jasper, JASPER_10X5),
        summary="Jasper DR 10x5, 29 letters",
        source="li2019, table 1",
        aliases=("jasper",),
    ),
    frames(
        "quartznet-15x5",
        partial(jasper, QUARTZNET_15X5),
        summary="QuartzNet 15x5, 29 letters",
        source="kriman2020, table 1",
        aliases=("quartznet",),
    ),
    frames(
        "deep-speech-2",
        deep_speech_2,
        summary="Deep Speech 2 with five bidirectional GRUs of 800 (sizes assumed), 29 letters",
        source="amodei2016, section 3",
        aliases=("deepspeech2", "deepspeech-2"),
    ),
)
