"""The folder for sockets of a loader's workers: named first, made by who is cleared away after."""

import tempfile
from pathlib import Path

import pytest
from tests.batchcast.at_work import loader_of, shared
from tests.needs import needs

from batchcast import scratch
from batchcast.errors import ArgumentError

needs("torch")


def test_who_is_killed_before_its_stream_runs_leaves_no_folder():
    assert not Path(scratch.scratch()).exists()


def test_a_stream_has_one_for_this_user_alone_and_it_goes_with_the_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with shared(loader_of(8, 4), epochs=1):
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.iterdir())


def test_where_none_can_be_made_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(ArgumentError, match=r"cannot be made.*set TMPDIR"), shared(loader_of(8, 4)):
        pass
