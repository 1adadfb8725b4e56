"""What a source counts as memory."""

from __future__ import annotations

from foretrain.measured.litgpt import by_litgpt
from foretrain.measured.run import MeasuredRun

OWN_RUNS = "own-"
"""How the sources of our own recordings start."""


def counts_allocated(run: MeasuredRun) -> bool:
    """Whether it is what PyTorch's allocator handed out, without what it holds or what is outside.

    LitGPT prints `torch.cuda.max_memory_allocated()` (source: litgpt), and our recorder does too.
    """
    return by_litgpt(run) or run.source_id.startswith(OWN_RUNS)
