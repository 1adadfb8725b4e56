"""Every network of pictures, speech and ratings: what all of them must satisfy."""

from functools import cache

from foretrain.workload.library.entries import SampleKind, entries

FAMILIES = {"convolutional", "detection", "segmentation", "speech", "recommendation"}
SIZES = {SampleKind.IMAGE: 256, SampleKind.TOKENS: 400, SampleKind.NOTHING: 1}
MODELS = [entry.name for entry in entries().values() if entry.family in FAMILIES]


@cache
def built(name):
    entry = entries()[name]
    return entry.build(SIZES[entry.reads])


def test_layers_hand_on_what_the_next_one_reads():
    for model in map(built, MODELS):
        for before, after in zip(model.layers, model.layers[1:], strict=False):
            assert before.output == after.input, model.name
        assert model.layers[-1].output == 0, model.name


def test_repeated_layer_hands_on_as_much_as_it_reads():
    for model in map(built, MODELS):
        assert all(layer.input == layer.output for layer in model.layers if layer.repeats > 1), (
            model.name
        )


def test_operators_of_a_layer_have_different_names():
    for model in map(built, MODELS):
        for layer in model.layers:
            names = [operator.name for operator in layer.operators]
            assert len(set(names)) == len(names), layer.name


def test_products_say_how_the_tensor_axis_divides_them_or_that_it_cannot():
    for model in map(built, MODELS):
        products = [operator for _, operator in model.operators if operator.matrices]
        assert products, model.name
        assert all(
            operator.filters if operator.units == 0 else (operator.units == 1 and operator.unit)
            for operator in products
        ), model.name


def test_tokens_are_frames_of_speech_and_one_elsewhere():
    for model in map(built, MODELS):
        assert model.tokens in {1, SIZES[SampleKind.TOKENS]}, model.name
