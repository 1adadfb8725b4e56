"""Checkpoints: whole or not there, of one run and of no other."""

import json

import pytest
from tests.needs import needs

from foretrain.ensemble.run.written import MANIFEST, RunFolder
from foretrain.errors import InputError

torch = needs("torch")


@pytest.fixture
def folder(tmp_path):
    found = RunFolder(tmp_path / "kept")
    assert found.claim("question", resume=False) == {}
    found.add({"question": "question"})
    return found


def test_a_state_comes_back_as_it_was(folder):
    assert folder.load("a") is None
    state = {"trainee": {"w": torch.arange(3.0)}, "tally": {"epoch": 2, "last": None}}
    folder.save("a", state)
    assert torch.equal(folder.load("a")["trainee"]["w"], torch.arange(3.0))
    assert folder.progress("a") == {"epoch": 2, "last": None}


def test_a_state_for_which_the_disk_is_too_small_is_told_and_the_last_one_stays(folder, full_disk):
    folder.save("a", {"tally": {"epoch": 1}})
    with full_disk(), pytest.raises(InputError, match=r"a\.pt cannot be written: .*(space|large)"):
        folder.save("a", {"w": torch.zeros(10**6), "tally": {"epoch": 2}})
    assert folder.progress("a") == {"epoch": 1}


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot hold a run: Not a directory"):
        RunFolder(tmp_path / "file" / "kept").claim("question", resume=False)


def test_facts_of_a_run_are_added_up(folder):
    folder.add({"ended": ["a"]})
    assert folder.claim("question", resume=True) == {"question": "question", "ended": ["a"]}


def test_a_folder_is_claimed_by_one_run(folder):
    with pytest.raises(InputError, match="holds a run"):
        folder.claim("question", resume=False)
    with pytest.raises(InputError, match="of another study"):
        folder.claim("another", resume=True)
    with pytest.raises(InputError, match="no run to resume"):
        RunFolder(folder.path.parent / "empty").claim("question", resume=True)


def test_a_file_that_is_no_state_is_refused(folder):
    (folder.path / "a.pt").write_bytes(b"torn")
    with pytest.raises(InputError, match="is no state of a member"):
        folder.load("a")
    assert json.loads((folder.path / MANIFEST).read_text()) == {"question": "question"}


@pytest.mark.parametrize(
    ("kept", "see"),
    [
        ({"question": "q", "compared": "x", "ended": {}}, "compared, ended"),
        ({"question": 3}, "question"),
        ({"compared": 1}, "question"),
    ],
)
def test_a_manifest_that_says_something_else_is_damaged(tmp_path, kept, see):
    (tmp_path / MANIFEST).write_text(json.dumps(kept))
    with pytest.raises(InputError, match=f"is damaged: see {see}\\."):
        RunFolder(tmp_path).claim("q", resume=True)
