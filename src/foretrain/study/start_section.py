"""[start] of a scale study: the whole job, from its launch to its last epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from foretrain.cluster.cluster import Storage
from foretrain.plan.startup import Access, StartUp, WholeJob
from foretrain.study.keys import Count, Reads, ratio, reader
from foretrain.study.workload import SomeSamples
from foretrain.units import BYTES, BYTES_PER_SECOND, SECONDS, SHARE
from foretrain.workload.workload import Data


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSection:
    """The whole job, as it is written; `StartUp`, `Data` and `WholeJob` have the meanings."""

    samples: SomeSamples
    sample_bytes: Annotated[float, BYTES] | None = None
    prepare: Annotated[float, SECONDS] | None = None
    epochs: Annotated[float, ratio(below=1e6)] = 1.0
    cores: Count | None = None
    held: Annotated[float, SHARE] = 1.0
    access: Annotated[Access, Reads(reader(Access), {"type": "string"})] = Access.UNSHARDED
    read: Annotated[float, BYTES_PER_SECOND]
    total_read: Annotated[float, BYTES_PER_SECOND] | None = None
    files: Count | None = None
    opening: Annotated[float, SECONDS] = 0.0
    total_opens: Annotated[float, ratio(below=1e12)] | None = None
    launch: Annotated[float, SECONDS] = 0.0
    node_launch: Annotated[float, SECONDS] = 0.0
    local: Annotated[float, BYTES_PER_SECOND] | None = None

    def job(self, latency: float) -> WholeJob:
        """What it means.

        Args:
            latency: seconds before the first byte between two nodes arrives.
        """
        start = StartUp(
            storage=Storage(read=self.read, write=self.read, total_read=self.total_read),
            access=self.access,
            files=float(self.files or 0),
            opening=self.opening,
            total_opens=self.total_opens,
            launch=self.launch,
            node_launch=self.node_launch,
            latency=latency,
            local=self.local,
        )
        data = Data(samples=self.samples, sample_bytes=self.sample_bytes, prepare=self.prepare)
        return WholeJob(
            start=start, data=data, epochs=self.epochs, cores=self.cores, held=self.held
        )
