"""Codecs of gradients: bytes sent and kept, and what is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.workload.gradients import CODECS, FP32, power_sgd, top
from foretrain.workload.library.entries import build
from foretrain.workload.trainable import Trainable, adapted
from foretrain.workload.workload import Precision, Workload

MODEL = build("llama-3-8b", sequence=128)
LOSSY = [*(CODECS[name] for name in ("int8", "1-bit")), top(0.01), power_sgd(4, MODEL)]


def test_gradients_are_sent_as_they_are_added_up_unless_a_study_says_otherwise():
    workload = Workload(model=MODEL, global_batch=1)
    assert workload.gradients is FP32
    assert workload.gradients.wire_bytes == workload.gradients.held_bytes == 4
    assert workload.gradients.held_bytes == Precision.BF16.gradient_bytes


@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16"])
def test_plain_numbers_need_no_work_and_lose_nothing_that_is_kept(name):
    codec = CODECS[name]
    assert codec.kept_bytes == codec.encode_bytes == codec.decode_bytes == 0
    assert codec.adds_up


@pytest.mark.parametrize("codec", LOSSY, ids=lambda codec: codec.name)
def test_lossy_codec_sends_less_and_keeps_what_it_lost(codec):
    assert codec.wire_bytes < FP32.wire_bytes
    assert codec.kept_bytes == 4
    # At least: gradient and remainder read, remainder and message written.
    assert codec.encode_bytes >= 12 + codec.wire_bytes
    assert codec.decode_bytes >= codec.wire_bytes


@given(share=st.floats(1e-6, 1))
def test_each_of_the_largest_gradients_is_sent_with_its_position(share):
    assert top(share).wire_bytes == 8 * share
    assert not top(share).adds_up


def test_one_bit_codec_sends_a_thirty_second_part_and_a_scale():
    # papers.md: gradient quantisation sends M/32.
    assert CODECS["1-bit"].wire_bytes == pytest.approx(4 / 32, rel=0.02)


def test_thin_products_send_their_rank_in_rows_and_columns():
    # resnet-50's classifier alone: 2048 x 1000 and a bias.
    layer = build("resnet-50", image=224).layers[-1]
    model = replace(build("resnet-50", image=224), layers=(replace(layer, cuttable=True),))
    matrices = 2_049_000 / 2_048_000
    assert power_sgd(4, model).wire_bytes == 4 * 4 * 3048 * matrices / 2_049_000


@given(rank=st.integers(1, 10_000))
def test_thin_products_never_send_more_than_the_gradients(rank):
    sent = power_sgd(rank, MODEL).wire_bytes
    assert 0 < sent <= 4
    assert sent <= power_sgd(rank + 1, MODEL).wire_bytes


def test_frozen_matrices_send_nothing():
    tuned = adapted(MODEL, Trainable(lora=4))
    # The factors of the adapters have rank 4 themselves.
    assert power_sgd(64, tuned).wire_bytes == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: top(0.0), r"gradients\.top must be above 0 %"),
        (lambda: top(1.01), "at most 100 %"),
        (lambda: top(float("nan")), "at most 100 %"),
        (lambda: power_sgd(0, MODEL), r"gradients\.powersgd must be at least 1, got 0"),
        (lambda: replace(FP32, wire_bytes=0.0), r"GradientCodec\.wire_bytes must be above 0"),
        (lambda: replace(FP32, kept_bytes=-1.0), r"GradientCodec\.kept_bytes must be at least 0"),
    ],
)
def test_impossible_codec_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
