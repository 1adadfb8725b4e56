"""Bytes on a device and its host, and what the optimizer moves."""

from tests.by_hand.counts.parameters import emptied, leaves, offloads, owners, parameters
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
    STATE,
    STREAM,
    TOKENS,
    VALUE,
    VOCABULARY,
    WIDE,
)

from foretrain.plan.plan import Recompute, Schedule, Sharding
from foretrain.workload.operator import Attention


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
    away = emptied(g) * bodies
    moving = min(2 * block, away)
    return {
        "bytes of weights": weights,
        "bytes of gradients": 0 if leaves(g) else gradients,
        "bytes of optimizer": 0 if offloads(g) else optimizer,
        "bytes of activations": met + bodies - away,
        "bytes of buffers": again + moving + whole,
        "bytes on the host": (
            (optimizer if offloads(g) else 0) + (gradients if leaves(g) else 0) + away
        ),
    }


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
    block = kept(g)[0] * emptied(g)
    sent = [0, 0, 0]
    if leaves(g):
        for own, by in zip(parameters(g), owners(g, Sharding.GRADIENTS), strict=True):
            sent = [a + GRADIENT * b / by for a, b in zip(sent, own, strict=True)]
    back = tuple(max(come, go) for come, go in zip((0, block, 0), sent, strict=True))
    return {"pcie forward": (0, block, 0), "pcie backward": back}
