"""Which cluster of the catalogue stands in for the machine of a measured run."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.measured.coverage import NotCovered
from foretrain.measured.run import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A cluster of the catalogue that resembles those of a kind of device.

    Attributes:
        device: how the name of the device starts.
        cluster: the cluster's name.
        node_link: how sources write the link that its nodes have, in lower case.
        words: what the words for the links must hold, in lower case, for it to be taken.
        node_devices: what a row must state for it to be taken; None for any number.
    """

    device: str
    cluster: str
    node_link: str = "pcie"
    words: str = ""
    node_devices: int | None = None

    def suits(self, place: Place) -> bool:
        """Whether it stands in for a place."""
        links = f"{place.node_link} {place.fabric}".lower()
        return (
            place.device.lower().startswith(self.device.lower())
            and self.words in links
            and self.node_devices in (None, place.node_devices)
        )

    def names(self, link: str) -> bool:
        """Whether words of a source name the link of its nodes."""
        return self.node_link in link.lower().replace(".0", "").replace("gen", "")


TEMPLATES = (
    Template(device="K80", cluster="aws-p2-8xlarge"),
    Template(device="P100 SXM", cluster="dgx-1-p100", node_link="nvlink 1"),
    Template(device="V100 SXM", cluster="jean-zay-v100", node_link="nvlink 2", words="jean zay"),
    Template(device="V100 SXM", cluster="dgx-2", node_link="nvlink 2", words="nvswitch"),
    Template(device="V100 SXM", cluster="dgx-2", node_link="nvlink 2", node_devices=16),
    Template(device="V100 SXM", cluster="dgx-1-v100", node_link="nvlink 2"),
    Template(device="V100S", cluster="pcie-8x-v100s"),
    Template(device="A100 SXM", cluster="jean-zay-a100", node_link="nvlink 3", words="jean zay"),
    Template(device="A100 SXM", cluster="aws-p4de-24xlarge", node_link="nvlink 3", words="efa"),
    Template(device="A100 SXM", cluster="dgx-a100", node_link="nvlink 3"),
    Template(device="A100 PCIe 40GB", cluster="pcie-8x-a100-40gb"),
    Template(device="A100 PCIe", cluster="pcie-8x-a100-bridged", words="nvlink"),
    Template(device="A100 PCIe", cluster="pcie-8x-a100"),
    Template(device="A30", cluster="pcie-8x-a30"),
    Template(device="A40", cluster="pcie-8x-a40"),
    Template(device="RTX A5000", cluster="pcie-2x-rtx-a5000", node_link="nvlink"),
    Template(device="L40S", cluster="pcie-8x-l40s"),
    Template(device="L40", cluster="pcie-8x-l40"),
    Template(device="L4", cluster="pcie-8x-l4"),
    Template(device="RTX 3090", cluster="pcie-8x-rtx-3090"),
    Template(device="2080 Ti", cluster="pcie-8x-2080-ti"),
    Template(device="1080 Ti", cluster="pcie-8x-1080-ti"),
    Template(device="Titan V", cluster="pcie-4x-titan-v"),
    Template(device="GTX Titan X", cluster="pcie-4x-titan-x"),
    Template(device="H100 SXM", cluster="hgx-h100-4x", node_link="nvlink 4", node_devices=4),
    Template(device="H100 SXM", cluster="aws-p5-48xlarge", node_link="nvlink 4", words="efa"),
    Template(device="H100 SXM", cluster="dgx-h100", node_link="nvlink 4"),
    Template(device="H100 NVL", cluster="pcie-8x-h100-nvl", node_link="nvlink 4"),
    Template(device="H100 PCIe", cluster="pcie-8x-h100"),
    Template(device="H200 SXM", cluster="aws-p5en-48xlarge", node_link="nvlink 4", words="efa"),
    Template(device="H200 SXM", cluster="hgx-h200", node_link="nvlink 4"),
    Template(device="H200 NVL", cluster="pcie-8x-h200-nvl", node_link="nvlink 4"),
    Template(device="B200", cluster="hgx-b200", node_link="nvlink 5"),
    Template(device="B300", cluster="hgx-b300", node_link="nvlink 5"),
    Template(device="GB200", cluster="gb200-nvl72", node_link="nvlink 5"),
    Template(device="GB300", cluster="gb300-nvl72", node_link="nvlink 5"),
    Template(device="TPU v3", cluster="tpu-v3-pod", node_link="ici"),
    Template(device="TPU v4", cluster="tpu-v4-pod", node_link="ici"),
    Template(device="TPU v5e", cluster="tpu-v5e-pod", node_link="ici"),
    Template(device="TPU v5p", cluster="tpu-v5p-pod", node_link="ici"),
    Template(device="Ascend", cluster="ascend-910-node", node_link="hccs"),
    Template(device="Gaudi2", cluster="gaudi2-node", node_link="100gb/s ethernet"),
    Template(device="Gaudi", cluster="gaudi-node", node_link="100gbe"),
    Template(device="MI250X", cluster="frontier", node_link="infinity fabric"),
    Template(device="Graphcore", cluster="ipu-pod", node_link="ipulink"),
    Template(device="AMD EPYC", cluster="processor-cores"),
)
"""The first that suits a place is taken."""


def template_of(place: Place) -> Template:
    """The cluster that stands in for a place.

    Raises:
        NotCovered: none resembles it.
    """
    for template in TEMPLATES:
        if template.suits(place):
            return template
    raise NotCovered(f"no cluster of '{place.device}' is in the catalogue")
