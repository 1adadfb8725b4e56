"""Names of streams: abstract addresses that nobody can take twice and nothing outlives."""

from contextlib import closing

import pytest
from tests.run.stream.names import new_name

from foretrain.errors import InputError
from foretrain.run.stream.addresses import (
    LONGEST_NAME,
    checked_name,
    connect,
    is_ours,
    listen,
    running,
)
from foretrain.run.stream.errors import StreamNotFound, StreamTaken


def test_a_name_is_taken_until_its_stream_is_gone():
    name = new_name()
    with closing(listen(name)) as listener:
        assert name in running()
        with pytest.raises(StreamTaken, match="runs already"):
            listen(name)
        with closing(connect(name, patience=0)), closing(listener.accept()[0]) as peer:
            assert is_ours(peer)
    assert name not in running()
    with pytest.raises(StreamNotFound, match="was found"):
        connect(name, patience=0)


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * (LONGEST_NAME + 1), "a\0b"])
def test_a_name_that_is_no_name_is_refused(name):
    with pytest.raises(InputError, match="letters, digits"):
        checked_name(name)
