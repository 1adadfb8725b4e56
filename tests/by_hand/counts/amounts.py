"""What a plan takes of every resource, by hand: the arithmetic of the papers on two small layers.

Nothing here asks foretrain for more than what a plan says. All sizes are those of `networks`; `t`,
`c`, `p` and `e` are degrees as the papers write them. One micro-batch is one sample.
"""

from types import SimpleNamespace

from tests.by_hand.counts.exchanges import context, expert, per_step, sharded, tensor
from tests.by_hand.counts.memory import memory, to_the_host, update
from tests.by_hand.counts.work import flop, kernels, traffic
from tests.by_hand.networks import BATCH, BUSIEST, STREAM, VALUE

from foretrain.plan.plan import Recompute
from foretrain.workload.operator import Attention


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
