"""Bytes and calls of what devices exchange."""

from tests.by_hand.counts.parameters import parameters
from tests.by_hand.networks import BUSIEST, CHOSEN, GRADIENT, KEY, QUERY, STREAM, TOKENS, VALUE

from foretrain.plan.plan import ContextExchange, Sharding


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
        times, calls = 1 + 2 + g.covered, g.c - 1
    elif g.plan.exchange is ContextExchange.ALL_GATHER:
        # grattafiori2024, section 3.3.2: gathered, again, and gradients scattered.
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
