"""What the measurements were made on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from recorder.timing import Clock, DeviceClock, HostClock

NAMES = {
    "NVIDIA H100 80GB HBM3": "H100 SXM 80GB",
    "NVIDIA H100 PCIe": "H100 PCIe 80GB",
    "NVIDIA H100 NVL": "H100 NVL",
    "NVIDIA H200": "H200 SXM 141GB",
    "NVIDIA A100-SXM4-40GB": "A100 SXM 40GB",
    "NVIDIA A100-SXM4-80GB": "A100 SXM 80GB",
    "NVIDIA A100-PCIE-40GB": "A100 PCIe 40GB",
    "NVIDIA A100 80GB PCIe": "A100 PCIe 80GB",
    "NVIDIA B200": "B200 SXM 180GB",
}
"""How the tables spell what PyTorch calls a device; others lose their maker's name."""

GENERATIONS = {
    (25, 1): "Zen 3",
    (25, 17): "Zen 4",
    (26, 2): "Zen 5",
    (6, 85): "Skylake or Cascade Lake",
    (6, 106): "Ice Lake",
    (6, 143): "Sapphire Rapids",
    (6, 207): "Emerald Rapids",
}
"""Processors by family and model, for machines that hide the rest of the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A device and the software on it.

    Attributes:
        device: as PyTorch calls its kind.
        model: the maker's name of it.
        name: the same in the normal spelling of the tables.
        cores: processor cores that PyTorch uses.
        memory: bytes of the device, or of the machine if it is a processor.
        driver: version of the GPU's driver.
        software: versions of PyTorch and of what it calls.
    """

    device: str
    model: str
    name: str
    cores: int
    memory: int
    driver: str
    software: dict[str, str]

    @property
    def is_gpu(self) -> bool:
        """Whether steps run on a GPU."""
        return self.device == "cuda"

    @property
    def seconds_of(self) -> str:
        """What is counted as time."""
        alone = not self.is_gpu and self.cores == 1
        return "processor time of one thread" if alone else "time on the wall"

    @property
    def clock(self) -> Clock:
        """What times its steps."""
        import torch

        return DeviceClock(torch.cuda) if self.is_gpu else HostClock(self.cores)

    @property
    def slug(self) -> str:
        """The name in small letters and hyphens."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def framework(self) -> str:
        """PyTorch with its version, as a row names it."""
        return f"PyTorch {self.software['pytorch']}"

    def document(self, date: str) -> str:
        """The description as TOML, with the date of the recording."""
        facts = {"date": date, **asdict(self)}
        software = facts.pop("software")
        lines = [f"{key} = {_written(value)}" for key, value in facts.items()]
        return "\n".join([*lines, "", "[software]", *(f'{k} = "{v}"' for k, v in software.items())])


def _written(value: object) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


def this_machine(*, cores: int | None = None) -> Machine:
    """The machine that the script runs on: its first GPU if it has one.

    Args:
        cores: that PyTorch may use of a processor; all by default.
    """
    import torch

    if torch.cuda.is_available():
        return _gpu()
    if cores is not None:
        torch.set_num_threads(cores)
    return _processor()


def _gpu() -> Machine:
    import torch

    facts = torch.cuda.get_device_properties(0)
    return Machine(
        device="cuda",
        model=facts.name,
        name=NAMES.get(facts.name, facts.name.removeprefix("NVIDIA ")),
        cores=torch.get_num_threads(),
        memory=facts.total_memory,
        driver=_driver(),
        software={
            **_software(),
            "cuda": str(torch.version.cuda),
            "cudnn": str(torch.backends.cudnn.version()),
            "units": str(facts.multi_processor_count),
        },
    )


def _driver() -> str:
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _processor() -> Machine:
    import torch

    facts = _processor_facts()
    model = facts.get("model name", platform.processor() or platform.machine())
    key = (int(facts.get("cpu family", 0)), int(facts.get("model", 0)))
    cores = torch.get_num_threads()
    many = "1 core" if cores == 1 else f"{cores} cores"
    name = " ".join(filter(None, (model, GENERATIONS.get(key, ""), many)))
    return Machine(
        device="cpu",
        model=model,
        name=name,
        cores=cores,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        driver="",
        software={**_software(), "instructions": torch.backends.cpu.get_cpu_capability()},
    )


def _processor_facts() -> dict[str, str]:
    listed = Path("/proc/cpuinfo")
    if not listed.exists():
        return {}
    first = listed.read_text().split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _software() -> dict[str, str]:
    import torch

    return {"pytorch": torch.__version__, "python": platform.python_version()}
