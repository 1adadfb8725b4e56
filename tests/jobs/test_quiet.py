"""What libraries write past Python goes to standard error."""

import ctypes

from foretrain.jobs.case import beside_the_answer


def test_what_a_library_writes_is_not_part_of_the_answer(capfd):
    libc = ctypes.CDLL(None)
    with beside_the_answer():
        libc.printf(b"a line of its own\n")
    libc.puts(b"the answer")
    libc.fflush(None)
    told = capfd.readouterr()
    assert (told.out, told.err) == ("the answer\n", "a line of its own\n")
