"""Orders that scripts draw: a private loader shuffles by what was drawn before its loop begins.

Where a loop over a loader begins, PyTorch's generator decides the order of the epoch and the draws
of the loader's workers; a loader without workers reads samples that draw from the generators of the
script. So every reader tells what its generators are like at that moment. Where all tell the same,
the loader that is shared goes on from there, and each reader gets what a loader of its own would
have given. Where they differ, no order is that of all: the stream's seed decides, from there on.

What samples drew is told at the end of the epoch, and a generator from which a script itself drew
nothing meanwhile goes on from there, as it would after a loader of its own.

Only who has seeded PyTorch tells anything: nobody else can expect an order.
"""

from __future__ import annotations

import base64
import socket
import struct
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from batchcast.elsewhere import wants_epoch
from batchcast.errors import OtherOrder, StreamGarbled, StreamVersion
from batchcast.generator_states import GeneratorStates
from batchcast.greetings import whole
from batchcast.messages import Kind, Message, send
from batchcast.order import draw_numbers
from batchcast.reader_connection import ReaderConnection
from batchcast.subscription import Subscription

UNSEEDED = range(1 << 44, (1 << 64) - (1 << 32))
"""Beside it lie the seeds that people write, negative ones above it. Source: PyTorch begins with 64
random bits, so one process in a million that is not seeded is taken for one that is."""

OTHER_ORDER = (
    "'{}' has seeded PyTorch, which decides the order of a DataLoader of its own; the readers of "
    "the stream '{}' have drawn differently, or had begun a loop before they seeded it, so "
    "share(..., seed=0) decides theirs. Say that, seed before the first loop, or "
    "give the DataLoader that is shared generator=torch.Generator().manual_seed(0)."
)
OTHER_DRAWS = (
    "'{}' draws from a generator that samples of its own DataLoader would draw from meanwhile, as "
    "that has no worker: over the stream '{}' both come to other numbers. Give the DataLoader that "
    "is shared num_workers=1, or say share(..., seed=0)."
)
LEFT_DRAWS = (
    "'{}' has left a loop early. Samples of its own DataLoader, as that has no worker, would have "
    "drawn up to there from generators of the script; over the stream '{}' none of these has moved "
    "on. Give the DataLoader that is shared num_workers=1, or say share(..., seed=0)."
)


def drawn_so_far() -> GeneratorStates:
    """What the generators are like; nothing where nobody seeded PyTorch's."""
    import torch

    return GeneratorStates() if torch.initial_seed() in UNSEEDED else GeneratorStates.now()


LAST, FIRST, FIXED, WAITS = 1, 2, 4, 8
"""Flags: it is so from here on; a loop over a new loader begins; an epoch has begun like this; a
loop has begun and has not asked for its first batch."""


class EpochOrder(NamedTuple):
    """What decides the order of an epoch.

    Attributes:
        states: of the generators that it is drawn from; nothing for the stream's seed.
        last: whether it is so from here on.
        first: whether a loader of a reader's own would be gone through for the first time.
    """

    states: GeneratorStates
    last: bool
    first: bool = False

    def tell(self, peer: socket.socket, epoch: int) -> None:
        """Tell a reader or a feeder."""
        flags = LAST * self.last | FIRST * self.first
        send(peer, Kind.ORDER, self.states.as_bytes(), first=epoch, second=flags)


@dataclass(slots=True)
class _Telling:
    epoch: int
    states: GeneratorStates
    flags: int
    at: float


class DrawnOrders:
    """The conductor's side: what readers tell, and what follows from it.

    Attributes:
        follows: whether orders may hang on what readers draw.
        noisy: whether samples draw, as a loader that reads them itself is shared.

    Args:
        follows: whether they do at first.
        patience: seconds to wait for the others once a reader has told.
        clock: in seconds.
    """

    def __init__(self, *, follows: bool, patience: float, clock: Callable[[], float]) -> None:
        self.follows, self.noisy = follows, False
        self._patience = patience
        self._clock = clock
        self._left: dict[int, str] = {}
        self._told: dict[socket.socket, _Telling] = {}
        self._decided: dict[int, EpochOrder] = {}
        self._asked: int | None = None

    def learn(self, *, noisy: bool) -> None:
        """The first samples were read: they draw from the script's own generators, or do not."""
        self.noisy = noisy
        self.follows |= noisy

    def told(self, peer: socket.socket, message: Message) -> None:
        """A reader begins an epoch.

        Raises:
            StreamGarbled: what it tells is no state of a generator.
        """
        epoch = whole("epoch", message.first)
        try:
            states = GeneratorStates.of(message.body)
        except ValueError as error:
            raise StreamGarbled(f"A reader tells of its generators, and {error}.") from error
        self._told[peer] = _Telling(epoch, states, message.second, self._clock())
        if not message.second & WAITS and (known := self._known(epoch)) is not None:
            known.tell(peer, epoch)

    def ended(self, epoch: int, body: bytes) -> None:
        """An epoch is over; its samples left the generators like this, if a loader read them."""
        if body:
            self._left[epoch] = base64.b64encode(body).decode()

    def left_by(self, epoch: int) -> str:
        """What the samples of an epoch left the generators like, as it travels; else nothing."""
        return self._left.get(epoch, "")

    def forget(self, peer: socket.socket) -> None:
        """A reader is gone."""
        self._told.pop(peer, None)

    @property
    def patience(self) -> float | None:
        """Seconds for which a feeder waits on for readers; nothing if none waits."""
        told = [each for each in self._told.values() if not each.flags & WAITS]
        waiting = [each.at for each in told if each.epoch == self._asked]
        return max(0.0, min(waiting) + self._patience - self._clock()) if waiting else None

    def of(self, epoch: int, readers: Sequence[Subscription]) -> EpochOrder | None:
        """What decides the order of an epoch; nothing while readers have yet to begin it.

        Args:
            epoch: that a feeder is to begin.
            readers: that are there.
        """
        if (known := self._known(epoch)) is not None:
            return known
        self._asked = epoch
        awaited = [reader.peer for reader in readers if reader.epoch <= epoch]
        told = self._told_of(epoch)
        missing = {process_of(peer) for peer in awaited if peer not in told}
        if not told or (self.patience != 0 and missing - self._asking(epoch)):
            return None
        # Readers of one process may have their turns one after the other, so none awaits another.
        decided = SEED_DECIDES if missing and self.patience != 0 else _agreed([*told.values()])
        self.follows, self._asked = not decided.last, None
        slowest = min(reader.epoch for reader in readers)
        self._decided = {at: it for at, it in self._decided.items() if at >= slowest}
        self._left = {at: it for at, it in self._left.items() if at >= slowest}
        self._decided[epoch] = decided
        for peer, each in told.items():
            if not each.flags & WAITS:
                decided.tell(peer, epoch)
        return decided

    def _told_of(self, epoch: int) -> dict[socket.socket, _Telling]:
        """Who begins an epoch, with what.

        Who has not asked for its first batch may still draw; but not while another reader of its
        process waits, as with `zip(reader, other)`.
        """
        asks = self._asking(epoch)
        return {
            peer: each
            for peer, each in self._told.items()
            if each.epoch == epoch and (not each.flags & WAITS or process_of(peer) in asks)
        }

    def _asking(self, epoch: int) -> set[int]:
        """Processes of which a reader asks for the first batch of an epoch."""
        told = self._told.items()
        return {process_of(peer) for peer, it in told if it.epoch == epoch and not it.flags & WAITS}

    def _known(self, epoch: int) -> EpochOrder | None:
        if epoch in self._decided:
            return self._decided[epoch]
        return None if self.follows else SEED_DECIDES


def process_of(peer: socket.socket) -> int:
    """The process at the other end, as the kernel tells."""
    told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, *_ = _CREDENTIALS.unpack(told)
    return int(process)


_CREDENTIALS = struct.Struct("3i")

SEED_DECIDES = EpochOrder(GeneratorStates(), last=True)


def _agreed(told: Sequence[_Telling]) -> EpochOrder:
    """What readers tell, where they tell the same of PyTorch's generator; of others likewise.

    Who is within the epoch cannot have it otherwise, so it is as they say where somebody is.
    """
    told = [one for one in told if one.flags & FIXED] or told
    each = zip(*(one.states for one in told), strict=True)
    same = GeneratorStates(*(parts[0] if len(set(parts)) == 1 else b"" for parts in each))
    if not same.torch:
        return SEED_DECIDES
    return EpochOrder(same, last=False, first=any(one.flags & FIRST for one in told))


class ReaderOrder:
    """A reader's side: what it tells, and what the order of its epoch is drawn from.

    Attributes:
        states: that the epoch's order is drawn from; nothing for the stream's seed.
        looks: epochs of which only the first batch was taken, as no order came again.

    Args:
        stream: its name.
        model: the reader's.
        saved: state of a reader, within an epoch of which it goes on; nothing for a beginning.
    """

    def __init__(self, stream: str, model: str, saved: Mapping[str, Any] | None) -> None:
        self.states = self._own = GeneratorStates()
        self._names = model, stream
        self._follows = self._hears = self._gave_up = self._warned = False
        self._epoch, self._loops, self._waits = -1, 0, False
        self._begun: list[GeneratorStates] = []
        self._at: GeneratorStates | None = None
        self.resume(saved)

    def resume(self, saved: Mapping[str, Any] | None) -> None:
        """The epoch that a saved state is within goes on in the order that it had."""
        self._epoch, self._saved, self._at, self._open = -1, None, None, False
        self.looks = 0 if saved is None else saved.get("looks", 0)
        if saved is not None and saved["position"] > 0:
            self._saved = GeneratorStates.of(base64.b64decode(saved.get("order", "")))

    def as_state(self, epoch: int, position: int) -> dict[str, Any]:
        """What a saved state needs besides its place."""
        found: dict[str, Any] = {"looks": self.looks} if self.looks else {}
        if position and any(self.states) and epoch == self._epoch:
            found["order"] = base64.b64encode(self.states.as_bytes()).decode()
        return found

    def enter(self, line: ReaderConnection) -> None:
        """A stream lets this reader in; another one than before, where it was in an epoch."""
        self._follows, self._welcome = line.welcome.follows, line.welcome
        told = line.welcome.told.items()
        self._counted = any(wanted for name, wanted in told if name.endswith(wants_epoch("")))
        if self._epoch >= 0:
            known = not self._hears
            self._tell(line, self.states if known else self._own, fixed=known)

    def loop(self, line: ReaderConnection, epoch: int) -> None:
        """A loop begins, which draws what a private loader draws; a training draws on as over that.

        Nobody waits for its order yet, so the script may begin another loop before.
        """
        before = drawn_so_far()
        draw_numbers(self._welcome.draws[min(self._loops, 1)])
        self._loops += 1
        self._waits, self._at = True, None if self._welcome.waits else before
        if self._follows and epoch != self._epoch and self._saved is None:
            line.say(Kind.ORDER, self._drawn().as_bytes(), first=epoch, second=WAITS)

    def take(self, line: ReaderConnection, epoch: int) -> None:
        """The loop takes a batch: with the first one the order is drawn, if a loader waits for it.

        Raises:
            StreamVersion: the stream's order is another than it was where a state was saved.
        """
        if self._waits:
            self._waits = False
            self.begin(line, epoch)
            draw_numbers(self._welcome.draws[2])
            if self._follows:
                self._begun.append(GeneratorStates.now())

    def begin(self, line: ReaderConnection, epoch: int) -> None:
        """An epoch begins; the second loop of an epoch goes on with it.

        Raises:
            StreamVersion: the stream's order is another than it was where a state was saved.
        """
        if epoch == self._epoch:
            return
        seeded = self._drawn()
        self._own = GeneratorStates() if self._gave_up else seeded
        if self._gave_up and any(seeded):
            self._warn(OTHER_ORDER)
        elif self._open and self._welcome.noisy and any(self.states):
            self._warn(LEFT_DRAWS)
        self._epoch, self.states, self._begun = epoch, GeneratorStates(), []
        self._open = True
        within = self._saved is not None
        self._tell(line, self._saved or GeneratorStates() if within else self._own, fixed=within)
        if self._saved and any(self._saved) and not self._follows:
            raise self._cannot_resume()

    def _drawn(self) -> GeneratorStates:
        """What a private loader would have found where it draws its order."""
        return drawn_so_far() if self._at is None else self._at

    def _tell(self, line: ReaderConnection, states: GeneratorStates, *, fixed: bool) -> None:
        self._hears = self._follows
        if self._follows:
            flags = FIRST * (self._loops <= 1) | FIXED * fixed
            line.say(Kind.ORDER, states.as_bytes(), first=self._epoch, second=flags)

    def looked(self, line: ReaderConnection) -> bool:
        """Whether the next loop has another order than the first batch that was looked at.

        Where parts of a loader are told of epochs, these go on in their own numbers.
        """
        if self._counted or not any(self.states):
            return False
        self.looks += 1
        line.say(Kind.LOOKED)
        return True

    def hear(self, line: ReaderConnection) -> None:
        """Wait until it is known what decides the order of the epoch.

        Raises:
            StreamVersion: it is not what decided where the reader's state was saved.
        """
        if self._hears:
            self.heed(line.answer(Kind.ORDER))

    def heed(self, message: Message) -> None:
        """It is known.

        Raises:
            StreamVersion: it is not what decided where the reader's state was saved.
        """
        self._hears, self.states = False, GeneratorStates.of(message.body)
        if message.second & LAST:
            self._follows, self._gave_up = False, True
        saved, self._saved = self._saved, None
        if saved is not None:
            if saved != self.states:
                raise self._cannot_resume()
        elif any(self._own) and self._own.torch != self.states.torch:
            self._warn(OTHER_ORDER)

    def ended(self, left: str) -> None:
        """An epoch is over, whose samples left the generators like this.

        Those go on from there from which this script has drawn nothing meanwhile.
        """
        self._open = False
        if not left or len(self._begun) != 1 or self._own.torch != self.states.torch:
            return
        ends, now = GeneratorStates.of(base64.b64decode(left)), GeneratorStates.now()
        [begun] = self._begun
        each = [*zip(ends, now, begun, self.states, strict=True)]
        GeneratorStates(
            *(end if here == before and told else b"" for end, here, before, told in each)
        ).put()
        if any(here != before != end and told for end, here, before, told in each):
            self._warn(OTHER_DRAWS)

    def _warn(self, text: str) -> None:
        if not self._warned:
            warnings.warn(text.format(*self._names), OtherOrder, stacklevel=7)
            self._warned = True

    def _cannot_resume(self) -> StreamVersion:
        model, stream = self._names
        return StreamVersion(
            f"The saved state of '{model}' is within an epoch whose order the script's own seed of "
            f"PyTorch decided, and the stream '{stream}' has another one. Resume all of its "
            "readers together, each from its saved state."
        )
