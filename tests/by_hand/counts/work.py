"""FLOP, kernels and traffic of memory: what a device does for one micro-batch."""

from tests.by_hand.networks import (
    ATTENDED,
    CHOSEN,
    EXPERT_WIDE,
    EXPERTS,
    GRADIENT,
    HEADS,
    HIDDEN,
    KEY,
    QUERY,
    SHARED_WIDE,
    STREAM,
    TOKENS,
    VALUE,
    VOCABULARY,
    WIDE,
)

from foretrain.plan.plan import ContextExchange, Recompute
from foretrain.workload.operator import Attention


def products(g):
    """FLOP of products with weights, forward, 2 for each multiply-add. (embedding, block, head)

    Tokens are divided by context, features by tensor; who repeats the router does so on its tokens.
    """
    attention = HIDDEN * (QUERY + 2 * KEY) + QUERY * HIDDEN
    wide = 3 * HIDDEN * (SHARED_WIDE if g.routed else WIDE)
    block = 2 * TOKENS * (attention + wide) / (g.t * g.c)
    if g.routed:
        block += 2 * TOKENS * HIDDEN * EXPERTS / (g.tokens * g.c)
        block += 2 * TOKENS * CHOSEN * 3 * HIDDEN * EXPERT_WIDE * g.busy / (g.t * g.c)
    return 0, block, 2 * TOKENS * HIDDEN * VOCABULARY / (g.t * g.c)


def core(g):
    """FLOP of scores and context of a block: all pairs, or with a fused kernel the causal half.

    korthikanti2022, appendix A (4 s^2 h); dao2022 (what is masked is skipped).
    """
    pairs = ATTENDED if g.plan.attention is Attention.PLAIN else ATTENDED / 2
    return 2 * pairs * (QUERY + QUERY) / (g.t * g.c)


def flop(g):
    """Forward and backward: chowdhery2022, appendix B (twice), dao2022, algorithm 4 (5 for 2)."""
    embedding, block, head = products(g)
    plain = g.plan.attention is Attention.PLAIN
    once = block + core(g)
    again = g.covered * once
    if g.plan.recompute is Recompute.SELECTIVE and plain:
        again = core(g)  # korthikanti2022, section 5
    return {
        "flop forward": (embedding, once, head),
        "flop backward": (0, 2 * block + (2 if plain else 2.5) * core(g) + again, 2 * head),
        # qi2023, section 2: gradients of weights, which nobody waits for.
        "flop weights": (0, block, head),
    }


def kernels(g):
    """One for each operator, two for a product in the backward pass. (embedding, block, head)

    Embedding: the lookup, and two for what hands a batch over. Block: norm, query-key-value,
    rotation, core, output, addition; norm, in, activation, out, addition. Head: norm, logits, four
    of the loss.
    """
    plain = g.plan.attention is Attention.PLAIN
    attention = 3 if plain else 1  # scores, softmax, context
    block, twice = 10 + attention, 4 + (2 if plain else 0)
    if g.routed:
        # Instead of in, activation, out: router and 8 that choose, those of the shared expert, 5
        # that send, in, activation, out, 3 that take back.
        block, twice = 7 + attention + 1 + 8 + 3 + 5 + 3 + 3, twice + 3
    again = g.covered * block
    if g.plan.recompute is Recompute.SELECTIVE:
        again = attention * plain + (1 if g.routed else 0)
    # liu2023, section 3: every block that comes round is attended to and merged.
    rounds = 2 * (g.c - 1) if g.plan.exchange is ContextExchange.RING else 0
    once, again = block + rounds, again + g.covered * rounds
    found = {
        "forward": (3, once, 6),
        "backward": (3, once + twice + again, 7),
        # Gradients of weights: of the products that have some.
        "weights": (0, twice - (2 if plain else 0), 1),
    }
    # The device loses time between any two of them, and the host takes time to start each.
    return {
        **{f"launches {name}": values for name, values in found.items()},
        **{f"kernels {name}": found[name] for name in ("forward", "backward")},
    }


def traffic(g):
    """Bytes that kernels read and write. (embedding, block, head)

    williams2009: a kernel moves each operand once. A norm reads and writes (backward: input,
    gradient, gradient), an addition has three operands in both passes; a gate reads both branches.
    """
    whole, divided = g.c * g.tokens, g.c * g.t
    stream = VALUE * STREAM / whole
    twice = VALUE * 2 * STREAM / g.c  # each member looks up all its tokens
    embedding = (twice, twice * 3 / 2)
    out = _product(QUERY, HIDDEN, inner=g.t, g=g)
    norms_and_sums = (2 * (2 + 3) * stream, 2 * (3 + 3) * stream)
    into = _product(HIDDEN, QUERY + 2 * KEY, outer=g.t, g=g)
    turned = 2 * VALUE * TOKENS * (QUERY + KEY) / divided
    attention = _added(into, out, (turned, turned), _core_traffic(g))
    wide = _gated(SHARED_WIDE if g.routed else WIDE, g)
    block = _added(norms_and_sums, attention, wide, _routed_traffic(g))
    # Loss: the logits, and 16 bytes a value in fp32 there, 12 back (korthikanti2022, section 4.3).
    loss = tuple((VALUE + more) * TOKENS * VOCABULARY / divided for more in (16, 12))
    head = _added((2 * stream, 3 * stream), _product(HIDDEN, VOCABULARY, outer=g.t, g=g), loss)
    merged = _merged(g)
    again = g.covered * (block[0] + merged[0])
    if g.plan.recompute is Recompute.SELECTIVE:
        again = _selected_traffic(g)
    block = _added(block, merged)
    # Gradients of a table and of norms are written whole, and added to what is there in fp32.
    added = 2 * VALUE + 2 * 4
    return {
        "traffic forward": (embedding[0], block[0], head[0]),
        "traffic backward": (
            embedding[1] + VOCABULARY * HIDDEN / g.t * added,
            block[1] + again + 2 * HIDDEN * added,
            head[1] + HIDDEN * added,
        ),
        "traffic context": (0, sum(merged) + g.covered * merged[0], 0),
    }


def _merged(g):
    """liu2023, section 3: what each block that came round gave is added to what is there.

    Outputs of all queries; back the gradients of queries, keys and values. Three operands each.
    """
    if g.plan.exchange is not ContextExchange.RING:
        return 0, 0
    operands = 3 * VALUE * TOKENS / (g.c * g.t) * (g.c - 1)
    return operands * QUERY, operands * (QUERY + 2 * KEY)


def _added(*passes):
    return tuple(sum(each) for each in zip(*passes, strict=True))


def _product(inputs, outputs, *, g, inner=1, outer=1, tokens=None, batch=1):
    """A product with weights: three operands forward, the same for the gradient of its input; that
    of its weights is added in fp32 to what is there.

    inner, outer: members that share input and output features; batch: products of their own.
    """
    tokens = TOKENS / g.c if tokens is None else tokens
    read, written = tokens * inputs / inner, tokens * outputs / outer
    weights = batch * inputs * outputs / (inner * outer)
    forward = VALUE * (read + weights + written)
    return forward, forward + VALUE * (read + written) + 2 * GRADIENT * weights


def _gated(width, g, *, inner=None, tokens=None, batch=1):
    """In (both branches), gate, out: the gate moves 3 values for 1, backward 5."""
    inner = g.t if inner is None else inner
    tokens = TOKENS / g.c if tokens is None else tokens
    into = _product(HIDDEN, 2 * width, outer=inner, tokens=tokens, batch=batch, g=g)
    out = _product(width, HIDDEN, inner=inner, tokens=tokens, batch=batch, g=g)
    gate = VALUE * tokens * width / inner
    return _added(into, out, (3 * gate, 5 * gate))


def _core_traffic(g):
    """Fused: queries, keys, values and outputs once, backward twice (dao2022). Plain: scores
    written, read and written by the softmax (backward 3 operands), read again."""
    divided = g.c * g.t
    ends = VALUE * TOKENS * 2 * (QUERY + KEY) / divided
    if g.plan.attention is Attention.FLASH:
        return ends, 2 * ends
    # Queries and outputs of all heads; each head reads the keys and values that it shares.
    operands, scores = VALUE * TOKENS * QUERY, VALUE * HEADS * ATTENDED
    # Who gathers keys reads those of all tokens; who exchanges heads, those of its heads.
    members = g.t if g.plan.exchange is ContextExchange.ALL_GATHER else divided
    keys = VALUE * TOKENS * QUERY
    product = (operands / divided) + keys / members + scores / divided
    return 2 * product + 2 * scores / divided, 4 * product + 3 * scores / divided


def _routed_traffic(g):
    """Router, fp32 scores (3 operands), rows sorted there and back, and experts."""
    if not g.routed:
        return 0, 0
    whole, divided = g.c * g.tokens, g.c * g.t
    router = _product(HIDDEN, EXPERTS, tokens=TOKENS / whole, g=g)
    choice = 3 * 4 * TOKENS * EXPERTS / whole
    sorted_rows = 2 * 2 * VALUE * STREAM * CHOSEN * g.busy / whole
    came = TOKENS * CHOSEN * g.busy * g.x / divided
    experts = _gated(EXPERT_WIDE, g, inner=g.x, tokens=came, batch=EXPERTS / g.e)
    return _added(router, (choice, choice), (sorted_rows, sorted_rows), experts)


def _selected_traffic(g):
    gated = 3 * VALUE * TOKENS * CHOSEN * g.busy * EXPERT_WIDE / (g.c * g.t) if g.routed else 0
    return gated + (_core_traffic(g)[0] if g.plan.attention is Attention.PLAIN else 0)
