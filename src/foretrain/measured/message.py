"""Messages: what a measured collective moved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One call of a collective library, as its benchmark (`nccl-tests`) counts it.

    Attributes:
        collective: name of the call (`all_reduce`, `all_gather`, `sendrecv`, ...).
        size: bytes of the buffer: the gathered result of an all-gather, the input of a
            reduce-scatter, what one member holds for anything else; None if not stated.
        library: collective library, in the source's words.
        datatype: of the elements, in the source's words.
        placement: whether the result takes the place of the input.
    """

    collective: str
    size: float | None = None
    library: str = ""
    datatype: str = ""
    placement: str = ""
