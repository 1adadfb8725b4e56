"""Every policy alone, and every pair of axes and shardings, written out as arithmetic.

Keys name policies of `tests/step/strategies/policies.py`; `|` separates policies for which the
amounts are the same. Of one policy, what is not written is as on one device; of a pair, what is
written is where the two meet. A pipeline has an amount for each of its two stages.

The network (`networks`): 24 tokens of 36 values; 8 heads of 6 (48 wide), 4 of keys and values (24
wide each); two gated branches 52 wide; a table of 88 rows, which logits have of their own. Values
have 2 bytes, gradients 4, Adam's state 12. Degrees: data 4, all others 2.
"""

# Weights of a block: to queries, keys and values (36 x 96), back (48 x 36), two branches and back.
PRODUCTS = 36 * 96 + 48 * 36 + 3 * 36 * 52
BLOCK = PRODUCTS + 2 * 36  # and two norms (touvron2023, section 2.2: a scale each)
WHOLE = 88 * 36 + 2 * BLOCK + 88 * 36 + 36  # table, two blocks, logits, their norm
HALVES = 88 * 18 + 2 * (PRODUCTS / 2 + 2 * 36) + 88 * 18 + 36  # norms are on both members
FIRST, LAST = 88 * 36 + BLOCK, BLOCK + 88 * 36 + 36  # of two stages

CORE = 2 * 24 * 24 * 48  # FLOP: scores and outputs, 2 x 24 x 24 x 48 each, of which half is masked

# Bytes that a block keeps: inputs of two norms and of the products into them, queries and outputs,
# keys and values, both branches and their product; 4 bytes for each row of each of 8 heads.
INPUTS = 4 * 2 * 24 * 36
INNER = 2 * 24 * (48 + 2 * 24 + 48) + 2 * 24 * 3 * 52 + 4 * 8 * 24
KEPT = INPUTS + INNER
# The head: the inputs of its norm and of the logits, and an fp32 softmax (korthikanti2022, 4.3).
HEAD_INPUTS, HEAD_INNER = 2 * 2 * 24 * 36, 4 * 24 * 88

ALONE = {
    "one device": {
        # 2 FLOP for each weight and token; the fused core skips what is masked (dao2022).
        "flop forward": 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE,
        # chowdhery2022, appendix B: twice; the fused core 5 products for 2 (dao2022, algorithm 4).
        "flop backward": 2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE,
        "flop weights": 2 * 24 * (2 * PRODUCTS + 36 * 88),
        # Lookup; 11 for each block; norm, logits and 4 of the loss. One more for each product back.
        "launches forward": 3 + 2 * 11 + 6,
        "launches backward": 3 + 2 * (11 + 4) + 6 + 1,
        "launches weights": 2 * 4 + 1,
        "kernels forward": 3 + 2 * 11 + 6,
        "kernels backward": 3 + 2 * (11 + 4) + 6 + 1,
        # korthikanti2022, section 4.1: 18 bytes for each parameter.
        "bytes of weights": 2 * WHOLE,
        "bytes of gradients": 4 * WHOLE,
        "bytes of optimizer": 12 * WHOLE,
        "bytes of activations": 2 * KEPT + HEAD_INPUTS + HEAD_INNER,
        # Gradients read for their norm and cleared; gradients, two moments and the fp32 weight
        # read, the last three and the 16-bit weight written (kingma2015, algorithm 1).
        "traffic update": (4 + 4 + 4 + 12 + 12 + 2) * WHOLE,
        "kernels update": 1,
    },
    # ---- Replicas: rajbhandari2020, sections 2.1 and 7; patarasuk2009, equation 4 ----
    "data": {
        "wire gradients": 2 * 3 / 4 * 4 * WHOLE,
        "calls gradients": 1,
    },
    "sharded optimizer": {
        "wire gradients": 3 / 4 * 4 * WHOLE,  # reduce-scatter
        "calls gradients": 1,
        "wire parameters": 3 / 4 * 2 * WHOLE,  # all-gather
        "calls parameters": 1,
        "bytes of optimizer": 12 * WHOLE / 4,
        "traffic update": (8 + 30 / 4) * WHOLE,
    },
    "sharded gradients": {
        "wire reduced": 3 / 4 * 4 * WHOLE,  # in every backward pass
        "calls reduced": 4,  # table, two blocks, head
        "wire parameters": 3 / 4 * 2 * WHOLE,
        "calls parameters": 1,
        "bytes of gradients": 4 * WHOLE / 4,
        "bytes of optimizer": 12 * WHOLE / 4,
        "bytes of buffers": 2 * 4 * BLOCK,  # two blocks' gradients that are not reduced yet
        "traffic update": (8 + 30) / 4 * WHOLE,
    },
    "sharded parameters": {
        "wire gathered": 2 * 3 / 4 * 2 * WHOLE,  # before both passes
        "calls gathered": 2 * 4,
        "wire reduced": 3 / 4 * 4 * WHOLE,
        "calls reduced": 4,
        "bytes of weights": 2 * WHOLE / 4,
        "bytes of gradients": 4 * WHOLE / 4,
        "bytes of optimizer": 12 * WHOLE / 4,
        "bytes of buffers": 2 * (2 + 4) * BLOCK,
        "traffic update": (8 + 30) / 4 * WHOLE,
    },
    # zhao2023, section 3.2: what is not resharded is gathered once.
    "kept parameters": {
        "wire parameters": 3 / 4 * 2 * WHOLE,
        "calls parameters": 1,
        "wire reduced": 3 / 4 * 4 * WHOLE,
        "calls reduced": 4,
        "bytes of gradients": 4 * WHOLE / 4,
        "bytes of optimizer": 12 * WHOLE / 4,
        "bytes of buffers": 2 * 4 * BLOCK,
        "traffic update": (8 + 30) / 4 * WHOLE,
    },
    # zhao2023, section 3.2.2: two copies, each of two devices, whose halves are added up.
    "shards of two": {
        "wire gathered": 2 * 1 / 2 * 2 * WHOLE,
        "calls gathered": 2 * 4,
        "wire reduced": 1 / 2 * 4 * WHOLE,
        "calls reduced": 4,
        "wire gradients": 2 * 1 / 2 * 4 * WHOLE / 2,
        "calls gradients": 1,
        "bytes of weights": 2 * WHOLE / 2,
        "bytes of gradients": 4 * WHOLE / 2,
        "bytes of optimizer": 12 * WHOLE / 2,
        "bytes of buffers": 2 * (2 + 4) * BLOCK,
        "traffic update": (8 + 30) / 2 * WHOLE,
    },
    # ---- Members of a layer ----
    # shoeybi2019, section 3: every product is divided; 2 sums forward and 2 backward in a block,
    # one for the table forward, one for the logits backward; norms are whole.
    "tensor": {
        "flop forward": (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE) / 2,
        "flop backward": (2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE) / 2,
        "flop weights": 2 * 24 * (2 * PRODUCTS + 36 * 88) / 2,
        "wire tensor": (1 + 2 * 4 + 1) * 2 * 1 / 2 * 2 * 24 * 36,
        "calls tensor": 1 + 2 * 4 + 1,
        "bytes of weights": 2 * HALVES,
        "bytes of gradients": 4 * HALVES,
        "bytes of optimizer": 12 * HALVES,
        # korthikanti2022, equation 2: what every member repeats it keeps whole.
        "bytes of activations": 2 * (INPUTS + INNER / 2) + HEAD_INPUTS + HEAD_INNER / 2,
        "traffic update": 38 * HALVES,
    },
    # korthikanti2022, section 4.2.2: the same bytes in twice the calls, everything kept is divided.
    "sequence": {
        "flop forward": (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE) / 2,
        "flop backward": (2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE) / 2,
        "flop weights": 2 * 24 * (2 * PRODUCTS + 36 * 88) / 2,
        "wire tensor": (1 + 2 * 4 + 1) * (1 / 2 + 1 / 2) * 2 * 24 * 36,
        "calls tensor": (1 + 2 * 4 + 1) * 2,
        "bytes of weights": 2 * HALVES,
        "bytes of gradients": 4 * HALVES,
        "bytes of optimizer": 12 * HALVES,
        "bytes of activations": (2 * KEPT + HEAD_INPUTS + HEAD_INNER) / 2,
        "traffic update": 38 * HALVES,
    },
    # liu2023, section 3: keys and values of half of the tokens go to the other member; backward
    # again, and their gradients with them. Each member is a replica of the other.
    "ring": {
        "flop forward": (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE) / 2,
        "flop backward": (2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE) / 2,
        "flop weights": 2 * 24 * (2 * PRODUCTS + 36 * 88) / 2,
        "wire context": 2 * (1 + 2) * 1 / 2 * 2 * 24 * (24 + 24),
        "calls context": 2 * (1 + 2),
        "wire gradients": 2 * 1 / 2 * 4 * WHOLE,
        "calls gradients": 1,
        # The block that comes round is attended to, and merged, by kernels of their own: outputs,
        # backward gradients of queries, keys and values, each with what is there and the sum.
        "traffic context": 2 * 3 * 2 * 12 * (48 + 48 + 24 + 24),
        "launches forward": 3 + 2 * (11 + 2) + 6,
        "launches backward": 3 + 2 * (11 + 4 + 2) + 7,
        "kernels forward": 3 + 2 * (11 + 2) + 6,
        "kernels backward": 3 + 2 * (11 + 4 + 2) + 7,
        "bytes of activations": (2 * KEPT + HEAD_INPUTS + HEAD_INNER) / 2,
    },
    # grattafiori2024, section 3.3.2: keys and values of half of the tokens come from the other
    # member, once in either pass, and gradients of as many go back; attention waits for them.
    "gathered keys": {
        "flop forward": (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE) / 2,
        "flop backward": (2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE) / 2,
        "flop weights": 2 * 24 * (2 * PRODUCTS + 36 * 88) / 2,
        "wire context": 2 * (1 + 2) * 1 / 2 * 2 * 24 * (24 + 24),
        "calls context": 2 * (1 + 2),
        "wire gradients": 2 * 1 / 2 * 4 * WHOLE,
        "calls gradients": 1,
        "bytes of activations": (2 * KEPT + HEAD_INPUTS + HEAD_INNER) / 2,
    },
    # jacobs2023, section 3: queries, keys, values there, outputs back, in both passes.
    "all-to-all": {
        "flop forward": (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * CORE) / 2,
        "flop backward": (2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE) / 2,
        "flop weights": 2 * 24 * (2 * PRODUCTS + 36 * 88) / 2,
        "wire context": 2 * 2 * 1 / 2 * 2 * 24 / 2 * (48 + 24 + 24 + 48),
        "calls context": 2 * 2 * 4,
        "wire gradients": 2 * 1 / 2 * 4 * WHOLE,
        "calls gradients": 1,
        "bytes of activations": (2 * KEPT + HEAD_INPUTS + HEAD_INNER) / 2,
    },
    # ---- Attention, recomputation ----
    # korthikanti2022, appendix A and equation 1: all pairs of every head, whose softmax stays.
    "plain attention": {
        "flop forward": 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2 * CORE,
        "flop backward": 2 * (2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2 * CORE),
        "launches forward": 3 + 2 * (10 + 3) + 6,
        "launches backward": 3 + 2 * (10 + 3 + 6) + 7,
        "kernels forward": 3 + 2 * (10 + 3) + 6,
        "kernels backward": 3 + 2 * (10 + 3 + 6) + 7,
        "bytes of activations": (
            2 * (KEPT - 4 * 8 * 24 + 2 * 8 * 24 * 24) + HEAD_INPUTS + HEAD_INNER
        ),
    },
    # dao2022, section 3: a fused kernel keeps no scores that selective recomputation could drop.
    "selective recomputation": {},
    # chen2016; korthikanti2022, table 2: a block keeps 2 s b h, and computes forward again.
    "full recomputation": {
        "flop backward": (
            2 * 2 * 24 * (2 * PRODUCTS + 36 * 88)
            + 2 * 2.5 * CORE
            + 2 * 24 * 2 * PRODUCTS
            + 2 * CORE
        ),
        "launches backward": 3 + 2 * (11 + 4 + 11) + 7,
        "kernels backward": 3 + 2 * (11 + 4 + 11) + 7,
        "bytes of activations": 2 * 2 * 24 * 36 + HEAD_INPUTS + HEAD_INNER,
        "bytes of buffers": KEPT - 2 * 24 * 36,  # the block that is computed again
    },
    "recomputation of some layers": {  # one of two
        "flop backward": (
            2 * 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2.5 * CORE + 2 * 24 * PRODUCTS + CORE
        ),
        "launches backward": 3 + 2 * (11 + 4) + 11 + 7,
        "kernels backward": 3 + 2 * (11 + 4) + 11 + 7,
        "bytes of activations": KEPT + 2 * 24 * 36 + HEAD_INPUTS + HEAD_INNER,
        "bytes of buffers": KEPT - 2 * 24 * 36,
    },
    # ---- The host: ren2021, section 4; rajbhandari2021, section 5.2.3 ----
    "offloaded optimizer": {
        "pcie backward": 4 * WHOLE,  # every gradient as it comes
        "pcie offloaded": 2 * WHOLE,  # new weights
        "host offloaded": (4 + 12 + 12) * WHOLE,
        "traffic update": 8 * WHOLE,
        "bytes of gradients": 0,
        "bytes of optimizer": 0,
        "bytes of buffers": 2 * 4 * BLOCK,  # gradients of two blocks, one of them on its way
        "bytes on the host": (4 + 12) * WHOLE,
    },
    "offloaded activations": {
        "pcie forward": 2 * KEPT,
        "pcie backward": 2 * KEPT,
        "bytes of activations": HEAD_INPUTS + HEAD_INNER,  # needed at once
        "bytes of buffers": 2 * KEPT,  # two blocks, one of them on its way
        "bytes on the host": 2 * KEPT,
    },
    "offloaded activations of some layers": {  # one block of two
        "pcie forward": KEPT,
        "pcie backward": KEPT,
        "bytes of activations": KEPT + HEAD_INPUTS + HEAD_INNER,
        "bytes of buffers": KEPT,  # all that leaves is on its way
        "bytes on the host": KEPT,
    },
    "offloaded both": {
        "pcie forward": 2 * KEPT,
        # Out and in at once: what a block keeps comes in 22 kB, its gradients leave in 43 kB.
        "pcie backward": 4 * WHOLE,
        "pcie offloaded": 2 * WHOLE,
        "host offloaded": 28 * WHOLE,
        "traffic update": 8 * WHOLE,
        "bytes of gradients": 0,
        "bytes of optimizer": 0,
        "bytes of activations": HEAD_INPUTS + HEAD_INNER,
        "bytes of buffers": 2 * 4 * BLOCK + 2 * KEPT,
        "bytes on the host": (4 + 12) * WHOLE + 2 * KEPT,
    },
    # ---- Stages: narayanan2021, section 2.2. Table and a block; a block and the head. ----
    "pipeline | balanced cut | blocking sends": {
        "flop forward": (2 * 24 * PRODUCTS + CORE, 2 * 24 * (PRODUCTS + 36 * 88) + CORE),
        "launches forward": (3 + 11, 11 + 6),
        "wire send": (2 * 24 * 36, 2 * 24 * 36),
        "bytes of weights": (2 * FIRST, 2 * LAST),
        "bytes of optimizer": (12 * FIRST, 12 * LAST),
        # The first stage has begun the second micro-batch when the first one comes back.
        "bytes of activations": (2 * KEPT, KEPT + HEAD_INPUTS + HEAD_INNER),
        "traffic update": (38 * FIRST, 38 * LAST),
    },
    # Four blocks in four chunks, two to a stage; korthikanti2022, section 4.2.3: p + (p - 1) / v.
    "interleaved": {
        "flop forward": (
            2 * (2 * 24 * PRODUCTS + CORE),
            2 * (2 * 24 * PRODUCTS + CORE) + 2 * 24 * 36 * 88,
        ),
        "wire send": (2 * 24 * 36, 2 * 24 * 36),
        "bytes of weights": (2 * (FIRST + BLOCK), 2 * (LAST + BLOCK)),
        "bytes of activations": (
            (2 + 1 / 2) * 2 * KEPT,
            (2 * 0 + 2 + 1) / 2 * 2 * KEPT + HEAD_INPUTS + HEAD_INNER,
        ),
    },
    # huang2019, section 2.3: all 16 micro-batches wait for their backward passes.
    "gpipe": {
        "wire send": (2 * 24 * 36, 2 * 24 * 36),
        "bytes of weights": (2 * FIRST, 2 * LAST),
        "bytes of activations": (16 * KEPT, 16 * KEPT + HEAD_INPUTS + HEAD_INNER),
    },
    # qi2023, section 2.1: as many on every stage as on the first one of 1F1B.
    "zero bubble": {
        "flop weights": (2 * 24 * PRODUCTS, 2 * 24 * (PRODUCTS + 36 * 88)),
        "launches weights": (4, 4 + 1),
        "bytes of activations": (2 * KEPT, 2 * KEPT + HEAD_INPUTS + HEAD_INNER),
    },
    # One block on the first stage, three on the last.
    "uneven cut": {
        "flop forward": (
            2 * 24 * PRODUCTS + CORE,
            3 * (2 * 24 * PRODUCTS + CORE) + 2 * 24 * 36 * 88,
        ),
        "bytes of weights": (2 * FIRST, 2 * (LAST + 2 * BLOCK)),
        "bytes of activations": (2 * KEPT, 3 * KEPT + HEAD_INPUTS + HEAD_INNER),
    },
}
