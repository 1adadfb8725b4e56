"""Flags of entries against the options that releases state in their packages."""

import tomllib
from pathlib import Path

import pytest

from foretrain.study.trainers import trainer
from foretrain.trainers.flags import Form

KNOWN = tomllib.loads((Path(__file__).parent / "options.toml").read_text())

ELSEWHERE = {
    "megatron-core-0.12": {
        # Options of the trainer's own arguments.py, which the package has not (Megatron-LM).
        *(
            "seq-length",
            "max-position-embeddings",
            "vocab-size",
            "fp16",
            "bf16",
            "optimizer",
            "micro-batch-size",
        ),
        *("global-batch-size", "swiglu", "disable-bias-linear", "group-query-attention"),
        *("untie-embeddings-and-output-weights", "position-embedding-type", "num-experts"),
        *("num-layers-per-virtual-pipeline-stage", "use-tp-pp-dp-mapping", "use-torch-fsdp2"),
        *("torch-fsdp2-no-reshard-after-forward", "decoder-first-pipeline-num-layers"),
        *("decoder-last-pipeline-num-layers", "fp8-format", "grad-reduce-in-bf16"),
        *("num-query-groups", "accumulate-allreduce-grads-in-fp32", "enable-cuda-graph"),
    },
}
ELSEWHERE["megatron-core-0.16"] = ELSEWHERE["megatron-core-0.12"] | {"fp4-format"}
ELSEWHERE["megatron-bridge-0.3"] = {"dataset.sequence_length"}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_written_is_an_option_of_the_release(name):
    known = {*KNOWN[name]["names"]} | ELSEWHERE.get(name, set())
    flags = [
        flag
        for flag in trainer(name).dialect.flags
        if not flag.only_read and not (name == "hf-trainer-5" and flag.place is Form.ARGUMENTS)
    ]
    assert flags
    written = {flag.name for flag in flags}
    written |= {other for flag in flags for other, _ in flag.beside}
    assert written - known == set()


@pytest.mark.parametrize("name", KNOWN)
def test_every_entry_of_the_list_has_a_source(name):
    assert KNOWN[name]["source"]


def test_a_name_that_no_release_has_is_seen():
    known = {*KNOWN["torchtitan-0.2"]["names"]}
    assert "parallelism.tensor_parallel_degree" in known
    assert "parallelism.tensor_degree" not in known
