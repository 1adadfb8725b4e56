"""Ensembles among the jobs of a cluster: what they must say, and what is told where they do not."""

import json

import pytest

from foretrain.errors import InputError
from foretrain.jobs.simulate import simulate
from foretrain.study.job_models import read_curve
from foretrain.study.queue_study import read_queue_study

ENSEMBLE = """
[cluster]
name = "dgx-a100"
nodes = 4
[jobs]
draw = 10
[[jobs.models]]
name = "eight"
members = 8
prepared = "150 kB"
[jobs.models.workload]
model = "resnet-50"
global_batch = 64
image = 224
amount = "1 M samples"
data = { samples = 1281167, prepare = "9 ms" }
"""


def read(tmp_path, text):
    path = tmp_path / "queue.toml"
    path.write_text(text)
    [model] = read_queue_study(path).jobs.models
    return model


def test_an_ensemble_gets_devices_that_its_members_divide(tmp_path):
    model = read(tmp_path, ENSEMBLE)
    assert (model.members, model.prepared, model.counts) == (8, 150e3, (8, 16, 32))


def test_a_model_that_says_no_members_is_one(tmp_path):
    text = ENSEMBLE.replace("members = 8\n", "").replace('prepared = "150 kB"\n', "")
    assert (read(tmp_path, text).members, read(tmp_path, text).prepared) == (1, None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("members = 8", "members = 1", r"models\[0\]\.members: is 1, which is no ensemble"),
        ("members = 8", "members = 0", r"members: 0 is not between 1"),
        ("members = 8", "", r"models\[0\]\.prepared: .* Say how many there are: members = 8"),
        ('prepared = "150 kB"', "", r"models\[0\]\.prepared: must be said, above 0 bytes"),
        ("150 kB", "0 B", r"models\[0\]\.prepared: must be said, above 0 bytes"),
        ("150 kB", "150", r"prepared: .*150"),
        (', prepare = "9 ms"', "", r"workload\.data\.prepare: must be said, above 0 s"),
        (
            "members = 8",
            "members = 3",
            r"3 members divide none of the usual .*\(1, 2, 4, 8, 16, 32\)",
        ),
        ("members = 8", "members = 8\ncounts = [4]", "4 devices are no equal shares for 8 members"),
        ("members = 8", "members = 8\ndevices = 12", "12 devices are no equal shares"),
    ],
)
def test_a_mistake_is_told_with_its_key(tmp_path, old, new, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, ENSEMBLE.replace(old, new))


def test_everything_that_is_missing_is_told_at_once(tmp_path):
    text = ENSEMBLE.replace('prepared = "150 kB"\n', "").replace(', prepare = "9 ms"', "")
    with pytest.raises(InputError, match=r"\.prepared: (.|\n)*data\.prepare: "):
        read(tmp_path, text)


POINTS = [
    {"workers": 1, "throughput": 200.0, "low": 190.0, "high": 210.0, "variance": 9.0},
    {"workers": 4, "throughput": 700.0, "low": 690.0, "high": 710.0, "variance": None},
]
QUEUE = """
[fleet]
nodes = 8
devices = 1
[jobs]
draw = 12
[[jobs.models]]
name = "known"
curve = "curve.json"
samples = 1000000
{more}
[simulation]
policies = ["fifo"]
loads = [0.5]
"""


def written(folder, points=POINTS, schema="foretrain/scale/1"):
    path = folder / "curve.json"
    path.write_text(json.dumps({"schema": schema, "points": points, "knee": None}))
    return path


def test_points_are_those_of_the_document(tmp_path):
    curve = read_curve(written(tmp_path), "known", per_worker=2)
    assert curve.counts == (2, 8)
    assert curve.rate(8, nodes=0, kind="", done=0.0) == 700.0
    assert [each.variance for each in curve.points] == [9.0, None]


def test_jobs_train_at_the_curve_without_a_cluster(tmp_path):
    written(tmp_path)
    study = tmp_path / "queue.toml"
    study.write_text(QUEUE.format(more="devices = 4"))
    (curve,) = simulate(read_queue_study(study)).curves
    assert [(each.devices, each.rate, each.plan) for each in curve.points] == [
        (1, 200.0, None),
        (4, 700.0, None),
    ]
    assert curve.asks == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "foretrain/search/1"}, "foretrain scale STUDY --json prints"),
        ({"points": []}, "needs at least one point"),
        ({"points": [POINTS[0], POINTS[0]]}, "two points for 1 devices"),
        ({"points": [{**POINTS[0], "throughput": -1.0}]}, "points[0]: "),
        ({"points": [{**POINTS[0], "throughput": 1e400}]}, "at most 1e+30, got inf"),
        ({"points": [{"workers": 1}]}, "points[0].throughput: is missing."),
        ({"points": [3]}, "points[0]: 3 is not a table"),
    ],
)
def test_other_documents_are_refused_with_what_is_wanted(change, said, tmp_path):
    with pytest.raises(InputError) as error:
        read_curve(written(tmp_path, **change), "known", per_worker=1)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("devices = 2", "devices is 2, and the curve knows 1, 4."),
        ("members = 2", "jobs.models[0].members: stands beside a curve"),
        ('workload = { model = "resnet-50" }', "jobs.models[0].workload: stands beside a curve"),
    ],
)
def test_what_a_curve_already_says_is_refused_beside_it(more, said, tmp_path):
    written(tmp_path)
    study = tmp_path / "queue.toml"
    study.write_text(QUEUE.format(more=more))
    with pytest.raises(InputError) as error:
        read_queue_study(study)
    assert said in str(error.value)
