"""Other networks, precisions, optimizers and codecs, by hand: what two layers of them take."""

from dataclasses import replace

import pytest
from tests.by_hand import meters
from tests.by_hand.networks import network
from tests.by_hand.written import ALONE, BLOCK, CORE, FIRST, LAST, PRODUCTS, WHOLE

from foretrain.plan.plan import Plan, Recompute, Sharding
from foretrain.step.price import model_flop, recomputed_flop
from foretrain.step.rates import CALLS
from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.gradients import CODECS, top
from foretrain.workload.operator import Attention
from foretrain.workload.parts.language_model import Decoder, decoder
from foretrain.workload.trainable import Trainable, adapted
from foretrain.workload.workload import Optimizer, Precision, Workload


def read(workload, plan):
    """What each stage takes, compared as `approx` does."""
    return [
        {name: pytest.approx(float(value), rel=1e-12, abs=1e-9) for name, value in stage.items()}
        for stage in meters.read(workload, [plan])[0]
    ]


# ---- FLOP that utilisations count (chowdhery2022, appendix B; korthikanti2022, section 6) -------


def test_model_flop_count_every_pair_of_tokens_and_the_backward_pass_twice():
    forward = 2 * 24 * (2 * PRODUCTS + 36 * 88) + 2 * 2 * CORE
    assert model_flop(network().model) == 3 * forward


def test_hardware_flop_count_what_is_computed_again_once():
    model = network().model
    block = 2 * 24 * PRODUCTS + 2 * CORE
    full = Plan(recompute=Recompute.FULL)
    assert recomputed_flop(model, full) == 2 * block
    assert recomputed_flop(model, replace(full, recompute_layers=1)) == block
    plain = Plan(recompute=Recompute.SELECTIVE, attention=Attention.PLAIN)
    assert recomputed_flop(model, plain) == 2 * 2 * CORE


# ---- GPT: 6 heads of 6 values, biases, dropout, a table of positions, one table for both ends ---

GPT = Decoder(
    layers=2,
    hidden=36,
    feed_forward=52,
    heads=6,
    kv_heads=6,
    vocabulary=88,
    bias=True,
    dropout=True,
    positions=0,
    tied=True,
)
TABLE, POSITIONS = 88 * 36, 24 * 36
GPT_BLOCK = (
    36 * 3 * 36 + 3 * 36 + 36 * 36 + 36 + 36 * 52 + 52 + 52 * 36 + 36 + 2 * 2 * 36
)  # radford2019: weights and biases of four products, two norms of a scale and a shift


@pytest.fixture(name="gpt")
def gpt_workload():
    return Workload(model=decoder("by hand", GPT, sequence=24), global_batch=16)


def test_table_of_both_ends_is_held_once_on_one_stage_and_on_both_of_two(gpt):
    [one] = read(gpt, Plan())
    assert one["bytes of weights"] == 2 * (TABLE + POSITIONS + 2 * GPT_BLOCK + 2 * 36)
    assert one["bytes of optimizer"] == 12 * (TABLE + POSITIONS + 2 * GPT_BLOCK + 2 * 36)
    first, last = read(gpt, Plan(pipeline=2))
    assert first["bytes of weights"] == 2 * (TABLE + POSITIONS + GPT_BLOCK)
    assert last["bytes of weights"] == 2 * (GPT_BLOCK + 2 * 36 + TABLE)


def test_layer_of_gpt_keeps_what_equation_1_says(gpt):
    """korthikanti2022, equation 1, for 52 instead of 4 x 36 and dropout of a byte a value."""
    values, wide, scores = 24 * 36, 24 * 52, 6 * 24 * 24
    attention = 2 * values + 3 * 2 * values + 5 * scores + 2 * values + values
    feed_forward = 2 * values + 2 * wide + 2 * wide + values
    norms = 2 * 2 * values
    ends = values + 2 * 2 * values + 4 * 24 * 88  # mask of the embedding; norm, logits, softmax
    [found] = read(gpt, Plan(attention=Attention.PLAIN))
    assert found["bytes of activations"] == 2 * (attention + feed_forward + norms) + ends
    selective = Plan(attention=Attention.PLAIN, recompute=Recompute.SELECTIVE)
    [less] = read(gpt, selective)
    assert less["bytes of activations"] == (
        2 * (attention + feed_forward + norms - 5 * scores) + ends
    )
    assert less["bytes of buffers"] == 5 * scores


def test_tensor_axis_leaves_masks_and_norms_of_gpt_whole(gpt):
    """Equation 2: 10 bytes a value stay whole, what is between products is halved."""
    values, wide, scores = 24 * 36, 24 * 52, 6 * 24 * 24
    whole = 4 * values + 2 * values + values + 2 * values + values
    halved = (3 * 2 * values + 5 * scores + 2 * values + 4 * wide) / 2
    ends = values + 2 * 2 * values + 4 * 24 * 88 / 2
    [found] = read(gpt, Plan(tensor=2, attention=Attention.PLAIN))
    assert found["bytes of activations"] == 2 * (whole + halved) + ends


# ---- Precisions ---------------------------------------------------------------------------------


def test_fp32_has_no_second_copy_of_weights_and_values_of_four_bytes():
    workload = replace(network(), precision=Precision.FP32)
    [found] = read(workload, Plan(data=4, sharding=Sharding.OPTIMIZER))
    assert found["bytes of weights"] == 4 * WHOLE
    assert found["bytes of optimizer"] == 8 * WHOLE / 4
    assert found["wire gradients"] == 3 / 4 * 4 * WHOLE
    assert found["wire parameters"] == 3 / 4 * 4 * WHOLE
    # Gradients thrice; two moments and the weight read and written by the owner.
    assert found["traffic update"] == (8 + (4 + 2 * (8 + 4)) / 4) * WHOLE
    first, _ = read(workload, Plan(pipeline=2))
    assert first["wire send"] == 4 * 24 * 36


def test_fp8_products_keep_their_inputs_in_one_byte_and_the_rest_in_two():
    """transformer-engine: logits stay wide; outputs of attention are kept for its backward too."""
    [found] = read(replace(network(), precision=Precision.FP8), Plan(data=4))
    kept = (
        2 * 2 * 24 * 36  # norms
        + 1 * 24 * 36
        + 2 * 24 * (48 + 24 + 24)
        + 4 * 8 * 24
        + (1 + 2) * 24 * 48
        + 1 * 24 * 36
        + 2 * 24 * 2 * 52
        + 1 * 24 * 52
    )
    head = 2 * 24 * 36 + 2 * 24 * 36 + 4 * 24 * 88
    assert found["bytes of activations"] == 2 * kept + head
    assert found["bytes of weights"] == 2 * WHOLE
    assert found["wire gradients"] == 2 * 3 / 4 * 4 * WHOLE


# ---- Optimizers: bytes of state for each parameter, beside the fp32 weight ----------------------

STATES = {
    Optimizer.SGD: 0,
    Optimizer.ADAFACTOR: 0,  # shazeer2018: sums of rows and columns
    Optimizer.MOMENTUM: 4,
    Optimizer.LARS: 4,
    Optimizer.LION: 4,
    Optimizer.ADAGRAD: 4,
    Optimizer.MUON: 4,
    Optimizer.ADAM: 4 + 4,  # kingma2015, algorithm 1
    Optimizer.ADAMW: 4 + 4,
    Optimizer.LAMB: 4 + 4,
    Optimizer.ADAMW_16BIT: 2 + 2,  # deepseek2024v3, section 3.3.3
    Optimizer.ADAMW_8BIT: 2 * (1 + 4 / 2048),  # dettmers2022: a scale for 2048 values
}


def test_every_optimizer_is_written_out():
    assert set(STATES) == set(Optimizer)


@pytest.mark.parametrize("optimizer", STATES)
def test_optimizer_holds_and_moves_its_state(optimizer):
    [found] = read(replace(network(), optimizer=optimizer), Plan())
    state = STATES[optimizer] + 4
    assert found["bytes of optimizer"] == state * WHOLE
    # Norm, clearing, and the update's read of gradients; state in and out; the 16-bit weight.
    assert found["traffic update"] == (4 + 4 + 4 + 2 * state + 2) * WHOLE


# ---- Codecs: bytes of a gradient in its buffer, on the wire, kept, and moved to code it ---------

LOSSY = 4 + 3 * 4  # the gradient read; what was lost read, added and written
FORMS = {
    "fp32": (4, 4, 0, 0),
    "bf16": (2, 2, 0, 0),  # zhao2023, section 4.4
    "fp16": (2, 2, 0, 0),
    "int8": (4, 1 + 4 / 512, 4, LOSSY + 2 * (1 + 4 / 512) + 4),  # alistarh2017
    "1-bit": (4, 1 / 8 + 4 / 2048, 4, LOSSY + 2 * (1 / 8 + 4 / 2048) + 4),  # tang2021
}


def test_every_codec_is_written_out():
    assert set(FORMS) == set(CODECS)


@pytest.mark.parametrize("name", FORMS)
def test_codec_holds_sends_and_moves_its_form(name):
    held, wire, feedback, coded = FORMS[name]
    [found] = read(replace(network(), gradients=CODECS[name]), Plan(data=4))
    assert found["wire gradients"] == 2 * 3 / 4 * wire * WHOLE
    assert found["bytes of gradients"] == (held + feedback) * WHOLE
    assert found["traffic update"] == (3 * held + 24 + 2 + coded) * WHOLE


def test_largest_gradients_are_gathered_from_everybody_with_their_places():
    """aji2017, section 3: value and index, of a hundredth, from three others."""
    [found] = read(replace(network(), gradients=top(0.01)), Plan(data=4))
    assert found["wire gradients"] == 3 * 0.01 * (4 + 4) * WHOLE


# ---- Adapters of rank 2 on queries and values: hu2022, section 4 --------------------------------


def test_adapters_alone_have_gradients():
    trained = Trainable(lora=2, targets=("q_proj", "v_proj"))
    workload = replace(network(), model=adapted(network().model, trained))
    adapters = 2 * (36 * 2 + 2 * 48 + 36 * 2 + 2 * 24)  # of both blocks
    [found] = read(workload, Plan(data=4))
    assert found["bytes of weights"] == 2 * (WHOLE + adapters)
    assert found["bytes of gradients"] == 4 * adapters
    assert found["bytes of optimizer"] == 12 * adapters
    assert found["wire gradients"] == 2 * 3 / 4 * 4 * adapters
    assert found["traffic update"] == 38 * adapters
    [gathered] = read(workload, Plan(data=4, sharding=Sharding.PARAMETERS))
    # The table needs no second gather: no gradient comes back to it.
    assert gathered["wire gathered"] == 3 / 4 * 2 * (2 * (WHOLE + adapters) - 88 * 36)
    assert gathered["wire reduced"] == 3 / 4 * 4 * adapters


# ---- Two convolutions of 12 x 12 pixels: 3 to 5 channels, 5 to 7, windows of 3 x 3; 10 classes --


def pictures():
    trunk = Trunk(square(12, channels=3))
    for name, channels in (("one", 5), ("two", 7)):
        trunk.unit(name, channels, window=Window(size=3))
        trunk.section(name)
    trunk.connect("classes", 10)
    network: ConvolutionalNetwork = trunk.finish("classifier")
    return Workload(model=network.model("by hand"), global_batch=16)


ONE, TWO = 3 * 5 * 9 + 2 * 5, 5 * 7 * 9 + 2 * 7  # windows; a scale and a shift for each channel
CLASSES = (7 * 144 + 1) * 10


def test_convolutions_have_the_parameters_and_flop_of_their_windows():
    workload = pictures()
    forward = 2 * 144 * (3 * 5 * 9 + 5 * 7 * 9) + 2 * 7 * 144 * 10
    assert workload.model.parameters == ONE + TWO + CLASSES
    assert model_flop(workload.model) == 3 * forward


def test_replicas_of_convolutions_add_up_fp32_gradients():
    [found] = read(pictures(), Plan(data=4))
    assert found["wire gradients"] == 2 * 3 / 4 * 4 * (ONE + TWO + CLASSES)
    assert found["bytes of optimizer"] == 12 * (ONE + TWO + CLASSES)
    [scattered] = read(pictures(), Plan(data=4, sharding=Sharding.PARAMETERS))
    assert scattered["wire gathered"] == 2 * 3 / 4 * 2 * (ONE + TWO + CLASSES)


def test_stages_of_convolutions_send_the_largest_picture_between_two():
    first, last = read(pictures(), Plan(pipeline=2))
    assert first["bytes of weights"] == 2 * ONE
    assert last["bytes of weights"] == 2 * (TWO + CLASSES)
    assert first["wire send"] == 2 * 7 * 144


def test_convolution_starts_a_kernel_for_each_operator_and_two_products_back():
    [found] = read(pictures(), Plan())
    # Convolution, norm and activation, twice; the connection: a call each, of as many as CALLS.
    call = 1 / CALLS
    assert found["launches forward"] == (2 * 3 + 1) * call
    # Nothing comes back to the samples: the first convolution has gradients of weights alone; they
    # are a kernel more of the other and of the connection.
    assert found["launches backward"] == (2 * 3 + 1 - 1) * call + 3


def test_written_amounts_are_those_of_this_network():
    """The constants of `written` that are used here, once more in full."""
    assert WHOLE == 88 * 36 + 2 * BLOCK + 88 * 36 + 36 == 28_116
    assert FIRST + LAST == WHOLE
    assert ALONE["one device"]["bytes of weights"] == 2 * WHOLE
