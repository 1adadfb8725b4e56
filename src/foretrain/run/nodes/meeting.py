"""A meeting: all channels of one pipeline, and what its nodes agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretrain.errors import InputError
from foretrain.run.nodes.channel import Channel
from foretrain.run.nodes.leader import Leader


class Meeting:
    """This node's channels: one to all nodes for agreements, and one per group of the mode."""

    def __init__(self, leader: Leader, groups: Sequence[Sequence[int]], *, name: str) -> None:
        """Meet everybody.

        Args:
            leader: this node.
            groups: ranks that exchange data; they may overlap. With none, nobody meets.
            name: of the pipeline.
        """
        from torch.distributed import PrefixStore

        self.name = name
        self._leader = leader
        everybody = [list(range(leader.nodes)), *groups] if groups else []
        stores = leader.meet(name) if groups else []
        found = [
            Channel(leader, ranks, store=PrefixStore(str(number), *stores))
            if leader.rank in ranks
            else None
            for number, ranks in enumerate(everybody)
        ]
        self._world = found[0] if found else None
        self.channels = found[1:]

    def gathered(self, numbers: Sequence[int]) -> list[list[int]]:
        """These numbers as every node has them, one node a row."""
        import torch

        if self._world is None:
            return [list(numbers)]
        row = torch.tensor(numbers, dtype=torch.int64, device=self._leader.device)
        rows: list[list[int]] = self._world.gather(row).tolist()
        return rows

    def same(self, told: Mapping[str, int]) -> None:
        """Refuse nodes that were told different things: they would wait for each other.

        Raises:
            InputError: with the names of what differs.
        """
        columns = zip(*self.gathered(list(told.values())), strict=True)
        differ = [name for name, all_of in zip(told, columns, strict=True) if len({*all_of}) > 1]
        if differ:
            raise InputError(
                f"the nodes of pipeline '{self.name}' differ in {', '.join(differ)}. Give all of "
                "them the same dataset and the same arguments."
            )

    def close(self) -> None:
        """Leave: nodes that still wait for this one learn of it."""
        for channel in (self._world, *self.channels):
            if channel is not None:
                channel.close()
