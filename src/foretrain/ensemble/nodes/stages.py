"""Stages: an iterator that runs ahead in a thread of its own, by so many items at most."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")


def ahead(items: Iterator[Item], queue: int) -> Iterator[Item]:
    """The same items, made by a thread that runs ahead of whoever takes them.

    What `items` raises is raised here, in its place. Closing this iterator ends the thread as
    soon as it has its next item; a thread that never gets one does not keep the process alive.

    Args:
        items: consumed in the thread.
        queue: items that may lie ready at once; with 0 there is no thread.
    """
    if queue == 0:
        yield from items
        return
    shelf = _Shelf[Item](queue)
    Thread(target=shelf.fill, args=(items,), daemon=True).start()
    try:
        while (found := shelf.take()) is not None:
            yield found[0]
    finally:
        shelf.close()


class _Shelf(Generic[Item]):
    """A bounded queue that either side may end; nobody polls."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ready: deque[tuple[Item]] = deque()
        self._changed = Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None

    def fill(self, items: Iterator[Item]) -> None:
        try:
            for item in items:
                if not self._put(item):
                    break
        except BaseException as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _put(self, item: Item) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._ready) < self._capacity)
            self._ready.append((item,))
            self._changed.notify_all()
            return not self._closed

    def take(self) -> tuple[Item] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._ended)
            if self._ready:
                self._changed.notify_all()
                return self._ready.popleft()
        if self._error is not None:
            raise self._error
        return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()
