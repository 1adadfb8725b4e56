"""What a plan takes of every resource, by hand: the arithmetic of the papers on two small layers.

Nothing here asks foretrain for more than what a plan says. All sizes are those of `networks`; `t`,
`c`, `p` and `e` are degrees as the papers write them. One micro-batch is one sample.
"""

from types import SimpleNamespace

from tests.by_hand.networks import (
    BATCH,
    BUSIEST,
    CHOSEN,
    EXPERT_WIDE,
    EXPERTS,
    HEADS,
    HIDDEN,
    KEY,
    QUERY,
    SHARED_WIDE,
    TOKENS,
    VOCABULARY,
    WIDE,
)

from foretrain.plan.plan import ContextExchange, Offload, Recompute, Schedule, Sharding
from foretrain.workload.operator import Attention

VALUE = 2  # bytes of an activation or a weight in bf16
GRADIENT = 4  # korthikanti2022, section 4.1: gradients are added up in fp32
STATE = 12  # two moments and the fp32 weight; rajbhandari2020, section 3.1 (K = 12)
STREAM = TOKENS * HIDDEN  # values between two layers: s h of the papers, b = 1
ATTENDED = TOKENS * TOKENS  # pairs of tokens


def numbers(plan, *, layers, routed):
    """What a plan says, in the letters of the papers."""
    replicas = plan.data * plan.context
    same = plan.tensor * replicas // (plan.expert * plan.expert_tensor)
    return SimpleNamespace(
        plan=plan,
        layers=layers,
        routed=routed,
        t=plan.tensor,
        c=plan.context,
        e=plan.expert,
        x=plan.expert_tensor,
        # korthikanti2022, section 4.2.2: the tensor axis divides tokens as well.
        tokens=plan.tensor if plan.sequence_parallel else 1,
        # The busiest member has more than the mean as soon as experts are on several.
        busy=BUSIEST if plan.expert > 1 else 1,
        micro_batches=BATCH // plan.data,
        # Who holds the same parameters: common ones, and those of experts (nvidia-moe, folding).
        replicas=(replicas, same) if routed else (replicas,),
        shards=[min(plan.shard or n, n) for n in ((replicas, same) if routed else (replicas,))],
        # chen2016: full recomputation of so many layers of all.
        covered=(
            (plan.recompute_layers or layers) / layers if plan.recompute is Recompute.FULL else 0
        ),
        kinds=(Recompute.SELECTIVE is plan.recompute, plan.attention is Attention.PLAIN),
    )


def stages(g):
    """Embeddings, blocks and heads on every stage: narayanan2021, section 2.2.

    Interleaved, a stage has chunks s, s + p, ... of as many layers each: as many in all.
    """
    plan = g.plan
    blocks = (
        plan.cut if isinstance(plan.cut, tuple) else (g.layers // plan.pipeline,) * plan.pipeline
    )
    last = len(blocks) - 1
    return [(int(s == 0), each, int(s == last)) for s, each in enumerate(blocks)]


# ---- Collectives: bytes that a device sends for a message of one byte ---------------------------


def passed_on(n):
    """All-gather, reduce-scatter, all-to-all: all but one's own part; thakur2005, section 4.1."""
    return (n - 1) / n


def added_up(n):
    """All-reduce, around and around again: patarasuk2009, equation 4."""
    return 2 * (n - 1) / n


def dispatched(n, copies):
    """Tokens that go once to each of the members that hold `copies` experts drawn of n members.

    deepseek2024v3, section 3.2.2: n (1 - (1 - 1/n)^k) members of k draws, all but oneself.
    """
    return n * (1 - (1 - 1 / n) ** copies) / copies * (n - 1) / n


# ---- Parameters ---------------------------------------------------------------------------------


def parameters(g):
    """On a device, of the embedding, a block and the head; common ones, then those of experts.

    shoeybi2019, section 3: products and tables are divided by the tensor axis, norms are whole.
    lepikhin2020, section 3.2: experts are divided by their own axis.
    """
    attention = HIDDEN * (QUERY + 2 * KEY) + QUERY * HIDDEN
    wide = 3 * HIDDEN * (SHARED_WIDE if g.routed else WIDE)
    norms = 2 * HIDDEN
    router = HIDDEN * EXPERTS if g.routed else 0
    common = (
        VOCABULARY * HIDDEN / g.t,
        (attention + wide) / g.t + norms + router,
        VOCABULARY * HIDDEN / g.t + HIDDEN,
    )
    if not g.routed:
        return (common,)
    return common, (0, EXPERTS * 3 * HIDDEN * EXPERT_WIDE / (g.e * g.x), 0)


def owners(g, kind):
    """Devices that share what belongs to a parameter: rajbhandari2020, section 5."""
    return [shard if g.plan.sharding >= kind else 1 for shard in g.shards]


def leaves(g):
    """Gradients go to the host as they come, unless replicas add to them later: ren2021, 4.1."""
    complete = g.plan.sharding >= Sharding.GRADIENTS or g.plan.data * g.plan.context == 1
    return offloads(g) and complete


def offloads(g):
    return g.plan.offload in (Offload.OPTIMIZER, Offload.BOTH)


def empties(g):
    """rajbhandari2021, section 5.2.3."""
    return g.plan.offload in (Offload.ACTIVATIONS, Offload.BOTH)


# ---- FLOP ---------------------------------------------------------------------------------------


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


# ---- Kernels ------------------------------------------------------------------------------------


def kernels(g):
    """One for each operator, two for a product in the backward pass. (embedding, block, head)

    Block: norm, query-key-value, rotation, core, output, addition; norm, in, activation, out,
    addition. Head: norm, logits, four of the loss.
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
        "forward": (1, once, 6),
        "backward": (1, once + twice + again, 7),
        # Gradients of weights: of the products that have some.
        "weights": (0, twice - (2 if plain else 0), 1),
    }
    # The device loses time between any two of them, and the host takes time to start each.
    return {
        **{f"launches {name}": values for name, values in found.items()},
        **{f"kernels {name}": found[name] for name in ("forward", "backward")},
    }


# ---- Traffic of a device's memory ---------------------------------------------------------------


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
    again = g.covered * block[0]
    if g.plan.recompute is Recompute.SELECTIVE:
        again = _selected_traffic(g)
    return {
        "traffic forward": (embedding[0], block[0], head[0]),
        "traffic backward": (embedding[1], block[1] + again, head[1]),
    }


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
    keys = VALUE * TOKENS * QUERY
    product = (operands / divided) + keys / (g.t * g.c) + scores / divided
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


# ---- Exchanges ----------------------------------------------------------------------------------


def tensor(g):
    """shoeybi2019, section 3: two sums forward, two backward; korthikanti2022, section 4.2.2.

    With sequence parallelism each is a reduce-scatter and an all-gather. The embedding adds up what
    it looked up, the head the gradients of its input. Recomputation repeats forward sums.
    """
    if g.t == 1:
        return _exchanged("tensor")
    size = VALUE * STREAM / g.c * added_up(g.t)
    calls = 2 if g.tokens > 1 else 1
    block = 4 + 2 * g.covered
    return _exchanged(
        "tensor",
        wire=(size, block * size, size),
        calls=(calls, block * calls, calls),
        forward=(size, 2 * size, 0),
    )


def _exchanged(axis, *, wire=(0, 0, 0), calls=(0, 0, 0), forward=(0, 0, 0)):
    """Bytes and calls of both passes; bytes of the first one. (embedding, block, head)"""
    return {f"wire {axis}": wire, f"calls {axis}": calls, f"forward {axis}": forward}


def context(g):
    """liu2023, section 3 (keys and values round; their gradients too); jacobs2023, section 3.

    All-to-all: queries, keys and values there, outputs back, and their gradients.
    """
    if g.c == 1:
        return _exchanged("context")
    if g.plan.exchange is ContextExchange.RING:
        size = VALUE * TOKENS * 2 * KEY / g.t * passed_on(g.c)
        times, calls = 1 + 2 + g.covered, 1
    else:
        size = VALUE * TOKENS * (QUERY + 2 * KEY + QUERY) / (g.t * g.c) * passed_on(g.c)
        times, calls = 1 + 1 + g.covered, 4
    return _exchanged(
        "context", wire=(0, times * size, 0), calls=(0, times * calls, 0), forward=(0, size, 0)
    )


def expert(g):
    """lepikhin2020, section 3.2: tokens there and back, in both passes.

    Members that share an expert add up as tensor members do, on the tokens that came to them.
    """
    size, calls, forward = 0, 0, 0
    if g.routed and g.e > 1:
        sent = VALUE * STREAM * CHOSEN * BUSIEST / (g.c * g.tokens) * dispatched(g.e, CHOSEN)
        size, forward = (4 + 2 * g.covered) * sent, 2 * sent
        calls = 4 + 2 * g.covered
    if g.routed and g.x > 1:
        came = VALUE * STREAM * CHOSEN * g.busy * g.x / (g.c * g.t) * added_up(g.x)
        size, forward = size + (2 + g.covered) * came, forward + came
        calls += (2 + g.covered) * (2 if g.tokens > 1 else 1)
    return _exchanged("expert", wire=(0, size, 0), calls=(0, calls, 0), forward=(0, forward, 0))


def sharded(g):
    """Per pass: rajbhandari2020, section 5; zhao2023, section 3.2 (resharding). Layer by layer."""
    kind = g.plan.sharding
    gathers = 2 if kind is Sharding.PARAMETERS and g.plan.reshard else 0
    reduces = 1 if kind >= Sharding.GRADIENTS else 0
    found = {name: [0, 0, 0] for name in SHARDED}
    for own, shard in zip(parameters(g), g.shards, strict=True):
        for part, count in enumerate(own):
            if shard > 1 and count:
                found["wire gathered"][part] += gathers * VALUE * count * passed_on(shard)
                found["wire reduced"][part] += reduces * GRADIENT * count * passed_on(shard)
                found["calls gathered"][part] += gathers
                found["calls reduced"][part] += reduces
    return {name: tuple(values) for name, values in found.items()}


SHARDED = ("wire gathered", "wire reduced", "calls gathered", "calls reduced")


def per_step(g, layout):
    """Once per step, all layers of a stage together."""
    kind, stays = g.plan.sharding, not g.plan.reshard
    gradients = gradient_calls = weights = weight_calls = 0
    for own, n, shard in zip(parameters(g), g.replicas, g.shards, strict=True):
        held = sum(count * many for count, many in zip(own, layout, strict=True))
        if kind is Sharding.NONE and n > 1:
            gradients += GRADIENT * held * added_up(n)  # rajbhandari2020, section 2.1
            gradient_calls += 1
        if kind is Sharding.OPTIMIZER and shard > 1:
            gradients += GRADIENT * held * passed_on(shard)
            gradient_calls += 1
        if kind is not Sharding.NONE and shard < n:
            gradients += GRADIENT * held / shard * added_up(n // shard)  # zhao2023, 3.2.2
            gradient_calls += 1
        if kind in (Sharding.OPTIMIZER, Sharding.GRADIENTS) and shard > 1:
            weights += VALUE * held * passed_on(shard)
            weight_calls += 1
        if kind is Sharding.PARAMETERS and stays and shard > 1:
            weights += VALUE * held * passed_on(shard)  # zhao2023, 3.2: gathered once, then kept
            weight_calls += 1
    return {
        "wire gradients": gradients,
        "calls gradients": gradient_calls,
        "wire parameters": weights,
        "calls parameters": weight_calls,
    }


# ---- Memory -------------------------------------------------------------------------------------


def everything(g):
    """Bytes that a micro-batch keeps for its backward pass. (embedding, block, head)

    korthikanti2022, section 4.1, for a gated block without dropout: every operator keeps its input.
    Norms and the inputs of products divided by columns are whole without sequence parallelism.
    """
    whole, divided = g.c * g.tokens, g.c * g.t
    norms = 2 * VALUE * STREAM / whole
    attention = VALUE * STREAM / whole + VALUE * TOKENS * (QUERY + 2 * KEY + QUERY) / divided
    scores = VALUE * HEADS * ATTENDED  # softmax
    sums = 4 * HEADS * TOKENS  # dao2022, algorithm 1: one fp32 number for each row
    attention += (scores if g.plan.attention is Attention.PLAIN else sums) / divided
    if g.routed:
        chosen = VALUE * STREAM / whole + 4 * TOKENS * EXPERTS / whole  # input, fp32 scores
        shared = VALUE * TOKENS * 3 * SHARED_WIDE / divided
        came = TOKENS * CHOSEN * g.busy / divided
        wide = chosen + shared + VALUE * came * (HIDDEN * g.x + 3 * EXPERT_WIDE)
    else:
        wide = VALUE * STREAM / whole + VALUE * TOKENS * 3 * WIDE / divided
    head = 2 * VALUE * STREAM / whole + 4 * TOKENS * VOCABULARY / divided  # section 4.3
    return 0, norms + attention + wide, head


def dropped(g):
    """What selective recomputation drops of a block: korthikanti2022, section 5.

    Of experts the product of their branches: deepseek2024v3, section 3.2.3.
    """
    scores = VALUE * HEADS * ATTENDED / (g.t * g.c) * (g.plan.attention is Attention.PLAIN)
    gated = VALUE * TOKENS * CHOSEN * g.busy * EXPERT_WIDE / (g.t * g.c) if g.routed else 0
    return scores + gated


def kept(g):
    """Bytes that a block keeps, the mean of its equals, and those that come back for a while."""
    block = everything(g)[1]
    boundary = VALUE * STREAM / (g.c * g.tokens)  # chen2016; korthikanti2022, table 2
    if g.plan.recompute is Recompute.SELECTIVE:
        return block - dropped(g), dropped(g)
    if g.plan.recompute is Recompute.FULL:
        return g.covered * boundary + (1 - g.covered) * block, block - boundary
    return block, 0


def in_flight(g, stage):
    """Micro-batches that a stage keeps.

    narayanan2021, section 2.2; korthikanti2022, section 4.2.3 (interleaved); huang2019 (all);
    qi2023, section 2.1 (as many on every stage as 1F1B on the first).
    """
    p, v = g.plan.pipeline, g.plan.interleaving
    if p == 1:
        return 1
    if g.plan.schedule is Schedule.GPIPE:
        return g.micro_batches
    if g.plan.schedule is Schedule.ZERO_BUBBLE:
        return min(p, g.micro_batches)
    if v > 1:
        return min((2 * (p - stage - 1) + (v - 1) * p + 1) / v, g.micro_batches)
    return min(p - stage, g.micro_batches)


def two_layers(own, layout):
    """The largest layer and the largest block beside it, if there are as many."""
    largest = max(each for each, many in zip(own, layout, strict=True) if many)
    total = sum(each * many for each, many in zip(own, layout, strict=True))
    return min(largest + own[1], total)


def memory(g, layout, stage):
    """rajbhandari2020, sections 3 and 5; korthikanti2022, section 4."""
    weights = gradients = optimizer = whole = 0
    stays = not g.plan.reshard
    by_weight, by_gradient, by_state = (
        owners(g, kind) for kind in (Sharding.PARAMETERS, Sharding.GRADIENTS, Sharding.OPTIMIZER)
    )
    for place, own in enumerate(parameters(g)):
        held = sum(count * many for count, many in zip(own, layout, strict=True))
        weights += VALUE * held / (1 if stays else by_weight[place])
        gradients += GRADIENT * held / by_gradient[place]
        optimizer += STATE * held / by_state[place]
        # The layer that computes is whole, and so is the one on its way.
        if by_weight[place] > 1 and not stays:
            whole += VALUE * two_layers(own, layout)
        if by_gradient[place] > 1 or leaves(g):
            whole += GRADIENT * two_layers(own, layout)
    block, again = kept(g)
    bodies = in_flight(g, stage) * block * layout[1]
    met = everything(g)[2] * layout[2]  # the head's backward pass follows at once
    moving = min(2 * block, bodies) if empties(g) else 0
    return {
        "bytes of weights": weights,
        "bytes of gradients": 0 if leaves(g) else gradients,
        "bytes of optimizer": 0 if offloads(g) else optimizer,
        "bytes of activations": met + (0 if empties(g) else bodies),
        "bytes of buffers": again + moving + whole,
        "bytes on the host": (
            (optimizer if offloads(g) else 0)
            + (gradients if leaves(g) else 0)
            + (bodies if empties(g) else 0)
        ),
    }


# ---- The optimizer and the host -----------------------------------------------------------------


def update(g, layout):
    """Adam moves, for each parameter: the gradient for its norm and to clear it (8 bytes), by
    everyone; gradient (4), state and fp32 weight in and out (24), 16-bit weight (2), by its owner.

    On the host: ren2021, section 4. Gradients that have not left cross now, and weights come back.
    """
    device = crossing = host = 0
    by_gradient, by_state = owners(g, Sharding.GRADIENTS), owners(g, Sharding.OPTIMIZER)
    for place, own in enumerate(parameters(g)):
        held = sum(count * many for count, many in zip(own, layout, strict=True))
        device += held * 2 * GRADIENT / by_gradient[place]
        if offloads(g):
            crossing += held / by_state[place] * (VALUE + (0 if leaves(g) else GRADIENT))
            host += held / by_state[place] * (GRADIENT + 2 * STATE)
        else:
            device += held / by_state[place] * (GRADIENT + 2 * STATE + VALUE)
    return {
        "traffic update": device,
        "pcie offloaded": crossing,
        "host offloaded": host,
        "kernels update": 1,
    }


def to_the_host(g):
    """Per pass and layer: activations out and back in, gradients out beside what comes back."""
    block = kept(g)[0] if empties(g) else 0
    sent = [0, 0, 0]
    if leaves(g):
        for own, by in zip(parameters(g), owners(g, Sharding.GRADIENTS), strict=True):
            sent = [a + GRADIENT * b / by for a, b in zip(sent, own, strict=True)]
    back = tuple(max(come, go) for come, go in zip((0, block, 0), sent, strict=True))
    return {"pcie forward": (0, block, 0), "pcie backward": back}


# ---- All together -------------------------------------------------------------------------------


def amounts(plan, *, layers, routed):
    """By hand: what every stage takes. [stage] by the names of `meters.read`"""
    g = numbers(plan, layers=layers, routed=routed)
    by_layer = {
        **flop(g),
        **kernels(g),
        **traffic(g),
        **tensor(g),
        **context(g),
        **expert(g),
        **sharded(g),
        **to_the_host(g),
    }
    # narayanan2021, section 4.1: every member of the tensor axis sends its part.
    hop = VALUE * STREAM / (g.t * g.c) if plan.pipeline > 1 else 0
    found = [
        {
            **_by_pass(
                {
                    name: sum(each * many for each, many in zip(values, layout, strict=True))
                    for name, values in by_layer.items()
                }
            ),
            **per_step(g, layout),
            **memory(g, layout, stage),
            **update(g, layout),
            "wire send": hop,
        }
        for stage, layout in enumerate(stages(g))
    ]
    # A host has devices of one stage, or as good as: that of the heaviest must hold it.
    fullest = max(stage["bytes on the host"] for stage in found)
    return [stage | {"bytes on the host": fullest} for stage in found]


def _by_pass(stage):
    """Bytes on the wire in either pass, in place of those of each axis forward."""
    forward = sum(stage.pop(f"forward {axis}") for axis in ("tensor", "context", "expert"))
    both = sum(stage[f"wire {what}"] for what in ("tensor", "context", "expert"))
    forward += stage["wire gathered"] / 2
    both += stage["wire gathered"] + stage["wire reduced"]
    return stage | {"wire forward": forward, "wire backward": both - forward}
