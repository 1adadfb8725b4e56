"""How Hypothesis searches: without deadlines everywhere, without chance where CI is set.

The profile `slow` (make test-slow) draws ten times as many examples, `quick` (make quick) a few.
With `--tenth` a random tenth of the tests runs, as CI runs it of the slow profile; it tells its
seed, and `--tenth SEED` runs the same again.
"""

import gc
import os
import random
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import MORE

# Some eighty programs are started, and each would compile all that it imports once more.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Workers of pytest share the cores out; threads of BLAS on top of them would spend more on waiting
# for each other, over matrices of a few rows, than on the matrices. Set before NumPy is imported.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

# A test traces what it traces; whoever tests what is kept says where.
os.environ["FORETRAIN_CACHE"] = "off"

# Modules and thousands of tests live until the end: looking through them for garbage, again and
# again, takes a third of their collection and a tenth of their run.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser):
    parser.addoption("--tenth", type=int, nargs="?", const=-1, metavar="SEED")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: asked in the slow profile alone")
    if config.option.tenth == -1:  # workers find in the environment what the first process drew
        drawn = random.SystemRandom().randrange(10**6)
        config.option.tenth = int(os.environ.setdefault("TENTH", str(drawn)))


def pytest_report_header(config):
    tenth = config.option.tenth
    return [] if tenth is None else [f"a random tenth of the tests, --tenth {tenth}"]


def pytest_collection_modifyitems(config, items):
    kept = [item for item in items if PROFILE == "slow" or not item.get_closest_marker("slow")]
    if config.option.tenth is not None:
        drawn = random.Random(config.option.tenth)
        kept = [item for item in kept if drawn.random() < 0.1]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local")

FEWER = 25
"""Random examples by default, for suites that are run often; the slow profile draws a thousand."""
settings.register_profile("local", deadline=None, print_blob=True, max_examples=FEWER)
settings.register_profile(
    "ci", deadline=None, print_blob=True, max_examples=FEWER, derandomize=True
)
settings.register_profile("quick", deadline=None, print_blob=True, max_examples=3)
settings.register_profile("slow", deadline=None, print_blob=True, max_examples=100 * MORE)
settings.load_profile(PROFILE)

# What takes a second or more, or trains, is left out where somebody wants to know soon.
LONG = Path(__file__).with_name("long.txt").read_text().split()
collect_ignore = LONG if PROFILE == "quick" else []


@pytest.fixture
def full_disk():
    """A context in which no file may grow past four kilobytes."""

    @contextmanager
    def full():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return full
