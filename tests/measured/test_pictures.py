"""How software treats pictures, by the names that sources give it."""

import pytest
from tests.measured.runs import unset

from foretrain.measured.run import MeasuredRun, Place, Subject, TableKind, TrainedNetwork
from foretrain.workload.workload import Precision


def run(framework, model="resnet50", *, source="somebody", device="A100 SXM 80GB"):
    return MeasuredRun(
        id="row",
        source_id=source,
        table=TableKind.CNN_TRAINING,
        subject=Subject.STEP_TIME,
        measured=1.0,
        framework=framework,
        network=TrainedNetwork(name=model),
        place=Place(device=device),
    )


@pytest.mark.parametrize(
    ("row", "precision", "expected"),
    [
        (run("PyTorch 1.12 (timm)"), Precision.FP16, True),
        (run("PyTorch (NGC)", "resnet50v1.5"), Precision.FP16, False),
        (run("PyTorch (NGC)", "resnet50v1.5"), Precision.TF32, True),
        (run("PyTorch (NGC)", "SSD"), Precision.TF32, False),
        (run("PyTorch (NGC)", "nnUNet"), Precision.FP16, True),
        (run("TensorFlow2 (NGC)", "nnUNet"), Precision.FP16, False),
        (run("TensorFlow2 (NGC)", "nnUNet"), Precision.TF32, True),
        (run("TensorFlow (NGC)", "VNet"), Precision.FP16, True),
        (run("PyTorch", source="mlperf-v3.0"), Precision.BF16, False),
        (run("something else"), Precision.BF16, False),
    ],
)
def test_pictures_are_laid_out_anew_where_channels_come_first(row, precision, expected):
    assert (precision not in unset(row, "channels_last")) is expected


def test_compilers_see_all_on_devices_that_run_nothing_else():
    assert unset(run("TensorFlow", device="TPU v4"), "program")
    assert not unset(run("TensorFlow"), "program")
