import pytest
from tests.executor.processes import Processes


@pytest.fixture(scope="session")
def processes():
    found = Processes(4)
    try:
        yield found
    finally:
        found.close()
