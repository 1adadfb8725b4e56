"""What stands for the blanks of a table, and why.

No entry was chosen by its effect on an error: each follows from the software or the paper that it
names. Every use is listed in the reason of the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.measured.coverage import Default
from foretrain.plan.plan import AXES, Recompute, Sends
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Optimizer, Precision

WHOLE_TRAINING = Default(
    value="train",
    words="every parameter is trained",
    why="what training means unless a source says otherwise",
)
ADAM = Default(
    value=Optimizer.ADAM,
    words="optimizer Adam",
    why="the tables have no column for it; language models of these years are trained with Adam",
)
MOMENTUM = Default(
    value=Optimizer.MOMENTUM,
    words="optimizer SGD with momentum",
    why="the tables have no column for it; the recipe of he2016",
)
IMAGE = Default(
    value=224,
    words="images of 224 pixels",
    why="the size of he2016, for which the reference recipes of classification are written",
)
IMAGES: Mapping[str, Default[int]] = MappingProxyType(
    {
        name: Default(value=pixels, words=f"images of {pixels} pixels", why=why)
        for name, pixels, why in (
            ("efficientnet-b4", 380, "tan2019, the size that belongs to B4"),
            ("efficientnet-widese-b4", 380, "tan2019, the size that belongs to B4"),
            ("efficientnet-v2-s", 300, "tan2021, the last of its growing images"),
            ("efficientdet-d0", 512, "tan2020, table 1"),
            ("retinanet-resnext-50", 800, "the rules of MLPerf"),
        )
    }
)
"""Pixels for which the authors of a network train it, where they are not 224."""

RESNET_VERSION = Default(
    value="",
    words="version 1.5 of ResNet",
    why="the one that frameworks have shipped since 2018",
)
FIRST_RESNET = Default(
    value="-v1",
    words="ResNet as first published",
    why="what resnet50 of tf_cnn_benchmarks was in 2017 (its models/resnet_model.py)",
)
VOLUMES = Default(
    value="nnunet-3d",
    words="nnU-Net of volumes",
    why="the table has no column for the dimension; its source runs volumes in batches of 1 to 4",
)
SLICES = Default(
    value="nnunet-2d",
    words="nnU-Net of slices",
    why="the table has no column for the dimension; its source runs slices in batches from 32 on",
)
SEQUENCES: Mapping[str, Default[int]] = MappingProxyType(
    {
        name: Default(value=tokens, words=f"samples of {tokens} tokens", why=why)
        for name, tokens, why in (
            ("bert-large", 384, "SQuAD, the only task of such rows, is trained so (devlin2019)"),
            ("bert-base-cased", 128, "the entity recognition of BioBERT is trained so (lee2020)"),
            ("transformer-xl-base", 192, "tgt_len of NVIDIA's recipe (from memory)"),
            ("transformer-xl-large", 384, "tgt_len of NVIDIA's recipe (from memory)"),
            (
                "llama-2-13b",
                4096,
                "the context of touvron2023, and torchtitan's default then",
            ),
            (
                "llama-2-70b",
                4096,
                "the context of touvron2023, and torchtitan's default then",
            ),
        )
    }
)
"""Tokens per sample of models whose rows may not state it."""

DEPTH = Default(
    value=128,
    words="a decoder of the stated parameters, 128 times as wide as deep",
    why="the ratio of narayanan2021, table 1, lies between 96 and 200",
)
HEAD_WIDTH = Default(
    value=128,
    words="heads of width 128",
    why="narayanan2021, table 1, from 18 billion parameters on",
)
VOCABULARY = Default(
    value=51200,
    words="a vocabulary of 51200",
    why="GPT-2's, padded as in narayanan2021",
)
NO_PREDICTION = Default(
    value="",
    words="no multi-token prediction",
    why="an option of the trainer; rows that use it say so",
)
LORA = Default(
    value=16,
    words="adapters of rank 16 on every product of attention",
    why="the rules of MLPerf for Llama 2 70B; recipes of the same software follow them",
)
NODE_DEVICES = Default(
    value=8,
    words="eight devices in a node",
    why="what the nodes of every cluster hold that stands in for those of a row",
)
NO_SHARDING = Default(
    value=0,
    words="nothing sharded over the data axis",
    why="what a trainer does unless it is told otherwise",
)
OPTIMIZER_SHARDING = Default(
    value=1,
    words="the optimizer sharded over the data axis",
    why="what the recipes of Megatron-Bridge, and of NeMo for MLPerf, do unless a row differs",
)
NO_CONTEXT = Default(
    value=1,
    words="no context axis",
    why="what every trainer does unless it is told otherwise",
)
WHOLE_EXPERTS = Default(
    value=1,
    words="experts whole on their devices",
    why="expert tensor parallelism is an option, off in the recipes of Megatron-Bridge",
)
WHOLE_SHARE = Default(
    value=True,
    words="each replica's share of a batch in one micro-batch",
    why="what a trainer without a pipeline does unless it is told to accumulate",
)
SINGLE_SAMPLES = Default(
    value=1,
    words="micro-batches of one sample",
    why="the smallest make the smallest bubble; what most pipelines of the tables state",
)
NO_ACCUMULATION = Default(
    value=1,
    words="no accumulation of micro-batches",
    why="what a trainer does unless it is told otherwise",
)
FEWER_CHUNKS = Default(
    value=True,
    words="fewer chunks per stage than stated: embedding and head count as layers there",
    why="the option of Megatron-LM that such rows use; only blocks are cut here",
)
BALANCED_CUT = Default(
    value=True,
    words="layers cut so that the slowest stage is quickest",
    why="they do not divide evenly, and no column says which stage has fewer",
)
NO_INTERLEAVING = Default(
    value=1,
    words="no interleaving",
    why="what Megatron-LM does unless it is told otherwise",
)
RECOMPUTE_AS_NEEDED = Default(
    value=(Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL),
    words="the first that fits of no, selective and full recomputation",
    why="recipes of Megatron-Bridge and of NeMo for MLPerf are tuned: the least that fits",
)
NO_RECOMPUTE = Default(
    value=(Recompute.NONE,),
    words="nothing recomputed",
    why="trainers keep activations unless they are told otherwise",
)
NO_SEQUENCE_PARALLEL = Default(
    value=False,
    words="no sequence parallelism",
    why="an option that Megatron-LM has had since 2022 and that is off unless it is named",
)
SEQUENCE_PARALLEL = Default(
    value=True,
    words="sequence parallelism",
    why="on in the recipes of NeMo (from 2023) and Megatron-Bridge with a tensor axis",
)
PLAIN_ATTENTION = Default(
    value=Attention.PLAIN,
    words="plain attention (measured before flash attention was published)",
    why="dao2022 appeared on 27 May 2022",
)
UNFUSED_ATTENTION = Default(
    value=Attention.PLAIN,
    words="plain attention (of this software)",
    why="models of NVIDIA's DeepLearningExamples compute scores, softmax and context one by one",
)
FLASH_ATTENTION = Default(
    value=Attention.FLASH,
    words="flash attention",
    why="the default of current trainers",
)
BLOCKING_SENDS = Default(
    value=Sends.BLOCKING,
    words="sends between stages block",
    why="Megatron-LM waits for its sends; since 2023 it overlaps them where it interleaves",
)
OVERLAPPED_SENDS = Default(
    value=Sends.OVERLAPPED,
    words="sends between stages overlap with compute",
    why="Megatron-LM since 2023 where it interleaves; trainers that schedule by events",
)
HEADS_PER_KV_HEAD = Default(
    value=1,
    words="as many key-value heads as heads",
    why="vaswani2017; models that group their queries state how",
)
FOUR_HIDDEN = Default(
    value=4,
    words="feed-forward width of four times the hidden size",
    why="vaswani2017, section 3.3, and every GPT of the tables that states it",
)
RANK_ORDER = Default(
    value=AXES,
    words="ranks in the order tensor, data, pipeline",
    why="the tables have no column for it; the order of Megatron-LM (narayanan2021, section 3.2)",
)
SIXTEEN_BIT = Default(
    value=Precision.FP16,
    words="activations of 16 bits",
    why="a share of activations is a formula of korthikanti2022, which counts 16-bit values",
)
BRAIN_FLOAT = Default(
    value=Precision.BF16,
    words="bf16",
    why="mixed precision of 16 bits is what such runs are for, and bf16 needs no loss scale",
)
HALF_FLOAT = Default(
    value=Precision.FP16,
    words="fp16",
    why="mixed precision of 16 bits is what such runs are for, and the device has no bf16",
)
TF32_AS_FP32 = Default(
    value=Precision.TF32,
    words="tf32 for fp32",
    why="NVIDIA's containers compute fp32 products in tf32 on devices that can, since 20.06",
)
FP8_OF_MLPERF = Default(
    value=Precision.FP8,
    words="fp8",
    why="the row's note: submissions of this benchmark use FP8 linear layers",
)
