"""Studies of throughput against workers: [scale], [worker] or a model, and [servers]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final

from foretrain.cluster.cluster import Storage
from foretrain.distributions import (
    Constant,
    Samples,
)
from foretrain.errors import InputError
from foretrain.measured.profile import Profile, StepResource
from foretrain.measured.scale_study import WASTE, ScaleStudy, WholeJob
from foretrain.plan.servers import (
    SYNCHRONOUS,
    Aggregation,
    LinkPolicy,
    Servers,
    Training,
    Worker,
)
from foretrain.plan.startup import Access, StartUp
from foretrain.plan.study import Study
from foretrain.remark import assumed
from foretrain.study.documents import read_toml
from foretrain.study.keys import Count, Reads, ratio, reader
from foretrain.study.problems import Problems, check_sections, validated
from foretrain.study.profiles import read_profile
from foretrain.study.spread import SomeSeconds, SomeUpdates
from foretrain.study.study import study_from
from foretrain.study.workload import SomeSamples
from foretrain.units import BYTES, BYTES_PER_SECOND, SECONDS, SHARE
from foretrain.workload.workload import Data

SECTIONS: Final = ("scale", "worker", "servers", "start", "workload", "cluster", "plan")
MODEL: Final = ("workload", "cluster", "plan")

NO_WORKER: Final = (
    "is missing. Say what a worker does: [worker] with compute, samples, pulled, pushed and link or"
    " with profile, or [workload] and [cluster]."
)
TWO_WORKERS: Final = "stands beside [workload]. Both say what a worker does; keep one."
NO_SERVERS: Final = "is for aggregation = 'servers'. Leave it out."
NO_JOB: Final = "is for servers on nodes of their own. Leave it out."
LATENCY: Final = "is that of workers among themselves. With servers, write servers.latency."
NO_BROADCAST: Final = "broadcast needs the link of a worker. Say what a worker does in [worker]."
BESIDE_PROFILE: Final = "stands beside a profile, which already says it. Leave it out."
NO_LINK: Final = 'is missing. Write the bandwidth of a connection, such as "10 Gb/s".'
STAND_IN: Final = Worker(compute=Constant(1.0), samples=1.0, pulled=0.0, pushed=0.0, link=1.0)
"""What stands for a worker whose seconds and bytes an estimate will say."""


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
class StartSection:
    """The whole job, as it is written; `StartUp`, `Data` and `WholeJob` have the meanings."""

    samples: SomeSamples
    sample_bytes: Annotated[float, BYTES] | None = None
    prepare: Annotated[float, SECONDS] | None = None
    epochs: Annotated[float, ratio(below=1e6)] = 1.0
    cores: Count | None = None
    held: Annotated[float, SHARE] = 1.0
    access: Annotated[Access, Reads(reader(Access), {"type": "string"})] = Access.UNSHARDED
    read: Annotated[float, BYTES_PER_SECOND]
    total_read: Annotated[float, BYTES_PER_SECOND] | None = None
    files: Count | None = None
    opening: Annotated[float, SECONDS] = 0.0
    launch: Annotated[float, SECONDS] = 0.0
    node_launch: Annotated[float, SECONDS] = 0.0
    local: Annotated[float, BYTES_PER_SECOND] | None = None

    def job(self, link: float | None, latency: float) -> WholeJob:
        """What it means.

        Args:
            link: bytes per second between two nodes, for a broadcast.
            latency: seconds before the first byte between them arrives.
        """
        start = StartUp(
            storage=Storage(read=self.read, write=self.read, total_read=self.total_read),
            access=self.access,
            files=float(self.files or 0),
            opening=self.opening,
            launch=self.launch,
            node_launch=self.node_launch,
            link=link,
            latency=latency,
            local=self.local,
        )
        data = Data(samples=self.samples, sample_bytes=self.sample_bytes, prepare=self.prepare)
        return WholeJob(
            start=start, data=data, epochs=self.epochs, cores=self.cores, held=self.held
        )


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
        if ("worker" in document) == ("workload" in document):
            problems.add("worker", TWO_WORKERS if "worker" in document else NO_WORKER)
            problems.check()
        model = self._model() if "workload" in document else None
        profile, worker = self._worker() if "worker" in document else (None, STAND_IN)
        if how and how.aggregation is Aggregation.SERVERS and how.latency:
            problems.add("scale.latency", LATENCY)
        servers = self._servers(how, worker, profile) if how and worker else None
        job = self._job(worker, servers) if worker else None
        problems.check()
        assert how
        assert worker
        with problems.noting("scale", fields={}):
            training = Training(
                worker=worker,
                aggregation=how.aggregation,
                servers=servers,
                updates=how.updates,
                latency=how.latency,
            )
            return ScaleStudy(
                training=training,
                workers=tuple(sorted(set(how.workers))),
                model=model,
                steps=how.steps,
                seed=how.seed,
                policy=how.links,
                waste=self._waste(how),
                recorded=profile.steps if profile else (),
                job=job,
                assumed=tuple(self.assumed),
            )
        problems.check()
        raise AssertionError("a study that was refused has a problem")

    def _job(self, worker: Worker, servers: Servers | None) -> WholeJob | None:
        """The whole job, where the study asks for it."""
        if "start" not in self.document:
            return None
        if servers is None or servers.colocated:
            self.problems.add("start", NO_JOB)
            return None
        written = self.document["start"]
        said = validated(StartSection, written, path="start", problems=self.problems)
        link = None if worker is STAND_IN else worker.link
        if said and said.access is Access.BROADCAST and link is None:
            self.problems.add("start.access", NO_BROADCAST)
        if said is not None and not self.problems.found:
            with self.problems.noting("start", fields={}):
                return said.job(link, servers.latency)
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
        link = said.link or (profile.link if profile else None)
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
        assert link
        if profile:
            return profile, _profiled(profile, link)
        with self.problems.noting("worker", fields={}):
            return None, Worker(
                compute=said.compute or Constant(0.0),
                samples=said.samples or 0.0,
                pulled=said.pulled or 0.0,
                pushed=said.pushed or 0.0,
                link=link,
            )
        return None, None

    def _profile(self, said: WorkerSection) -> Profile | None:
        """The profile that a worker is known by, where there is one."""
        if said.profile is not None:
            with self.problems.noting("worker.profile"):
                return read_profile(self.folder / said.profile)
        return None

    def _servers(
        self, how: ScaleSection, worker: Worker, profile: Profile | None
    ) -> Servers | None:
        """The servers, where there are any."""
        if how.aggregation is not Aggregation.SERVERS:
            if "servers" in self.document:
                self.problems.add("servers", NO_SERVERS)
            return None
        section = self.document.get("servers", {})
        said = validated(ServersSection, section, path="servers", problems=self.problems)
        if said is None:
            return None
        if said.link is None and worker is not STAND_IN:
            self.assumed.append(assumed("servers.link = worker.link"))
        update = said.update
        if profile and "update" not in section:
            update = fmean(step.taken(StepResource.SERVER) for step in profile.steps)
        with self.problems.noting("servers", fields={}):
            return Servers(
                count=said.count,
                link=said.link or worker.link,
                latency=said.latency,
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
