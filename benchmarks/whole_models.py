"""The closed form against the event simulation, on plans of real models and clusters.

    python benchmarks/whole_models.py            # minutes
    python benchmarks/whole_models.py --tenth    # a random tenth of them

500 legal plans, drawn from the spaces of library models on catalogue clusters. With transformer
blocks alone, as many on every stage, all stages take the same time: the two must agree within 1 %.
Where stages have more blocks than others, with embedding and head, whose ends are heavier, and with
blocking sends the closed form approximates: their distribution is printed. Steps of more than
20,000 passes are not drawn, to save time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np

from foretrain.errors import InputError
from foretrain.plan.enumeration import plan_tables, with_orders
from foretrain.plan.plan import Sends
from foretrain.plan.study import Space
from foretrain.step.held import hold
from foretrain.step.setting import setting
from foretrain.step.simulated_passes import StepTimes
from foretrain.step.simulated_step import simulate
from foretrain.step.step import factors, step_time, step_times
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import SampleKind, build, entries
from foretrain.workload.workload import Precision, Workload

SEED = 20261121
PLANS = 500
DRAWS = 4
PASSES = 20_000
LIMIT = 0.01
ALIKE = "blocks alone, equal stages"
CLUSTERS = ("dgx-1-v100", "dgx-a100", "dgx-h100", "ethernet-100g")


def blocks_alone(model: Model) -> Model:
    """The layers that a pipeline can be cut between, without what stands around them."""
    return replace(model, layers=tuple(layer for layer in model.layers if layer.cuttable), tied=0.0)


def of_length(name: str, sequence: int) -> Model:
    """A model for samples of so many tokens, its learned table of positions as long if need be."""
    try:
        return build(name, sequence=sequence)
    except InputError:
        return build(name, sequence=sequence, positions=sequence)


def of_equal_layers(name: str) -> bool:
    """Whether a model reads tokens and all layers between its ends are alike."""
    if entries()[name].reads is not SampleKind.TOKENS:
        return False
    return sum(layer.cuttable for layer in of_length(name, 1024).layers) == 1


def drawn(random: Random, *, whole: bool, sends: Sends) -> Iterator[tuple[StepTimes, float]]:
    """Plans without end: what happens in a step, and its seconds as a table prices it."""
    names = [name for name in entries() if of_equal_layers(name)]
    space = Space(sends=(sends,), shard=(0,))
    while True:
        model = of_length(random.choice(names), random.choice([1024, 2048, 4096]))
        where = cluster(random.choice(CLUSTERS), nodes=random.choice([1, 2, 4, 8, 16, 32]))
        workload = Workload(
            model=model if whole else blocks_alone(model),
            global_batch=random.choice([32, 64, 96, 128, 192, 256]),
            precision=Precision.FP16,
        )
        priced = setting(workload, where, DEFAULT)
        tables = list(plan_tables(workload, where, space))
        for plans in random.sample(tables, min(DRAWS, len(tables))):
            ordered, _ = with_orders(plans, where, Space())
            for row in random.sample(range(len(ordered)), min(DRAWS, len(ordered))):
                found = factors(priced, hold(priced, ordered.take(np.array([row]))))
                times = step_times(priced, found)
                if len(times.stages) * times.micro_batches * times.interleaving <= PASSES:
                    yield times, float(step_time(priced, found)[0])


def equal(times: StepTimes) -> bool:
    """Whether all stages compute as long, but for what floats leave."""
    several = [(stage.forward, stage.backward) for stage in times.stages]
    return all(np.allclose(each, several[0], rtol=1e-9, atol=0.0) for each in several)


def distances(
    kind: Callable[[StepTimes], bool], *, whole: bool, sends: Sends, chosen: Callable[[], bool]
) -> list[float]:
    """Closed form / simulation - 1 of those random plans of a kind that are chosen."""
    plans = (each for each in drawn(Random(SEED), whole=whole, sends=sends) if kind(each[0]))
    some = islice(plans, PLANS)
    return [seconds / simulate(times).seconds - 1 for times, seconds in some if chosen()]


def main(chosen: Callable[[], bool]) -> bool:
    """Print the distributions; whether blocks alone keep the limit."""
    print(f"closed form / simulation - 1, {PLANS} plans each are drawn, seed {SEED}")
    print(f"{'':36} {'median':>8} {'p90':>8} {'p99':>8} {'largest':>8}")
    largest = 0.0
    for label, kind, whole, sends in (
        (ALIKE, equal, False, Sends.OVERLAPPED),
        ("blocks alone, unequal stages", lambda it: not equal(it), False, Sends.OVERLAPPED),
        ("whole models", bool, True, Sends.OVERLAPPED),
        ("whole models, blocking sends", bool, True, Sends.BLOCKING),
    ):
        found = np.abs(distances(kind, whole=whole, sends=sends, chosen=chosen))
        shares = " ".join(f"{np.quantile(found, share):8.3%}" for share in (0.5, 0.9, 0.99, 1.0))
        print(f"{label:36} {shares}")
        if label == ALIKE:
            largest = float(found.max())
    print(f"{ALIKE}: largest difference {largest:.1e} (limit {LIMIT:.0%})")
    return largest <= LIMIT


if __name__ == "__main__":
    from tenth import chooser

    sys.exit(not main(chooser(sys.argv[1:])))
