"""Context parallelism: members share the tokens of each sample.

Everything but attention works on tokens one by one, so a member has its part of the tokens and
nothing is exchanged. In attention every query meets every key before it:

- ring: the keys and values of every member go round, from neighbour to neighbour, while it attends
  to those it has. The backward pass sends them round again, and their gradients with them.
  Attention hides what it can. What each block gave is added to what is there.
- all-gather: the keys and values of all members are gathered, and attention waits for them. The
  backward pass gathers them again and scatters the sums of their gradients.
- all-to-all: members exchange their tokens for heads before attention, and back after it: queries,
  keys, values and outputs, each by itself; nothing hides it.

A member takes one block of tokens from the front and one from the back of a sample, so that all
have the same part of the causal half.

Source: liu2023, section 3 (ring); transformer-engine, context_parallel.py (its corrections);
jacobs2023, section 3 (all-to-all); grattafiori2024, section
3.3.2 (two blocks each; all-gather); megatron-core, cp_comm_type (which of them can be hidden).
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import ContextExchange
from foretrain.plan.table import Column, Flags, PlanTable
from foretrain.step.strategies.strategy import Axis, Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.graph import Floats, Operators


def share(operators: Operators, plans: PlanTable) -> Share:
    """The tokens of every operator; heads of those that attend where they take the place."""
    heads = (operators.attention >= 0) & (plans.exchange == ContextExchange.ALL_TO_ALL)
    members = tokens_shared(plans)
    return Share(
        rows=np.where(heads, 1.0, members),
        batch=np.where(heads, members, 1.0),
        moved=members,
        kept=members,
        boundary=members,
    )


def tokens_shared(plans: PlanTable) -> Column:
    """Members that share the tokens of a sample; those of a grid share its pixels. [plan]"""
    return np.where(plans.spatial, 1.0, plans.context)


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """Keys and values that go round or are gathered, or tokens that become heads and back."""
    shared = tokens_shared(plans) > 1
    if not shared.any():
        return ()
    ring = shared & (plans.exchange == ContextExchange.RING)
    heads = shared & (plans.exchange == ContextExchange.ALL_TO_ALL)
    block = operators.keys * ring / (plans.tensor * plans.context)
    together = shared & (plans.exchange == ContextExchange.ALL_GATHER)
    gathered = operators.keys * together / plans.tensor
    hops = plans.context - 1.0
    each = heads / (2.0 * plans.tensor * plans.context)
    return (
        _transfer(Phase.FORWARD, Pattern.SEND, block, times=hops),
        _transfer(Phase.BACKWARD, Pattern.SEND, block, times=2.0 * hops),
        _transfer(Phase.FORWARD, Pattern.ALL_GATHER, gathered, times=1.0),
        _transfer(Phase.BACKWARD, Pattern.ALL_GATHER, gathered, times=2.0),
        *(
            _transfer(phase, Pattern.ALL_TO_ALL, both * each, times=2.0)
            for phase in Phase
            for both in (operators.keys, operators.queries)
        ),
    )


def _rounds(plans: PlanTable) -> Floats:
    """Blocks of keys and values that come round to a member of a ring. [plan]"""
    rounds: Floats = (plans.context - 1.0) * (plans.exchange == ContextExchange.RING)
    return rounds


def block_kernels(operators: Operators, plans: PlanTable, *, kinds: int) -> Floats:
    """Kernels that attend to blocks that come round, and merge the results. [kind, plan]

    Source: liu2023, section 3.
    """
    return 2.0 * _rounds(plans) * _by_kind(operators.keys > 0, operators, kinds=kinds)


def merged(operators: Operators, plans: PlanTable, phase: Phase, *, kinds: int) -> Floats:
    """Values that a member adds to others as blocks come round, of all of them. [kind, plan]

    Forward these are the outputs of all queries of a member, each scaled by what its block weighs;
    backward the gradients of its queries, and those of keys and values that pass through.

    Source: liu2023, section 3; transformer-engine, context_parallel.py (corrections of outputs).
    """
    values = operators.queries / 2.0 + operators.keys * (phase is Phase.BACKWARD)
    added = _by_kind(values * (operators.keys > 0), operators, kinds=kinds)
    return _rounds(plans) * (added * plans.micro_batch / (plans.tensor * plans.context))


def _by_kind(values: Floats | Flags, operators: Operators, *, kinds: int) -> Floats:
    """Values of operators, added up by the kind of layer that they stand in. [kind, 1]"""
    total = np.zeros((kinds, 1))
    np.add.at(total, np.asarray(operators.layer, np.intp), values)
    return total


def _transfer(
    phase: Phase,
    pattern: Pattern,
    values: Floats,
    *,
    times: Column | float,
) -> Transfer:
    return Transfer(
        axis=Axis.CONTEXT,
        phase=phase,
        pattern=pattern,
        values=values,
        times=times,
        beside=pattern is Pattern.SEND,
    )


CONTEXT = Strategy(
    reads=("tensor", "context", "exchange", "grid"), share=share, transfers=transfers
)
