"""The section [job] of a study: how a training is started, saved and restarted.

Studies: one TOML file that says what is learned, where, in which ways and what counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from foretrain.cluster.mixed import Mixed
from foretrain.cluster.offer import Offer
from foretrain.errors import InputError, nearest
from foretrain.plan.legality import (
    device_problems,
    precision_problems,
    search_problems,
    workload_problems,
)
from foretrain.plan.study import (
    FIXED,
    SAFE,
    CheckpointMode,
    JobPlan,
    Limit,
    Maximise,
    Objective,
    Scenario,
    Space,
    Study,
    Writes,
)
from foretrain.remark import About, Remark
from foretrain.study.cluster import KEY as GROUPS
from foretrain.study.cluster import mixed_remarks, read_mixed
from foretrain.study.documents import read_toml
from foretrain.study.files import check_bounds
from foretrain.study.keys import Count, Reads, table
from foretrain.study.offers import Offered, offer_remarks, read_offers
from foretrain.study.own_entries import KEY as OWN_ENTRIES
from foretrain.study.own_entries import with_entries
from foretrain.study.plan import read_space
from foretrain.study.problems import Problems, unknown_key, validated
from foretrain.study.settings import (
    KEY,
    UNRANKED,
    ScenarioTable,
    add_below,
    scenario_tables,
    with_settings,
)
from foretrain.study.trainers import read_trainer, suited
from foretrain.study.workload import read_workload, with_length
from foretrain.trainers.chosen import Chosen
from foretrain.units import BYTES, DOLLARS, SECONDS, SHARE, WATTS, as_written
from foretrain.workload.workload import Workload

WORDS: Final = tuple(word.value for word in Writes)


def read_writes(value: object) -> float | Writes:
    """When checkpoints are written: a time such as "30 min", or one of `Writes`.

    Raises:
        InputError: if it is neither, or a time of 0.
    """
    if isinstance(value, str) and value.strip().isalpha():
        if value not in WORDS:
            raise InputError(
                f"unknown {as_written(value)}.{nearest(value, WORDS)} Known: {', '.join(WORDS)}, "
                'or a time such as "30 min".'
            )
        return Writes(value)
    seconds = SECONDS.read(value)
    if seconds == 0:
        raise InputError(f'{as_written(value)} leaves no time to train; "never" writes none.')
    return seconds


WHEN: Final[Mapping[str, object]] = {
    "type": "string",
    "description": f'a time such as "30 min", or {" or ".join(WORDS)}',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSection:
    """The section as it is written; `JobPlan` has the meanings."""

    checkpoint: Annotated[float | Writes, Reads(read_writes, WHEN)] = Writes.OPTIMAL
    checkpoint_mode: CheckpointMode = CheckpointMode.BLOCKING
    restart: Annotated[float, SECONDS] | None = None
    start: Annotated[float, SECONDS] | None = None


def read_job(section: Mapping[str, object], problems: Problems) -> JobPlan | None:
    """How a study's job is run; None where a mistake, noted in `problems`, hides it."""
    found = validated(JobSection, section, path="job", problems=problems)
    if found is None:
        return None
    return JobPlan(
        checkpoint=found.checkpoint,
        mode=found.checkpoint_mode,
        restart=found.restart,
        start=found.start,
    )


SECTIONS: Final = ("workload", "cluster", "trainer", "plan", "job", "search")
DOUBTED: Final = ("workload.precision", "cluster.device", "cluster.offers")
"""Where a mistake means that precision or devices may not be what the study says."""

COLLECTIVE: Final = 'asks "foretrain estimate" for one transfer, with [cluster] alone beside it.'
NEEDED: Final = {
    "workload": "is missing. It says what is learned: at least model and global_batch.",
    "cluster": "is missing. It says where: at least name and nodes.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSection:
    """What no plan may exceed, as it is written."""

    devices: Count | None = None
    cost: Annotated[float, DOLLARS] | None = None
    deadline: Annotated[float, SECONDS] | None = None
    memory: Annotated[float, BYTES] | None = None
    power: Annotated[float, WATTS] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSection:
    """What counts, as it is written."""

    objective: Objective = Objective.TIME
    maximise: Maximise | None = None
    fits: Annotated[float, SHARE] | None = None
    failed_start: Annotated[float, SECONDS] | None = None
    limit: LimitSection = LimitSection()


def read_study(
    path: Path | str, *, today: date | None = None, settings: Sequence[str] = ()
) -> Study:
    """The study in a TOML file.

    Args:
        path: the file.
        today: the day by which prices age; None for that of this machine.
        settings: keys that have other values than in the file, such as "plan.tensor=4".

    Raises:
        InputError: with every problem of the file, each with its key, the bad value and what is
            legal.
    """
    problems = Problems(str(path))
    document = with_settings(read_toml(Path(path), problems), settings)
    return _study(document, problems, today=today, folder=Path(path).parent)


def study_from(
    document: Mapping[str, object],
    where: str = "the study",
    *,
    today: date | None = None,
    folder: Path | None = None,
) -> Study:
    """The study that a document with the sections of a file describes.

    Args:
        document: sections, keys and values as TOML would give them.
        where: what to call it in messages.
        today: the day by which prices age; None for that of this machine.
        folder: in which the files lie that it names; None where it may name none.

    Raises:
        InputError: with every problem of the document.
    """
    check_bounds(document, where)
    return _study(document, Problems(where), today=today, folder=folder)


def _study(
    document: Mapping[str, object],
    problems: Problems,
    *,
    today: date | None,
    folder: Path | None = None,
) -> Study:
    with with_entries(document, problems, folder) as whole:
        alone = {key: value for key, value in whole.items() if key != KEY}
        study = _alone(alone, problems, today=today, folder=folder)
        found = [
            _scenario(each, problems, today=today, folder=folder)
            for each in scenario_tables(whole, SECTIONS, problems)
        ]
    problems.check()
    assert study
    return replace(
        study,
        scenarios=tuple(each for each in found if each),
        lengthened=partial(
            with_length, table(document["workload"], "workload", problems), folder=folder
        ),
    )


def _scenario(
    table: ScenarioTable, problems: Problems, *, today: date | None, folder: Path | None
) -> Scenario | None:
    """A scenario, read like a study; None where a mistake, noted in `problems`, hides it."""
    own = Problems(problems.where)
    study = _alone(table.document, own, today=today, folder=folder)
    add_below(table.path, own, problems)
    if study and (study.maximise is not None or study.mixed is not None):
        problems.add(table.path, UNRANKED)
    return Scenario(name=table.name, study=study) if study else None


def _alone(
    document: Mapping[str, object], problems: Problems, *, today: date | None, folder: Path | None
) -> Study | None:
    """The study without its scenarios; None where a mistake, noted in `problems`, hides it."""
    sections = _sections(document, problems)
    given = {name for name in SECTIONS if isinstance(document.get(name), Mapping)}
    workload = (
        read_workload(sections["workload"], problems, folder) if "workload" in given else None
    )
    located = sections["cluster"] if "cluster" in given else None
    found, mixed = _clusters(located, problems, folder)
    space = read_space(sections["plan"], problems)
    chosen = _trainer(sections, problems, space=space) if "trainer" in given else None
    workload, space = suited(workload, space, problems, chosen=chosen)
    job = read_job(sections["job"], problems) if "job" in given else None
    search = _search(sections, problems)
    limit = Limit(**asdict(search.limit), fits=_fits(search))
    judged = replace(space, data=None) if mixed else space
    asked = _AskedOfClusters(workload=workload, space=judged, search=search, limit=limit)
    kept = asked.answerable(found)
    offers = tuple(offer for each in kept for offer in each.offers)
    problems.add_all(asked.problems(offers, sure=not any(map(problems.touch, DOUBTED))))
    if problems.found:
        return None
    assert workload
    return Study(
        workload=workload,
        cluster=mixed.first if mixed else offers[0].cluster,
        space=space,
        objective=search.objective,
        limit=limit,
        failed_start=search.failed_start,
        trainer=chosen,
        job=job,
        maximise=search.maximise,
        offers=() if sum(len(offer.nodes) for offer in offers) == 1 else offers,
        mixed=mixed,
        assumed=(
            *_assumed(sections, workload, space=space, job=job),
            *offer_remarks(found, kept, today or date.today()),
            *(mixed_remarks(sections["cluster"], mixed, today or date.today()) if mixed else ()),
        ),
    )


def _clusters(
    located: dict[str, object] | None, problems: Problems, folder: Path | None
) -> tuple[tuple[Offered, ...], Mixed | None]:
    """What may be rented, or the two kinds of devices that train together."""
    if located is None:
        return (), None
    if GROUPS in located:
        return (), read_mixed(located, problems, folder)
    return read_offers(located, problems, folder), None


def _search(sections: Mapping[str, dict[str, object]], problems: Problems) -> SearchSection:
    """What counts, by default where a mistake hides it."""
    found = validated(SearchSection, sections["search"], path="search", problems=problems)
    if found and not 0.0 <= _fits(found) < 1.0:
        problems.add(
            "search.fits",
            f"{100 * _fits(found):g} % is no probability to fit with. Allowed: from "
            '"0 %", where it is enough that the prediction fits, to below "100 %".',
        )
        return replace(found, fits=None)
    return found or SearchSection()


def _fits(search: SearchSection) -> float:
    """How likely a plan must fit; what counts failed starts asks for nothing unless it is said."""
    usual = SAFE if search.failed_start is None else 0.0
    return usual if search.fits is None else search.fits


def _trainer(
    sections: Mapping[str, dict[str, object]], problems: Problems, *, space: Space
) -> Chosen | None:
    """With what software, and which of its options plan and workload state already."""
    chosen = read_trainer(sections["trainer"], problems)
    plan = sections["plan"]
    stated = [
        each.name
        for each in fields(Space)
        if (each.name in plan if each.name in FIXED else getattr(space, each.name) is not None)
    ]
    stated += ["gradients"] if "gradients" in sections["workload"] else []
    return chosen and replace(chosen, stated=tuple(stated))


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedOfClusters:
    """What is asked of the clusters of a study; no workload where a mistake hides it."""

    workload: Workload | None
    space: Space
    search: SearchSection
    limit: Limit

    def answerable(self, found: tuple[Offered, ...]) -> tuple[Offered, ...]:
        """Without clusters that the study does not name and against which more speaks."""
        against = [0 if each.chosen else len(self._against(each.offers)) for each in found]
        least = min(against, default=0)
        return tuple(each for each, many in zip(found, against, strict=True) if many == least)

    def problems(self, offers: tuple[Offer, ...], *, sure: bool) -> list[str]:
        """What is legal key by key but not together.

        Args:
            offers: what may be rented; none where a mistake hides it.
            sure: whether precision and devices were read without a mistake.
        """
        own = workload_problems(self.workload, self.space) if self.workload else []
        return [*own, *(self._against(offers, sure=sure) if offers else ())]

    def _against(self, offers: tuple[Offer, ...], *, sure: bool = True) -> list[str]:
        """What keeps a question from being answered with some offers."""
        found = device_problems(offers, self.space)
        if self.workload and sure:
            for offer in offers:
                found += precision_problems(self.workload, offer.cluster)
        if self.workload:
            found += search_problems(
                self.workload, offers, objective=self.search.objective, limit=self.limit
            )
        return found


def _sections(document: Mapping[str, object], problems: Problems) -> dict[str, dict[str, object]]:
    """The sections, empty where they are missing."""
    for key in document:
        if key not in SECTIONS:
            alone = unknown_key(str(key), (*SECTIONS, KEY, OWN_ENTRIES))
            problems.add(str(key), COLLECTIVE if key == "collective" else alone)
    for name, text in NEEDED.items():
        if name not in document:
            problems.add(name, text)
    return {name: table(document.get(name, {}), name, problems) for name in SECTIONS}


def _assumed(
    sections: Mapping[str, Mapping[str, object]],
    workload: Workload,
    *,
    space: Space,
    job: JobPlan | None,
) -> tuple[str, ...]:
    """Every default that the study left to us, where it changes anything."""
    model = workload.model
    defaults = {
        "workload.precision": str(workload.precision),
        "workload.optimizer": str(workload.optimizer),
    }
    if model.cuttable_layers > 1 and space.pipeline != (1,):
        defaults["plan.schedule"] = "1f1b"
        defaults["plan.sends"] = Space().sends[0].name.lower()
    if job is not None:
        defaults["job.checkpoint"] = str(job.checkpoint)
        defaults["job.checkpoint_mode"] = job.mode.value
    return tuple(
        Remark(f"{key} = {value}", about=About.ASSUMED, key=key)
        for key, value in defaults.items()
        if key.partition(".")[2] not in sections[key.partition(".")[0]]
    )
