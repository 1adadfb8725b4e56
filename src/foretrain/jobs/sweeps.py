"""Hyper-parameter sweeps in a cluster: as jobs, at their rungs, and first to their winners.

A sweep becomes a job for each trial and rung. The first rung may start at once; what comes after
waits until the sweep's rule has told the trial to go on, and is given up where it is told to end.
So a trial gives its devices back at each rung, as one does that waits for its peers, and whoever is
told to go on at once may have them back in the same instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import exp, fsum, inf, log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.mix import pace
from foretrain.jobs.shared import Allocation, ClusterState
from foretrain.measured.job import Dependency, DependsOn, Job, Trace
from foretrain.measured.sweep import Board, Bracket, Sweep, SweepKind, TrialRung, verdicts
from foretrain.throughput import rigid

if TYPE_CHECKING:
    from numpy.random import Generator

MOST_JOBS: Final = 500_000
"""Trials times rungs of a trace; more seeds say more about chance than more jobs."""

NOISE: Final = 0.5
"""Standard deviation of a loss at the first rung over that of what trials come to; assumed."""


def as_jobs(
    sweep: Sweep,
    *,
    arrival: float,
    losses: Sequence[Sequence[Sequence[float]]],
    slowness: Sequence[Sequence[float]] | None = None,
    restart: float = 0.0,
    group: str = "",
) -> tuple[Job, ...]:
    """The jobs of a sweep, those of the last rungs first: who got far is served before who did not.

    Args:
        sweep: of which.
        arrival: seconds since the trace began.
        losses: what each trial shows. [bracket, trial, rung]
        slowness: seconds of each trial over those of a mean one; None for equal ones.
            [bracket, trial]
        restart: seconds that going on from a checkpoint takes.
        group: what they are submitted to.
    """
    jobs = []
    for number, bracket in enumerate(sweep.brackets):
        for place in reversed(range(len(bracket.rungs))):
            for trial in range(bracket.trials):
                slow = slowness[number][trial] if slowness else 1.0
                before = bracket.rungs[place - 1] if place else 0.0
                name = f"{sweep.name}/{number}.{trial}."
                job = Job(
                    name=f"{name}{place}",
                    arrival=arrival,
                    work=bracket.lengths[place] * slow,
                    curve=rigid(sweep.devices),
                    devices=sweep.devices,
                    restart=restart,
                    start=restart if place else 0.0,
                    # What a user would ask for: all that is left, were nobody to end the trial.
                    estimate=(bracket.rungs[-1] - before) * slow,
                    group=group,
                    after=(Dependency(f"{name}{place - 1}", DependsOn.PROMOTION),) if place else (),
                    rung=TrialRung(sweep, number, trial, place, losses[number][trial][place]),
                )
                jobs.append(job)
    return tuple(jobs)


def submitted(
    kinds: Sequence[SweepKind],
    *,
    count: int,
    load: float,
    devices: int,
    random: Generator,
    restart: float = 0.0,
) -> Trace:
    """Sweeps that come at random times.

    Args:
        kinds: of sweeps.
        count: of sweeps.
        load: device-seconds that come, on average, over those there are.
        devices: of the fleet.
        random: where chance comes from.
        restart: seconds that going on from a checkpoint takes.

    Arrivals are a Poisson process. What a trial comes to is normal; a loss misses it by a normal
    error that falls with the root of the time trained. Trials' times are log-normal.
    """
    total = fsum(kind.share for kind in kinds)
    odds = [kind.share / total for kind in kinds]
    demand = fsum(share * kind.sweep.demand for share, kind in zip(odds, kinds, strict=True))
    arrivals = random.exponential(demand / (load * devices), count).cumsum().tolist()
    places = random.choice(len(kinds), count, p=odds).tolist()
    many = sum(
        bracket.trials * len(bracket.rungs)
        for place in places
        for bracket in kinds[place].sweep.brackets
    )
    if many > MOST_JOBS:
        raise InputError(
            f"{count} sweeps have {many:,} trials and rungs, and {MOST_JOBS:,} are simulated at"
            " most. Draw fewer."
        )
    width = len(str(count))
    jobs: list[Job] = []
    for number, (arrival, place) in enumerate(zip(arrivals, places, strict=True), start=1):
        kind = kinds[place]
        sweep = replace(kind.sweep, name=f"{kind.sweep.name}-{number:0{width}}")
        variance = log(1.0 + kind.vary**2)
        losses, slowness = [], []
        for bracket in sweep.brackets:
            known = random.standard_normal(bracket.trials)[:, None]
            error = random.standard_normal((bracket.trials, len(bracket.rungs)))
            fades = [sqrt(bracket.rungs[0] / rung) for rung in bracket.rungs]
            losses.append((known + NOISE * error * fades).tolist())
            drawn = random.standard_normal(bracket.trials).tolist()
            slowness.append([exp(sqrt(variance) * each - 0.5 * variance) for each in drawn])
        jobs += as_jobs(
            sweep,
            arrival=arrival,
            losses=losses,
            slowness=slowness,
            restart=restart,
            group=kind.sweep.name,
        )
    return Trace(name=f"{count} sweeps at load {load:g}", jobs=tuple(jobs))


class _BracketBooks:
    """Who came to the rungs of a bracket, and what was told them."""

    def __init__(self, sweep: Sweep, bracket: Bracket) -> None:
        self._sweep = sweep
        self._rungs = len(bracket.rungs)
        self._losses: list[list[float]] = [[] for _ in range(bracket.trials)]
        self._came: list[list[int]] = [[] for _ in range(self._rungs)]
        self._told: list[dict[int, bool]] = [{} for _ in range(self._rungs)]
        self._coming = [bracket.trials] * self._rungs

    def show(self, rung: TrialRung, loss: float) -> Iterator[tuple[int, int, bool]]:
        """A trial has come to a rung: trial, rung and whether it goes on, of all who are told."""
        self._losses[rung.trial].append(loss)
        self._came[rung.place].append(rung.trial)
        self._coming[rung.place] -= 1
        yield from self._look(rung.place)

    def expects(self, rung: TrialRung) -> bool:
        """Whether a trial was to come to a rung: it began, or was told to go on there."""
        may = not rung.place or self._told[rung.place - 1].get(rung.trial, False)
        return may and len(self._losses[rung.trial]) == rung.place

    def _look(self, place: int) -> Iterator[tuple[int, int, bool]]:
        """Whom the rule can tell something at a rung, and at those after it."""
        came = self._came[place]
        if place == self._rungs - 1 or not came:
            return
        shown = [self._losses[trial][: place + 1] for trial in came]
        board = Board(shown, self._sweep.eta, more=self._coming[place] > 0)
        ends = 0
        for spot, goes_on in verdicts(self._sweep.rule, board).items():
            if came[spot] not in self._told[place]:
                self._told[place][came[spot]] = goes_on
                ends += not goes_on
                yield came[spot], place, goes_on
        if ends:
            # Nobody who ends here comes to a rung after it: the last one there may have come.
            for later in range(place + 1, self._rungs):
                self._coming[later] -= ends
            yield from self._look(place + 1)


class SweepBooks:
    """What became of sweeps: who came to their rungs, and how long any of their trials ran.

    Attributes:
        held: seconds during which at least one trial held devices, by the name of the sweep.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self.held: dict[str, float] = {}
        self._running: dict[str, int] = {}
        self._since: dict[str, float] = {}
        self._books: dict[tuple[str, int], _BracketBooks] = {}

    def hold(self, now: float, sweep: Sweep) -> None:
        """A trial has got devices."""
        there = self._running.get(sweep.name, 0)
        if not there:
            self._since[sweep.name] = now
        self._running[sweep.name] = there + 1

    def give(self, now: float, sweep: Sweep) -> None:
        """A trial is about to give them back."""
        name = sweep.name
        self._running[name] -= 1
        if not self._running[name]:
            self.held[name] = self.held.get(name, 0.0) + now - self._since[name]

    def end(self, job: Job, *, good: bool) -> Iterator[tuple[str, bool]]:
        """A trial has come to a rung, or will not: jobs whose trials are told, and what.

        Args:
            job: of the trial, on its way to the rung.
            good: whether it got there.
        """
        rung = job.rung
        assert rung is not None, f"{job.name} belongs to no sweep"
        key = (rung.sweep.name, rung.bracket)
        books = self._books.get(key)
        if books is None:
            bracket = rung.sweep.brackets[rung.bracket]
            books = self._books[key] = _BracketBooks(rung.sweep, bracket)
        if good or books.expects(rung):
            for trial, place, goes_on in books.show(rung, rung.loss if good else inf):
                yield f"{rung.sweep.name}/{rung.bracket}.{trial}.{place}", goes_on


Peers = Sequence[tuple[float, Active]]
"""Trials of a sweep that wait for each other at a rung, each with the seconds that it lacks."""

ROUNDING: Final = 1e-6
"""Share of a trial's length that is no time, so that nobody is stopped for what floats leave."""


class _Ahead(NamedTuple):
    """What is expected of a bracket beyond one of its rungs.

    Attributes:
        bracket: seconds of all its trials together, where they wait for each other.
        trial: seconds of a trial at the rung.
        path: seconds of a trial that goes on to the last rung.
    """

    bracket: float
    trial: float
    path: float


class AwareSweeps:
    """The sweep with the least device-seconds to its winner first; a job by itself is its own.

    What is left of a sweep is known but for who it is that goes on: as many as its rule keeps at
    each rung, or a share of one in eta. Within a sweep those go first who have furthest to go.

    On one device, with trials of equal length, no policy has its winners sooner on average: what is
    left of a sweep is then a number that falls only while it is served (schrage1966). On several
    devices it is a rule of thumb; how far from a bound it stays is measured.

    Attributes:
        lasts: seconds for which what was said last is so, even if nothing happens.
    """

    def __init__(self) -> None:
        """Nothing is known of any sweep."""
        self.lasts = inf
        self._ahead: dict[tuple[str, int], tuple[_Ahead, ...]] = {}

    def __call__(self, state: ClusterState) -> Mapping[int, Allocation]:
        """What each job gets."""
        sweeps: dict[str, list[tuple[float, Active]]] = {}
        for active in state.jobs:
            rung = active.job.rung
            name = active.job.name if rung is None else rung.sweep.name
            sweeps.setdefault(name, []).append((_left(active, state.now), active))
        order = sorted((self._needs(there), there[0][1].rank, there) for there in sweeps.values())
        left, grants = state.devices, {}
        self.lasts = inf
        for _, _, there in order:
            for peers in self._peers(there):
                devices = peers[0][1].job.devices
                served, lasts = _served(peers, int(left / devices))
                left -= devices * len(served)
                self.lasts = min(self.lasts, lasts)
                for active in served:
                    grants[active.rank] = Allocation(devices, active.job.kinds)
            if left <= 0:
                break
        return grants

    def _needs(self, there: Sequence[tuple[float, Active]]) -> float:
        """Expected device-seconds until a sweep is over, from its trials that are there."""
        total = 0.0
        brackets: dict[int, float] = {}
        for seconds, active in there:
            job, rung = active.job, active.job.rung
            total += seconds * job.devices
            if rung is not None:
                ahead = self._beyond(rung)
                slow = _slowness(job, rung)
                total += ahead.trial * slow * job.devices
                brackets[rung.bracket] = ahead.bracket * job.devices
        return total + sum(brackets.values())

    def _peers(self, there: Sequence[tuple[float, Active]]) -> Sequence[Peers]:
        """Trials of a sweep that wait for each other at a rung, each with the seconds to it.

        The longest way to the last rung first, and so in each of them. A trial that waits for
        nobody stands alone.
        """
        found: dict[tuple[int, int], list[tuple[float, int, float, Active]]] = {}
        for seconds, active in there:
            rung, path, key = active.job.rung, seconds, (-1, active.rank)
            if rung is not None:
                path += self._beyond(rung).path * _slowness(active.job, rung)
                if rung.sweep.waits:
                    key = (rung.bracket, rung.place)
            found.setdefault(key, []).append((-path, active.rank, seconds, active))
        ways = sorted(sorted(each) for each in found.values())
        return [[(seconds, active) for _, _, seconds, active in each] for each in ways]

    def _beyond(self, rung: TrialRung) -> _Ahead:
        key = (rung.sweep.name, rung.bracket)
        if key not in self._ahead:
            self._ahead[key] = _ahead(rung.sweep, rung.sweep.brackets[rung.bracket])
        return self._ahead[key][rung.place]


def _served(peers: Peers, slots: int) -> tuple[Sequence[Active], float]:
    """Which trials of a rung run, of more than there are slots for, and for how many seconds.

    The rung is over when the last of them is there. So they take turns: all are there at once, as
    soon as they can, if each begins to run on when what it lacks is all the time that is left: on m
    machines after the longest, or after all of them over m (mcnaughton1959). They do not where a
    restart takes longer than that saves.

    Args:
        peers: seconds to the rung and the trial, those with furthest to go first.
        slots: how many can run at once.
    """
    if len(peers) <= slots or slots < 1:
        return [active for _, active in peers][:slots], inf
    runs = [each for each in peers if each[1].held is not None]
    waits = [each for each in peers if each[1].held is None]
    end = max(peers[0][0], fsum(seconds for seconds, _ in peers) / slots)
    restart = max(active.job.restart for _, active in peers)
    if restart and end + restart >= _end_in_turn([*runs, *waits], slots):
        return [active for _, active in [*runs, *waits]][:slots], inf
    none = ROUNDING * max(active.job.work / pace(active.job) for _, active in peers)
    late = [each for each in waits if end - each[0] <= none]
    order = [*late, *runs, *(each for each in waits if end - each[0] > none)]
    # Who waits has to run on at the latest when it lacks as much as all the time there is.
    spare = (end - seconds for seconds, _ in order[slots:])
    lasts = min((each for each in spare if each > none), default=inf)
    return [active for _, active in order[:slots]], lasts


def _end_in_turn(peers: Peers, slots: int) -> float:
    """Seconds until the last trial is there if nobody is interrupted and they start in turn."""
    busy: list[float] = []
    for seconds, _ in peers:
        heappush(busy, seconds + (heappop(busy) if len(busy) == slots else 0.0))
    return max(busy)


def _ahead(sweep: Sweep, bracket: Bracket) -> tuple[_Ahead, ...]:
    """What is expected beyond each rung. [rung]"""
    expected, found = sweep.expected(bracket), []
    for place in range(len(bracket.rungs)):
        later = range(place + 1, len(bracket.rungs))
        whole = fsum(expected[rung] * bracket.lengths[rung] for rung in later)
        trial = fsum(sweep.chance ** (rung - place) * bracket.lengths[rung] for rung in later)
        path = bracket.rungs[-1] - bracket.rungs[place]
        found.append(_Ahead(whole, 0.0, path) if sweep.waits else _Ahead(0.0, trial, path))
    return tuple(found)


def _slowness(job: Job, rung: TrialRung) -> float:
    """Seconds of a trial over those of one of mean speed."""
    return job.work / rung.sweep.brackets[rung.bracket].lengths[rung.place]


def _left(active: Active, now: float) -> float:
    """Seconds until a job's work is done, on the devices that it asks for."""
    job = active.job
    rest = (job.work - active.done) / pace(job, done=active.done)
    if active.held is not None:
        return rest + active.since - now
    return rest + (job.start if active.begun is None else job.restart)
