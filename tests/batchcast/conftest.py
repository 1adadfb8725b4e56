"""What tests of streams may ask for."""

from tests.batchcast.threads import in_processes, in_threads

__all__ = ["in_processes", "in_threads"]
