"""What a run trains, and how it stores what it does not, by the words of task and notes.

Adapters and frozen weights of fewer bits stand in no column of their own. They are read here, by
words; what is not understood is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from foretrain.measured import lore, recipe
from foretrain.measured.coverage import Assumptions, Belief, Default, Lore
from foretrain.measured.run import MeasuredRun
from foretrain.workload.execution import Kernels
from foretrain.workload.graph import Model
from foretrain.workload.trainable import Trainable, WeightStorage, adapted

TRAINING: Final = re.compile(
    r"^((full|supervised|continued|instruction)[ -])*"
    r"(pre-?train|train|fine-?tun|sft|q?lora|dora|peft|adapters?)",
    re.IGNORECASE,
)
ADAPTERS: Final = re.compile(r"\b(q?lora|dora|peft|adapters?)\b", re.IGNORECASE)
FOUR_BITS: Final = re.compile(r"\bqlora|4-?bits?\b|quanti[sz]ed", re.IGNORECASE)
METHOD: Final = re.compile(r"^[^(]*\blora \(([a-z0-9_+-]+)\)", re.IGNORECASE)
"""A method of adapting that stands behind the name of the best known one."""

UNDERSTOOD: Final = re.compile(
    r"(pre-?|fine-?)?(train|tun)(e|ing)?|full|sft|supervised|continued|instruction|q?lora|dora|peft"
    r"|adapters?|v2|quanti[sz]ed|base|4-?bit|mlperf|squad|synthetic|benchmark|packed|classification"
    r"|detection|segmentation|recommendation|speech(recognition|synthesis)?|fastspeech"
    r"|drugdiscovery|forecasting|forward(\+backward)?|backward|no|optimizer|of|on|with|and|the|language|model"
)
"""Words of tasks that are read, or say nothing that a step depends on."""

RANK: Final = (
    re.compile(r"\blora[^;]*?\b(?:r|rank)\s*=?\s*([0-9]+)", re.IGNORECASE),
    re.compile(r"\brank ?=? ?([0-9]+)", re.IGNORECASE),
)
TRAINED: Final = re.compile(r"trainable param(?:eter)?s:? ([0-9]+)\b(?![.0-9])")

EVERY_PROJECTION: Final[tuple[str, ...]] = ()
ATTENTION: Final = ("q_proj", "k_proj", "v_proj", "o_proj")
GATES: Final = ("gate_proj", "up_proj", "down_proj")
TARGETS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        r"all[- ](linear|projections|layers)|every (linear|projection)": EVERY_PROJECTION,
        r"target-mlp|on (the )?(mlp|feed-forward)": GATES,
        r"target-v_proj": ("v_proj",),
        r"\bq(_proj)?( and |, ?|\+)v(_proj)?\b": ("q_proj", "v_proj"),
        r"on (the )?attention|attention projections": ATTENTION,
    }
)
"""Projections with an adapter, by words; the first that is found counts."""

PEFT: Final = Lore(
    Belief(says=True, framework=r"peft|hf |hugging|transformers|\btrl\b", why="they adapt by it"),
    otherwise=False,
)
"""Whether adapters are those of Hugging Face's library: in fp32, on queries and values."""

OF_PEFT: Final = Default(
    value=8,
    words="adapters of rank 8 on queries and values",
    why="defaults of peft for models of Llama's kind (peft, LoraConfig)",
)
HALF_ADAPTERS: Final = Default(
    value=WeightStorage.NF4,
    words="frozen weights in four bits, NF4 with doubly quantised scales",
    why="what QLoRA means (dettmers2023, section 3)",
)
STORAGE: Final[Mapping[str, WeightStorage]] = MappingProxyType(
    {
        r"nf4[- ](dq|double)": WeightStorage.NF4,
        r"\bnf4": WeightStorage.NF4_PLAIN,
        r"gptq": WeightStorage.GPTQ,
        r"bnb int8|\bint8\b|8-?bit": WeightStorage.INT8,
    }
)
"""How frozen weights are stored, by words."""


def trains(run: MeasuredRun) -> bool:
    """Whether a task is one that a prediction can be held against."""
    return lore.COVERED.of(run) or bool(TRAINING.search(run.task))


def unread(run: MeasuredRun) -> Iterator[tuple[str, str]]:
    """Column and words of a task or a name of software that nothing here understands."""
    method = METHOD.search(run.task)
    task = run.task.replace(method[1], "") if method else run.task
    words = re.findall(r"[^\s(),;:]+", task.lower())
    if left := [word for word in words if not UNDERSTOOD.fullmatch(word)]:
        yield "task", " ".join(left)
    if without := re.search(r"\bw/o [a-z ]+", run.framework, re.IGNORECASE):
        yield "framework", without[0].strip()


def stored_of(run: MeasuredRun, assumptions: Assumptions) -> WeightStorage | None:
    """How frozen weights are stored, by precision, task and notes; None for as they are read."""
    base = re.search(r"base weights ([^;]*)", run.notes)
    looked = _plain(f"{run.precision.partition('+')[2]} {base[1] if base else ''}")
    for pattern, storage in STORAGE.items():
        if re.search(pattern, looked):
            return storage
    if FOUR_BITS.search(run.task):
        return assumptions.take(HALF_ADAPTERS)
    return None


def storage_of(words: str) -> bool:
    """Whether words behind a precision say how frozen weights are stored."""
    return any(re.search(pattern, _plain(words)) for pattern in STORAGE)


def _plain(words: str) -> str:
    """Words without what sources write between them."""
    return re.sub(r"[._]", " ", words.lower())


def adapters_of(run: MeasuredRun, model: Model, assumptions: Assumptions) -> Trainable | None:
    """What is trained of a model; None for all of it.

    Another method than LoRA is taken for the adapters that train as many parameters, where these
    are stated: what it keeps of activations is alike, for it reads the same inputs.
    """
    if not ADAPTERS.search(run.task):
        return None
    peft = PEFT.of(run)
    targets = next((its for words, its in TARGETS.items() if re.search(words, run.notes)), None)
    ranks = (each.search(run.notes) for each in RANK)
    rank = next((int(said[1]) for said in ranks if said), None)
    if targets is None or rank is None:
        default = OF_PEFT if peft else lore.ADAPTERS.of(run) or OF_PEFT
        if rank is None:
            rank = assumptions.take(default)
        if targets is None:
            targets = ("q_proj", "v_proj") if default is OF_PEFT else ATTENTION
            assumptions.note(f"adapters of {', '.join(targets)}")
    found = Trainable(lora=rank, targets=targets, stored=stored_of(run, assumptions), widened=peft)
    return _as_many(run, model, found, assumptions=assumptions)


def _as_many(
    run: MeasuredRun, model: Model, found: Trainable, *, assumptions: Assumptions
) -> Trainable:
    """Adapters of the rank that trains as many parameters as are stated."""
    stated, method = TRAINED.search(run.notes), METHOD.search(run.task)
    if stated is not None:
        each = adapted(model, replace(found, lora=1)).trainable
        found = replace(found, lora=max(1, round(int(stated[1]) / each)))
    if method and method[1].lower() != "lora":
        many = f"rank {found.lora}" + (", which trains as many parameters" if stated else "")
        assumptions.note(f"method '{method[1]}' priced as adapters of {many}")
    return found


def tuned(run: MeasuredRun, model: Model, assumptions: Assumptions) -> Model:
    """The model as the run trains it."""
    trainable = adapters_of(run, model, assumptions)
    if trainable is not None:
        model = adapted(model, trainable)
    return model


def keeps_of(run: MeasuredRun) -> Kernels | None:
    """What is one kernel of a model that runs operation by operation; None if it does not."""
    if lore.BY_LITGPT.of(run):
        return lore.keeps_of(run)
    if not recipe.LIBRARIES.of(run):
        return None
    return recipe.kernels_of(run, adapts=adapts(run))


def adapts(run: MeasuredRun) -> bool:
    """Whether adapters alone are trained."""
    return bool(ADAPTERS.search(run.task))
