"""Samples that wait on disk for a reader that is slow for a while."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchcast.errors import SpillFailed

Record = Sequence[NDArray[Any]]

_NONE = -1


class Spill:
    """A bounded queue of records in a file without a name.

    Attributes:
        numbers: sequence numbers in it, oldest first.
    """

    def __init__(self, most: int) -> None:
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives with its reader
        except OSError as error:
            raise _failed(error) from error
        self._most = most
        self._offsets: deque[int] = deque()
        self._free: list[int] = []
        self._end = 0
        self.numbers: deque[int] = deque()

    def room(self, record_bytes: int) -> int:
        """Records of so many bytes that still fit."""
        return max(0, self._most // record_bytes - len(self.numbers))

    def put(self, number: int, record: Record | None) -> None:
        """Append a record, or the fact that there is none.

        Raises:
            SpillFailed: the disk is full, or cannot be written.
        """
        self.numbers.append(number)
        if record is None:
            self._offsets.append(_NONE)
            return
        if self._free:
            offset = self._free.pop()
        else:
            offset, self._end = self._end, self._end + sum(part.nbytes for part in record)
        self._offsets.append(offset)
        for part in record:
            self._write(np.ascontiguousarray(part).data.cast("B"), offset)
            offset += part.nbytes

    def skipped(self) -> bool:
        """Whether there is no record of the oldest number, which then leaves the queue."""
        if self._offsets[0] != _NONE:
            return False
        self.numbers.popleft()
        self._offsets.popleft()
        return True

    def clear(self) -> None:
        """Forget everything."""
        self._free.extend(offset for offset in self._offsets if offset != _NONE)
        self.numbers.clear()
        self._offsets.clear()

    def take(self, record: Record) -> None:
        """Move the oldest record back into these arrays.

        Raises:
            SpillFailed: the disk does not give it back.
        """
        self.numbers.popleft()
        offset = self._offsets.popleft()
        self._free.append(offset)
        for part in record:
            data = self._read(part.nbytes, offset)
            part[...] = np.frombuffer(data, part.dtype).reshape(part.shape)
            offset += part.nbytes

    def _write(self, data: memoryview, offset: int) -> None:
        """All of it, for a disk that is nearly full takes a part."""
        while data.nbytes:
            try:
                done = os.pwrite(self._file.fileno(), data, offset)
            except OSError as error:
                raise _failed(error) from error
            data, offset = data[done:], offset + done

    def _read(self, count: int, offset: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                part = os.pread(self._file.fileno(), count - len(data), offset + len(data))
            except OSError as error:
                raise _failed(error) from error
            if not part:
                raise _failed(OSError("it ends too early"))
            data += part
        return data

    def close(self) -> None:
        """Give the space on disk back."""
        self._file.close()


def _failed(error: OSError) -> SpillFailed:
    return SpillFailed(
        f"What waits on disk in {tempfile.gettempdir()} for this reader could not be kept: "
        f"{error.strerror or error}. The others go on. Give it another folder (TMPDIR) or less "
        "disk (attach(..., spill=...)), or attach with policy='block' or 'detach'."
    )
