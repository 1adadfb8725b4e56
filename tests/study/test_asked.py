"""Questions in one line: devices by their number, and whatever is missing or unknown is told."""

import pytest

from foretrain import InputError, estimate, read_study
from foretrain.study.spoken import devices_section
from foretrain.study.study import study_from
from foretrain.workload.library.entries import build

RESNET = {"model": "resnet-50", "image": 224, "global_batch": 64}


def cluster_of(devices):
    document = {
        "workload": RESNET,
        "cluster": devices_section(devices),
        "plan": {"micro_batch": 1},
    }
    return study_from(document, "test").cluster


@pytest.mark.parametrize(
    ("devices", "count", "device"),
    [
        ("8x RTX3090", 8, "rtx-3090"),
        ("8 x RTX 3090", 8, "rtx-3090"),
        ("8 rtx-3090", 8, "rtx-3090"),
        ("4xRTX3090", 4, "rtx-3090"),
        ("RTX3090", 1, "rtx-3090"),
        ("4x A100 SXM 80GB", 4, "a100-sxm-80gb"),
        ("1024x h100-sxm", 1024, "h100-sxm"),
        ("2x dgx-h100", 16, "h100-sxm"),
        ("dgx-h100", 8, "h100-sxm"),
    ],
)
def test_devices_are_so_many_of_a_name(devices, count, device):
    found = cluster_of(devices)
    assert (found.devices, found.device.name) == (count, device)


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        ("8x RTX 3091", "unknown cluster or device 'RTX 3091'. Did you mean 'rtx-3090'"),
        ("0x RTX3090", "at least 1"),
        ("", "Write for example"),
        (8, "unknown cluster or device '8'"),
        ("13x RTX 3090", "13 devices of"),
    ],
)
def test_devices_that_are_none_are_told(devices, told):
    with pytest.raises(InputError, match=told):
        cluster_of(devices)


@pytest.mark.parametrize("name", ["RTX4090", "h100-sxm", "L4"])
def test_a_device_draws_its_share_of_the_node_that_has_more(name):
    one, eight = cluster_of(f"1x {name}"), cluster_of(f"8x {name}")
    assert one.node_power == pytest.approx(eight.draw / 8)


def test_this_machine_is_a_place_too():
    assert devices_section("here") == {"name": "here"}


def test_question_is_the_study_that_says_the_same():
    asked = estimate(**RESNET, devices="2x dgx-h100", plan={"micro_batch": 4})
    document = {
        "workload": RESNET,
        "cluster": {"name": "dgx-h100", "nodes": 2},
        "plan": {"micro_batch": 4},
    }
    assert asked == estimate(study_from(document, "test"))


def test_model_of_a_program_is_as_good_as_its_name():
    named = estimate(**RESNET, devices="8x RTX3090")
    made = build("resnet-50", image=224)
    given = estimate(model=made, global_batch=64, devices="8x RTX3090")
    assert given.parts == named.parts


def test_micro_batch_is_the_largest_that_fits():
    small = {**RESNET, "global_batch": 8 * 1024}
    found = estimate(**small, devices="8x RTX3090")
    twice = estimate(
        **small, devices="8x RTX3090", plan={"micro_batch": 2 * found.plan.micro_batch}
    )
    assert found.fits
    assert not twice.fits
    assert f"micro_batch = {found.plan.micro_batch}, the largest that fits" in found.warnings[0]


def test_what_fits_nowhere_is_said_not_hidden():
    found = estimate(model="llama-3-8b", sequence=4096, global_batch=8, devices="8x h100-sxm")
    assert not found.fits
    assert "plan.micro_batch = 1, and not even that fits" in found.warnings[0]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({}, "model, devices, global_batch missing"),
        ({"model": "resnet-50", "devices": "RTX3090"}, "global_batch missing"),
        ({**RESNET, "devices": "RTX3090", "colour": "red"}, "unknown colour"),
        ({**RESNET, "devices": "RTX3090", "model": 3}, "model is a int"),
        ({**RESNET, "devices": "RTX3090", "precision": "fp17"}, "fp17"),
        ({**RESNET, "devices": "3x RTX3090"}, "3 replicas do not divide"),
    ],
)
def test_question_that_is_none_is_told_in_one_message(question, told):
    with pytest.raises(InputError, match=told):
        estimate(**question)


def test_study_and_question_are_not_both_given(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        '[workload]\nmodel = "resnet-50"\nimage = 224\nglobal_batch = 8\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 1\n[plan]\nmicro_batch = 1\n'
    )
    with pytest.raises(InputError, match="not both"):
        estimate(read_study(path), model="resnet-50")


@pytest.mark.parametrize("digits", [10, 30, 5000])
def test_more_devices_than_there_are_is_one_short_message(digits):
    for said in (f"{'9' * digits}x h100-sxm", f"{'9' * digits} dgx-h100"):
        with pytest.raises(InputError, match=r"devices is .* Write for example") as error:
            devices_section(said)
        assert len(str(error.value)) < 500
