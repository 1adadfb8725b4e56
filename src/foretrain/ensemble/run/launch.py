"""Parts of a run: who trains at once, and up to which epoch, before members are compared.

Launch: all members of an ensemble, part by part, on one stream or each with its own loader.

The roster: processes of members, what they tell, and how each of them ends.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, nan
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Final

from batchcast.forkserver.client import Process
from batchcast.stream import Stream
from foretrain.ensemble.costs import FleetTerms
from foretrain.ensemble.result import MemberState, Snapshot
from foretrain.ensemble.run.home import Home
from foretrain.ensemble.run.inputs import RunSetting, counted, lag_of, sharing, stats_of, stream
from foretrain.ensemble.run.looks import Looks, Report, StreamNow, added, received
from foretrain.ensemble.run.member import MemberJob, live
from foretrain.ensemble.waves import SuccessiveHalving, first_fit_decreasing, waves
from foretrain.errors import ForetrainError
from foretrain.measured.ensemble_study import EnsembleStudy, Probed, Recipe
from foretrain.measured.members import Ensemble, Member

PATIENCE: Final = 5.0
"""Seconds for a process to leave after its last report, before it is killed."""


@dataclass(slots=True)
class _Hand:
    """One member at work; its process has these members."""

    process: Process
    pipe: Connection
    beside: tuple[str, ...]
    last: Report = field(default_factory=Report)


@dataclass(slots=True)
class Roster:
    """Members at work, in processes that are forked from the one that has loaded their study.

    It is a context, at whose end no process is left.
    """

    home: Home
    _hands: dict[str, _Hand] = field(default_factory=dict)

    def __enter__(self) -> Roster:
        return self

    def __exit__(self, *_: object) -> None:
        for hand in self._hands.values():
            hand.process.end()  # kills who is still there
            hand.pipe.close()

    @property
    def reports(self) -> dict[str, Report]:
        """The last report of every member."""
        return {name: hand.last for name, hand in self._hands.items()}

    def start(self, jobs: Iterable[MemberJob]) -> None:
        """Start a process for each job, and one for all that ask for the same."""
        groups: dict[object, list[MemberJob]] = {}
        for job in jobs:
            own = job.recipe.name if job.recipe.process is None else (job.recipe.process,)
            groups.setdefault(own, []).append(job)
        for together in groups.values():
            with ExitStack() as stack:
                pipes = [Pipe(duplex=False) for _ in together]
                ends = [stack.enter_context(theirs).fileno() for _, theirs in pipes]
                process = self.home.fork(
                    partial(live, tuple(together)),
                    ends,
                    dies_with_us=signal.SIGTERM,
                    told=signal.SIGTERM,
                    patience=inf,
                )
            names = [each.recipe.name for each in together]
            for name, (ours, _) in zip(names, pipes, strict=True):
                self._hands[name] = _Hand(process, ours, tuple(names))

    def watch(
        self, look: Callable[[], None], *, every: float, stop: Callable[[], bool]
    ) -> dict[str, Report]:
        """Wait until all have ended, and look at them meanwhile.

        Args:
            look: called now and then.
            every: seconds between two looks.
            stop: whether members are to keep their state and end.

        Returns:
            The last report of every member.
        """
        due, asked = monotonic() + every, False
        while at_work := {
            hand.pipe: name for name, hand in self._hands.items() if (not hand.pipe.closed)
        }:
            for pipe in wait(list(at_work), timeout=max(0.0, due - monotonic())):
                assert isinstance(pipe, Connection)
                self._hear(self._hands[at_work[pipe]])
            if monotonic() >= due:
                look()
                due = monotonic() + every
            if stop() and not asked:
                asked = True
                for hand in self._hands.values():
                    hand.process.send_signal(signal.SIGTERM)
        look()
        return self.reports

    def _hear(self, hand: _Hand) -> None:
        """Take what a member told; the end of its pipe is its own."""
        try:
            for report in received(hand.pipe):
                hand.last = report
        except EOFError:
            hand.pipe.close()
            hand.process.wait(PATIENCE)
            if not hand.last.final:
                reason = _death(hand.process)
                if len(hand.beside) > 1:
                    reason += f"; {', '.join(hand.beside)} shared it"
                hand.last = replace(hand.last, state=MemberState.FAILED, reason=reason)


def _death(process: Process) -> str:
    """Why a process is gone that said nothing."""
    code = process.status
    if code is None:
        return "it closed its pipe and did not end"
    if code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may have run out of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {code}"


def comparisons(study: EnsembleStudy) -> SuccessiveHalving | None:
    """When members are compared; None where all train to their end.

    The first comparison comes after the epochs that the study says, each further one after eta
    times as many.

    Source: jamieson2016, algorithm 1.
    """
    if study.halving is None:
        return None
    rungs, rung = [], study.halving.first
    while rung < study.epochs:
        rungs.append(float(rung))
        rung *= study.halving.eta
    return SuccessiveHalving(rungs=tuple(rungs), eta=study.halving.eta) if rungs else None


def together(
    recipes: Sequence[Recipe], probed: Probed, *, devices: int, memory: float
) -> tuple[Mapping[str, int], ...]:
    """Members that train at the same time, one group after another where not all have room.

    Args:
        recipes: who is to train.
        probed: what each holds.
        devices: GPUs on which they train; 0 for the cores of the host, which all share.
        memory: bytes of a device that they may fill; of the host where they train on its cores.

    Returns:
        The device of each member of each group; 0 on the host.

    Raises:
        InputError: a member does not fit alone.
    """
    count, members = max(1, devices), []
    for recipe in recipes:
        costs = probed.members[recipe.name]
        members.append(
            Member(
                name=recipe.name,
                batch=recipe.batch,
                epochs=float(recipe.epochs),
                rates=(costs.rate,),
                memory=costs.device_memory if costs.device_memory > 0 else costs.memory,
            )
        )
    ensemble = Ensemble(
        members=tuple(members),
        samples=probed.sample.count or 1,
        devices=count,
        devices_per_node=count,
        memory=memory,
    )
    if devices:
        return tuple(
            {name: place for place, names in enumerate(wave.devices) for name in names}
            for wave in waves(FleetTerms(ensemble=ensemble)).waves
        )
    held = {place: probed.members[each.name].memory for place, each in enumerate(recipes)}
    groups = first_fit_decreasing(held, memory)
    return tuple({recipes[place].name: 0 for place in sorted(group)} for group in groups)


def threads(members: int, cores: int) -> int:
    """Threads with which each of so many members computes: all cores, dealt out evenly."""
    return max(1, cores // members)


Tells = Callable[[Snapshot], None]


@dataclass(slots=True)
class Launch:
    """A run that goes on.

    Attributes:
        setting: what it is made with.
        tell: told of every look.
        stop: whether it is to keep its state and end.
        looks: at members and stream.
        ended: members that did worse than others and were ended, in that order.
        compared: how often members were compared, in this run or the one that it goes on with.
        reports: of every member that began, over all parts of this run.
        trained: seconds of all parts, each from its first sample to its last.
    """

    setting: RunSetting
    tell: Tells
    stop: Callable[[], bool]
    looks: Looks
    ended: list[str] = field(default_factory=list)
    compared: int = 0
    reports: dict[str, Report] = field(default_factory=dict)
    trained: float = 0.0

    def run(self) -> None:
        """Train everybody, with a comparison after each rung."""
        study = self.setting.study
        halving = comparisons(study)
        rungs = [int(rung) for rung in halving.rungs] if halving else []
        for rung, ends in enumerate([*rungs, study.epochs]):
            if self.stop():
                return
            if rung < self.compared:
                continue
            active = [each for each in study.recipes if each.name not in self.ended]
            self._train(active, ends)
            if halving and rung < len(rungs) and not self.stop():
                # Who failed or is done is not compared.
                names = [
                    each.name for each in active if not self._failed(each) and each.epochs > ends
                ]
                losses = {name: self._loss(name) for name in names}
                self.ended += halving.after(rung, losses).stopped if losses else ()
                self.compared = rung + 1
                self.setting.folder.add({"compared": self.compared, "ended": self.ended})

    def _failed(self, recipe: Recipe) -> bool:
        report = self.reports.get(recipe.name)
        return report is not None and report.state is MemberState.FAILED

    def _loss(self, name: str) -> float:
        kept = self.setting.folder.progress(name)
        loss = kept["last"] if kept else None
        return nan if loss is None else float(loss)

    def _train(self, active: Sequence[Recipe], ends: int) -> None:
        """Let members train up to an epoch, in as many waves as their memory needs."""
        left = []
        for each in active:
            kept = self.setting.folder.progress(each.name)
            begun = int(kept["epoch"]) if kept else 0
            if begun < min(ends, each.epochs) and not self._failed(each):
                left.append(each)
        if not left:
            return
        setting = self.setting
        for placed in together(
            left, setting.probed, devices=setting.devices, memory=setting.memory
        ):
            part = []
            for each in left:
                if each.name not in placed:
                    continue
                anywhere = each.device == "auto" and setting.devices
                device = f"cuda:{placed[each.name]}" if anywhere else each.device
                part.append(replace(each, device=device))
            self._part(part, ends)
            if self.stop():
                return

    def _part(self, recipes: Sequence[Recipe], ends: int) -> None:
        """Let some members train at the same time."""
        setting, before = self.setting, dict(self.reports)
        with ExitStack() as stack:
            shared = sharing(recipes, setting.folder)
            # Who reads which stream: all the same one, each reader its own, or nobody any.
            names: dict[str, Sequence[Recipe]] = {setting.study.name: recipes}
            if not setting.way.shared:
                leaders = dict.fromkeys(shared.values()) if setting.way.workers else ()
                names = {
                    f"{setting.study.name}.{n}": [e for e in recipes if shared[e.name] == leader]
                    for n, leader in enumerate(leaders)
                }
            readers = len({*shared.values()}) if setting.way.shared else 1
            opened = [
                stack.enter_context(stream(setting, each, readers=readers, name=name, ends=ends))
                for name, each in names.items()
            ]
            served = opened[0] if setting.way.shared else None
            roster = stack.enter_context(Roster(setting.home))
            reads = {each.name: name for name, theirs in names.items() for each in theirs}
            jobs = [self._job(each, len(recipes), ends, reads=reads) for each in recipes]
            roster.start(replace(each, reader=shared[each.recipe.name]) for each in jobs)
            workers = setting.way.workers
            self.looks.begin(StreamNow())

            def look() -> None:
                stats = stats_of(served)
                for name, report in roster.reports.items():
                    now = replace(report, lag=lag_of(stats, shared[name]))
                    self.reports[name] = added(before.get(name), now)
                self.tell(self.looks.look(self.reports, counted(stats, workers=workers)))
                if served is not None:
                    _go_on_without(roster.reports, served, shared)

            last = roster.watch(look, every=setting.study.logs.every, stop=self.stop)
            self.trained += max(each.seconds for each in last.values())

    def _job(
        self, recipe: Recipe, members: int, ends: int, *, reads: Mapping[str, str]
    ) -> MemberJob:
        setting = self.setting
        kept = setting.study.checkpoints
        return MemberJob(
            recipe=recipe,
            reader=recipe.name,
            reads=reads.get(recipe.name),
            samples=setting.home.facts.samples,
            ends=min(ends, recipe.epochs),
            threads=threads(members, setting.cores),
            folder=setting.folder,
            every=kept.every if kept else inf,
        )


def _go_on_without(
    reports: Mapping[str, Report], stream: Stream, shared: Mapping[str, str]
) -> None:
    """A stream begins when all are there; one that died on the way is not waited for.

    Args:
        reports: of all members.
        stream: that they read.
        shared: for every member the one whose reader it shares.

    Raises:
        ForetrainError: all members died before they were attached.
    """
    failed = {name for name, each in reports.items() if each.state is MemberState.FAILED}
    lost = {name for name in failed if not reports[name].attached}
    if len(lost) == len(reports):
        name, first = next(iter(reports.items()))
        raise ForetrainError(f"{name}: {first.reason}. Nobody was trained.")
    readers = {*shared.values()}
    there = {shared[name] for name in reports if name not in lost}
    if there != readers:
        stream.expect(len(there))
