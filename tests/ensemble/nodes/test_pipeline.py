import pytest
from tests.examples import MORE
from tests.needs import needs
from tests.nodes_at_work import free_port, on_nodes, on_threads

needs("torch")
from tests.ensemble.nodes import programs  # noqa: E402

from foretrain.ensemble.nodes.leader import Leader, NodeFailed, NodeLost  # noqa: E402
from foretrain.ensemble.nodes.modes import MODES  # noqa: E402
from foretrain.ensemble.nodes.pipeline import input_pipeline  # noqa: E402
from foretrain.errors import InputError  # noqa: E402

SHARED = [name for name in MODES if name != "duplicate"]
ALONE = Leader(rank=0, nodes=1)


def options(mode="all-shared", samples=23, **more):
    return {"dataset": programs.Pictures(samples), "mode": mode, "batch_size": 4, **more}


@pytest.fixture(scope="module")
def alone():
    """What one node gets that decodes everything itself."""
    return programs.stream(ALONE, options("duplicate"))


DEALT = [
    *(options(mode, queue=queue) for mode in MODES for queue in (0, 2)),
    *(options("single-broadcast", preprocessors=p) for p in (1, 3)),
    options("multi-broadcast", preprocessors=3),
]
SHORT = [options(mode, samples) for mode in SHARED for samples in (1, 9)]


def test_every_node_gets_the_bytes_of_decoding_alone_whoever_decodes(alone):
    assert on_threads(programs.streams, 3, DEALT) == [[alone] * len(DEALT)] * 3


def test_fewer_batches_than_nodes_are_no_trouble():
    first, *others = on_threads(programs.streams, 4, SHORT, 1)
    assert [sorted(numbers) for (numbers,), _, _ in first] == [[0], list(range(9))] * len(SHARED)
    assert others == [first] * 3


def test_samples_of_very_different_lengths_are_no_trouble():
    ragged = [options(mode) | {"dataset": programs.Ragged(23), "batch_size": 1} for mode in SHARED]
    alone = programs.stream(ALONE, options("duplicate") | ragged[0] | {"mode": "duplicate"})
    assert on_threads(programs.streams, 3, ragged) == [[alone] * len(ragged)] * 3


def test_every_epoch_holds_every_sample_once_in_an_order_of_its_own(alone):
    (first, second), _, tallies = alone
    assert sorted(first) == sorted(second) == list(range(23))
    assert first != second
    assert [tally.samples for tally in tallies] == [23, 23]


def test_workers_decode_the_same_bytes(alone):
    assert on_nodes(programs.stream, 2, options(workers=1)) == [alone] * 2


def test_every_node_learns_why_a_sample_could_not_be_decoded():
    failing = [options(mode) | {"dataset": programs.Pictures(23, fails=9)} for mode in MODES]
    for found in on_threads(programs.errors, 3, failing):
        assert {type(error) for error in found} == {NodeFailed}
        assert len(found) == len(MODES)
        assert all("ValueError: not a picture" in str(error) for error in found)


@pytest.mark.parametrize("mode", SHARED if MORE > 1 else ["single-broadcast"])
def test_death_of_a_node_is_noticed_by_all_others_within_a_second(mode, tmp_path):
    diary = tmp_path / "death"
    deadly = options(mode) | {"dataset": programs.Pictures(23, kills=20, diary=diary)}
    found = on_nodes(programs.noticed, 4, deadly)
    assert found.count(None) == 1
    died = float(diary.read_text())
    assert all(moment - died < 1.0 for moment in found if moment is not None)


@pytest.mark.parametrize("mode", SHARED if MORE > 1 else ["all-shared"])
def test_nodes_that_lose_another_go_on_alone_and_lose_no_sample(mode, tmp_path, alone):
    (order, _), _, _ = alone
    decodes = 3 % MODES[mode].preprocessors(3)  # the fourth block, in the middle of an epoch
    pictures = programs.Pictures(23, kills=order[13], diary=tmp_path / "death", ours=decodes)
    deadly = options(mode, on_loss="alone") | {"dataset": pictures}
    dead, *found = sorted(
        on_nodes(programs.stream_of_a_node, 3, deadly), key=lambda it: it is not None
    )
    assert dead is None
    assert [each[:2] for each in found] == [alone[:2]] * 2


def test_node_that_never_comes_is_missed_after_the_timeout():
    lonely = Leader(rank=0, nodes=2, port=free_port(), timeout=0.5)
    with pytest.raises(NodeLost, match=r"silent for 0\.5 s"):
        next(iter(input_pipeline(leader=lonely, **options())))


def test_node_that_falls_silent_is_lost_to_all_others_after_the_timeout():
    silent = options() | {"dataset": programs.Pictures(23, lasts=20)}
    found = on_nodes(programs.noticed, 3, silent, timeout=programs.LONG / 2)
    assert None not in found


def test_epoch_that_all_nodes_leave_can_be_had_again():
    (left, again), other = on_threads(programs.stream_twice, 2, options())
    assert (left, again) == other
    assert left == again[:4]
    assert sorted(again) == list(range(23))


def test_a_node_that_leaves_is_missed_at_once():
    none, soon = on_threads(programs.left_by_one, 2, options(samples=400, queue=0))
    assert none is None
    assert soon < 5.0  # of twenty that are waited for who says nothing


def test_nodes_that_were_told_different_things_say_so():
    found = on_threads(_of_my_own_length, 2)
    assert {type(error) for error in found} == {InputError}
    assert all("differ in samples, seed" in str(error) for error in found)


def _of_my_own_length(leader):
    return programs.stream(leader, options(samples=9 + leader.rank, seed=leader.rank))


def test_dataset_whose_length_changes_is_refused():
    source = input_pipeline(leader=ALONE, **options("duplicate"))
    list(source)
    source.decoder.dataset.samples = 24
    with pytest.raises(InputError, match="24 samples now and had 23"):
        list(source)


def test_stream_goes_to_an_epoch():
    source = input_pipeline(leader=ALONE, **options("duplicate"))
    source.set_epoch(1)
    second = [number for block in source.blocks() for number in block.ids]
    assert second == source.order.ids(1).tolist()


@pytest.mark.parametrize(("wrong", "told"), [
    ({"mode": "all-shred"}, "Did you mean 'all-shared'"),
    ({"mode": "all-shared", "preprocessors": 1}, "every node decodes"),
    ({"mode": "single-broadcast", "preprocessors": 2}, "from 1 to 1"),
    ({"queue": -1}, "at least 0"),
    ({"batch_size": 0}, "at least 1"),
    ({"on_loss": "stop"}, "Allowed: raise, alone"),
    ({"dataset": programs.Pictures(0)}, "at least 1"),
])  # fmt: skip
def test_wrong_argument_is_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        input_pipeline(leader=ALONE, **options() | wrong)
