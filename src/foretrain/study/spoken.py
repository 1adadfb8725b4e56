"""Spoken: a study in one line of a shell, and a first one to go on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from foretrain.plan.spelling import spelled
from foretrain.plan.study import Study
from foretrain.study.asked import devices_section
from foretrain.study.plan import read_named

WHERE: Final = "the command line"
"""What messages call a study that stands in no file."""

MODEL: Final = "llama-3-8b"
DEVICES: Final = "4x dgx-h100"
BATCH: Final = 256
SEQUENCE: Final = 8192
"""Of a first study that says nothing else."""


def spoken(
    model: str,
    *,
    on: str | None,
    batch: int | None = None,
    sequence: int | None = None,
    image: int | None = None,
) -> dict[str, Any]:
    """The document of a study that was asked in one line.

    Args:
        model: as in a study.
        on: "4xdgx-h100" nodes, "8x RTX3090" devices; None where `--set` says where.
        batch: samples of a step.
        sequence: tokens of a sample.
        image: pixels per side of a sample.

    Raises:
        InputError: the catalogue has no such devices.
    """
    said = {"global_batch": batch, "sequence": sequence, "image": image}
    workload = {"model": model, **{key: it for key, it in said.items() if it is not None}}
    return {"workload": workload, **({} if on is None else {"cluster": devices_section(on)})}


def with_plan(study: Study, text: str, *, where: str) -> Study:
    """A study with some fields of its plan as a text names them.

    Args:
        study: the question.
        text: "tp8", "tensor=8 recompute=full".
        where: what to call the text in messages.

    Raises:
        InputError: the text cannot be read.
    """
    return replace(study, space=replace(study.space, **dict(read_named(text, where=where))))


def written_study(document: Mapping[str, Any]) -> str:
    """A document as TOML, with what else a first study may say as comments."""
    lines = ["# A first study. foretrain search, estimate and explain read it."]
    for name, section in document.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(it)}" for key, it in section.items())]
        lines += COMMENTS.get(name, ())
    lines += [line for name, more in COMMENTS.items() if name not in document for line in more]
    return "\n".join([*lines, ""])


def _toml(value: object) -> str:
    """A value of a document."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    return spelled(value)


COMMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "workload": (
        '# precision = "bf16"        # fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4',
        '# optimizer = "adamw"',
        '# amount = "1 T tokens"     # then the whole training is predicted too',
    ),
    "cluster": ('# price = "2.50 USD/h"      # of one device; then money is predicted too',),
    "trainer": (
        "",
        "# [trainer]                 # with what software: foretrain catalogue trainers",
        '# name = "megatron-bridge"',
    ),
    "plan": (
        "",
        "# [plan]                    # what is not said here, search finds",
        "# tensor = 4",
        "# micro_batch = 1",
    ),
    "search": (
        "",
        "# [search]",
        '# objective = "time"        # or cost, energy, memory',
    ),
}
"""What else each section may say."""
