"""Sized: the question about one size, of a study that asks for the largest."""

from __future__ import annotations

from dataclasses import replace

from foretrain.plan.study import Maximise, Study
from foretrain.workload.depth import with_layers


def sized(study: Study, size: int) -> Study:
    """The same question with what it maximises at one size, and nothing to maximise.

    Args:
        study: the question; one that maximises the sequence knows its other lengths.
        size: samples of a micro-batch, tokens of a sample, or layers that can be cut.
    """
    asked = replace(study, maximise=None, scenarios=())
    match study.maximise:
        case Maximise.MICRO_BATCH:
            return replace(asked, space=replace(study.space, micro_batch=(size,)))
        case Maximise.SEQUENCE:
            assert study.lengthened is not None, "a question without other lengths was not refused"
            return replace(asked, workload=study.lengthened(size))
        case _:
            model = with_layers(study.workload.model, size)
            return replace(asked, workload=replace(study.workload, model=model))
