"""Kept results: what was written by this code, or done again."""

import json
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.test_simulate import drawn

from foretrain.app import progress as kept_module
from foretrain.app.progress import Kept
from foretrain.errors import InputError
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.simulate import simulate
from foretrain.measured.queue_study import Drawn
from foretrain.show.document import plain


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    simulate(replace(drawn(), seeds=1, loads=(0.5,), policies=("fifo",)), kept=Kept(folder))
    (file,) = folder.iterdir()
    found = Kept(folder).get(file.stem)
    assert found is not None
    return found


def test_what_was_kept_comes_back_as_it_was(tmp_path, result):
    odd = replace(result, seconds=inf)
    kept = Kept(tmp_path)
    kept.put("odd", odd)
    assert repr(kept.get("odd")) == repr(odd)
    assert kept.get("another") is None
    assert kept.damaged == []


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_whatever_bit_is_flipped_the_result_is_not_taken_for_whole(
    tmp_path_factory, result, place, bit
):
    kept = Kept(tmp_path_factory.mktemp("kept"))
    kept.put("key", result)
    file = kept.folder / "key.json"
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 1 << bit
    file.write_bytes(content)
    assert repr(kept.get("key")) in {repr(None), repr(result)}


@pytest.mark.parametrize("content", ["", "{", "[]", "1", "null", '{"code": 1}', "[" * 10**5])
def test_a_file_that_is_no_result_is_damaged(tmp_path, content):
    (tmp_path / "key.json").write_text(content)
    kept = Kept(tmp_path)
    assert kept.get("key") is None
    assert kept.damaged == [tmp_path / "key.json"]


def test_what_other_code_has_made_is_done_again_and_not_called_damaged(
    tmp_path, result, monkeypatch
):
    kept = Kept(tmp_path)
    kept.put("key", result)
    monkeypatch.setattr(kept_module, "code", lambda: "other")
    assert kept.get("key") is None
    assert kept.damaged == []


def test_a_result_that_cannot_be_opened_or_written_is_one_message(tmp_path, result, full_disk):
    (tmp_path / "key.json").mkdir()
    with pytest.raises(InputError, match=r"key\.json: is a folder; a file is wanted"):
        Kept(tmp_path).get("key")
    with full_disk(), pytest.raises(InputError, match="cannot be written: File too large"):
        Kept(tmp_path).put("other", result)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot hold results: File exists"):
        Kept(tmp_path / "file")


def told(answer):
    """What an answer says, but for how quick this machine was."""
    return json.dumps(plain(replace(answer, jobs_per_second=0.0)))


def test_a_resumed_simulation_equals_a_fresh_one_to_the_byte_under_every_policy(tmp_path):
    study = replace(
        drawn(jobs=Drawn(jobs=12)), seeds=1, loads=(0.9,), policies=tuple(sorted(POLICIES))
    )
    fresh = simulate(study)
    simulate(replace(study, policies=study.policies[::2]), kept=Kept(tmp_path))
    assert told(simulate(study, kept=Kept(tmp_path))) == told(fresh)
