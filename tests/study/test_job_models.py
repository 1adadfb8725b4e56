"""Ensembles among the jobs of a cluster: what they must say, and what is told where they do not."""

import pytest

from foretrain.errors import InputError
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
