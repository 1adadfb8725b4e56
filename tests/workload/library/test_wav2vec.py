"""wav2vec 2.0: what its convolutions make of a wave."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import build

SIZES = ["wav2vec2-base", "wav2vec2-large"]


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize(("frames", "tokens"), [(3, 1), (100, 49), (1000, 499), (1500, 749)])
def test_tokens_are_those_of_the_published_windows(name, frames, tokens):
    assert build(name, sequence=frames).tokens == tokens


@pytest.mark.parametrize("name", SIZES)
def test_wave_shorter_than_the_first_window_is_refused(name):
    with pytest.raises(InputError, match=f"at least 3 frames of 10 ms for {name}, got 2"):
        build(name, sequence=2)


@pytest.mark.parametrize("name", SIZES)
def test_parameters_do_not_depend_on_the_length_of_the_wave(name):
    assert build(name, sequence=100).parameters == build(name, sequence=2000).parameters


@pytest.mark.parametrize("name", SIZES)
def test_layers_hand_on_what_the_next_one_reads(name):
    layers = build(name, sequence=1000).layers
    assert [part.output for part in layers[:-1]] == [part.input for part in layers[1:]]
    assert layers[-1].output == 0
