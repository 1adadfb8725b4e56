"""What foretrain says of a program, before it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from validation.allocated.comparing import COMPONENTS, TOTAL, total
from validation.allocated.program import Network, Program

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Plan, Recompute, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import MemoryColumns, stage_moments
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.study.config.hugging_face import model_of
from foretrain.trainers.software import Software
from foretrain.workload.execution import Kernels, Loss
from foretrain.workload.gradients import CODECS, FP32
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention
from foretrain.workload.trainable import Trainable, adapted
from foretrain.workload.workload import Optimizer, Precision, Workload

NOTHING_ADDED = {"memory.reserve": 0.0, "memory.fragmentation": 0.0, "memory.temporaries": 0.0}
"""What a program without a device cannot show is left out of the prediction too."""

OPTIMIZERS = {"adamw": Optimizer.ADAMW, "momentum": Optimizer.MOMENTUM, "sgd": Optimizer.SGD}


def config_of(network: Network, *, sequence: int) -> dict[str, object]:
    """The keys of a model's config.json."""
    keys: dict[str, object] = {
        "model_type": network.kind.replace("-", "_"),
        "hidden_size": network.hidden,
        "intermediate_size": network.width,
        "num_hidden_layers": network.layers,
        "num_attention_heads": network.heads,
        "vocab_size": network.vocabulary,
        "tie_word_embeddings": network.tied,
        "max_position_embeddings": sequence,
    }
    if network.kind != "gpt-neox":
        keys["num_key_value_heads"] = network.kv_heads
    return keys


def predicted(program: Program) -> list[list[Mapping[str, float]]]:
    """Bytes by component of each stage, of its fullest moment and of those that come near it."""
    known = setting(
        _workload(program),
        _cluster(program.data * program.tensor * program.pipeline),
        DEFAULT.changed(NOTHING_ADDED),
        software=_software(program),
    )
    held = hold(known, table_of([_plan(program)]))
    return [
        _fullest(stage_moments(known, held, run=run, later=float(later)))
        for run in held.runs
        for later in range(int(held.stages(run)[0]))
    ]


def _fullest(moments: Sequence[MemoryColumns]) -> list[Mapping[str, float]]:
    found = sorted(
        ({name: float(getattr(each, name)[0]) for name in COMPONENTS} for each in moments),
        key=total,
        reverse=True,
    )
    return [each for each in found if total(each) >= (1.0 - TOTAL) * total(found[0])]


def _workload(program: Program) -> Workload:
    network = program.network
    # Adapters are in fp32, and so are their gradients and moments.
    pure = program.precision == "bf16" and not program.lora
    reduced = FP32 if program.lora else CODECS[program.reduced]
    optimizer = OPTIMIZERS[program.optimizer]
    model: Model = model_of(
        config_of(network, sequence=program.sequence), sequence=program.sequence
    )
    if program.lora:
        model = adapted(
            model,
            Trainable(
                lora=program.lora,
                targets=program.targets,
                dropout=program.dropout > 0,
                widened=True,
            ),
        )
    return Workload(
        model=model,
        global_batch=program.micro_batch * program.passes * program.data,
        precision=Precision.FP32 if program.precision == "fp32" else Precision.BF16,
        optimizer=Optimizer.ADAMW_16BIT if pure and program.optimizer == "adamw" else optimizer,
        gradients=reduced,
        master_copy=program.precision == "mixed",
    )


def _software(program: Program) -> Software:
    plain = program.network.stack == "plain"
    return Software(
        phased=True,
        fused_update=program.fused,
        wide_parameters=program.precision == "mixed",
        keeps=Kernels(
            loss=Loss.WHOLE,
            norms=plain,
            separate=program.network.kind != "gpt-neox",
            gathered=True,
            loss_inside=not plain,
            autocast=program.precision == "mixed" and not (program.sharded and program.data > 1),
        ),
    )


def _plan(program: Program) -> Plan:
    sharded = program.sharded and program.data > 1
    return Plan(
        data=program.data,
        tensor=program.tensor,
        pipeline=program.pipeline,
        micro_batch=program.micro_batch,
        sequence_parallel=program.tensor > 1,
        sharding=Sharding.PARAMETERS if sharded else Sharding.NONE,
        reshard=float(program.reshard) if sharded else 0,
        recompute=Recompute.FULL if program.recompute else Recompute.NONE,
        attention=Attention.FLASH if program.attention == "flash" else Attention.PLAIN,
    )


@lru_cache(maxsize=8)
def _cluster(devices: int) -> Cluster:
    found = cluster("dgx-h100", -(-devices // 8))
    if devices >= 8:
        return found
    levels = tuple(
        replace(level, members=devices if place == 0 else 1)
        for place, level in enumerate(found.levels)
    )
    return replace(found, levels=levels)
