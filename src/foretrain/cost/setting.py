"""Setting: what no plan changes, and what every formula reads."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cluster.cluster import Cluster
from foretrain.cost.coefficients import DEFAULT, Coefficients
from foretrain.cost.collective import Network, network
from foretrain.cost.compute import Rates, rates
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A workload on a cluster.

    Attributes:
        workload: what is learned.
        cluster: where.
        coefficients: how well.
    """

    workload: Workload
    cluster: Cluster
    coefficients: Coefficients = DEFAULT

    @property
    def rate(self) -> Rates:
        """What one device reaches."""
        return rates(self.cluster.device, self.workload.precision, self.coefficients)

    @property
    def network(self) -> Network:
        """What collectives reach on each level."""
        return network(self.cluster, self.coefficients)
