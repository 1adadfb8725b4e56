"""Studies of a shared cluster: [cluster] or [fleet], [jobs] and [simulation]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import ForetrainError
from foretrain.measured.job import Log
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import (
    Conditions,
    Drawn,
    JobModel,
    Placement,
    QueueStudy,
    Target,
)
from foretrain.measured.site import SiteRules
from foretrain.plugins import imported
from foretrain.study.cluster import read_cluster
from foretrain.study.documents import read_toml
from foretrain.study.job_models import (
    ModelReader,
    ModelSection,
    Ratio,
    SweepSection,
    TargetSection,
    known_model,
)
from foretrain.study.keys import Count
from foretrain.study.own_entries import KEY as OWN_ENTRIES
from foretrain.study.own_entries import with_entries
from foretrain.study.problems import Problems, check_sections, validated
from foretrain.study.site import FailuresSection, ScalingSection, infers_rules, read_site
from foretrain.study.site_outputs import with_outputs
from foretrain.study.slurm_nodes import OutageSection, missing_nodes
from foretrain.study.traces.read import read_log
from foretrain.units import DOLLARS_PER_SECOND, SECONDS, SHARE

SECTIONS: Final = ("cluster", "fleet", "jobs", "simulation", "site")

NO_FLEET: Final = (
    "is missing. Say what the jobs share: [fleet] with nodes and devices, or [cluster] with a name"
    " of the catalogue and nodes."
)
NO_LOG: Final = (
    "asks for rules that jobs followed, and these are drawn. Name a log by jobs.trace, or state the"
    " rules."
)
TWO_FLEETS: Final = "stands beside [cluster]. Both say what jobs share; keep one."
NO_JOBS: Final = "is missing. Name a trace, or write draw = 5000 for as many drawn jobs."
TWO_SOURCES: Final = "says trace and draw. Jobs come from one of them; keep one."
UNKNOWN_KIND: Final = (
    "{jobs} of its jobs ran on {kinds}, and [fleet] has {there}. Call kinds as the log does, or"
    " leave kind out of [fleet]: then any devices serve."
)
NO_PLANS: Final = "needs [cluster] instead of [fleet]: plans depend on it."
UNUSED: Final = "is for jobs that are {these}, and these are {those}. Leave it out."
WRITTEN: Final = {"fleet.count": "fleet.nodes", "jobs.jobs": "jobs.draw"}
"""How fields of nouns are called in a study, where it is not the same."""

OF_DRAWN: Final = (
    *("jobs.models", "jobs.sweeps", "jobs.ends", "simulation.loads", "simulation.seeds"),
)
OF_LOGGED: Final = ("jobs.format", "jobs.columns", "jobs.since", "jobs.policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSection:
    """Equal nodes, as they are written; `Nodes` has the meanings."""

    nodes: Count
    devices: Count
    kind: str = ""
    rack: Count | None = None
    price: Annotated[float, DOLLARS_PER_SECOND] | None = None

    @property
    def noun(self) -> Nodes:
        """What they are."""
        return Nodes(
            count=self.nodes,
            devices=self.devices,
            kind=self.kind,
            rack=self.rack or 0,
            price=self.price or 0.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KindsSection:
    """Nodes of several kinds, as they are written."""

    kinds: tuple[NodesSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSection:
    """Devices of groups, as they are written."""

    quota: dict[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSection:
    """The jobs, as they are written."""

    trace: str | None = None
    format: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    since: str | None = None
    draw: Count | None = None
    serial: Annotated[float, SHARE] | None = None
    ends: bool = True
    restart: Annotated[float, SECONDS] = 0.0
    policy: str | None = None
    models: tuple[ModelSection, ...] = ()
    sweeps: tuple[SweepSection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSection:
    """How it is simulated, as it is written."""

    policies: tuple[str, ...] = ("fifo", "las", "srtf")
    loads: tuple[Ratio, ...] = ()
    seeds: Count = 1
    warm_up: Annotated[float, SHARE] = 0.0
    round: Annotated[float, SECONDS] = 0.0
    placement: Placement = Placement.ANY
    admit: Annotated[float, SECONDS] = 0.0
    failures: FailuresSection | None = None
    outages: tuple[OutageSection, ...] = ()
    scaling: ScalingSection | None = None
    target: TargetSection | None = None
    rules: bool = False


def read_queue_study(path: Path | str, *, today: date | None = None) -> QueueStudy:
    """The study of a shared cluster in a TOML file.

    Args:
        path: the file.
        today: the day by which prices age; None for that of this machine.

    Raises:
        InputError: with every problem of the file and of the trace that it names.
    """
    problems = Problems(str(path))
    document = read_toml(Path(path), problems)
    folder = Path(path).parent
    with with_entries(document, problems, folder) as own:
        whole = with_outputs(own, problems, folder=folder)
        printed = whole is not own
        return _QueueReader(whole, problems, folder=folder, today=today, printed=printed).study()


@dataclass(frozen=True, slots=True)
class _QueueReader:
    """A document on its way to a study; `printed` if a site's commands told some of its rules."""

    document: Mapping[str, Any]
    problems: Problems
    folder: Path
    today: date | None
    printed: bool

    def study(self) -> QueueStudy:
        """The study; raises an InputError with every problem."""
        check_sections(self.document, SECTIONS, self.problems, beside=(OWN_ENTRIES,))
        cluster = None
        infers = infers_rules(self.document.get("site"), self.problems)
        fleetless = infers and not {"cluster", "fleet"} & self.document.keys()
        if not fleetless and ("cluster" in self.document) == ("fleet" in self.document):
            self.problems.add("fleet", TWO_FLEETS if "fleet" in self.document else NO_FLEET)
        if "cluster" in self.document:
            cluster = read_cluster(dict(self.document["cluster"]), self.problems, self.folder)
        fleet = self._fleet(cluster)
        written = self.document.get("jobs", {})
        section = validated(JobsSection, written, path="jobs", problems=self.problems)
        said = self.document.get("simulation", {})
        how = validated(SimulationSection, said, path="simulation", problems=self.problems)
        jobs = self._jobs(section, cluster, fleet) if section else None
        site = self._site(jobs.origin if isinstance(jobs, Log) else None)
        if section and (section.trace is None) != (section.draw is None):
            self._unused(traced=section.trace is not None)
        target = self._asked(how) if how else None
        if infers and jobs and not isinstance(jobs, Log):
            self.problems.add("site.infer", NO_LOG)
        self.problems.check()
        if fleetless and isinstance(jobs, Log):
            together = sum(job.devices for job in jobs.trace.jobs)
            fleet = Fleet(nodes=(Nodes(count=together, devices=1),))
        assert fleet
        assert section
        assert how
        assert jobs
        study = None
        with self.problems.noting("simulation", fields=WRITTEN):
            study = _study(fleet, jobs, section=section, how=how, target=target)
            if site is not None:
                stated = replace(study.conditions, site=site[0], grace=site[1])
                study = replace(study, conditions=stated, infer_rules=infers, infer_fleet=fleetless)
        if study is not None and not fleetless:
            self._missing_nodes(study)
        self.problems.check()
        assert study, "a study that was refused has a problem"
        return study

    def _site(self, origin: float | None) -> tuple[SiteRules, float] | None:
        """An administrator's rules, if the study states them, and what is beyond time limits."""
        written = self.document.get("site")
        if written is None or self.problems.table(written, "site") is None:
            return None
        return read_site(written, self.problems, origin=origin)

    def _missing_nodes(self, study: QueueStudy) -> None:
        """Note nodes that are not there; a site's commands may print more than a study takes."""
        outages, count = study.conditions.outages, sum(each.count for each in study.fleet.nodes)
        site = SiteRules() if self.printed else study.conditions.site
        missing_nodes(outages, site, self.problems, count=count)

    def _unused(self, *, traced: bool) -> None:
        """Note keys that say nothing of jobs as these are."""
        these, those = ("drawn", "of a trace") if traced else ("of a trace", "drawn")
        for path in OF_DRAWN if traced else OF_LOGGED:
            section, _, key = path.partition(".")
            if key in self.document.get(section, {}):
                self.problems.add(path, UNUSED.format(these=these, those=those))

    def _asked(self, how: SimulationSection) -> Target | None:
        """What is to be kept; policies that are Python code are found first.

        Whoever simulates looks for them there again.
        """
        if not how.policies:
            self.problems.add("simulation.policies", "is empty. Name one, such as fifo.")
        if self.document.get("simulation", {}).get("loads") == []:
            self.problems.add(
                "simulation.loads", "is empty. Name one, such as 0.8, or leave it out."
            )
        for place, policy in enumerate(how.policies):
            if ":" in policy:
                with self.problems.noting(f"simulation.policies[{place}]"):
                    imported(policy, folder=str(self.folder.resolve()))
        with self.problems.noting("simulation.target"):
            return how.target.noun if how.target else None
        return None

    def _fleet(self, cluster: Cluster | None) -> Fleet | None:
        """The nodes that jobs share; None where a mistake hides them."""
        if cluster is not None:
            with self.problems.noting("cluster", fields=WRITTEN):
                nodes = Nodes(
                    count=cluster.nodes,
                    devices=cluster.node_devices,
                    kind=cluster.device.name,
                    price=cluster.price or 0.0,
                )
                return Fleet(nodes=(nodes,))
        if "fleet" not in self.document:
            return None
        written = dict(self.document["fleet"])
        told = {"quota": written.pop("quota", {})}
        quotas = validated(QuotaSection, told, path="fleet", problems=self.problems)
        kind: type[KindsSection] | type[NodesSection]
        kind = KindsSection if "kinds" in written else NodesSection
        found = validated(kind, written, path="fleet", problems=self.problems, taken=("quota",))
        if found is None or quotas is None:
            return None
        groups = found.kinds if isinstance(found, KindsSection) else (found,)
        with self.problems.noting("fleet", fields=WRITTEN):
            return Fleet(nodes=tuple(each.noun for each in groups), quota=quotas.quota)
        return None

    def _jobs(
        self, section: JobsSection, cluster: Cluster | None, fleet: Fleet | None
    ) -> Log | Drawn | None:
        written = {"trace", "draw"} & self.document.get("jobs", {}).keys()
        if len(written) != 1:
            self.problems.add("jobs", TWO_SOURCES if written else NO_JOBS)
            return None
        if section.trace is not None:
            try:
                log = read_log(
                    self.folder / section.trace,
                    format=section.format,
                    columns=section.columns,
                    serial=section.serial,
                    since=section.since,
                )
            except ForetrainError as error:
                self.problems.add("jobs.trace", str(error))
                return None
            return self._of_kinds(log, fleet if cluster is None else None)
        if section.draw is None:
            return None  # what was written instead is noted
        for key, drawn in (("models", section.models), ("sweeps", section.sweeps)):
            names = [each.name for each in drawn]
            if len({*names}) < len(names):
                self.problems.add(f"jobs.{key}", f"two have one name: {', '.join(names)}.")
        models = tuple(self._models(section.models, cluster))
        kinds = [
            each.noun(f"jobs.sweeps[{place}]", self.problems)
            for place, each in enumerate(section.sweeps)
        ]
        with self.problems.noting("jobs", fields=WRITTEN):
            return Drawn(
                jobs=section.draw,
                models=models,
                serial=section.serial,
                ends=section.ends,
                sweeps=tuple(each for each in kinds if each),
            )
        return None

    def _models(
        self, sections: Sequence[ModelSection], cluster: Cluster | None
    ) -> Iterator[JobModel]:
        """The models; mistakes, noted in the problems, hide those that have them."""
        for place, section in enumerate(sections):
            path = f"jobs.models[{place}]"
            if section.curve is not None:
                known = known_model(section, self.folder, path=path, problems=self.problems)
                yield from [known] if known else []
                continue
            if cluster is None:
                self.problems.add(path, NO_PLANS)
                continue
            reader = ModelReader(
                section, cluster, path=path, problems=self.problems, today=self.today
            )
            model = reader.model(self.document["cluster"])
            yield from [model] if model else []

    def _of_kinds(self, log: Log, fleet: Fleet | None) -> Log:
        """The log, whose jobs ask for kinds of devices only where the study names kinds."""
        if fleet is None or not any(each.kind for each in fleet.nodes):
            jobs = tuple(replace(job, kinds=()) for job in log.trace.jobs)
            return replace(log, trace=replace(log.trace, jobs=jobs))
        there = {each.kind for each in fleet.nodes}
        lost = Counter(
            "|".join(job.kinds)
            for job in log.trace.jobs
            if job.kinds and there.isdisjoint(job.kinds)
        )
        if lost.total() < len(log.trace.jobs):
            return log  # what some jobs lack is told with the answer
        for kinds, jobs_of in sorted(lost.items()):
            told = UNKNOWN_KIND.format(jobs=jobs_of, kinds=kinds, there=", ".join(sorted(there)))
            self.problems.add("jobs.trace", told)
        return log


def _at_once(log: Log) -> Iterator[PartyLimit]:
    """How many tasks of each array may run at once, as a log tells."""
    for array, most in log.at_once.items():
        yield PartyLimit(of=Party.ARRAY, named=array, jobs=most)


def _study(
    fleet: Fleet,
    jobs: Log | Drawn,
    *,
    section: JobsSection,
    how: SimulationSection,
    target: Target | None,
) -> QueueStudy:
    drawn = isinstance(jobs, Drawn)
    loads: Sequence[float] = how.loads or ((0.8,) if drawn else ())
    assumed = ["simulation.loads = [0.8]"] if drawn and not how.loads else []
    return QueueStudy(
        fleet=fleet,
        jobs=jobs,
        policies=how.policies,
        loads=tuple(loads),
        seeds=how.seeds if drawn else 1,
        warm_up=how.warm_up,
        conditions=Conditions(
            period=how.round,
            placement=how.placement,
            admit=how.admit,
            failures=how.failures.noun if how.failures else None,
            outages=tuple(each.noun for each in how.outages),
            scaling=how.scaling.noun if how.scaling else None,
            limits=() if isinstance(jobs, Drawn) else tuple(_at_once(jobs)),
        ),
        restart=section.restart,
        policy=section.policy,
        target=target,
        rules=how.rules,
        assumed=tuple(assumed),
    )
