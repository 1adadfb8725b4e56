"""Detectors start from a trained classifier: first layers and norms stay as they are."""

import pytest

from foretrain.workload.library.entries import build
from foretrain.workload.operator import KernelFamily


@pytest.fixture(
    scope="module",
    params=[("retinanet-resnext-50", {"image": 800}), ("mask-rcnn-resnet-50", {})],
    ids=lambda param: param[0],
)
def detector(request):
    name, sizes = request.param
    return build(name, **sizes)


def test_stem_and_first_group_have_no_backward_pass(detector):
    frozen = [layer for layer in detector.layers if layer.name == "stem" or "group 2" in layer.name]
    assert len(frozen) == 3
    for layer in frozen:
        assert layer.trainable == 0
        assert all(each.backward_flop == 0 for each in layer.operators)
        assert all(each.kept.values == 0 for each in layer.operators)


def test_norms_are_scales_and_shifts_that_nothing_trains(detector):
    assert not any(each.family is KernelFamily.NORM for _, each in detector.operators)
    norms = [each for _, each in detector.operators if each.name.endswith("norm")]
    assert norms
    assert all(each.trainable == 0 for each in norms)


def test_ssd_trains_its_norms():
    found = build("ssd300-resnet-50")
    assert any(each.family is KernelFamily.NORM for _, each in found.operators)
    assert all(each.trainable == each.weights for _, each in found.operators)


def test_heads_run_on_every_picture_of_the_pyramid_with_one_set_of_weights():
    operators = [each for _, each in build("retinanet-resnext-50", image=800).operators]
    heads = [each for each in operators if each.name.startswith(("classes", "corners"))]
    products = [each for each in heads if each.matrices is not None]
    assert len(products) == 2 * 5 * 5
    assert sum(each.weights > 0 for each in products) == 2 * 5
    assert all(each.backward_flop == 2 * each.flop for each in products)
