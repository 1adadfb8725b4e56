"""The program of one process of a run: `python -m tests.executor.member RANK CONTROL OTHER=FD ...`.

It runs what the test sends it, one program after the other, and answers with what it returned and
the bytes it has sent, or with the error.
"""

import sys
import traceback
from multiprocessing.connection import Connection

from tests.executor.rings import Answer, Member


def main(rank, control, *others):
    asked = Connection(int(control))
    links = {int(name): Connection(int(fd)) for name, fd in (each.split("=") for each in others)}
    member = Member(int(rank), links)
    while True:
        try:
            program, arguments = asked.recv()
        except EOFError:
            # The test is gone.
            return
        member.sent.clear()
        member.received.clear()
        try:
            returned = program(member, *arguments)
            asked.send(Answer(returned, dict(member.sent), dict(member.received)))
        except Exception:
            asked.send(Answer(error=traceback.format_exc()))


if __name__ == "__main__":
    main(*sys.argv[1:])
