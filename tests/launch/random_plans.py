"""Random plans that a trainer's entry does not rule out, on models of the catalogue."""

import random
from dataclasses import replace
from functools import cache

from foretrain.errors import InputError
from foretrain.plan.legality import problems
from foretrain.plan.plan import (
    AXES,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sharding,
    idle,
)
from foretrain.search.export import files_of, written_for
from foretrain.search.import_files import import_
from foretrain.study.launch_files import launch_file
from foretrain.study.study import study_from
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import against, chosen_of
from foretrain.trainers.vocabulary import OPTIONS
from foretrain.workload.operator import Attention

MODELS = ("llama-3-8b", "llama-3-70b", "gpt-3-175b", "mixtral-8x7b", "mpt-30b", "llama-3-405b")
PRECISIONS = ("fp16", "bf16", "fp8", "fp8-current", "fp8-block")
DEGREES = (1, 1, 2, 4, 8)
COMPARED = tuple(
    name
    for name in Plan.__dataclass_fields__
    if name not in {"sends", "groups", "grid", "convolutions", "split", "attention"}
)
"""All but habits, pictures, and the kernel of attention, which is an option of the trainer."""


@cache
def study(trainer, model, nodes, precision):
    return study_from(
        {
            "workload": {
                "model": model,
                "global_batch": 512,
                "sequence": 2048,
                "precision": precision,
            },
            "cluster": {"name": "dgx-h100", "nodes": nodes},
            "trainer": {"name": trainer},
        },
        "random",
    )


def plans(trainer, many, seed, tries=400_000):
    """So many studies with a plan each that can run and that the trainer's entry allows."""
    draw = random.Random(seed)
    found, seen = [], set()
    for _ in range(tries):
        if len(found) >= many:
            break
        nodes = draw.choice((1, 2, 4, 8, 16, 32))
        able = next(it for it in trainers() if it.name == trainer).able("precisions") or PRECISIONS
        precision = draw.choice([it for it in PRECISIONS if it in able])
        asked = study(trainer, draw.choice(MODELS), nodes, precision)
        plan = one(draw, asked)
        if plan is None or (plan, asked.workload.model.name) in seen:
            continue
        seen.add((plan, asked.workload.model.name))
        if not against(chosen_of(asked).trainer, plan) and not problems(
            asked.workload, asked.cluster, plan
        ):
            found.append((asked, plan))
    return found


def one(draw, asked):
    """Any plan that uses all devices."""
    able = chosen_of(asked).trainer.able
    axes = able("axes") or AXES

    def degree(axis):
        return draw.choice(DEGREES) if axis in axes else 1

    tensor, context, pipeline = degree("tensor"), degree("context"), degree("pipeline")
    data, rest = divmod(asked.cluster.devices, tensor * context * pipeline)
    if rest or not data:
        return None
    layers = asked.workload.model.cuttable_layers
    shardings = [it for it in able("shardings") or ("none",) if it != "groups"]
    recompute = Recompute[
        draw.choice([it for it in able("recompute") or ("none",) if it != "layers"]).upper()
    ]
    offloads = [it for it in able("offload") or ("none",) if it != "layers"]
    experts = bool(asked.workload.model.experts)
    cut = "even"
    if pipeline > 2 and "listed" in (able("cuts") or ()) and draw.random() < 0.3:
        each = layers // pipeline
        cut = (each - 1, *[each] * (pipeline - 2), layers - each * (pipeline - 1) + 1)
    interleaving = draw.choice((1, 1, 2, 4)) if "interleaving" in axes and cut == "even" else 1
    rules = [it for it in able("cuts") or () if it in ("counted", "remainder")]
    if cut == "even" and rules and layers % pipeline:
        cut = draw.choice(rules)
    offload = Offload[draw.choice(offloads).upper()] if draw.random() < 0.3 else Offload.NONE
    counts = offload in (Offload.ACTIVATIONS, Offload.BOTH) and "layers" in able("offload")
    return Plan(
        data=data,
        tensor=tensor,
        context=context,
        pipeline=pipeline,
        expert=draw.choice((1, 2, 4, 8)) if experts and "expert" in axes else 1,
        expert_tensor=draw.choice((1, tensor)) if experts else 1,
        interleaving=interleaving,
        micro_batch=draw.choice((1, 2, 4)),
        sequence_parallel=draw.random() < 0.5,
        exchange=draw.choice(tuple(ContextExchange)),
        sharding=Sharding[draw.choice(shardings).upper()],
        shard=draw.choice((0, 0, 2, 4, 8)),
        reshard=draw.random() < 0.8,
        recompute=recompute,
        recompute_layers=draw.choice((0, 0, layers // 2))
        if recompute is Recompute.FULL and "layers" in (able("recompute") or ())
        else 0,
        offload=offload,
        offload_layers=draw.choice((1, layers // 2)) if counts else 0,
        attention=draw.choice(tuple(Attention)),
        schedule=Schedule.ONE_F_ONE_B if draw.random() < 0.8 else draw.choice(tuple(Schedule)),
        cut=cut,
        order=AXES if draw.random() < 0.8 else ("tensor", "context", "pipeline", "data"),
    )


def refused(asked, plan):
    """Why a plan cannot be written; None if it can."""
    try:
        files_of(asked, plan)
    except InputError as error:
        return str(error)
    return None


def returned(asked, plan, launcher="torchrun"):
    """The study that comes back when files of a plan are read, and what was listed as lost."""
    head = (written_for(chosen_of(asked).trainer, "0"),)
    files, left = files_of(asked, plan, head, launcher=launcher)
    texts = [launch_file(it.name, it.text) for it in files]
    on = f"{asked.cluster.nodes}xdgx-h100"
    read = import_(texts, on=on)
    missing = {it.key for it in read.missing}
    assert missing <= {it.key for it in left}, f"not listed as lost: {missing}"
    if missing:
        said = {
            "workload.model": asked.workload.model.name,
            "workload.global_batch": asked.workload.global_batch,
            "workload.sequence": asked.workload.model.tokens,
        }
        read = import_(texts, on=on, settings=said)
    return read, left


def differences(asked, plan, read):
    """Fields in which the plan that was read differs, those that change nothing apart."""
    space = read.question().space
    quiet = {*idle(plan, asked.workload.model)}
    quiet |= {"shard", "reshard"} if "sharding" in quiet else set()
    found = {}
    for name in COMPARED:
        choices = getattr(space, name)
        value = getattr(Plan(), name) if choices is None else choices[0]
        if name not in quiet and value != getattr(plan, name):
            found[name] = (getattr(plan, name), value)
    attention = kernel(read)
    if "attention" not in quiet and attention is not None and attention is not plan.attention:
        found["attention"] = (plan.attention, attention)
    return found


def kernel(read):
    """The kernel of attention that a study asks for, by its option or its trainer's habit."""
    chosen = chosen_of(read.question())
    option = chosen.trainer.option("attention")
    if option is None or not option.values:
        return None
    word = chosen.set_to("attention") or option.lines[-1].value
    return OPTIONS["attention"].values[word].value[0]


def alike(asked, other):
    """Whether two studies learn the same, as far as files say it."""
    return replace(asked.workload, samples=None, model=other.workload.model) == other.workload
