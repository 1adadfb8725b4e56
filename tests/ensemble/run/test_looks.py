"""What is remembered from one look to the next."""

import pytest

from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run import looks
from foretrain.ensemble.run.looks import Report


@pytest.fixture
def held(monkeypatch):
    """Bytes that all processes hold, one after the other."""
    found = iter([5.0, 9.0, 7.0])
    monkeypatch.setattr(looks, "memory_of_descendants", lambda: next(found))
    monkeypatch.setattr(looks, "SELDOM", -1.0)


def memory(*states):
    told = looks.Looks(["a"])
    for state in states:
        told.look({"a": Report(state=state)}, None)
    return told.memory


def test_the_most_memory_that_was_seen_counts(held):
    assert memory(MemberState.TRAINING, MemberState.TRAINING, MemberState.TRAINING) == 9.0


def test_memory_is_that_of_members_at_work(held):
    assert memory(MemberState.WAITING, MemberState.DONE) is None
    assert memory(MemberState.WAITING, MemberState.TRAINING, MemberState.DONE) == 5.0
