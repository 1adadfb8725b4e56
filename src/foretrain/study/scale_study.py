"""Studies of throughput against workers: [scale], [worker] or a model, and [servers]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final

from foretrain.distributions import Samples
from foretrain.errors import InputError
from foretrain.measured.scale_study import (
    WASTE,
    ModelTraining,
    Profile,
    Provisioning,
    ScaleStudy,
    StepResource,
)
from foretrain.plan.servers import (
    SYNCHRONOUS,
    Aggregation,
    LinkPolicy,
    Servers,
    Training,
    Worker,
)
from foretrain.plan.startup import WholeJob
from foretrain.plan.study import Study
from foretrain.remark import assumed
from foretrain.study.documents import read_toml
from foretrain.study.keys import Count, Reads, reader
from foretrain.study.model import Sample, SomeModel, read_model
from foretrain.study.problems import Problems, check_sections, validated
from foretrain.study.scale_sections import (
    SomeSeconds,
    SomeStragglers,
    SomeUpdates,
    StartSection,
    read_profile,
)
from foretrain.study.study import study_from
from foretrain.study.workload import SomeSamples
from foretrain.units import BYTES, BYTES_PER_SECOND, SECONDS, SHARE
from foretrain.workload.library.variants import Routing

SECTIONS: Final = (
    *("scale", "worker", "servers", "start", "workload", "cluster", "plan", "provision"),
)
MODEL: Final = ("workload", "cluster", "plan")

WORKS: Final = ("worker", "workload", "provision")
"""Sections that say what a worker does; a study has one of them."""

NO_WORKER: Final = (
    "is missing. Say what a worker does: [worker] with compute, samples, pulled, pushed and link or"
    " with profile, [workload] and [cluster], or [provision]."
)
TWO_WORKERS: Final = "stands beside [{}]. Both say what a worker does; keep one."
NO_SERVERS: Final = "is for aggregation = 'servers'. Leave it out."
NO_JOB: Final = "is for servers on nodes of their own. Leave it out."
LATENCY: Final = "is that of workers among themselves. With servers, write servers.latency."
OF_MODEL: Final = "is of a model, and [worker] says what a worker does. Leave it out."
ONLY_MODEL: Final = "is for a model's worker. In [worker], compute says how it varies."
PROVISIONED: Final = (
    "is not for [provision], whose replicas never wait for one another. Leave it out."
)
OF_PROVISION: Final = ("workers", "waste")
"""Keys of [scale] that stand beside [provision]."""

BESIDE_PROFILE: Final = "stands beside a profile, which already says it. Leave it out."
NO_LINK: Final = 'is missing. Write the bandwidth of a connection, such as "10 Gb/s".'


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSection:
    """How many workers, and when each may go on; `ScaleStudy` and `Training` have the meanings."""

    workers: tuple[Count, ...]
    aggregation: Annotated[Aggregation, Reads(reader(Aggregation), {"type": "string"})] = (
        Aggregation.SERVERS
    )
    updates: SomeUpdates = SYNCHRONOUS
    steps: Count = 400
    seed: int = 0
    links: Annotated[LinkPolicy, Reads(reader(LinkPolicy), {"type": "string"})] = LinkPolicy.FAIR
    latency: Annotated[float, SECONDS] = 0.0
    waste: Annotated[float, SHARE] | None = None
    stragglers: SomeStragglers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSection:
    """What a worker does, as it is written; `Worker` has the meanings."""

    compute: SomeSeconds | None = None
    samples: float | None = None
    pulled: Annotated[float, BYTES] | None = None
    pushed: Annotated[float, BYTES] | None = None
    link: Annotated[float, BYTES_PER_SECOND] | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersSection:
    """Parameter servers, as they are written; `Servers` has the meanings."""

    count: Count = 1
    link: Annotated[float, BYTES_PER_SECOND] | None = None
    latency: Annotated[float, SECONDS] = 0.0
    update: Annotated[float, SECONDS] = 0.0
    cores: Count = 1
    colocated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionSection:
    """Machines of many cores for replicas of a network; `Provisioning` has the meanings."""

    model: SomeModel
    sequence: Count | None = None
    image: Count | None = None
    samples: SomeSamples
    chunk: Count
    cores: Count = 1
    memory_share: Annotated[float, SHARE] = 0.0
    multiply_add: Annotated[float, SECONDS]
    activation: Annotated[float, SECONDS] = 0.0
    error: Annotated[float, SECONDS] = 0.0
    memory: Annotated[float, BYTES]
    link: Annotated[float, BYTES_PER_SECOND]
    latency: Annotated[float, SECONDS] = 0.0
    value: Annotated[float, BYTES] = 4.0
    overlapped: bool = True

    def provisioning(self, folder: Path, waste: float) -> Provisioning:
        """What it means.

        Args:
            folder: of the study's file, where relative paths start.
            waste: samples that each replica beside the first makes necessary, as a share.
        """
        sample = Sample(sequence=self.sequence, image=self.image)
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        del said["sequence"], said["image"]
        model = read_model(said.pop("model"), sample, routing=Routing(), folder=folder)
        return Provisioning(model=model, waste=waste, **said)


def read_scale_study(path: Path | str, *, today: date | None = None) -> ScaleStudy:
    """The study of throughput against workers in a TOML file.

    Args:
        path: the file.
        today: the day by which prices age; None for that of this machine.

    Raises:
        InputError: with every problem of the file.
    """
    problems = Problems(str(path))
    document = read_toml(Path(path), problems)
    check_sections(document, SECTIONS, problems)
    return _ScaleReader(document, problems, folder=Path(path).parent, today=today).study()


@dataclass(slots=True)
class _ScaleReader:
    """A document on its way to a study."""

    document: Mapping[str, Any]
    problems: Problems
    folder: Path
    today: date | None
    assumed: list[str] = field(default_factory=list)

    def study(self) -> ScaleStudy:
        """The study; raises an InputError with every problem."""
        problems, document = self.problems, self.document
        if "scale" not in document:
            problems.add("scale", "is missing. Say workers = [1, 2, 4, 8] at least.")
        how = validated(ScaleSection, document.get("scale", {}), path="scale", problems=problems)
        works = [name for name in WORKS if name in document]
        if len(works) != 1:
            told = TWO_WORKERS.format(works[1]) if works else NO_WORKER
            problems.add(works[0] if works else "worker", told)
            problems.check()
        training: Training | ModelTraining | Provisioning | None
        profile = None
        if works == ["provision"]:
            training = self._provisioning(how)
        elif works == ["worker"]:
            profile, training = self._numbers(how)
        else:
            training = self._modelled(how)
        job = self._job(training)
        problems.check()
        assert how
        assert training
        with problems.noting("scale", fields={}):
            return ScaleStudy(
                training=training,
                workers=tuple(sorted(set(how.workers))),
                steps=how.steps,
                seed=how.seed,
                policy=how.links,
                recorded=profile.steps if profile else (),
                job=job,
                assumed=tuple(self.assumed),
            )
        problems.check()
        raise AssertionError("a study that was refused has a problem")

    def _numbers(self, how: ScaleSection | None) -> tuple[Profile | None, Training | None]:
        """Training whose worker is known by numbers or by a profile, which comes along."""
        for key in ("cluster", "plan"):
            if key in self.document:
                self.problems.add(key, OF_MODEL)
        profile, worker = self._worker()
        servers = self._servers(how, profile) if how and worker else None
        if how and how.stragglers is not None:
            self.problems.add("scale.stragglers", ONLY_MODEL)
        if worker is None or how is None or self.problems.found:
            return profile, None
        if servers and servers.link is None:
            self.assumed.append(assumed("servers.link = worker.link"))
        with self.problems.noting("scale", fields={}):
            return profile, Training(
                worker=worker,
                aggregation=how.aggregation,
                servers=servers,
                updates=how.updates,
                latency=how.latency,
                waste=self._waste(how),
            )
        return profile, None

    def _modelled(self, how: ScaleSection | None) -> ModelTraining | None:
        """Training of a model, of which an estimate will say what its worker does."""
        model = self._model()
        servers = self._servers(how, None) if how else None
        if model is None or how is None or self.problems.found:
            return None
        with self.problems.noting("scale", fields={}):
            return ModelTraining(
                model=model,
                aggregation=how.aggregation,
                servers=servers,
                updates=how.updates,
                latency=how.latency,
                waste=self._waste(how),
                stragglers=how.stragglers,
            )
        return None

    def _provisioning(self, how: ScaleSection | None) -> Provisioning | None:
        """Machines to share out among replicas and servers."""
        problems, document = self.problems, self.document
        for key in ("servers", "start", "cluster", "plan"):
            if key in document:
                problems.add(key, PROVISIONED)
        for key in document.get("scale", {}):
            if key in ScaleSection.__dataclass_fields__ and key not in OF_PROVISION:
                problems.add(f"scale.{key}", PROVISIONED)
        section = document["provision"]
        said = validated(ProvisionSection, section, path="provision", problems=problems)
        if said is None or how is None or problems.found:
            return None
        if how.waste is None:
            self.assumed.append(assumed(f"scale.waste = {100 * WASTE:g} %"))
        with problems.noting("provision", fields={}):
            return said.provisioning(self.folder, WASTE if how.waste is None else how.waste)
        return None

    def _job(self, training: Training | ModelTraining | Provisioning | None) -> WholeJob | None:
        """The whole job, where the study asks for it."""
        if "start" not in self.document or isinstance(training, Provisioning):
            return None
        said = validated(StartSection, self.document["start"], path="start", problems=self.problems)
        if training is None or said is None:
            return None
        if training.servers is None or training.servers.colocated:
            self.problems.add("start", NO_JOB)
            return None
        with self.problems.noting("start", fields={}):
            return said.job(training.servers.latency)
        return None

    def _waste(self, how: ScaleSection) -> float:
        """What staleness wastes; assumed, and said so, where gradients are stale."""
        if how.waste is not None:
            return how.waste
        if how.updates.stale != 0:
            self.assumed.append(assumed(f"scale.waste = {100 * WASTE:g} %"))
        return WASTE

    def _model(self) -> Study | None:
        """Workload, cluster and plan of one worker."""
        sections = {key: self.document[key] for key in MODEL if key in self.document}
        where = self.problems.where
        try:
            return study_from(sections, where, today=self.today)
        except InputError as error:
            self.problems.add_all(
                line.removeprefix("- ").removeprefix(f"{where}: ")
                for line in str(error).splitlines()
                if ": " in line
            )
            return None

    def _worker(self) -> tuple[Profile | None, Worker | None]:
        """A worker by its numbers or by a profile."""
        section = self.document["worker"]
        said = validated(WorkerSection, section, path="worker", problems=self.problems)
        if said is None:
            return None, None
        profile = self._profile(said)
        link = profile.link if profile and said.link is None else said.link
        for key in ("compute", "samples", "pulled", "pushed"):
            path = f"worker.{key}"
            if said.profile and getattr(said, key) is not None:
                self.problems.add(path, BESIDE_PROFILE)
            if not said.profile and getattr(said, key) is None and not self.problems.touch(path):
                self.problems.add(path, "is missing.")
        if link is None and not self.problems.touch("worker"):
            self.problems.add("worker.link", NO_LINK)
        if self.problems.found:
            return None, None
        assert link is not None
        if profile:
            return profile, _profiled(profile, link)
        assert said.compute is not None
        assert said.samples is not None
        assert said.pulled is not None
        assert said.pushed is not None
        with self.problems.noting("worker", fields={}):
            return None, Worker(
                compute=said.compute,
                samples=said.samples,
                pulled=said.pulled,
                pushed=said.pushed,
                link=link,
            )
        return None, None

    def _profile(self, said: WorkerSection) -> Profile | None:
        """The profile that a worker is known by, where there is one."""
        if said.profile is not None:
            with self.problems.noting("worker.profile"):
                return read_profile(self.folder / said.profile)
        return None

    def _servers(self, how: ScaleSection, profile: Profile | None) -> Servers | None:
        """The servers, where there are any."""
        if how.aggregation is not Aggregation.SERVERS:
            if "servers" in self.document:
                self.problems.add("servers", NO_SERVERS)
            return None
        if how.latency:
            self.problems.add("scale.latency", LATENCY)
        section = self.document.get("servers", {})
        said = validated(ServersSection, section, path="servers", problems=self.problems)
        if said is None:
            return None
        update, latency = said.update, said.latency
        if profile and "update" not in section:
            update = fmean(step.taken(StepResource.SERVER) for step in profile.steps)
        if profile and "latency" not in section:
            latency = profile.latency
        with self.problems.noting("servers", fields={}):
            return Servers(
                count=said.count,
                link=said.link,
                latency=latency,
                update=update,
                cores=said.cores,
                colocated=said.colocated,
            )
        return None


def _profiled(profile: Profile, link: float) -> Worker:
    """A worker whose computations take what they took in the recorded steps."""
    steps = profile.steps
    return Worker(
        compute=Samples(tuple(step.taken(StepResource.COMPUTE) for step in steps)),
        samples=profile.samples,
        pulled=fmean(step.carried(StepResource.DOWNLINK) for step in steps),
        pushed=fmean(step.carried(StepResource.UPLINK) for step in steps),
        link=link,
    )
