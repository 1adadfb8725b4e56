"""Models of Hugging Face whose family is not known here: built by transformers, then traced.

Nothing is downloaded, no weights are read, and code that lies beside a configuration is not run:
transformers' own class of the family is built on the meta device with the configuration's sizes.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from foretrain.errors import ForetrainError, InputError, UnsupportedModel, nearest, require
from foretrain.study.tracing.inputs import SAMPLES, ExampleBatch, SampleSize, samples_of
from foretrain.study.tracing.kept import kept, versions
from foretrain.study.tracing.module import failed, traced
from foretrain.study.tracing.operators import operator, scans
from foretrain.units import as_written
from foretrain.workload.graph import Model
from foretrain.workload.traced.layers import model_of_trace
from foretrain.workload.traced.trace import ModelTrace

if TYPE_CHECKING:
    import torch

ATTENTION: Final = "foretrain"
"""How our attention is called where transformers looks for one."""

STILL: Final[Mapping[str, object]] = {
    "layerdrop": 0.0,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
    "apply_spec_augment": False,
    "mask_time_prob": 0.0,
    "mask_feature_prob": 0.0,
    "use_cache": False,
    "output_router_logits": False,
    "output_hidden_states": False,
    "output_attentions": False,
}
"""Keys by which a forward pass would look at drawn numbers, or return what no step needs."""

PRETRAINED: Final = "PreTrainedModel"
WARNS: Final = "warn_if_padding_and_no_attention_mask"

TASKS: Final = (
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "MODEL_FOR_MASKED_LM_MAPPING",
    "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_CTC_MAPPING",
    "MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING",
    "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING",
    "MODEL_FOR_OBJECT_DETECTION_MAPPING",
    "MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING",
    "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING",
    "MODEL_MAPPING",
)
"""Where the class of a configuration is sought that names none, usual trainings first."""


def traced_config(
    config: Mapping[str, object], *, sequence: int | None, image: int | None
) -> Model:
    """The model of a configuration, as transformers builds it.

    Args:
        config: keys of a config.json.
        sequence: tokens of a sample.
        image: pixels per side of a sample; None for what the configuration says.

    Raises:
        ForetrainError: transformers is missing or does not know the family, or its code cannot be
            traced.
    """
    family = str(config.get("model_type"))
    require("torch", what=f"a model of type {family}")
    require("transformers", what=f"a model of type {family}")

    keys = json.dumps(config, sort_keys=True, default=repr)
    parts = [keys, sequence, image, versions("torch", "transformers")]
    return kept(parts, lambda: _anew(config, family, SampleSize(sequence, image)))


def _anew(config: Mapping[str, object], family: str, size: SampleSize) -> Model:
    """The model of a configuration, built and traced."""
    with _quiet():
        return _model(_built(_config(dict(config), family), config, family), family, size)


def is_of_transformers(module: object) -> bool:
    """Whether a module is a model of transformers; they need not be installed to ask."""
    kinds = type(module).__mro__
    return any(each.__name__ == PRETRAINED and "transformers" in each.__module__ for each in kinds)


def traced_pretrained(module: torch.nn.Module, *, name: str, size: SampleSize) -> Model:
    """The model of a module of transformers that somebody built, which is left as it is.

    Raises:
        ForetrainError: its code cannot be traced, or it is not known what a sample is.
    """
    _register()
    settings: dict[str, object] = {**STILL, "_attn_implementation_internal": ATTENTION}
    if type(module)._can_set_experts_implementation():
        settings["_experts_implementation_internal"] = "grouped_mm"
    configs = {id(each.config): each.config for each in module.modules() if hasattr(each, "config")}
    before = [
        (each, key, getattr(each, key))
        for each in configs.values()
        for key in settings
        if hasattr(each, key)
    ]
    try:
        for each, key, _ in before:
            setattr(each, key, settings[key])
        with _quiet():
            return _model(module, name, size)
    finally:
        for each, key, value in before:
            setattr(each, key, value)


def _model(module: torch.nn.Module, name: str, size: SampleSize) -> Model:
    """The model of a module of transformers.

    Those of pictures and text put the ones where the other says: the text alone is traced.
    """
    inputs = samples_of(module, sequence=size.sequence, image=size.image)
    try:
        trace = _traced(module, inputs, name)
    except ForetrainError:
        if not {"input_ids", "pixel_values"} <= inputs.keys():
            raise
        del inputs["pixel_values"]
        trace = _traced(module, inputs, f"{name} (text alone)")
    reads = {"input_ids", "decoder_input_ids"} & inputs.keys()
    tokens = size.sequence if reads else None
    return model_of_trace(trace, tokens=tokens, source=type(module).__name__)


def _traced(module: Any, inputs: dict[str, torch.Tensor], name: str) -> ModelTrace:
    """One pass of a module of transformers, without its questions about content."""
    import torch

    path: list[str] = []
    try:
        with scans(module), _unasked(module):
            batch = ExampleBatch(inputs=((), inputs), samples=SAMPLES)
            return traced(module, batch, name=name, narrow=torch.bfloat16, path=path)
    except Exception as error:  # whatever somebody else's code raises
        raise failed(error, name, path=path, inputs=((), inputs)) from error


@contextmanager
def _unasked(module: Any) -> Iterator[None]:
    """While this lasts, models do not look for padding among their tokens to warn of it."""
    asks = [each for each in module.modules() if hasattr(each, WARNS)]
    for each in asks:
        setattr(each, WARNS, lambda *_: None)
    try:
        yield
    finally:
        for each in asks:
            delattr(each, WARNS)


@contextmanager
def _quiet() -> Iterator[None]:
    """While this lasts, nothing is fetched, and what is advised to who trains is not printed."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        before = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity(transformers.logging.CRITICAL)
        try:
            yield
        finally:
            transformers.logging.set_verbosity(before)


def _config(keys: dict[str, Any], family: str) -> Any:
    """The configuration as transformers has it, with what would be drawn left out."""
    from transformers import CONFIG_MAPPING, AutoConfig

    if family not in CONFIG_MAPPING:
        raise UnsupportedModel(
            f"model_type is {as_written(family)}, which transformers does not know either."
            f"{nearest(family, CONFIG_MAPPING)} Write package.module:build for a function that "
            "returns the module, or give the model's totals."
        )
    left = {"model_type", "auto_map", "transformers_version", "quantization_config"}
    given = {key: value for key, value in keys.items() if key not in left}
    try:
        found = AutoConfig.for_model(family, **given)
    except Exception as error:  # whatever the class of the family has against its keys
        told = str(error).strip().split("\n")[0]
        raise InputError(
            f"transformers does not read it: {type(error).__name__}: {told}"
        ) from error
    for each in _all(found):
        for key, value in STILL.items():
            if hasattr(each, key):
                setattr(each, key, value)
    return found


def _all(config: Any) -> Iterator[Any]:
    """A configuration and those inside it."""
    yield config
    for key in config.sub_configs:
        inner = getattr(config, key, None)
        if inner is not None:
            yield from _all(inner)


def _built(config: Any, keys: Mapping[str, object], family: str) -> torch.nn.Module:
    """The module without content, with our attention where its family lets one choose."""
    import torch

    kind = _class(config, keys, family)
    _register()
    wrong: Exception | None = None
    for attention in (ATTENTION, "sdpa", "eager"):
        options: dict[str, Any] = {"attn_implementation": attention, "dtype": torch.bfloat16}
        if kind._can_set_experts_implementation():
            options["experts_implementation"] = "grouped_mm"
        try:
            with torch.device("meta"):
                return kind._from_config(config, **options).train()
        except Exception as error:  # whatever the class raises
            wrong = wrong or error
    told = str(wrong).strip().split("\n")[0]
    raise InputError(
        f"{kind.__name__} cannot be built: {type(wrong).__name__}: {told.rstrip('.:')}. Install "
        "what it lacks, mend the configuration, or write package.module:build for a function that "
        "returns the module."
    ) from wrong


def _class(config: Any, keys: Mapping[str, object], family: str) -> Any:
    """The class that a configuration names, or the first that trains such models."""
    import transformers
    from transformers.models.auto import modeling_auto

    named = keys.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else ""
    found = getattr(transformers, name, None) if name else None
    if found is not None and hasattr(found, "_from_config"):
        return found
    for task in TASKS:
        mapping = getattr(modeling_auto, task, None)
        if mapping is not None and type(config) in mapping:
            made = mapping[type(config)]
            return made[0] if isinstance(made, tuple) else made
    raise UnsupportedModel(f"transformers has no class that trains models of type {family}.")


@cache
def _register() -> None:
    """Make our attention known to transformers; without a mask function it builds no masks."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attended)


def _attended(  # noqa: PLR0917 - the signature is that of transformers
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention as transformers calls it: [samples, heads, tokens, width] in, tokens first out."""
    causal = options.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    causal = bool(causal) and query.shape[2] == key.shape[2]
    bias = options.get("position_bias", attention_mask)
    bias = bias if bias is not None and bias.requires_grad else None
    window = options.get("sliding_window") or 0
    dropout = float(options.get("dropout") or 0.0)
    found = operator()(query, key, value, bias, causal, int(window), dropout)[0]
    return found.transpose(1, 2), None
