"""Questions in one line, of Python or of a shell.

Questions in one line of Python: a network, some devices and a batch become a study.

`devices = "8x RTX3090"` is the first cluster of the catalogue that has such devices, with so many
of them; `"4x dgx-h100"` is so many nodes.

Spoken: a study in one line of a shell, and a first one to go on from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypedDict

from foretrain.cluster.offer import fewer
from foretrain.errors import InputError, nearest
from foretrain.plan.study import Study
from foretrain.plan.table import spelled
from foretrain.study.catalogue import cluster, cluster_document, find, knows, names
from foretrain.study.here import NAME as HERE
from foretrain.study.keys import alone
from foretrain.study.model import GIVEN, given
from foretrain.study.plan import MOST_DIGITS, read_named
from foretrain.study.study import study_from
from foretrain.study.tracing.module import traced_module
from foretrain.units import as_written
from foretrain.workload.graph import Model

WHERE: Final = "estimate"
COUNTED: Final = re.compile(r"\s*(?:([0-9]+)\s*[x*]?\s+|([0-9]+)\s*[x*]\s*)?(\S.*?)\s*")
"""So many of something; one without a number."""


class PlainQuestion(TypedDict, total=False):
    """What is asked of some devices, instead of a study.

    Attributes:
        model: a `torch.nn.Module`, or what a study may name: a name of the library, a Model,
            "package.module:build".
        devices: "8x RTX3090", "4x dgx-h100".
        global_batch: samples of a step.
        example: inputs of a module, whose first dimension counts samples.
        image: pixels per side of a sample.
        sequence: tokens of a sample.
        precision: as in a study; bf16 without it.
        optimizer: as in a study; adamw without it.
        plan: keys of a study's [plan]; without micro_batch, the largest that fits.
    """

    model: Any
    devices: str
    global_batch: int
    example: Any
    image: int
    sequence: int
    precision: str
    optimizer: str
    plan: Mapping[str, object]


NEEDED: Final = ("model", "devices", "global_batch")


def asked(question: PlainQuestion) -> Study:
    """The study of a question.

    Raises:
        ForetrainError: something is missing or unknown, or the module cannot be traced.
    """
    absent = [name for name in NEEDED if name not in question]
    if absent:
        raise InputError(f"{WHERE}: {', '.join(absent)} missing beside the others.")
    unknown = question.keys() - PlainQuestion.__annotations__.keys()
    if unknown:
        raise InputError(
            f"{WHERE}: unknown {', '.join(sorted(unknown))}. Known: "
            f"{', '.join(PlainQuestion.__annotations__)}."
        )
    model = _model(question)
    copied = ("global_batch", "image", "sequence", "precision", "optimizer")
    workload = {key: value for key, value in question.items() if key in copied}
    document = {
        "workload": {**workload, "model": model},
        "cluster": devices_section(question["devices"]),
        "plan": dict(question.get("plan", {})),
    }
    if not isinstance(model, Model):
        return study_from(document, WHERE)
    workload.pop("image", None)
    document["workload"] = {**workload, "model": GIVEN}
    with given(model):
        return study_from(document, WHERE)


def _model(question: PlainQuestion) -> object:
    """A module as a model; whatever else is named as it is."""
    model = question["model"]
    if isinstance(model, str | Mapping | Model):
        return model
    kinds = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if "torch" not in kinds or not callable(model):
        raise InputError(
            f"{WHERE}: model is a {type(model).__name__}; a torch.nn.Module, a Model or the name "
            "of one is wanted."
        )
    return traced_module(
        model,
        name=type(model).__name__,
        example=question.get("example"),
        sequence=question.get("sequence"),
        image=question.get("image"),
    )


def devices_section(devices: str) -> dict[str, Any]:
    """The section [cluster] of a number of devices or of nodes.

    Args:
        devices: such as "8x RTX3090", "1024 H100", "4x dgx-h100".

    Raises:
        InputError: the catalogue has none of that name, or no cluster with so many.
    """
    found = COUNTED.fullmatch(str(devices))
    if found is None or len(found[1] or found[2] or "") > MOST_DIGITS:
        told = as_written(str(devices))
        raise InputError(f'{WHERE}: devices is {told}. Write for example "8x RTX3090".')
    count, name = int(found[1] or found[2] or 1), found[3]
    if (count, name) == (1, HERE):
        return {"name": HERE}
    if knows("clusters", name):
        return {"name": find("clusters", name), "nodes": count}
    if count < 1:
        raise InputError(f"{WHERE}: devices is '{devices}'; at least 1 is wanted.")
    if not knows("devices", _spaced(name)):
        both = [*names()["clusters"], *names()["devices"]]
        raise InputError(
            f"unknown cluster or device {name!r}.{nearest(name, both)} "
            "'foretrain catalogue' lists all."
        )
    device = find("devices", _spaced(name))
    homes = [
        each for each in names()["clusters"] if cluster_document(each)["device"]["name"] == device
    ]
    if not homes and count == 1:
        return {"device": device, "levels": alone(), "nodes": 1}
    if not homes:
        raise InputError(
            f"{WHERE}: no cluster of the catalogue has {device}; describe one in a study."
        )
    return _at_home(homes, count)


def _at_home(homes: list[str], count: int) -> dict[str, Any]:
    """So many devices of the clusters that have them: of one node if one has as many.

    Raises:
        InputError: so many are neither whole nodes nor an even part of one.
    """
    sizes = {each: cluster(each, 1).node_devices for each in homes}
    larger = [each for each in homes if sizes[each] > count]
    whole = [each for each in homes if count % sizes[each] == 0]
    if whole and (not larger or count in sizes.values()):
        home = max(whole, key=lambda each: sizes[each])
        return {"name": home, "nodes": count // sizes[home]}
    return _part((larger or homes)[0], count)


def _spaced(name: str) -> str:
    """A device as the catalogue spells it: `RTX3090` has a blank there."""
    if knows("devices", name):
        return name
    spaced = re.sub(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z]{2})", " ", name)
    return next((each for each in (spaced,) if knows("devices", each)), name)


def _part(home: str, count: int) -> dict[str, Any]:
    """Some of the devices of one node of a cluster.

    Raises:
        InputError: so many are no even part of it.
    """
    like, some = cluster_document(home), fewer(cluster(home, 1), count)
    pairs = zip(like["levels"], some.levels, strict=True)
    # No cluster of the catalogue says what a node draws while it waits.
    power = {} if some.node_power is None else {"node_power": f"{some.node_power!r} W"}
    return {
        "name": home,
        "levels": [{**said, "members": level.members} for said, level in pairs],
        **power,
    }


SHELL: Final = "the command line"
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
        if name == "workload":
            amount = "100 M samples" if "image" in section else "1 T tokens"
            lines.append(f'# amount = "{amount}"'.ljust(LINED_UP) + THEN)
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

LINED_UP: Final = 28
"""Characters before what a comment says of a key."""

THEN: Final = "# then the whole training is predicted too"
