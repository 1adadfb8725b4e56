"""What only the words of a row tell, as columns: one small rule each.

A rule reads the columns of the source and answers with one cell; an empty cell is a blank. No rule
was chosen by its effect on an error. `tables/README.md` has a paragraph on each column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

Row = Mapping[str, str]
Rule = Callable[[Row], str]

RELEASE = re.compile(r"(?<![0-9.])(2[0-9]\.[01][0-9](?:\.[0-9]+)?)(?![0-9])")
CONTAINER = re.compile(r"container ([0-9]+(?:\.[0-9]+)+)")
CONFIGURATION = re.compile(r"config file name \S+_mbs[0-9]+(_cg)?\.sh")
MEAN_TOKENS = re.compile(r"about ([0-9]+) tokens per sample")
BINS = re.compile(r"LDDL bins of ([0-9]+)")
PACKED = re.compile(r"samples packed to ([0-9]+) tokens")
TOKENS_OF_A_DEVICE = re.compile(r"batch column = ([0-9]+) tokens per GPU")
BUCKET = re.compile(r"bucket (\S+?)(?:;|$)")
LIBRARIES = re.compile(r"CUDA [0-9.]+[0-9], CuDNN [0-9.]+[0-9]")
FP8 = "use FP8 linear layers"

COMPILED = ("jax", "maxtext", "pax")
"""Software whose programs are always compiled (bradbury2018: JAX traces to XLA)."""

SECOND, THIRD = "2023-07", "2024-07"
"""Months in which generations of flash attention appeared (dao2023, shah2024)."""

ADOPTED = "2024-01"
"""From when on trainers that name flash or SDPA run the second generation (PyTorch 2.2)."""

TRITON = "Composer"
"""LLM Foundry's recipes name the Triton port of the first generation until early 2024 (from memory;
its tables agree: with any other kernel their errors grow with the length of a sample)."""

CUDNN = "24.04"
"""First container of NVIDIA whose recipes name cuDNN attention on Hopper (from memory)."""

PACKED_MEAN = 256
"""Tokens of a sample of the BERT corpus cut at 512, as the check of the MLPerf rows says."""

MOST_VOLUMES = 4
"""Volumes in the largest batch of one device."""

ODD_ROWS: Mapping[str, str] = MappingProxyType(
    {
        "mpt-0080": "memory close to full: the allocator likely thrashed",
        **{f"bigscience-v100-{n:04}": "a batch of 4: latency and bubble" for n in range(1, 11)},
        **{f"bigscience-v100-{n:04}": "one configuration at 125 to 225 s" for n in range(22, 26)},
    }
)
"""Rows that measure something else than the step of a healthy run, whatever predicts them."""


def container(row: Row) -> str:
    """Release of the container: named in the notes, or the only one of the other words."""
    named = CONTAINER.search(row["notes"])
    if named:
        return named[1]
    for words in (row["framework"], row["source"]):
        releases = set(RELEASE.findall(words))
        if releases:
            return releases.pop() if len(releases) == 1 else ""
    return ""


def compiled(row: Row) -> str:
    """Whether a compiler made the kernels: XLA switched on, or software that always compiles."""
    always = any(name in row["framework"].lower() for name in COMPILED)
    return "yes" if always or row.get("xla") == "on" else ""


def cuda_graphs(row: Row) -> str:
    """Whether kernels were launched as graphs, as the name of an MLPerf configuration says."""
    named = CONFIGURATION.search(row["notes"])
    return ("yes" if named[1] else "no") if named else ""


def sequence_fill(row: Row) -> str:
    """Mean tokens of a sample over `seq_len`, where that is a maximum."""
    mean, bins = MEAN_TOKENS.search(row["check"]), BINS.search(row["check"])
    packed = PACKED.search(row["notes"])
    if mean:
        return _share(float(mean[1]), row)
    if bins:
        return _share(PACKED_MEAN + float(bins[1]) / 2, row)
    return _share(float(packed[1]), row) if packed else ""


def _share(tokens: float, row: Row) -> str:
    return f"{tokens / float(row['seq_len']):g}"


def attention_kernel(row: Row) -> str:
    """Generation of the fused attention kernel: 1, 2, 3 or cudnn; blank if none or not known."""
    words, device = row["attention_impl"], row["gpu_norm"]
    if words == "flash" and TRITON in row["framework"]:
        return "1"
    if words in ("flash", "sdpa"):
        return _generation(row["date"])
    recipes = "Megatron-Bridge" in row["framework"] or "NeMo" in row["framework"]
    recent = container(row) >= CUDNN
    hopper = device.startswith(("H100", "H200", "B200", "B300", "GB200", "GB300"))
    return "cudnn" if recipes and recent and hopper else ""


def _generation(date: str) -> str:
    """Of flash attention in a month, where only one can be meant."""
    if not ADOPTED <= date < THIRD:
        return "1" if len(date) >= len(SECOND) and date < SECOND else ""
    return "2"


def expert_dispatch(row: Row) -> str:
    """What becomes of tokens that an expert has no room for."""
    return _first(row, {"dropless": "dropless", "token drop": "token drop"})


def expert_balance(row: Row) -> str:
    """Whether the router was forced to give every expert as many tokens."""
    return _first(row, {"forced-balanced routing": "forced"})


def token_prediction(row: Row) -> str:
    """Whether the model also predicts tokens further ahead."""
    return _first(row, {"w/o MTP": "no", "w/ MTP": "yes"})


def optimizer(row: Row) -> str:
    """The optimizer, where it is not the usual one."""
    return _first(row, {"Muon optimizer": "muon"})


def batch_tokens(row: Row) -> str:
    """Tokens of the batch of one device, where a batch is as many samples as they fill."""
    found = TOKENS_OF_A_DEVICE.search(row["notes"])
    return found[1] if found else ""


def linear_precision(row: Row) -> str:
    """Precision of linear layers, where only the notes tell it."""
    return _first(row, {FP8: "fp8"})


def sequence_parallel(row: Row) -> str:
    """Whether the tensor axis divides tokens too."""
    if "sequence parallel" in row["recompute"]:
        return "yes"
    said = {
        "sequence parallelism on": "yes",
        "sequence parallelism off": "no",
        "sequence-parallel": "yes",
    }
    return _first(row, said)


def offload(row: Row) -> str:
    """What waits in the memory of the host."""
    return _first(row, {"CPU activations Y": "activations", "CPU activations N": "none"})


def bucket(row: Row) -> str:
    """Elements of one bucket of gradients, as the source writes it."""
    found = BUCKET.search(row["notes"])
    return "" if found is None or found[1] == "na" else found[1]


def variant(row: Row) -> str:
    """Which of the networks of one name: nnU-Net of `volumes` or of `slices`.

    Its source lists both, volumes in batches of at most four and slices in batches from 32 on.
    """
    if row["model"] != "nnUNet":
        return ""
    return "volumes" if float(row["batch_per_gpu"]) <= MOST_VOLUMES else "slices"


def doubt(row: Row) -> str:
    """Why a row says little of a step, though nothing is wrong with its numbers."""
    odd = {
        "known performance regression": "regression known to the source",
        "ASP sparsity": "weights of structured sparsity",
        "GPU type not stated": "device not stated",
    }
    twice = "a batch of 128 that reads 128128" if row.get("mbs") == "128128" else ""
    return _first(row, odd) or ODD_ROWS.get(row["id"], twice)


def odd_unit(row: Row) -> str:
    """Throughputs and batches that lack a factor, so that the derived step is none."""
    if row["model"] == "NCF":
        return "throughput printed in millions of samples per second"
    return "batch printed in thousands" if row["model"] == "DLRM" else ""


def unit(row: Row) -> str:
    """Unit of the throughput, which stands under `images_per_s`."""
    return row["notes"].split(";")[0].removeprefix("unit: ")


def libraries(row: Row) -> str:
    """Versions of CUDA and cuDNN."""
    found = LIBRARIES.search(row["notes"])
    return found[0] if found else ""


def noted(name: str, end: str = "[;,]|$") -> Rule:
    """What the notes say behind a name."""
    pattern = re.compile(rf"{re.escape(name)}(.+?)(?:{end})")

    def rule(row: Row) -> str:
        found = pattern.search(row["notes"])
        return found[1].strip() if found else ""

    return rule


def _first(row: Row, said: Mapping[str, str]) -> str:
    """The answer to the first of some words that the notes hold."""
    return next((cell for words, cell in said.items() if words in row["notes"]), "")


OVER_NODES = frozenset({"aws-nccl", "azure-aml"})
"""Sources that time collectives in a node and over nodes in one go, one process for a device."""


def gpus_per_process(row: Row) -> str:
    """Devices that a process calls for, as far as words tell: in a node as over nodes."""
    return "1" if row["source_id"] in OVER_NODES and row["gpus_total"] else ""


COLUMNS: Mapping[str, Mapping[str, Rule]] = MappingProxyType(
    {
        "collectives": {"gpus_per_process": gpus_per_process},
        "more/collectives": {"gpus_per_process": gpus_per_process},
        "llm_training": {
            "container": container,
            "compiled": compiled,
            "cuda_graphs": cuda_graphs,
            "attention_kernel": attention_kernel,
            "sequence_fill": sequence_fill,
            "batch_tokens": batch_tokens,
            "linear_precision": linear_precision,
            "optimizer": optimizer,
            "sequence_parallel": sequence_parallel,
            "offload": offload,
            "bucket": bucket,
            "token_prediction": token_prediction,
            "expert_dispatch": expert_dispatch,
            "expert_balance": expert_balance,
            "doubt": doubt,
        },
        "cnn_training": {
            "container": container,
            "compiled": compiled,
            "variant": variant,
            "doubt": doubt,
        },
        "other_training": {"unit": unit, "doubt": odd_unit},
        "single_device": {"libraries": libraries},
        "parameter_server": {
            "gpus_total": noted("total GPUs "),
            "variable_update": noted("variable_update="),
            "parameter_device": noted("local_parameter_device="),
        },
    }
)
"""Columns that are added to each table, in this order, before `repeat`."""

_SAME = "source_id framework task model input seq_len gpu_norm precision"
_MACHINE = "gpus_total gpus_per_node intra_link inter_link"

SAME: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "llm_training": (
            f"{_SAME} {_MACHINE} family layers hidden params_b tp pp vpp cp dp ep zero_stage "
            "shard_strategy mbs gbs grad_accum recompute attention_impl"
        ).split(),
        "cnn_training": f"{_SAME} {_MACHINE} dp batch_per_gpu gbs xla data".split(),
        "other_training": f"{_SAME} {_MACHINE} dp batch_per_gpu gbs xla data".split(),
        "single_device": f"{_SAME} batch layout".split(),
    }
)
"""What two runs of one configuration have in common, beside the columns above."""


def repeats(table: str, rows: Sequence[Row], added: Sequence[Row]) -> list[str]:
    """The group of every row: the first id of all runs of its configuration; blank if alone.

    Args:
        table: kind of table.
        rows: the columns of the source.
        added: the cells of `COLUMNS`, which differ between configurations too.
    """
    keys = [
        (*(_worded_alike(row).get(name, "") for name in SAME[table]), *cells.values())
        for row, cells in zip(rows, added, strict=True)
    ]
    ids: dict[tuple[str, ...], list[str]] = {}
    for key, row in zip(keys, rows, strict=True):
        ids.setdefault(key, []).append(row["id"])
    return [ids[key][0] if len(ids[key]) > 1 else "" for key in keys]


def _worded_alike(row: Row) -> Row:
    """Submitters to MLPerf run the same container and word software and links as they like."""
    if not (row["source_id"].startswith("mlperf-") and container(row)):
        return row
    return {**row, "framework": "", "intra_link": ""}
