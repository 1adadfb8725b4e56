"""Studies of one collective: what is read, and what is refused."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.study import CollectiveKind, CollectiveStudy, Study
from foretrain.study.catalogue import cluster
from foretrain.study.collective_study import read_collective_study, read_question, read_sizes

KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30


def written(folder, *lines, nodes=2, name="dgx-h100"):
    path = folder / "study.toml"
    place = f'[cluster]\nname = "{name}"\nnodes = {nodes}\n'
    path.write_text("\n".join(["[collective]", *lines, place]))
    return path


def refused(folder, *lines, **place):
    with pytest.raises(InputError) as caught:
        read_collective_study(written(folder, *lines, **place))
    return str(caught.value)


def test_all_devices_take_part_where_nobody_says_how_many(tmp_path):
    study = read_collective_study(written(tmp_path, 'kind = "all-reduce"', 'bytes = "1 GiB"'))
    assert (study.kind, study.sizes) == (CollectiveKind.ALL_REDUCE, (GIB,))
    assert (study.devices, study.nodes, study.together) == (16, 2, 1)
    assert study.assumed == (
        "assumed collective.devices = 16, all of the cluster",
        "assumed collective.devices_per_process = 1, as nccl-tests is started on several nodes",
    )


def test_one_process_calls_for_the_devices_of_one_node(tmp_path):
    lines = ('kind = "all-reduce"', 'bytes = "1 GiB"', "devices = 8")
    assert read_collective_study(written(tmp_path, *lines)).together == 8
    stated = read_collective_study(written(tmp_path, *lines, "devices_per_process = 1"))
    assert (stated.together, stated.assumed) == (1, ())


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("all_reduce", CollectiveKind.ALL_REDUCE),
        ("all_gather_perf", CollectiveKind.ALL_GATHER),
        ("alltoall", CollectiveKind.ALL_TO_ALL),
        ("sendrecv_perf", CollectiveKind.SEND_RECEIVE),
        ("Reduce-Scatter", CollectiveKind.REDUCE_SCATTER),
    ],
)
def test_programs_of_nccl_tests_name_their_collectives(tmp_path, word, kind):
    study = read_collective_study(written(tmp_path, f'kind = "{word}"', 'bytes = "1 MiB"'))
    assert study.kind is kind


def test_sizes_are_one_some_or_a_range():
    assert read_sizes("8 B") == (8.0,)
    assert read_sizes(["1 GiB", "1 KiB", "1 GiB"]) == (KIB, GIB)
    assert read_sizes({"from": "1 KiB", "to": "8 KiB"}) == (KIB, 2 * KIB, 4 * KIB, 8 * KIB)
    assert read_sizes({"from": "1 MiB", "to": "99 MiB", "factor": 10}) == (MIB, 10 * MIB)
    assert len(read_sizes({"from": "8 B", "to": "8 GiB", "factor": 2})) == 31


def test_unknown_kind_gets_a_suggestion(tmp_path):
    told = refused(tmp_path, 'kind = "all-reduse"', 'bytes = "1 MiB"')
    assert "collective.kind: unknown 'all-reduse'. Did you mean 'all-reduce'?" in told
    assert "is not a text" in refused(tmp_path, "kind = 4", 'bytes = "1 MiB"')


@pytest.mark.parametrize(
    ("bytes_", "told"),
    [
        ('"0 B"', "0 bytes take no time"),
        ('["1 MiB", "0 B"]', "0 bytes take no time"),
        ("[]", "an empty list holds no size"),
        ("5", "5 has no unit"),
        ('"1 GB/s"', "GB/s"),
        ('{ from = "8 GiB", to = "1 KiB" }', "from must be above 0 bytes and at most to"),
        ('{ from = "0 B", to = "1 KiB" }', "from must be above 0 bytes"),
        ('{ from = "1 B", to = "1 TB", factor = 1 }', "factor must be above 1"),
        ('{ from = "1 B", to = "1 TB", factor = 1.0001 }', "more than 1,000 sizes"),
        ('{ to = "1 KiB" }', "from: is missing."),
        ('{ from = "1 B", to = "1 KiB", factr = 2 }', "Did you mean 'factor'? Known: from, to"),
    ],
)
def test_sizes_that_ask_for_nothing_are_refused(tmp_path, bytes_, told):
    assert told in refused(tmp_path, 'kind = "broadcast"', f"bytes = {bytes_}")


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        (1, "one device has nobody to exchange with; give at least 2."),
        (0, "0 is not between 1 and"),
        (17, "17 are more than the 16 of the cluster; give at most those, or cluster.nodes = 3."),
        (12, "12 do not fill whole groups of level node, which hold 8 devices; give 8 or 16"),
    ],
)
def test_devices_that_cannot_take_part_are_refused(tmp_path, devices, told):
    lines = ('kind = "all-reduce"', 'bytes = "1 GiB"', f"devices = {devices}")
    assert f"collective.devices: {told}" in refused(tmp_path, *lines)


def test_every_problem_is_told_at_once(tmp_path):
    told = refused(tmp_path, 'kind = "al-reduce"', 'bytes = "0 B"', "devices = 1")
    assert "has 3 problems" in told
    told = refused(tmp_path, 'kind = "all-reduce"', 'bytes = "1 B"', "devices_per_process = 12")
    assert "12 are more than the 8 that take part in a node." in told


def test_cluster_is_needed_and_nothing_else_stands_beside(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('[collective]\nkind = "all-reduce"\nbytes = "1 B"\n[workload]\n')
    with pytest.raises(InputError) as caught:
        read_collective_study(path)
    assert "cluster: is missing." in str(caught.value)
    assert "workload: unknown key." in str(caught.value)


def test_question_of_estimate_is_a_step_or_a_collective(tmp_path):
    asked = read_question(written(tmp_path, 'kind = "all-reduce"', 'bytes = "1 GiB"'))
    assert isinstance(asked, CollectiveStudy)
    path = tmp_path / "step.toml"
    path.write_text(
        '[workload]\nmodel = "llama-3-8b"\nglobal_batch = 8\nsequence = 8192\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 1\n'
    )
    assert isinstance(read_question(path), Study)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sizes": ()}, "smallest first"),
        ({"sizes": (2.0, 1.0)}, "smallest first"),
        ({"sizes": (0.0,)}, "above 0 bytes"),
        ({"devices": 1}, "from 2 to the 16"),
        ({"devices": 12}, "fill every node"),
        ({"together": 17}, "from 1 to the 16"),
    ],
)
def test_question_in_python_is_checked_too(changes, told):
    place = cluster("dgx-h100", nodes=2)
    known = {"kind": CollectiveKind.ALL_REDUCE, "sizes": (1.0,), "devices": 16}
    with pytest.raises(InputError, match=told):
        CollectiveStudy(cluster=place, **{**known, **changes})
