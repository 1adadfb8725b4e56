"""A pipeline: batches that several nodes decode together and that each of them gets whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretrain.ensemble.nodes.decode import Ids, SampleDecoder, SampleOrder, SampleTally
from foretrain.ensemble.nodes.groups import Batch, unpacked
from foretrain.ensemble.nodes.leader import (
    Leader,
    Meeting,
    NodeFailed,
    NodeLost,
    leader_from_environment,
)
from foretrain.ensemble.nodes.modes import MODES, ExchangeMode, NodeSite
from foretrain.errors import InputError, nearest, require

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import Dataset


ON_LOSS = ("raise", "alone")
"""What happens to a node that loses another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleBlock:
    """One batch of the stream.

    Attributes:
        epoch: from 0.
        ids: numbers of its samples in the dataset.
        batch: what the collate function made of them.
    """

    epoch: int
    ids: Ids
    batch: Batch


@dataclass(kw_only=True)
class InputPipeline:
    """Batches for one node; iterating over it is one epoch, the same at every node.

    It meets the other nodes when the first epoch begins, in the process that iterates. After an
    error, and after an epoch that was left before its end, the next epoch meets them anew.

    Attributes:
        leader: this node.
        mode: how the nodes share the work.
        preprocessors: nodes that decode.
        order: which samples make up which batch.
        queue: items that may lie ready between two stages; 0 does everything in turn.
        decoder: reads and decodes the blocks of this node.
        name: of the pipeline among those of the launch.
        on_loss: "raise", or "alone": a node that loses another goes on by itself.
        epoch: that comes next.
        tallies: of the epochs that this node has had whole.
    """

    leader: Leader
    mode: ExchangeMode
    preprocessors: int
    order: SampleOrder
    queue: int
    decoder: SampleDecoder
    name: str
    on_loss: str = "raise"
    epoch: int = 0
    tallies: list[SampleTally] = field(default_factory=list)
    _meeting: Meeting | None = None

    @property
    def yields(self) -> str:
        """What a shared stream may take its items for: batches that can be cut, or not."""
        return "stacks" if self.decoder.collate is None else "batches"

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self.order.blocks

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch, the same at every node."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Batch]:
        return (block.batch for block in self.blocks())

    def blocks(self) -> Iterator[SampleBlock]:
        """The next epoch, with the numbers of its samples.

        Raises:
            NodeLost: another node died, left or was silent too long.
            NodeFailed: a node, perhaps this one, could not decode a block.
            InputError: the nodes were told different things.
        """
        whole = False
        try:
            yield from self._checked()
            whole = True
        finally:
            if not whole:
                self.close()

    def close(self) -> None:
        """Leave the other nodes; those that still wait for this one learn of it."""
        if self._meeting is not None:
            self._meeting.close()
        self._meeting = None
        self.decoder.close()

    def __enter__(self) -> InputPipeline:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _checked(self) -> Iterator[SampleBlock]:
        """An epoch whose nodes agree on what they had; its rest, where this node is left alone."""
        tally, done = SampleTally(), 0
        while True:
            try:
                for message in self._messages(done):
                    numbers, batch = unpacked(message)
                    ids = numbers.cpu().numpy()
                    tally, done = tally.with_block(ids), done + 1
                    yield SampleBlock(epoch=self.epoch, ids=ids, batch=batch)
                self._agree(self._told(tally))
                break
            except NodeFailed:
                with suppress(NodeLost):
                    self._told(tally)  # nobody leaves before all have read why
                raise
            except NodeLost:
                if self.on_loss == "raise" or self.leader.nodes == 1:
                    raise
                self._go_alone()
        self.tallies.append(tally)
        self.epoch += 1

    def _messages(self, done: int) -> Iterator[Tensor]:
        """The blocks of this epoch after those that were had already."""
        own = self.mode.own(self.leader.rank, self.preprocessors, self.order.blocks)
        site = NodeSite(
            rank=self.leader.rank,
            nodes=self.leader.nodes,
            preprocessors=self.preprocessors,
            blocks=self.order.blocks,
            queue=self.queue,
            mine=self.decoder.messages(own[done:], epoch=self.epoch, queue=self.queue),
            channels=self._met().channels,
        )
        return self.mode.flow(site)

    def _agree(self, told: list[list[int]]) -> None:
        """Refuse an epoch of which some node had other samples than it should."""
        due = SampleTally().with_block(self.order.ids(self.epoch))
        for rank, (samples, checksum) in enumerate(told):
            if SampleTally(samples=samples, checksum=checksum) != due:
                raise NodeFailed(
                    f"rank {rank} had {samples} samples of epoch {self.epoch} with checksum "
                    f"{checksum}, and not {due.samples} with {due.checksum}. Please report it."
                )

    def _go_alone(self) -> None:
        """From now on this node decodes everything itself, and waits for nobody."""
        self.close()
        self.leader = Leader(rank=0, nodes=1, device=self.leader.device)
        self.mode, self.preprocessors = MODES["duplicate"], 1

    def _met(self) -> Meeting:
        if self._meeting is None:
            groups = self.mode.groups(self.leader.nodes, self.preprocessors)
            self._meeting = Meeting(self.leader, groups, name=self.name)
            self._meeting.same(
                {
                    "mode": list(MODES.values()).index(self.mode),
                    "preprocessors": self.preprocessors,
                    "samples": self.order.samples,
                    "batch_size": self.order.batch_size,
                    "shuffle": self.order.shuffle,
                    "seed": self.order.seed,
                    "epoch": self.epoch,
                }
            )
        return self._meeting

    def _told(self, tally: SampleTally) -> list[list[int]]:
        return self._met().gathered([tally.samples, tally.checksum])


def input_pipeline(
    dataset: Dataset[Any],
    *,
    mode: str,
    batch_size: int,
    preprocessors: int | None = None,
    queue: int = 4,
    workers: int = 0,
    shuffle: bool = True,
    seed: int = 0,
    collate: Callable[[list[Any]], Batch] | None = None,
    leader: Leader | None = None,
    name: str = "input",
    on_loss: str = "raise",
) -> InputPipeline:
    """Batches of a dataset for this node, decoded by several nodes together.

    Args:
        dataset: map-style, the same at every node.
        mode: "duplicate", "all-shared", "single-broadcast" or "multi-broadcast".
        batch_size: samples per batch; the last one of an epoch holds the rest.
        preprocessors: nodes that decode, for the two broadcasts; half of them by default.
        queue: batches or rounds that may lie ready between two stages, so that decoding,
            exchange and training overlap; 0 does them in turn.
        workers: processes that decode at this node; 0 decodes in a thread.
        shuffle: whether every epoch has an order of its own.
        seed: of the orders.
        collate: makes a batch of a list of samples; torch's default where it is None.
        leader: this node; by default what the launcher's environment says.
        name: of the pipeline; two at once need two names.
        on_loss: what happens when another node dies, leaves or falls silent. "raise": `NodeLost`.
            "alone": this node decodes all that is left itself, in the same order, so that nothing
            is lost; it meets nobody any more.

    Raises:
        InputError: an argument is wrong, or the environment does not describe this node.
        MissingExtra: PyTorch is not installed.
    """
    require("torch", what="input_pipeline(...)")
    if mode not in MODES:
        raise InputError(f"unknown mode '{mode}'.{nearest(mode, MODES)} Known: {', '.join(MODES)}.")
    if on_loss not in ON_LOSS:
        raise InputError(f"on_loss is {on_loss!r}. Allowed: {', '.join(ON_LOSS)}.")
    if queue < 0:
        raise InputError(f"queue must be at least 0, got {queue}.")
    here = leader_from_environment() if leader is None else leader
    order = SampleOrder(
        samples=len(dataset),
        batch_size=batch_size,
        shuffle=shuffle,
        seed=seed,
    )
    return InputPipeline(
        leader=here,
        mode=MODES[mode],
        preprocessors=_decoding(mode, preprocessors, here.nodes),
        order=order,
        queue=queue,
        decoder=SampleDecoder(
            dataset=dataset, order=order, rank=here.rank, workers=workers, collate=collate
        ),
        name=name,
        on_loss=on_loss,
    )


def _decoding(mode: str, wanted: int | None, nodes: int) -> int:
    if wanted is None:
        return MODES[mode].preprocessors(nodes)
    if not MODES[mode].chosen:
        raise InputError(f"preprocessors cannot be chosen for '{mode}': every node decodes.")
    if not 1 <= wanted <= nodes:
        raise InputError(
            f"preprocessors is {wanted}; with {nodes} nodes it goes from 1 to {nodes}."
        )
    return wanted
