"""Surroundings: what a clean process takes over from the one that asks for it.

Parcels: objects handed to a clean process, as `multiprocessing`'s spawn hands them.

A parcel is a file in memory: the surroundings, a pickle, and beside it the data of arrays and
tensors. Whoever opens it maps that data, so all processes that are forked from there share it.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import context, current_process, spawn
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Final

from batchcast.errors import ArgumentError, BatchcastError
from batchcast.forkserver.fork import ONE_THREAD
from batchcast.forkserver.server import MOST_DESCRIPTORS


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What Python code may depend on, besides its arguments.

    Attributes:
        path: where modules are looked for.
        arguments: of the command line.
        folder: that relative paths begin at.
        environment: its variables.
        cores: that it may use.
        main: where the script is that was started, as `multiprocessing` describes it.
    """

    path: tuple[str, ...]
    arguments: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    cores: frozenset[int]
    main: Mapping[str, str]

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        check_not_importing_main()
        return cls(
            path=tuple(map(str, sys.path)),
            arguments=tuple(getattr(sys, "argv", ())),
            folder=str(Path.cwd()),
            environment=dict(os.environ),
            cores=frozenset(os.sched_getaffinity(0)),
            main=_main(),
        )

    def enter(self) -> None:
        """Make them this process' own; numerical libraries still start no threads by themselves."""
        sys.path[:] = self.path
        sys.argv[:] = self.arguments
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update({**self.environment, **ONE_THREAD})
        os.sched_setaffinity(0, self.cores)

    def import_main(self) -> None:
        """Import the script that was started once more, under the name `__mp_main__`."""
        process: Any = current_process()
        process._inheriting = True  # as multiprocessing does it, so that both notice the other
        try:
            spawn.prepare(dict(self.main))
        finally:
            del process._inheriting


def _main() -> dict[str, str]:
    """Where the script that was started is; nothing at a prompt or in a notebook.

    `multiprocessing` tells it too, but settles meanwhile how processes are started.
    """
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return {"init_main_from_name": spec.name}
    if path := getattr(main, "__file__", None):
        return {"init_main_from_path": str(Path(path).absolute())}
    return {}


def check_not_importing_main() -> None:
    """Refuse what a script does while it is imported by a process that it started itself.

    Raises:
        ArgumentError: it is being imported.
    """
    if getattr(current_process(), "_inheriting", False):
        raise ArgumentError(
            "This script started a process that uses what it defines, so that process imports the "
            "script again, and came to the same start. Put what the script does under "
            "if __name__ == '__main__':, and leave classes and functions above."
        )


HOW: Final = (
    "What is handed over must pickle, as for PyTorch's DataLoader with workers that are spawned: "
    "write functions and classes at the top of a module, or of a script whose start is under "
    "if __name__ == '__main__': (no lambda, no function within a function; from a notebook or "
    "prompt, import them from a .py file); open files and connections when the first sample is "
    "read."
)

_ALIGNED: Final = 64
"""Bytes to a multiple of which every part begins: what processors load at once."""

_PIECE: Final = 1 << 30
"""Bytes written at a time; the kernel takes less than 2 GiB."""

_DESCRIPTORS_BESIDE: Final = 16
"""Descriptors that travel with a parcel besides its own."""

_arrived: Sequence[int] = ()
"""Descriptors of the parcel that is being opened."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is handed over.

    Attributes:
        sizes: bytes of the parts: surroundings, pickle, and each buffer.
        descriptors: the file in memory, then those that the pickle speaks of.
    """

    sizes: tuple[int, ...]
    descriptors: tuple[int, ...]

    def arrived(self, descriptors: Sequence[int]) -> Parcel:
        """The same at its destination."""
        return replace(self, descriptors=tuple(descriptors))

    def unpacked(self) -> Any:
        """Enter the surroundings, and make the object.

        Raises:
            ArgumentError: the object cannot be made here.
        """
        parts = self._parts()
        surroundings: Surroundings = pickle.loads(parts[0])
        surroundings.enter()
        global _arrived  # noqa: PLW0603 - what rebuilds an object can be told in no other way
        _arrived = self.descriptors[1:]
        try:
            return _ParcelUnpickler(parts[1], parts[2:], surroundings).load()
        except BatchcastError:
            raise
        except BaseException as error:
            raise ArgumentError(
                f"What was handed to a process could not be made there: {type(error).__name__}: "
                f"{error}. {HOW}"
            ) from error
        finally:
            _arrived = ()

    def close(self) -> None:
        """Close its descriptors."""
        for each in self.descriptors:
            os.close(each)

    def _parts(self) -> list[memoryview]:
        """All parts, in memory that a process may write without any other seeing it."""
        begins, end = _places(self.sizes)
        rights = mmap.PROT_READ | mmap.PROT_WRITE
        whole = memoryview(mmap.mmap(self.descriptors[0], end, mmap.MAP_PRIVATE, rights))
        return [whole[at : at + size] for at, size in zip(begins, self.sizes, strict=True)]


def packed(value: Any, *, what: str) -> Parcel:
    """A parcel of an object and the surroundings of this process.

    Args:
        value: what is handed over.
        what: it is, for errors.

    Raises:
        ArgumentError: it cannot be handed over.
    """
    surroundings = pickle.dumps(Surroundings.here())
    file, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    with _collected() as descriptors:
        try:
            _ParcelPickler(file, buffers).dump(value)
        except Exception as error:
            raise ArgumentError(
                f"{what} cannot be handed to another process: {type(error).__name__}: {error}. "
                f"{HOW}"
            ) from error
        if len(descriptors) > MOST_DESCRIPTORS - _DESCRIPTORS_BESIDE:
            raise ArgumentError(
                f"{what} holds {len(descriptors)} descriptors, of shared tensors or queues, and at "
                f"most {MOST_DESCRIPTORS - _DESCRIPTORS_BESIDE} can be handed over. Put tensors "
                "together, or leave them unshared: they are shared among workers in any case."
            )
        parts = [memoryview(surroundings), file.getbuffer(), *(each.raw() for each in buffers)]
        memory = _stored(parts)
        kept = tuple(os.dup(each) for each in descriptors)
    return Parcel(tuple(part.nbytes for part in parts), (memory, *kept))


def _stored(parts: Sequence[memoryview]) -> int:
    """A file in memory that holds these parts."""
    begins, end = _places([part.nbytes for part in parts])
    memory = os.memfd_create("batchcast-parcel", os.MFD_CLOEXEC)
    try:
        os.ftruncate(memory, end)
        for begin, part in zip(begins, parts, strict=True):
            for at in range(0, part.nbytes, _PIECE):
                _write(memory, part[at : at + _PIECE], begin + at)
    except OSError as error:
        os.close(memory)
        raise ArgumentError(
            f"{end} bytes could not be handed to another process: {error.strerror}. This machine "
            "has not so much memory to give."
        ) from error
    return memory


def _write(memory: int, piece: memoryview, at: int) -> None:
    while len(piece):
        done = os.pwrite(memory, piece, at)
        piece, at = piece[done:], at + done


def _places(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where parts of these sizes begin, and where the last ends."""
    begins, end = [], 0
    for size in sizes:
        begins.append(end)
        end = -(-(end + size) // _ALIGNED) * _ALIGNED
    return begins, end


class _ParcelPickler(ForkingPickler):
    """Hands over what `multiprocessing` can, and the data of arrays and tensors beside it."""

    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer]) -> None:
        arguments: Any = (file, pickle.HIGHEST_PROTOCOL, True, buffers.append)
        super().__init__(*arguments)

    def reducer_override(self, value: Any) -> Any:
        """PyTorch would move every storage into shared memory of its own, with a descriptor."""
        torch: Any = sys.modules.get("torch")
        if torch is None or not isinstance(value, torch.UntypedStorage):
            return NotImplemented
        if value.device.type != "cpu" or value.is_shared() or not value.nbytes():
            return NotImplemented
        numbers = torch.empty(0, dtype=torch.uint8).set_(value)
        return _storage, (pickle.PickleBuffer(numbers.numpy()),)


def _storage(data: memoryview) -> Any:
    """The memory of a tensor, in the parcel's."""
    import torch

    return torch.frombuffer(data, dtype=torch.uint8).untyped_storage()


class _ParcelUnpickler(pickle.Unpickler):
    """Imports the script that was started only where an object is defined there."""

    def __init__(
        self, data: memoryview, buffers: Sequence[memoryview], surroundings: Surroundings
    ) -> None:
        super().__init__(io.BytesIO(data), buffers=buffers)
        self._surroundings = surroundings
        self._has_main = False

    def find_class(self, module: str, name: str) -> Any:
        if module in {"__main__", "__mp_main__"} and not self._has_main:
            self._has_main = True
            self._surroundings.import_main()
        return super().find_class(module, name)


class _Descriptor:
    """A descriptor within a pickle, as `multiprocessing.reduction.DupFd` gives it."""

    def __init__(self, place: int) -> None:
        self._place = place

    def detach(self) -> int:
        """The descriptor, which the caller now owns."""
        return os.dup(_arrived[self._place])


class _Spawning:
    """Stands for the process that is being started, as `multiprocessing` asks for it."""

    DupFd = _Descriptor

    def __init__(self) -> None:
        self.descriptors: list[int] = []

    def duplicate_for_child(self, descriptor: int) -> int:
        """Where the descriptor comes among those that are handed over."""
        self.descriptors.append(descriptor)
        return len(self.descriptors) - 1


@contextmanager
def _collected() -> Iterator[list[int]]:
    """The descriptors of what is pickled meanwhile."""
    spawning: Any = _Spawning()
    before = context.get_spawning_popen()
    context.set_spawning_popen(spawning)
    try:
        yield spawning.descriptors
    finally:
        context.set_spawning_popen(before)
