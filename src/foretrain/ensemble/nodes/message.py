"""Messages: a block of samples as one run of bytes, without pickle.

8 bytes   length of the description
JSON      where each tensor lies, and how tuples, lists and dicts hold them
tensors   each from a multiple of 64 bytes on, so that a receiver reads them in place
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from foretrain.ensemble.nodes.leader import NodeFailed
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
