"""A member in this process: it trains as plain PyTorch does, and goes on where it was stopped."""

import random
from dataclasses import replace
from math import inf
from multiprocessing import Pipe

import numpy as np
import pytest
from tests.ensemble.run.studies import PLAIN, WIDE, study
from tests.needs import needs

from batchcast.order import Order
from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run import member as tallies
from foretrain.ensemble.run.home import load
from foretrain.ensemble.run.inputs import PrivateLoader
from foretrain.ensemble.run.looks import received
from foretrain.ensemble.run.member import Mean, MemberJob, MemberProgress, in_turns
from foretrain.ensemble.run.trainee import device_of, moved, size_of, trainee
from foretrain.ensemble.run.written import RunFolder
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Code, MemberOptimizer, OnError

torch = needs("torch")
from tests.ensemble.run import tiny  # noqa: E402


@pytest.fixture
def threads():
    """As many threads compute as before."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def loaded(tmp_path):
    return load(study(tmp_path, PLAIN, WIDE, name="here", input="private"))


def job_of(loaded, folder, *, member=0, ends=2, every=inf):
    return MemberJob(
        recipe=loaded.study.recipes[member],
        reader=loaded.study.recipes[member].name,
        reads=None,
        samples=loaded.source.samples,
        ends=ends,
        threads=1,
        folder=folder,
        every=every,
    )


def after(steps):
    """Asks to stop once a member has been asked so often."""
    asked = iter(range(10**6))
    return lambda: next(asked) >= steps


def trained(job, loaded, *, stop=lambda: False):
    """The reports of a member that trains until it ends or is stopped."""
    ours, theirs = Pipe(duplex=False)
    with ours, theirs:
        in_turns([job], loaded, tallies=[MemberProgress(theirs)], stop=stop)
        return list(received(ours))


def by_hand(loaded, member, epochs):
    """The weights and mean losses of a member that a plain loop trains."""
    recipe = loaded.study.recipes[member]
    torch.manual_seed(loaded.study.seed)
    model = tiny.build(**recipe.options).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    own = {0: None, 1: tiny.own}[member]
    order = Order(samples=tiny.SAMPLES, epochs=None, shuffle=loaded.study.shuffle, seed=0)
    loader = PrivateLoader(
        loaded.source, order, member=recipe.name, batch_size=recipe.batch, private=own, skip=False
    )
    losses = []
    for _ in range(epochs):
        total = 0.0
        for values, wanted in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(values), wanted)
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(wanted)
        losses.append(total / tiny.SAMPLES)
    return model.state_dict(), losses


@pytest.mark.parametrize("member", [0, 1])
def test_a_member_trains_as_a_plain_loop_does(loaded, tmp_path, threads, member):
    folder = RunFolder(tmp_path)
    *_, last = trained(job_of(loaded, folder, member=member, every=1e9), loaded)
    weights, losses = by_hand(loaded, member, 2)
    name = loaded.study.recipes[member].name
    kept = folder.load(name)
    for key, value in kept["trainee"]["model"].items():
        assert torch.equal(value, weights[key])
    assert (last.state, last.epoch, last.samples) == (MemberState.DONE, 2, 2 * tiny.SAMPLES)
    assert last.epoch_loss == pytest.approx(losses[1])
    assert kept["tally"] == {"epoch": 2, "total": 0.0, "samples": 0, "last": last.epoch_loss}
    assert kept["loader"] == {"epoch": 2, "position": 0}


@pytest.mark.parametrize("stops", [1, 2, 4, 6, 9])
def test_a_member_that_was_stopped_goes_on_to_the_same_weights(loaded, tmp_path, threads, stops):
    whole, parts = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "parts")
    for each in (whole, parts):
        each.claim("q", resume=False)
    trained(job_of(loaded, whole, every=1e9), loaded)
    job = job_of(loaded, parts, every=1e9)
    *_, first = trained(job, loaded, stop=after(stops))
    assert first.state is MemberState.STOPPED
    torch.manual_seed(99)
    *_, last = trained(job, loaded)
    assert last.state is MemberState.DONE
    assert first.samples + last.samples == 2 * tiny.SAMPLES
    one, other = whole.load("plain"), parts.load("plain")
    assert one["tally"]["last"] == pytest.approx(other["tally"]["last"])
    for key, value in one["trainee"]["model"].items():
        assert torch.equal(value, other["trainee"]["model"][key])
    assert torch.equal(one["trainee"]["generator"], other["trainee"]["generator"])


def test_a_state_is_kept_as_often_as_is_asked_and_for_the_next_part_of_a_run(
    loaded, tmp_path, threads, monkeypatch
):
    saved = []
    monkeypatch.setattr(RunFolder, "save", lambda self, name, state: saved.append(state["loader"]))
    places = [(0, 5), (0, 10), (0, 15), (0, 20), (1, 0)]
    trained(job_of(loaded, RunFolder(tmp_path), ends=1, every=-1.0), loaded)
    assert [(each["epoch"], each["position"]) for each in saved] == places
    for ends, every, kept in ((2, inf, 0), (1, inf, 1), (2, 1e9, 2), (1, 1e9, 1)):
        saved.clear()
        trained(job_of(loaded, RunFolder(tmp_path), ends=ends, every=every), loaded)
        assert len(saved) == kept


def test_a_member_that_is_stopped_and_keeps_nothing_stops_at_once(loaded, tmp_path, threads):
    *_, last = trained(job_of(loaded, RunFolder(tmp_path)), loaded, stop=after(2))
    assert (last.state, last.epoch, last.samples) == (MemberState.STOPPED, 0, 10)
    assert RunFolder(tmp_path).load("plain") is None


def test_what_a_member_tells_is_counted_from_its_first_batch_on(monkeypatch):
    clock = {"now": 100.0, "cpu": 7.0}
    monkeypatch.setattr(tallies, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(tallies, "process_time", lambda: clock["cpu"])
    ours, theirs = Pipe(duplex=False)
    told = MemberProgress(theirs, _began=100.0)
    assert told.recent.value is None
    clock["now"] = 103.0
    told.attach(lambda: {"wait_seconds": 2.5, "dropped": 4, "skipped": 1})
    (first,) = received(ours)
    assert (first.state, first.attached, first.seconds) == (MemberState.WAITING, True, 3.0)
    assert (first.waited, first.dropped, first.skipped) == (2.5, 4, 1)
    told.begin()
    clock.update(now=103.1, cpu=7.5)
    told.add(torch.tensor(2.0), 3)
    assert len(list(received(ours))) == 1  # that it began; it was told a moment ago
    clock["now"] = 103.5
    told.add(torch.tensor(8.0), 1)
    (report,) = received(ours)
    assert (report.seconds, report.cpu, report.samples) == (0.5, 0.5, 4)
    assert (report.loss, report.epoch_loss) == (3.5, 3.5)
    clock["now"] = 104.0
    told.add(torch.tensor(9.5), 4)
    (report,) = received(ours)
    assert (report.loss, report.epoch_loss) == (9.5, 6.5)
    told.end_epoch()
    told.tell(MemberState.DONE, reason="why")
    (report,) = received(ours)
    assert (report.epoch, report.loss, report.epoch_loss) == (1, None, 6.5)
    assert report.reason == "why"
    ours.close()
    with pytest.raises(SystemExit):
        told.tell(MemberState.DONE)
    theirs.close()


def test_a_tally_goes_on_where_another_was():
    one, other = MemberProgress(None), MemberProgress(None)
    one.whole.add(torch.tensor(2.0), 3)
    one.epoch, one.last = 4, 0.5
    other.load_state_dict(one.state_dict())
    assert (other.epoch, other.last, other.whole.value) == (4, 0.5, 2.0)
    assert Mean().value is None


class Shows:
    """A data set whose samples tell their place, and what was drawn for them."""

    def __len__(self):
        return 10

    def __getitem__(self, place):
        if place == 3:
            raise ValueError("torn")
        return place, random.random()


def private_loader(loaded, *, skip=True, own=None, member="a", batch_size=4):
    source = replace(loaded.source, samples_of=Shows(), shared=None)
    order = Order(samples=10, epochs=None, shuffle=False, seed=0)
    return PrivateLoader(
        source, order, member=member, batch_size=batch_size, private=own, skip=skip
    )


def drawn(sample):
    return (*sample, random.random())


def test_a_private_loader_gives_every_sample_of_an_epoch_and_its_draws_are_its_own(loaded):
    loader = private_loader(loaded, own=drawn)
    before = random.getstate()
    places, samples, members = zip(*loader, strict=True)
    assert random.getstate() == before
    assert [each.tolist() for each in places] == [[0, 1, 2, 4], [5, 6, 7, 8], [9]]
    assert (loader.epoch, loader.position, loader.stats()["skipped"]) == (1, 0, 1)
    again = private_loader(loaded, own=drawn, member="b")
    _, same, others = zip(*again, strict=True)
    assert torch.equal(torch.cat(samples), torch.cat(same))
    assert not set(torch.cat(members).tolist()) & set(torch.cat(others).tolist())
    _, next_samples, _ = zip(*loader, strict=True)
    assert not set(torch.cat(samples).tolist()) & set(torch.cat(next_samples).tolist())


def test_a_private_loader_goes_on_where_a_state_was_taken(loaded):
    loader = private_loader(loaded)
    loop = iter(loader)
    next(loop)
    state = loader.state_dict()
    assert state == {"epoch": 0, "position": 5}
    rest = [batch[0].tolist() for batch in loop]
    other = private_loader(loaded)
    other.load_state_dict(state)
    assert [batch[0].tolist() for batch in other] == rest == [[5, 6, 7, 8], [9]]


def test_a_private_loader_raises_where_it_may_not_skip_and_waits_for_nobody_else(
    loaded, monkeypatch
):
    with pytest.raises(ValueError, match="torn"):
        list(private_loader(loaded, skip=False))
    seconds = iter(range(100))
    monkeypatch.setattr("foretrain.ensemble.run.inputs.monotonic", lambda: float(next(seconds)))
    loader = private_loader(loaded)
    batches = len(list(loader))
    assert loader.stats()["wait_seconds"] == batches
    with pytest.raises(InputError, match="needs a data set with a length"):
        PrivateLoader(
            replace(loaded.source, samples_of=None),
            None,
            member="a",
            batch_size=1,
            private=None,
            skip=False,
        )


def test_a_study_that_skips_what_is_torn_says_so_to_a_private_loader(tmp_path, threads):
    asked = study(tmp_path, PLAIN, name="torn", data="torn", input="private")
    for on_error, samples in ((OnError.SKIP, tiny.SAMPLES - 1), (OnError.RAISE, None)):
        loaded = load(replace(asked, on_error=on_error))
        job = job_of(loaded, RunFolder(tmp_path / on_error.value), ends=2)
        if samples is None:
            *_, last = trained(job, loaded)
            assert last.state is MemberState.FAILED
            assert "ValueError: this sample is torn" in last.reason
        else:
            *_, last = trained(job, loaded)
            assert (last.samples, last.skipped) == (2 * samples, 2)


def test_equal_seeds_make_equal_weights(loaded):
    recipe, folder = loaded.study.recipes[0], loaded.study.folder
    one, same, other = (trainee(recipe, folder, seed=seed).state_dict() for seed in (1, 1, 2))
    key = "0.weight"
    assert torch.equal(one["model"][key], same["model"][key])
    assert not torch.equal(one["model"][key], other["model"][key])
    assert one["device_generator"] is None


@pytest.mark.parametrize(("name", "kind"), [
    ("sgd", "SGD"), ("adam", "Adam"), ("adamw", "AdamW"), ("rmsprop", "RMSprop"),
    ("adagrad", "Adagrad"),
])  # fmt: skip
def test_optimizers_are_pytorch_s(loaded, name, kind):
    optimizer = MemberOptimizer(name=name, options={"lr": 0.25})
    made = trainee(replace(loaded.study.recipes[0], optimizer=optimizer), "", seed=0).optimizer
    assert type(made) is getattr(torch.optim, kind)
    assert made.param_groups[0]["lr"] == 0.25


TINY = "tests.ensemble.run.tiny"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"model": Code(TINY, "no_model")}, "returned a str; a torch.nn.Module is wanted"),
        ({"model": Code(TINY, "buidl")}, "has no 'buidl'. Did you mean 'build'"),
        ({"model": Code(TINY, "SAMPLES")}, "is a int; a function is wanted"),
        (
            {"model": Code("tests.ensemble.run.tinny", "build")},
            "there is no module tests.ensemble.run",
        ),
        ({"options": {"depth": 3}}, r"with options \{'depth': 3\}"),
        ({"optimizer": MemberOptimizer(name="sgd", options={"speed": 1})}, "optimizer sgd: "),
        ({"optimizer": MemberOptimizer(name=Code(TINY, "collated"))}, "optimizer tests"),
        ({"optimizer": MemberOptimizer(name=Code("builtins", "list"))}, "returned a list"),
        ({"device": "gpu:0"}, "Write cpu, auto or cuda:0"),
        ({"device": "cuda:99"}, r"this machine has \d+ GPUs"),
    ],
)
def test_what_a_study_s_code_does_not_give_is_told(loaded, changed, says):
    with pytest.raises(InputError, match=says):
        trainee(replace(loaded.study.recipes[0], **changed), loaded.study.folder, seed=0)


def test_a_loss_of_one_s_own_is_given_the_model_and_the_batch(loaded):
    own = replace(loaded.study.recipes[0], loss=Code(TINY, "squared"))
    batch = next(iter(torch.utils.data.DataLoader(tiny.Points(), batch_size=6)))
    one = trainee(own, loaded.study.folder, seed=3).step(batch)
    other = trainee(loaded.study.recipes[0], loaded.study.folder, seed=3).step(batch)
    assert float(one) == pytest.approx(float(other))
    assert not one.requires_grad


def test_devices_and_sizes_of_batches():
    assert device_of("cpu") == torch.device("cpu")
    assert device_of("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    batch = {"x": [torch.zeros(3, 2), "text"], "y": (np.zeros(3),)}
    found = moved(batch, torch.device("cpu"))
    assert found["x"][1] == "text"
    assert isinstance(found["y"], list)
    assert [size_of(each) for each in (batch, [[torch.zeros(4)]], torch.zeros(5, 1), 3)] == [
        3, 4, 5, 1
    ]  # fmt: skip
