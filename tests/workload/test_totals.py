"""Models known by their totals: they have them, and cost about what the real ones do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Level, Link, Technology
from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import device
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.totals import SPREAD, Totals, model_of_totals
from foretrain.workload.workload import Optimizer, Workload

totals = st.builds(
    Totals,
    parameters=st.floats(1e3, 1e12),
    flop=st.floats(1e13, 1e16),
    activations=st.floats(1e3, 1e12),
    layers=st.none() | st.integers(1, 200),
)


LINK = Link(latency=1e-6, bandwidth=3e11, technology=Technology.NVLINK)
ALONE = Cluster(
    name="one device",
    device=device("a100-sxm-40gb"),
    levels=(Level(name="node", members=1, link=LINK),),
)


def seconds(model, *, micro_batch):
    """Seconds of a step of one micro-batch on one device."""
    workload = Workload(model=model, global_batch=micro_batch, optimizer=Optimizer.SGD)
    plan = Plan(micro_batch=micro_batch)
    return price_plan(setting(workload, ALONE, DEFAULT), plan, played=False).step_time


def totals_of(model, **known):
    """What a table would say of a model: FLOP of the plain kernel, outputs of products."""
    every = [(layer.repeats, each) for layer, each in model.operators]
    return Totals(
        parameters=model.parameters,
        flop=sum(n * each.flop for n, each in every if each.attention is not Attention.FLASH),
        activations=sum(
            n * each.matrices.rows * each.matrices.columns
            for n, each in every
            if each.matrices and each.weights
        ),
        **known,
    )


def kept(model):
    return sum(
        layer.repeats * each.kept.values
        for layer, each in model.operators
        if each.attention is not Attention.PLAIN
    )


@given(known=totals, tokens=st.none() | st.integers(1, 10_000))
def test_model_has_the_totals_that_it_is_made_of(known, tokens):
    model = model_of_totals(known, tokens=tokens)
    flop = sum(layer.repeats * each.flop for layer, each in model.operators)
    assert model.parameters == pytest.approx(known.parameters)
    assert flop == pytest.approx(known.flop)
    assert model.cuttable_layers == (known.layers or 1)
    assert model.tokens == (tokens or 1)
    assert model.spread == SPREAD > build("resnet-50", image=224).spread == 1


def test_published_totals_of_resnet_50_are_those_of_the_library():
    # radosavovic2020, table 4: 25.6 M parameters, 4.1 G multiply-adds, 11.1 M activations.
    found = totals_of(build("resnet-50", image=224))
    assert found.parameters == pytest.approx(25.6e6, rel=0.01)
    assert found.flop == pytest.approx(8.2e9, rel=0.01)
    assert found.activations == pytest.approx(11.1e6, rel=0.01)


@pytest.mark.parametrize("micro_batch", [16, 64, 256])
def test_resnet_50_known_by_its_totals_takes_about_as_long(micro_batch):
    real = build("resnet-50", image=224)
    known = model_of_totals(Totals(parameters=25.6e6, flop=8.2e9, activations=11.1e6))
    ratio = seconds(known, micro_batch=micro_batch) / seconds(real, micro_batch=micro_batch)
    assert ratio == pytest.approx(1, abs=0.3)
    assert kept(known) == pytest.approx(kept(real), rel=0.05)


@pytest.mark.parametrize("name", ["vgg-16", "resnet-18", "resnet-152"])
def test_other_networks_of_images_take_about_as_long(name):
    real = build(name, image=224)
    known = model_of_totals(totals_of(real))
    assert 1 / SPREAD < seconds(known, micro_batch=64) / seconds(real, micro_batch=64) < SPREAD


@pytest.mark.parametrize("name", ["megatron-1.7b", "gpt-3-175b", "llama-3-8b"])
@pytest.mark.parametrize("layers", [None, 24])
def test_models_of_text_known_by_their_totals_take_about_as_long(name, layers):
    real = build(name, sequence=2048)
    known = model_of_totals(totals_of(real, layers=layers), tokens=2048)
    assert seconds(known, micro_batch=1) == pytest.approx(seconds(real, micro_batch=1), rel=0.3)
    assert kept(known) == pytest.approx(kept(real), rel=0.15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": 0}, r"Totals\.parameters must be above 0, got 0"),
        ({"activations": float("nan")}, r"Totals\.activations must be above 0"),
        ({"layers": 0}, r"Totals\.layers must be above 0"),
        ({"flop": 10e6}, "at least 2 for each parameter"),
    ],
)
def test_impossible_totals_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Totals(**{"parameters": 25.6e6, "flop": 8.2e9, "activations": 11.1e6, **change})
