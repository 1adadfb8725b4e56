"""This machine: what driver and kernel say becomes a cluster of one node."""

import pytest

from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError
from foretrain.study.catalogue import cluster
from foretrain.study.here import here, remark
from foretrain.study.problems import Problems, validated
from foretrain.study.study import study_from

CORE = """processor\t: {number}
cpu MHz\t\t: {clock}
physical id\t: 0
core id\t\t: {core}
flags\t\t: fpu sse2 avx {more}
"""
MEMINFO = "MemTotal:       16777216 kB\nMemFree: 1 kB\n"
WORKLOAD = {"model": "resnet-50", "image": 224, "global_batch": 64, "precision": "fp32"}


def kernel(clock="2500.0", more="fma"):
    """Two cores of two threads each, and 16 GiB."""
    threads = [(0, 0), (1, 0), (2, 1), (3, 1)]
    text = "\n".join(
        CORE.format(number=number, core=core, clock=clock, more=more) for number, core in threads
    )
    return {"cpuinfo": text, "meminfo": MEMINFO}.__getitem__


def read(gpus="", **changes):
    problems = Problems("here")
    document = {"name": "here", **here(lambda: gpus, kernel(**changes))}
    found = validated(Cluster, document, path="", problems=problems)
    problems.check()
    return found


def test_gpus_that_the_catalogue_knows_are_linked_as_there():
    found = read("NVIDIA H100 80GB HBM3, 81000\n" * 4)
    assert (found.devices, found.nodes, found.device.name) == (4, 1, "h100-sxm")
    assert found.device.memory == 81000 * 2**20
    assert found.levels[0].link == cluster("dgx-h100", nodes=1).levels[0].link
    assert (found.host.cores, found.host.memory) == (2, 2**34)
    assert "4 h100-sxm, linked as in" in remark(found)


def test_one_gpu_that_no_cluster_of_the_catalogue_has_needs_no_link():
    found = read("NVIDIA TITAN Xp, 12196")
    assert (found.devices, found.device.name) == (1, "titan-xp")
    assert remark(found) == "cluster = this machine: 1 titan-xp"
    with pytest.raises(InputError, match="no cluster of the catalogue has titan-xp"):
        read("NVIDIA TITAN Xp, 12196\n" * 2)


def test_machine_without_gpus_is_its_processor():
    found = read()
    assert (found.devices, found.device.name, found.device.units) == (1, "cpu", 2)
    assert found.device.peak.fp32 == 2 * 2.5e9 * 8 * 2 * 2
    assert found.device.peak.bf16 is None
    assert found.device.memory == 2**34
    assert "memory at 51.2 GB/s" in remark(found)


def test_wider_vectors_and_bf16_units_count():
    assert read(more="fma avx512f").device.peak.fp32 == 2 * read().device.peak.fp32
    assert read(more="").device.peak.fp32 == read().device.peak.fp32 / 2
    assert read(more="avx512_bf16 fma").device.peak.bf16 == 2 * read().device.peak.fp32


@pytest.mark.parametrize(
    ("gpus", "changes", "told"),
    [
        ("NVIDIA Tesla T4, 1\nNVIDIA L4, 1", {}, "GPUs of several kinds"),
        ("NVIDIA Quadro K420, 1", {}, "'NVIDIA Quadro K420', which is not in the catalogue"),
        ("", {"clock": "?"}, "neither clock nor vector units"),
    ],
)
def test_machine_that_cannot_be_described_says_what_is_missing(gpus, changes, told):
    with pytest.raises(InputError, match=told):
        read(gpus, **changes)


def test_study_may_name_this_machine(monkeypatch):
    monkeypatch.setattr("foretrain.study.cluster.here", lambda: here(lambda: "", kernel()))
    found = study_from({"workload": WORKLOAD, "cluster": {"name": "here"}}, "study")
    assert (found.cluster.name, found.cluster.device.name) == ("here", "cpu")
    assert any(text.startswith("cluster = this machine: 2 cores") for text in found.assumed)
    with pytest.raises(InputError, match=r"cluster\.nodes: this machine is one node"):
        study_from({"workload": WORKLOAD, "cluster": {"name": "here", "nodes": 2}}, "study")
