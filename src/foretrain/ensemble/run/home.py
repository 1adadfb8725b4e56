"""Apart: a function of its own process, so that what it touches leaves nothing behind in ours.

Code that a study names: found beside its file, or installed.

The home of a study's processes: one loads what the study names, and all others come of it.

It starts clean, whatever threads the process has that asks for it, and has one thread itself. So
data are loaded once, however many members, measurements and streams need them. Where the study's
code starts threads as it is loaded, every process loads the study for itself instead.

Errors of a run: our own and those of its shared stream, which a user mends alike.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final

from batchcast.errors import (
    ArgumentError,
    BatchcastError,
    MissingPackage,
    as_text,
    require_linux,
)
from batchcast.errors import from_text as of_stream
from batchcast.forkserver.client import ForkServer, Process, closed_after_fork, start
from batchcast.forkserver.fork import threads
from batchcast.forkserver.parcel import Parcel, packed
from batchcast.forkserver.server import Request, Server
from batchcast.messages import FROM_ZYGOTE, Kind, receive, send, send_json
from batchcast.serve import SourceFacts, facts_of
from batchcast.source import Source, source_of
from batchcast.zygote import serve_zygote
from foretrain.errors import ForetrainError, InputError, MissingExtra
from foretrain.measured.ensemble_study import Code, EnsembleStudy
from foretrain.plugins import called, imported

MENDABLE: Final = (ForetrainError, BatchcastError)

OURS: Final = {each.__name__: each for each in (ForetrainError, InputError)}
"""Our errors that one process finds and another raises, by the name that travels."""


def from_text(body: bytes) -> Exception:
    """The error that travelled, as `batchcast.errors.as_text` wrote it."""
    name, _, message = body.decode(errors="replace").partition("\n")
    return OURS[name](message) if name in OURS else of_stream(body)


@contextmanager
def as_ours() -> Iterator[None]:
    """What goes wrong with a stream goes wrong with the run.

    Raises:
        ForetrainError: with what the stream says.
    """
    try:
        yield
    except MissingPackage as error:
        raise MissingExtra(str(error)) from error
    except ArgumentError as error:
        raise InputError(str(error)) from error
    except BatchcastError as error:
        raise ForetrainError(str(error)) from error


Starts = Callable[[Callable[..., None], Sequence[int]], Process]
"""Starts a process that calls a function with these descriptors, or with more before them."""


def apart(function: Callable[..., Any], *, what: str, starts: Starts = start) -> Any:
    """What a function returns, as JSON knows it, from a process of its own.

    Args:
        function: of a module, or `partial` of one; called with what `starts` gives it.
        what: it finds out, for errors.
        starts: the process: a clean one, which gives the function nothing, unless told otherwise.

    Raises:
        InputError: the function raised, or its process died.
    """
    read, write = os.pipe()
    with os.fdopen(read, "rb") as pipe:
        try:
            process = starts(partial(_tell, pickle.dumps(function)), [write])
        finally:
            os.close(write)
        answer = pipe.read()
    process.wait()
    process.close()
    if not answer:
        end = f"ended with status {process.status}"
        if process.status == -signal.SIGKILL:
            end = "was killed, perhaps because memory was short"
        raise InputError(f"{what}: the process that measures it {end}.")
    told = json.loads(answer)
    if "raised" in told:
        raise InputError(f"{what}: {told['raised']}")
    if "error" in told:
        raise InputError(told["error"])
    return told["answer"]


def _tell(function: bytes, *given: Any) -> None:
    *arguments, (pipe,) = given
    os.dup2(2, 1)
    try:
        told = {"answer": pickle.loads(function)(*arguments)}
    except MENDABLE as error:
        told = {"error": str(error)}
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)[-1].strip()
        told = {"raised": f"{type(error).__name__}: {error}\n{where}"}
    with os.fdopen(pipe, "wb") as file:
        file.write(json.dumps(told).encode())


def function(code: Code, folder: str) -> Callable[..., Any]:
    """The function that a study names.

    Args:
        code: module and name.
        folder: of the study's file, where modules are looked for first.

    Raises:
        InputError: there is no such module or function, or importing the module fails.
    """
    found = imported(str(code), folder=str(Path(folder).resolve()))
    return called(found, name=str(code))


def check_code(study: EnsembleStudy) -> None:
    """Import everything that a study names.

    Raises:
        InputError: with every function that is not there.
    """
    problems = []
    for code in study.code:
        try:
            function(code, study.folder)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))


TRAINING: Final = "torch._dynamo"
"""What PyTorch imports with the first step of an optimizer, which takes more than a second and
tens of megabytes: once for all members of all studies of a process, and not once in each."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a study's code made, in the process that has it.

    Attributes:
        study: the ensemble.
        source: its samples, as a stream understands them.
    """

    study: EnsembleStudy
    source: Source


class Home:
    """The process that has loaded a study, as the one sees it that asked for it.

    Attributes:
        facts: what is known of the study's samples here.
    """

    def __init__(self, study: EnsembleStudy) -> None:
        require_linux(what="Measuring or training an ensemble")
        self._study = study
        self._parcel = packed(partial(load, study), what=f"The study '{study.name}'")
        self._peer, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        closed_after_fork(self._peer)
        with theirs:
            descriptors = [theirs.fileno(), *self._parcel.descriptors]
            run = partial(_live, self._parcel)
            self._process = start(run, descriptors, load=[TRAINING], leads=True, patience=inf)
        self._server = ForkServer(self._peer)
        try:
            message = receive(self._peer, FROM_ZYGOTE)
            if message is None:
                self._process.wait()
                raise InputError(
                    f"The process that loads the study's code and data ended with status "
                    f"{self._process.status}. See its messages above."
                )
            if message.kind is Kind.REFUSED:
                raise from_text(message.body)
            told: Any = message.json()
            self.facts, self._forks = (SourceFacts(**told["facts"]), told["threads"] == 1)
        except BaseException:
            self.close()
            raise

    def fork(self, run: Callable[..., None], descriptors: Sequence[int], **asked: Any) -> Process:
        """A process that has the study too.

        Args:
            run: of a module; gets what is `Loaded` and the descriptors.
            descriptors: that it inherits.
            asked: fields of `Request`.

        Raises:
            ForetrainError: the process that has loaded the study died.
        """
        body = pickle.dumps(run)
        if not self._forks:
            handed = partial(_live_alone, parcel=self._parcel, own=len(descriptors), body=body)
            return start(handed, [*descriptors, *self._parcel.descriptors], **asked)
        try:
            return self._server.fork(Request(body=body, **asked), descriptors)
        except ConnectionError as error:
            raise ForetrainError(
                "The process that has loaded the study's data died; the machine may have run out "
                "of memory. See its messages above."
            ) from error

    def measure(self, function: Callable[[Loaded], Any], *, what: str) -> Any:
        """What a function of the study returns, as JSON knows it, from a process of its own.

        Args:
            function: of a module, or `partial` of one.
            what: it finds out, for errors.

        Raises:
            InputError: the function raised, or its process died.
        """
        return apart(function, what=what, starts=self.fork)

    def zygote(self, folder: str | None, *, memory: int) -> Parcel | socket.socket:
        """What the conductor of a stream gets its workers from.

        Args:
            folder: for the sockets of a loader's own workers; nothing for a data set.
            memory: bytes that the arena may take.
        """
        if not self._forks:
            return packed(partial(_source, self._study), what=f"The study '{self._study.name}'")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            run = partial(_be_zygote, folder=folder, memory=memory)
            self.fork(run, [theirs.fileno()], patience=inf).close()  # it ends with the conductor
        return ours

    def close(self) -> None:
        """End it; whoever was forked from it ends first."""
        self._peer.close()
        self._process.wait()
        self._process.close()
        self._parcel.close()


def load(study: EnsembleStudy) -> Loaded:
    """Import what a study names, and call its data function.

    Raises:
        InputError: the study's code does not give what it must.
    """
    check_code(study)
    try:
        raw = function(study.data, study.folder)()
    except MENDABLE:
        raise
    except Exception as error:
        raise InputError(
            f"ensemble.data: {study.data} raised {type(error).__name__}: {error}. It is called "
            "without arguments and returns a data set or a loader."
        ) from error
    shared = function(study.shared, study.folder) if study.shared else None
    source = source_of(raw, shared=shared, seed=study.seed, longest=None)
    if source.samples_of is None and study.workers is not None:
        raise InputError("ensemble.workers: the data is a loader, which brings its own.")
    return Loaded(study, source)


def _source(study: EnsembleStudy) -> Source:
    """The study's source, for a stream, which carries errors of its own."""
    try:
        return load(study).source
    except ForetrainError as error:
        raise ArgumentError(str(error)) from error


def _live(parcel: Parcel, descriptors: Sequence[int]) -> None:
    """The whole life of the process that loads a study."""
    os.dup2(2, 1)  # what a study's code prints must not get into the answer on stdout
    with socket.socket(fileno=descriptors[0]) as peer:
        try:
            loaded = _opened(parcel.arrived(descriptors[1:]))
        except MENDABLE as error:
            send(peer, Kind.REFUSED, as_text(error))
            return
        told = {"facts": asdict(facts_of(loaded.source)), "threads": threads()}
        send_json(peer, Kind.READY, told)
        Server(peer, partial(_begin, loaded)).run()


def _live_alone(descriptors: Sequence[int], *, parcel: Parcel, own: int, body: bytes) -> None:
    """A process that loads the study for itself; the first descriptors are its own."""
    os.dup2(2, 1)
    _begin(_opened(parcel.arrived(descriptors[own:])), body, descriptors[:own])


def _opened(parcel: Parcel) -> Loaded:
    try:
        loaded: Loaded = parcel.unpacked()()
    finally:
        parcel.close()
    return loaded


def _begin(loaded: Loaded, body: bytes, descriptors: Sequence[int]) -> None:
    run: Callable[[Loaded, Sequence[int]], None] = pickle.loads(body)
    run(loaded, descriptors)


def _be_zygote(
    loaded: Loaded, descriptors: Sequence[int], *, folder: str | None, memory: int
) -> None:
    with socket.socket(fileno=descriptors[0]) as peer:
        serve_zygote(loaded.source, peer, folder=folder, memory=memory)
