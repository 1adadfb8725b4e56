"""Eager: what separate kernels keep, counted by hand, and laws."""

import pytest

from foretrain.workload.execution import GELU_KEPT, Kernels, Loss, eager, with_written_gelu
from foretrain.workload.library.entries import SampleKind, build, entries
from foretrain.workload.prompts import Prompt, prompted
from foretrain.workload.trainable import Trainable, WeightStorage, adapted

TOKENS = 512
LORA = Trainable(lora=8, targets=("q_proj", "v_proj"), dropout=True)


def kept(model, layer=1):
    """Bytes that one block keeps of a token, at two bytes a value, without the sums of softmax."""
    operators = model.layers[layer].operators
    sizes = [2 * each.kept.values + each.kept.fixed for each in operators if not _core(each)]
    return sum(sizes) / TOKENS


def _core(operator):
    return operator.attention is not None


def test_block_of_llama_with_adapters_keeps_what_each_operation_needs():
    """Two norms in fp32; dropout's mask and copy; q, k, v, rotated q and k; the adapters' padded
    outputs; what attention wrote; both branches of the gate and the activated one."""
    model = eager(adapted(build("llama-2-7b", sequence=TOKENS), LORA))
    hidden, wide, rank = 4096, 11008, 8
    norms, dropped, heads, padded, attended = 2 * 4, 1 + 2, 2 * 5, 2 * 2, 2
    by_hand = (norms + dropped + heads + padded + attended) * hidden + 3 * 2 * wide
    assert kept(model) == by_hand + 2 * rank * 2


def test_block_of_neox_with_adapters_keeps_what_each_operation_needs():
    """One input for both norms, and no gate."""
    model = eager(adapted(build("stablelm-alpha-3b", sequence=TOKENS), LORA))
    hidden, rank = 4096, 8
    by_hand = (2 + (1 + 2) + 2 * 5 + 2 * 2 + 2) * hidden + 2 * 4 * hidden
    assert kept(model) == by_hand + 2 * rank * 2


@pytest.mark.parametrize("name", ["llama-2-7b", "stablelm-alpha-3b", "phi-1.5"])
def test_products_of_packed_weights_keep_each_input_once(name):
    """The output of each norm, and what the last product reads."""
    packed = Trainable(lora=8, targets=("q_proj",), stored=WeightStorage.NF4)
    model = adapted(build(name, sequence=TOKENS), packed)
    hidden = model.layers[1].input / TOKENS
    wide = {"llama-2-7b": 11008}.get(name, 4 * hidden)
    norms = {"phi-1.5": 1}.get(name, 2)
    more = kept(eager(model, Kernels(inputs=True))) - kept(eager(model))
    assert more == 2 * (norms * hidden + wide)


def test_eager_models_keep_no_less_and_compute_the_same():
    for name in [name for name, entry in entries().items() if entry.reads is SampleKind.TOKENS]:
        model = build(name, sequence=TOKENS)
        found = eager(model)
        assert found.parameters == model.parameters, name
        for (_, before), (_, after) in zip(model.operators, found.operators, strict=True):
            assert 2 * after.kept.values + after.kept.fixed >= (
                2 * before.kept.values + before.kept.fixed
            ), name
            assert (after.flop, after.forward, after.trained) == (
                before.flop,
                before.forward,
                before.trained,
            ), name


def test_norm_whose_weights_are_trained_keeps_what_it_normalised_too():
    model = build("llama-2-7b", sequence=TOKENS)
    scaled = prompted(model, Prompt(tokens=10, scales=True))
    plain = prompted(model, Prompt(tokens=10))
    norms = [
        [each.kept for each in eager(found).layers[1].operators if "norm" in each.name]
        for found in (plain, scaled)
    ]
    assert [each.fixed for each in norms[1]] == [each.fixed for each in norms[0]]
    assert [4 * each.values for each in norms[1]] == [each.fixed for each in norms[0]]
    assert not any(each.values for each in norms[0])


LOGITS, WORDS = 4096, 32_000


def loss_bytes(kernels):
    """Bytes of the loss for each logit, kept and passing, at two bytes a value."""
    model = eager(build("llama-2-7b", sequence=TOKENS), kernels)
    loss = next(each for _, each in model.operators if each.name == "loss")
    sizes = (loss.kept, loss.passing) if loss.passing else (loss.kept,)
    return sum(2 * each.values + each.fixed for each in sizes) / (TOKENS * WORDS)


@pytest.mark.parametrize(
    ("loss", "bytes_of_a_logit"),
    [
        (Loss.LEAN, 4),
        (Loss.WHOLE, 4 + 4 + 4),
        (Loss.SHIFTED, 2 + 4 + 4 + 4),
        (Loss.FUSED, 4 + 4),
        (Loss.CHUNKED, 2 + 12 / 8),
        (Loss.FUSED_LINEAR, 14 * LOGITS / WORDS),
    ],
)
def test_what_is_there_of_logits_at_the_peak(loss, bytes_of_a_logit):
    assert loss_bytes(Kernels(loss=loss)) == pytest.approx(bytes_of_a_logit)


@pytest.mark.parametrize(("loss", "copies"), [(Loss.WHOLE, 3), (Loss.SHIFTED, 4), (Loss.FUSED, 2)])
def test_a_loss_that_widens_nothing_has_copies_of_two_bytes(loss, copies):
    assert loss_bytes(Kernels(loss=loss, narrow=True)) == 2 * copies


def test_fused_norms_keep_their_input_as_it_is():
    """Two norms of a block: 4 + 2 bytes a value in fp32 and beside it, or 2."""
    model = adapted(build("llama-2-7b", sequence=TOKENS), LORA)
    less = kept(eager(model)) - kept(eager(model, Kernels(norms=True)))
    assert less == 2 * (4 - 2) * 4096


def test_separate_products_leave_no_parts_beside_rotated_copies():
    model = adapted(build("llama-2-7b", sequence=TOKENS), LORA)
    assert kept(eager(model, Kernels(separate=True))) < kept(eager(model))


def test_what_a_compiler_fuses_keeps_what_the_library_counts():
    model = build("llama-2-7b", sequence=TOKENS)
    assert kept(eager(model, Kernels(passes=True))) == kept(model)


def operators(model, kernels, part):
    found = eager(model, kernels).layers[1].operators
    return [each for each in found if part in each.name]


def test_what_a_tensor_axis_gathers_is_kept_whole_by_products_of_columns_alone():
    model = build("llama-2-7b", sequence=TOKENS)
    gathered = [
        each.name for _, each in eager(model, Kernels(gathered=True)).operators if each.gathered
    ]
    assert gathered == ["query-key-value", "feed-forward in", "logits"]
    assert not any(each.gathered for _, each in eager(model).operators)


def test_softmax_of_plain_attention_is_kept_in_fp32_and_narrowed():
    (softmax,) = operators(build("llama-2-7b", sequence=TOKENS), Kernels(), "softmax")
    assert softmax.kept.fixed == 2 * (2 * softmax.kept.values)


def test_shared_keys_are_repeated_for_plain_attention_alone():
    few, many = (
        operators(build(name, sequence=TOKENS), Kernels(), "scores")[0].kept.values
        for name in ("llama-3-8b", "llama-2-7b")
    )
    assert (few, many) == (2 * (4096 - 1024) * TOKENS, 0)


def test_a_mask_takes_two_bytes_a_pair_of_tokens_and_head():
    model = build("llama-2-7b", sequence=TOKENS)
    (masked,), (plain,) = (
        operators(model, Kernels(masks=masks), "flash attention") for masks in (True, False)
    )
    assert masked.kept.values - plain.kept.values == 32 * TOKENS * TOKENS


def test_autocast_casts_the_input_of_each_product():
    model = build("llama-2-7b", sequence=TOKENS)
    (cast,), (once,) = (
        operators(model, Kernels(autocast=autocast), "query-key-value")
        for autocast in (True, False)
    )
    assert cast.kept.values == 3 * once.kept.values


def test_of_what_passes_by_a_layer_the_most_counts():
    layer = eager(build("llama-2-7b", sequence=TOKENS)).layers[1]
    passing = [each for each in layer.operators if each.passing and each.attention is None]
    assert [each.name for each in passing] == ["activation"]
    assert passing[0].passing.values == (2 * 11008 + 2 * 4096) * TOKENS


def test_written_gelu_keeps_what_pytorch_keeps_of_it():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    found = []
    x = torch.randn(64, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: found.append(t) or t, lambda t: t):
        x * 0.5 * (1.0 + torch.erf(x / 2.0**0.5))
    values = sum(each.numel() for each in found if each.numel() > 1)
    assert values == GELU_KEPT * x.numel()


def test_model_with_a_written_gelu_keeps_more_of_each_block_and_computes_the_same():
    plain = build("bert-large", sequence=TOKENS)
    written = with_written_gelu(plain)
    assert kept(written) - kept(plain) == 2 * (GELU_KEPT - 1) * 4096
    both = zip(plain.operators, written.operators, strict=True)
    assert all((one.flop, one.forward) == (two.flop, two.forward) for (_, one), (_, two) in both)
