"""Plans that were run fit, and plans that cannot run do not; the page shows how much each takes."""

from pathlib import Path

import pytest

from foretrain.step.estimate import estimate
from foretrain.study.study import study_from

PAGE = (Path(__file__).parents[2] / "docs/background/memory-by-hand.md").read_text()
PROSE = " ".join(PAGE.split())
GIB = 2**30


def planned(model, cluster, nodes, plan, **workload):
    """Memory of a plan; `plan` as in a study."""
    plan = {"micro_batch": 1, "recompute": "none", "sharding": "none"} | plan
    cluster = {"name": cluster, "nodes": nodes}
    document = {"workload": {"model": model} | workload, "cluster": cluster, "plan": plan}
    return estimate(study_from(document, model))


LLAMA = ("llama-3-405b", "dgx-h100")
DEEPSEEK = ("deepseek-v3", "dgx-h100")
MIXTRAL = ("mixtral-8x7b", "dgx-h100")
TENSOR_8 = {"tensor": 8, "sequence_parallel": True}
UNEVEN = [7, *[8] * 14, 7]
LAYERS_OF_V3 = [*[4] * 15, 1]
CHUNKS = [1, *[2] * 62, 1]
OPTIMIZER = {"sharding": "optimizer"}
LONG = {"sequence": 131_072, "global_batch": 128}

FIT = {
    # grattafiori2024, table 4: its three rows. Chunks per stage are not published.
    "Llama 3 405B, 8,192 H100: tensor 8, 16 stages, gradients sharded": (
        *LLAMA,
        1024,
        TENSOR_8 | {"pipeline": 16, "cut": UNEVEN, "sharding": "gradients"},
        {"sequence": 8192, "global_batch": 2048},
    ),
    "the same on 16,384, 4 chunks per stage": (
        *LLAMA,
        2048,
        TENSOR_8 | {"pipeline": 16, "interleaving": 4, "cut": CHUNKS, "sharding": "gradients"},
        {"sequence": 8192, "global_batch": 2048},
    ),
    "the same, 131,072 tokens, context 16": (
        *LLAMA,
        2048,
        TENSOR_8
        | {
            "context": 16,
            "pipeline": 16,
            "interleaving": 4,
            "cut": CHUNKS,
            "sharding": "gradients",
        },
        LONG,
    ),
    # megatron-bridge, rows mbridge-0262 and mbridge-0290; recomputation is not published.
    "Llama 3 405B in fp8, 1,024 H100: tensor 8, context 2, 8 stages": (
        *LLAMA,
        128,
        TENSOR_8 | OPTIMIZER | {"context": 2, "pipeline": 8, "interleaving": 8, "cut": "balanced"},
        {"sequence": 8192, "global_batch": 512, "precision": "fp8"},
    ),
    "DeepSeek-V3, 1,024 H100: tensor 2, 8 stages, 64 expert devices, selective": (
        *DEEPSEEK,
        128,
        OPTIMIZER
        | {"tensor": 2, "sequence_parallel": True, "pipeline": 8, "interleaving": 4}
        | {"cut": "balanced", "expert": 64, "recompute": "selective"},
        {"sequence": 4096, "global_batch": 8192, "precision": "fp8"},
    ),
    # deepseek2024v3, sections 3 and 4.2.
    "DeepSeek-V3, 2,048 H800: 16 stages, 64 expert devices, selective": (
        *DEEPSEEK,
        256,
        OPTIMIZER
        | {"tensor": 1, "pipeline": 16, "cut": LAYERS_OF_V3, "expert": 64}
        | {"recompute": "selective"},
        {"sequence": 4096, "global_batch": 15_360, "precision": "fp8", "optimizer": "adamw-16bit"},
    ),
    # Recipes of Megatron (from memory): 8 experts on 8 devices, or each expert divided by 8.
    "Mixtral 8x7B, 64 H100: 4 stages, 8 expert devices": (
        *MIXTRAL,
        8,
        OPTIMIZER | {"tensor": 1, "pipeline": 4, "interleaving": 8, "expert": 8},
        {"sequence": 4096, "global_batch": 256},
    ),
    "Mixtral 8x7B, 64 H100: tensor 8, also of each expert": (
        *MIXTRAL,
        8,
        OPTIMIZER | TENSOR_8 | {"pipeline": 1, "expert_tensor": 8},
        {"sequence": 4096, "global_batch": 256},
    ),
    # torchtitan on A100, rows torchtitan-a100-0001 and 0007.
    "Llama 2 13B, 64 A100: parameters sharded": (
        "llama-2-13b",
        "dgx-a100",
        8,
        {"tensor": 1, "pipeline": 1, "micro_batch": 2, "sharding": "parameters"},
        {"sequence": 4096, "global_batch": 128},
    ),
    "Llama 2 70B, 64 A100: parameters sharded, all layers computed again": (
        "llama-2-70b",
        "dgx-a100",
        8,
        {"tensor": 1, "pipeline": 1, "micro_batch": 2, "sharding": "parameters"}
        | {"recompute": "full"},
        {"sequence": 4096, "global_batch": 128},
    ),
}
"""Plans that were run: model, cluster, nodes, plan, workload."""

FAIL = {
    # 406 G parameters x 18 bytes = 7.3 TB; a tenth of it each with a tensor degree of 8.
    "Llama 3 405B, 2,048 H100: data parallel alone": (
        *LLAMA,
        256,
        {"tensor": 1, "pipeline": 1},
        {"sequence": 8192, "global_batch": 2048},
    ),
    "Llama 3 405B, 2,048 H100: tensor 8 alone": (
        *LLAMA,
        256,
        TENSOR_8 | {"pipeline": 1},
        {"sequence": 8192, "global_batch": 2048},
    ),
    # 3.2 G parameters x 18 bytes = 57 GB beside 60 GiB of activations.
    "Llama 3 405B, 16,384 H100: tensor 8, 16 stages, nothing sharded": (
        *LLAMA,
        2048,
        TENSOR_8 | {"pipeline": 16, "cut": UNEVEN},
        {"sequence": 8192, "global_batch": 2048},
    ),
    # 4 layers x 11.3 G parameters of experts x 6 bytes = 270 GB.
    "DeepSeek-V3, 2,048 H800: 16 stages, no expert devices, all computed again": (
        *DEEPSEEK,
        256,
        OPTIMIZER | {"tensor": 1, "pipeline": 16, "cut": LAYERS_OF_V3, "recompute": "full"},
        {"sequence": 4096, "global_batch": 15_360, "precision": "fp8"},
    ),
    # What the report recomputes and keeps in 8 bits, kept whole.
    "DeepSeek-V3 in bf16, 2,048 H800: 16 stages, 64 expert devices, nothing computed again": (
        *DEEPSEEK,
        256,
        OPTIMIZER | {"tensor": 1, "pipeline": 16, "cut": LAYERS_OF_V3, "expert": 64},
        {"sequence": 4096, "global_batch": 15_360, "precision": "bf16"},
    ),
    # 46.7 G parameters x 18 bytes = 840 GB; x 6 bytes = 280 GB with a sharded optimizer.
    "Mixtral 8x7B, 64 H100: data parallel alone": (
        *MIXTRAL,
        8,
        {"tensor": 1, "pipeline": 1},
        {"sequence": 4096, "global_batch": 256},
    ),
    "Mixtral 8x7B, 64 H100: optimizer sharded": (
        *MIXTRAL,
        8,
        OPTIMIZER | {"tensor": 1, "pipeline": 1},
        {"sequence": 4096, "global_batch": 256},
    ),
    # torchtitan on A100, row torchtitan-a100-0004, which ran out of memory.
    "Llama 2 70B, 64 A100: parameters sharded, every other layer computed again": (
        "llama-2-70b",
        "dgx-a100",
        8,
        {"tensor": 1, "pipeline": 1, "micro_batch": 2, "sharding": "parameters"}
        | {"recompute": "full", "recompute_layers": 40},
        {"sequence": 4096, "global_batch": 128},
    ),
    "Llama 2 70B, 8 H100: tensor 8 alone, all layers computed again": (
        "llama-2-70b",
        "dgx-h100",
        1,
        TENSOR_8 | {"pipeline": 1, "recompute": "full"},
        {"sequence": 4096, "global_batch": 8},
    ),
}
"""Plans that cannot run."""


@pytest.mark.parametrize("case", [*FIT, *FAIL])
def test_plans_that_were_run_fit_and_others_do_not(case):
    *where, plan, workload = (FIT | FAIL)[case]
    answer = planned(*where, plan, **workload)
    assert answer.fits == (case in FIT)
    told = "yes" if answer.fits else "no"
    assert f"| {case} | {answer.memory.total / GIB:,.0f} | {told} |" in PAGE


@pytest.mark.parametrize(
    ("chunks", "told"),
    [
        ({"cut": UNEVEN}, "one chunk fits ({:.1f} GiB)"),
        ({"interleaving": 4, "cut": CHUNKS}, "four do not ({:.1f} GiB)"),
    ],
)
def test_page_says_how_many_chunks_fit_on_8192_devices(chunks, told):
    plan = TENSOR_8 | {"pipeline": 16, "sharding": "gradients"} | chunks
    answer = planned(*LLAMA, 1024, plan, sequence=8192, global_batch=2048)
    assert told.format(answer.memory.total / GIB) in PROSE
    assert answer.fits == ("fits" in told)
