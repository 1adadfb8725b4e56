"""What stands for the blanks of a table, and why.

No entry was chosen by its effect on an error: each follows from the software or the paper that it
names. Every use is listed in the reason of the row.
"""

from __future__ import annotations

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
    why="the size of he2016, for which the reference recipes of ResNet-50 are written",
)
RESNET_VERSION = Default(
    value="v1.5",
    words="version 1.5 of ResNet-50",
    why="the one that frameworks ship; the library has no other",
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
NO_INTERLEAVING = Default(
    value=1,
    words="no interleaving",
    why="what Megatron-LM does unless it is told otherwise",
)
NO_RECOMPUTE = Default(
    value=Recompute.NONE,
    words="nothing recomputed",
    why="tables of convolutional networks have no column for it; their trainers keep activations",
)
NO_SEQUENCE_PARALLEL = Default(
    value=False,
    words="no sequence parallelism",
    why="an option that Megatron-LM has had since 2022 and that is off unless it is named",
)
PLAIN_ATTENTION = Default(
    value=Attention.PLAIN,
    words="plain attention (measured before flash attention was published)",
    why="dao2022 appeared on 27 May 2022",
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
