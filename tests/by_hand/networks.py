"""Two layers small enough to be counted by hand; no two sizes are alike, so that none passes for
another.

Values have 2 bytes (bf16), gradients 4, Adam's state 12 with the fp32 copy of a weight.
"""

from functools import cache

from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import LanguageModel, language_model
from foretrain.workload.workload import Workload

BATCH = 16  # samples per step, one to a micro-batch
TOKENS = 24
HIDDEN = 36
HEADS = 8  # of 6 values each
QUERY = 48  # all query heads
KEY = 24  # all key heads, of which there are 4; values are as wide
WIDE = 52  # each of the two branches of the feed-forward part
VOCABULARY = 88

EXPERTS = 4
CHOSEN = 2
EXPERT_WIDE = 20
SHARED_WIDE = 28
BUSIEST = 1.25  # tokens of the busiest member of the expert axis over the mean

VALUE = 2  # bytes of an activation or a weight in bf16
GRADIENT = 4  # korthikanti2022, section 4.1: gradients are added up in fp32
STATE = 12  # two moments and the fp32 weight; rajbhandari2020, section 3.1 (K = 12)
STREAM = TOKENS * HIDDEN  # values between two layers: s h of the papers, b = 1
ATTENDED = TOKENS * TOKENS  # pairs of tokens

_HEADS = Heads(heads=HEADS, kv_heads=4, width=6)
_EXPERTS = Experts(
    count=EXPERTS,
    chosen=CHOSEN,
    each=FeedForward(width=EXPERT_WIDE, gated=True),
    shared=FeedForward(width=SHARED_WIDE, gated=True),
    imbalance=BUSIEST,
)


@cache
def network(*, layers=2, routed=False):
    """So many equal layers between an embedding and a head: gated and dense, or of experts."""
    part = _EXPERTS if routed else FeedForward(width=WIDE, gated=True)
    shape = LanguageModel(
        hidden=HIDDEN,
        embedding=Embedding(vocabulary=VOCABULARY),
        runs=(Run(blocks=(Block(mixer=_HEADS, feed_forward=part),), repeats=layers),),
        head=LanguageHead(),
    )
    model = language_model("two layers by hand", shape, sequence=TOKENS)
    return Workload(model=model, global_batch=BATCH)
