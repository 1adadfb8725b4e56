"""Randomised faults: everybody of a stream is paused and killed, and no sample is lost.

    python -m validation.faults                     # six runs
    python -m validation.faults --runs 200 --seed 0
    python -m validation.faults --run 17            # the run of that seed alone, in all detail

Every run draws a source, one to six readers with batch sizes and policies, an arena that is often
far too small, and faults: two seconds' pause or kill -9 of a reader, a worker or feeder, the
conductor, or the process that shares the stream.
"""

from __future__ import annotations

import sys

from validation.faults.table import main

sys.exit(main(sys.argv[1:]))
