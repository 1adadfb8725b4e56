"""GNMT: parameters and products by hand."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.parts.encoder_decoder import RecurrentTranslation

HIDDEN, WORDS = 1024, 32_320


def lstm(inputs, directions=1):
    """Four gates of weights from below and from the token before, with a bias each."""
    return directions * 4 * HIDDEN * (inputs + 1 + HIDDEN + 1)


BY_HAND = (
    WORDS * HIDDEN
    + lstm(HIDDEN, 2) + lstm(2 * HIDDEN) + 2 * lstm(HIDDEN)
    + 4 * lstm(2 * HIDDEN)
    + 2 * HIDDEN**2 + 2 * HIDDEN
    + WORDS * HIDDEN + WORDS
)  # fmt: skip


def test_gnmt_has_its_parameters():
    assert build("gnmt", sequence=32).parameters == BY_HAND


def test_tokens_of_both_sides_count():
    assert build("gnmt", sequence=32).tokens == 64


def test_a_state_is_handed_on_from_token_to_token():
    """One kernel a token, which reads the weights of the state again."""
    model = build("gnmt", sequence=32)
    steps = [each for _, each in model.operators if each.name == "recurrence"]
    assert {each.kernels for each in steps} == {32}
    assert {each.matrices.batch for each in steps} == {32.0, 64.0}


def test_products_grow_with_tokens_and_scores_with_their_square():
    short, long = (build("gnmt", sequence=tokens) for tokens in (16, 32))

    def values(model):
        return next(o.forward.values for _, o in model.operators if o.name == "additive scores")

    assert values(long) == 4 * values(short)


@pytest.mark.parametrize("change", [{"layers": 1}, {"hidden": 0}, {"vocabulary": 0}])
def test_sizes_must_make_a_network(change):
    with pytest.raises(InputError, match=next(iter(change))):
        RecurrentTranslation(**{"layers": 4, "hidden": 8, "vocabulary": 16} | change)


def test_a_sample_has_a_token():
    with pytest.raises(InputError, match="at least 1 token"):
        RecurrentTranslation(layers=2, hidden=8, vocabulary=16).model("x", 0)
