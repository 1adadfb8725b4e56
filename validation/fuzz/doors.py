"""The doors: how each kind of file comes in, and all that a command would make of it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from validation.fuzz import seeds

from foretrain.app.output import Legible, legible
from foretrain.measured.run import TableKind

Use = Callable[[Path], object]
LONGEST_ARGUMENT: Final = 2**17
"""Bytes that Linux lets a program be given in one argument."""

TODAY: Final = date(2026, 11, 23)

MOST_DRAWN: Final = 2_000
"""Jobs that a study draws here at most: of as many as may be asked, a simulation takes minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """A sound file.

    Attributes:
        name: of the file.
        text: what it holds.
        form: as `mutations.mutated` has it.
        beside: other files in its folder, by name.
    """

    name: str
    text: str
    form: str
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One way in.

    Attributes:
        name: in the output and for `--replay`.
        reads: functions of the source that it goes through, as "study/study.py:read_study".
        seeds: sound files.
        use: reads a file and makes of it all that a command would.
        share: of the mutants, beside 1 of most.
    """

    name: str
    reads: tuple[str, ...]
    seeds: tuple[Seed, ...]
    use: Use
    share: int = 1


def _toml(*texts: str, name: str = "study.toml", **beside: str) -> Seed:
    named = {key.replace("_", "."): text for key, text in beside.items()}
    return Seed(name=name, text="\n".join(texts), form="toml", beside=named)


def shown(question: object, answer: object) -> None:
    """What a command does with an answer: a document, and a report without a hidden character."""
    from foretrain.app.output import Answered, told
    from foretrain.show.document import provenance

    json.dumps(told(question, answer, provenance(answer), as_json=True), allow_nan=False)
    paper = io.StringIO()
    report = told(question, answer, provenance(answer), as_json=False)
    report = report.report if isinstance(report, Answered) else report
    Console(file=paper, width=100, highlight=False).print(Legible(report))
    assert legible(paper.getvalue()) == paper.getvalue()


def estimated(path: Path) -> None:
    """A study of one plan."""
    from foretrain.step.estimate import estimate
    from foretrain.study.study import read_study

    study = read_study(path, today=TODAY)
    answer = estimate(study)
    shown(study, answer)


def asked_by_an_agent(path: Path) -> None:
    """A study that an agent names, over the protocol; what is wrong is said in the answer."""
    from foretrain.app.agents import answered_message
    from foretrain.errors import InputError

    params = {"name": "estimate", "arguments": {"file": str(path)}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    [answer] = answered_message(line)
    json.dumps(answer, allow_nan=False)
    if answer["result"].get("isError"):
        raise InputError(answer["result"]["content"][0]["text"])


LOG: Final = "\n".join(
    f" iteration {step:8d}/    2000 | elapsed time per iteration (ms): {1002.5 + step % 3} |"
    for step in range(10, 210, 10)
)


def timed(path: Path) -> None:
    """A log of a trainer: the steady time of its steps."""
    from foretrain.launch.log import steady
    from foretrain.study.launch_files import read_log

    steady(read_log(path))


def _event(name: str, when: tuple[int, int], cat: str) -> dict[str, object]:
    start, length = when
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length, "pid": 0, "tid": 1}


TRACE: Final = json.dumps(
    {
        "schemaVersion": 1,
        "traceEvents": [
            _event("ProfilerStep#1", (0, 900), "user_annotation"),
            _event("Optimizer.step#AdamW.step", (700, 150), "user_annotation"),
            {**_event("aten::mm", (0, 20), "cpu_op"), "args": {"External id": 4}},
            {**_event("sm90_gemm", (100, 300), "kernel"), "args": {"External id": 4}},
            _event("ncclDevKernel_AllReduce", (350, 200), "kernel"),
            _event("multi_tensor_apply_kernel", (720, 90), "kernel"),
        ],
    }
)


def traced_step(path: Path) -> None:
    """The trace of a profiler: what its steps were spent on."""
    from foretrain.launch.kineto import profiled
    from foretrain.study.launch_files import is_profile_file, read_profile

    is_profile_file(path)
    profiled(read_profile(path))


LAUNCH_FILES: Final = Path(__file__).parents[2] / "tests" / "launch" / "files"
FORMS: Final = {".toml": "toml", ".json": "json"}


def imported(path: Path) -> None:
    """A file of a trainer, and the study that it becomes where it leaves nothing open."""
    from foretrain.search.import_files import import_, with_asked
    from foretrain.study.launch_files import (
        is_configuration,
        is_launch_file,
        read_launch_files,
    )

    is_launch_file(path)
    is_configuration(path)
    files = with_asked(read_launch_files(path))
    answer = import_(files, on="dgx-h100")
    shown(files, answer)
    if not answer.missing:
        answer.question(free=True)


def _launch_files() -> tuple[Seed, ...]:
    names = (
        *("megatron-mixtral-8x7b.sh", "bloom-176b.slurm", "transformers-zero3.json"),
        *("titan-llama3-70b-pipelined.toml", "foundry-mpt-7b.yaml", "nemo-gpt3-175b.yaml"),
        *("trainjob-megatron.yaml", "skypilot-torchtitan.yaml", "accelerate-nd-parallel.yaml"),
    )
    files = [LAUNCH_FILES / name for name in names]
    return tuple(
        Seed(name=it.name, text=it.read_text("utf-8"), form=FORMS.get(it.suffix, "lines"))
        for it in files
    )


def brought(kind: str) -> Use:
    """A file of a user's own entries, beside sound ones of the other kind."""
    from foretrain.study.files import read_bytes

    def use(path: Path) -> None:
        content = read_bytes(path, most=10**6)  # a pipe, or a link to itself, is told as such
        texts = {"devices": seeds.OWN_DEVICE, "clusters": seeds.OWN_CLUSTER}
        for each, text in texts.items():
            (path.parent / "site" / each).mkdir(parents=True, exist_ok=True)
            (path.parent / "site" / each / "ours.toml").write_text(text, "utf-8")
        mutant = path.parent / "site" / kind / "ours.toml"
        mutant.write_bytes(content)
        study = path.with_name("study.toml")
        asked = ('catalogue = "site"', seeds.WORKLOAD, seeds.OWN, seeds.ONE_PLAN)
        study.write_text("\n".join(asked), "utf-8")
        estimated(study)

    return use


def searched(path: Path) -> None:
    """A study of many plans."""
    from foretrain.search.search import search
    from foretrain.study.study import read_study

    study = read_study(path, today=TODAY)
    answer = search(study, keep=3)
    shown(study, answer)


def doubted(path: Path) -> None:
    """A doubt of a plan, in the words of a ranking."""
    from foretrain.study.plan import read_named

    if path not in path.parent.iterdir() or not path.is_file():
        return
    text = path.read_bytes()[:LONGEST_ARGUMENT].decode("utf-8", "surrogateescape")
    read_named(text, where="--why-not")


def simulated(path: Path) -> None:
    """A study of jobs that share a cluster."""
    from foretrain.jobs.simulate import simulate
    from foretrain.measured.queue_study import Drawn
    from foretrain.study.queue_study import read_queue_study

    study = read_queue_study(path, today=TODAY)
    few = replace(study, seeds=min(study.seeds, 50))
    if isinstance(study.jobs, Drawn):  # more of them are sound too, and take as much longer
        few = replace(few, jobs=replace(study.jobs, jobs=min(study.jobs.jobs, MOST_DRAWN)))
    shown(few, simulate(few))


def transferred(path: Path) -> None:
    """A study of one collective."""
    from foretrain.step.curve import collective
    from foretrain.study.collective_study import read_collective_study

    study = read_collective_study(path)
    shown(study, collective(study))


def scaled(path: Path) -> None:
    """A study of throughput against workers."""
    from foretrain.queueing.scale import scale
    from foretrain.study.scale_study import read_scale_study

    study = read_scale_study(path, today=TODAY)
    few = replace(study, workers=study.workers[:2], steps=min(study.steps, 50))
    shown(study, scale(few))


def drawn_of_curve(path: Path) -> None:
    """A throughput curve behind a sound study of jobs that are drawn of it."""
    study = path.with_name("queue.toml")
    study.write_text(seeds.CURVED.replace("curve.json", path.name), "utf-8")
    simulated(study)


def configured_site(path: Path) -> None:
    """What `scontrol` prints behind a sound study of a site."""
    study = path.with_name("queue.toml")
    study.write_text(seeds.SITED.replace("scontrol.txt", path.name), "utf-8")
    simulated(study)


def told_site(path: Path) -> None:
    """What a command of a site prints behind a sound study of its log."""
    study = path.with_name("queue.toml")
    path.with_name("log.csv").write_text(seeds.LOG_OF_SITE, "utf-8")
    study.write_text(seeds.TOLD_SITE.replace("told.txt", path.name), "utf-8")
    simulated(study)


def replayed_steps(path: Path) -> None:
    """A profile of one worker behind a sound study."""
    study = path.with_name("scale.toml")
    study.write_text(seeds.PROFILED.replace("profile.json", path.name), "utf-8")
    scaled(study)


def replayed(text: str) -> Use:
    """A log behind a sound study."""

    def use(path: Path) -> None:
        study = path.with_name("queue.toml")
        named = f'{path.name}"\nformat = "{path.stem}' if path.stem == "pai" else path.name
        study.write_text(text.replace("log.csv", named), "utf-8")
        simulated(study)

    return use


def shared(path: Path) -> None:
    """A study of an ensemble."""
    from foretrain.ensemble.estimate import ensemble_estimate
    from foretrain.study.ensemble_study import read_ensemble_study

    study = read_ensemble_study(path)
    shown(study, ensemble_estimate(study))


def configured(path: Path) -> None:
    """A configuration behind a sound study."""
    study = path.with_name("study.toml")
    pictures = path in path.parent.iterdir() and path.is_file()
    pictures = pictures and b'"vit"' in path.read_bytes()
    workload = seeds.PICTURES if pictures else seeds.CONFIG
    plan = '[plan]\nmicro_batch = 1\nrecompute = "full"\n'
    study.write_text(workload.replace("config.json", path.name) + seeds.NAMED + plan, "utf-8")
    estimated(study)


def layered(path: Path) -> None:
    """A layer list behind a sound study, without and with a time of the whole network."""
    for named in (f'"{path.name}"', f'{{ layer_list = "{path.name}", seconds = "9 ms" }}'):
        study = path.with_name("study.toml")
        workload = f"[workload]\nmodel = {named}\nglobal_batch = 16\n"
        study.write_text(workload + seeds.NAMED + "[plan]\nmicro_batch = 1\n", "utf-8")
        estimated(study)


def priced(path: Path) -> None:
    """A price list, and a study that names it."""
    from foretrain.study.own_entries import read_prices

    read_prices(path)
    study = path.with_name("study.toml")
    cluster = '[cluster]\nname = "dgx-a100"\nnodes = 1\nprices = "prices.toml"\n'
    study.write_text(seeds.WORKLOAD + cluster + seeds.ONE_PLAN, "utf-8")
    estimated(study)


def fitted(path: Path) -> None:
    """A set of coefficients, and a step priced with it."""
    from foretrain.step.estimate import estimate
    from foretrain.study.coefficients import as_toml, calibration, read_calibration
    from foretrain.study.study import read_study

    found = read_calibration(path)
    study = path.with_name("study.toml")
    study.write_text(seeds.WORKLOAD + seeds.NAMED + seeds.ONE_PLAN, "utf-8")
    asked = read_study(study, today=TODAY)
    answer = estimate(asked, coefficients=found.coefficients)
    shown(asked, answer)
    calibration(as_toml(found, over=found, about="again"), over=found, where="again")


def validated(kind: str) -> Use:
    """A table of measurements of some kind."""

    def use(path: Path) -> None:
        from foretrain.evidence.validate import validate
        from foretrain.study.measurements import read_measurements

        runs = read_measurements(path, kind=kind)
        shown(runs, validate(runs, played=False))

    return use


def listed(path: Path) -> None:
    """A list of networks beside a sound table."""
    table = path.with_name("single_device.csv")
    table.write_text(seeds.table("single_device"), "utf-8")
    validated("single_device")(table)


def noded(path: Path) -> None:
    """The nodes of a cluster that published its log."""
    from foretrain.study.traces.formats import read_openb_nodes

    read_openb_nodes(path)


def gavelled(path: Path) -> None:
    """A trace beside sound throughputs."""
    from validation.scheduling.formats.gavel import read_gavel, read_throughputs

    read_gavel(path, read_throughputs(path.with_name("throughputs.json")))


def throughputs(path: Path) -> None:
    """Throughputs beside sound traces."""
    from validation.scheduling.formats.gavel import read_gavel, read_throughputs
    from validation.scheduling.formats.shockwave import read_shockwave

    found = read_throughputs(path)
    read_gavel(path.with_name("jobs.trace"), found)
    read_shockwave(path.with_name("growing.trace"), found)


def growing(path: Path) -> None:
    """A trace of jobs whose batch grows."""
    from validation.scheduling.formats.gavel import read_throughputs
    from validation.scheduling.formats.shockwave import read_shockwave

    read_shockwave(path, read_throughputs(path.with_name("throughputs.json")))


def submitted(path: Path) -> None:
    """A workload of jobs."""
    from validation.scheduling.formats.pollux import read_workload

    read_workload(path)


def profiled(path: Path) -> None:
    """A profile of a model, one file of which is a mutant."""
    from validation.scheduling.formats.pollux import read_profile

    read_profile(path.parent)


def published(path: Path) -> None:
    """Who published what."""
    from validation.parts.publishers import read_publishers

    read_publishers(path)


def kept(path: Path) -> None:
    """A kept result."""
    from foretrain.app.progress import Kept

    Kept(path.parent).get(path.stem)


def kept_trace(path: Path) -> None:
    """A kept trace."""
    from foretrain.study.tracing.kept import read_kept

    read_kept(path)


def claimed(path: Path) -> None:
    """How far a run had come."""
    from foretrain.ensemble.run.written import RunFolder

    RunFolder(path.parent).claim("question", resume=True)


def gone_on(path: Path) -> None:
    """The table of an earlier run, which a resumed one adds to."""
    from foretrain.ensemble.run.written import opened
    from foretrain.measured.ensemble_study import Logs

    with opened(Logs(csv=str(path)), anew=False):
        pass


@cache
def _whole_set() -> str:
    """A set that says every coefficient."""
    from foretrain.coefficients.coefficients import Origin
    from foretrain.coefficients.uncertainty import NOTHING
    from foretrain.study.coefficients import PRIORS, SHIPPED, as_toml

    known = {
        name: replace(it, kind=Origin.GIVEN, rows=(), source="by hand")
        for name, it in SHIPPED.known.items()
    }
    mine = replace(SHIPPED, name="mine", known=known, covers=NOTHING)
    return as_toml(mine, over=PRIORS, about="every coefficient")


@cache
def _kept_trace() -> str:
    """A model as traces are kept."""
    from foretrain.study.tracing.kept import written
    from foretrain.workload.library.entries import build

    return written(build("vgg-11", image=64))


def _kept_result() -> str:
    """A result as a simulation keeps it."""
    from foretrain.app.progress import Kept
    from foretrain.jobs.simulate import simulate
    from foretrain.study.queue_study import read_queue_study

    with TemporaryDirectory() as folder:
        study = Path(folder) / "queue.toml"
        study.write_text(seeds.FLEET, "utf-8")
        simulate(read_queue_study(study, today=TODAY), kept=Kept(Path(folder) / "kept"))
        return next((Path(folder) / "kept").iterdir()).read_text("utf-8")


GAVEL: Final = {
    "throughputs.json": seeds.THROUGHPUTS,
    "jobs.trace": seeds.GAVEL,
    "growing.trace": seeds.SHOCKWAVE,
}
PROFILE: Final = {
    "placements.csv": seeds.PLACED,
    "scalability.csv": seeds.SCALED,
    "validation-8.csv": seeds.LEARNED,
}
NAMED_PLANS: Final = (
    "tensor=8 pipeline=16 recompute=full",
    "tp4+sp, pp8x12, dp16, mbs2, recompute none, cut 1-62x2-1, order tensor>data>pipeline",
)
CONFIG: Final = {"config.json": json.dumps(seeds.configs()["llama"])}


def doors() -> tuple[Door, ...]:
    """Every door, those that more comes through more than once."""
    one = (seeds.WORKLOAD, seeds.NAMED, seeds.ONE_PLAN)
    space = (seeds.WORKLOAD, seeds.NAMED, seeds.SPACE)
    return (
        Door(
            name="study",
            reads=("study/study.py:read_study",),
            seeds=(
                _toml(*one, seeds.JOB),
                _toml(seeds.WORKLOAD, seeds.DATA, seeds.NAMED, seeds.ONE_PLAN),
                _toml(seeds.WORKLOAD, seeds.RAMP, seeds.NAMED, seeds.ONE_PLAN),
                _toml(seeds.WORKLOAD, seeds.WRITTEN, seeds.ONE_PLAN),
                _toml(seeds.TOTALS, seeds.NAMED, "[plan]\nmicro_batch = 4\n"),
                _toml(seeds.CONFIG, seeds.NAMED, seeds.ONE_PLAN, config_json=CONFIG["config.json"]),
            ),
            use=estimated,
            share=6,
        ),
        Door(
            name="search",
            reads=("study/study.py:read_study",),
            seeds=(
                _toml(*space, seeds.LIMITS),
                _toml(*space, seeds.LARGEST),
                _toml(*space, seeds.SCENARIOS),
                _toml(seeds.WORKLOAD, seeds.OFFERED, seeds.SPACE, prices_toml=seeds.PRICES),
                _toml(seeds.WORKLOAD, seeds.GROUPS, seeds.SPACE),
                _toml(seeds.WORKLOAD, seeds.WRITTEN, seeds.SPACE),
            ),
            use=searched,
            share=5,
        ),
        Door(
            name="agents",
            reads=("app/tools.py:_sections",),
            seeds=(_toml(*one, seeds.JOB),),
            use=asked_by_an_agent,
        ),
        Door(
            name="log",
            reads=("study/launch_files.py:read_log",),
            seeds=(Seed(name="run.log", text=LOG, form="lines"),),
            use=timed,
        ),
        Door(
            name="kineto",
            reads=(
                "study/launch_files.py:read_profile",
                "study/launch_files.py:is_profile_file",
            ),
            seeds=(Seed(name="trace.json", text=TRACE, form="json"),),
            use=traced_step,
        ),
        Door(
            name="launch",
            reads=(
                "study/launch_files.py:read_launch_files",
                "study/launch_files.py:is_launch_file",
                "study/launch_files.py:is_configuration",
            ),
            seeds=_launch_files(),
            use=imported,
            share=4,
        ),
        Door(
            name="own-devices",
            reads=("study/own_entries.py:_read",),
            seeds=(_toml(seeds.OWN_DEVICE, name="devices.toml"),),
            use=brought("devices"),
        ),
        Door(
            name="own-clusters",
            reads=("study/own_entries.py:_read",),
            seeds=(_toml(seeds.OWN_CLUSTER, name="clusters.toml"),),
            use=brought("clusters"),
        ),
        Door(
            name="why-not",
            reads=("study/plan.py:_words",),
            seeds=tuple(Seed(name="text", text=each, form="lines") for each in NAMED_PLANS),
            use=doubted,
        ),
        Door(
            name="queue-study",
            reads=("study/queue_study.py:read_queue_study",),
            seeds=(
                _toml(seeds.QUEUE),
                _toml(seeds.FLEET),
                _toml(seeds.LOGGED, log_csv=seeds.LOGS["philly.csv"]),
                _toml(seeds.MAPPED, log_csv=seeds.OWN_LOG),
                _toml(seeds.SITED, scontrol_txt=seeds.CONFIGURED),
                _toml(seeds.SWITCHED),
            ),
            use=simulated,
            share=5,
        ),
        Door(
            name="collective-study",
            reads=(
                "study/collective_study.py:read_collective_study",
                "study/collective_study.py:read_question",
            ),
            seeds=(_toml(seeds.COLLECTIVE),),
            use=transferred,
            share=1,
        ),
        Door(
            name="scale-study",
            reads=("study/scale_study.py:read_scale_study",),
            seeds=tuple(map(_toml, (seeds.SCALE, seeds.SCALED_MODEL, seeds.PROVISIONED))),
            use=scaled,
            share=3,
        ),
        Door(
            name="curve",
            reads=("study/job_models.py:read_curve",),
            seeds=(Seed(name="curve.json", text=seeds.CURVE, form="json"),),
            use=drawn_of_curve,
        ),
        Door(
            name="site-configuration",
            reads=("study/site_outputs.py:with_outputs",),
            seeds=(Seed(name="scontrol.txt", text=seeds.CONFIGURED, form="lines"),),
            use=configured_site,
        ),
        Door(
            name="site-outputs",
            reads=("study/site_outputs.py:with_outputs", "study/quotas.py:_objects"),
            seeds=tuple(
                Seed(name=name, text=text, form="json" if name.endswith(".json") else "lines")
                for name, text in seeds.OUTPUTS.items()
            ),
            use=told_site,
            share=3,
        ),
        Door(
            name="worker-profile",
            reads=("study/scale_sections.py:read_profile",),
            seeds=(Seed(name="profile.json", text=seeds.PROFILE, form="json"),),
            use=replayed_steps,
        ),
        Door(
            name="ensemble-study",
            reads=("study/ensemble_study.py:read_ensemble_study",),
            seeds=(_toml(seeds.ENSEMBLE),),
            use=shared,
        ),
        Door(
            name="config",
            reads=("study/model.py:_configured",),
            seeds=tuple(
                Seed(name="config.json", text=json.dumps(config), form="json")
                for config in seeds.configs().values()
            ),
            use=configured,
            share=4,
        ),
        Door(
            name="layer-list",
            reads=("study/layer_lists.py:read_layers",),
            seeds=(Seed(name="layers.csv", text=seeds.LAYERS, form="csv"),),
            use=layered,
        ),
        Door(
            name="prices",
            reads=("study/own_entries.py:read_prices",),
            seeds=(_toml(seeds.PRICES, name="prices.toml"),),
            use=priced,
        ),
        Door(
            name="coefficients",
            reads=("study/coefficients.py:read_calibration", "study/coefficients.py:calibration"),
            seeds=(_toml(seeds.SET, name="mine.toml"), _toml(_whole_set(), name="mine.toml")),
            use=fitted,
            share=2,
        ),
        *(
            Door(
                name=f"table-{kind}",
                reads=("study/measurements.py:read_measurements",),
                seeds=(Seed(name="table.csv", text=seeds.table(kind), form="csv"),),
                use=validated(kind),
            )
            for kind in map(str, TableKind)
            if kind in seeds.TABLES
        ),
        Door(
            name="networks",
            reads=("study/measurements.py:read_inventories",),
            seeds=(Seed(name="networks.csv", text=seeds.networks(), form="csv"),),
            use=listed,
        ),
        *(
            Door(
                name=f"log-{name.partition('.')[0]}",
                reads=("study/traces/read.py:read_log",),
                seeds=(Seed(name=name, text=text, form="lines"),),
                use=replayed(seeds.LOGGED),
            )
            for name, text in seeds.LOGS.items()
        ),
        Door(
            name="log-workloads",
            reads=("study/traces/read.py:read_log", "study/quotas.py:_objects"),
            seeds=(Seed(name="workloads.json", text=seeds.WORKLOADS, form="json"),),
            use=replayed(seeds.QUEUED),
        ),
        Door(
            name="log-inferred",
            reads=("study/traces/read.py:read_log",),
            seeds=(Seed(name="sacct.csv", text=seeds.WAITED, form="lines"),),
            use=replayed(seeds.INFERRED),
        ),
        Door(
            name="log-own",
            reads=("study/traces/read.py:read_log",),
            seeds=(Seed(name="log.csv", text=seeds.OWN_LOG, form="csv"),),
            use=replayed(seeds.MAPPED),
        ),
        Door(
            name="openb-nodes",
            reads=("study/traces/formats.py:read_openb_nodes",),
            seeds=(Seed(name="nodes.csv", text=seeds.NODES, form="csv"),),
            use=noded,
        ),
        Door(
            name="gavel",
            reads=(),
            seeds=(Seed(name="jobs.trace", text=seeds.GAVEL, form="lines", beside=GAVEL),),
            use=gavelled,
        ),
        Door(
            name="shockwave",
            reads=(),
            seeds=(Seed(name="growing.trace", text=seeds.SHOCKWAVE, form="lines", beside=GAVEL),),
            use=growing,
        ),
        Door(
            name="throughputs",
            reads=(),
            seeds=(
                Seed(name="throughputs.json", text=seeds.THROUGHPUTS, form="json", beside=GAVEL),
            ),
            use=throughputs,
        ),
        Door(
            name="pollux",
            reads=(),
            seeds=(Seed(name="workload.csv", text=seeds.SUBMITTED, form="csv"),),
            use=submitted,
        ),
        Door(
            name="profile",
            reads=(),
            seeds=tuple(
                Seed(name=name, text=text, form="csv", beside=PROFILE)
                for name, text in PROFILE.items()
            ),
            use=profiled,
        ),
        Door(
            name="publishers",
            reads=(),  # a table of our own, read by validation/parts/publishers.py
            seeds=(_toml(seeds.PUBLISHERS, name="publishers.toml"),),
            use=published,
        ),
        Door(
            name="kept-trace",
            reads=("study/tracing/kept.py:read_kept",),
            seeds=(Seed(name="key.json", text=_kept_trace(), form="json"),),
            use=kept_trace,
        ),
        Door(
            name="kept",
            reads=("app/progress.py:get",),
            seeds=(Seed(name="key.json", text=_kept_result(), form="json"),),
            use=kept,
        ),
        Door(
            name="manifest",
            reads=("ensemble/run/written.py:_facts",),
            seeds=(
                Seed(
                    name="run.json",
                    text='{"question": "question", "name": "a", "ended": ["a"], "compared": 1}',
                    form="json",
                ),
            ),
            use=claimed,
        ),
        Door(
            name="member-table",
            reads=("ensemble/run/written.py:_table",),
            seeds=(Seed(name="table.csv", text="seconds,member\n1,a\n2,b\n", form="csv"),),
            use=gone_on,
        ),
    )
