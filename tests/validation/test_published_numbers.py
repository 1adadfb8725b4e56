"""Published numbers follow from each other, and from what foretrain computes of the same."""

from math import ceil

import numpy as np
import pytest
from tests.validation.published import numbers

from foretrain.step.collectives import rings
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import Network, Wire, span
from foretrain.study.catalogue import cluster
from foretrain.workload.library.entries import build

FP32 = 4
IMAGES = {
    "alexnet": 224,
    "inception-v1": 224,
    "vgg-a": 224,
    "resnet-50": 226,
    "resnet-152": 226,
    "cosmoflow-512": 512,
}
"""Pixels per side, by network of the library."""


def published(name):
    return numbers()[name]


def layers_of(model):
    """Weights, activations and seconds per sample of the oracle's layer file."""
    name, weights, activations, seconds = next(
        row for row in published("paradl-layer-files").rows if row[0] == model
    )
    assert name == model
    return weights, activations, seconds


def test_oracle_computes_an_epoch_in_its_time_per_sample():
    samples = published("paradl-datasets")["imagenet"]
    for model in ("resnet-50", "vgg-16"):
        table = published(f"paradl-data-{model}")
        alone = samples * layers_of(model)[2]
        computed = [alone / devices for devices in table["devices"]]
        assert computed == pytest.approx(table["computing"], rel=1e-6)


@pytest.mark.parametrize(("model", "batch"), [("resnet-50", 64), ("vgg-16", 32)])
def test_foretrain_reduces_gradients_around_a_ring_as_long_as_the_oracle(model, batch):
    table = published(f"paradl-data-{model}")
    samples, weights = published("paradl-datasets")["imagenet"], layers_of(model)[0]
    for devices, printed in zip(table["devices"], table["communicating"], strict=True):
        line = rings.ring_all_reduce(_abci(devices))
        seconds = float(line.fixed[0] + line.per_byte[0] * FP32 * weights)
        steps = ceil(samples / (devices * batch))
        assert steps * seconds == pytest.approx(printed, rel=1e-9)


def _abci(devices):
    """A ring whose hops are all as slow as the slowest that so many devices of ABCI need."""
    hop = span(cluster("abci", nodes=1088), devices)
    wire = Wire(latency=hop.latency, alone=hop.bandwidth, share=hop.bandwidth, adding=0.0)
    net = Network(wires=(wire,), start=0.0, known=frozenset())
    return group([np.array([float(devices)])], net)


@pytest.mark.parametrize(("model", "batch", "split"), [("resnet-50", 64, 49), ("vgg-16", 32, 13)])
def test_oracle_gathers_once_and_reduces_once_for_every_split_convolution(model, batch, split):
    table = published(f"paradl-filter-{model}")
    steps = published("paradl-datasets")["imagenet"] / batch
    written = published("paradl-split-outputs")[model]
    for devices, printed in zip(table["devices"], table["communicating"], strict=True):
        hop = span(cluster("abci", nodes=1088), devices)
        moved = batch * written * FP32 / devices / hop.bandwidth
        seconds = 3 * (devices - 1) * (split * hop.latency + moved)
        assert steps * seconds == pytest.approx(printed, rel=1e-6)


@pytest.mark.parametrize("model", ["resnet-50", "vgg-16"])
def test_oracle_divides_only_the_split_part_of_compute(model):
    table = published(f"paradl-filter-{model}")
    alone = published("paradl-datasets")["imagenet"] * layers_of(model)[2]
    split = 2 * (1 - table["computing"][0] / alone)
    computed = [alone * (1 - split * (1 - 1 / devices)) for devices in table["devices"]]
    assert computed == pytest.approx(table["computing"], rel=1e-5)


@pytest.mark.parametrize(("model", "batch"), [("resnet-50", 64), ("vgg-16", 32)])
def test_oracle_keeps_two_copies_of_weights_and_activations(model, batch):
    weights, activations, _ = layers_of(model)
    assert 2 * FP32 * (batch * activations + weights) == published("paradl-memory")[model]


def test_start_up_between_nodes_is_twice_the_way_to_the_switch_and_the_switches():
    latency = published("abci-latencies")
    ends = 2 * (latency["gpu-plx before"] + latency["plx"])
    leaf, spine = latency["leaf"], latency["spine"]
    found = [1e-3 * (ends + switches) for switches in (leaf, 3 * leaf, 4 * leaf + spine)]
    assert found == pytest.approx(published("abci-alpha")["us"][1:], rel=1e-9)


def test_halo_of_cosmoflow_starts_eight_messages_and_moves_four_times_its_bytes():
    sizes, seconds = published("paradl-cosmoflow-bytes"), published("paradl-cosmoflow-step")
    halo = 8 * sizes["start-up"] + 4 * sizes["per byte"] * (
        sizes["first halo"] + sizes["second halo"]
    )
    assert halo == pytest.approx(seconds["halo"], rel=1e-6)
    gather = 3 * (sizes["start-up"] + sizes["gathered"] * sizes["per byte"] / 4)
    assert gather == pytest.approx(seconds["gather"], rel=1e-6)


def test_parts_of_a_step_of_cosmoflow_add_up():
    step = published("paradl-cosmoflow-step")
    parts = step["computing"] + step["halo"] + 2 * step["gather"] + step["reduce in a node"]
    assert parts == pytest.approx(step["total"], abs=5e-4)


def test_parts_of_table_8_add_up_to_its_totals():
    table = published("paradl-table-8")
    for kind in ("measured", "modelled"):
        parts = zip(*(table[f"{kind} {part}"] for part in PARTS), strict=True)
        assert all(abs(first + second - total) <= 11 for first, second, total in parts)


PARTS = ("computing", "communicating", "total")


def test_strategies_of_table_8_rank_by_model_as_they_do_by_measurement():
    table = published("paradl-table-8")
    columns = [table[name] for name in ("devices", "model", "measured total", "modelled total")]
    rows = [row for row in zip(*columns, strict=True) if row[2] and row[3]]
    pairs = [(a, b) for a in rows for b in rows if a[:2] == b[:2] and a[2] < b[2]]
    assert pairs
    assert all(a[3] <= b[3] for a, b in pairs)


def test_accuracy_is_one_minus_the_error_over_the_measurement():
    table = published("paradl-cosmoflow-size")
    columns = [table[name] for name in ("measured s", "model s", "accuracy")]
    for measured, model, accuracy in zip(*columns, strict=True):
        assert 1 - abs(model - measured) / measured == pytest.approx(accuracy, abs=0.025)


def test_eight_small_blocks_are_as_much_quicker_than_a_large_one_as_printed():
    small_16, small_32, large_16, large_32 = published("paradl-cosmoflow-size")["measured s"]
    blocks = published("paradl-cosmoflow-blocks")
    assert large_16 / small_16 / 8 == pytest.approx(blocks["16"], rel=0.01)
    assert large_32 / small_32 / 8 == pytest.approx(blocks["32"], rel=0.03)


@pytest.mark.parametrize("table", ["paradl-models", "ensemble-models"])
def test_networks_of_the_library_are_as_large_as_the_papers_round_them(table):
    rounded = published(table)
    for name, millions in zip(rounded["model"], rounded["parameters"], strict=True):
        if name in IMAGES:
            found = build(name, image=IMAGES[name]).parameters
            assert found == pytest.approx(1e6 * millions, rel=0.07), name


def test_sixth_layer_of_the_oracles_vgg_reads_eight_by_eight_values():
    found = build("vgg-16", image=224).parameters + (8 * 8 - 7 * 7) * 512 * 4096
    assert found == pytest.approx(layers_of("vgg-16")[0], rel=1e-4)


def test_cosmoflow_of_the_library_is_that_of_the_layer_file():
    found = build("cosmoflow-512", image=512).parameters
    assert found == published("paradl-cosmoflow-parameters").value


def test_titan_of_the_catalogue_has_the_nodes_and_cores_of_the_paper():
    machine = published("ensemble-machine")
    titan = cluster("titan", nodes=machine["nodes"])
    assert titan.devices == machine["nodes"]
    assert titan.host.cores == machine["cores"]


def test_workers_of_a_closed_network_step_as_often_as_mean_value_analysis_says():
    table, alone, stations = published("mva-steps-per-second"), 0.2, (0.05, 0.05, 0.01)
    queues, rates = [0.0, 0.0, 0.0], {}
    for workers in range(1, 17):
        stays = [service * (1 + queue) for service, queue in zip(stations, queues, strict=True)]
        rates[workers] = workers / (alone + sum(stays))
        queues = [rates[workers] * stay for stay in stays]
    assert [rates[n] for n in table["workers"]] == pytest.approx(table["steps/s"], abs=5e-5)
    assert 1 / max(stations) == published("mva-limit").value


def test_runs_alone_and_together_take_the_same_time():
    runs = published("ensemble-scale")
    assert runs["mean"][0] == pytest.approx(runs["mean"][1], abs=max(runs["deviation"]))
    rate = 2000 * 128 / runs["mean"][0]
    assert rate == pytest.approx(published("ensemble-rate-alone").value, rel=0.005)


def test_reduction_of_processor_time_follows_from_what_can_be_shared():
    table, fit = published("ensemble-processor-reduction"), published("ensemble-processor-fit")
    for model, k, worst in fit.rows:
        read = list(zip(table["nodes"], table[model], strict=True))
        kept = [(n, seen) for n, seen in read if (model, n) != ("alexnet", 50)]
        found = max(abs((k + 1) / (k / n + 1) / seen - 1) for n, seen in kept)
        assert 100 * found == pytest.approx(worst, abs=0.8)  # k has two digits
    for model in fit["model"]:
        most = published("ensemble-processor-most")[model]
        assert max(table[model]) == pytest.approx(most, rel=0.02)


def test_one_core_slows_those_who_work_alone_as_much_more_as_sharing_is_quicker():
    """Slow-down alone over slow-down shared is the gain on one core over the gain on all."""
    alone, shared = published("ensemble-one-core").rows
    gains = {row[0]: row for row in published("ensemble-core-limits").rows}
    for place, model in enumerate(published("ensemble-one-core").columns[1:], 1):
        gain = gains[model][1] / gains[model][-1]
        assert alone[place] / shared[place] == pytest.approx(gain, rel=0.05)


def test_saving_of_power_is_what_is_left_above_idle():
    table, idle = published("ensemble-power"), published("ensemble-cabinet")["idle kW"]
    for _, alone, shared, alone_above, shared_above, saving in table.rows:
        assert alone - idle == pytest.approx(alone_above, abs=1.1e-3)
        assert shared - idle == pytest.approx(shared_above, abs=1.1e-3)
        assert 100 * (1 - shared_above / alone_above) == pytest.approx(saving, abs=0.06)
