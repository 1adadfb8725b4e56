"""The flags of a trainer's entry: from tables of text to a `Dialect`.

    launch.form = { value = "arguments", source = "args" }
    flags.tensor-model-parallel-size = { value = "plan.tensor", source = "args" }
    flags.use-distributed-optimizer = { value = "plan.sharding = optimizer", source = "args" }
    flags.cp-comm-type = { value = "plan.exchange", values = { p2p = "ring" }, source = "args" }
    unset."plan.expert_tensor" = { value = "plan.tensor", source = "args" }
    unread.buckets = { value = "ddp-bucket-size ddp-num-buckets", source = "args" }
    ignored.logs = { value = "log-interval log-throughput", source = "args" }

A later release that no longer has a flag says `value = "gone"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.trainers.flags import SILENT, TRUE, Dialect, Fact, Flag, Form, fact, sets_of

GONE: Final = "gone"
LAUNCH: Final = ("form", "command", "file", "programs", "marks", "families")
LINE: Final = (
    *("value", "values", "source", "confidence", "beside", "place"),
    *("refines", "times", "only_read", "always", "listed", "numbers"),
)


def dialect_from(entry: Mapping[str, Any]) -> Dialect:
    """How a trainer is told what to do; silent where its entry does not say.

    Raises:
        InputError: a line has keys that mean nothing, or says nothing.
    """
    launch = {name: line for name, line in entry.get("launch", {}).items() if name in LAUNCH}
    if wrong := [name for name in entry.get("launch", {}) if name not in LAUNCH]:
        raise InputError(f"launch: unknown key '{wrong[0]}'. Known: {', '.join(LAUNCH)}.")
    if "form" not in launch or launch["form"]["value"] == GONE:
        return SILENT

    def said(name: str) -> str:
        return str(launch[name]["value"]) if name in launch else ""

    form = Form(said("form"))
    return Dialect(
        form=form,
        command=said("command"),
        file=said("file"),
        programs=said("programs"),
        marks=tuple(said("marks").split()),
        families=tuple(each.strip() for each in said("families").split(",") if each.strip()),
        flags=tuple(_flags(entry.get("flags", {}), form)),
        unset=tuple((key, fact(line["value"])) for key, line in entry.get("unset", {}).items()),
        unread=_named(entry.get("unread", {})),
        ignored=_named(entry.get("ignored", {})),
        source=str(launch["form"]["source"]),
    )


def _named(groups: Mapping[str, Any]) -> dict[str, str]:
    """Options by name, each with what its group is about."""
    return {
        name: about.replace("-", " ")
        for about, line in groups.items()
        for name in str(line["value"]).split()
    }


def _flags(lines: Mapping[str, Any], form: Form) -> Iterator[Flag]:
    for name, line in lines.items():
        if not isinstance(line, dict) or not {"value", "source"} <= {*line}:
            raise InputError(f'flags.{name}: write {{ value = "...", source = "..." }}.')
        if wrong := [key for key in line if key not in LINE]:
            raise InputError(f"flags.{name}: unknown key '{wrong[0]}'. Known: {', '.join(LINE)}.")
        if line["value"] != GONE:
            yield _flag(name, line, form)


def _flag(name: str, line: Mapping[str, Any], form: Form) -> Flag:
    value = str(line["value"])
    words: dict[str, Any] = dict(line.get("values", {}))
    if "=" in value:
        words, value = {TRUE: value}, ""
    beside: Mapping[str, Fact] = {key: fact(it) for key, it in line.get("beside", {}).items()}
    return Flag(
        name=name,
        key="" if words and not line.get("numbers") else value,
        words=tuple((word, sets_of(str(text), value)) for word, text in words.items()),
        beside=tuple(beside.items()),
        place=Form(line.get("place", form)),
        refines=bool(line.get("refines", False)),
        times=bool(line.get("times", False)),
        only_read=bool(line.get("only_read", False)),
        always=bool(line.get("always", False)),
        listed=bool(line.get("listed", False)),
        source=str(line["source"]),
    )
