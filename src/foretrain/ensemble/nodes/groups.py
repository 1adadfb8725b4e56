"""What nodes send one another: blocks as messages, and operations among groups of ranks.

Messages: a block of samples as one run of bytes, without pickle.

8 bytes   length of the description
JSON      where each tensor lies, and how tuples, lists and dicts hold them
tensors   each from a multiple of 64 bytes on, so that a receiver reads them in place

NodeGroups: operations among any overlapping lists of ranks, at once and in any order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from foretrain.ensemble.nodes.leader import Channel, Leader, NodeFailed, NodeLost
from foretrain.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Batch = Any
"""What a collate function returns: a tensor, or tuples, lists and dicts of them."""

ALIGNMENT = 64
HEAD = 16
LONGEST = 1 << 40
"""Bytes of a message, at most: what claims to be longer is none of ours."""

PLAIN = (str, int, float, bool, type(None))


def packed(content: Batch) -> Tensor:
    """A block as bytes on the CPU.

    Args:
        content: tensors and NumPy arrays in tuples, lists and dicts with text as keys; text
            and numbers beside them travel too.

    Raises:
        InputError: something else is in it; the message says where.
    """
    tensors: list[Tensor] = []
    return _laid_out({"tree": _described(content, tensors, where="batch")}, tensors)


def length_of(message: Tensor) -> int:
    """Bytes of a message, of which more may follow; 0 of an empty one.

    Raises:
        NodeFailed: no message is that long.
    """
    length = _number(message, 0)
    if length > LONGEST:
        raise NodeFailed(f"a node sent what is no message: it claims to have {length} bytes.")
    return length


def failure(reason: str) -> Tensor:
    """The message of a node that could not make its block."""
    return _laid_out({"failure": reason}, [])


def unpacked(message: Tensor) -> Batch:
    """The block of a message; its tensors lie in the message's memory.

    Raises:
        NodeFailed: the sender could not make the block, or sent none.
    """
    try:
        end = HEAD + _number(message, 8)
        if end > len(message):
            raise ValueError("it ends within its description")
        description = json.loads(bytes(message[HEAD:end].cpu().numpy()))
        if "failure" in description:
            raise NodeFailed(str(description["failure"]))
        body = message[_aligned(end) :]
        return _rebuilt(description["tree"], body, description["tensors"])
    except (
        AttributeError,
        IndexError,
        KeyError,
        RecursionError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise NodeFailed(f"a node sent what is no block: {error!r:.80}.") from error


def _number(message: Tensor, at: int) -> int:
    return int.from_bytes(bytes(message[at : at + 8].tolist()), "little")


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _described(content: Batch, tensors: list[Tensor], *, where: str) -> object:
    """The structure as JSON; its tensors are appended to the list."""
    import torch

    if isinstance(content, torch.Tensor) or type(content).__module__ == "numpy":
        tensors.append(torch.as_tensor(content).detach().cpu().contiguous())
        return {"tensor": len(tensors) - 1}
    if type(content) is dict and all(isinstance(key, str) for key in content):
        inside = {k: _described(v, tensors, where=f"{where}[{k!r}]") for k, v in content.items()}
        return {"dict": inside}
    if type(content) in {tuple, list}:
        return {
            type(content).__name__: [
                _described(each, tensors, where=f"{where}[{i}]") for i, each in enumerate(content)
            ]
        }
    if isinstance(content, PLAIN):
        return {"plain": content}
    raise InputError(
        f"{where} is a {type(content).__name__}, which cannot travel between nodes. Allowed: "
        "tensors, arrays, numbers and text in tuples, lists and dicts with text as keys. Give "
        "a collate function that returns these."
    )


def _laid_out(description: dict[str, object], tensors: Sequence[Tensor]) -> Tensor:
    import torch

    places, end = [], 0
    for each in tensors:
        places.append((str(each.dtype).removeprefix("torch."), list(each.shape), end))
        end = _aligned(end + each.numel() * each.element_size())
    text = json.dumps({**description, "tensors": places}).encode()
    start = _aligned(HEAD + len(text))
    message = torch.empty(start + end, dtype=torch.uint8)
    lengths = (start + end).to_bytes(8, "little") + len(text).to_bytes(8, "little")
    head = bytearray((lengths + text).ljust(start, b"\0"))
    message[:start] = torch.frombuffer(head, dtype=torch.uint8)
    for each, (_, _, at) in zip(tensors, places, strict=True):
        size = each.numel() * each.element_size()
        behind = start + at + size
        message[start + at : behind] = each.reshape(-1).view(torch.uint8)
        message[behind : _aligned(behind)] = 0  # what is not used is the same everywhere too
    return message


def _rebuilt(tree: Mapping[str, Any], body: Tensor, places: Sequence[Any]) -> Batch:
    import torch

    ((kind, value),) = tree.items()
    if kind == "tensor":
        name, shape, at = places[value]
        dtype = getattr(torch, name)
        if not isinstance(dtype, torch.dtype) or min((value, at, *shape), default=0) < 0:
            raise ValueError("a tensor of it has no such type, shape or place")
        size = torch.Size(shape).numel() * dtype.itemsize
        return body[at : at + size].view(dtype).view(shape)
    if kind == "plain":
        return value
    if kind == "dict":
        return {key: _rebuilt(each, body, places) for key, each in value.items()}
    inside = [_rebuilt(each, body, places) for each in value]
    return tuple(inside) if kind == "tuple" else inside


Act = Callable[[Channel], "Tensor"]
Issued = tuple[Act, "Future[Tensor]"]


class NodeGroups:
    """Collectives among overlapping groups of ranks, issued from any thread in any order.

    Every operation has a name, by which its group's members know it. It runs once all of them
    have issued it, however their orders differ: the last to issue it gives it the group's next
    number, and every member runs the operations of a group by their numbers. Each group has a
    channel and a thread of its own, so none waits for another. Nothing that all members have
    issued can therefore be held up by something that some have not.
    """

    def __init__(
        self, groups: Sequence[Sequence[int]], *, leader: Leader, name: str = "groups"
    ) -> None:
        """Meet the members of the groups that this node is in.

        Args:
            groups: lists of ranks, the same at every node; they may overlap.
            leader: this node.
            name: of these groups among those of the launch.
        """
        (self._store,) = leader.meet(name)
        self._leader = leader
        self._threads = {
            number: _GroupThread(leader, tuple(ranks), name=f"{name} {number}")
            for number, ranks in enumerate(groups)
            if leader.rank in ranks
        }

    def broadcast(self, group: int, tensor: Tensor, *, root: int, name: str) -> Future[Tensor]:
        """Fill the tensor with that of the root, a rank; the future holds it."""

        def act(channel: Channel) -> Tensor:
            channel.broadcast(tensor, root=root)
            return tensor

        return self._thread(group).issue(name, act)

    def gather(self, group: int, tensor: Tensor, *, name: str) -> Future[Tensor]:
        """The tensors of all members, one a row in the order of the group's list."""
        return self._thread(group).issue(name, lambda channel: channel.gather(tensor))

    def reduce(self, group: int, tensor: Tensor, *, name: str) -> Future[Tensor]:
        """Replace the tensor by the sum over all members; the future holds it."""

        def act(channel: Channel) -> Tensor:
            channel.reduce(tensor)
            return tensor

        return self._thread(group).issue(name, act)

    def close(self) -> None:
        """Leave all groups; operations that have not run raise NodeLost.

        Rank 0, by whose store all agree on numbers, leaves last: it waits for the others, up to
        the timeout.
        """
        with suppress(RuntimeError):  # rank 0 is gone, or somebody never leaves
            if self._store.add("left", 1) == self._leader.nodes:
                self._store.set("all left", "")
            if self._leader.rank == 0 and not any(
                thread.failed for thread in self._threads.values()
            ):
                self._store.wait(["all left"])
        for thread in self._threads.values():
            thread.close()

    def __enter__(self) -> NodeGroups:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _thread(self, group: int) -> _GroupThread:
        if group not in self._threads:
            there = ", ".join(map(str, self._threads))
            raise InputError(f"this node is not in group {group}. It is in: {there}.")
        return self._threads[group]


class _GroupThread:
    """One group at one node: its channel, and the thread that runs its operations."""

    def __init__(self, leader: Leader, ranks: tuple[int, ...], *, name: str) -> None:
        self._leader, self._ranks, self._name = leader, ranks, name
        # A connection that waits serves nobody else, so issuing has one of its own.
        self._issuing, self._waiting = leader.meet(name, connections=2)
        self._channel = Channel(leader, ranks, store=self._issuing)
        self._issued: dict[str, Issued] = {}
        self._changed = Condition()
        self._error: NodeLost | None = None
        Thread(target=self._run, daemon=True).start()

    @property
    def failed(self) -> bool:
        """Whether a member was lost."""
        return self._error is not None

    def issue(self, name: str, act: Act) -> Future[Tensor]:
        """Ask for an operation; the last member to do so gives it the next number."""
        future: Future[Tensor] = Future()
        with self._changed:
            if self._error is not None:
                raise self._error
            if name in self._issued:
                raise InputError(
                    f"operation '{name}' of {self._name} has been issued and has not run. Wait "
                    "for it, or choose another name."
                )
            self._issued[name] = act, future
            self._changed.notify()
        if self._issuing.add(f"issued {name}", 1) % len(self._ranks) == 0:
            number = self._issuing.add("number", 1)
            for rank in self._ranks:
                self._issuing.set(f"{number} for {rank}", name)
        return future

    def close(self) -> None:
        self._fail(NodeLost(f"this node, rank {self._leader.rank}, has left {self._name}."))
        self._channel.close()

    def _run(self) -> None:
        """Run the group's operations by their numbers until something fails."""
        try:
            for number in count(1):
                with self._changed:
                    # Wait until this node has issued something, or the group is over.
                    self._changed.wait_for(lambda: self._issued or self._error)
                    if self._error is not None:
                        return
                act, future = self._issued.pop(self._named(number))
                try:
                    future.set_result(act(self._channel))
                except NodeLost as error:
                    future.set_exception(error)
                    raise
        except NodeLost as error:
            self._fail(error)

    def _named(self, number: int) -> str:
        """The name of the operation with that number, once all members have issued it."""
        key = f"{number} for {self._leader.rank}"
        try:
            name: str = self._waiting.get(key).decode()
            self._waiting.delete_key(key)
        except RuntimeError as error:
            raise NodeLost(
                f"no operation of {self._name} was issued by all of ranks {list(self._ranks)} "
                f"within {self._leader.timeout:g} s; rank {self._leader.rank} has issued "
                f"{', '.join(self._issued)}. Look for a node that died or left."
            ) from error
        return name

    def _fail(self, error: NodeLost) -> None:
        with self._changed:
            self._error = self._error or error
            waiting = [future for _, future in self._issued.values()]
            self._issued.clear()
            self._changed.notify()
        for future in waiting:
            future.set_exception(error)
