"""Which readers a stream can serve: what they ask for held against what it hands on."""

from __future__ import annotations

from collections.abc import Mapping

from foretrain.run.stream.errors import StreamError, StreamVersion
from foretrain.run.stream.greetings import Hello
from foretrain.run.stream.layout import Layout
from foretrain.run.stream.order import Order
from foretrain.run.stream.settings import Settings


def check_policy(hello: Hello, order: Order) -> None:
    """A reader may fall off only where samples can be prepared again.

    Raises:
        StreamError: they cannot.
    """
    if hello.policy == "detach" and order.samples is None:
        raise StreamError(
            "policy='detach' prepares samples again for a reader that fell off, which a "
            "loader cannot do. Use 'block' or 'spill', or share the data set."
        )


def check_place(hello: Hello, name: str, about: Mapping[str, object]) -> None:
    """A saved state goes on only in the data that it is about.

    Args:
        hello: what the reader asks for.
        name: of the stream.
        about: what the stream serves.

    Raises:
        StreamVersion: they are others.
    """
    if hello.about is not None and hello.about != about:
        raise StreamVersion(
            f"The saved state is about {hello.about} and the stream '{name}' serves {about}. "
            "Share the same data with the same seed."
        )


def check_batches(hello: Hello, settings: Settings, layout: Layout) -> None:
    """Whole batches cannot be torn apart; samples need to be told how many make a batch.

    Raises:
        StreamError: the reader asks for the other.
    """
    name = settings.name
    if not layout.whole:
        if hello.batch is None and settings.batch is None:
            raise StreamError(
                f"attach: the stream '{name}' gives samples, so say how many make a "
                "batch: attach(..., batch_size=...)."
            )
        return
    if hello.policy == "drop" or hello.start == "now":
        raise StreamError(
            f"The stream '{name}' hands on whole batches, and policy='drop' or "
            "start='now' would tear one apart. Use another policy, or start='next'."
        )
    if hello.of_samples is not None:
        raise StreamError(
            f"attach: {hello.of_samples} is for samples, and the stream '{name}' hands on the "
            f"batches of its loader as they are: {layout.whole}. Attach without it, or share "
            "the loader's data set instead of the loader; where every field of a batch holds "
            "its samples along the first dimension, share(..., yields='stacks') says so."
        )
