"""What is recorded without content is what a real run does: bytes kept, FLOP, whole attention."""

import pytest
from tests.needs import needs

from foretrain.workload.operator import Attention

torch = needs("torch")
nn = torch.nn

from foretrain.study.tracing.module import traced_module  # noqa: E402

FP32 = 4


def convolutional():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, groups=2, bias=False), nn.GroupNorm(4, 16), nn.SiLU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16 * 3 * 3, 10), nn.LogSoftmax(-1),
    )  # fmt: skip


def perceptron():
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 8), nn.GELU())


def recurrent():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.GRU(8, 16, batch_first=True)

        def forward(self, given):
            return self.cells(given)[0][:, -1]

    return Last()


def volumes():
    return nn.Sequential(nn.Conv3d(2, 4, 3), nn.ReLU(inplace=True), nn.ConvTranspose3d(4, 2, 2, 2))


NETWORKS = {
    convolutional: (4, 3, 14, 14),
    perceptron: (4, 8),
    recurrent: (4, 5, 8),
    volumes: (2, 2, 6, 6, 6),
}


def really_kept(net, given):
    """Bytes that autograd keeps of a real run, parameters apart, each storage once."""
    own = {each.untyped_storage().data_ptr() for each in net.parameters()}
    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda each: each):
        out = net(given)
    assert out.requires_grad
    return sum(each.nbytes() for each in found.values())


def really_computed(net, given):
    """FLOP of a real forward pass, as PyTorch counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        net(given)
    return counter.get_total_flops()


def total(model, of):
    mine = (None, Attention.FLASH)
    found = ((layer, each) for layer, each in model.operators if each.attention in mine)
    return sum(layer.repeats * of(each) for layer, each in found)


@pytest.mark.parametrize("build", NETWORKS)
def test_what_is_kept_is_what_a_real_run_keeps(build):
    torch.manual_seed(0)
    net, given = build().train(), torch.rand(NETWORKS[build])
    model = traced_module(net, name="net", example=given)
    kept = total(model, lambda each: each.kept.values * FP32 + each.kept.fixed)
    assert kept * len(given) == pytest.approx(really_kept(net, given), rel=1e-3)


@pytest.mark.parametrize("build", NETWORKS)
def test_flop_are_those_that_pytorch_counts(build):
    net, given = build(), torch.rand(NETWORKS[build])
    model = traced_module(net, name="net", example=given)
    assert total(model, lambda each: each.flop) * len(given) == really_computed(net, given)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_one_operator_that_keeps_no_scores(causal):
    class Net(nn.Module):
        def forward(self, given):
            asked = given.unflatten(-1, (4, 16)).transpose(1, 2) * self.scale
            found = nn.functional.scaled_dot_product_attention(
                asked, asked, asked, is_causal=causal
            )
            return found.transpose(1, 2).flatten(2)

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

    model = traced_module(Net(), name="net", example=torch.zeros(2, 256, 64))
    (flash,) = [each for _, each in model.operators if each.attention is Attention.FLASH]
    pairs = 256 * 256 / 2 if causal else 256 * 256
    assert flash.flop == 4 * pairs * 64
    assert total(model, lambda each: each.kept.values) < 5 * 256 * 64
    plain = [each for _, each in model.operators if each.attention is Attention.PLAIN]
    assert sum(each.flop for each in plain) == 4 * 256 * 256 * 64


def test_attention_is_left_to_pytorch_once_the_trace_is_done():
    query = torch.rand(1, 2, 4, 8, device="meta")
    traced_module(nn.MultiheadAttention(8, 2), name="net", example=(torch.zeros(2, 3, 8),) * 3)
    out = nn.functional.scaled_dot_product_attention(query, query, query)
    assert out.grad_fn is None
    assert out.shape == query.shape


def test_learned_bias_of_attention_has_a_gradient():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(torch.zeros(4, 8, 8))

        def forward(self, given):
            return nn.functional.scaled_dot_product_attention(
                given, given, given, attn_mask=self.bias.expand(given.shape[0], -1, -1, -1)
            )

    model = traced_module(Net(), name="net", example=torch.zeros(2, 4, 8, 16))
    assert model.parameters == 4 * 8 * 8


def test_dropout_keeps_a_byte_for_each_value_as_on_a_gpu():
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
    model = traced_module(net, name="net", example=torch.zeros(2, 8))
    (dropout,) = [each for _, each in model.operators if "dropout" in each.name]
    assert (dropout.kept.values, dropout.kept.fixed) == (0, 8)


def test_module_that_fails_leaves_no_hook_behind():
    from torch.nn.modules import module as hooks

    before = len(hooks._global_forward_pre_hooks), len(hooks._global_forward_hooks)
    with pytest.raises(ValueError, match=r"mat1|shape"):
        traced_module(nn.Linear(3, 4), name="net", example=torch.zeros(2, 5))
    assert (len(hooks._global_forward_pre_hooks), len(hooks._global_forward_hooks)) == before


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_a_module_recomputes_by_itself_is_left_to_the_plan(reentrant):
    from torch.utils.checkpoint import checkpoint

    class Net(nn.Module):
        def __init__(self, *, checkpoints):
            super().__init__()
            self.parts = nn.ModuleList(perceptron() for _ in range(3))
            self.checkpoints = checkpoints

        def forward(self, given):
            for part in self.parts:
                run = checkpoint if self.checkpoints else lambda part, each, **_: part(each)
                given = run(part, given, use_reentrant=reentrant)
            return given

    with_, without = (
        traced_module(Net(checkpoints=each), name="net", example=torch.zeros(4, 8))
        for each in (True, False)
    )
    assert with_.layers == without.layers
    assert "plan.recompute decides" in with_.assumed[0]
    assert not without.assumed
    out = checkpoint(perceptron(), torch.zeros(4, 8, requires_grad=True), use_reentrant=reentrant)
    assert out.requires_grad


def test_module_on_several_devices_is_the_one_that_they_train():
    whole = traced_module(nn.DataParallel(perceptron()), name="net", example=torch.zeros(4, 8))
    assert whole.parameters == sum(each.numel() for each in perceptron().parameters())


@pytest.mark.parametrize(
    ("module", "given"),
    [
        (nn.TransformerEncoderLayer(16, 4, batch_first=True), (2, 8, 16)),
        (nn.LSTM(8, 16, bidirectional=True, batch_first=True), (2, 5, 8)),
        (nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)), (4, 8)),
        (nn.Bilinear(4, 4, 3), None),
    ],
)
def test_parameters_are_counted_whoever_reads_them(module, given):
    example = torch.zeros(given) if given else (torch.zeros(2, 4), torch.zeros(2, 4))
    model = traced_module(module, name="net", example=example)
    assert model.parameters == sum(each.numel() for each in module.parameters())
