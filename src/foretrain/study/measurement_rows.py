"""The columns of the tables of measurements, one table per kind.

The schema is that of `validation/tables/README.md`. An empty cell is a blank.

One line of a table of measurements as a measured run, in SI units and our words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from foretrain.errors import InputError, nearest
from foretrain.measured.run import (
    CollectiveMessage,
    MeasuredRun,
    Place,
    RunLayout,
    SoftwareStack,
    Subject,
    TableKind,
    TrainedNetwork,
)
from foretrain.trainers.software import AttentionKernel
from foretrain.units import as_written

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

COLUMNS: Mapping[TableKind, tuple[str, ...]] = MappingProxyType(
    {
        table: tuple(text.split())
        for table, text in {
            TableKind.LLM_TRAINING: (
                f"{_ORIGIN} task model family layers hidden ffn_hidden heads kv_heads vocab "
                f"seq_len experts topk params_b arch_source {_DEVICES} tp pp vpp cp dp ep "
                "zero_stage shard_strategy mbs gbs grad_accum precision recompute attention_impl "
                "step_time_s samples_per_s tokens_per_s_total tokens_per_s_per_gpu tflops_per_gpu "
                f"mfu hfu peak_mem_gb oom check notes {_OPTIONS}"
            ),
            TableKind.CNN_TRAINING: _IMAGES,
            TableKind.OTHER_TRAINING: _IMAGES,
            TableKind.SINGLE_DEVICE: (
                f"{_ORIGIN} task model input seq_len gpu gpu_norm batch precision layout "
                "throughput unit step_time_s fwd_time_s bwd_time_s params_m gmacs_fwd mact_fwd "
                "peak_mem_gb check notes libraries repeat"
            ),
            TableKind.COLLECTIVES: (
                f"id source_id source source_kind date collective library {_DEVICES} "
                "message_bytes dtype placement time_us algbw_gbs busbw_gbs algo statistic check "
                "notes gpus_per_process"
            ),
            TableKind.PARAMETER_SERVER: (
                f"{_ORIGIN} model input worker_device workers gpus_per_worker ps_tasks "
                "ps_colocated sync inter_link batch_per_gpu gbs precision data images_per_s "
                "samples_per_s step_time_s scaling_efficiency check notes gpus_total "
                "variable_update parameter_device"
            ),
            TableKind.MEMORY: (
                f"{_ORIGIN} task model params_b gpu gpu_norm gpus_total seq_len mbs gbs precision "
                "tp pp vpp cp dp ep zero_stage shard_strategy recompute quantity value unit oom "
                "check notes input attention_impl optimizer"
            ),
            TableKind.CLUSTER_TRACES: (
                f"{_ORIGIN} model dataset gpu gpus_total nodes placement inter_link batch_per_gpu "
                "steps_per_s step_time_s sync_time_s samples_per_s check notes"
            ),
        }.items()
    }
)

_TRAINED = "id source_id model gpu_norm gpus_total step_time_s"
_TIMED = "id source_id model step_time_s"
REQUIRED: Mapping[TableKind, tuple[str, ...]] = MappingProxyType(
    {
        table: tuple(text.split())
        for table, text in {
            TableKind.LLM_TRAINING: _TRAINED,
            TableKind.CNN_TRAINING: _TRAINED,
            TableKind.OTHER_TRAINING: _TIMED,
            TableKind.SINGLE_DEVICE: _TIMED,
            TableKind.COLLECTIVES: "id source_id collective time_us",
            TableKind.PARAMETER_SERVER: _TIMED,
            TableKind.MEMORY: "id source_id model quantity value unit",
            TableKind.CLUSTER_TRACES: _TIMED,
        }.items()
    }
)

_COUNTS = (
    "layers hidden ffn_hidden heads kv_heads vocab seq_len experts topk gpus_total gpus_per_node "
    "tp pp vpp cp dp ep mbs gbs grad_accum batch batch_tokens nodes workers gpus_per_worker "
    "ps_tasks input gpus_per_process"
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


Cells = Mapping[str, str]
Reading = tuple[Subject, float | None]

DATA_PARALLEL = (TableKind.CNN_TRAINING, TableKind.OTHER_TRAINING)

MEMORY_SUBJECTS: Mapping[str, Subject] = MappingProxyType(
    {
        "activations per GPU (first stage)": Subject.ACTIVATIONS,
        "activation memory relative to tensor-parallel baseline without recompute": (
            Subject.ACTIVATION_SHARE
        ),
        "parameters + gradients + optimizer per GPU": Subject.STATE,
        "max GPU memory per device": Subject.PEAK_MEMORY,
        "GPU memory": Subject.PEAK_MEMORY,
        "growth of the process": Subject.PROCESS,
    }
)
PICTURES = frozenset({TableKind.CNN_TRAINING, TableKind.SINGLE_DEVICE, TableKind.MEMORY})
"""Tables whose `input` is pixels per side."""

BATCHES = ("batch_per_gpu", "batch", "mbs")
"""Columns of samples that a device takes at once; a table has one of them."""

MOST_TOKENS = 2.0**22
"""Of one pass on one device: 32 times as many as the longest published context of a device has."""

MEMORY_UNITS: Mapping[str, float] = MappingProxyType(
    {"B": 1.0, "MB": 1e6, "GB": 1e9, "MiB": 2.0**20, "GiB": 2.0**30, "percent": 0.01}
)


def run_of(cells: Cells, table: TableKind) -> MeasuredRun:
    """The measured run of one line, whose numbers are known to be numbers."""
    subject, measured = _READINGS.get(table, _step_time)(cells)
    message = None
    if subject is Subject.TRANSFER_TIME:
        message = CollectiveMessage(
            collective=cells["collective"],
            size=_number(cells, "message_bytes"),
            library=cells.get("library", ""),
            datatype=cells.get("dtype", ""),
            placement=cells.get("placement", ""),
            together=_count(cells, "gpus_per_process"),
        )
    return MeasuredRun(
        id=cells["id"],
        source_id=cells["source_id"],
        source_kind=cells.get("source_kind", ""),
        table=table,
        subject=subject,
        measured=measured,
        token_rate=_token_rate(cells) if measured is None else None,
        framework=cells.get("framework", ""),
        stack=_stack(cells),
        date=cells.get("date", ""),
        task=cells.get("task", ""),
        network=_network(cells, table),
        place=_place(cells, table),
        layout=_layout(cells, table),
        message=message,
        global_batch=None if _run_together(cells) else _count(cells, "gbs"),
        precision=cells.get("precision", ""),
        linear_precision=cells.get("linear_precision", ""),
        optimizer=cells.get("optimizer", ""),
        out_of_memory=cells.get("oom", "") == "yes",
        check=cells.get("check", ""),
        doubt=cells.get("doubt", ""),
        repeat=cells.get("repeat", ""),
        notes=cells.get("notes", ""),
    )


def _step_time(cells: Cells) -> Reading:
    """The time of a step, or what the tokens of a step take at the stated rate."""
    if _run_together(cells):
        return Subject.STEP_TIME, None
    stated = _number(cells, "step_time_s")
    batch, sequence = _number(cells, "gbs"), _number(cells, "seq_len")
    rate = _number(cells, "tokens_per_s_total")
    if stated is None and batch and sequence and rate:
        return Subject.STEP_TIME, batch * sequence / rate
    return Subject.STEP_TIME, stated


def _run_together(cells: Cells) -> bool:
    """Whether a batch is two columns of its source run together: a sample's length, then a count.

    Its digits begin with those of the length, and its tokens are more than a device takes at once.
    What was derived from it, the batch of a step and its time, is then as unknown as the batch.
    """
    length, batch = cells.get("seq_len", ""), cells.get("mbs", "")
    if not length or not batch.startswith(length):
        return False
    return float(batch) * float(length) > MOST_TOKENS


def _token_rate(cells: Cells) -> float | None:
    """Tokens per second of the whole job, in a column of its own or as a throughput of tokens."""
    counted = "throughput" if cells.get("unit") == "tokens/s" else "tokens_per_s_total"
    return _number(cells, counted)


def _transfer_time(cells: Cells) -> Reading:
    microseconds = _number(cells, "time_us")
    return Subject.TRANSFER_TIME, None if microseconds is None else 1e-6 * microseconds


def _memory(cells: Cells) -> Reading:
    quantity, unit = cells["quantity"], cells["unit"]
    if quantity not in MEMORY_SUBJECTS:
        raise InputError(
            f"quantity {as_written(quantity)} is unknown.{nearest(quantity, MEMORY_SUBJECTS)} "
            f"Known: {', '.join(MEMORY_SUBJECTS)}."
        )
    if unit not in MEMORY_UNITS:
        raise InputError(
            f"unit {as_written(unit)} is unknown.{nearest(unit, MEMORY_UNITS)} "
            f"Known: {', '.join(MEMORY_UNITS)}."
        )
    subject = MEMORY_SUBJECTS[quantity]
    if (unit == "percent") != (subject is Subject.ACTIVATION_SHARE):
        raise InputError(f"unit '{unit}' does not measure '{quantity}'.")
    value = _number(cells, "value")
    return subject, None if value is None else value * MEMORY_UNITS[unit]


_READINGS: Mapping[TableKind, Callable[[Cells], Reading]] = MappingProxyType(
    {TableKind.COLLECTIVES: _transfer_time, TableKind.MEMORY: _memory}
)


def _network(cells: Cells, table: TableKind) -> TrainedNetwork:
    billions = _number(cells, "params_b")
    parameters = None if billions is None else 1e9 * billions
    return TrainedNetwork(
        name=cells.get("model") or cells.get("collective", ""),
        family=cells.get("family", ""),
        layers=_count(cells, "layers"),
        hidden=_count(cells, "hidden"),
        feed_forward=_count(cells, "ffn_hidden"),
        heads=_count(cells, "heads"),
        kv_heads=_count(cells, "kv_heads"),
        vocabulary=_count(cells, "vocab"),
        experts=_count(cells, "experts"),
        chosen=_count(cells, "topk"),
        parameters=parameters,
        sequence=_count(cells, "seq_len"),
        fill=_number(cells, "sequence_fill"),
        token_prediction=_flag(cells, "token_prediction"),
        variant=cells.get("variant", ""),
        image=_count(cells, "input") if table in PICTURES else None,
    )


def _place(cells: Cells, table: TableKind) -> Place:
    return Place(
        device=cells.get("gpu_norm") or cells.get("gpu", ""),
        devices=1 if table is TableKind.SINGLE_DEVICE else _count(cells, "gpus_total"),
        node_devices=_count(cells, "gpus_per_node"),
        node_link=cells.get("intra_link", ""),
        fabric=cells.get("inter_link", ""),
    )


def _layout(cells: Cells, table: TableKind) -> RunLayout:
    """The degrees; two of the tables state only data parallelism, one has nothing to divide."""
    single = 1 if table is TableKind.SINGLE_DEVICE else None
    alone = single or (1 if table in DATA_PARALLEL and cells.get("parallelism") else None)
    return RunLayout(
        data=single or _count(cells, "dp"),
        tensor=_count(cells, "tp") or alone,
        pipeline=_count(cells, "pp") or alone,
        interleaving=_count(cells, "vpp"),
        context=_count(cells, "cp") or alone,
        expert=_count(cells, "ep"),
        axes=cells.get("parallelism", ""),
        zero_stage=_count(cells, "zero_stage"),
        sharding=cells.get("shard_strategy", ""),
        micro_batch=(
            None
            if _run_together(cells)
            else _number(cells, next((name for name in BATCHES if name in cells), ""))
        ),
        batch_tokens=_count(cells, "batch_tokens"),
        accumulation=_count(cells, "grad_accum"),
        sequence_parallel=_flag(cells, "sequence_parallel"),
        recompute=cells.get("recompute", ""),
        offload=cells.get("offload", ""),
        attention=cells.get("attention_impl", ""),
        bucket=cells.get("bucket", ""),
        dispatch=cells.get("expert_dispatch", ""),
    )


def _stack(cells: Cells) -> SoftwareStack:
    kernel = cells.get("attention_kernel", "")
    return SoftwareStack(
        container=cells.get("container", ""),
        compiled=_flag(cells, "compiled"),
        graphs=_flag(cells, "cuda_graphs"),
        attention=AttentionKernel(kernel) if kernel else None,
    )


def _flag(cells: Cells, name: str) -> bool | None:
    """Yes or no, as the reader has checked; None for a blank."""
    text = cells.get(name, "")
    return text == "yes" if text else None


def _number(cells: Cells, name: str) -> float | None:
    text = cells.get(name, "")
    return float(text) if text else None


def _count(cells: Cells, name: str) -> int | None:
    value = _number(cells, name)
    return None if value is None else int(value)
