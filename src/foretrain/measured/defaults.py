"""What stands for the blanks of a table, and why.

No entry was chosen by its effect on an error: each follows from the software or the paper that it
names. Every use is listed in the reason of the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.measured.coverage import Default
from foretrain.plan.plan import AXES
from foretrain.trainers.vocabulary import AS_NEEDED
from foretrain.workload.gradients import CODECS
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
SEQUENCES: Mapping[str, Default[int]] = MappingProxyType(
    {
        name: Default(value=tokens, words=f"samples of {tokens} tokens", why=why)
        for name, tokens, why in (
            ("bert-large", 384, "SQuAD, the only task of such rows, is trained so (devlin2019)"),
            ("bert-base-cased", 128, "the entity recognition of BioBERT is trained so (lee2020)"),
            ("gpt-2-355m", 1024, "its learned positions (radford2019)"),
            ("bart-large", 1024, "the longest source of its summaries (lewis2020)"),
            ("gnmt", 32, "as for the Transformer, which reads the same sentences"),
            ("transformer-big", 32, "a sentence of WMT 2014 in pieces, per side (from memory)"),
            ("transformer-xl-base", 192, "tgt_len of NVIDIA's wt103_base.yaml"),
            ("transformer-xl-large", 384, "tgt_len of NVIDIA's wt103_large.yaml"),
            (
                "jasper-10x5",
                1230,
                "LibriSpeech, which such rows read: 12.3 s a sample on average (from memory)",
            ),
            ("quartznet-15x5", 1230, "as for Jasper"),
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
HEAD_WIDTHS: Default[Mapping[int, int]] = Default(
    value=MappingProxyType({2048: 128, 1: 64}),
    words="heads as wide as those of models of that hidden size: near 128, below 2048 near 64",
    why="brown2020, table 2.1; narayanan2021, table 1; whole heads that the tensor axis divides",
)
"""Width of heads, from a hidden size on; the first that applies."""

LAYERS_OF_PARAMETERS = Default(
    value=True,
    words="as many layers as the stated parameters fill",
    why="what is left of them beside the embedding, over those of a layer of the stated widths",
)
CONTEXT = Default(
    value=2048,
    words="samples of 2048 tokens",
    why="the context of brown2020, which decoders of a stated size without a name follow",
)
VOCABULARY = Default(
    value=51200,
    words="a vocabulary of 51200",
    why="GPT-2's, padded as in narayanan2021",
)
WORD_PIECES = Default(
    value=30592,
    words="a vocabulary of 30592",
    why="the 30522 of devlin2019, which every BERT of the tables that states one has, made a "
    "multiple of 128 as Megatron-LM does by default",
)
NO_PREDICTION = Default(
    value=False,
    words="no multi-token prediction",
    why="an option of the trainer; rows that use it say so",
)
PREDICTION_AHEAD = Default(
    value=True,
    words="multi-token prediction",
    why="rows of DeepSeek-V3 that do not say state as many FLOP per token (0.260 TFLOP) as the one "
    "with it; those without it state 0.250. Nemotron 3 Super's state those of two layers of it",
)
LORA = Default(
    value=16,
    words="adapters of rank 16 on every product of attention",
    why="the rules of MLPerf for Llama 2 70B; recipes of the same software follow them",
)
LONGEST_OF_LLAMA = Default(
    value=1304,
    words="the longest sample of Alpaca has 1304 tokens",
    why="upper end of the table's own note (1.0 to 1.3 thousand); Llama's 32 thousand pieces need "
    "more tokens for a text than the others' 50 thousand (from memory)",
)
LONGEST_OF_NEOX = Default(
    value=1037,
    words="the longest sample of Alpaca has 1037 tokens",
    why="lower end of the table's own note, for vocabularies of 50 thousand pieces (from memory)",
)
HALF_STORAGE = Default(
    value=Precision.FP32,
    words="16-bit values are computed with, and moved, as fp32",
    why="the device has no 16-bit units; libraries widen values that are stored in 16 bits",
)
OF_LIBAI = Default(
    value="V100 SXM 32GB",
    words="V100 SXM devices of 32 GB",
    why="its publisher's other table (DLPerf) was run on nodes of eight V100 SXM; 24 samples of "
    "BERT without recomputation need more than 16 GB (korthikanti2022, equation 1)",
)
BETWEEN_LIBAI = Default(
    value="InfiniBand EDR 100Gbps per node",
    words="one adapter of 100 Gb/s in a node",
    why="what the nodes of its publisher's other table (DLPerf) have",
)
NODE_DEVICES = Default(
    value=8,
    words="eight devices in a node",
    why="what the nodes of every cluster hold that stands in for those of a row",
)
FP16_GRADIENTS = Default(
    value=CODECS["fp16"],
    words="gradients added up and reduced in fp16",
    why="two bytes a gradient beside fp16 weights (rajbhandari2020, section 3.1)",
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
ROUNDED_SHARES = Default(
    value=True,
    words="every replica as many samples as the one with most: they do not divide evenly",
    why="a synchronous step waits for the slowest replica",
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
RECOMPUTE_TO_FIT = Default(
    value=AS_NEEDED,
    words="as much recomputation as the device asks for",
    why="a run whose memory was measured had enough of it",
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
FP8_OF_ROUNDS = Default(
    value=Precision.FP8,
    words="fp8, as runs of the same round",
    why="submissions to MLPerf that state it have linear layers in 8 bits on devices where these "
    "are quicker; those that do not state it run the same code",
)
FP8_OF_MLPERF = Default(
    value=Precision.FP8,
    words="fp8",
    why="the row's note: submissions of this benchmark use FP8 linear layers",
)
