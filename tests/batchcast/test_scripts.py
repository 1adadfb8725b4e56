"""Scripts as people write them: over a stream, every member gets what a loader of its own gives it.

`examples/scripts/` holds them; each runs as its author wrote it and, loop unchanged, over a stream.
Value by value: losses are compared, which depend on every sample, its place, and every draw.
"""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.needs import needs

SCRIPTS = Path(__file__).parents[2] / "examples" / "scripts"
torch = needs("torch")
needs("PIL")

FURTHER = {
    "padded_texts": "datasets",
    "web_dataset": "webdataset",
    "accelerated": "accelerate",
    "lightnings": "lightning",
}
"""Packages that a script needs beyond PyTorch and Pillow; it is skipped where one is missing."""

SEVERAL = ("samplers", "kinds", "loops", "seeded")
"""Scripts that `members.py` runs, each with many loaders at once."""

MEMBERS = ("image_folder", "iterable", "nested", "mixup", *FURTHER)
"""Scripts that `members.py` runs, each with one loader."""

TOLD = {"web_dataset": {"yields": "batches"}}
"""What a script has to say to `share`, beyond its loader."""

ALONE = ("early_stopping", "resumed", "leaving")


@pytest.fixture(autouse=True)
def among_the_scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    for name in ("members", *MEMBERS, *SEVERAL, *ALONE):
        sys.modules.pop(name, None)


def test_every_script_is_run():
    assert {each.stem for each in SCRIPTS.glob("*.py")} == {
        "members",
        *MEMBERS,
        *SEVERAL,
        *ALONE,
    }


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_members_over_a_stream_come_to_what_one_with_its_own_loader_comes_to(name):
    if name in FURTHER and find_spec(FURTHER[name]) is None:
        pytest.skip(f"{FURTHER[name]} is not installed: pip install {FURTHER[name]}")
    members, script = map(importlib.import_module, ("members", name))
    private = script.train(script.loader())
    assert private
    assert members.trained(script.train, script.loader(), **TOLD.get(name, {})) == [private] * 2


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_members_over_many_streams_come_to_what_one_with_its_own_loaders_comes_to(name):
    members, script = map(importlib.import_module, ("members", name))
    private = script.train(script.loaders())
    epochs = getattr(script, "EPOCHS", members.EPOCHS)
    assert members.trained(script.train, script.loaders(), epochs=epochs) == [private] * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_members_go_on_when_others_leave_crash_or_are_slow():
    script = importlib.import_module("leaving")
    private = script.train(script.loader())
    assert script.trained() == {
        "plain": private,
        "slow": private,
        "early": private[: script.LEAVES],
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_members_stop_when_their_own_validation_says_so():
    script = importlib.import_module("early_stopping")
    private = [script.train(*script.loaders(), rate) for rate in script.RATES]
    assert len({len(history) for history, _ in private}) > 1
    assert script.trained(script.RATES) == private


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_training_goes_on_at_the_next_batch():
    script = importlib.import_module("resumed")
    first, second = script.halves()
    assert len(first) == script.STOP
    assert first + second == [batch.tolist() for (batch,) in script.loader()]
