"""The columns of the tables of measurements, one table per kind.

The schema is that of `validation/tables/README.md`. An empty cell is a blank.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.measured.run import Table
from foretrain.plan.execution import AttentionKernel

_ORIGIN = "id source_id source source_kind date framework"
_DEVICES = "gpu gpu_norm gpus_total gpus_per_node intra_link inter_link"
_IMAGES = (
    f"{_ORIGIN} task model input {_DEVICES} parallelism dp batch_per_gpu gbs precision xla data "
    "images_per_s images_per_s_per_gpu step_time_s scaling_efficiency peak_mem_gb check notes "
    "container compiled variant unit doubt repeat"
)
_OPTIONS = (
    "container compiled cuda_graphs attention_kernel sequence_fill batch_tokens linear_precision "
    "optimizer sequence_parallel offload bucket token_prediction expert_dispatch expert_balance "
    "doubt repeat"
)

COLUMNS: Mapping[Table, tuple[str, ...]] = MappingProxyType(
    {
        table: tuple(text.split())
        for table, text in {
            Table.LLM_TRAINING: (
                f"{_ORIGIN} task model family layers hidden ffn_hidden heads kv_heads vocab "
                f"seq_len experts topk params_b arch_source {_DEVICES} tp pp vpp cp dp ep "
                "zero_stage shard_strategy mbs gbs grad_accum precision recompute attention_impl "
                "step_time_s samples_per_s tokens_per_s_total tokens_per_s_per_gpu tflops_per_gpu "
                f"mfu hfu peak_mem_gb oom check notes {_OPTIONS}"
            ),
            Table.CNN_TRAINING: _IMAGES,
            Table.OTHER_TRAINING: _IMAGES,
            Table.SINGLE_DEVICE: (
                f"{_ORIGIN} task model input seq_len gpu gpu_norm batch precision layout "
                "throughput unit step_time_s fwd_time_s bwd_time_s params_m gmacs_fwd mact_fwd "
                "peak_mem_gb check notes libraries repeat"
            ),
            Table.COLLECTIVES: (
                f"id source_id source source_kind date collective library {_DEVICES} "
                "message_bytes dtype placement time_us algbw_gbs busbw_gbs algo statistic check "
                "notes"
            ),
            Table.PARAMETER_SERVER: (
                f"{_ORIGIN} model input worker_device workers gpus_per_worker ps_tasks "
                "ps_colocated sync inter_link batch_per_gpu gbs precision data images_per_s "
                "samples_per_s step_time_s scaling_efficiency check notes gpus_total "
                "variable_update parameter_device"
            ),
            Table.MEMORY: (
                f"{_ORIGIN} task model params_b gpu gpu_norm gpus_total seq_len mbs gbs precision "
                "tp pp vpp cp dp ep zero_stage shard_strategy recompute quantity value unit oom "
                "check notes input attention_impl optimizer"
            ),
            Table.CLUSTER_TRACES: (
                f"{_ORIGIN} model dataset gpu gpus_total nodes placement inter_link batch_per_gpu "
                "steps_per_s step_time_s sync_time_s samples_per_s check notes"
            ),
        }.items()
    }
)

REQUIRED: Mapping[Table, tuple[str, ...]] = MappingProxyType(
    {
        Table.LLM_TRAINING: ("id", "source_id", "model", "gpu_norm", "gpus_total", "step_time_s"),
        Table.CNN_TRAINING: ("id", "source_id", "model", "gpu_norm", "gpus_total", "step_time_s"),
        Table.OTHER_TRAINING: ("id", "source_id", "model", "step_time_s"),
        Table.SINGLE_DEVICE: ("id", "source_id", "model", "step_time_s"),
        Table.COLLECTIVES: ("id", "source_id", "collective", "time_us"),
        Table.PARAMETER_SERVER: ("id", "source_id", "model", "step_time_s"),
        Table.MEMORY: ("id", "source_id", "model", "quantity", "value", "unit"),
        Table.CLUSTER_TRACES: ("id", "source_id", "model", "step_time_s"),
    }
)

_COUNTS = (
    "layers hidden ffn_hidden heads kv_heads vocab seq_len experts topk gpus_total gpus_per_node "
    "tp pp vpp cp dp ep mbs gbs grad_accum batch batch_tokens nodes workers gpus_per_worker "
    "ps_tasks input"
)
_NUMBERS = (
    "params_b params_m step_time_s samples_per_s tokens_per_s_total tokens_per_s_per_gpu "
    "tflops_per_gpu mfu hfu peak_mem_gb images_per_s images_per_s_per_gpu scaling_efficiency "
    "throughput fwd_time_s bwd_time_s gmacs_fwd mact_fwd message_bytes time_us algbw_gbs busbw_gbs "
    "value steps_per_s sync_time_s batch_per_gpu sequence_fill"
)

LEAST_COUNT: Mapping[str, int] = MappingProxyType(
    {"zero_stage": 0} | dict.fromkeys(_COUNTS.split(), 1)
)
"""Columns of whole numbers, and the smallest that is allowed."""

NUMBERS = frozenset(_NUMBERS.split())
"""Columns of numbers of at least 0."""

_YES_OR_NO = ("yes", "no")

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "oom": _YES_OR_NO,
        "compiled": _YES_OR_NO,
        "cuda_graphs": _YES_OR_NO,
        "sequence_parallel": _YES_OR_NO,
        "token_prediction": _YES_OR_NO,
        "attention_kernel": tuple(AttentionKernel),
        "offload": ("none", "optimizer", "activations", "both"),
        "expert_dispatch": ("dropless", "token drop"),
        "expert_balance": ("forced",),
    }
)
"""Columns that hold one of a few words."""
