"""Encoder-decoders, vision transformers and ELECTRA: streams that fit, layers in their places."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.workload.library.entries import build, entries
from foretrain.workload.parts.encoder_decoder import SPANS, Spans

T5 = entries()["t5-base"].shape


def test_encoder_that_ends_in_a_norm_has_a_last_layer_of_its_own():
    names = [(layer.name, layer.repeats) for layer in build("t5-base", sequence=512).layers]
    assert names == [
        ("embedding", 1),
        ("encoder block", 11),
        ("last encoder block", 1),
        ("decoder block", 12),
        ("head", 1),
    ]
    assert [layer.repeats for layer in build("bart-base", sequence=512).layers] == [1, 6, 6, 1]


def test_encoder_of_one_layer_is_its_last():
    shape = replace(T5, encoder=replace(T5.encoder, repeats=1))
    names = [layer.name for layer in shape.model("one", 8).layers]
    assert names == ["embedding", "last encoder block", "decoder block", "head"]


def test_output_of_the_encoder_travels_with_the_decoder():
    *_, encoder, decoder, _ = build("bart-base", sequence=512).layers
    assert (encoder.output, decoder.input) == (512 * 768, 512 * 768)
    assert decoder.output == 2 * 512 * 768


def test_t5_writes_114_tokens_of_the_568_of_which_it_reads_512():
    # raffel2020's own code, and the example of Flax in transformers: 568 tokens, 114 targets.
    assert SPANS.targets(512) == 114
    *_, decoder, head = build("t5-base", sequence=512).layers
    assert (decoder.input, decoder.output) == (114 * 768, (114 + 512) * 768)
    [logits] = [each for each in head.operators if each.matrices]
    assert logits.matrices.rows == 114
    embedding = build("t5-base", sequence=512).layers[0]
    assert embedding.operators[0].output == (512 + 114) * 768


@given(sequence=st.integers(1, 200), share=st.floats(0.01, 0.9), mean=st.floats(1.0, 20.0))
def test_longest_text_is_cut_of_which_that_many_tokens_are_left(sequence, share, mean):
    def cut(text):
        return round(share * text), round(round(share * text) / mean)

    def read(text):
        gone, spans = cut(text)
        return text - gone + spans + 1  # a mark for each span, and one for the end

    text = max(each for each in range(20 * sequence + 40) if read(each) <= sequence)
    assert Spans(share=share, mean=mean).targets(sequence) == sum(cut(text)) + 1


def test_spans_that_cut_out_nothing_or_everything_are_refused():
    for wrong in ({"share": 0.0, "mean": 3}, {"share": 1.0, "mean": 3}, {"share": 0.5, "mean": 0}):
        with pytest.raises(InputError, match="share must be above 0 and below 1"):
            Spans(**wrong)


def test_both_streams_are_looked_up_in_one_table():
    embedding = build("bart-large", sequence=100).layers[0]
    assert embedding.operators[0].output == 200 * 1024
    tables = 50_265 * 1024, 2 * 1026 * 1024, 2 * 2 * 1024
    assert embedding.weights == sum(tables)


def test_only_the_decoder_hides_what_comes_later():
    *_, encoder, decoder, _ = build("bart-base", sequence=512).layers
    flop = [
        next(each.flop for each in layer.operators if each.name == "flash attention")
        for layer in (encoder, decoder)
    ]
    assert flop[0] == 2 * flop[1]


def test_decoder_without_cross_attention_is_refused():
    with pytest.raises(InputError, match="every block needs cross attention"):
        replace(T5, decoder=T5.encoder)
    with pytest.raises(InputError, match="sequence must be at least 1 token, got 0"):
        T5.model("none", 0)


def test_vision_transformer_has_a_token_per_patch_and_one_for_the_class():
    model = build("vit-b-16", image=224)
    assert model.tokens == 14 * 14 + 1
    assert model.layers[0].input == 3 * 224 * 224
    assert model.cuttable_layers == 12


def test_vision_transformer_of_base_size_takes_17_6_billion_multiply_adds():
    model = build("vit-b-16", image=224)
    products = (
        layer.repeats * each.flop / 2
        for layer, each in model.operators
        if each.name != "flash attention"
    )
    assert sum(products) == pytest.approx(17.58e9, rel=0.005)  # published as 17.56 G


@pytest.mark.parametrize("image", [0, 225, -16])
def test_image_is_a_whole_number_of_patches(image):
    with pytest.raises(InputError, match=r"multiple of the 16 pixels of a patch for vit-b-16"):
        build("vit-b-16", image=image)


def test_generator_of_electra_fills_in_what_the_discriminator_judges():
    model = build("electra-base", sequence=512)
    _, _, last, discriminator, head = model.layers
    [logits] = [each for each in last.operators if each.name == "logits"]
    assert logits.matrices.rows == 77  # 15 % of 512, rounded up
    assert logits.weights == model.tied + 30_522
    assert last.output == discriminator.input
    assert head.operators[-1].matrices.rows == 512
    with pytest.raises(InputError, match="sequence must be at least 1 token, got 0"):
        build("electra-base", sequence=0)
