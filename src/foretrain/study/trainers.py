"""Trainers of the catalogue: from entries to nouns. The section [trainer] of a study.

A line of an entry is `{ value, source }`, and may say of which runs it holds (`where`) and how much
to believe of each value of an option that nobody states (`prior`). Several lines of a key are a
list, of which the first that holds counts.

The flags of a trainer's entry: from tables of text to a `Dialect`.

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
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space
from foretrain.study.catalogue import entries, find, shipped
from foretrain.study.problems import Problems, validated
from foretrain.trainers.chosen import Chosen, narrowed, that_can
from foretrain.trainers.flags import SILENT, TRUE, Dialect, Fact, Flag, Form, fact, sets_of
from foretrain.trainers.trainer import Circumstances, Exclusion, Feature, Statement, Trainer, Where
from foretrain.trainers.vocabulary import ABILITIES, HABITS, OPTIONS
from foretrain.workload.workload import Workload

GONE: Final = "gone"
LAUNCH: Final = ("form", "command", "file", "programs", "marks", "families")
FLAG_LINE: Final = (
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
        if wrong := [key for key in line if key not in FLAG_LINE]:
            raise InputError(
                f"flags.{name}: unknown key '{wrong[0]}'. Known: {', '.join(FLAG_LINE)}."
            )
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


KIND: Final = "trainers"
KEYS: Final = (
    *("family", "summary", "aliases", "like"),
    *("release", "date", "container", "recognised"),
    *("can", "excludes", "options", "habits"),
    *("launch", "flags", "unset", "unread", "ignored"),
)
LINE: Final = ("value", "values", "source", "confidence", "where", "prior", "since")
PLACES: Final = tuple(each.name for each in fields(Where))


def trainer(name: str) -> Trainer:
    """A trainer by its name, or by that of its family for the newest release.

    Raises:
        InputError: if the catalogue has no such trainer.
    """
    found = find(KIND, name)
    return trainer_from(found, entries(KIND)[found])


def trainers() -> tuple[Trainer, ...]:
    """Every trainer of the catalogue, those of a user last."""
    known = entries(KIND)
    if known is shipped(KIND):
        return _shipped()
    return tuple(trainer_from(name, entry) for name, entry in known.items())


@cache
def _shipped() -> tuple[Trainer, ...]:
    return tuple(trainer_from(name, entry) for name, entry in shipped(KIND).items())


def trainer_from(name: str, entry: Mapping[str, Any]) -> Trainer:
    """A trainer from an entry that is complete.

    Raises:
        InputError: the entry says something that means nothing, each with its key.
    """
    _check(entry, KEYS, name)
    return Trainer(
        name=name,
        family=str(entry.get("family", "")),
        release=str(entry.get("release", "")),
        date=str(entry.get("date", "")),
        container=str(entry.get("container", "")),
        summary=str(entry.get("summary", "")),
        can=_features(entry, "can", tuple(ABILITIES)),
        excludes=tuple(_exclusion(each) for each in entry.get("excludes", ())),
        options=_features(entry, "options", tuple(OPTIONS)),
        habits=_features(entry, "habits", tuple(HABITS)),
        recognised=tuple(_where(each) for each in entry.get("recognised", ())),
        dialect=dialect_from(entry),
    )


def _features(
    entry: Mapping[str, Any], section: str, order: tuple[str, ...]
) -> tuple[Feature, ...]:
    said = entry.get(section, {})
    known = sorted(said, key=lambda name: order.index(name) if name in order else len(order))
    return tuple(_feature(name, said[name], f"{section}.{name}") for name in known)


def _feature(name: str, said: object, key: str) -> Feature:
    lines: list[Any] = said if isinstance(said, list) else [said]
    for line in lines:
        if not isinstance(line, dict) or not {"value", "source"} <= {*line}:
            raise InputError(
                f'{key}: write {{ value = "...", source = "..." }}, or a list of them.'
            )
        _check(line, LINE, key)
    values = next((tuple(line["values"]) for line in lines if "values" in line), ())
    return Feature(
        name=name,
        values=values,
        lines=tuple(
            Statement(
                value=_text(line["value"]),
                source=str(line["source"]),
                where=_where(line.get("where", {})),
                prior=tuple((str(name), float(it)) for name, it in line.get("prior", {}).items()),
            )
            for line in lines
        ),
    )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _where(said: Mapping[str, Any]) -> Where:
    _check(said, (*PLACES, "source", "confidence"), "where")
    return Where(**{name: str(text) for name, text in said.items() if name in PLACES})


def _exclusion(said: Mapping[str, Any]) -> Exclusion:
    together = {key: it for key, it in said.items() if key not in ("source", "confidence")}
    return Exclusion(
        together=tuple(
            (key, tuple(map(str, it)) if isinstance(it, list) else (str(it),))
            for key, it in together.items()
        ),
        source=str(said.get("source", "")),
    )


def _check(said: Mapping[str, Any], known: tuple[str, ...], key: str) -> None:
    if wrong := [name for name in said if name not in known]:
        raise InputError(f"{key}: unknown key '{wrong[0]}'. Known: {', '.join(known)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSection:
    """The section [trainer] as it is written."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


def read_trainer(section: Mapping[str, object], problems: Problems) -> Chosen | None:
    """With what software a study's plans run; None where a mistake, noted, hides it."""
    found = validated(TrainerSection, section, path="trainer", problems=problems)
    if found is None or problems.touch("trainer"):
        return None
    with problems.noting("trainer.name"):
        known = trainer(found.name)
        try:
            return Chosen(trainer=known, options=tuple(sorted(found.options.items())))
        except InputError as error:
            problems.add_all(f"trainer.{line}" for line in str(error).splitlines())
    return None


def suited(
    workload: Workload | None, space: Space, problems: Problems, *, chosen: Chosen | None
) -> tuple[Workload | None, Space]:
    """A workload and a space as the trainer has them; what it cannot do at all is noted."""
    if chosen is None:
        return workload, space
    workload = workload and with_gradients(workload, chosen)
    # A space with the fields that options of the trainer fix; a plan that differs is noted.
    changes: dict[str, Any] = {}
    for name in PLAN_FIELDS:
        value = chosen.set_to(name)
        if value is None or value == "as-needed":
            continue
        meant = OPTIONS[name].values[value].value
        if isinstance(meant, tuple):
            meant = meant[0][0] if name == "recompute" else meant[0]
        given = getattr(space, name)
        if given is not None and given != (meant,):
            problems.add(f"trainer.options.{name}", f"is {value!r}, and plan.{name} differs.")
        changes[name] = (meant,)
    found, told = narrowed(replace(space, **changes), chosen.trainer)
    for text in told:
        key, _, why = text.partition(": ")
        problems.add(key, f"{why} {_who_can(key, space)}".rstrip())
    known = chosen.trainer.able("precisions")
    if workload is not None and known is not None and workload.precision.value not in known:
        problems.add(
            "workload.precision",
            f"{chosen.name} does not train in {workload.precision}. It knows {', '.join(known)}.",
        )
    return workload, found


def with_gradients(workload: Workload, chosen: Chosen) -> Workload:
    """A workload whose gradients are held and sent as its trainer does, unless it states how."""
    option = chosen.trainer.option("gradients")
    if "gradients" in chosen.stated or option is None:
        return workload
    line = option.at(Circumstances(precision=workload.precision.value))
    value = chosen.set_to("gradients") or (line.value if line else None)
    if value is None:
        return workload
    return replace(workload, gradients=OPTIONS["gradients"].values[value].value)


PLAN_FIELDS: Final = ("attention", "sequence_parallel", "sharding", "recompute")
"""Options that are fields of a plan too."""


def _who_can(key: str, space: Space) -> str:
    """Which trainers have what one does not, as far as the fixed field tells."""
    name = key.removeprefix("plan.")
    choices = getattr(space, name, None)
    if not choices:
        return ""
    stages: dict[str, Any] = {"pipeline": 2} if name in BESIDE else {}
    plans = [replace(Plan(), **{**stages, name: each}) for each in choices]
    names = dict.fromkeys(each for plan in plans for each in that_can(trainers(), plan))
    return f"Trainers that can: {', '.join(names)}." if names else ""


BESIDE: Final = frozenset({"interleaving", "schedule", "cut"})
"""Fields that a plan without stages does not ask anybody for."""
