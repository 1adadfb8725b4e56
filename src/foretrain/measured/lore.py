"""Lore: what is known of a measured run by its software, source, date, task and names alone.

Every choice that such a name makes stands here; everybody else asks (`LATE.of(run)`). No entry was
chosen by its effect on an error: each says why it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foretrain.measured import defaults
from foretrain.measured.coverage import Belief, Default, Lore
from foretrain.plan.plan import Recompute, Sends
from foretrain.trainers.software import Execution
from foretrain.workload.gradients import GradientCodec
from foretrain.workload.operator import Attention
from foretrain.workload.prompts import Prompt
from foretrain.workload.trainable import Trainable
from foretrain.workload.workload import Precision

MEGATRON: Final = "megatron|nemo|neox"
BRIDGE: Final = "megatron-bridge"
CONTAINERS: Final = r"\(ngc\)"
LITGPT: Final = "^litgpt"
TENSORFLOW: Final = "^tensorflow"
MLPERF: Final = "^mlperf"
WHOLE_PROGRAMS: Final = "^(TPU|Graphcore|Gaudi|Ascend)"

# What a row measures.

WHOLE_STEP: Final = (
    "^(pretrain|train|fine-tune|SFT|LoRA|classification|detection|segmentation|speech"
    "|recommendation|drugdiscovery|forecasting|fastspeech)"
)
PASSES: Final = r"^forward\+backward"
COVERED: Final = Lore(
    Belief(says=True, task=WHOLE_STEP, why="tasks of training"),
    Belief(says=True, task=PASSES, why="a step without its update"),
    otherwise=False,
)
"""Whether a task is one that a prediction can be held against."""

UPDATES: Final = Lore(
    Belief(says=False, task=PASSES, why="it ends before the optimizer's step"),
    otherwise=True,
)
"""Whether what was measured ends with the update."""

ALLOCATED: Final = Lore(
    Belief(
        says=True,
        framework=LITGPT,
        why="LitGPT prints torch.cuda.max_memory_allocated() (source: litgpt)",
    ),
    Belief(says=True, source="^own-", why="our recorder asks the same"),
    otherwise=False,
)
"""Whether memory is what PyTorch's allocator handed out, without what it holds or is outside."""

SHARED_CODE: Final = Lore(
    Belief(says=True, source=MLPERF, why="submissions to a round share it, however they spell it"),
    otherwise=False,
)
"""Whether all runs of a source are of the same code."""

DEVICES: Final[Lore[Default[str] | None]] = Lore(
    Belief(says=defaults.OF_LIBAI, source="^libai$", why="its rows name none"), otherwise=None
)
"""Devices of sources that name none."""

FABRICS: Final[Lore[Default[str] | None]] = Lore(
    Belief(says=defaults.BETWEEN_LIBAI, source="^libai$", why="its rows name none"), otherwise=None
)
"""Links between nodes of sources that name none."""

# What is trained.

RESNETS: Final = Lore(
    Belief(
        says=defaults.FIRST_RESNET,
        framework="tf_cnn_benchmarks",
        why="its resnet50 of 2017 was the first version",
    ),
    otherwise=defaults.RESNET_VERSION,
)
"""Which ResNet is meant where a row does not say."""

PREDICTION: Final = Lore(
    Belief(says=defaults.PREDICTION_AHEAD, framework=BRIDGE, why="FLOP that its rows state"),
    otherwise=defaults.NO_PREDICTION,
)
"""Whether tokens further ahead are predicted where a row does not say."""

ADAPTERS: Final[Lore[Default[int] | None]] = Lore(
    Belief(says=defaults.LORA, task="^LoRA", why="the task says so, and no column the rank"),
    otherwise=None,
)
"""Rank of adapters, where they alone are trained."""

BY_LITGPT: Final = Lore(
    Belief(says=True, framework=LITGPT, why="its rows leave out what its scripts always do"),
    otherwise=False,
)
"""Whether scripts of LitGPT tell what a row leaves out."""

TUNING: Final[Lore[Trainable | Prompt | None]] = Lore(
    Belief(
        says=Trainable(lora=8, targets=("q_proj", "v_proj"), dropout=True),
        task="^fine-tune LoRA$",
        why="finetune/lora.py of October 2023 (from memory); confirmed by trained parameters",
    ),
    Belief(
        says=Prompt(tokens=10, first=2),
        task="^fine-tune Adapter$",
        why="finetune/adapter.py of October 2023 (from memory); confirmed by trained parameters",
    ),
    Belief(
        says=Prompt(tokens=10, first=2, scales=True),
        task="^fine-tune Adapter v2$",
        why="finetune/adapter_v2.py of October 2023 (from memory); confirmed likewise",
    ),
    otherwise=None,
)
"""What LitGPT's recipes of late 2023 train; how frozen weights are stored, the row says."""

FULLY_SHARDED: Final = Lore(
    Belief(
        says=True,
        framework=LITGPT,
        notes="FSDP",
        why="its script shards everything and recomputes all on several devices",
    ),
    otherwise=False,
)
"""Whether LitGPT ran it on several devices."""

LONGEST: Final = Lore(
    Belief(says=defaults.LONGEST_OF_LLAMA, network="(?i)^llama", why="its vocabulary is smaller"),
    otherwise=defaults.LONGEST_OF_NEOX,
)
"""Tokens of the longest sample of Alpaca, which LitGPT starts with."""

# What a trainer does where a row leaves it open.


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What a trainer does unless a row differs.

    Attributes:
        sharding: stage of ZeRO.
        recompute: what is computed twice, and in what share of the layers.
        sequence_parallel: whether a tensor axis divides tokens too.
        overlaps: whether exchanges of the tensor axis run beside products.
    """

    sharding: Default[int] = defaults.NO_SHARDING
    recompute: Default[tuple[tuple[Recompute, float], ...]] = defaults.NO_RECOMPUTE
    sequence_parallel: Default[bool] = defaults.NO_SEQUENCE_PARALLEL
    overlaps: bool = False


OF_RECIPES: Final = Habits(
    sharding=defaults.OPTIMIZER_SHARDING,
    recompute=defaults.RECOMPUTE_AS_NEEDED,
    sequence_parallel=defaults.SEQUENCE_PARALLEL,
    overlaps=True,
)
OF_NOBODY: Final = Habits()
OF_MAXTEXT: Final = Habits(
    sharding=defaults.PARAMETER_SHARDING, recompute=defaults.RECOMPUTE_AS_NEEDED, overlaps=True
)

HABITS: Final = Lore(
    Belief(says=OF_MAXTEXT, framework="maxtext", why="its axis fsdp is the one that fills up"),
    Belief(
        says=OF_RECIPES,
        framework=BRIDGE,
        why="recipes are tuned, and have user buffers on (transformer-engine, from memory)",
    ),
    Belief(says=OF_NOBODY, task="MLPerf", family="^bert$", why="NeMo's code is of decoders"),
    Belief(says=OF_RECIPES, task="MLPerf", since=2023, why="decoders of NeMo follow its recipes"),
    otherwise=OF_NOBODY,
)

INTERLEAVING: Final = Lore(
    Belief(
        says=defaults.NO_INTERLEAVING,
        task="MLPerf",
        family="^bert$",
        why="found for decoders alone",
    ),
    Belief(
        says=defaults.FINEST_INTERLEAVING,
        task="MLPerf",
        why="their micro-batches are a multiple of the stages, as only interleaving demands",
    ),
    otherwise=defaults.NO_INTERLEAVING,
)
"""Chunks per stage."""

SENDS: Final[Lore[tuple[Default[Sends], Default[Sends]]]] = Lore(
    Belief(
        says=(defaults.BLOCKING_SENDS, defaults.BLOCKING_SENDS),
        framework=MEGATRON,
        before=2023,
        why="Megatron-LM waited for all its sends",
    ),
    Belief(
        says=(defaults.BLOCKING_SENDS, defaults.OVERLAPPED_SENDS),
        framework=MEGATRON,
        why="since 2023 it overlaps them where it interleaves",
    ),
    otherwise=(defaults.OVERLAPPED_SENDS, defaults.OVERLAPPED_SENDS),
)
"""Whether stages compute while they send: without, and with interleaving."""

ATTENTION: Final[Lore[Default[Attention]]] = Lore(
    Belief(says=defaults.UNFUSED_ATTENTION, framework=CONTAINERS, why="NVIDIA's examples"),
    Belief(says=defaults.PLAIN_ATTENTION, before=2023, why="before trainers took it up"),
    otherwise=defaults.FLASH_ATTENTION,
)
"""The kernel of attention."""

GRADIENTS: Final[Lore[Default[GradientCodec] | None]] = Lore(
    Belief(says=defaults.HALF_GRADIENTS, framework=BRIDGE, why="its recipes (from memory)"),
    Belief(
        says=defaults.FP16_GRADIENTS,
        framework="deepspeed",
        precision="^fp16",
        why="it keeps two bytes of each",
    ),
    Belief(
        says=defaults.HALF_MESSAGES,
        framework=MEGATRON,
        precision="^fp16",
        before=2023,
        why="Megatron-LM sent them as its weights were (from memory)",
    ),
    otherwise=None,
)
"""How gradients are held and sent, where not in fp32."""

LATE: Final = Lore(
    Belief(
        says=True,
        framework=MEGATRON,
        before=2023,
        why="Megatron-LM's optimizer learned to overlap in 2023",
    ),
    Belief(
        says=True,
        framework=TENSORFLOW,
        why="TensorFlow hands XLA a backward pass as one program, whose results are there at its "
        "end; NVIDIA's examples add micro-batches up before Horovod is asked (from memory)",
    ),
    otherwise=False,
)
"""Whether gradients of text are reduced after all passes, none beside them."""

SPILLS: Final = Lore(
    Belief(
        says=True,
        framework=BRIDGE,
        device="^GB",
        why="its recipes with FSDP do so where device and host share a module (from memory)",
    ),
    otherwise=False,
)
"""Whether activations of fully sharded models that do not fit wait on the host."""

ONCE: Final = Lore(
    Belief(says=False, dispatch="^token drop$", why="recipes then exchange copies (from memory)"),
    Belief(says=True, device="^GB", why="recipes dispatch by HybridEP on NVL72 (from memory)"),
    Belief(
        says=True,
        network="^(DeepSeek|Kimi)",
        why="recipes dispatch by DeepEP for models of DeepSeek's kind (from memory)",
    ),
    otherwise=False,
)
"""Whether a token goes once to a member that holds several of its experts."""

GROUPED: Final = Lore(
    Belief(says=False, network="^Nemotron", why="its experts are not gated"),
    Belief(
        says=True,
        device="^(B2|B3|GB)",
        container="26.06",
        why="libraries have such kernels for narrow precisions on Blackwell, for gated experts, "
        "since CUDA 13.1 (from memory); containers take them up in 2026-06, as steps tell",
    ),
    otherwise=False,
)
"""Whether the products of all experts are one kernel."""

# How software computes. Kinds are of software, so no measured time speaks for one.

AUTOMATIC_TF32: Final = Lore(
    Belief(says=True, framework=CONTAINERS, why="NVIDIA's containers compute so since 20.06"),
    otherwise=False,
)
"""Whether products in fp32 are computed in tf32 on devices that can."""

EXECUTION: Final[Lore[Execution | None]] = Lore(
    Belief(
        says=Execution.GRAPH,
        source=MLPERF,
        device=WHOLE_PROGRAMS,
        why="programs of such devices are compiled whole: XLA, Poplar, SynapseAI, CANN",
    ),
    Belief(
        says=Execution.TUNED,
        source=MLPERF,
        why="every submission on NVIDIA's devices runs NVIDIA's code of that round: fused kernels, "
        "CUDA graphs where launches matter",
    ),
    Belief(
        says=Execution.TUNED,
        framework=r"mxnet \(ngc\)",
        why="NVIDIA's MXNet has the fused norms of its submissions to MLPerf (from memory)",
    ),
    Belief(
        says=Execution.TUNED,
        framework=MEGATRON,
        why="fused bias, GELU, dropout and masked softmax since 2020 (narayanan2021, section 4.2)",
    ),
    Belief(
        says=Execution.TUNED,
        framework="deepspeed transformer kernel|transformer engine",
        why="a layer of few hand-fused kernels, which its name says",
    ),
    Belief(
        says=Execution.TUNED,
        framework="oneflow",
        why="its GPT and BERT fuse bias with GELU, bias with dropout, and scale, mask and softmax, "
        "as Megatron-LM does (options of LiBai, from memory)",
    ),
    Belief(
        says=Execution.GRAPH,
        framework="tensorflow|mxnet|paddle|jax|maxtext|pax|mindspore",
        why="the graph is known before it runs; XLA or the library's own passes fuse chains",
    ),
    Belief(
        says=Execution.EAGER,
        framework="torch|composer|deepspeed|litgpt|chainer|cuda-optimized",
        why="operators are launched one by one from the host as the program reaches them",
    ),
    Belief(
        says=Execution.EAGER,
        framework="caffe|cudaconvnet|cudnn|fbfft|cl-nn|neon",
        why="layers run one by one, each a call of its library, without fusion across them",
    ),
    otherwise=None,
)
"""How the software executes; None where its name tells nothing."""

WHOLE: Final = Lore(
    Belief(says=True, device=WHOLE_PROGRAMS, why="XLA, Poplar, SynapseAI, CANN"),
    otherwise=False,
)
"""Whether the device runs nothing else than what a compiler makes of a whole network."""

NARROW: Final = frozenset({Precision.FP16, Precision.BF16})
MATRIX: Final = NARROW | {Precision.TF32}

CHANNELS_LAST: Final = Lore(
    Belief(says=MATRIX, source=MLPERF, why="every submission in 16 bits keeps channels last"),
    Belief(
        says=frozenset[Precision](),
        framework="tensorflow",
        network="(?i)^(unet_3d|vnet)",
        why="TensorFlow transposes volumes before every convolution on a device (conv_ops_3d.cc, "
        "from memory)",
    ),
    Belief(
        says=NARROW,
        framework=r"pytorch \(ngc\)",
        network="(?i)^(resn|se-resn|efficientnet)",
        why="these recipes set memory-format nhwc with mixed precision (from memory)",
    ),
    Belief(
        says=MATRIX,
        framework=r"pytorch \(ngc\)",
        network="(?i)^ssd",
        why="this recipe has data-layout channels_last by default (from memory)",
    ),
    Belief(
        says=frozenset[Precision](),
        framework="torch",
        why="PyTorch keeps channels first unless it is told otherwise",
    ),
    otherwise=NARROW,
)
"""Precisions for which channels of pictures stand last, as matrix units read them."""
