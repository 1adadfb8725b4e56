"""Ensembles on one machine: what loaders alone foretell, beside what ensembles took.

    python -m validation.ensemble_predictions                        # two machines, recorded
    python -m validation.ensemble_predictions --measure heavy half   # this one, some minutes
    python -m validation.ensemble_predictions --handing              # what handing over takes

Recorded are the cells of `benchmarks/ensemble.py` that were measured in five turns while others
took 3 to 5 % of the machine; of a cell the least counts, as others can only add to it. Given is
what one private loader takes without worker, what its training takes alone, what a worker adds to
two private loaders, and what handing over takes by bytes (`usual_handing`): what a study can say.
Nothing of an ensemble that shares is given, and none is measured by who predicts it.

`--measure` gives it one private loader alone, with and without worker; a step on batches that no
cache holds; how much preparing slows down beside preparing on the next core; and the probe of
`foretrain ensemble estimate`. Figures are slopes, a long run less a short one, wall time the median
epoch; a cell that others disturbed is shown and not judged.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, Any

from validation.ensemble_headline import BATCH, LENT, SAMPLE_BYTES, Cells, setting_of
from validation.parts.claims import Claim, table

from foretrain.ensemble.costs import Cores, MeasuredCosts
from foretrain.ensemble.one_node import (
    LoadingEstimate,
    MeasuredLoaders,
    OnOneNode,
    fed_stream,
    private_loaders,
    shared_stream,
)
from foretrain.measured.ensemble_study import usual_handing

if TYPE_CHECKING:
    import torch
    from ensemble_parts.methods import Setting
    from ensemble_parts.tree import Json

ROOT = Path(__file__).parents[1]
MACHINES = {
    name: ROOT / "benchmarks" / "recorded" / f"{file}.toml"
    for name, file in (("EPYC", "ensemble"), ("Xeon", "ensemble-xeon"))
}
GIVEN = ("private 1w", 2)
"""Of the recorded cells the one that says what a worker adds."""

LEAST = 1
"""Of a cell's median, least and most."""

PICTURES = 400
EVERY = {"heavy": 6, "half": 3}
"""Every how manieth pixel a network sees: some 12 and 4 times as much work can be shared."""

COLD = 8
"""Batches in turn on which a step is timed: 120 MB, several times what the cache holds."""

MEMBERS = (1, 2, 4, 8)
MOST = {"cpu": 0.10, "wall": 0.15}
CORES = 2
SECONDS = 3.0
"""Processor seconds of a long run, about."""

QUIET, TRIES = 0.05, 2
"""Share of the cores that others may take meanwhile, or it is measured again, so often at most."""

Took = Mapping[str, float]
"""Seconds of processors and of an epoch, and the share of the cores that others took meanwhile."""

WAYS: Mapping[str, Callable[[OnOneNode], LoadingEstimate]] = {
    "own worker": partial(shared_stream, workers=1),
    "fed": fed_stream,
    "private 0w": partial(private_loaders, workers=0),
    "private 1w": partial(private_loaders, workers=1),
}
CELLS = {
    "own worker": "workers 1w",
    "fed": "fed 0w",
    "private 0w": "private 0w",
    "private 1w": "private 1w",
}
"""As the benchmark calls them."""

METHODS = {
    "own worker": ("workers", 1),
    "fed": ("fed", 0),
    "private 0w": ("private", 0),
    "private 1w": ("private", 1),
}


def scored() -> Iterator[tuple[str, int]]:
    """Ensembles that are predicted: of one private loader there is nothing to predict."""
    for way in WAYS:
        yield from ((way, count) for count in MEMBERS if count > 1 or "private" not in way)


def recorded() -> Iterator[Claim]:
    """Errors of every ensemble on two cores that was recorded in five turns."""
    handing = replace(usual_handing(SAMPLE_BYTES), deliver=LENT)
    for machine, path in MACHINES.items():
        cells = Cells(tomllib.loads(path.read_text("utf-8")), handing, statistic=LEAST)
        for way, members in scored():
            if (way, members) == GIVEN:
                continue
            kind = CELLS[way]
            found = WAYS[way](setting_of(cells, members, cores=CORES))
            cpu, wall = cells.cpu(kind, members), cells.wall(kind, members)
            if cpu is not None and wall is not None:
                yield from _errors(f"{machine}, {way}, K = {members}", found, cpu=cpu, wall=wall)


def _errors(
    name: str, found: LoadingEstimate, *, cpu: float, wall: float, judged: bool = True
) -> Iterator[Claim]:
    """How far processor time and wall time are off."""
    for what, took, ours in (("cpu", cpu, found.cpu), ("wall", wall, 1.0 / found.rate)):
        yield Claim(
            name=f"{name}: {what} ({1e6 * took:.0f} us, predicted {1e6 * ours:.0f})",
            figure=abs(ours / took - 1.0),
            most=MOST[what] if judged else None,
        )


def setting(of: Mapping[str, Any], members: int) -> OnOneNode:
    """So many members, by what loaders took alone."""
    given = of["given"]
    alone, cold = given["private 0w x1"]["cpu"], given["train cold x1"]
    prepare, handing = alone - given["train x1"]["cpu"], given["handing"]
    return OnOneNode(
        members=members,
        costs=MeasuredCosts(
            demand=1.0 / cold["wall"],
            prepare=prepare,
            train=cold["cpu"],
            sample_bytes=SAMPLE_BYTES,
            batch=BATCH,
        ),
        loaders=MeasuredLoaders(
            hand=given["private 1w x1"]["cpu"] - alone,
            store=prepare - handing["collate"] + handing["store"],
            feed=handing["store"],
            deliver=handing["deliver"],
        ),
        cores=Cores(count=CORES, contention=given["contention"], by_session=given["by_session"]),
    )


def claims(workload: str, of: Mapping[str, Any]) -> Iterator[Claim]:
    """Errors of every ensemble that was measured; one that others disturbed is not judged."""
    for way, members in scored():
        took = of["scored"][f"{way} x{members}"]
        quiet = took["others"] <= QUIET
        told = f"{workload}, {way}, K = {members}{'' if quiet else ', disturbed'}"
        found = WAYS[way](setting(of, members))
        yield from _errors(told, found, cpu=took["cpu"], wall=took["wall"], judged=quiet)


def measure(workload: str, folder: Path, turns: int) -> dict[str, Any]:
    """What loaders take alone, and ensembles beside each other in turns."""
    from foretrain.ensemble.run.machine import by_session

    bench = _Bench(EVERY[workload], folder)
    given: dict[str, Any] = {
        "handing": _handing(),
        "contention": _contention(folder),
        "by_session": by_session(),
    }
    cells = {
        "train x1": partial(bench.train, 1),
        "train cold x1": partial(bench.train, COLD),
        "private 0w x1": partial(bench.ensemble, "private 0w", 1),
        "private 1w x1": partial(bench.ensemble, "private 1w", 1),
    }
    asked = [f"{way} x{members}" for way, members in scored()]
    cells |= {
        f"{way} x{members}": partial(bench.ensemble, way, members) for way, members in scored()
    }
    every = [{name: _slope(name, body) for name, body in cells.items()} for _ in range(turns)]
    middle = {
        name: {what: median(turn[name][what] for turn in every) for what in (*MOST, "others")}
        for name in cells
    }
    given |= {name: took for name, took in middle.items() if name not in asked}
    return {
        "given": given,
        "scored": {name: middle[name] for name in asked},
    }


def _slope(name: str, took: Callable[[int], Took]) -> dict[str, float]:
    """A long run less a short one, per sample; of a few tries the one that was disturbed least."""
    tries = list[dict[str, float]]()
    while len(tries) < TRIES and min((each["others"] for each in tries), default=1.0) > QUIET:
        few = took(1)
        epochs = 2 + round(SECONDS / few["cpu"])
        many = took(epochs)
        tries.append(
            {
                "cpu": (many["cpu"] - few["cpu"]) / (PICTURES * (epochs - 1)),
                "wall": many["epoch"] / PICTURES,
                "others": max(few["others"], many["others"]),
            }
        )
        cpu, wall, others = tries[-1].values()
        told = f"cpu {1e6 * cpu:.1f} us, wall {1e6 * wall:.1f} us, others {others:.0%}"
        print(f"{name}: {told}", file=sys.stderr, flush=True)
    return min(tries, key=lambda each: each["others"])


def _handing() -> dict[str, float]:
    """What handing over a sample of this size takes, as it is probed before a run."""
    import torch
    from ensemble_parts.workload import BATCH, CROP

    from foretrain.ensemble.run.probe import handing_costs

    size = 4 * 3 * CROP * CROP
    found = handing_costs((torch.zeros(3, CROP, CROP), 0), size, BATCH)
    print(f"handing: {found}", file=sys.stderr, flush=True)
    return found


def _told_by_bytes() -> int:
    """Print what handing over a small and a large sample takes: `usual_handing` is made of it."""
    import torch

    from foretrain.ensemble.run.probe import Blank, handing_costs, queueing_time

    torch.set_num_threads(1)
    for sample, size, batch in ((torch.zeros(16), 64, 100), (torch.zeros(150_528), 602_112, 25)):
        for lend in (False, True):
            runs = [handing_costs(sample, size, batch, lend=lend) for _ in range(3)]
            print(size, "lent" * lend, {each: min(run[each] for run in runs) for each in runs[0]})
        queue = min(queueing_time(Blank(sample, 20 * batch), batch) for _ in range(3))
        print(size, "a DataLoader's worker, putting together and all", queue)
    return 0


class _Bench:
    """Runs of one workload."""

    def __init__(self, every: int, folder: Path) -> None:
        self.every, self.folder = every, folder

    def ensemble(self, way: str, members: int, epochs: int) -> Took:
        """Members that train, each sample of which is accounted for."""
        from ensemble_parts.methods import METHODS as BODIES
        from ensemble_parts.rounds import delivered

        method, workers = METHODS[way]
        of = self._setting(members, epochs, workers)
        return self._cost(partial(BODIES[method], of), lambda told: delivered(method, of, told))

    def train(self, batches: int, epochs: int) -> Took:
        """Training steps on so many batches in turn."""
        import torch
        from ensemble_parts.tree import together
        from ensemble_parts.workload import BATCH, CROP

        def one() -> Json:
            step, numbers = _Clock(self.every, self.folder), torch.arange(BATCH)
            made = [torch.randn(BATCH, 3, CROP, CROP) for _ in range(batches)]
            for turn in range(epochs * PICTURES // BATCH):
                step(made[turn % batches], numbers)
            return []

        return self._cost(lambda: together([one]))

    def _setting(self, members: int, epochs: int, workers: int) -> Setting:
        """Members whose steps write down when their epochs end."""
        from ensemble_parts.methods import Setting

        every, folder = self.every, self.folder

        class Timed(Setting):
            @property
            def step(self) -> _Clock:
                return _Clock(every, folder)

        return Timed(
            folder=folder,
            pictures=PICTURES,
            members=members,
            epochs=epochs,
            every=every,
            workers=workers,
            lend=False,
        )

    def _cost(self, body: Callable[[], Json], check: Callable[[Json], object] = bool) -> Took:
        """Processor seconds of a run, and the seconds of its median epoch, by the members."""
        from ensemble_parts.tree import cost

        for file in self.folder.glob("*.ends"):
            file.unlink()
        cores = sorted(os.sched_getaffinity(0))[:CORES]
        found = cost(body, cores=cores, limit=120.0)
        check(found.told)
        ends = [list(map(float, file.read_text().split())) for file in self.folder.glob("*.ends")]
        each = [later - sooner for of in ends for sooner, later in pairwise(of)]
        return {
            "cpu": found.cpu,
            "epoch": median(each) if each else 0.0,
            "others": found.others / (found.wall * CORES),
        }


class _Clock:
    """A step that writes down when each epoch ends."""

    def __init__(self, every: int, folder: Path) -> None:
        from ensemble_parts.workload import network

        self._step, self._done = network(every), 0
        self._ends = folder / f"{os.getpid()}.ends"

    def __call__(self, pictures: torch.Tensor, numbers: torch.Tensor) -> None:
        self._step(pictures, numbers)
        self._done += len(numbers)
        if self._done % PICTURES == 0:
            with self._ends.open("a") as file:
                file.write(f"{monotonic()}\n")


def _contention(folder: Path) -> float:
    """How much preparing slows down beside preparing on the next core."""
    from ensemble_parts.workload import Pictures

    from foretrain.ensemble.run.machine import contention

    places, data = count(), Pictures(folder, PICTURES)
    found = contention(lambda: data[next(places) % PICTURES], cores=CORES, seconds=8.0)
    print(f"contention: {found:.3f}", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str]) -> int:
    """Print every prediction beside what was measured; 1 if one misses its bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", nargs="+", choices=EVERY, default=[])
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--handing", action="store_true", help="what handing over takes, by bytes")
    asked = parser.parse_args(arguments)
    if asked.handing:
        return _told_by_bytes()
    found = [] if asked.measure else list(recorded())
    if asked.measure:
        sys.path.insert(0, str(ROOT / "benchmarks"))
        import torch
        from ensemble_parts.workload import draw, network

        torch.set_num_threads(1)
        network(6)  # what an optimizer imports is imported before the first fork
        with tempfile.TemporaryDirectory() as folder:
            draw(Path(folder), PICTURES)
            for workload in asked.measure:
                found += claims(workload, measure(workload, Path(folder), asked.turns))
    print("\n".join(table(found)))
    return 0 if all(claim.kept is not False for claim in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
