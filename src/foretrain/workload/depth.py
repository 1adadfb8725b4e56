"""Depth: the same model with another number of layers."""

from __future__ import annotations

from dataclasses import replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model


def growing(model: Model) -> Layer:
    """The layer that a deeper model has more of: the one that repeats most, first of equals.

    Raises:
        InputError: no layer repeats, so that more of the same means nothing.
    """
    most = max((each for each in model.layers if each.cuttable), key=lambda each: each.repeats)
    if most.repeats == 1:
        raise InputError(f"no layer of {model.name} repeats, so it cannot have more of the same.")
    return most


def least_layers(model: Model) -> int:
    """Layers that can be cut if the one that grows stands there once."""
    return model.cuttable_layers - growing(model).repeats + 1


def steady_layers(model: Model) -> int:
    """Layers of a chunk from which on more of them move no layer of another kind to another chunk.

    What stands before the layer that grows is then all in the first chunk, and what stands after
    it in the last.
    """
    kinds = [each for each in model.layers if each.cuttable]
    place = kinds.index(growing(model))
    before, after = (sum(each.repeats for each in k) for k in (kinds[:place], kinds[place + 1 :]))
    return 1 + max(before, after)


def with_layers(model: Model, layers: int) -> Model:
    """A model with so many layers that can be cut; all but the one that grows stay as they are.

    Raises:
        InputError: no layer repeats, or the others alone are as many.
    """
    if layers == model.cuttable_layers:
        return model
    most, least = growing(model), least_layers(model)
    if layers < least:
        raise InputError(f"{model.name} has at least {least} layers, got {layers}.")
    grown = replace(most, repeats=layers - least + 1)
    return replace(
        model,
        name=f"{model.name} with {layers} layers",
        layers=tuple(grown if each is most else each for each in model.layers),
    )
