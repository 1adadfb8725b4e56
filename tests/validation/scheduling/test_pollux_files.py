"""Pollux' files: read as published, refused with file and line."""

import gzip

import pytest
from validation.scheduling.formats.pollux import read_profile, read_workload
from validation.scheduling.profile import Submission

from foretrain.errors import InputError

HEAD = "name,time,application,num_replicas,batch_size\n"
PLACED = "placement,local_bsz,step_time,sync_time\n12,4,0.5,0.25\n"
SCALED = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,8,4,1.5,0.5\n"
LEARNED = "progress,iteration,metric,grad_sqr,grad_var\n10,5,0.9,1.0,2.0\n"


def folder(path, **others):
    """A profile's files; `None` leaves one out."""
    files = {"placements": PLACED, "scalability": SCALED, "validation-8": LEARNED, **others}
    home = path / "small"
    home.mkdir(parents=True)
    for name, text in files.items():
        if text is not None:
            (home / f"{name}.csv").write_text(text)
    return home


def test_a_workload_is_read(tmp_path):
    path = tmp_path / "workload.csv"
    path.write_text(HEAD + "cifar10-0,53,cifar10,6,2048\n")
    assert read_workload(path) == (
        Submission(name="cifar10-0", arrival=53.0, application="cifar10", devices=6, batch=2048),
    )


def test_a_compressed_workload_is_the_same(tmp_path):
    text = HEAD + "a,1,bert,6,384\n"
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_workload(plain) == read_workload(packed)


def test_all_bad_lines_are_told_at_once(tmp_path):
    path = tmp_path / "workload.csv"
    path.write_text(HEAD + "a,-1,bert,6,384\na,2,bert,6,384\nb,soon,bert,6,384\na,3,bert,6,384\n")
    with pytest.raises(InputError) as error:
        read_workload(path)
    said = str(error.value)
    assert "line 2: Submission.arrival must be at least 0 s, got -1.0." in said
    assert "line 4: could not convert string to float: 'soon'" in said
    assert "two jobs are called a" in said


def test_missing_columns_are_named(tmp_path):
    path = tmp_path / "workload.csv"
    path.write_text("name,time\na,1\n")
    with pytest.raises(InputError, match="has no column application, num_replicas, batch_size"):
        read_workload(path)


def test_a_profile_is_read(tmp_path):
    profile = read_profile(folder(tmp_path))
    assert profile.name == "small"
    assert [(step.placement, step.nodes, step.devices) for step in profile.steps] == [
        ((1, 2), 2, 3),
        ((), 6, 8),
    ]
    assert (profile.smallest, profile.largest, profile.least, profile.most) == (8, 8, 4, 4)
    assert profile.epochs[8][0].noise == 2.0


def test_a_profile_without_a_file_says_which(tmp_path):
    with pytest.raises(InputError, match=r"scalability.csv is missing"):
        read_profile(folder(tmp_path, scalability=None))
    with pytest.raises(InputError, match=r"validation-<batch>.csv is missing"):
        read_profile(folder(tmp_path / "again", **{"validation-8": None}))


def test_a_step_shorter_than_its_exchange_is_refused_with_its_line(tmp_path):
    bad = folder(tmp_path, placements=PLACED + "12,8,0.5,0.75\n")
    with pytest.raises(InputError, match=r"placements.csv: line 3: TimedStep.sync must lie"):
        read_profile(bad)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_workload(tmp_path / "none.csv")
