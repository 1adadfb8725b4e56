"""Every pair of axes and shardings, written out where the two meet; as in `written`."""

from tests.by_hand.written import CORE, FIRST, HALVES, LAST, PRODUCTS, WHOLE

# Of two members of the tensor axis, on two stages; the largest block of theirs.
HALF_BLOCK = PRODUCTS / 2 + 2 * 36
HALF_FIRST, HALF_LAST = 88 * 18 + HALF_BLOCK, HALF_BLOCK + 88 * 18 + 36

# With experts: 4 of 20 columns, 2 chosen by a router (36 x 4), and a shared one of 28.
DENSE = 36 * 96 + 48 * 36 + 3 * 36 * 28
COMMON = 88 * 36 + 2 * (DENSE + 36 * 4 + 2 * 36) + 88 * 36 + 36  # all but the experts
COMMON_HALVES = 88 * 18 + 2 * (DENSE / 2 + 36 * 4 + 2 * 36) + 88 * 18 + 36  # tensor 2
EXPERTS = 2 * 4 * 3 * 36 * 20  # of both blocks

LARGEST = DENSE + 36 * 4 + 2 * 36  # a block without its experts
HALF_LARGEST = DENSE / 2 + 36 * 4 + 2 * 36
# Attention, what the router keeps (fp32 scores of 4 experts), shared expert; routed ones, twice.
ATTENDING = 3 * 2 * 24 * 36 + 2 * 24 * (48 + 2 * 24 + 48) + 4 * 8 * 24
CHOOSING = 2 * 24 * 36 + 4 * 24 * 4 + 2 * 24 * 3 * 28
HEAD = 2 * 2 * 24 * 36 + 4 * 24 * 88

ROUTED = {
    "one device": {
        "flop forward": 2 * (2 * 24 * (DENSE + 36 * 4 + 2 * 3 * 36 * 20) + CORE) + 2 * 24 * 36 * 88,
        "flop backward": (
            2 * (2 * 2 * 24 * (DENSE + 36 * 4 + 2 * 3 * 36 * 20) + 2.5 * CORE)
            + 2 * 2 * 24 * 36 * 88
        ),
        "flop weights": 2 * 2 * 24 * (DENSE + 36 * 4 + 2 * 3 * 36 * 20) + 2 * 24 * 36 * 88,
        # Up to the second norm 7; router and 8 that choose; shared expert 3; 5 that send, experts
        # 3, 3 that take back; the addition.
        "launches forward": 3 + 2 * (7 + 9 + 3 + 11 + 1) + 6,
        "launches backward": 3 + 2 * (31 + 7) + 7,
        "launches weights": 2 * 7 + 1,
        "kernels forward": 3 + 2 * 31 + 6,
        "kernels backward": 3 + 2 * (31 + 7) + 7,
        "bytes of weights": 2 * (COMMON + EXPERTS),
        "bytes of gradients": 4 * (COMMON + EXPERTS),
        "bytes of optimizer": 12 * (COMMON + EXPERTS),
        # Two copies of every token: what experts read, both their branches, the product.
        "bytes of activations": (2 * (ATTENDING + CHOOSING + 2 * 24 * 2 * (36 + 3 * 20)) + HEAD),
        "traffic update": 38 * (COMMON + EXPERTS),
        "kernels update": 1,
    },
    # lepikhin2020, section 3.2: tokens there and back in both passes. deepseek2024v3, section
    # 3.2.2: two of four experts are 4 (1 - (3/4)^2) = 1.75 members, of which 3/4 are others.
    # The busiest has 1.25 times the mean. Nobody else has its expert.
    "experts": {
        "flop forward": (
            2 * (2 * 24 * (DENSE + 36 * 4 + 1.25 * 2 * 3 * 36 * 20) + CORE) + 2 * 24 * 36 * 88
        ),
        "flop backward": (
            2 * (2 * 2 * 24 * (DENSE + 36 * 4 + 1.25 * 2 * 3 * 36 * 20) + 2.5 * CORE)
            + 2 * 2 * 24 * 36 * 88
        ),
        "flop weights": (2 * 2 * 24 * (DENSE + 36 * 4 + 1.25 * 2 * 3 * 36 * 20) + 2 * 24 * 36 * 88),
        "wire expert": 2 * 4 * 1.25 * 1.75 * 3 / 4 * 2 * 24 * 36,
        "calls expert": 2 * 4,
        "wire gradients": 2 * 3 / 4 * 4 * COMMON,
        "calls gradients": 1,
        "bytes of weights": 2 * (COMMON + EXPERTS / 4),
        "bytes of gradients": 4 * (COMMON + EXPERTS / 4),
        "bytes of optimizer": 12 * (COMMON + EXPERTS / 4),
        "bytes of activations": (
            2 * (ATTENDING + CHOOSING + 1.25 * 2 * 24 * 2 * (36 + 3 * 20)) + HEAD
        ),
        "traffic update": 38 * (COMMON + EXPERTS / 4),
    },
    # nvidia-moe (expert tensor parallelism): sums of both copies of every token, there and back.
    "tensor experts": {
        "flop forward": (
            2 * (2 * 24 * (DENSE / 2 + 36 * 4 + 2 * 3 * 36 * 10) + CORE / 2) + 2 * 24 * 36 * 44
        ),
        "flop backward": (
            2 * (2 * 2 * 24 * (DENSE / 2 + 36 * 4 + 2 * 3 * 36 * 10) + 2.5 * CORE / 2)
            + 2 * 2 * 24 * 36 * 44
        ),
        "flop weights": 2 * 2 * 24 * (DENSE / 2 + 36 * 4 + 2 * 3 * 36 * 10) + 2 * 24 * 36 * 44,
        "wire tensor": (1 + 2 * 4 + 1) * 2 * 1 / 2 * 2 * 24 * 36,
        "calls tensor": 1 + 2 * 4 + 1,
        "wire expert": 2 * 2 * 2 * 1 / 2 * 2 * 24 * 2 * 36,
        "calls expert": 2 * 2,
        "bytes of weights": 2 * (COMMON_HALVES + EXPERTS / 2),
        "bytes of gradients": 4 * (COMMON_HALVES + EXPERTS / 2),
        "bytes of optimizer": 12 * (COMMON_HALVES + EXPERTS / 2),
        "bytes of activations": (
            2 * 3 * 2 * 24 * 36
            + (2 * 24 * (48 + 2 * 24 + 48) + 4 * 8 * 24)  # attention
            + 2 * (2 * 24 * 36 + 4 * 24 * 4)
            + 2 * 24 * 3 * 28  # router, half of the shared expert
            + 2 * 2 * 24 * 2 * (36 + 3 * 10)  # whole rows into half of each expert
            + 2 * 2 * 24 * 36
            + 4 * 24 * 44
        ),
        "traffic update": 38 * (COMMON_HALVES + EXPERTS / 2),
    },
}

PAIRS = {
    # ---- Replicas that share layers: half of the parameters, as many replicas ----
    "data + tensor | sequence": {"wire gradients": 2 * 3 / 4 * 4 * HALVES},
    "sharded optimizer + tensor | sequence": {
        "wire gradients": 3 / 4 * 4 * HALVES,
        "wire parameters": 3 / 4 * 2 * HALVES,
        "bytes of optimizer": 12 * HALVES / 4,
        "traffic update": (8 + 30 / 4) * HALVES,
    },
    "sharded gradients + tensor | sequence": {
        "wire reduced": 3 / 4 * 4 * HALVES,
        "wire parameters": 3 / 4 * 2 * HALVES,
        "bytes of gradients": 4 * HALVES / 4,
        "bytes of optimizer": 12 * HALVES / 4,
        "bytes of buffers": 2 * 4 * HALF_BLOCK,
        "traffic update": 38 / 4 * HALVES,
    },
    "sharded parameters + tensor | sequence": {
        "wire gathered": 2 * 3 / 4 * 2 * HALVES,
        "wire reduced": 3 / 4 * 4 * HALVES,
        "bytes of weights": 2 * HALVES / 4,
        "bytes of gradients": 4 * HALVES / 4,
        "bytes of optimizer": 12 * HALVES / 4,
        "bytes of buffers": 2 * (2 + 4) * HALF_BLOCK,
        "traffic update": 38 / 4 * HALVES,
    },
    "kept parameters + tensor | sequence": {
        "wire parameters": 3 / 4 * 2 * HALVES,
        "wire reduced": 3 / 4 * 4 * HALVES,
        "bytes of weights": 2 * HALVES,
        "bytes of gradients": 4 * HALVES / 4,
        "bytes of buffers": 2 * 4 * HALF_BLOCK,
    },
    "shards of two + tensor | sequence": {
        "wire gathered": 2 * 1 / 2 * 2 * HALVES,
        "wire reduced": 1 / 2 * 4 * HALVES,
        "wire gradients": 2 * 1 / 2 * 4 * HALVES / 2,
        "bytes of weights": 2 * HALVES / 2,
        "bytes of buffers": 2 * (2 + 4) * HALF_BLOCK,
    },
    # ---- Replicas that share tokens: 4 x 2 devices hold the same parameters ----
    "data + ring | all-to-all": {"wire gradients": 2 * 7 / 8 * 4 * WHOLE},
    "sharded optimizer + ring | all-to-all": {
        "wire gradients": 7 / 8 * 4 * WHOLE,
        "wire parameters": 7 / 8 * 2 * WHOLE,
        "bytes of optimizer": 12 * WHOLE / 8,
        "traffic update": (8 + 30 / 8) * WHOLE,
    },
    "sharded gradients + ring | all-to-all": {
        "wire reduced": 7 / 8 * 4 * WHOLE,
        "wire gradients": 0,
        "wire parameters": 7 / 8 * 2 * WHOLE,
        "bytes of gradients": 4 * WHOLE / 8,
        "bytes of optimizer": 12 * WHOLE / 8,
        "traffic update": 38 / 8 * WHOLE,
    },
    "sharded parameters + ring | all-to-all": {
        "wire gathered": 2 * 7 / 8 * 2 * WHOLE,
        "wire reduced": 7 / 8 * 4 * WHOLE,
        "wire gradients": 0,
        "bytes of weights": 2 * WHOLE / 8,
        "bytes of gradients": 4 * WHOLE / 8,
        "bytes of optimizer": 12 * WHOLE / 8,
    },
    "kept parameters + ring | all-to-all": {
        "wire parameters": 7 / 8 * 2 * WHOLE,
        "wire reduced": 7 / 8 * 4 * WHOLE,
        "wire gradients": 0,
        "bytes of weights": 2 * WHOLE,
    },
    "shards of two + ring | all-to-all": {  # four copies
        "wire gathered": 2 * 1 / 2 * 2 * WHOLE,
        "wire reduced": 1 / 2 * 4 * WHOLE,
        "wire gradients": 2 * 3 / 4 * 4 * WHOLE / 2,
        "bytes of weights": 2 * WHOLE / 2,
    },
    # ---- Replicas with experts: four hold what is common, one each expert ----
    "data + experts": {
        "wire gradients": 2 * 3 / 4 * 4 * COMMON,
        "calls gradients": 1,
    },
    "sharded optimizer + experts": {
        "wire gradients": 3 / 4 * 4 * COMMON,
        "wire parameters": 3 / 4 * 2 * COMMON,
        "bytes of optimizer": 12 * (COMMON / 4 + EXPERTS / 4),
        "traffic update": (8 + 30 / 4) * COMMON + 38 * EXPERTS / 4,
    },
    "sharded gradients + experts": {
        "wire reduced": 3 / 4 * 4 * COMMON,
        "calls reduced": 4,
        "wire parameters": 3 / 4 * 2 * COMMON,
        "bytes of gradients": 4 * (COMMON / 4 + EXPERTS / 4),
        "bytes of buffers": 2 * 4 * LARGEST,
    },
    "sharded parameters + experts": {
        "wire gathered": 2 * 3 / 4 * 2 * COMMON,
        "calls gathered": 2 * 4,
        "wire reduced": 3 / 4 * 4 * COMMON,
        "bytes of weights": 2 * (COMMON / 4 + EXPERTS / 4),
        "bytes of buffers": 2 * (2 + 4) * LARGEST,
    },
    "kept parameters + experts": {
        "wire parameters": 3 / 4 * 2 * COMMON,
        "bytes of weights": 2 * (COMMON + EXPERTS / 4),
        "bytes of gradients": 4 * (COMMON / 4 + EXPERTS / 4),
    },
    "shards of two + experts": {
        "wire gathered": 2 * 1 / 2 * 2 * COMMON,
        "wire gradients": 2 * 1 / 2 * 4 * COMMON / 2,
        "bytes of weights": 2 * (COMMON / 2 + EXPERTS / 4),
    },
    # Halves of experts have as many replicas as the rest: each kind is exchanged by itself.
    "data + tensor experts": {
        "wire gradients": 2 * 3 / 4 * 4 * (COMMON_HALVES + EXPERTS / 2),
        "calls gradients": 2,
    },
    "sharded optimizer + tensor experts": {
        "wire gradients": 3 / 4 * 4 * (COMMON_HALVES + EXPERTS / 2),
        "wire parameters": 3 / 4 * 2 * (COMMON_HALVES + EXPERTS / 2),
        "bytes of optimizer": 12 * (COMMON_HALVES + EXPERTS / 2) / 4,
    },
    "sharded gradients + tensor experts": {
        "wire reduced": 3 / 4 * 4 * (COMMON_HALVES + EXPERTS / 2),
        "calls reduced": 4 + 2,  # two blocks have experts besides
        "bytes of buffers": 2 * 4 * (HALF_LARGEST + 4 * 3 * 36 * 10),
    },
    "sharded parameters + tensor experts": {
        "wire gathered": 2 * 3 / 4 * 2 * (COMMON_HALVES + EXPERTS / 2),
        "calls gathered": 2 * (4 + 2),
        "bytes of weights": 2 * (COMMON_HALVES + EXPERTS / 2) / 4,
        "bytes of buffers": 2 * (2 + 4) * (HALF_LARGEST + 4 * 3 * 36 * 10),
    },
    "kept parameters + tensor experts": {
        "wire parameters": 3 / 4 * 2 * (COMMON_HALVES + EXPERTS / 2),
        "bytes of weights": 2 * (COMMON_HALVES + EXPERTS / 2),
    },
    "shards of two + tensor experts": {
        "wire gathered": 2 * 1 / 2 * 2 * (COMMON_HALVES + EXPERTS / 2),
        "wire gradients": 2 * 1 / 2 * 4 * (COMMON_HALVES + EXPERTS / 2) / 2,
        "calls gradients": 2,
    },
    # ---- Replicas of stages: each stage exchanges what it has ----
    "data + pipeline": {"wire gradients": (2 * 3 / 4 * 4 * FIRST, 2 * 3 / 4 * 4 * LAST)},
    "sharded optimizer + pipeline": {
        "wire gradients": (3 / 4 * 4 * FIRST, 3 / 4 * 4 * LAST),
        "wire parameters": (3 / 4 * 2 * FIRST, 3 / 4 * 2 * LAST),
        "bytes of optimizer": (12 * FIRST / 4, 12 * LAST / 4),
    },
    "sharded gradients + pipeline": {
        "wire reduced": (3 / 4 * 4 * FIRST, 3 / 4 * 4 * LAST),
        "calls reduced": (2, 2),
        "wire parameters": (3 / 4 * 2 * FIRST, 3 / 4 * 2 * LAST),
        "bytes of buffers": (4 * FIRST, 4 * LAST),  # both layers that a stage has
    },
    "sharded parameters + pipeline": {
        "wire gathered": (2 * 3 / 4 * 2 * FIRST, 2 * 3 / 4 * 2 * LAST),
        "calls gathered": (2 * 2, 2 * 2),
        "bytes of weights": (2 * FIRST / 4, 2 * LAST / 4),
        "bytes of buffers": ((2 + 4) * FIRST, (2 + 4) * LAST),
    },
    "kept parameters + pipeline": {
        "wire parameters": (3 / 4 * 2 * FIRST, 3 / 4 * 2 * LAST),
        "bytes of weights": (2 * FIRST, 2 * LAST),
    },
    "shards of two + pipeline": {
        "wire gradients": (2 * 1 / 2 * 4 * FIRST / 2, 2 * 1 / 2 * 4 * LAST / 2),
        "bytes of weights": (2 * FIRST / 2, 2 * LAST / 2),
    },
    # ---- Two ways to share a layer ----
    # Heads of 24 tokens go round, half of them; sums are those of 12 tokens.
    "tensor + ring": {
        "flop forward": (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE) / 4,
        "wire tensor": (1 + 2 * 4 + 1) * 2 * 1 / 2 * 2 * 12 * 36,
        "wire context": 2 * (1 + 2) * 1 / 2 * 2 * 24 * (12 + 12),
        "wire gradients": 2 * 1 / 2 * 4 * HALVES,
    },
    "sequence + ring": {
        "wire tensor": (1 + 2 * 4 + 1) * (1 / 2 + 1 / 2) * 2 * 12 * 36,
        "wire context": 2 * (1 + 2) * 1 / 2 * 2 * 24 * (12 + 12),
        "wire gradients": 2 * 1 / 2 * 4 * HALVES,
    },
    "tensor + all-to-all": {
        "wire tensor": (1 + 2 * 4 + 1) * 2 * 1 / 2 * 2 * 12 * 36,
        "wire context": 2 * 2 * 1 / 2 * 2 * 12 * (24 + 12 + 12 + 24),
        "wire gradients": 2 * 1 / 2 * 4 * HALVES,
    },
    "sequence + all-to-all": {
        "wire tensor": (1 + 2 * 4 + 1) * (1 / 2 + 1 / 2) * 2 * 12 * 36,
        "wire context": 2 * 2 * 1 / 2 * 2 * 12 * (24 + 12 + 12 + 24),
        "wire gradients": 2 * 1 / 2 * 4 * HALVES,
    },
    # Each of two members sends its 12 tokens to four experts; data 4 x tensor 2 have two of each.
    "sequence + experts": {
        "wire expert": 2 * 4 * 1.25 * 1.75 * 3 / 4 * 2 * 12 * 36,
        "wire gradients": 2 * 3 / 4 * 4 * COMMON_HALVES + 2 * 1 / 2 * 4 * EXPERTS / 4,
        "calls gradients": 2,
        "bytes of weights": 2 * (COMMON_HALVES + EXPERTS / 4),
        "flop forward": (
            2 * (2 * 24 * (DENSE / 2 + 36 * 4 / 2 + 1.25 * 2 * 3 * 36 * 20 / 2) + CORE / 2)
            + 2 * 24 * 36 * 44
        ),
    },
    # What came to both members is gathered and scattered instead of added up.
    "sequence + tensor experts": {
        "wire expert": 2 * 2 * (1 / 2 + 1 / 2) * 2 * 24 * 2 * 36,
        "calls expert": 2 * 2 * 2,
    },
    "ring | all-to-all + experts": {
        "wire expert": 2 * 4 * 1.25 * 1.75 * 3 / 4 * 2 * 12 * 36,
        # 8 hold what is common, 2 each expert.
        "wire gradients": 2 * 7 / 8 * 4 * COMMON + 2 * 1 / 2 * 4 * EXPERTS / 4,
        "bytes of weights": 2 * (COMMON + EXPERTS / 4),
    },
    "ring | all-to-all + tensor experts": {
        "wire expert": 2 * 2 * 2 * 1 / 2 * 2 * 12 * 2 * 36,
        "wire gradients": 2 * 1 / 2 * 4 * (COMMON_HALVES + EXPERTS / 2),
    },
    # ---- Stages of shared layers ----
    # narayanan2021, section 4.1: each member sends its part of the tokens, and gets its part.
    "tensor | sequence + pipeline": {
        "wire send": (2 * 24 * 36 / 2, 2 * 24 * 36 / 2),
        "bytes of weights": (2 * HALF_FIRST, 2 * HALF_LAST),
        "wire tensor": ((1 + 4) * 2 * 24 * 36, (4 + 1) * 2 * 24 * 36),
    },
    "ring + pipeline": {
        "wire send": (2 * 12 * 36, 2 * 12 * 36),
        "wire context": ((1 + 2) * 1 / 2 * 2 * 24 * 48, (1 + 2) * 1 / 2 * 2 * 24 * 48),
    },
    "all-to-all + pipeline": {
        "wire send": (2 * 12 * 36, 2 * 12 * 36),
        "wire context": (2 * 1 / 2 * 2 * 12 * 144, 2 * 1 / 2 * 2 * 12 * 144),
    },
    "experts + pipeline": {
        "wire expert": (
            4 * 1.25 * 1.75 * 3 / 4 * 2 * 24 * 36,
            4 * 1.25 * 1.75 * 3 / 4 * 2 * 24 * 36,
        ),
        "wire send": (2 * 24 * 36, 2 * 24 * 36),
    },
    "tensor experts + pipeline": {
        "wire expert": (2 * 2 * 1 / 2 * 2 * 24 * 2 * 36, 2 * 2 * 1 / 2 * 2 * 24 * 2 * 36),
        "wire send": (2 * 24 * 36 / 2, 2 * 24 * 36 / 2),
    },
}
