"""Members that train: on one stream or alone, through failures, stops and reboots."""

import pytest
from tests.ensemble.run.studies import PLAIN, WIDE, study
from tests.needs import needs

from foretrain.ensemble.result import MemberState
from foretrain.ensemble.train import ensemble_run
from foretrain.errors import ForetrainError, InputError
from foretrain.measured.ensemble_study import Input, Stage

torch = needs("torch")

KEPT = '\n[checkpoints]\nfolder = "kept"\n'
OFTEN = '\n[logs]\nevery = "1 ms"\n'
DIES = '\n[[members]]\nname = "dies"\nmodel = "tests.ensemble.run.tiny:Dies"\n'


def losses(answer):
    return {each.name: each.loss for each in answer.members}


def states(answer):
    return {each.name: each.state for each in answer.members}


def weights(folder, name):
    return torch.load(folder / "kept" / f"{name}.pt", weights_only=True)["trainee"]["model"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return ensemble_run(study(tmp_path_factory.mktemp("shared"), name="tiny-shared", more=OFTEN))


def test_every_member_gets_every_sample_of_every_epoch(shared):
    assert states(shared) == {"plain": MemberState.DONE, "wide": MemberState.DONE}
    assert {each.samples for each in shared.members} == {48}
    assert all(each.rate > 0 and 0 <= each.wait <= 1 and each.cpu > 0 for each in shared.members)
    assert shared.complete
    assert shared.cpu > sum(each.cpu for each in shared.members)
    assert shared.bottleneck is None or shared.bottleneck.stage in Stage


def test_predictions_stand_beside_what_was_measured(shared):
    quantities = [each.quantity for each in shared.compared]
    assert {"time of training", "rate of a member", "memory of all processes"} < {*quantities}
    for each in shared.compared:
        assert each.error == pytest.approx(each.predicted / each.measured - 1)


@pytest.mark.parametrize("workers", ["", "workers = 1"])
def test_private_input_trains_the_same_weights(tmp_path, shared, workers):
    name = f"tiny-private{len(workers)}"
    answer = ensemble_run(study(tmp_path, name=name, input="private", more=workers))
    assert answer.input is Input.PRIVATE
    assert losses(answer) == losses(shared)


def test_a_loader_feeds_all_members(tmp_path):
    answer = ensemble_run(study(tmp_path, name="tiny-fed", data="loader", input="auto"))
    assert {each.samples for each in answer.members} == {48}
    assert answer.input is Input.SHARED


def test_a_member_that_fails_does_not_stop_the_others(tmp_path):
    broken = '\n[[members]]\nname = "broken"\nmodel = "tests.ensemble.run.tiny:broken_model"\n'
    answer = ensemble_run(study(tmp_path, PLAIN, broken, DIES, name="tiny-failing"))
    told = {each.name: each.reason for each in answer.members}
    assert states(answer) == {
        "plain": MemberState.DONE,
        "broken": MemberState.FAILED,
        "dies": MemberState.FAILED,
    }
    assert "RuntimeError: no such layer" in told["broken"]
    assert "SIGKILL" in told["dies"]
    assert not answer.complete
    assert answer.compared == ()


def test_a_member_that_never_attaches_does_not_stop_the_others(tmp_path):
    absent = WIDE.replace("wide", "absent") + 'device = "cuda:7"\n'
    made = study(tmp_path, PLAIN, absent, name="tiny-absent", more="[logs]\nevery = '0.1 s'")
    answer = ensemble_run(made)
    members = {each.name: each for each in answer.members}
    assert members["absent"].state is MemberState.FAILED
    assert "this machine has" in members["absent"].reason
    assert members["plain"].state is MemberState.DONE


def test_a_loader_that_pads_feeds_all_members_its_own_batches(tmp_path):
    answer = ensemble_run(study(tmp_path, PLAIN, name="tiny-own", data="collated"))
    assert answer.members[0].samples == 48
    assert answer.members[0].state is MemberState.DONE


def test_a_run_in_which_all_fail_says_why(tmp_path):
    text = '\n[[members]]\nname = "text"\nmodel = "tests.ensemble.run.tiny:no_model"\n'
    with pytest.raises(ForetrainError, match=r"every member failed[\s\S]*returned a str"):
        ensemble_run(study(tmp_path, text, name="tiny-all-fail"))


def test_a_sample_that_cannot_be_read_is_skipped_and_counted_where_asked_for(tmp_path):
    skips = study(tmp_path, name="tiny-torn", data="torn", more='on_error = "skip"')
    answer = ensemble_run(skips)
    assert {(each.samples, each.skipped) for each in answer.members} == {(46, 2)}


def test_a_sample_that_cannot_be_read_ends_the_run_otherwise(tmp_path):
    with pytest.raises(ForetrainError, match="this sample is torn"):
        ensemble_run(study(tmp_path, name="tiny-raises", data="torn", epochs=1))


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    ensemble_run(study(whole, PLAIN, WIDE, KEPT, name="tiny-kept", epochs=3))
    stopped = study(parts, PLAIN, WIDE, KEPT, "[logs]\nevery = '1 ms'", name="tiny-kept", epochs=3)
    seen = []
    first = ensemble_run(
        stopped, watch=seen.append, stop=lambda: any(m.samples for s in seen for m in s.members)
    )
    second = ensemble_run(stopped, resume=True)
    assert second.complete
    assert second.resumed
    for one, two in zip(first.members, second.members, strict=True):
        assert one.samples + two.samples == 72
    for name in ("plain", "wide"):
        for key, value in weights(whole, name).items():
            assert torch.equal(value, weights(parts, name)[key])


def test_a_finished_run_has_nothing_left_to_resume(tmp_path):
    kept = study(tmp_path, PLAIN, KEPT, name="tiny-over")
    first = ensemble_run(kept)
    second = ensemble_run(kept, resume=True)
    assert [each.samples for each in second.members] == [0]
    assert losses(second) == losses(first)
    assert second.complete
    with pytest.raises(InputError, match="holds a run"):
        ensemble_run(kept)
    with pytest.raises(InputError, match="of another study, or this one was changed"):
        ensemble_run(study(tmp_path, WIDE, KEPT, name="tiny-over"), resume=True)


def test_members_that_do_worst_end_early(tmp_path):
    grid = '\n[[members]]\nname = "net"\nmodel = "tests.ensemble.run.tiny:build"\n'
    rates = "grid.optimizer.lr = [0.0, 0.001, 0.01, 0.05]\n"
    halving = "\n[halving]\neta = 2\nfirst = 1\n"
    answer = ensemble_run(study(tmp_path, grid + rates, halving, name="tiny-halved", epochs=4))
    ends = sorted(each.epochs for each in answer.members)
    assert ends == [1, 1, 2, 4]
    assert [each.state for each in answer.members].count(MemberState.ENDED) == 3
    best = min(answer.members, key=lambda each: each.loss)
    assert best.epochs == 4


def test_members_that_ended_early_stay_so_after_a_reboot(tmp_path):
    grid = '\n[[members]]\nname = "net"\nmodel = "tests.ensemble.run.tiny:build"\n'
    rates = "grid.optimizer.lr = [0.0, 0.001, 0.01, 0.05]\n"
    more = "\n[halving]\neta = 2\n" + KEPT + "\n[logs]\nevery = '1 ms'\n"
    asked = study(tmp_path, grid + rates, more, name="tiny-halved-kept", epochs=4)
    seen = []
    first = ensemble_run(
        asked, watch=seen.append, stop=lambda: any(m.epoch > 1 for s in seen for m in s.members)
    )
    second = ensemble_run(asked, resume=True)
    early = {name for name, state in states(first).items() if state is MemberState.ENDED}
    assert early <= {name for name, state in states(second).items() if state is MemberState.ENDED}
    assert sorted(each.epochs for each in second.members) == [1, 1, 2, 4]
    assert second.complete


def test_a_run_that_is_to_stop_before_it_begins_trains_nothing(tmp_path):
    answer = ensemble_run(study(tmp_path, PLAIN, name="tiny-never"), stop=lambda: True)
    assert [(each.state, each.samples) for each in answer.members] == [(MemberState.STOPPED, 0)]
