"""Where readers come, ask and go: the side of the conductor that faces them."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import monotonic

import numpy as np

from batchcast.admission import check_batches, check_place, check_policy
from batchcast.drawn_order import DrawnOrders, EpochOrder
from batchcast.errors import (
    StreamError,
    StreamGarbled,
    StreamOver,
    StreamTaken,
    StreamVersion,
    as_text,
)
from batchcast.generator_states import GeneratorStates
from batchcast.greetings import Hello, Welcome, whole
from batchcast.layout import Layout
from batchcast.messages import GAP, VERSION, Grant, Kind, Message, send, send_json
from batchcast.order import Order
from batchcast.service import NOWHERE, Service
from batchcast.settings import Settings
from batchcast.slots import Numbers
from batchcast.spill import Spill
from batchcast.subscription import Subscription


@dataclass(slots=True)
class Visitor:
    """A reader that has said who it is.

    Attributes:
        reader: what it will be.
        hello: what it asks for.
        place: epoch and position where it goes on; nothing for where its greeting says.
        came: when, in seconds of the frontend's clock.
    """

    reader: Subscription
    hello: Hello
    place: tuple[int, int] | None
    came: float


class Frontend:
    """Everything that concerns readers.

    Attributes:
        readers: subscriptions of the attached readers, by their connection.
        came: how many have ever been attached.
        expected: how many must be there before the stream begins.
        absent: how many of these were not when it began.
        finished: how many have closed their last epoch.
        layout: of what lies in the arena, as soon as it is known.
        drawn: orders that hang on what readers draw.
    """

    def __init__(
        self, settings: Settings, order: Order, clock: Callable[[], float] = monotonic
    ) -> None:
        self.readers: dict[socket.socket, Subscription] = {}
        self.came = 0
        self.expected = settings.readers
        self.absent = 0
        self._clock = clock
        self.finished = 0
        self.layout: Layout | None = None
        self._settings = settings
        self._order = order
        self._waiting: dict[socket.socket, Visitor] = {}
        self._kept: dict[socket.socket, int] = {}
        self._dismissed: dict[socket.socket, bytes] = {}
        self._later: list[tuple[Subscription, int, int]] = []
        self._service: Service | None = None
        self._welcome: Callable[[int, int], Welcome] | None = None
        self.drawn = DrawnOrders(follows=settings.follows, patience=settings.patience, clock=clock)
        self._arena = -1

    @property
    def peers(self) -> list[socket.socket]:
        """All connections."""
        return [*self.readers, *self._waiting, *self._kept]

    @property
    def complete(self) -> bool:
        """Whether as many readers wait as the stream wants, or have waited long enough."""
        enough = len(self._waiting) >= self.expected or self.patience == 0
        return bool(self._waiting) and enough

    @property
    def patience(self) -> float | None:
        """Seconds for which readers that wait go on waiting for others; nothing if none waits.

        They wait for others to come, and later to begin an epoch whose order hangs on all.
        """
        if not self._waiting or self._service is not None:
            return self.drawn.patience
        since = min(visitor.came for visitor in self._waiting.values())
        return max(0.0, since + self._settings.patience - self._clock())

    @property
    def have_had_all(self) -> bool:
        """Whether every reader that is there has had all epochs."""
        return all(reader.has_had(self._order.epochs) for reader in self.readers.values())

    def together(self) -> int:
        """The number that all waiting readers' batches divide."""
        return math.lcm(*(visitor.reader.batch for visitor in self._waiting.values()))

    def first_place(self) -> tuple[int, int]:
        """The epoch and position of the waiting reader that is farthest behind."""
        return min((visitor.place or (0, 0)) for visitor in self._waiting.values())

    def open(self, service: Service, *, arena: int, welcome: Callable[[int, int], Welcome]) -> None:
        """The stream runs: whoever waits comes in.

        Args:
            service: of the stream.
            arena: its descriptor.
            welcome: what a reader is told that begins in an epoch, at a position.
        """
        self._service = service
        self._arena = arena
        self._welcome = welcome
        visitors, self._waiting = self._waiting, {}
        self.absent = max(0, self.expected - len(visitors))
        for peer, visitor in visitors.items():
            visitor.place = visitor.place or (0, 0)
            self._let_in(peer, visitor)

    def hear(self, peer: socket.socket, message: Message) -> None:
        """A reader said something.

        Raises:
            StreamGarbled: it may not say that.
        """
        if message.kind is Kind.HELLO:
            self._hello(peer, message)
            return
        reader = self.readers.get(peer)
        if reader is None:
            if peer in self._dismissed and message.kind in (Kind.WANT, Kind.LEDGER, Kind.SEEK):
                send(peer, Kind.REFUSED, self._dismissed[peer])
            return
        if message.kind is Kind.ORDER:
            self.drawn.told(peer, message)
        elif message.kind is Kind.LOOKED:
            reader.looks += 1
            self._order.looks = max(self._order.looks, reader.looks)
        else:
            self._heed(peer, reader, message)

    def _heed(self, peer: socket.socket, reader: Subscription, message: Message) -> None:
        """A reader that gives slots back wants something, or leaves."""
        service = self._running()
        slots = message.slots(service.slots.count)
        if message.kind is Kind.BYE:
            self._part(peer, reader, slots)
            return
        service.release(reader, slots)
        if message.kind is Kind.WANT:
            need = whole("samples", message.first, least=1)
            service.want(reader, need, most=whole("samples", message.second))
        elif message.kind is Kind.LEDGER:
            self._close_epoch(reader)
        elif message.kind is Kind.SEEK:
            self._seek(reader, (whole("epoch", message.first), whole("position", message.second)))

    def lose(self, peer: socket.socket) -> None:
        """A reader has gone, and nobody refers to its batches any more."""
        self._waiting.pop(peer, None)
        self._dismissed.pop(peer, None)
        reader = self.readers.get(peer)
        if reader is not None:
            self._part(peer, reader, np.zeros(0, np.int64))
        if peer in self._kept:
            self._running().give_back(self._kept.pop(peer))

    def dismiss_failed(self) -> bool:
        """Whether readers that cannot go on were told why; the others go on without them."""
        failed = [peer for peer, reader in self.readers.items() if reader.failure is not None]
        for peer in failed:
            reader = self.readers[peer]
            assert reader.failure is not None
            self._dismissed[peer] = as_text(reader.failure)
            send(peer, Kind.REFUSED, self._dismissed[peer])
            self._running().dismiss(reader)
            self._forget(peer, reader)
        return bool(failed)

    def _part(self, peer: socket.socket, reader: Subscription, kept: Numbers) -> None:
        """A reader leaves; the batches that it keeps stay until its connection is closed."""
        self._running().leave(reader, kept)
        self._forget(peer, reader)

    def _forget(self, peer: socket.socket, reader: Subscription) -> None:
        del self.readers[peer]
        self.drawn.forget(peer)
        self._later = [each for each in self._later if each[0] is not reader]
        if reader.spill is not None:
            reader.spill.close()
        self._kept[peer] = reader.key

    def order_of(self, epoch: int) -> EpochOrder | None:
        """What decides the order of an epoch, which nobody may want; nothing for now."""
        if self._running().is_deserted:
            return EpochOrder(GeneratorStates(), last=False)
        return self.drawn.of(epoch, [*self.readers.values()])

    def epoch_ended(self) -> None:
        """One more epoch has an end, so places beyond it have a number."""
        later, self._later = self._later, []
        for reader, epoch, position in later:
            want, asked = reader.want, reader.asked
            self._put(reader, (epoch, position))
            reader.want, reader.asked = want, asked

    def grant(self, grant: Grant) -> None:
        """Tell a reader what it may take."""
        send(
            grant.reader.peer,
            Kind.GRANT,
            grant.slots.tobytes(),
            first=grant.first,
            second=grant.gap << GAP | grant.flags,
        )

    def tell_all(self, kind: Kind, body: bytes) -> None:
        """The same to every reader."""
        for peer in [*self.readers, *self._waiting]:
            send(peer, kind, body)

    def stats(self) -> dict[str, dict[str, object]]:
        """How every reader is doing, by its name."""
        if self._service is None:
            return {}
        published = self._service.window.published
        return {
            reader.name: {
                "policy": reader.policy,
                "epoch": reader.epoch,
                "samples": reader.granted,
                "lag": max(0, published - reader.granted),
                "wait_seconds": reader.waited,
                "dropped": reader.lost,
                "detached": reader.detached,
                "catching_up": reader.live_from is None,
            }
            for reader in self.readers.values()
        }

    def _hello(self, peer: socket.socket, message: Message) -> None:
        if peer in self.readers or peer in self._waiting:
            raise StreamGarbled("A reader says once who it is.")
        try:
            visitor = self._visitor(peer, message)
        except StreamError as error:
            send(peer, Kind.REFUSED, as_text(error))
            return
        if self._service is None:
            self._waiting[peer] = visitor
        else:
            self._let_in(peer, visitor)

    def _visitor(self, peer: socket.socket, message: Message) -> Visitor:
        version = message.json().get("version")
        if version != VERSION:
            raise StreamVersion(
                f"The stream '{self._settings.name}' speaks version {VERSION} and this reader "
                f"version {version}. Run both with the same batchcast."
            )
        hello = Hello.of(message)
        self._check(hello)
        names = {reader.name: other for other, reader in self.readers.items()}
        names |= {visitor.reader.name: other for other, visitor in self._waiting.items()}
        if hello.model in names and not _is_gone(names[hello.model]):
            raise StreamTaken(
                f"A reader named '{hello.model}' is attached to the stream "
                f"'{self._settings.name}' already. Give this one another model=...."
            )
        reader = Subscription(
            key=self.came,
            name=hello.model,
            peer=peer,
            batch=hello.batch or self._settings.batch or 1,
            policy=hello.policy,
            looks=hello.looks,
        )
        self.came += 1
        if reader.policy == "spill":
            reader.spill = Spill(hello.spill)
        return Visitor(reader, hello, hello.place, self._clock())

    def _check(self, hello: Hello) -> None:
        check_policy(hello, self._order)
        if self.layout is not None:
            check_place(hello, self._settings.name, self.about())
            check_batches(hello, self._settings, self.layout)

    def about(self) -> dict[str, object]:
        """What makes two streams the same, as far as a saved state is concerned."""
        about: dict[str, object] = {
            "samples": self._order.samples,
            "seed": self._order.seed,
            "shuffle": self._order.shuffle,
        }
        if self.layout is not None and self.layout.whole:
            about["slot"] = self.layout.sample_bytes  # what a position counts
        return about

    def _let_in(self, peer: socket.socket, visitor: Visitor) -> None:
        try:
            self._welcome_to(peer, visitor)
        except StreamError as error:
            send(peer, Kind.REFUSED, as_text(error))

    def _welcome_to(self, peer: socket.socket, visitor: Visitor) -> None:
        assert self._welcome is not None
        self._check(visitor.hello)
        place = visitor.place or self._place(visitor.hello.start)
        epochs, looks = self._order.epochs, visitor.reader.looks
        if epochs is not None and place[0] >= epochs + looks:
            raise StreamOver(
                f"The stream '{self._settings.name}' has {epochs} epochs and this "
                "reader would begin after them."
            )
        self._order.looks = max(self._order.looks, looks)
        self._put(visitor.reader, place)
        self.readers[peer] = visitor.reader
        send_json(peer, Kind.WELCOME, self._welcome(*place).as_json(), descriptors=[self._arena])

    def _put(self, reader: Subscription, place: tuple[int, int]) -> None:
        """Give a reader its place in the stream, now or when that place has a number."""
        service = self._running()
        number = self._order.number(*place)
        self._later = [each for each in self._later if each[0] is not reader]
        if number is None:
            self._later.append((reader, *place))
            number = NOWHERE
        if number < service.window.tail and self._order.samples is None:
            raise StreamError(
                f"Epoch {place[0]} from sample {place[1]} on is no longer in the stream "
                f"'{self._settings.name}', and a loader cannot be asked for it again. Attach "
                "with start='now' or start='next', or share the data set."
            )
        if reader.key in service.readers:
            service.move(reader, number)
        else:
            service.join(reader, number)
        reader.epoch = place[0]

    def _place(self, start: str) -> tuple[int, int]:
        """Where a reader that comes late begins."""
        service = self._running()
        epoch = service.current_epoch()
        if start == "epoch":
            return epoch, 0
        if start == "next":
            return epoch + 1, 0
        return service.frontier

    def _seek(self, reader: Subscription, place: tuple[int, int]) -> None:
        try:
            self._put(reader, place)
        except StreamError as error:
            send(reader.peer, Kind.REFUSED, as_text(error))
        else:
            send(reader.peer, Kind.SEEK, first=place[0], second=place[1])

    def _close_epoch(self, reader: Subscription) -> None:
        end = self._order.end(reader.epoch)
        if end is None or reader.granted != end:
            raise StreamGarbled("A reader closes an epoch whose end it was granted.")
        lost, left = reader.dropped.count, self.drawn.left_by(reader.epoch)
        expected = self._running().close_epoch(reader)
        self.finished += reader.has_had(self._order.epochs)
        send_json(reader.peer, Kind.ENDED, {**asdict(expected), "dropped": lost, "left": left})

    def _running(self) -> Service:
        assert self._service is not None
        return self._service


def _is_gone(peer: socket.socket) -> bool:
    """Whether the other end is closed, though nobody has heard of it yet."""
    try:
        return not peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
