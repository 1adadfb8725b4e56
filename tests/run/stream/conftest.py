"""What tests of streams may ask for."""

from tests.run.stream.threads import in_processes, in_threads

__all__ = ["in_processes", "in_threads"]
