"""Studies: what a limit leaves of a device."""

from tests.builders import H100

from foretrain.plan.study import Limit


def test_room_of_a_device_is_its_memory_or_the_limit_whichever_is_less():
    assert Limit().room(H100) == H100.memory
    assert Limit(memory=1e9).room(H100) == 1e9
    assert Limit(memory=1e15).room(H100) == H100.memory
