"""Networks of one's own: what a trace counts, and every way in which code can fail."""

import shutil
from pathlib import Path

import pytest
from tests.needs import needs

from foretrain.errors import ForetrainError, InputError, MissingExtra, UnsupportedModel
from foretrain.step.estimate import estimate
from foretrain.study.study import read_study
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention, KernelFamily

torch = needs("torch")
nn = torch.nn

from foretrain.study.tracing.module import traced_code, traced_module  # noqa: E402

HERE = Path(__file__).parent
STUDY = """
[workload]
model = "{model}"
{size}
global_batch = 16

[cluster]
name = "pcie-8x-rtx-3090"
nodes = 1

[plan]
data = 8
micro_batch = 2
"""


def forward_flop(model, kernel=Attention.FLASH):
    mine = (None, kernel)
    return sum(
        layer.repeats * each.flop for layer, each in model.operators if each.attention in mine
    )


def kept_bytes(model, width):
    return sum(
        layer.repeats * (each.kept.values * width + each.kept.fixed)
        for layer, each in model.operators
        if each.attention in (None, Attention.FLASH)
    )


@pytest.fixture(scope="module")
def resnet():
    return traced_code("networks:resnet_50", folder=str(HERE), sequence=None, image=224)


def test_traced_resnet_is_the_library_s(resnet):
    known = build("resnet-50", image=224)
    assert resnet.parameters == known.parameters
    assert forward_flop(resnet) == pytest.approx(forward_flop(known), rel=0.01)
    for width in (2, 4):
        assert kept_bytes(resnet, width) == pytest.approx(kept_bytes(known, width), rel=0.02)
    assert resnet.dimensions == known.dimensions


def test_blocks_of_a_traced_resnet_are_folded_and_can_be_cut_at(resnet):
    known = build("resnet-50", image=224)
    assert [layer.repeats for layer in resnet.layers] == [it.repeats for it in known.layers]
    assert [layer.output for layer in resnet.layers] == [it.output for it in known.layers]
    assert [layer.cuttable for layer in resnet.layers] == [it.cuttable for it in known.layers]


def test_convolutions_of_a_traced_resnet_are_of_the_library_s_families(resnet):
    def families(model):
        mine = (KernelFamily.CONVOLUTION, KernelFamily.SQUARE, KernelFamily.NORM)
        return [each.family for _, each in model.operators if each.family in mine]

    assert families(resnet) == families(build("resnet-50", image=224))
    assert [each.first for _, each in resnet.operators].index(True) == 0


def test_a_plan_may_divide_of_a_traced_resnet_what_it_may_of_the_library_s(resnet):
    def divided(model):
        return [(it.pixels, it.filters, it.channels, it.units) for _, it in model.operators]

    assert divided(resnet) == divided(build("resnet-50", image=224))


@pytest.mark.parametrize(
    "plan",
    [
        {"grid": [2, 2], "data": 2},
        {"tensor": 8, "convolutions": "filter"},
        {"tensor": 4, "convolutions": "channel", "split": 4},
    ],
)
def test_strategies_of_pictures_take_a_traced_resnet_as_they_take_the_library_s(resnet, plan):
    plan = {**plan, "micro_batch": 8}
    traced, known = (
        estimate(model=model, global_batch=64, devices="dgx-a100", plan=plan, **size)
        for model, size in ((resnet, {}), ("resnet-50", {"image": 224}))
    )
    assert traced.step_time == pytest.approx(known.step_time, rel=0.02)
    assert traced.memory.total == pytest.approx(known.memory.total, rel=0.02)


def test_a_study_names_code_beside_it_and_is_estimated(tmp_path):
    shutil.copy(HERE / "networks.py", tmp_path / "mine.py")
    answers = []
    for name in ("mine:resnet_50", "resnet-50"):
        (tmp_path / "study.toml").write_text(STUDY.format(model=name, size="image = 224"))
        answers.append(estimate(read_study(tmp_path / "study.toml")))
    traced, known = answers
    assert traced.step_time == pytest.approx(known.step_time, rel=0.02)
    assert traced.memory.total == pytest.approx(known.memory.total, rel=0.02)


def test_transformer_has_both_attention_kernels_and_equal_blocks_are_one():
    model = traced_code("networks:small_encoder", folder=str(HERE), sequence=512, image=None)
    assert model.kernels == {Attention.PLAIN, Attention.FLASH}
    assert [layer.repeats for layer in model.layers] == [1, 6, 1]
    assert model.tokens == 512
    parts = (32_000 * 512, 4096 * 512, 6 * (12 * 512 * 512 + 13 * 512), 10 * 512 + 10)
    assert model.parameters == sum(parts)


def small(forward=None, layers=None):
    """A network whose only part is a product, unless its forward pass is another one."""

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.product = layers or nn.Linear(8, 8)

        def forward(self, given):
            return forward(self, given) if forward else self.product(given)

    return Small()


def traced(forward=None, *, layers=None, example=None):
    module = small(forward, layers)
    return traced_module(
        module, name="net", example=torch.zeros(4, 8) if example is None else example
    )


def test_module_is_left_as_it_is():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout()).eval()
    before = {name: each.clone() for name, each in module.state_dict().items()}
    traced_module(module, name="net", image=32)
    assert not module.training
    assert all(each.is_cpu for each in module.parameters())
    assert all(torch.equal(before[name], each) for name, each in module.state_dict().items())


def test_counts_are_of_one_sample_whatever_the_example_has():
    one, many = (traced(example=torch.zeros(count, 8)) for count in (1, 32))
    assert forward_flop(one) == forward_flop(many) == 2 * 8 * 8
    assert kept_bytes(one, 2) == kept_bytes(many, 2) == 16


def test_shared_parameters_count_once():
    module = nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 100, bias=False))
    module[1].weight = module[0].weight
    model = traced_module(module, name="tied", sequence=16)
    assert model.parameters == 800
    assert forward_flop(model) == 2 * 16 * 8 * 100


def test_frozen_parameters_are_not_trained_and_what_stands_before_them_has_no_backward_pass():
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    module[0].requires_grad_(False)
    model = traced_module(module, name="net", example=torch.zeros(4, 8))
    assert (model.parameters, model.trainable) == (144, 72)
    assert [each.backward_flop for _, each in model.operators if each.matrices] == [0, 4 * 8 * 8]


def test_parameters_that_nothing_reads_are_counted():
    model = traced(layers=nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 3)]),
                   forward=lambda self, x: self.product[0](x))  # fmt: skip
    assert model.parameters == 72 + 27


def test_grouped_products_of_experts_have_their_flop():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.Parameter(torch.zeros(4, 16, 32))

        def forward(self, tokens):
            ends = torch.arange(1, 5, device=tokens.device, dtype=torch.int32) * 8
            return torch._grouped_mm(tokens.reshape(-1, 16), self.weights, offs=ends)

    model = traced_module(Experts(), name="net", example=torch.zeros(2, 16, 16))
    assert forward_flop(model) == 2 * 16 * 16 * 32


def test_depthwise_convolution_counts_each_channel_by_itself():
    model = traced_module(nn.Conv2d(8, 8, 7, padding=3, groups=8), name="net",
                          example=torch.zeros(2, 8, 10, 10))  # fmt: skip
    assert forward_flop(model) == 2 * 49 * 8 * 100
    assert sum(each.backward_flop for _, each in model.operators) == 2 * forward_flop(model)


@pytest.mark.parametrize("form", ["tensor", "pair", "table"])
def test_example_is_a_tensor_a_tuple_or_a_table(form):
    given = torch.zeros(4, 8)
    example = {"tensor": given, "pair": (given,), "table": {"given": given}}[form]
    assert forward_flop(traced(example=example)) == 128


def test_constants_of_the_forward_pass_may_be_looked_at():
    model = traced(lambda self, x: self.product(x) if torch.arange(3).sum().item() == 3 else x)
    assert forward_flop(model) == 128


def folds(self, given):
    return self.product(torch.ops.known_to_nobody.fold(given))


def multiplies(self, given):
    return torch.ops.known_to_nobody.gemm(given)


def test_operator_that_nobody_knows_is_counted_told_and_widens_the_interval():
    torch.library.define("known_to_nobody::fold", "(Tensor x) -> Tensor")
    torch.library.impl("known_to_nobody::fold", "Meta", torch.empty_like)
    model = traced(folds)
    (told,) = model.assumed
    assert "known_to_nobody.fold (1)" in told
    assert "of all bytes moved" in told
    assert 1 < model.spread < 2
    moved = [each for _, each in model.operators if each.name.endswith("fold")]
    assert moved[0].forward.values == 16


def test_unknown_operator_that_may_be_a_product_is_warned_of():
    torch.library.define("known_to_nobody::gemm", "(Tensor x) -> Tensor")
    torch.library.impl("known_to_nobody::gemm", "Meta", torch.empty_like)
    model = traced(multiplies, example=torch.zeros(2, 2**20))
    assert any("no FLOP for known_to_nobody.gemm" in told for told in model.assumed)
    assert model.spread == 2


def looks(self, given):
    return self.product(given) if given.sum().item() > 0 else given


def breaks(self, given):
    raise ValueError("as I like")


def test_branch_on_data_is_refused_with_the_module_and_the_line():
    with pytest.raises(UnsupportedModel, match=r"net: its forward pass looks at the content") as e:
        traced(looks)
    assert "test_module.py, line" in str(e.value)


def test_module_that_raises_is_named_with_what_it_raised():
    module = nn.Sequential(nn.Linear(8, 8), small(breaks))
    with pytest.raises(InputError, match=r"in module '1' raised ValueError: as I like \(test_mod"):
        traced_module(module, name="net", example=torch.zeros(4, 8))


def test_wrong_shape_is_told_with_the_shapes():
    with pytest.raises(InputError, match=r"in module 'product' raised .* shape \(4, 5\)\. If that"):
        traced(example=torch.zeros(4, 5))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("build = 3", "is a int; a function is wanted"),
        ("def build(): return 3", "returned a int; a torch.nn.Module is wanted"),
        (
            "def build(): raise OSError('no disk')",
            r"raised OSError: no disk \(net_\w+.py, line 1\)",
        ),
        ("def other(): pass", "has no 'build'"),
        ("import nothing_like_that", "imports nothing_like_that, which is not installed"),
        ("def build(:", "importing it fails: SyntaxError"),
        ("import torch\ndef build(): return torch.nn.Embedding(2, 2)", "what is a sample"),
        ("import torch\ndef build(): return torch.nn.Linear(2, 2), 'x'", "has no tensor"),
    ],
)
def test_code_that_builds_no_network_is_told_in_one_message(code, told, tmp_path, request):
    name = f"net_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    (tmp_path / "study.toml").write_text(STUDY.format(model=f"{name}:build", size=""))
    with pytest.raises(InputError, match=told) as error:
        read_study(tmp_path / "study.toml")
    assert "workload" in str(error.value)


def test_path_that_does_not_import_is_told(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY.format(model="nowhere.at.all:build", size=""))
    with pytest.raises(InputError, match="there is no module nowhere"):
        read_study(tmp_path / "study.toml")


def test_function_that_cannot_build_without_content_is_asked_again(tmp_path):
    made = "    assert torch.ones(1).item()\n    return torch.nn.Linear(4, 4)"
    code = f"import torch\ndef build():\n{made}"
    (tmp_path / "net_of_content.py").write_text(code)
    with pytest.raises(ForetrainError, match="raised RuntimeError"):
        traced_code("net_of_content:build", folder=str(tmp_path), sequence=8, image=None)


def test_without_pytorch_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("foretrain.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"foretrain\[torch\]"):
        traced_code("networks:resnet_50", folder=str(HERE), sequence=None, image=224)


def test_module_of_a_program_is_estimated_in_one_line():
    from tests.study.tracing.networks import resnet_50

    asked = estimate(model=resnet_50(), devices="8x RTX3090", global_batch=64, image=224)
    known = estimate(model="resnet-50", devices="8x RTX3090", global_batch=64, image=224)
    assert asked.plan == known.plan
    assert asked.step_time == pytest.approx(known.step_time, rel=0.02)


def test_one_line_needs_no_size_where_the_first_convolution_tells_the_channels():
    from tests.study.tracing.networks import resnet_50

    found = estimate(model=resnet_50(), devices="8x RTX3090", global_batch=64)
    known = estimate(model="resnet-50", devices="8x RTX3090", global_batch=64, image=224)
    assert found.step_time == pytest.approx(known.step_time, rel=0.02)
    (told,) = [each for each in found.warnings if "3 x 224 x 224" in each]
    assert "first convolution reads 3 channels" in told


@pytest.mark.parametrize(
    ("module", "size", "shape"),
    [
        (nn.Conv2d(1, 4, 3), {"image": 28}, (1, 28, 28)),
        (nn.Conv2d(5, 4, 3), {}, (5, 224, 224)),
        (nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), {}, (12,)),
    ],
)
def test_what_a_sample_is_follows_from_what_reads_it_first(module, size, shape):
    model = traced_module(module, name="net", **size)
    values = 1
    for side in shape:
        values *= side
    assert model.layers[0].input == values
    assert bool(model.assumed) == (not size)


def test_example_of_lightning_is_the_example():
    module = nn.Linear(8, 8)
    module.example_input_array = torch.zeros(3, 5, 8)
    assert forward_flop(traced_module(module, name="net")) == 5 * 128
